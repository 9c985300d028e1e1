//! Which words values must have for a row to match: blocks whose values have not are passed over without being opened.

use crate::filter::{Filter, Needs};
use duramen::block::{BlockHandle, ValueWords};

/// What a row must have.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Needed<'f> {
    /// Whatever it has, it may match.
    Nothing,
    /// In this field, words with all of these hashes.
    Words {
        field: &'f str,
        words: Vec<u64>,
        /// Whether the value may be an integer: as which filters know no words.
        may_be_integer: bool,
    },
    All(Vec<Needed<'f>>),
    OneOf(Vec<Needed<'f>>),
}

impl<'f> Needed<'f> {
    pub(super) fn by(filter: &'f Filter) -> Self {
        match filter {
            Filter::And(parts) => {
                let mut all: Vec<_> =
                    parts.iter().map(Self::by).filter(|part| *part != Self::Nothing).collect();
                match all.len() {
                    0 => Self::Nothing,
                    1 => all.remove(0),
                    _ => Self::All(all),
                }
            }
            Filter::Or(parts) => Self::one_of(parts.iter().map(Self::by)),
            Filter::Field { field, test } => match test.needs() {
                Needs::Nothing => Self::Nothing,
                Needs::Words(words) => Self::words(field, words, || test.may_be_integer()),
                Needs::OneOf(all) => {
                    // Asked once, however many values there are.
                    let may_be_integer = test.may_be_integer();
                    Self::one_of(all.into_iter().map(|words| Self::words(field, words, || may_be_integer)))
                }
            },
            _ => Self::Nothing,
        }
    }

    fn words(field: &'f str, words: Vec<u64>, may_be_integer: impl Fn() -> bool) -> Self {
        let Some(first) = words.first() else { return Self::Nothing };
        // The digits of an integer are one word.
        let may_be_integer = words.iter().all(|word| word == first) && may_be_integer();
        Self::Words { field, words, may_be_integer }
    }

    fn one_of(parts: impl Iterator<Item = Self>) -> Self {
        let parts: Vec<_> = parts.collect();
        if parts.contains(&Self::Nothing) { Self::Nothing } else { Self::OneOf(parts) }
    }

    /// Whether some row of a block may have it; `false` is certain. If it `reads`, what tells that is read.
    pub(super) fn may_be_in(&self, handle: &dyn BlockHandle, reads: bool) -> bool {
        match self {
            Self::Nothing => true,
            Self::Words { field, words, may_be_integer } => {
                let words = ValueWords { field, hashes: words, may_be_integer: *may_be_integer };
                handle.may_have_words(&words, reads)
            }
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

    fn check(query: &str, expected: &Needed<'_>) {
        let query = Query::parse(query, &ParseOptions::default()).unwrap();
        assert_eq!(Needed::by(query.filter()), *expected, "{query}");
    }

    fn needed<'f>(field: &'f str, words: &[&str], may_be_integer: bool) -> Needed<'f> {
        let words = words.iter().map(|word| token::hash(word)).collect();
        Needed::Words { field, words, may_be_integer }
    }

    #[test]
    fn what_values_must_have_is_what_decides() {
        let words = |words: &[&str]| needed("_msg", words, false);
        let (lost, found) = (words(&["lost"]), words(&["found"]));
        check("lost !app:shop _time:5m", &lost);
        let all = Needed::All(vec![words(&["lost"]), needed("app", &["shop"], false)]);
        check("lost app:=shop", &all);
        check("found or lost", &Needed::OneOf(vec![found, lost]));
        check("in(found, lost)", &Needed::OneOf(vec![words(&["found"]), words(&["lost"])]));
        for any in ["*", "!lost", "lost or level:>error", "~ost", "lost* or _time:5m", r#""""#] {
            check(any, &Needed::Nothing);
        }
    }

    /// Each word is looked at so many times that it does not depend on how many there are.
    #[test]
    fn queries_may_have_very_many_words() {
        let words: Vec<_> = (0..60_000).map(|n| format!("w{n}")).collect();
        for (query, many) in [(words.join(" "), false), (format!("in({})", words.join(",")), true)] {
            let query = Query::parse(&query, &ParseOptions::default()).unwrap();
            match Needed::by(query.filter()) {
                Needed::All(parts) if !many => assert_eq!(parts.len(), words.len()),
                Needed::OneOf(parts) if many => assert_eq!(parts.len(), words.len()),
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn a_value_may_be_an_integer_unless_what_it_has_is_more_than_digits() {
        for (query, words, may_be) in [
            ("n:=404", &["404"][..], true),
            ("n:=-404", &["404"], true),
            ("n:404", &["404"], true),
            (r#"n:"404 404""#, &["404", "404"], true),
            ("n:i(404)", &["404"], true),
            (r#"n:~"code 404 ""#, &["404"], true),
            (r#"n:="404 404""#, &["404", "404"], false),
            (r#"n:"404 505""#, &["404", "505"], false),
            ("n:=0404", &["0404"], false),
            ("n:x404", &["x404"], false),
            ("n:i(X404)", &["x404"], false),
            ("n:contains_all(404, ms)", &["404", "ms"], false),
            ("n:=10.0.0.1", &["10", "0", "0", "1"], false),
        ] {
            check(query, &needed("n", words, may_be));
        }
        let one_of =
            |may_be| Needed::OneOf(vec![needed("n", &["404"], may_be), needed("n", &["ms"], may_be)]);
        check("n:in(404, ms)", &one_of(true));
        check(
            "n:in(0404, ms)",
            &Needed::OneOf(vec![needed("n", &["0404"], false), needed("n", &["ms"], false)]),
        );
    }
}
