//! The variable parts of a text: times, addresses, numbers, identities. Words stay as they are.

use crate::stamp::LAYOUTS;
use regex::Regex;
use std::ops::Range;

/// What a variable part looks like.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Maybe a time: [`crate::stamp::Stamps`] knows.
    Stamp,
    Uuid,
    Ip,
    /// Numbers with points between them: a version, a fraction.
    Dotted,
    /// Decimal digits.
    Number,
    /// At least eight hexadecimal digits, or such behind `0x`.
    Hex,
    /// At least 16 letters and digits, mixed: an identity.
    Id,
    /// A word with digits in it.
    Mixed,
}

/// Finds the variable parts.
#[derive(Debug)]
pub(crate) struct Tokens(Regex);

/// A variable part of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) range: Range<usize>,
}

impl Tokens {
    pub(crate) fn new() -> Result<Self, regex::Error> {
        // Which parts a time has is told later.
        let stamps: Vec<_> = LAYOUTS
            .iter()
            .map(|layout| Regex::new(r"\?<\w>").map(|r| r.replace_all(layout, "?:")))
            .collect::<Result<_, _>>()?;
        let words = [
            // A letter in a URL, not a number.
            "%[0-9A-Fa-f]{2}",
            &stamps.iter().map(|s| format!(r"\b{s}\b")).collect::<Vec<_>>().join("|"),
            r"\b[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}\b",
            r"[0-9]+(?:\.[0-9]+)+",
            "[0-9A-Za-z]*[0-9][0-9A-Za-z]*",
        ];
        // Only ASCII is looked at: other scripts' digits are words.
        Regex::new(&format!("(?-u:{})", words.join("|").replace(r"\d", "[0-9]"))).map(Self)
    }

    /// The variable parts, from left to right.
    pub(crate) fn of<'t>(&'t self, text: &'t str) -> impl Iterator<Item = Token> + 't {
        self.0
            .find_iter(text)
            .filter_map(|found| Some(Token { kind: kind(found.as_str())?, range: found.range() }))
    }
}

fn kind(text: &str) -> Option<Kind> {
    let bytes = text.as_bytes();
    let digits = bytes.iter().filter(|b| b.is_ascii_digit()).count();
    if bytes.first() == Some(&b'%') {
        return None;
    }
    if digits == bytes.len() {
        return Some(Kind::Number);
    }
    if bytes.iter().all(u8::is_ascii_alphanumeric) {
        let is_hex = |text: &[u8]| text.iter().all(u8::is_ascii_hexdigit);
        return Some(match text.strip_prefix("0x") {
            Some(rest) if is_hex(rest.as_bytes()) => Kind::Hex,
            _ if bytes.len() >= 8 && is_hex(bytes) => Kind::Hex,
            _ if bytes.len() >= 16 && digits >= 3 => Kind::Id,
            _ => Kind::Mixed,
        });
    }
    if bytes.iter().all(|&b| b.is_ascii_digit() || b == b'.') && !text.starts_with('.') {
        let parts: Vec<_> = text.split('.').collect();
        let is_ip = parts.len() == 4 && parts.iter().all(|part| part.parse::<u8>().is_ok());
        // 2005.06.05 is a date.
        let is_date = parts.len() == 3 && parts[0].len() == 4 && parts[1].len() == 2 && parts[2].len() == 2;
        return Some(if is_ip {
            Kind::Ip
        } else if is_date {
            Kind::Stamp
        } else {
            Kind::Dotted
        });
    }
    let is_uuid = bytes.len() == 36 && bytes[8] == b'-' && bytes[23] == b'-';
    Some(if is_uuid { Kind::Uuid } else { Kind::Stamp })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_told() {
        let text = "2024-06-27 00:00:07 10.0.0.1:80 v1.25 blk_-123 0x7f3b f00dcafe99 CuRbE21APSQo2qd6rk \
                    d1d5fa67-1b91-44e6-9547-fced39e30b0f /a%D9%82/x86 26/Jan/2019:19:45:25 2005.06.05 300.1.1.1";
        let tokens = Tokens::new().unwrap();
        let found: Vec<_> = tokens.of(text).map(|token| (token.kind, &text[token.range])).collect();
        let expected = [
            (Kind::Stamp, "2024-06-27 00:00:07"),
            (Kind::Ip, "10.0.0.1"),
            (Kind::Number, "80"),
            (Kind::Mixed, "v1"),
            (Kind::Number, "25"),
            (Kind::Number, "123"),
            (Kind::Hex, "0x7f3b"),
            (Kind::Hex, "f00dcafe99"),
            (Kind::Id, "CuRbE21APSQo2qd6rk"),
            (Kind::Uuid, "d1d5fa67-1b91-44e6-9547-fced39e30b0f"),
            (Kind::Mixed, "x86"),
            (Kind::Stamp, "26/Jan/2019:19:45:25"),
            (Kind::Stamp, "2005.06.05"),
            (Kind::Dotted, "300.1.1.1"),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn words_and_other_scripts_are_left() {
        let tokens = Tokens::new().unwrap();
        assert_eq!(tokens.of("connection refused – größer ٣٤ %20").count(), 0);
    }
}
