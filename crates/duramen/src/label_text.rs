//! The text of a label set, as in `{app="x",host="y"}`: what the column `_stream` holds, taken apart again.
//!
//! ```text
//! set    {label,label…}         a blank may stand behind a comma
//! label  name="value"           name: ASCII letters, digits and _ . : - / @
//!        "name"="value"         any name
//! ```
//!
//! In quotes `\"`, `\\` and `\n` stand for a quote, a backslash and a line feed; `\t` and `\r` are read, but not written.

use std::borrow::Cow;

/// The labels of a label set's text, as pairs of name and value, without quotes and escapes. Ends at the first thing that
/// is no label; never panics, and allocates only for what has escapes.
///
/// ```
/// use duramen::label_text::Labels;
///
/// let labels: Vec<_> = Labels::of(r#"{app="x","my host"="y"}"#).collect();
/// assert_eq!(labels, [("app".into(), "x".into()), ("my host".into(), "y".into())]);
/// assert_eq!(Labels::of("app").count(), 0);
/// ```
#[derive(Clone, Debug)]
pub struct Labels<'a> {
    rest: &'a str,
    /// Whether a comma must stand before the next one.
    has_begun: bool,
}

impl<'a> Labels<'a> {
    /// Of this text.
    pub fn of(text: &'a str) -> Self {
        Self { rest: text.strip_prefix('{').unwrap_or(""), has_begun: false }
    }
}

impl<'a> Iterator for Labels<'a> {
    type Item = (Cow<'a, str>, Cow<'a, str>);

    fn next(&mut self) -> Option<Self::Item> {
        let rest = match self.has_begun {
            true => self.rest.strip_prefix(',')?.trim_start_matches(' '),
            false => self.rest,
        };
        let (name, rest) = if rest.starts_with('"') { quoted(rest)? } else { plain(rest)? };
        let (value, rest) = quoted(rest.strip_prefix('=')?)?;
        (self.rest, self.has_begun) = (rest, true);
        Some((name, value))
    }
}

/// The labels of a text that is a label set as a whole, as pairs of name and value; `None` if it is none.
///
/// ```
/// use duramen::label_text::parse;
///
/// assert_eq!(parse(r#"{app="x"}"#), Some(vec![("app".to_owned(), "x".to_owned())]));
/// assert_eq!((parse("{}"), parse(r#"{app="x"} or so"#)), (Some(vec![]), None));
/// ```
pub fn parse(text: &str) -> Option<Vec<(String, String)>> {
    let mut labels = Labels::of(text);
    let all = labels.by_ref().map(|(name, value)| (name.into_owned(), value.into_owned())).collect();
    (labels.rest == "}").then_some(all)
}

/// The text of a label set, of pairs of name and value.
pub fn write<'l>(labels: impl IntoIterator<Item = (&'l str, &'l str)>) -> String {
    let mut out = String::from("{");
    for (i, (name, value)) in labels.into_iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        if !name.is_empty() && name.chars().all(is_plain) {
            out.push_str(name);
        } else {
            quote(name, &mut out);
        }
        out.push('=');
        quote(value, &mut out);
    }
    out.push('}');
    out
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_.:-/@".contains(c)
}

fn quote(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            c => out.push(c),
        }
    }
    out.push('"');
}

/// A name that needs no quotes, and what follows it.
fn plain(text: &str) -> Option<(Cow<'_, str>, &str)> {
    let end = text.find(|c| !is_plain(c)).filter(|end| *end > 0)?;
    Some((text[..end].into(), &text[end..]))
}

/// A quoted text, and what follows it.
fn quoted(text: &str) -> Option<(Cow<'_, str>, &str)> {
    let text = text.strip_prefix('"')?;
    let end = text.find(['"', '\\'])?;
    if text[end..].starts_with('"') {
        return Some((text[..end].into(), &text[end + 1..]));
    }
    let mut out = text[..end].to_owned();
    let mut chars = text[end..].char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((out.into(), &text[end + at + 1..])),
            '\\' => out.push(match chars.next()?.1 {
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                other => other,
            }),
            c => out.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn label_sets_are_taken_apart() {
        let pairs = |labels: &[(&str, &str)]| -> Option<Vec<(String, String)>> {
            Some(labels.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect())
        };
        assert_eq!(parse("{}"), pairs(&[]));
        assert_eq!(parse(r#"{app="x"}"#), pairs(&[("app", "x")]));
        let all = r#"{a="=\",b=\"",host="y\\",z="","odd name"="1\n2"}"#;
        assert_eq!(parse(all), pairs(&[("a", "=\",b=\""), ("host", "y\\"), ("z", ""), ("odd name", "1\n2")]));
        assert_eq!(parse(r#"{a="1\t2", b="3"}"#), pairs(&[("a", "1\t2"), ("b", "3")]));
        for wrong in
            ["", "{", "a=\"b\"", "{a=b}", "{a!=\"b\"}", "{=\"b\"}", "{a=\"b\",}", "{a=\"b\"}x", "{a=\"b\\"]
        {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
        let begins_well = Labels::of(r#"{a="1","b"="2" c="3"}"#).map(|(name, _)| name.into_owned());
        assert_eq!(begins_well.collect::<Vec<_>>(), ["a", "b"]);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(labels in proptest::collection::vec((".{0,6}", ".{0,9}"), 0..4)) {
            let text = write(labels.iter().map(|(n, v)| (n.as_str(), v.as_str())));
            prop_assert_eq!(parse(&text), Some(labels));
        }

        #[test]
        fn no_text_makes_it_panic(text in "[{}=,\"\\\\ab ]{0,20}") {
            if let Some(labels) = parse(&text) {
                let again = write(labels.iter().map(|(n, v)| (n.as_str(), v.as_str())));
                prop_assert_eq!(parse(&again), Some(labels));
            }
        }
    }
}
