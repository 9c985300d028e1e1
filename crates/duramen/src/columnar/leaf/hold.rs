//! Which texts hold a word. Where an encoding knows what its texts look like, the word is put into that form, once, and
//! no text is put together.

use super::super::MAX_ROWS;
use super::super::chosen::Chosen;
use super::super::ints;
use super::super::streams::Part;
use super::kinds::skip_nested;
use super::sought::Sought;
use super::{
    AFFIX, DEPTH, DICTIONARY, HEX, INTEGERS, Leaf, PADDED, PLAIN, PlainTexts, RECENCY, decode_nested,
    dictionary, hex, peek, plain,
};
use crate::error::Result;
use crate::token::is_word_char;

/// Which of `count` texts hold a word. Of a text that has its letters only as a part of another word, either is said.
pub(crate) fn holding(part: &mut Part<'_>, count: usize, word: &Sought<'_>) -> Result<Vec<bool>> {
    holding_nested(part, count, word, DEPTH)
}

/// Whether a value that is one word holds it if their bytes are the same.
fn is_as_it_is(word: &Sought<'_>) -> bool {
    word.word().is_whole && !word.word().any_case
}

/// It leaves the part behind the texts, as decoding them does.
fn holding_nested(part: &mut Part<'_>, count: usize, word: &Sought<'_>, depth: u32) -> Result<Vec<bool>> {
    if count == 0 {
        return Ok(Vec::new());
    }
    match peek(part) {
        // A number's word is its digits.
        Some(tag @ (INTEGERS | PADDED)) if word.word().is_whole => {
            part.meta.u8()?;
            let number = word.word().text.parse::<u64>().ok();
            let is_written_so = match tag {
                PADDED => usize::from(part.meta.u8()?) == word.bytes().len(),
                // With a zero in front only if that is all.
                _ => word.bytes() == b"0" || !word.bytes().starts_with(b"0"),
            };
            let number = number.filter(|_| is_written_so);
            let values = ints::decode(part, count)?;
            Ok(values.into_iter().map(|n| Some(n.unsigned_abs()) == number).collect())
        }
        Some(AFFIX) if depth > 0 => {
            let before = part.clone();
            part.meta.u8()?;
            let (prefix, suffix) = (part.meta.str()?, part.meta.str()?);
            if prefix.ends_with(is_word_char) || suffix.starts_with(is_word_char) {
                *part = before;
                return decoded(part, count, word, depth);
            }
            // The word is in one of the three.
            if word.find(prefix.as_bytes()).or_else(|| word.find(suffix.as_bytes())).is_none() {
                return holding_nested(part, count, word, depth - 1);
            }
            skip_nested(part, count, depth - 1)?;
            Ok(vec![true; count])
        }
        Some(HEX) if is_as_it_is(word) => {
            part.meta.u8()?;
            hex::equal(part, count, word.bytes())
        }
        Some(tag @ (DICTIONARY | RECENCY)) if depth > 0 => {
            part.meta.u8()?;
            let size = part.meta.count(MAX_ROWS)?;
            let of_value = holding_nested(part, size, word, depth - 1)?;
            if !of_value.contains(&true) {
                ints::skip(part, count)?;
                return Ok(vec![false; count]);
            }
            let codes = dictionary::codes(part, tag, Chosen::all(count), size)?;
            Ok(codes.into_iter().map(|code| of_value[code as usize]).collect())
        }
        Some(PLAIN) => {
            part.meta.u8()?;
            let remaining = part.text.remaining();
            let PlainTexts { bytes, ends } = plain::texts(part, count)?;
            let first = |from| word.first_in(bytes, remaining, from);
            Ok(are_among(ends.len(), texts_that_hold(&ends, word, first)))
        }
        _ => decoded(part, count, word, depth),
    }
}

fn decoded(part: &mut Part<'_>, count: usize, word: &Sought<'_>, depth: u32) -> Result<Vec<bool>> {
    Ok(match decode_nested(part, Chosen::all(count), depth)? {
        Leaf::Constant(text) => vec![word.find(&text).is_some(); count],
        other => {
            let texts = other.into_texts(count)?;
            let first = |from| word.find_from(&texts.bytes, from);
            are_among(texts.ends.len(), texts_that_hold(&texts.ends, word, first))
        }
    })
}

/// Which of the texts that end there hold the word, if `first` says where it is next from a place on.
pub(crate) fn texts_that_hold<'a>(
    ends: &'a [u32],
    word: &'a Sought<'_>,
    first: impl Fn(usize) -> Option<usize> + 'a,
) -> impl Iterator<Item = usize> + 'a {
    let (mut from, mut i) = (0usize, 0usize);
    std::iter::from_fn(move || {
        while let Some(at) = first(from) {
            i += ends[i..].partition_point(|&end| end as usize <= at);
            let end = *ends.get(i)? as usize;
            if at + word.bytes().len() <= end {
                from = end;
                return Some(i);
            }
            // It lies across the edge of two texts.
            from = at + 1;
        }
        None
    })
}

/// Of so many texts, which are these.
fn are_among(count: usize, these: impl Iterator<Item = usize>) -> Vec<bool> {
    let mut are = vec![false; count];
    these.for_each(|i| are[i] = true);
    are
}
