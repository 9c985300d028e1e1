//! Texts of which many are equal: each distinct one once, and codes. Codes of large dictionaries say how
//! recent a text is, because in logs the texts of the last few rows tend to come again.

use super::super::MAX_ROWS;
use super::super::bytes::{bad, put_varint};
use super::super::chosen::Chosen;
use super::super::ints;
use super::super::streams::{Part, Streams};
use super::super::texts::Texts;
use super::super::words::Words;
use super::kinds::skip_nested;
use super::{DICTIONARY, Leaf, RECENCY, Spans, decode_nested, encode_nested};
use crate::error::Result;
use foldhash::fast::FixedState;
use hashbrown::HashTable;
use std::hash::BuildHasher;

/// Codes of dictionaries up to this size are stored as they are.
const SMALL_DICTIONARY: usize = 256;

/// Encodes texts and their words if enough of them are equal; says whether, and writes nothing if not.
pub(super) fn encode(values: Spans<'_>, out: &mut Streams, words: &mut Words) -> bool {
    let count = values.len();
    if count < 4 {
        return false;
    }
    let total: usize = values.spans.iter().map(|&(start, end)| (end - start) as usize).sum();
    // A text must come often enough to pay for the codes of all.
    let limit = if total / count >= 12 { count * 3 / 4 } else { count / 3 };
    let sample = count.min(512);
    let mut index: HashTable<u32> = HashTable::new();
    let mut distinct: Vec<(u32, u32)> = Vec::new();
    let mut codes: Vec<i64> = Vec::with_capacity(count);
    let mut last: &[u8] = &[];
    let mut last_code = None;
    let hasher = FixedState::default();
    for (i, v) in values.iter().enumerate() {
        if last_code.is_some() && v == last {
            codes.extend(last_code);
            continue;
        }
        let hash = hasher.hash_one(v);
        let of = |&code: &u32| {
            let (start, end) = distinct[code as usize];
            &values.bytes[start as usize..end as usize]
        };
        let code = match index.find(hash, |code| of(code) == v) {
            Some(&code) => i64::from(code),
            None => {
                let code = distinct.len();
                if code >= limit || (i >= sample && code * 16 > i * 15) {
                    return false;
                }
                index.insert_unique(hash, code as u32, |code| hasher.hash_one(of(code)));
                distinct.push(values.spans[i]);
                code as i64
            }
        };
        codes.push(code);
        last = v;
        last_code = Some(code);
    }
    write(Spans { bytes: values.bytes, spans: &distinct }, &mut codes, out, words);
    true
}

/// Writes distinct texts, in order of first use, and codes.
pub(crate) fn write(distinct: Spans<'_>, codes: &mut [i64], out: &mut Streams, words: &mut Words) {
    // A text that a later one of the same row replaced is no value's: then those after it are not in order of first use.
    let mut next = 0;
    let mut is_in_order = |&code: &i64| {
        next += i64::from(code == next);
        code < next
    };
    let small = distinct.len() <= SMALL_DICTIONARY || !codes.iter().all(&mut is_in_order);
    out.meta.push(if small { DICTIONARY } else { RECENCY });
    put_varint(&mut out.meta, distinct.len() as u64);
    encode_nested(distinct, out, words, false);
    if !small {
        let mut known = 0;
        for code in &mut *codes {
            if *code == known {
                known += 1;
                *code = 0;
            } else {
                *code = known - *code;
            }
        }
    }
    let before = out.area;
    ints::encode(codes, out);
    if !small && out.area != before {
        out.area.is_recency = true;
    }
}

/// The distinct texts, which come first. One that a later value of the same row replaced is among them, too.
pub(super) fn decode_values(part: &mut Part<'_>, depth: u32) -> Result<Texts> {
    let size = part.meta.count(MAX_ROWS)?;
    let values = decode_nested(part, Chosen::all(size), depth - 1)?.into_texts(size)?;
    part.spend(values.bytes.len())?;
    Ok(values)
}

/// Reads what [`write()`] wrote; `tag` says in which of its two ways.
pub(super) fn decode(part: &mut Part<'_>, tag: u8, chosen: Chosen<'_>, depth: u32) -> Result<Leaf> {
    if chosen.numbers().is_some() {
        return decode_some(part, tag, chosen, depth);
    }
    let values = decode_values(part, depth)?;
    let codes = codes(part, tag, chosen, values.len())?;
    Ok(Leaf::Dictionary { values, codes })
}

/// The same of some texts: of the distinct ones only those that they are.
fn decode_some(part: &mut Part<'_>, tag: u8, chosen: Chosen<'_>, depth: u32) -> Result<Leaf> {
    let size = part.meta.count(MAX_ROWS)?;
    let mut distinct = part.clone();
    skip_nested(part, size, depth - 1)?;
    let mut codes = codes(part, tag, chosen, size)?;
    let mut used = codes.clone();
    used.sort_unstable();
    used.dedup();
    let values =
        decode_nested(&mut distinct, Chosen::some(size, &used)?, depth - 1)?.into_texts(used.len())?;
    part.spend(values.bytes.len())?;
    for code in &mut codes {
        *code = used.partition_point(|used| used < code) as u32;
    }
    Ok(Leaf::Dictionary { values, codes })
}

