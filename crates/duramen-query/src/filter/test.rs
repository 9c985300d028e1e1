//! A test of one value, whatever it tests.

use super::{
    Needs, compare, contains, exact, fold, ip, length, level, literals, pattern, phrase, regex, sequence, set,
};
use crate::number::Number;
use duramen::block::{Run, Word};
use duramen::entry::plain_integer;
use std::fmt;

/// Parts of words that have fewer bytes are not looked for.
const MIN_PART_BYTES: usize = 3;

/// A test of one value. A field that a row does not have is the empty text.
#[derive(Clone, Debug, PartialEq)]
pub enum Test {
    /// `word`, `"a phrase"`, `prefix*`, `*part*`
    Phrase(phrase::Phrase),
    /// `i(word)`
    Fold(fold::Fold),
    /// `="text"`, `="text"*`, and `""`
    Exact(exact::Exact),
    /// `>5`, `range[1, 5)`, `string_range(a, b)`
    Compare(compare::Range),
    /// `in(a, b)`
    In(set::In),
    /// `contains_all(a, b)`, `contains_any(a, b)`
    Contains(contains::Contains),
    /// `seq(a, b)`
    Sequence(sequence::Sequence),
    /// `~"regexp"`
    Regex(regex::Pattern),
    /// `pattern_match("<N> ms")`
    Pattern(pattern::PlacePattern),
    /// `ipv4_range("10.0.0.0/8")`, `ipv6_range(…)`
    Ip(ip::IpRange),
    /// `len_range(5, 10)`
    Length(length::Length),
    /// `level:error`, `level:>=warn`
    Level(level::LevelTest),
    /// `*`: any text but the empty one
    Any,
}

impl Test {
    /// Whether a value passes.
    pub fn matches(&self, text: &str) -> bool {
        match self {
            Self::Phrase(t) => t.matches(text),
            Self::Fold(t) => t.matches(text),
            Self::Exact(t) => t.matches(text),
            Self::Compare(t) => t.matches(text),
            Self::In(t) => t.matches(text),
            Self::Contains(t) => t.matches(text),
            Self::Sequence(t) => t.matches(text),
            Self::Regex(t) => t.matches(text),
            Self::Pattern(t) => t.matches(text),
            Self::Ip(t) => t.matches(text),
            Self::Length(t) => t.matches(text),
            Self::Level(t) => t.matches(text),
            Self::Any => !text.is_empty(),
        }
    }

    /// Whether it passes all texts but the empty one, or that one only; `None` if neither.
    pub(crate) fn asks_for_any(&self) -> Option<bool> {
        match self {
            Self::Any => Some(true),
            Self::Exact(exact) => exact.is_of_empty().then_some(false),
            _ => None,
        }
    }

    /// Whether an integer's text passes, for tests that can tell without the text.
    pub fn matches_int(&self, n: i64) -> Option<bool> {
        match self {
            Self::Compare(t) => t.matches_number(Number::Int(n)),
            Self::Exact(t) => t.matches_int(n),
            Self::Ip(_) => Some(false),
            Self::Any => Some(true),
            _ => None,
        }
    }

    /// Whether the text of a decimal fraction passes, for tests that can tell without the text.
    pub fn matches_decimal(&self, n: Number) -> Option<bool> {
        match self {
            Self::Compare(t) => t.matches_number(n),
            Self::Ip(_) => Some(false),
            Self::Any => Some(true),
            _ => None,
        }
    }

    /// What a value that passes certainly holds.
    pub fn needs(&self) -> Needs {
        match self {
            Self::Phrase(t) => t.needs(),
            Self::Fold(t) => t.needs(),
            Self::Exact(t) => t.needs(),
            Self::In(t) => t.needs(),
            Self::Contains(t) => t.needs(),
            Self::Sequence(t) => t.needs(),
            Self::Regex(t) => t.needs(),
            Self::Compare(_)
            | Self::Pattern(_)
            | Self::Ip(_)
            | Self::Length(_)
            | Self::Level(_)
            | Self::Any => Needs::Nothing,
        }
    }

