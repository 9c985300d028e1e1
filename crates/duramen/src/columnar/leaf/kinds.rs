//! What kinds of words texts may have, told while passing over them.

use super::super::MAX_ROWS;
use super::super::bytes::bad;
use super::super::ints;
use super::super::streams::Part;
use super::{
    AFFIX, CONSTANT, DECIMAL, DECIMALS, DEPTH, DICTIONARY, HEX, INTEGERS, IPV4, PADDED, PLAIN, RECENCY, plain,
};
use crate::error::Result;
use crate::token::is_word_char;
use std::ops::BitOr;

/// The kinds of words that texts may have, beside those that stand as they are in the part's `text` or `meta`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WordKinds(u8);

impl WordKinds {
    /// Of decimal digits.
    const DIGITS: Self = Self(1);
    /// Of hexadecimal digits.
    const HEX_DIGITS: Self = Self(2);
    /// Those of time stamps.
    pub(crate) const TIMES: Self = Self(4);
    /// Those of other columns.
    pub(crate) const REFERENCES: Self = Self(8);
    /// Put together of decimal digits and what stands apart.
    const WITH_DIGITS: Self = Self(16);
    /// Put together of hexadecimal digits and what stands apart.
    const WITH_HEX_DIGITS: Self = Self(32);

    /// The kinds that a word, or one with this part, may be of, apart from that of other columns' words.
    pub(crate) fn of(word: &str) -> Self {
        let when = |is: bool, kind: Self| if is { kind } else { Self::default() };
        let has_digits = word.bytes().any(|c| c.is_ascii_digit());
        when(word.bytes().all(|c| c.is_ascii_digit()), Self::DIGITS)
            | when(word.bytes().all(|c| c.is_ascii_hexdigit()), Self::HEX_DIGITS)
            | when(has_digits, Self::WITH_DIGITS)
            | when(word.bytes().any(|c| c.is_ascii_hexdigit()), Self::WITH_HEX_DIGITS)
            // Numbers, sometimes with a letter, and three letters of a month or a day of the week.
            | when(word.len() <= 3 || has_digits, Self::TIMES)
    }

    /// Whether they have a kind in common.
    pub(crate) fn meet(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

impl BitOr for WordKinds {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// Passes over `count` texts.
pub(crate) fn skip(part: &mut Part<'_>, count: usize) -> Result<WordKinds> {
    skip_nested(part, count, DEPTH)
}

pub(super) fn skip_nested(part: &mut Part<'_>, count: usize, depth: u32) -> Result<WordKinds> {
    if count == 0 {
        return Ok(WordKinds::default());
    }
    Ok(match part.meta.u8()? {
        CONSTANT => {
            part.meta.str()?;
            WordKinds::default()
        }
        INTEGERS | IPV4 => {
            ints::skip(part, count)?;
            WordKinds::DIGITS
        }
        tag @ (PADDED | DECIMAL | DECIMALS) => {
            part.meta.take(if tag == DECIMALS { 2 } else { 1 })?;
            ints::skip(part, count)?;
            WordKinds::DIGITS
        }
        AFFIX if depth > 0 => {
            let (prefix, suffix) = (part.meta.str()?, part.meta.str()?);
            let inside = skip_nested(part, count, depth - 1)?;
            if !prefix.ends_with(is_word_char) && !suffix.starts_with(is_word_char) {
                return Ok(inside);
            }
            // A word that reaches over an edge has at least one of the digits.
            match inside {
                WordKinds::DIGITS => WordKinds::WITH_DIGITS,
                _ => WordKinds::WITH_HEX_DIGITS,
            }
        }
        HEX => {
            let size = usize::from(part.meta.u8()?) / 2;
            part.meta.u8()?;
            part.packed.take(count.checked_mul(size).ok_or_else(|| bad("too much hex"))?)?;
            WordKinds::HEX_DIGITS
        }
        DICTIONARY | RECENCY if depth > 0 => {
            let size = part.meta.count(MAX_ROWS)?;
            let of_values = skip_nested(part, size, depth - 1)?;
            ints::skip(part, count)?;
            of_values
        }
        PLAIN => {
            plain::area(part)?;
            ints::skip(part, count)?;
            WordKinds::default()
        }
        _ => return Err(bad("an encoding of texts is unknown")),
    })
}
