//! Sequences of short texts: a column without structure inside, the values of a dictionary, or one variable
//! of a template.
//!
//! ```text
//! in meta: a tag, then
//!   0  constant   text (counted)                                       all are this
//!   1  integers   a sequence of integers                               plain decimal
//!   2  padded     width u8, a sequence of integers                     decimal with zeros in front
//!   3  affix      prefix (counted), suffix (counted), texts            what lies between them
//!   4  hex        digits u8, case u8; in packed: digits/2 bytes each   fixed length
//!   5  IPv4       a sequence of integers                               a.b.c.d as a*2^24 + … + d
//!   6  decimal    scale u8, a sequence of integers                     -12.50 as -1250 with scale 2
//!   7  dictionary size varint, its texts, codes as integers            code = code of the text
//!   8  recency    as 7                                                 new texts are coded 0, known ones
//!                                                                      by how many new ones ago they came
//!   9  plain      lengths as integers; in text: the bytes
//! ```
//!
//! Integers are those of `ints`. Every text comes back byte for byte: an encoding is used only if each text is
//! exactly what decoding will write.

use super::MAX_ROWS;
use super::bytes::{bad, put_bytes, put_varint};
use super::ints;
use super::streams::{MAX_STREAM_BYTES, Part, Streams};
use super::texts::Texts;
use super::words::Words;
use crate::column::IntText;
use crate::entry::plain_integer;
use crate::error::Result;
use foldhash::fast::FixedState;
use hashbrown::HashTable;
use std::hash::BuildHasher;

const CONSTANT: u8 = 0;
const INTEGERS: u8 = 1;
const PADDED: u8 = 2;
const AFFIX: u8 = 3;
const HEX: u8 = 4;
const IPV4: u8 = 5;
const DECIMAL: u8 = 6;
const DICTIONARY: u8 = 7;
const RECENCY: u8 = 8;
const PLAIN: u8 = 9;

/// Codes of dictionaries up to this size are stored as they are.
const SMALL_DICTIONARY: usize = 256;

/// Texts as places in a buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spans<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) spans: &'a [(u32, u32)],
}

impl<'a> Spans<'a> {
    pub(crate) fn get(&self, i: usize) -> &'a [u8] {
        let (start, end) = self.spans[i];
        &self.bytes[start as usize..end as usize]
    }

    pub(crate) fn len(&self) -> usize {
        self.spans.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let Self { bytes, spans } = *self;
        spans.iter().map(move |&(start, end)| &bytes[start as usize..end as usize])
    }
}

/// The places of all texts.
pub(crate) fn spans_of(texts: &Texts) -> Vec<(u32, u32)> {
    let mut start = 0;
    texts
        .ends
        .iter()
        .map(|&end| {
            let span = (start, end);
            start = end;
            span
        })
        .collect()
}

/// Encodes texts, and adds their words.
pub(crate) fn encode(values: Spans<'_>, out: &mut Streams, words: &mut Words) {
    encode_nested(values, out, words, true);
}

fn encode_nested(values: Spans<'_>, out: &mut Streams, words: &mut Words, dictionary: bool) {
    if values.len() == 0 {
        return;
    }
    let first = values.get(0);
    if values.iter().all(|v| v == first) {
        words.add(first);
        out.meta.push(CONSTANT);
        put_bytes(&mut out.meta, first);
        return;
    }
    if integers(values, out) {
        values.iter().for_each(|v| words.add(v));
        return;
    }
    if dictionary && encode_dictionary(values, out, words) {
        return;
    }
    values.iter().for_each(|v| words.add(v));
    if padded(values, out) || ipv4(values, out) || decimal(values, out) || hex(values, out) {
        return;
    }
    if affix(values, out) {
        return;
    }
    plain(values, out);
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap_or("")
}

fn integers(values: Spans<'_>, out: &mut Streams) -> bool {
    let mut ints = Vec::with_capacity(values.len());
    for v in values.iter() {
        match plain_integer(text(v)) {
            Some(n) => ints.push(n),
            None => return false,
        }
    }
    out.meta.push(INTEGERS);
    ints::encode(&ints, out);
    true
}

