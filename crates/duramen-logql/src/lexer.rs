//! Tokens of LogQL: words, texts, numbers with and without units, and operators. A query is cut into all of its tokens
//! at once, so that the parser can look ahead.

use crate::units;
use duramen_query::ParseError;

/// What a token is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    /// A word: a label, a function, a keyword.
    Word(String),
    /// A text between `"…"` or `` `…` ``, without its escapes.
    Text(String),
    /// A number.
    Number(f64),
    /// A number with a unit of time, in nanoseconds.
    Duration(i64),
    /// A number with a unit of size, in bytes.
    Bytes(u64),
    /// `--strict`, `--keep-empty`.
    Flag(&'static str),
    /// An operator or bracket.
    Op(&'static str),
    /// Nothing more.
    End,
}

/// A token, and the bytes of the query that it is.
#[derive(Clone, Debug)]
pub(crate) struct Token {
    pub kind: Kind,
    pub start: usize,
    pub end: usize,
}

/// Longer ones first: the first that fits is meant.
const OPERATORS: &[&str] = &[
    "|=", "|~", "|>", "!=", "!~", "!>", "=~", "==", ">=", "<=", "=", ">", "<", "|", "{", "}", "(", ")", "[",
    "]", ",", "+", "-", "*", "/", "%", "^",
];

const FLAGS: &[&str] = &["--strict", "--keep-empty"];

/// The tokens of a query, the last of them [`Kind::End`].
pub(crate) fn tokens(text: &str) -> Result<Vec<Token>, ParseError> {
    let mut tokens = Vec::new();
    let mut at = 0;
    loop {
        at = skip_blank(text, at);
        let rest = &text[at..];
        let Some(first) = rest.chars().next() else {
            tokens.push(Token { kind: Kind::End, start: at, end: at });
            return Ok(tokens);
        };
        let (kind, len) = match first {
            '"' => quoted(text, at)?,
            '`' => match rest[1..].find('`') {
                Some(end) => (Kind::Text(rest[1..=end].to_string()), end + 2),
                None => return Err(ParseError::new(text, at, "the text does not end", "a closing `")),
            },
            '\'' => {
                let hint = "texts stand between \"…\" or `…`";
                return Err(ParseError::new(text, at, "a text cannot begin with '", hint));
            }
            c if c.is_ascii_digit() || (c == '.' && rest[1..].starts_with(|c: char| c.is_ascii_digit())) => {
                number(text, at)?
            }
            c if c.is_ascii_alphabetic() || c == '_' => {
                let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
                let len = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
                (Kind::Word(rest[..len].to_string()), len)
            }
            _ => {
                let flag = FLAGS.iter().find(|flag| rest.starts_with(**flag));
                let op = || OPERATORS.iter().find(|op| rest.starts_with(**op));
                match (flag, op()) {
                    (Some(flag), _) => (Kind::Flag(flag), flag.len()),
                    (None, Some(op)) => (Kind::Op(op), op.len()),
                    _ => return Err(ParseError::new(text, at, format!("unexpected `{first}`"), "")),
                }
            }
        };
        tokens.push(Token { kind, start: at, end: at + len });
        at += len;
    }
}

/// Goes over white space and comments, from `#` to the line's end.
fn skip_blank(text: &str, mut at: usize) -> usize {
    loop {
        let rest = &text[at..];
        let blank = rest.len() - rest.trim_start().len();
        at += blank;
        if !text[at..].starts_with('#') {
            return at;
        }
        at = text[at..].find('\n').map_or(text.len(), |n| at + n);
    }
}

/// A number, perhaps with a unit.
fn number(text: &str, at: usize) -> Result<(Kind, usize), ParseError> {
    let rest = &text[at..];
    let mut len = 0;
    for (i, c) in rest.char_indices() {
        // A sign belongs to it only as that of an exponent.
        let exponent = matches!(c, '+' | '-')
            && matches!(rest.as_bytes()[i - 1], b'e' | b'E')
            && rest[..i - 1].bytes().all(|b| b.is_ascii_digit() || b == b'.');
        if !(c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | 'µ' | 'μ') || exponent) {
            break;
        }
        len = i + c.len_utf8();
    }
    let word = &rest[..len];
    let kind = if let Ok(n) = word.parse::<f64>() {
        Kind::Number(n)
    } else if let Some(ns) = units::parse_duration(word) {
        Kind::Duration(ns)
    } else if let Some(bytes) = units::parse_bytes(word) {
        Kind::Bytes(bytes)
    } else {
        let message = format!("`{word}` is neither a number nor a duration nor a size");
        return Err(ParseError::new(text, at, message, "such as 5, 1h30m or 20MB"));
    };
    Ok((kind, len))
}