    /// The grams that a value that passes certainly has, if any are known.
    pub fn grams(&self) -> Option<&literals::Grams> {
        match self {
            Self::Phrase(t) => Some(t.grams()),
            Self::Regex(t) => Some(t.grams()),
            Self::Pattern(t) => Some(t.grams()),
            _ => None,
        }
    }

    /// Words, and parts of words, that every value that passes holds; none if there are none, or if that is not known.
    pub(crate) fn sought_words(&self) -> Vec<Word<'_>> {
        let mut words = match self {
            Self::Phrase(t) => t.sought_words(),
            Self::Fold(t) => t.sought_words(),
            Self::Exact(t) if t.int().is_none() => phrase::sought_words(t.text(), true, !t.is_prefix()),
            Self::Contains(t) if t.is_all() => {
                t.phrases().iter().flat_map(phrase::Phrase::sought_words).collect()
            }
            Self::Regex(t) => t.sought_words(),
            Self::Pattern(t) => t.sought_words(),
            Self::Sequence(t) => t.phrases().iter().flat_map(phrase::Phrase::sought_words).collect(),
            _ => Vec::new(),
        };
        // Short parts are everywhere.
        words.retain(|word| word.is_whole || word.text.len() >= MIN_PART_BYTES);
        words
    }

    /// Whether an integer may pass; `false` is certain.
    pub(crate) fn may_be_integer(&self) -> bool {
        match self {
            Self::Exact(t) => t.int().is_some() || t.is_prefix(),
            Self::In(t) => t.values().any(|value| plain_integer(value).is_some()),
            _ => {
                let is_number = |word: &Word<'_>| word.text.bytes().all(|byte| byte.is_ascii_digit());
                !self.sought_words().iter().any(|word| word.is_whole && !is_number(word))
            }
        }
    }

    /// Whether a value passes for certain because this part of it, which was cut out between two words, would.
    pub(crate) fn passes_by_part(&self, part: &str) -> bool {
        match self {
            Self::Phrase(_) | Self::Fold(_) | Self::Contains(_) | Self::Sequence(_) => self.matches(part),
            Self::Regex(t) => t.matches_by_part(part),
            _ => false,
        }
    }

    /// Whether a value may pass because of this part of it, which was cut out between two words, together with what stands
    /// around it.
    pub(crate) fn reaches_beyond(&self, part: &str) -> bool {
        match self {
            Self::Phrase(t) => t.reaches_beyond(part),
            _ => true,
        }
    }

    /// The run of text that the values that pass hold, if it is that which makes them pass.
    pub(crate) fn run(&self) -> Option<Run<'_>> {
        match self {
            Self::Phrase(t) => Some(t.run()),
            _ => None,
        }
    }

    /// How dear it is to evaluate, to put the cheap ones first.
    pub fn cost(&self) -> u32 {
        match self {
            Self::Level(_) | Self::Any | Self::Exact(_) | Self::Compare(_) | Self::In(_) | Self::Ip(_) => 3,
            Self::Phrase(_) | Self::Length(_) => 4,
            Self::Contains(_) | Self::Sequence(_) => 6,
            Self::Fold(_) => 7,
            Self::Regex(_) | Self::Pattern(_) => 9,
        }
    }
}

impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Phrase(t) => t.fmt(f),
            Self::Fold(t) => t.fmt(f),
            Self::Exact(t) => t.fmt(f),
            Self::Compare(t) => t.fmt(f),
            Self::In(t) => t.fmt(f),
            Self::Contains(t) => t.fmt(f),
            Self::Sequence(t) => t.fmt(f),
            Self::Regex(t) => t.fmt(f),
            Self::Pattern(t) => t.fmt(f),
            Self::Ip(t) => t.fmt(f),
            Self::Length(t) => t.fmt(f),
            Self::Level(t) => t.fmt(f),
            Self::Any => f.write_str("*"),
        }
    }
}
