//! Looking for a word, or a part of one, in texts that stay encoded: most encodings tell without a single text that
//! they cannot hold it.

use super::super::MAX_ROWS;
use super::super::bytes::bad;
use super::super::ints;
use super::super::streams::{MAX_STREAM_BYTES, Part};
use super::decimal;
use super::range::{address_may_hold, fraction_may_hold, integer_may_hold, padded_may_hold};
use super::sought::Sought;
use super::{
    AFFIX, CONSTANT, DECIMAL, DECIMALS, DEPTH, DICTIONARY, HEX, INTEGERS, IPV4, PADDED, PLAIN, RECENCY,
};
use crate::error::Result;
use crate::token::is_word_char;

/// Where among texts a word is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    Nowhere,
    Perhaps,
}

impl Presence {
    pub(crate) fn perhaps(perhaps: bool) -> Self {
        if perhaps { Self::Perhaps } else { Self::Nowhere }
    }
}

/// Where among `count` texts a word is, as far as can be told without decoding them all. The part is left anywhere.
pub(crate) fn presence(part: &mut Part<'_>, count: usize, sought: &Sought<'_>) -> Result<Presence> {
    presence_nested(part, count, sought, DEPTH)
}

fn presence_nested(part: &mut Part<'_>, count: usize, sought: &Sought<'_>, depth: u32) -> Result<Presence> {
    if count == 0 {
        return Ok(Presence::Nowhere);
    }
    let needle = sought.bytes();
    let word = sought.word();
    Ok(match part.meta.u8()? {
        CONSTANT => Presence::perhaps(sought.is_in(part.meta.str()?)),
        INTEGERS | DECIMAL | DECIMALS | PADDED if !needle.iter().all(u8::is_ascii_digit) => Presence::Nowhere,
        INTEGERS => {
            let (least, most) = ints::bounds(part, count)?;
            Presence::perhaps(integer_may_hold(least, most, word))
        }
        tag @ (DECIMAL | DECIMALS) => {
            let scale = decimal::scale(part, tag)?;
            let (least, most) = ints::bounds(part, count)?;
            Presence::perhaps(fraction_may_hold(least, most, scale, word))
        }
        IPV4 => Presence::perhaps(address_may_hold(word)),
        // These are one word each, all of one length.
        PADDED if !fits(part.meta.u8()?, sought) => Presence::Nowhere,
        PADDED => {
            let (least, most) = ints::bounds(part, count)?;
            Presence::perhaps(padded_may_hold(least, most, word))
        }
        HEX if !fits(part.meta.u8()?, sought) => Presence::Nowhere,
        HEX => Presence::perhaps(needle.iter().all(u8::is_ascii_hexdigit)),
        AFFIX if depth > 0 => {
            let (prefix, suffix) = (part.meta.str()?, part.meta.str()?);
            if !prefix.ends_with(is_word_char) && !suffix.starts_with(is_word_char) {
                // The word is in one of the three.
                let outside = sought.find(prefix.as_bytes()).or_else(|| sought.find(suffix.as_bytes()));
                let inside = presence_nested(part, count, sought, depth - 1)?;
                return Ok(Presence::perhaps(outside.is_some() || inside != Presence::Nowhere));
            }
            let outside = |c: &u8| {
                let is_it = |of: u8| of == *c || sought.word().any_case && of.eq_ignore_ascii_case(c);
                prefix.bytes().chain(suffix.bytes()).any(is_it)
            };
            // Between them are numbers or hexadecimal digits; the encoder puts nothing else there.
            Presence::perhaps(needle.iter().all(|c| c.is_ascii_hexdigit() || outside(c)))
        }
        DICTIONARY | RECENCY if depth > 0 => {
            let size = part.meta.count(MAX_ROWS)?;
            // Some of its texts may be no value any more.
            Presence::perhaps(presence_nested(part, size, sought, depth - 1)? != Presence::Nowhere)
        }
        PLAIN => {
            let len = part.meta.count(MAX_STREAM_BYTES)?;
            Presence::perhaps(sought.is_next(part, len))
        }
        _ => return Err(bad("an encoding of texts is unknown")),
    })
}

