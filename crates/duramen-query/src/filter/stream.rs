//! `{app="x", host=~"web-.*"}`: the row's stream, by its labels.

use super::Needs;
use super::phrase::{hashes, sought_words};
use crate::parse::{quote, quote_always};
use duramen::block::{StreamLabels, StreamTest, TableStreams};
use duramen::label_text::Labels;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Alternatives (`or`) of label conditions that must all hold (`,`).
#[derive(Clone, Debug)]
pub struct Selector {
    /// At least one alternative; one without conditions matches every stream.
    pub alternatives: Vec<Vec<Condition>>,
    /// Which streams of tables match, while their blocks are looked at.
    known: Arc<Mutex<Known>>,
}

/// Of tables, by where they are in memory, which of their sets of labels match.
#[derive(Debug, Default)]
struct Known {
    of_tables: HashMap<usize, OfTable, FixedState>,
    bytes: usize,
}

/// A table, so that no other comes to where it is, and which sets match.
type OfTable = (Weak<TableStreams>, Arc<[bool]>);

/// What is known of tables takes so many bytes at most, and one table's more; then it is forgotten.
const MAX_KNOWN_BYTES: usize = 8 << 20;

impl PartialEq for Selector {
    fn eq(&self, other: &Self) -> bool {
        self.alternatives == other.alternatives
    }
}

impl StreamTest for Selector {
    fn wants(&self, labels: &StreamLabels<'_>) -> bool {
        self.matches_labels(labels)
    }

    fn wanted_of(&self, table: &Arc<TableStreams>) -> Option<Arc<[bool]>> {
        let place = Arc::as_ptr(table) as usize;
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, of_sets)) = known().of_tables.get(&place) {
            return Some(of_sets.clone());
        }
        // Others do not wait for that; who looks at the same table meanwhile finds the same.
        let of_sets = (0..table.sets()).map(|set| table.with_set(set, |labels| self.matches_labels(labels)));
        let of_sets: Arc<[bool]> = of_sets.collect();
        let mut known = known();
        if known.bytes > MAX_KNOWN_BYTES {
            *known = Known::default();
        }
        // The table itself leaves a few hundred bytes behind.
        known.bytes += of_sets.len() + 512;
        known.of_tables.insert(place, (Arc::downgrade(table), of_sets.clone()));
        Some(of_sets)
    }
}

/// A condition on one label. A label that a stream does not have is the empty text.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// The label's name.
    pub label: Box<str>,
    /// Whether the test must fail instead.
    pub negated: bool,
    /// The test.
    pub test: LabelTest,
}

/// A test of a label's value.
#[derive(Clone, Debug)]
pub enum LabelTest {
    /// `label="value"`
    Is(Box<str>),
    /// `label in ("a", "b")`
    In(Vec<Box<str>>),
    /// `label=~"regexp"`, which must match the whole value.
    Matches(Box<str>, regex::Regex),
}

impl LabelTest {
    /// A test by a regular expression.
    ///
    /// # Errors
    /// What is wrong with the expression, in a few words.
    pub fn regex(expression: &str) -> Result<Self, String> {
        super::regex::compile_whole(expression).map(|regex| Self::Matches(expression.into(), regex))
    }

    fn matches(&self, value: &str) -> bool {
        match self {
            Self::Is(text) => **text == *value,
            Self::In(texts) => texts.iter().any(|t| **t == *value),
            Self::Matches(_, regex) => regex.is_match(value),
        }
    }
}

impl PartialEq for LabelTest {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Is(a), Self::Is(b)) => a == b,
            (Self::In(a), Self::In(b)) => a == b,
            (Self::Matches(a, _), Self::Matches(b, _)) => a == b,
            _ => false,
        }
    }
}

impl Selector {
    /// One of these alternatives.
    pub fn new(alternatives: Vec<Vec<Condition>>) -> Self {
        Self { alternatives, known: Arc::default() }
    }

    /// Whether a stream's text, as in `{app="x",host="y"}`, satisfies the selector.
    pub fn matches(&self, stream: &str) -> bool {
        let labels: Vec<(Cow<'_, str>, Cow<'_, str>)> = Labels::of(stream).collect();
        let labels: Vec<(&str, &str)> = labels.iter().map(|(name, value)| (&**name, &**value)).collect();
        self.matches_labels(&labels)
    }

    /// Whether a stream with these labels, names and values, satisfies the selector.
    pub fn matches_labels(&self, labels: &[(&str, &str)]) -> bool {
        self.alternatives.iter().any(|conditions| {
            conditions.iter().all(|c| {
                let value = labels.iter().find(|(name, _)| **name == *c.label).map_or("", |(_, v)| v);
                c.test.matches(value) != c.negated
            })
        })
    }

    /// The words that a matching stream's text holds.
    pub fn needs(&self) -> Needs {
        let words = |conditions: &Vec<Condition>| {
            let plain = conditions.iter().filter(|c| !c.negated).filter_map(|c| match &c.test {
                // Escapes put letters beside the value's own.
                LabelTest::Is(v) if !v.contains(|ch: char| ch.is_control() || ch == '\\' || ch == '"') => {
                    Some(hashes(&sought_words(v, true, true)))
                }
                _ => None,
            });
            plain.flatten().collect()
        };
        Needs::OneOf(self.alternatives.iter().map(words).collect())
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        for (i, conditions) in self.alternatives.iter().enumerate() {
            f.write_str(if i > 0 { " or " } else { "" })?;
            for (j, c) in conditions.iter().enumerate() {
                f.write_str(if j > 0 { "," } else { "" })?;
                let label = quote(&c.label);
                match (&c.test, c.negated) {
                    (LabelTest::Is(v), false) => write!(f, "{label}={}", quote_always(v))?,
                    (LabelTest::Is(v), true) => write!(f, "{label}!={}", quote_always(v))?,
                    (LabelTest::Matches(e, _), false) => write!(f, "{label}=~{}", quote_always(e))?,
                    (LabelTest::Matches(e, _), true) => write!(f, "{label}!~{}", quote_always(e))?,
                    (LabelTest::In(values), negated) => {
                        write!(f, "{label} {}(", if negated { "not_in" } else { "in" })?;
                        for (k, v) in values.iter().enumerate() {
                            write!(f, "{}{}", if k > 0 { "," } else { "" }, quote_always(v))?;
                        }
                        f.write_str(")")?;
                    }
                }
            }
        }
        f.write_str("}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is(label: &str, value: &str) -> Selector {
        let test = LabelTest::Is(value.into());
        Selector::new(vec![vec![Condition { label: label.into(), negated: false, test }]])
    }

    #[test]
    fn labels_are_found_by_their_names_and_values_without_quotes_and_escapes() {
        let stream = r#"{app="a\"b\\","my host"="x,y=\"",n="1\n2"}"#;
        for (label, value) in [("app", "a\"b\\"), ("my host", "x,y=\""), ("n", "1\n2"), ("other", "")] {
            assert!(is(label, value).matches(stream), "{label}");
            assert!(!is(label, "x").matches(stream), "{label}");
        }
        assert!(!is("\"my host\"", "x,y=\"").matches(stream));
        assert!(is("app", "").matches("no stream"));
    }
}
