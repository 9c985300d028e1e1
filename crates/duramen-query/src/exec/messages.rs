//! Which words messages must have for a row to match: blocks whose messages have not are passed over without being opened.

use crate::filter::{Filter, Needs};
use duramen::block::{BlockHandle, names};

/// What a row's message must have.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Message {
    /// Whatever it has, the row may match.
    Any,
    /// Words with all of these hashes.
    Words(Vec<u64>),
    All(Vec<Message>),
    OneOf(Vec<Message>),
}

impl Message {
    pub(super) fn of(filter: &Filter) -> Self {
        match filter {
            Filter::And(parts) => {
                let mut all: Vec<_> = parts.iter().map(Self::of).filter(|part| *part != Self::Any).collect();
                match all.len() {
                    0 => Self::Any,
                    1 => all.remove(0),
                    _ => Self::All(all),
                }
            }
            Filter::Or(parts) => Self::one_of(parts.iter().map(Self::of)),
            Filter::Field { field, test } if **field == *names::MESSAGE => match test.needs() {
                Needs::Nothing => Self::Any,
                Needs::Words(words) => Self::words(words),
                Needs::OneOf(alternatives) => Self::one_of(alternatives.into_iter().map(Self::words)),
            },
            _ => Self::Any,
        }
    }

    fn words(words: Vec<u64>) -> Self {
        if words.is_empty() { Self::Any } else { Self::Words(words) }
    }

    fn one_of(parts: impl Iterator<Item = Self>) -> Self {
        let parts: Vec<_> = parts.collect();
        if parts.contains(&Self::Any) { Self::Any } else { Self::OneOf(parts) }
    }

    /// Whether some message of a block may have it; `false` is certain. If it `reads`, what tells that is read.
    pub(super) fn may_be_in(&self, handle: &dyn BlockHandle, reads: bool) -> bool {
        match self {
            Self::Any => true,
            Self::Words(words) => handle.may_have_message(words, reads),
            Self::All(parts) => parts.iter().all(|part| part.may_be_in(handle, reads)),
            Self::OneOf(parts) => parts.iter().any(|part| part.may_be_in(handle, reads)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ParseOptions, Query};
    use duramen::token;

    #[test]
    fn what_messages_must_have_is_what_decides() {
        let of = |query: &str| Message::of(Query::parse(query, &ParseOptions::default()).unwrap().filter());
        let words = |words: &[&str]| Message::Words(words.iter().map(|word| token::hash(word)).collect());
        assert_eq!(of("lost level:error app:=shop"), words(&["lost"]));
        assert_eq!(of("found lost"), Message::All(vec![words(&["found"]), words(&["lost"])]));
        assert_eq!(of("found or lost"), Message::OneOf(vec![words(&["found"]), words(&["lost"])]));
        assert_eq!(of("in(found, lost)"), of("found or lost"));
        for any in ["*", "!lost", "lost or level:error", "level:lost", "~ost", "lost* or _time:5m", r#""""#] {
            assert_eq!(of(any), Message::Any, "{any}");
        }
    }
}
