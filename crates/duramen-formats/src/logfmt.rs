//! logfmt: `time=2024-06-27T00:00:07Z level=info msg="user logged in" took=1.5ms ok=true`.
//!
//! Values in quotes are strings; of the others, what JSON would call a number is a number, `true` and
//! `false` are truth values, and the rest are strings. A key without `=` is a bare word.

use crate::fields::{Fields, Raw, Span};
use jiter::Jiter;

/// What a line consists of besides its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Logfmt {
    /// How many `key=value` pairs there are.
    pub pairs: usize,
    /// How many words stand outside pairs: in a line that is logfmt and nothing else, none.
    pub bare_words: usize,
}

/// Reads the pairs of a line into `fields`; what has no key is a bare word. `None` if a quote is not closed, or there are
/// more or longer ones than an entry can hold; `fields` are then of no use.
pub fn parse(line: &str, fields: &mut Fields) -> Option<Logfmt> {
    read(line, fields, is_key, false)
}

/// The same of a text that is said to be logfmt: a key is whatever stands before a `=`, `c:d` and `a[0]` as well, and a
/// quote that is not closed costs no other pair: it is part of its value. In a log of unknown form that would make keys of
/// much that is none.
pub fn parse_any_key(line: &str, fields: &mut Fields) -> Option<Logfmt> {
    read(line, fields, |b| !b.is_ascii_whitespace() && b != b'=', true)
}

fn read(line: &str, fields: &mut Fields, is_key: impl Fn(u8) -> bool, all_is_logfmt: bool) -> Option<Logfmt> {
    fields.clear();
    let s = line.as_bytes();
    let mut counts = Logfmt { pairs: 0, bare_words: 0 };
    let mut i = 0;
    // In `msg='op=login acct="a" res=success'`, which Linux's audit writes.
    let mut in_pairs = false;
    // Only the first is looked at: each look goes through the rest of the line.
    let mut may_be_pairs = true;
    loop {
        i += s.get(i..)?.iter().take_while(|b| is_space(**b)).count();
        if i >= s.len() {
            return Some(counts);
        }
        let key_at = i;
        i += s[i..].iter().take_while(|b| is_key(**b)).count();
        if s.get(i) != Some(&b'=') || i == key_at {
            i += s[i..].iter().take_while(|b| !is_space(**b)).count();
            let ends_pairs = in_pairs && s[key_at..i].ends_with(b"'");
            in_pairs &= !ends_pairs;
            counts.bare_words += usize::from(!ends_pairs || i - key_at > 1);
            continue;
        }
        let key = line.get(key_at..i)?;
        i += 1;
        if key == "msg"
            && s.get(i) == Some(&b'\'')
            && std::mem::take(&mut may_be_pairs)
            && are_pairs(&s[i + 1..])
        {
            (i, in_pairs) = (i + 1, true);
            continue;
        }
        let quoted = if s.get(i) == Some(&b'"') { quoted(line, i, fields) } else { None };
        // A pair ends where white space follows.
        let quoted = quoted.filter(|(_, end)| all_is_logfmt || ends_here(&s[*end..], in_pairs));
        let value = if let Some((value, end)) = quoted {
            i = end;
            if in_pairs && s.get(i) == Some(&b'\'') {
                (i, in_pairs) = (i + 1, false);
            }
            value
        } else if s.get(i) == Some(&b'"') && !all_is_logfmt {
            return None;
        } else {
            let start = i;
            i += s[i..].iter().take_while(|b| !is_space(**b)).count();
            let mut text = line.get(start..i)?;
            if in_pairs && let Some(last) = text.strip_suffix('\'') {
                (text, in_pairs) = (last, false);
            }
            bare(text, Span::new(start, start + text.len())?)
        };
        fields.push(key, value)?;
        counts.pairs += 1;
    }
}

/// White space, and what Linux's audit puts before the names that it adds to numbers.
fn is_space(b: u8) -> bool {
    b.is_ascii_whitespace() || b == 0x1d
}

/// Whether a pair ends before these bytes.
fn ends_here(s: &[u8], in_pairs: bool) -> bool {
    match s {
        [b'\'', rest @ ..] if in_pairs => rest.first().is_none_or(|b| is_space(*b)),
        _ => s.first().is_none_or(|b| is_space(*b)),
    }
}

