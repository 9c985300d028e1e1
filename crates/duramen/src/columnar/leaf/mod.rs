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
//!  10  decimals   most u8, least u8, a sequence of integers             -12.5 as -1250 where 2 digits stand after
//!                                                                      the point at most, and 0 or 1 at least
//!   9  plain      length of all varint, lengths as integers; in text: the bytes, unless the column has pages
//! ```
//!
//! Integers are those of `ints`. Numbers (1, 2, 6, 10) are in `decimal`, codes (7, 8) in `dictionary`, the others in a
//! file of their name. Every text comes back byte for byte: an encoding is used only if each text is exactly
//! what decoding will write.

mod affix;
mod decimal;
mod dictionary;
mod find;
mod hex;
mod hold;
mod ipv4;
mod kinds;
mod plain;
mod range;
mod sought;

pub(crate) use dictionary::write as write_dictionary;
pub(crate) use find::{Presence, presence};
pub(crate) use hold::{holding, texts_that_hold};
pub(crate) use kinds::{WordKinds, skip};
pub(crate) use plain::{PlainTexts, check_ends};
pub(crate) use range::integer_may_hold;
pub(crate) use sought::{Held, Sought};

use super::bytes::{bad, put_bytes};
use super::chosen::Chosen;
use super::ints;
use super::streams::{Part, Streams};
use super::texts::Texts;
use super::words::Words;
use crate::block::LengthUnit;
use crate::column::{IntText, Scale};
use crate::error::Result;

const CONSTANT: u8 = 0;
const INTEGERS: u8 = 1;
const PADDED: u8 = 2;
const AFFIX: u8 = 3;
const HEX: u8 = 4;
const IPV4: u8 = 5;
const DECIMAL: u8 = 6;
const DICTIONARY: u8 = 7;
const RECENCY: u8 = 8;
pub(crate) const PLAIN: u8 = 9;
const DECIMALS: u8 = 10;

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

    pub(crate) fn iter(&self) -> impl Iterator<Item = &'a [u8]> + Clone + use<'a> {
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

/// Encodes texts that are all numbers, and adds their words; says whether they are, and writes nothing if not.
pub(crate) fn encode_numbers(values: Spans<'_>, out: &mut Streams, words: &mut Words) -> bool {
    let are_numbers = decimal::encode_fractions(values, out);
    if are_numbers {
        values.iter().for_each(|v| words.add(v));
    }
    are_numbers
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
    if decimal::encode_integers(values, out) {
        values.iter().for_each(|v| words.add(v));
        return;
    }
    if dictionary && dictionary::encode(values, out, words) {
        return;
    }
    values.iter().for_each(|v| words.add(v));
    let of_a_kind = decimal::encode_padded(values, out)
        || ipv4::encode(values, out)
        || decimal::encode_fractions(values, out)
        || hex::encode(values, out)
        || affix::encode(values, out);
    if !of_a_kind {
        plain::encode(values, out);
    }
}

/// Decoded texts, as they were stored.
#[derive(Debug)]
pub(crate) enum Leaf {
    Constant(Vec<u8>),
    Integers(Vec<i64>),
    Decimals(Scale, Vec<i64>),
    Dictionary { values: Texts, codes: Vec<u32> },
    Texts(Texts),
}

/// How many encodings that hold others may lie in one another: a dictionary of texts with affixes.
const DEPTH: u32 = 2;

/// Decodes texts of a sequence.
pub(crate) fn decode_chosen(part: &mut Part<'_>, chosen: Chosen<'_>) -> Result<Leaf> {
    decode_nested(part, chosen, DEPTH)
}

/// The distinct texts alone, of at least one, if they are kept apart: those of a constant or a dictionary.
pub(crate) fn decode_distinct(part: &mut Part<'_>) -> Result<Option<Texts>> {
    match part.meta.u8()? {
        CONSTANT => {
            let mut texts = Texts::default();
            texts.push(part.meta.str()?.as_bytes());
            Ok(Some(texts))
        }
        DICTIONARY | RECENCY => dictionary::decode_values(part, DEPTH).map(Some),
        _ => Ok(None),
    }
}

/// Where each of `count` texts ends, if they are just the bytes that are left of the part's text. Whether those are UTF-8
/// nobody has looked at.
pub(crate) fn plain_ends(part: &Part<'_>, count: usize) -> Result<Option<Vec<u32>>> {
    let Some(PlainTexts { bytes, ends }) = plain_texts(part, count)? else { return Ok(None) };
    check_ends(bytes, &ends)?;
    Ok((bytes.len() == part.text.remaining()).then_some(ends))
}

/// `count` texts where they lie, if they are kept one after another: who only looks at them need not copy them.
pub(crate) fn plain_texts<'a>(part: &Part<'a>, count: usize) -> Result<Option<PlainTexts<'a>>> {
    let mut part = part.clone();
    if count == 0 || part.meta.u8()? != PLAIN {
        return Ok(None);
    }
    plain::texts(&mut part, count).map(Some)
}

