//! The text of a label set, as in `{app="x",host="y"}`: what the column `_stream` holds, taken apart again.

/// Takes a label set apart; `None` if the text is none.
pub(crate) fn parse(text: &str) -> Option<Vec<(String, String)>> {
    let mut rest = text.strip_prefix('{')?;
    let mut labels = Vec::new();
    if let Some(end) = rest.strip_prefix('}') {
        return end.is_empty().then_some(labels);
    }
    loop {
        let name;
        if rest.starts_with('"') {
            (name, rest) = quoted(rest)?;
        } else {
            let (plain, _) = rest.split_once('=')?;
            if plain.is_empty() || !plain.chars().all(is_plain) {
                return None;
            }
            (name, rest) = (plain.to_owned(), &rest[plain.len()..]);
        }
        let value;
        (value, rest) = quoted(rest.strip_prefix('=')?)?;
        labels.push((name, value));
        match rest.strip_prefix(',') {
            Some(next) => rest = next,
            None => return (rest == "}").then_some(labels),
        }
    }
}

/// The text of a label set.
pub(crate) fn write<'l>(labels: impl IntoIterator<Item = (&'l str, &'l str)>) -> String {
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

/// A quoted text, and what follows it.
fn quoted(text: &str) -> Option<(String, &str)> {
    let text = text.strip_prefix('"')?;
    let mut out = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((out, &text[at + 1..])),
            '\\' => out.push(match chars.next()?.1 {
                'n' => '\n',
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