/// Whether a pair comes first behind a quote, and another quote ends a word behind it.
fn are_pairs(s: &[u8]) -> bool {
    let first = s.iter().skip_while(|b| is_space(**b)).take_while(|b| !is_space(**b) && **b != b'"');
    let mut quotes = memchr::memchr_iter(b'\'', s);
    first.clone().any(|b| *b == b'=') && quotes.any(|at| s.get(at + 1).is_none_or(|b| is_space(*b)))
}

/// Whether a line begins as logfmt does: its first word has a `=` after a key.
pub(crate) fn may_be(line: &str) -> bool {
    let s = line.as_bytes();
    let key = s.iter().take(64).take_while(|b| is_key(**b)).count();
    key > 0 && s.get(key) == Some(&b'=')
}

fn is_key(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b'@' | b'/' | b'#' | b'$') || b >= 0x80
}

/// Reads the quoted value at `at`: escapes are those of JSON, and one that is none stands for itself.
fn quoted(line: &str, at: usize, fields: &mut Fields) -> Option<(Raw, usize)> {
    let s = line.as_bytes();
    let mut escaped = false;
    let mut end = at + 1;
    loop {
        end += memchr::memchr2(b'"', b'\\', s.get(end..)?)?;
        if s[end] == b'"' {
            break;
        }
        escaped = true;
        end += 2;
    }
    if !escaped {
        return Some((Raw::Text(Span::new(at + 1, end)?), end + 1));
    }
    let quoted = line.get(at..=end)?;
    if let Ok(text) = Jiter::new(quoted.as_bytes()).next_str() {
        return Some((Raw::Unescaped(fields.keep(text)?), end + 1));
    }
    let start = fields.unescaped().len();
    unescape(line.get(at + 1..end)?, fields.unescaped());
    let stop = fields.unescaped().len();
    Some((Raw::Unescaped(Span::new(start, stop)?), end + 1))
}

/// For text that is not quite JSON: knows the common escapes and leaves the others as they are.
fn unescape(text: &str, out: &mut String) {
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let mut after = rest[at + 1..].chars();
        match after.next() {
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('r') => out.push('\r'),
            Some(c @ ('"' | '\\')) => out.push(c),
            Some(c) => {
                out.push('\\');
                out.push(c);
            }
            None => out.push('\\'),
        }
        rest = after.as_str();
    }
    out.push_str(rest);
}

/// The type of a value without quotes.
fn bare(text: &str, span: Span) -> Raw {
    match text {
        "true" => Raw::Bool(true),
        "false" => Raw::Bool(false),
        text if is_number(text) => Raw::Number(span),
        _ => Raw::Text(span),
    }
}

/// Whether JSON would call this a number.
pub(crate) fn is_number(text: &str) -> bool {
    let s = text.strip_prefix('-').unwrap_or(text).as_bytes();
    let digits = |at: usize| s.get(at..).map_or(0, |s| s.iter().take_while(|b| b.is_ascii_digit()).count());
    let whole = digits(0);
    if whole == 0 || (whole > 1 && s[0] == b'0') {
        return false;
    }
    let mut i = whole;
    if s.get(i) == Some(&b'.') {
        let fraction = digits(i + 1);
        if fraction == 0 {
            return false;
        }
        i += 1 + fraction;
    }
    if matches!(s.get(i), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(s.get(i + 1), Some(b'+' | b'-')));
        let exponent = digits(i + 1 + sign);
        if exponent == 0 {
            return false;
        }
        i += 1 + sign + exponent;
    }
    i == s.len()
}

