//! Functions of texts.

use super::functions::{Function, compile, function};
use super::value::Value;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use base64::{DecodeError, Engine};
use regex::NoExpand;

fn text(text: impl Into<String>) -> Result<Value, String> {
    Ok(Value::Text(text.into()))
}

fn truth(holds: bool) -> Result<Value, String> {
    Ok(Value::Bool(holds))
}

/// The most bytes that `repeat`, `indent` and the like may make.
const MAX_BYTES: usize = 1 << 20;

/// A count, kept from being absurd.
fn count(value: &Value) -> Result<usize, String> {
    let n = value.int();
    usize::try_from(n).ok().filter(|n| *n <= MAX_BYTES).ok_or_else(|| format!("{n} is out of range"))
}

pub(super) static FUNCTIONS: &[Function] = &[
    function("ToLower", 1, 1, |v, _| text(v[0].text().to_lowercase())),
    function("ToUpper", 1, 1, |v, _| text(v[0].text().to_uppercase())),
    function("lower", 1, 1, |v, _| text(v[0].text().to_lowercase())),
    function("upper", 1, 1, |v, _| text(v[0].text().to_uppercase())),
    function("title", 1, 1, |v, _| text(title(&v[0].text()))),
    function("trim", 1, 1, |v, _| text(v[0].text().trim())),
    function("TrimSpace", 1, 1, |v, _| text(v[0].text().trim())),
    function("Trim", 2, 2, |v, _| text(v[0].text().trim_matches(|c| v[1].text().contains(c)))),
    function("TrimLeft", 2, 2, |v, _| text(v[0].text().trim_start_matches(|c| v[1].text().contains(c)))),
    function("TrimRight", 2, 2, |v, _| text(v[0].text().trim_end_matches(|c| v[1].text().contains(c)))),
    function("TrimPrefix", 2, 2, |v, _| without_prefix(&v[0], &v[1])),
    function("TrimSuffix", 2, 2, |v, _| without_suffix(&v[0], &v[1])),
    function("trimAll", 2, 2, |v, _| text(v[1].text().trim_matches(|c| v[0].text().contains(c)))),
    function("trimPrefix", 2, 2, |v, _| without_prefix(&v[1], &v[0])),
    function("trimSuffix", 2, 2, |v, _| without_suffix(&v[1], &v[0])),
    function("Replace", 4, 4, |v, _| replace(&v[0].text(), &v[1].text(), &v[2].text(), v[3].int())),
    function("replace", 3, 3, |v, _| replace(&v[2].text(), &v[0].text(), &v[1].text(), -1)),
    function("contains", 2, 2, |v, _| truth(v[1].text().contains(&v[0].text()))),
    function("hasPrefix", 2, 2, |v, _| truth(v[1].text().starts_with(&v[0].text()))),
    function("hasSuffix", 2, 2, |v, _| truth(v[1].text().ends_with(&v[0].text()))),
    function("len", 1, 1, |v, _| Ok(Value::Int(v[0].text().len() as i64))),
    function("substr", 3, 3, |v, _| text(substr(&v[2].text(), v[0].int(), v[1].int()))),
    function("trunc", 2, 2, |v, _| text(trunc(&v[1].text(), v[0].int()))),
    function("repeat", 2, 2, |v, _| {
        let (n, what) = (count(&v[0])?, v[1].text());
        if n.saturating_mul(what.len()) > MAX_BYTES {
            Err("it is too long".into())
        } else {
            text(what.repeat(n))
        }
    }),
    function("indent", 2, 2, |v, _| text(indent(count(&v[0])?, &v[1].text())?)),
    function("nindent", 2, 2, |v, _| text(format!("\n{}", indent(count(&v[0])?, &v[1].text())?))),
    // As in Loki, a negative width leaves the text as it is.
    function("alignLeft", 2, 2, |v, _| {
        if v[0].int() < 0 {
            return text(v[1].text());
        }
        let (width, what) = (count(&v[0])?, v[1].text());
        let cut: String = what.chars().take(width).collect();
        text(format!("{cut}{}", " ".repeat(width - cut.chars().count())))
    }),
    function("alignRight", 2, 2, |v, _| {
        if v[0].int() < 0 {
            return text(v[1].text());
        }
        let (width, what) = (count(&v[0])?, v[1].text());
        let over = what.chars().count().saturating_sub(width);
        let cut: String = what.chars().skip(over).collect();
        text(format!("{}{cut}", " ".repeat(width - cut.chars().count())))
    }),
    function("regexReplaceAll", 3, 3, |v, _| {
        text(compile(&v[0].text())?.replace_all(&v[1].text(), v[2].text().as_str()))
    }),
    function("regexReplaceAllLiteral", 3, 3, |v, _| {
        text(compile(&v[0].text())?.replace_all(&v[1].text(), NoExpand(&v[2].text())))
    }),
    function("count", 2, 2, |v, _| {
        Ok(Value::Int(compile(&v[0].text())?.find_iter(&v[1].text()).count() as i64))
    }),
    function("urlencode", 1, 1, |v, _| text(url_encode(&v[0].text()))),
    function("b64enc", 1, 1, |v, _| text(STANDARD.encode(v[0].text()))),
    function("b64dec", 1, 1, |v, _| text(base64_decode(&v[0].text()))),
    function("slice", 1, 3, |v, _| text(slice(&v[0].text(), &v[1..])?)),
    function("urldecode", 1, 1, |v, _| text(url_decode(&v[0].text())?)),
];