/// Whether values that are one word of so many bytes can hold it.
fn fits(len: u8, sought: &Sought<'_>) -> bool {
    let len = usize::from(len);
    if sought.word().is_whole { len == sought.bytes().len() } else { len >= sought.bytes().len() }
}

#[cfg(test)]
mod tests {
    use super::super::super::streams::Streams;
    use super::super::super::texts::Texts;
    use super::super::super::words::Words;
    use super::super::sought::MAX_PLACES;
    use super::super::{Spans, WordKinds, encode, holding, skip, spans_of};
    use super::*;
    use crate::block::Word;
    use crate::token;

    fn check(values: &[String], word: &str) {
        let mut texts = Texts::default();
        values.iter().for_each(|v| texts.push(v.as_bytes()));
        let mut streams = Streams::default();
        let spans = spans_of(&texts);
        encode(Spans { bytes: &texts.bytes, spans: &spans }, &mut streams, &mut Words::default());
        let bundle = streams.reread();
        let part = || bundle.part(&[0; 4], &streams.lens()).unwrap();
        let mut skipped = part();
        let kinds = skip(&mut skipped, values.len()).unwrap();
        let left = [&skipped.meta, &skipped.bytes, &skipped.packed, &skipped.text].map(|r| r.remaining());
        assert_eq!(left, [0; 4], "{values:?}");
        for (is_whole, any_case) in [(true, false), (true, true), (false, false), (false, true)] {
            let word = Word { text: word, is_whole, any_case };
            let in_case = |v: &str| if any_case { v.to_ascii_lowercase() } else { v.to_owned() };
            let text = in_case(word.text);
            let expected: Vec<bool> = values.iter().map(|v| in_case(v).contains(&text)).collect();
            let is_word: Vec<bool> = match is_whole {
                true => values.iter().map(|v| token::words(&in_case(v)).any(|of| of == text)).collect(),
                false => expected.clone(),
            };
            let places = Sought::new(word, &part());
            let places = places.places().unwrap();
            let is_apart = places.text.is_empty() && places.meta.is_empty();
            let is_told = !is_apart || kinds.meet(WordKinds::of(word.text));
            assert!(is_told || !is_word.contains(&true), "{values:?}: {kinds:?}");
            check_word(values, word, &expected, &is_word, &part);
        }
    }