/// Where each of `count` texts ends, whose bytes lie on pages that have `of_all` together.
pub(crate) fn paged_ends(part: &mut Part<'_>, count: usize, of_all: usize) -> Result<Vec<u32>> {
    if count == 0 || part.meta.u8()? != PLAIN {
        return Err(bad("texts of another kind have pages"));
    }
    plain::ends_elsewhere(part, count, of_all)
}

/// The tag of what comes next.
pub(crate) fn peek(part: &Part<'_>) -> Option<u8> {
    part.meta.clone().u8().ok()
}

/// `depth` says how many encodings that hold others may follow.
fn decode_nested(part: &mut Part<'_>, chosen: Chosen<'_>, depth: u32) -> Result<Leaf> {
    if chosen.count() == 0 {
        return Ok(Leaf::Texts(Texts::default()));
    }
    let mut out = Texts::default();
    match part.meta.u8()? {
        CONSTANT => {
            let text = part.meta.str()?;
            part.spend(text.len())?;
            return Ok(Leaf::Constant(text.into()));
        }
        INTEGERS => return Ok(Leaf::Integers(ints::decode_chosen(part, chosen)?)),
        tag @ (DECIMAL | DECIMALS) => {
            let (scale, values) = decimal::decode_fractions(part, tag, chosen)?;
            return Ok(Leaf::Decimals(scale, values));
        }
        tag @ (DICTIONARY | RECENCY) if depth > 0 => return dictionary::decode(part, tag, chosen, depth),
        PADDED => decimal::decode_padded(part, chosen, &mut out)?,
        AFFIX if depth > 0 => affix::decode(part, chosen, depth, &mut out)?,
        HEX => hex::decode(part, chosen, &mut out)?,
        IPV4 => ipv4::decode(part, chosen, &mut out)?,
        PLAIN => plain::decode(part, chosen, &mut out)?,
        _ => return Err(bad("an encoding of texts is unknown")),
    }
    out.check()?;
    part.spend(out.bytes.len() + out.ends.len() * size_of::<u32>())?;
    Ok(Leaf::Texts(out))
}

impl Leaf {
    /// The `i`th text.
    pub(crate) fn get<'a>(&'a self, i: usize, digits: &'a mut IntText) -> &'a [u8] {
        match self {
            Self::Constant(text) => text,
            Self::Integers(values) => digits.format(values[i]).as_bytes(),
            Self::Decimals(scale, values) => digits.format_decimal(values[i], *scale).as_bytes(),
            Self::Dictionary { values, codes } => values.get(codes[i] as usize),
            Self::Texts(texts) => texts.get(i),
        }
    }