/// Whether it is a number without an exponent: in columns `3E57` is an id.
pub(crate) fn is_plain_number(text: &str) -> bool {
    is_number(text) && !text.contains(['e', 'E'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Option<String> {
        read_by(parse, line)
    }

    fn read_by(parse: fn(&str, &mut Fields) -> Option<Logfmt>, line: &str) -> Option<String> {
        let mut fields = Fields::new();
        let counts = parse(line, &mut fields)?;
        let mut out = format!("{}/{}", counts.pairs, counts.bare_words);
        fields.for_each(line, |name, value| out += &format!(" {name}={value:?}"));
        Some(out)
    }

    #[test]
    fn pairs_are_read_and_typed() {
        for (line, expected) in [
            ("", "0/0"),
            ("a=1 b=-2.5e3 c=true d=x", r#"4/0 a=Number("1") b=Number("-2.5e3") c=Bool(true) d=Str("x")"#),
            (r#"msg="a \"b\" \\ c" t=1.5ms"#, r#"2/0 msg=Str("a \"b\" \\ c") t=Str("1.5ms")"#),
            (r#"a="" b= c="1""#, r#"3/0 a=Str("") b=Str("") c=Str("1")"#),
            (r#"a="x\qy\n\u00e9" "#, "1/0 a=Str(\"x\\\\qy\\n\\\\u00e9\")"),
            (r#"a="\u00e9""#, r#"1/0 a=Str("é")"#),
            ("hello a=1 world", r#"1/2 a=Number("1")"#),
            ("a=1 a=2", r##"2/0 a#1=Number("1") a=Number("2")"##),
            (
                "v=007 w=1.2.3 x=1. y=+1 z=-",
                r#"5/0 v=Str("007") w=Str("1.2.3") x=Str("1.") y=Str("+1") z=Str("-")"#,
            ),
            ("a=b=c", r#"1/0 a=Str("b=c")"#),
            (
                "type=X msg=audit(7.1:2): pid=7 msg='op=login acct=\"a b\" exe=\"/x\" res=success'\u{1d}UID=\"root\"",
                r#"8/0 type=Str("X") msg=Str("audit(7.1:2):") pid=Number("7") op=Str("login") acct=Str("a b") exe=Str("/x") res=Str("success") UID=Str("root")"#,
            ),
            ("a=1 msg=' b=2 c=\"x\"' d=3", r#"4/0 a=Number("1") b=Number("2") c=Str("x") d=Number("3")"#),
            ("a=1 msg='b=2 ' d=3", r#"3/0 a=Number("1") b=Number("2") d=Number("3")"#),
            ("a=1 msg='it is b=2'", r#"3/1 a=Number("1") msg=Str("'it") b=Str("2'")"#),
            ("a=1 msg='b=2 failed' c='x'", r#"3/1 a=Number("1") b=Number("2") c=Str("'x'")"#),
            ("a=1 msg='b=2 c", r#"2/1 a=Number("1") msg=Str("'b=2")"#),
        ] {
            assert_eq!(read(line).as_deref(), Some(expected), "{line}");
        }
        for line in [r#"a="x"#, r#"a="x"y"#, r#"a="x\"#] {
            assert_eq!(read(line), None, "{line}");
        }
    }

    #[test]
    fn what_is_no_pair_costs_no_other() {
        let line = "  foo=bar  baz=x =z qwe";
        let pairs = r#"2/2 foo=Str("bar") baz=Str("x")"#;
        assert_eq!(read(line).as_deref(), Some(pairs));
        assert_eq!(read_by(parse_any_key, line).as_deref(), Some(pairs));
        for (line, expected) in [
            (r#"a=1 b="x y c=2"#, r#"3/1 a=Number("1") b=Str("\"x") c=Number("2")"#),
            (r#"a="x y"z b=2"#, r#"2/1 a=Str("x y") b=Number("2")"#),
            (r#"a="x y"b=2"#, r#"2/0 a=Str("x y") b=Number("2")"#),
            (r#"a=1 b="x\"#, r#"2/0 a=Number("1") b=Str("\"x\\")"#),
            ("=", "0/1"),
        ] {
            assert_eq!(read_by(parse_any_key, line).as_deref(), Some(expected), "{line}");
        }
    }

    #[test]
    fn keys_may_hold_anything_where_all_is_said_to_be_logfmt() {
        let line = r#"c:d=1 a[0]="x y" (b=2 c"d=3 bare e==f"#;
        let all = r#"5/1 c:d=Number("1") a[0]=Str("x y") (b=Number("2") c"d=Number("3") e=Str("=f")"#;
        assert_eq!(read_by(parse_any_key, line).as_deref(), Some(all));
        assert_eq!(read(line).as_deref(), Some(r#"1/6 e=Str("=f")"#));
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(line in "[a=\" \\\\né0-9.-]{0,40}") {
            read(&line);
            read_by(parse_any_key, &line);
        }
    }
}