    /// `expected`: which values have its letters; `is_word`: which have it as it is sought.
    fn check_word<'p>(
        values: &[String],
        word: Word<'_>,
        expected: &[bool],
        is_word: &[bool],
        part: &dyn Fn() -> Part<'p>,
    ) {
        for sought in [Sought::new(word, &part()), Sought::here_and_there(word)] {
            let mut read = part();
            let found = holding(&mut read, values.len(), &sought).unwrap();
            for i in 0..values.len() {
                assert!(found[i] || !is_word[i], "{:?}", values[i]);
                assert!(!found[i] || expected[i], "{:?}", values[i]);
            }
            let left = [&read.meta, &read.bytes, &read.packed, &read.text].map(|r| r.remaining());
            assert_eq!(left, [0; 4], "{values:?}");
            match presence(&mut part(), values.len(), &sought).unwrap() {
                Presence::Nowhere => assert!(!is_word.contains(&true), "{values:?}"),
                Presence::Perhaps => {}
            }
        }
    }

    #[test]
    fn a_word_that_follows_its_own_beginning_is_found() {
        let streams = Streams { text: b"1112".repeat(20), ..Streams::default() };
        let bundle = streams.reread();
        let mut part = bundle.part(&[0; 4], &streams.lens()).unwrap();
        let sought = Sought::new("11".into(), &part);
        part.text.take(1).unwrap();
        assert!(sought.is_next(&part, 2));
        assert!(!sought.is_next(&part, 1));
        part.text.take(1).unwrap();
        assert!(!sought.is_next(&part, 3));
        let streams = Streams { text: vec![b'1'; MAX_PLACES + 10], ..Streams::default() };
        let bundle = streams.reread();
        let part = bundle.part(&[0; 4], &streams.lens()).unwrap();
        let sought = Sought::new("11".into(), &part);
        assert!(sought.is_next(&part, 2) && !sought.is_next(&part, 1), "too many to remember");
    }

    #[test]
    fn encodings_tell_what_they_cannot_hold() {
        let presence_of = |values: &[&str], word: &str| {
            let values: Vec<String> = values.iter().map(|v| (*v).to_owned()).collect();
            check(&values, word);
            let mut texts = Texts::default();
            values.iter().for_each(|v| texts.push(v.as_bytes()));
            let mut streams = Streams::default();
            let spans = spans_of(&texts);
            encode(Spans { bytes: &texts.bytes, spans: &spans }, &mut streams, &mut Words::default());
            let bundle = streams.reread();
            let mut part = bundle.part(&[0; 4], &streams.lens()).unwrap();
            let sought = Sought::new(word.into(), &part);
            presence(&mut part, values.len(), &sought).unwrap()
        };
        use Presence::*;
        assert_eq!(presence_of(&["a b", "a b"], "b"), Perhaps);
        assert_eq!(presence_of(&["ab", "ab"], "b"), Nowhere, "it is a part of another word");
        assert_eq!(presence_of(&["a", "a"], "b"), Nowhere);
        assert_eq!((presence_of(&["1", "23"], "23"), presence_of(&["1", "23"], "x")), (Perhaps, Nowhere));
        let numbers = |values: &[&str]| {
            let is_there = |word: &&&str| presence_of(values, word) == Perhaps;
            ["0", "5", "05", "13", "50", "256"].iter().filter(is_there).copied().collect::<Vec<_>>()
        };
        assert_eq!(numbers(&["7", "-5", "6", "0"]), ["0", "5"]);
        assert_eq!(
            numbers(&["0.50", "12.05", "7.31"]),
            ["0", "5", "05", "13", "50"],
            "behind the point are two digits"
        );
        assert_eq!(numbers(&["10.2.200.13", "192.50.0.1"]), ["0", "5", "13", "50"]);
        assert_eq!(numbers(&["09", "31", "12", "11"]), ["13"]);
        assert_eq!(
            numbers(&["id-7", "id-5", "id-6", "id-50"]),
            ["5", "13", "50"],
            "what the encoding can hold"
        );
        assert_eq!(numbers(&["70", "13", "70", "13", "70", "70", "13"]), ["13", "50"]);
        assert_eq!(
            (presence_of(&["001", "020"], "020"), presence_of(&["001", "020"], "a")),
            (Perhaps, Nowhere)
        );
        assert_eq!(presence_of(&["00ff", "a0b1"], "00ff"), Perhaps);
        assert_eq!(presence_of(&["00ff", "a0b1"], "zzzz"), Nowhere);
        assert_eq!(presence_of(&["00ff", "a0b1"], "a0"), Nowhere, "no word is so short");
        assert_eq!(presence_of(&["req-00ff", "req-a0b1"], "a0"), Nowhere);
        assert_eq!(presence_of(&["req-00ff", "req-a0b1"], "a0b1"), Perhaps);
        assert_eq!(presence_of(&["req-00ff", "req-a0b1"], "req"), Perhaps);
        assert_eq!(presence_of(&["001", "020"], "20"), Nowhere);
        assert_eq!((presence_of(&["blk_1", "blk_22"], "blk_22")), Perhaps);
        assert_eq!((presence_of(&["blk_1", "blk_22"], "mlk")), Nowhere);
        assert_eq!(presence_of(&["one", "three"], "three"), Perhaps);
        assert_eq!(presence_of(&["one", "three"], "two"), Nowhere);
        assert_eq!(presence_of(&["one", "two", "one", "two", "one", "one"], "two"), Perhaps);
        assert_eq!(presence_of(&["one", "two", "one", "two", "one", "one"], "three"), Nowhere);
    }

    proptest::proptest! {
        #[test]
        fn words_are_found_where_they_are(
            values in proptest::collection::vec("(blk_|Blk_)?-?[0-9a-f]{0,3}[.:]?[0-9]{0,3}( x| X| é)?", 0..60),
            word in "[0-9a-fx]{1,2}|blk_[0-9]|lk_[0-9]?|LK",
        ) {
            check(&values, &word);
        }

        #[test]
        fn few_values_are_found_where_they_are(picks in proptest::collection::vec(0..4usize, 0..80), word in "[a-d]") {
            let values: Vec<String> = picks.iter().map(|&i| ["a b", "b", "c a", ""][i].to_owned()).collect();
            check(&values, &word);
        }
    }
}