    /// Adds how long each text is.
    pub(crate) fn add_lens(&self, unit: LengthUnit, lens: &mut [i64]) {
        match self {
            Self::Constant(text) => {
                let added = unit.of(text) as i64;
                lens.iter_mut().for_each(|len| *len += added);
            }
            Self::Integers(values) => {
                let bytes = |n: i64| range::digits(n.unsigned_abs()) as i64 + i64::from(n < 0);
                lens.iter_mut().zip(values).for_each(|(len, &n)| *len += bytes(n));
            }
            Self::Decimals(scale, values) => {
                let mut digits = IntText::default();
                let bytes = |&n: &i64| digits.format_decimal(n, *scale).len() as i64;
                lens.iter_mut().zip(values.iter().map(bytes)).for_each(|(len, bytes)| *len += bytes);
            }
            Self::Dictionary { values, codes } => {
                let of: Vec<i64> = (0..values.len()).map(|i| unit.of(values.get(i)) as i64).collect();
                lens.iter_mut().zip(codes).for_each(|(len, &code)| *len += of[code as usize]);
            }
            Self::Texts(texts) if unit == LengthUnit::Chars && !texts.bytes.is_ascii() => {
                lens.iter_mut().enumerate().for_each(|(i, len)| *len += unit.of(texts.get(i)) as i64);
            }
            Self::Texts(texts) => {
                let mut start = 0;
                for (len, &end) in lens.iter_mut().zip(&texts.ends) {
                    *len += i64::from(end) - start;
                    start = i64::from(end);
                }
            }
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
            out.check()?;
        }
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(values: &[&str]) -> u8 {
        let mut texts = Texts::default();
        values.iter().for_each(|v| texts.push(v.as_bytes()));
        let mut streams = Streams::default();
        let spans = spans_of(&texts);
        encode(Spans { bytes: &texts.bytes, spans: &spans }, &mut streams, &mut Words::default());
        let bundle = streams.reread();
        let part = || bundle.part(&[0; 4], &streams.lens()).unwrap();
        assert_eq!(
            decode_chosen(&mut part(), Chosen::all(values.len())).unwrap().into_texts(values.len()).unwrap(),
            texts
        );
        let numbers: Vec<u32> = (0..values.len() as u32).filter(|i| i % 3 == 1 || i % 7 == 0).collect();
        let all = decode_chosen(&mut part(), Chosen::all(values.len())).unwrap();
        for (unit, of) in [
            (LengthUnit::Bytes, (|value| value.len()) as fn(&str) -> usize),
            (LengthUnit::Chars, |value| value.chars().count()),
        ] {
            let mut lens = vec![1; values.len()];
            all.add_lens(unit, &mut lens);
            assert!(lens.iter().zip(values).all(|(len, value)| *len == 1 + of(value) as i64), "{values:?}");
        }
        let some = decode_chosen(&mut part(), Chosen::some(values.len(), &numbers).unwrap()).unwrap();
        let some = some.into_texts(numbers.len()).unwrap();
        let expected = numbers.iter().map(|&i| texts.get(i as usize));
        assert!((0..numbers.len()).map(|i| some.get(i)).eq(expected), "{values:?}");
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
        assert_eq!(round_trip(&["0.5", "-12.05", "-1", "3", "40"]), DECIMALS);
        assert_eq!(round_trip(&["(0.5)", "(-12.05)", "(3)"]), AFFIX);
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

    /// How many times texts can be decoded from one part with this in `meta` until that is refused.
    fn decoded_before_refusal(meta: &[u8], count: usize) -> usize {
        let streams = Streams { meta: meta.to_vec(), ..Streams::default() };
        let bundle = streams.reread();
        let mut part = bundle.part(&[0; 4], &streams.lens()).unwrap();
        for times in 0.. {
            if let Err(error) = decode_chosen(&mut part, Chosen::all(count)) {
                assert!(error.is_corruption());
                assert!(part.meta.remaining() > 0 || times == 0, "it came to the end");
                return times;
            }
        }
        0
    }

    #[test]
    fn few_bytes_that_stand_for_too_many_are_refused() {
        let mut constant = vec![AFFIX];
        put_bytes(&mut constant, b"a");
        put_bytes(&mut constant, b"");
        constant.push(CONSTANT);
        put_bytes(&mut constant, &vec![b'x'; 1 << 20]);
        assert_eq!(decoded_before_refusal(&constant, 1 << 20), 0);
        let mut dictionary = vec![DICTIONARY, 0x80, 0x80, 0x40];
        dictionary.extend_from_slice(&constant);
        assert_eq!(decoded_before_refusal(&dictionary, 1 << 20), 0);
        assert_eq!(decoded_before_refusal(&[PADDED, 255, 0, 0], 1 << 20), 0);
        assert_eq!(decoded_before_refusal(&[DECIMAL, 255, 0, 0], 1 << 20), 0);
        assert_eq!(decoded_before_refusal(&[DECIMALS, 255, 0, 0, 0], 1 << 20), 0);
        assert_eq!(decoded_before_refusal(&[DECIMALS, 1, 2, 0, 0], 1 << 20), 0);
        // 8 MiB of integers from three bytes, again and again.
        assert_eq!(decoded_before_refusal(&[INTEGERS, 0, 0].repeat(1000), 1 << 20), 48);
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