/// The codes of texts in a dictionary of `size`.
pub(super) fn codes(part: &mut Part<'_>, tag: u8, chosen: Chosen<'_>, size: usize) -> Result<Vec<u32>> {
    part.spend(chosen.len() * size_of::<u32>())?;
    let out_of_range = || bad("a code is not in its dictionary");
    let size = u32::try_from(size).map_err(|_| out_of_range())?;
    if tag == DICTIONARY {
        return ints::decode_below(part, chosen, size)?.ok_or_else(out_of_range);
    }
    // A former version wrote negative ones, too, of texts whose first use is still to come, because a text before them is no value's.
    let (mut known, mut are_known) = (0u32, true);
    let ago = ints::decode_short(part, Chosen::all(chosen.count()))?;
    let code = |ago: i32| {
        let code = known.wrapping_sub(ago.cast_unsigned());
        known += u32::from(ago == 0);
        // What is not in 32 bits is further away than a dictionary is large.
        are_known &= code < size;
        code
    };
    let codes: Vec<u32> = ago.into_iter().map(code).collect();
    if are_known { Ok(chosen.of(codes)) } else { Err(out_of_range()) }
}

#[cfg(test)]
mod tests {
    use super::super::{Sought, decode_chosen, holding, spans_of};
    use super::*;

    /// What a former version wrote of more texts than are few, whether or not they were in order of first use.
    fn write_as_before(texts: &Texts, codes: &[i64]) -> Streams {
        let mut out = Streams::default();
        out.meta.push(RECENCY);
        put_varint(&mut out.meta, texts.len() as u64);
        let spans = spans_of(texts);
        encode_nested(Spans { bytes: &texts.bytes, spans: &spans }, &mut out, &mut Words::default(), false);
        let mut known = 0;
        let mut ago = |&code: &i64| {
            let ago = known - code;
            known += i64::from(ago == 0);
            ago
        };
        ints::encode(&codes.iter().map(&mut ago).collect::<Vec<_>>(), &mut out);
        out
    }

    #[test]
    fn codes_are_read_that_are_not_in_order_of_first_use() {
        let mut state = 7u64;
        let mut below = |n: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % n
        };
        for (size, unused_every) in [(300, 7), (900, 2), (257, 256), (5000, 3)] {
            let mut texts = Texts::default();
            (0..size).for_each(|n| texts.push(format!("a text {n}").as_bytes()));
            // Some are never used, and some not before others that come behind them.
            let mut codes: Vec<i64> = (0..size).filter(|n| n % unused_every != 1).collect();
            codes.extend((0..9000).map(|_| below(size as u64) as i64).filter(|n| n % unused_every != 1));
            codes.extend((0..size).filter(|n| n % (unused_every * 2) == 1));
            codes.extend((0..2000).map(|_| below(size as u64) as i64));
            let streams = write_as_before(&texts, &codes);
            let bundle = streams.reread();
            let part = || bundle.part(&[0; 4], &streams.lens()).unwrap();
            let count = codes.len();
            let expected = |row: usize| texts.get(codes[row] as usize);
            let all = decode_chosen(&mut part(), Chosen::all(count)).unwrap().into_texts(count).unwrap();
            assert!((0..count).all(|row| all.get(row) == expected(row)), "{size}");
            let rows: Vec<u32> = (0..count as u32).filter(|row| row % 5 == 3).collect();
            let some = decode_chosen(&mut part(), Chosen::some(count, &rows).unwrap()).unwrap();
            let some = some.into_texts(rows.len()).unwrap();
            assert!((0..rows.len()).all(|i| some.get(i) == expected(rows[i] as usize)), "{size}");
            let held = holding(&mut part(), count, &Sought::here_and_there("77".into())).unwrap();
            assert!((0..count).all(|row| held[row] || !expected(row).ends_with(b" 77")), "{size}");
            assert!((0..count).all(|row| !held[row] || expected(row).ends_with(b"77")), "{size}");
            // Whatever becomes of its bytes, they are read as something, or refused.
            for _ in 0..200 {
                let mut changed = streams.clone();
                let stream = match below(3) {
                    0 => &mut changed.meta,
                    1 => &mut changed.bytes,
                    _ => &mut changed.packed,
                };
                let end = below(stream.len() as u64 + 1) as usize;
                match stream.get_mut(end) {
                    Some(byte) => *byte = below(256) as u8,
                    None => stream.truncate(end / 2),
                }
                let bundle = changed.reread();
                let part = || bundle.part(&[0; 4], &changed.lens()).unwrap();
                for chosen in [Chosen::all(count), Chosen::some(count, &rows).unwrap()] {
                    if let Ok(read) = decode_chosen(&mut part(), chosen) {
                        read.into_texts(chosen.len()).unwrap();
                    }
                }
                let _ = holding(&mut part(), count, &Sought::here_and_there("77".into()));
            }
        }
    }

    #[test]
    fn a_code_that_is_in_no_dictionary_is_refused() {
        let far = [1 << 31, (1 << 32) + 1, i64::MAX, -i64::from(i32::MAX), i64::from(i32::MIN), i64::MIN];
        for ago in [2, 5, -3].into_iter().chain(far) {
            let mut out = Streams::default();
            ints::encode(&[0, ago, 0], &mut out);
            let bundle = out.reread();
            let mut part = bundle.part(&[0; 4], &out.lens()).unwrap();
            let read = codes(&mut part, RECENCY, Chosen::all(3), 3);
            assert!(read.as_ref().is_err_and(|e| e.is_corruption()), "{ago}: {read:?}");
        }
    }
}
