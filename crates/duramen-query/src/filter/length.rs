//! `len_range(5, 10)`: how many characters a value has.

use crate::number::Number;
use std::fmt;

/// Lengths in characters, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Length {
    /// The least.
    pub min: u64,
    /// The most; [`u64::MAX`] is no limit.
    pub max: u64,
}

impl Length {
    /// Whether `text` has as many characters.
    pub fn matches(&self, text: &str) -> bool {
        // No character is shorter than a byte or longer than four.
        let bytes = text.len() as u64;
        if bytes < self.min || bytes.div_ceil(4) > self.max {
            return false;
        }
        self.allows(text.chars().count() as u64)
    }

    /// Whether a text of so many characters has as many.
    pub fn allows(&self, chars: u64) -> bool {
        (self.min..=self.max).contains(&chars)
    }
}

impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.max {
            u64::MAX => write!(f, "len_range({}, inf)", self.min),
            max => write!(f, "len_range({}, {max})", self.min),
        }
    }
}

/// Reads a bound: `10`, `1_000`, `0xff`, `1KiB`, and `inf` or `+inf` for no limit; `None` if it is none.
pub fn parse_bound(text: &str) -> Option<u64> {
    if text.strip_prefix('+').unwrap_or(text).eq_ignore_ascii_case("inf") {
        return Some(u64::MAX);
    }
    u64::try_from(Number::literal(text)?.as_int()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_counted_not_bytes() {
        let length = Length { min: 3, max: 4 };
        assert!(length.matches("äöü") && length.matches("abcd"));
        assert!(!length.matches("ab") && !length.matches("äöüßß") && !length.matches(""));
        for (text, bound) in [
            ("0xff", Some(255)),
            ("0b101", Some(5)),
            ("1_000", Some(1000)),
            ("1KiB", Some(1024)),
            ("-1", None),
            ("0x", None),
            ("INF", Some(u64::MAX)),
        ] {
            assert_eq!(parse_bound(text), bound, "{text}");
        }
    }
}
