//! Which streams a rule is for: those whose labels have these values.

use crate::entry::EntryRef;
use crate::error::Error;
use crate::label_text;
use crate::value::Value;
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

/// The most labels that a selector may name.
const MAX_LABELS: usize = 64;

/// Streams, by labels that they have and the values of these: `{app="checkout",env="test"}`. A stream may have
/// others, too. There are no patterns: a rule is for streams that one can name.
///
/// ```
/// use duramen::StreamSelector;
/// let selector: StreamSelector = r#"{app="checkout"}"#.parse()?;
/// assert_eq!(selector.to_string(), r#"{app="checkout"}"#);
/// assert!("{app=~\"check.*\"}".parse::<StreamSelector>().is_err());
/// # Ok::<(), duramen::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StreamSelector {
    /// Names and values, by name.
    labels: Vec<(String, String)>,
}

impl StreamSelector {
    /// The streams that have all these labels.
    ///
    /// # Errors
    /// [`Error::Invalid`] if there is none, one comes twice, or there are more than 64.
    pub fn new(labels: impl IntoIterator<Item = (String, String)>) -> Result<Self, Error> {
        let mut labels: Vec<_> = labels.into_iter().collect();
        labels.sort();
        if labels.is_empty() || labels.len() > MAX_LABELS {
            let found = labels.len();
            return Err(Error::Invalid(format!("a stream selector with {found} labels; 1 to {MAX_LABELS}")));
        }
        if let Some(twice) = labels.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(Error::Invalid(format!("a stream has one value of `{}`, not two", twice[0].0)));
        }
        Ok(Self { labels })
    }

    /// The labels, by name.
    pub fn labels(&self) -> &[(String, String)] {
        &self.labels
    }

    /// Whether it selects the stream that has these labels.
    pub(crate) fn selects(&self, stream: &[(String, String)]) -> bool {
        self.labels.iter().all(|label| stream.contains(label))
    }
}

impl fmt::Display for StreamSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pairs = self.labels.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        f.write_str(&label_text::write(pairs))
    }
}

impl FromStr for StreamSelector {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let labels = label_text::parse(text.trim()).ok_or_else(|| {
            Error::Invalid(format!(
                r#"`{text}` is no stream: labels and their values are, as in {{app="web"}}"#
            ))
        })?;
        Self::new(labels)
    }
}

/// The labels of an entry's stream.
pub(crate) fn labels_of(entry: &EntryRef<'_>) -> Vec<(String, String)> {
    let mut labels: Vec<(String, String)> = Vec::new();
    for (name, value) in entry.stream() {
        labels.retain(|(known, _)| known != name); // of one that comes twice, the later counts
        labels.push((name.to_owned(), text_of(value).into_owned()));
    }
    labels
}

/// A value as its text.
fn text_of(value: Value<'_>) -> Cow<'_, str> {
    match value {
        Value::Str(text) | Value::Number(text) | Value::Json(text) => text.into(),
        Value::Int(n) => n.to_string().into(),
        Value::Float(x) => x.to_string().into(),
        Value::Bool(b) => b.to_string().into(),
        Value::Null => "".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::EntryBuf;

    #[test]
    fn a_selector_selects_streams_that_have_its_labels() {
        let selector: StreamSelector = r#" {host="a\"b",app="x"} "#.parse().unwrap();
        let mut entry = EntryBuf::new(["app", "host", "n"]);
        let selects = |entry: &mut EntryBuf| {
            selector.selects(&labels_of(&EntryRef::decode(entry.finish().unwrap()).unwrap()))
        };
        assert!(selects(entry.start(1).field("app", "x").field("host", "a\"b").field("n", 5)));
        assert!(!selects(entry.start(1).field("app", "x").field("host", "a")));
        assert!(!selects(entry.start(1).field("app", "x")));
        assert_eq!(selector.to_string(), r#"{app="x",host="a\"b"}"#);
    }

    #[test]
    fn what_is_no_selector_says_so() {
        for text in [
            "",
            "{}",
            "app",
            r#"{app="x""#,
            r#"{app="x"}y"#,
            r#"{app=x}"#,
            r#"{app!="x"}"#,
            r#"{a="1",a="2"}"#,
        ] {
            assert!(matches!(text.parse::<StreamSelector>(), Err(Error::Invalid(_))), "{text}");
        }
    }
}