fn without_prefix(value: &Value, prefix: &Value) -> Result<Value, String> {
    let (value, prefix) = (value.text(), prefix.text());
    text(value.strip_prefix(&*prefix).unwrap_or(&value))
}

fn without_suffix(value: &Value, suffix: &Value) -> Result<Value, String> {
    let (value, suffix) = (value.text(), suffix.text());
    text(value.strip_suffix(&*suffix).unwrap_or(&value))
}

fn replace(value: &str, from: &str, to: &str, n: i64) -> Result<Value, String> {
    let places = value.len().saturating_add(1).saturating_mul(to.len());
    if places > MAX_BYTES.saturating_mul(4) {
        return Err("it is too long".into());
    }
    text(match usize::try_from(n) {
        Ok(n) => value.replacen(from, to, n),
        Err(_) => value.replace(from, to),
    })
}

fn title(value: &str) -> String {
    let mut start = true;
    let upper = |c: char, start: &mut bool| {
        let up =
            std::mem::replace(start, !(c.is_alphanumeric() || c == '_' || c == '\'')) && c.is_lowercase();
        if up { c.to_uppercase().collect::<String>() } else { c.to_string() }
    };
    value.chars().map(|c| upper(c, &mut start)).collect()
}

/// The characters from one place to another, as sprig has it: a negative start is the beginning, a negative end the end.
fn substr(value: &str, start: i64, end: i64) -> String {
    let len = value.chars().count() as i64;
    let start = start.clamp(0, len);
    let end = if end < 0 || end > len { len } else { end };
    value.chars().skip(start as usize).take((end - start).max(0) as usize).collect()
}

/// The first so many characters, or the last if the number is negative.
fn trunc(value: &str, n: i64) -> String {
    let len = value.chars().count();
    let wanted = usize::try_from(n.unsigned_abs()).unwrap_or(usize::MAX);
    if n >= 0 {
        value.chars().take(wanted).collect()
    } else {
        value.chars().skip(len.saturating_sub(wanted)).collect()
    }
}

fn indent(by: usize, value: &str) -> Result<String, String> {
    let lines = value.split('\n').count();
    if lines.saturating_mul(by) > MAX_BYTES {
        return Err("it is too long".into());
    }
    let blank = " ".repeat(by);
    Ok(value.split('\n').map(|line| format!("{blank}{line}")).collect::<Vec<_>>().join("\n"))
}

/// With or without `=` at the end. As in Loki, what is wrong with the text comes in its place.
fn base64_decode(value: &str) -> String {
    let at = match STANDARD_NO_PAD.decode(value.trim_end_matches('=')) {
        Ok(bytes) => return String::from_utf8_lossy(&bytes).into_owned(),
        Err(DecodeError::InvalidByte(at, _) | DecodeError::InvalidLastSymbol { offset: at, .. }) => at,
        Err(_) => value.len(),
    };
    format!("illegal base64 data at input byte {at}")
}

/// The bytes from one place to another, which must be between characters.
fn slice(value: &str, places: &[Value]) -> Result<String, String> {
    let place = |i: usize, default: usize| match places.get(i) {
        Some(at) => usize::try_from(at.int()).ok(),
        None => Some(default),
    };
    let part = place(0, 0).zip(place(1, value.len())).and_then(|(from, to)| value.get(from..to));
    part.map(str::to_string).ok_or_else(|| "a place is out of range".into())
}

/// As Go's templates make texts harmless in HTML.
pub(super) fn html(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    for c in value.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '\'' => out.push_str("&#39;"),
            '"' => out.push_str("&#34;"),
            '\0' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

pub(super) fn url_encode(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    for &b in value.as_bytes() {
        match b {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(b as char),
            b' ' => out.push('+'),
            _ => out.push_str(&format!("%{b:02X}")),
        }
    }
    out
}

fn url_decode(value: &str) -> Result<String, String> {
    let wrong = || format!("`{value}` is not URL-encoded");
    let mut out = Vec::with_capacity(value.len());
    let mut bytes = value.bytes();
    while let Some(b) = bytes.next() {
        match b {
            b'+' => out.push(b' '),
            b'%' => {
                let mut digit = || bytes.next().and_then(|b| (b as char).to_digit(16)).ok_or_else(wrong);
                let (high, low) = (digit()?, digit()?);
                out.push((high * 16 + low) as u8);
            }
            _ => out.push(b),
        }
    }
    String::from_utf8(out).map_err(|_| wrong())
}
