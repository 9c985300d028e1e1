//! The stage `logfmt`: `level=warn msg="a b" took=5ms`.

use super::errors;
use crate::ast::Logfmt;
use crate::labels::Entry;
use std::borrow::Cow;

/// Reads the line's pairs as labels, all or those that were asked for. What is no pair is passed over, or, where it must
/// not be there, an error.
pub(super) fn read(logfmt: &Logfmt, entry: &mut Entry<'_>) {
    let line = std::mem::take(&mut entry.line);
    let mut rest = &*line;
    loop {
        rest = rest.trim_start_matches(|c: char| c <= ' ');
        if rest.is_empty() {
            break;
        }
        match pair(rest) {
            Ok((key, value, after)) => {
                rest = after;
                if logfmt.fields.is_empty() {
                    entry.set_parsed(key, &value);
                } else {
                    let wanted = logfmt.fields.iter().filter(|(_, wanted)| **wanted == *key);
                    wanted.for_each(|(label, _)| entry.set_named(label, &value));
                }
            }
            Err(what) => {
                if logfmt.strict {
                    let place = line.len() - rest.len() + 1;
                    entry.fail(errors::LOGFMT, format!("logfmt syntax error at pos {place}: {what}"));
                    break;
                }
                let end = rest.find(|c: char| c <= ' ').unwrap_or(rest.len());
                rest = &rest[end..];
            }
        }
    }
    entry.line = line;
}

/// The pair at the beginning of a text, and what is behind it.
fn pair(text: &str) -> Result<(&str, Cow<'_, str>, &str), &'static str> {
    let end = text.find(|c: char| c <= ' ' || matches!(c, '=' | '"')).unwrap_or(text.len());
    let (key, rest) = text.split_at(end);
    if key.is_empty() {
        return Err(if rest.starts_with('=') { "unexpected '='" } else { "unexpected '\"'" });
    }
    let Some(value) = rest.strip_prefix('=') else {
        return if rest.starts_with('"') { Err("unexpected '\"'") } else { Ok((key, "".into(), rest)) };
    };
    let Some(quoted) = value.strip_prefix('"') else {
        let end = value.find(|c: char| c <= ' ').unwrap_or(value.len());
        let (value, rest) = value.split_at(end);
        return if value.contains('"') { Err("unexpected '\"'") } else { Ok((key, value.into(), rest)) };
    };
    let mut escaped = false;
    let end = quoted.bytes().position(|b| {
        let ends = b == b'"' && !escaped;
        escaped = b == b'\\' && !escaped;
        ends
    });
    let end = end.ok_or("unterminated quoted value")?;
    let (value, rest) = (&quoted[..end], &quoted[end + 1..]);
    Ok((key, if value.contains('\\') { unescape(value).into() } else { value.into() }, rest))
}

fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        out.push_str(before);
        let unicode = after.strip_prefix('u').and_then(|digits| digits.get(..4));
        let unicode =
            unicode.and_then(|digits| u32::from_str_radix(digits, 16).ok()).and_then(char::from_u32);
        let mut chars = after.chars();
        rest = match (unicode, chars.next()) {
            (Some(c), _) => {
                out.push(c);
                &after[5..]
            }
            (None, Some(c)) => {
                out.push(match c {
                    'n' => '\n',
                    'r' => '\r',
                    't' => '\t',
                    other => other,
                });
                chars.as_str()
            }
            (None, None) => "",
        };
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::labels::EntryReader;
    use duramen_query::ResultRow;

    fn labels(line: &str, strict: bool) -> (Vec<(String, String)>, Option<&'static str>) {
        let row = ResultRow::new();
        let mut reader = EntryReader::default();
        let mut entry = reader.read(&row, None);
        entry.labels.clear();
        entry.line = line.into();
        read(&Logfmt { strict, ..Logfmt::default() }, &mut entry);
        let labels = entry.labels.iter().map(|l| (l.name.to_string(), l.value.to_string())).collect();
        (labels, entry.error)
    }

    #[test]
    fn pairs_are_labels() {
        let pair = |a: &str, b: &str| (a.to_string(), b.to_string());
        let (found, error) = labels(r#"level=warn msg="a \"b\" \u00e9\n" alone k8s.pod=x empty= n=1"#, true);
        assert_eq!(error, None);
        let expected =
            [pair("level", "warn"), pair("msg", "a \"b\" é\n"), pair("k8s_pod", "x"), pair("n", "1")];
        assert_eq!(found, expected);
    }

    #[test]
    fn what_is_no_pair_is_passed_over_or_an_error() {
        for line in ["a=1 =2 b=3", "a=1 x\"y b=3", "a=1 c=\"open b=3"] {
            assert_eq!(labels(line, true).1, Some("LogfmtParserErr"), "{line}");
            assert_eq!(labels(line, false).1, None, "{line}");
            assert!(labels(line, false).0.contains(&("a".into(), "1".into())), "{line}");
            assert!(labels(line, false).0.contains(&("b".into(), "3".into())), "{line}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_line_makes_it_panic(line in "[a-c=\" \\\\ué0-9]{0,30}") {
            let _ = (labels(&line, true), labels(&line, false));
        }
    }
}