fn padded(values: Spans<'_>, out: &mut Streams) -> bool {
    let width = values.get(0).len();
    if !(1..=18).contains(&width) {
        return false;
    }
    let mut ints = Vec::with_capacity(values.len());
    for v in values.iter() {
        if v.len() != width || !v.iter().all(u8::is_ascii_digit) {
            return false;
        }
        ints.push(v.iter().fold(0i64, |n, &d| n * 10 + i64::from(d - b'0')));
    }
    out.meta.push(PADDED);
    out.meta.push(width as u8);
    ints::encode(&ints, out);
    true
}

/// The address that these bytes spell in the one way that decoding will.
fn parse_ipv4(v: &[u8]) -> Option<u32> {
    let mut address = 0u32;
    let mut parts = 0;
    if v.len() > 15 {
        return None;
    }
    for part in v.split(|&c| c == b'.') {
        let n = match part {
            [a @ b'0'..=b'9'] => u32::from(a - b'0'),
            [a @ b'1'..=b'9', b @ b'0'..=b'9'] => u32::from(a - b'0') * 10 + u32::from(b - b'0'),
            [a @ b'1'..=b'2', b @ b'0'..=b'9', c @ b'0'..=b'9'] => {
                u32::from(a - b'0') * 100 + u32::from(b - b'0') * 10 + u32::from(c - b'0')
            }
            _ => return None,
        };
        if n > 255 {
            return None;
        }
        address = address << 8 | n;
        parts += 1;
    }
    (parts == 4).then_some(address)
}

fn ipv4(values: Spans<'_>, out: &mut Streams) -> bool {
    let mut ints = Vec::with_capacity(values.len());
    for v in values.iter() {
        match parse_ipv4(v) {
            Some(n) => ints.push(i64::from(n)),
            None => return false,
        }
    }
    out.meta.push(IPV4);
    ints::encode(&ints, out);
    true
}