/// A text between double quotes, with Go's escapes.
fn quoted(text: &str, at: usize) -> Result<(Kind, usize), ParseError> {
    let bytes = text.as_bytes();
    let error = |at: usize, message: &str| ParseError::new(text, at, message, "");
    let mut out = Vec::new();
    let mut i = at + 1;
    loop {
        match bytes.get(i) {
            None | Some(b'\n') => return Err(error(at, "the text does not end")),
            Some(b'"') => break,
            Some(b'\\') => {
                let (code, len) = escape(text, i).ok_or_else(|| {
                    error(i, "no such escape: write \\\\ for a backslash, or the text between ` and `")
                })?;
                match code {
                    Escape::Byte(b) => out.push(b),
                    Escape::Char(c) => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
                }
                i += len;
            }
            Some(&b) => {
                out.push(b);
                i += 1;
            }
        }
    }
    match String::from_utf8(out) {
        Ok(out) => Ok((Kind::Text(out), i + 1 - at)),
        Err(_) => Err(error(at, "the text's escapes make bytes that are no UTF-8")),
    }
}

enum Escape {
    Byte(u8),
    Char(char),
}

/// The escape at a backslash, and how many bytes it takes.
fn escape(text: &str, at: usize) -> Option<(Escape, usize)> {
    let hex = |from: usize, len: usize| {
        let digits = text.get(at + from..at + from + len)?;
        let all = digits.bytes().all(|b| b.is_ascii_hexdigit());
        all.then(|| u32::from_str_radix(digits, 16).ok()).flatten()
    };
    let byte = |b: u8| Some((Escape::Byte(b), 2));
    match text.as_bytes().get(at + 1)? {
        b'a' => byte(7),
        b'b' => byte(8),
        b'f' => byte(12),
        b'n' => byte(b'\n'),
        b'r' => byte(b'\r'),
        b't' => byte(b'\t'),
        b'v' => byte(11),
        b @ (b'\\' | b'"' | b'\'') => byte(*b),
        b'x' => Some((Escape::Byte(u8::try_from(hex(2, 2)?).ok()?), 4)),
        b'u' => Some((Escape::Char(char::from_u32(hex(2, 4)?)?), 6)),
        b'U' => Some((Escape::Char(char::from_u32(hex(2, 8)?)?), 10)),
        b'0'..=b'7' => {
            let digits = text.get(at + 1..at + 4)?;
            let all = digits.bytes().all(|b| (b'0'..=b'7').contains(&b));
            let code = all.then(|| u32::from_str_radix(digits, 8).ok()).flatten()?;
            Some((Escape::Byte(u8::try_from(code).ok()?), 4))
        }
        _ => None,
    }
}

impl Token {
    /// For error messages.
    pub fn describe(&self, text: &str) -> String {
        match self.kind {
            Kind::End => "the end of the query".into(),
            _ => format!("`{}`", &text[self.start..self.end]),
        }
    }
}

/// A text as LogQL writes it: between double quotes, with escapes.
pub(crate) fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<Kind> {
        tokens(text).unwrap().into_iter().map(|t| t.kind).collect()
    }

    #[test]
    fn numbers_have_units() {
        let of = |text: &str| kinds(text)[0].clone();
        assert_eq!(of("5m"), Kind::Duration(300_000_000_000));
        assert_eq!(of("1h30m]"), Kind::Duration(5_400_000_000_000));
        assert_eq!(of("20MB"), Kind::Bytes(20_000_000));
        assert_eq!(of("1.5KiB"), Kind::Bytes(1536));
        assert_eq!(of("2e-3"), Kind::Number(0.002));
        assert_eq!(of("0.99"), Kind::Number(0.99));
        assert_eq!(kinds("1-2")[..3], [Kind::Number(1.0), Kind::Op("-"), Kind::Number(2.0)]);
        assert!(tokens("5parsec").is_err() && tokens("'x'").is_err() && tokens("§").is_err());
    }

    #[test]
    fn texts_have_escapes() {
        assert_eq!(kinds(r#""a\"\\\n\x41\u00e9\101""#)[0], Kind::Text("a\"\\\nAéA".into()));
        assert_eq!(kinds("`a\\d`# no more\n x")[..2], [Kind::Text("a\\d".into()), Kind::Word("x".into())]);
        for bad in [r#""\d""#, r#""\xff""#, r#""open"#, "`open", "\"a\nb\"", r#""\x4"#, r#""\"#, r#""\ué"#] {
            assert!(tokens(bad).is_err(), "{bad}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,30}") {
            let _ = tokens(&text);
        }

        #[test]
        fn what_is_quoted_is_read_back(text in "(?s).{0,20}") {
            proptest::prop_assert_eq!(&kinds(&quote(&text))[0], &Kind::Text(text));
        }
    }
}