/// The digits of `v` as an integer and how many stand after the point, if decoding will write them so.
fn parse_decimal(v: &[u8]) -> Option<(i64, usize)> {
    let (negative, digits) = match v {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    let point = memchr::memchr(b'.', digits)?;
    let (whole, fraction) = (&digits[..point], &digits[point + 1..]);
    let plain_whole = matches!(whole, [b'0'] | [b'1'..=b'9', ..]);
    if !plain_whole || fraction.is_empty() || digits.len() > 18 {
        return None;
    }
    let mut n = 0i64;
    for &d in whole.iter().chain(fraction) {
        if !d.is_ascii_digit() {
            return None;
        }
        n = n * 10 + i64::from(d - b'0');
    }
    // There is no integer -0 to stand for "-0.00".
    if negative && n == 0 {
        return None;
    }
    Some((if negative { -n } else { n }, fraction.len()))
}

fn decimal(values: Spans<'_>, out: &mut Streams) -> bool {
    let Some((_, scale)) = parse_decimal(values.get(0)) else { return false };
    let mut ints = Vec::with_capacity(values.len());
    for v in values.iter() {
        match parse_decimal(v) {
            Some((n, s)) if s == scale => ints.push(n),
            _ => return false,
        }
    }
    out.meta.push(DECIMAL);
    out.meta.push(scale as u8);
    ints::encode(&ints, out);
    true
}

fn hex_digit(c: u8, upper: bool) -> Option<u8> {
    match c {
        b'0'..=b'9' => Some(c - b'0'),
        b'a'..=b'f' if !upper => Some(c - b'a' + 10),
        b'A'..=b'F' if upper => Some(c - b'A' + 10),
        _ => None,
    }
}

fn hex(values: Spans<'_>, out: &mut Streams) -> bool {
    let digits = values.get(0).len();
    if !(4..=254).contains(&digits) || !digits.is_multiple_of(2) {
        return false;
    }
    let upper = values.iter().take(16).any(|v| v.iter().any(u8::is_ascii_uppercase));
    let start = out.packed.len();
    for v in values.iter() {
        let even = v.len() == digits;
        for pair in v.chunks_exact(2) {
            match (hex_digit(pair[0], upper), hex_digit(pair[1], upper)) {
                (Some(high), Some(low)) if even => out.packed.push(high << 4 | low),
                _ => {
                    out.packed.truncate(start);
                    return false;
                }
            }
        }
        if !even {
            out.packed.truncate(start);
            return false;
        }
    }
    out.meta.extend_from_slice(&[HEX, digits as u8, u8::from(upper)]);
    true
}

/// What all texts begin and end with is stored once, if the rest is then of a closer kind.
fn affix(values: Spans<'_>, out: &mut Streams) -> bool {
    let first = values.get(0);
    let mut prefix = first.len();
    let mut suffix = first.len();
    for v in values.iter() {
        prefix = v.iter().zip(&first[..prefix]).take_while(|(a, b)| a == b).count();
        suffix = v
            .iter()
            .rev()
            .zip(first[first.len() - suffix..].iter().rev())
            .take_while(|(a, b)| a == b)
            .count();
        if prefix == 0 && suffix == 0 {
            return false;
        }
    }
    let shortest = values.iter().map(<[u8]>::len).min().unwrap_or(0);
    // Digits are left to the number that they are part of, and characters are not cut.
    let numeric = |c: u8| c.is_ascii_hexdigit() || c == b'.' || c >= 0x80;
    while prefix > 0 && numeric(first[prefix - 1]) {
        prefix -= 1;
    }
    suffix = suffix.min(shortest - prefix);
    while suffix > 0 && numeric(first[first.len() - suffix]) {
        suffix -= 1;
    }
    if prefix == 0 && suffix == 0 {
        return false;
    }
    let inner: Vec<(u32, u32)> =
        values.spans.iter().map(|&(start, end)| (start + prefix as u32, end - suffix as u32)).collect();
    let inner = Spans { bytes: values.bytes, spans: &inner };
    let head = out.meta.len();
    out.meta.push(AFFIX);
    put_bytes(&mut out.meta, &first[..prefix]);
    put_bytes(&mut out.meta, &first[first.len() - suffix..]);
    if integers(inner, out)
        || padded(inner, out)
        || ipv4(inner, out)
        || decimal(inner, out)
        || hex(inner, out)
    {
        return true;
    }
    out.meta.truncate(head);
    false
}

fn plain(values: Spans<'_>, out: &mut Streams) {
    out.meta.push(PLAIN);
    let lens: Vec<i64> = values.spans.iter().map(|&(start, end)| i64::from(end - start)).collect();
    ints::encode(&lens, out);
    for v in values.iter() {
        out.text.extend_from_slice(v);
    }
}

fn encode_dictionary(values: Spans<'_>, out: &mut Streams, words: &mut Words) -> bool {
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
    write_dictionary(Spans { bytes: values.bytes, spans: &distinct }, &mut codes, out, words);
    true
}

/// Writes distinct texts, in order of first use, and codes.
pub(crate) fn write_dictionary(distinct: Spans<'_>, codes: &mut [i64], out: &mut Streams, words: &mut Words) {
    let small = distinct.len() <= SMALL_DICTIONARY;
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
    ints::encode(codes, out);
}

/// Decoded texts, as they were stored.
#[derive(Debug)]
pub(crate) enum Leaf {
    Constant(Vec<u8>),
    Integers(Vec<i64>),
    Dictionary { values: Texts, codes: Vec<u32> },
    Texts(Texts),
}

/// Decodes `count` texts.
pub(crate) fn decode(part: &mut Part<'_>, count: usize) -> Result<Leaf> {
    decode_nested(part, count, 2)
}

/// The tag of what comes next.
pub(crate) fn peek(part: &Part<'_>) -> Option<u8> {
    part.meta.clone().u8().ok()
}

fn decode_nested(part: &mut Part<'_>, count: usize, depth: u32) -> Result<Leaf> {
    if count == 0 {
        return Ok(Leaf::Texts(Texts::default()));
    }
    let mut digits = IntText::default();
    let mut out = Texts::default();
    match part.meta.u8()? {
        CONSTANT => return Ok(Leaf::Constant(part.meta.str()?.into())),
        INTEGERS => return Ok(Leaf::Integers(ints::decode(part, count)?)),
        PADDED => {
            let width = usize::from(part.meta.u8()?);
            for n in ints::decode(part, count)? {
                let number = digits.format(n).as_bytes();
                out.bytes.resize(out.bytes.len() + width.saturating_sub(number.len()), b'0');
                out.push(number);
            }
        }
        AFFIX if depth > 0 => {
            let prefix = part.meta.str()?.as_bytes();
            let suffix = part.meta.str()?.as_bytes();
            let inner = decode_nested(part, count, depth - 1)?;
            let added = count.saturating_mul(prefix.len() + suffix.len());
            if added > MAX_STREAM_BYTES {
                return Err(bad("a text is too long"));
            }
            for i in 0..count {
                out.bytes.extend_from_slice(prefix);
                out.bytes.extend_from_slice(inner.get(i, &mut digits));
                out.push(suffix);
            }
        }
        HEX => {
            let size = usize::from(part.meta.u8()?) / 2;
            let letters = if part.meta.u8()? == 0 { b"0123456789abcdef" } else { b"0123456789ABCDEF" };
            let total = count.checked_mul(size).ok_or_else(|| bad("too much hex"))?;
            for value in part.packed.take(total)?.chunks(size.max(1)) {
                for &byte in value {
                    out.bytes.extend_from_slice(&[
                        letters[usize::from(byte >> 4)],
                        letters[usize::from(byte & 15)],
                    ]);
                }
                out.push(b"");
            }
            if out.len() != count {
                return Err(bad("hex of no length"));
            }
        }
        IPV4 => {
            for n in ints::decode(part, count)? {
                for (i, byte) in (n as u32).to_be_bytes().into_iter().enumerate() {
                    if i > 0 {
                        out.bytes.push(b'.');
                    }
                    out.bytes.extend_from_slice(digits.format(i64::from(byte)).as_bytes());
                }
                out.push(b"");
            }
        }
        DECIMAL => {
            let scale = usize::from(part.meta.u8()?);
            for n in ints::decode(part, count)? {
                if n < 0 {
                    out.bytes.push(b'-');
                }
                let number = digits.format(n).trim_start_matches('-').as_bytes();
                let whole = number.len().saturating_sub(scale);
                out.bytes.extend_from_slice(if whole == 0 { b"0" } else { &number[..whole] });
                out.bytes.push(b'.');
                out.bytes.resize(out.bytes.len() + scale - (number.len() - whole), b'0');
                out.push(&number[whole..]);
            }
        }
        tag @ (DICTIONARY | RECENCY) if depth > 0 => {
            // More texts than values: one that a later value of the same row replaced is in it, too.
            let size = part.meta.count(MAX_ROWS)?;
            let values = decode_nested(part, size, depth - 1)?.into_texts(size)?;
            let mut known = 0i64;
            let mut codes = Vec::with_capacity(count);
            for n in ints::decode(part, count)? {
                let code = match n {
                    n if tag == DICTIONARY => n,
                    0 => {
                        known += 1;
                        known - 1
                    }
                    n => known.wrapping_sub(n),
                };
                let code = u32::try_from(code).ok().filter(|&c| (c as usize) < size);
                codes.push(code.ok_or_else(|| bad("a code is not in its dictionary"))?);
            }
            return Ok(Leaf::Dictionary { values, codes });
        }
        PLAIN => {
            let mut end = 0u32;
            let lens = ints::decode(part, count)?;
            out.ends.reserve(count);
            for n in lens {
                let n = u32::try_from(n).ok();
                end = n.and_then(|n| end.checked_add(n)).ok_or_else(|| bad("a text is too long"))?;
                out.ends.push(end);
            }
            let bytes = part.text.take(end as usize)?;
            let whole = std::str::from_utf8(bytes).map_err(|_| bad("a text is not UTF-8"))?;
            if !out.ends.iter().all(|&end| whole.is_char_boundary(end as usize)) {
                return Err(bad("a text is cut inside a character"));
            }
            out.bytes.extend_from_slice(bytes);
        }
        _ => return Err(bad("an encoding of texts is unknown")),
    }
    if out.bytes.len() > MAX_STREAM_BYTES {
        return Err(bad("a text is too long"));
    }
    Ok(Leaf::Texts(out))
}

impl Leaf {
    /// The `i`th text.
    pub(crate) fn get<'a>(&'a self, i: usize, digits: &'a mut IntText) -> &'a [u8] {
        match self {
            Self::Constant(text) => text,
            Self::Integers(values) => digits.format(values[i]).as_bytes(),
            Self::Dictionary { values, codes } => values.get(codes[i] as usize),
            Self::Texts(texts) => texts.get(i),
        }
    }

    /// All `count` texts one after another.
    pub(crate) fn into_texts(self, count: usize) -> Result<Texts> {
        if let Self::Texts(texts) = self {
            return Ok(texts);
        }
        let mut out = Texts::default();
        let mut digits = IntText::default();
        for i in 0..count {
            out.push(self.get(i, &mut digits));
            if out.bytes.len() > MAX_STREAM_BYTES {
                return Err(bad("a text is too long"));
            }
        }
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::super::streams::{Bundle, Zstd};
    use super::*;

    fn round_trip(values: &[&str]) -> u8 {
        let mut texts = Texts::default();
        values.iter().for_each(|v| texts.push(v.as_bytes()));
        let mut streams = Streams::default();
        let spans = spans_of(&texts);
        encode(Spans { bytes: &texts.bytes, spans: &spans }, &mut streams, &mut Words::default());
        let mut chunk = Vec::new();
        streams.write(&mut Zstd::new(1).unwrap(), &mut chunk).unwrap();
        let bundle = Bundle::read(&chunk).unwrap();
        let mut part = bundle.part(&[0; 4], &streams.lens()).unwrap();
        assert_eq!(decode(&mut part, values.len()).unwrap().into_texts(values.len()).unwrap(), texts);
        streams.meta.first().copied().unwrap_or(u8::MAX)
    }

    #[test]
    fn each_encoding_is_chosen_and_comes_back() {
        assert_eq!(round_trip(&["a", "a"]), CONSTANT);
        assert_eq!(round_trip(&["1", "-20"]), INTEGERS);
        assert_eq!(round_trip(&["001", "020"]), PADDED);
        assert_eq!(round_trip(&["blk_-17", "blk_4"]), AFFIX);
        assert_eq!(round_trip(&["(17)", "(4)"]), AFFIX);
        assert_eq!(round_trip(&["00ff", "a0b1"]), HEX);
        assert_eq!(round_trip(&["00FF", "A0B1"]), HEX);
        assert_eq!(round_trip(&["10.0.0.1", "255.255.255.255"]), IPV4);
        assert_eq!(round_trip(&["0.50", "-12.05", "-0.01"]), DECIMAL);
        assert_eq!(round_trip(&["a", "bb", "a", "bb", "a", "a", "bb"]), DICTIONARY);
        assert_eq!(round_trip(&["a", "bb"]), PLAIN);
        assert_eq!(round_trip(&["01.0", "-0.0", "1.", "00", "ä", "ö", "\0", ""]), PLAIN);
        let many: Vec<String> =
            (0..3000).map(|i| format!("a text of some length {}", i * i % 1009)).collect();
        assert_eq!(round_trip(&many.iter().map(|s| &**s).collect::<Vec<_>>()), RECENCY);
    }

    #[test]
    fn what_only_looks_like_a_number_comes_back() {
        for pair in [["1.0.0.256", "1.2.3.4"], ["1.2.3.04", "1.2.3.4"], ["-0", "1"], ["00ff", "00FF"]] {
            round_trip(&pair);
        }
        round_trip(&["aé", "aè"]);
        round_trip(&["éa", "èa"]);
    }

    proptest::proptest! {
        #[test]
        fn any_texts_come_back(values: Vec<String>) {
            round_trip(&values.iter().map(|s| &**s).collect::<Vec<_>>());
        }

        #[test]
        fn texts_that_look_like_numbers_come_back(values in proptest::collection::vec("-?[0-9a-fA]{0,3}[.:]?[0-9]{0,3}(é|è)?", 0..50)) {
            round_trip(&values.iter().map(|s| &**s).collect::<Vec<_>>());
        }
    }
}
