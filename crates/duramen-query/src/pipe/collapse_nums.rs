//! `collapse_nums at field prettify`: numbers become `<N>`, so that messages that differ in nothing else are the same.

use super::fields::NamePattern;
use super::maker::{Made, Maker};
use super::row_pipe::{RowPipe, Worker};
use super::writes::show_field;
use crate::error::ParseError;
use crate::parse::Parser;
use duramen::ValueKind;
use duramen::token::is_word_char;

/// What several numbers in a row are, in the order in which they are looked for.
const SHAPES: &[(&str, &str)] = &[
    ("<N>-<N>-<N>-<N>-<N>", "<UUID>"),
    ("<N>.<N>.<N>.<N>", "<IP4>"),
    ("<N>:<N>:<N>", "<TIME>"),
    ("<TIME>.<N>", "<TIME>"),
    ("<TIME>,<N>", "<TIME>"),
    ("<N>-<N>-<N>", "<DATE>"),
    ("<N>/<N>/<N>", "<DATE>"),
    ("<DATE>T<TIME>", "<DATETIME>"),
    ("<DATE> <TIME>", "<DATETIME>"),
    ("<DATETIME>Z", "<DATETIME>"),
    ("<DATETIME>+<N>:<N>", "<DATETIME>"),
    ("<DATETIME>-<N>:<N>", "<DATETIME>"),
];

/// Where, and whether numbers that belong together get a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollapseNums {
    at: Box<str>,
    prettify: bool,
}

impl CollapseNums {
    pub(super) fn parse(p: &mut Parser<'_>) -> Result<Self, ParseError> {
        Ok(Self { at: p.field_after("at")?, prettify: p.eat_word("prettify")? })
    }
}

/// Puts `<N>` in the place of every number: digits, and at least four hexadecimal digits, that are a word, but for a
/// unit behind them (`15ms`), one of the letters `T`, `v`, `s` and `_` before, or `0x`; and those of `1h33m`. Letters alone are digits only beside a
/// hyphen: parts of a UUID, for else they are mostly words.
fn collapse(text: &str, out: &mut String) {
    out.clear();
    let bytes = text.as_bytes();
    let mut at = 0;
    let mut copied = 0;
    while at < bytes.len() {
        let hex = bytes[at..].iter().take_while(|b| b.is_ascii_hexdigit()).count();
        if hex == 0 {
            at += 1;
            continue;
        }
        let digits = bytes[at..].iter().take_while(|b| b.is_ascii_digit()).count();
        let before = text[..at].chars().next_back();
        let prefixed = is_hex_prefix(&text[..at]);
        let starts =
            prefixed || before.is_none_or(|c| !is_word_char(c) || matches!(c, 'T' | 'v' | 's' | '_'));
        if let Some(parts) = starts.then(|| units(&text[at..])).flatten() {
            out.push_str(&text[copied..at]);
            for unit in &parts {
                out.push_str("<N>");
                out.push_str(unit);
                at += text[at..].bytes().take_while(u8::is_ascii_digit).count() + unit.len();
            }
            copied = at;
            continue;
        }
        let number = |len: usize| {
            let rest = &text[at + len..];
            let unit = short_word(rest, is_word_char);
            unit.is_some_and(|unit| unit.is_empty() || is_unit(unit)) || rest.starts_with(['T', '_'])
        };
        // With four digits or more, letters to f are digits, too.
        let run = &bytes[at..at + hex];
        let digital = run.iter().any(u8::is_ascii_digit)
            || (hex.is_multiple_of(4) && (before == Some('-') || bytes.get(at + hex) == Some(&b'-')));
        let all_hex = (prefixed || (hex >= 4 && digital)) && number(hex);
        let len = if all_hex {
            hex
        } else if digits > 0 && number(digits) {
            digits
        } else {
            0
        };
        if starts && len > 0 {
            out.push_str(&text[copied..at]);
            out.push_str("<N>");
            at += len;
            copied = at;
        } else {
            at += hex.max(1);
        }
    }
    out.push_str(&text[copied..]);
}

/// Whether a text ends with `0x`, and that is a word's beginning.
fn is_hex_prefix(text: &str) -> bool {
    let before = text.strip_suffix("0x").or_else(|| text.strip_suffix("0X"));
    before.is_some_and(|rest| !rest.ends_with(is_word_char))
}

/// The characters that a text begins with, unless they are more than a unit has: what is looked at for each number of a word
/// must not be all of the word.
fn short_word(text: &str, is_part: impl Fn(char) -> bool) -> Option<&str> {
    const MAX_CHARS: usize = 3;
    let end = text.char_indices().take(MAX_CHARS + 1).find(|(_, c)| !is_part(*c)).map(|(at, _)| at);
    let len = end.or_else(|| text.chars().nth(MAX_CHARS).is_none().then_some(text.len()))?;
    text.get(..len)
}

/// The units of a duration of several parts that a text begins with, the greatest first, as in `1h33m`.
fn units(text: &str) -> Option<Vec<&str>> {
    const UNITS: [&str; 11] = ["y", "w", "d", "h", "m", "s", "ms", "µs", "\u{3bc}s", "us", "ns"];
    let (mut units, mut last, mut rest) = (Vec::new(), None, text);
    while rest.starts_with(is_word_char) {
        let behind = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        let unit = short_word(behind, |c| is_word_char(c) && !c.is_ascii_digit())?;
        let place = UNITS.iter().position(|known| *known == unit);
        if behind.len() == rest.len() || place.is_none() || place <= last {
            return None;
        }
        units.push(unit);
        (last, rest) = (place, &behind[unit.len()..]);
    }
    (units.len() > 1).then_some(units)
}

/// What may follow a number and belong to it.
fn is_unit(text: &str) -> bool {
    let known = [
        "s", "ms", "us", "µs", "\u{3bc}s", "ns", "m", "h", "d", "w", "y", "Z", "B", "K", "KB", "KiB", "Ki",
        "M", "MB", "MiB", "Mi", "G", "GB", "GiB", "Gi", "T", "TB", "TiB", "Ti",
    ];
    known.contains(&text)
}

impl RowPipe for CollapseNums {
    fn name(&self) -> &'static str {
        "collapse_nums"
    }

    fn arguments(&self) -> String {
        format!("{}{}", show_field("at", &self.at), if self.prettify { " prettify" } else { "" })
    }

    fn reads(&self, see: &mut dyn FnMut(NamePattern)) {
        see(NamePattern::exact(&self.at));
    }

    fn worker(&self) -> Worker<'_> {
        let mut out = String::new();
        Box::new(move |row| {
            let Some(text) = row.get(&self.at) else { return };
            self.collapse(text, &mut out);
            row.set(&self.at, &out, ValueKind::String);
        })
    }

    fn maker(&self) -> Option<Maker<'_>> {
        let make = |text: &str, made: &mut Made| self.collapse(text, made.start(ValueKind::String));
        Some(Maker::of_one(&self.at, &self.at, make))
    }
}

impl CollapseNums {
    /// Puts the text without its numbers into `out`.
    fn collapse(&self, text: &str, out: &mut String) {
        collapse(text, out);
        if self.prettify {
            for (numbers, name) in SHAPES {
                if out.contains(numbers) {
                    *out = out.replace(numbers, name);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_go_and_words_stay() {
        for (text, expected) in [
            (
                "2024-10-20T12:34:56Z request duration 1.34s",
                "<N>-<N>-<N>T<N>:<N>:<N>Z request duration <N>.<N>s",
            ),
            ("user_123 took 15ms, 3KiB é5 5é", "user_<N> took <N>ms, <N>KiB é5 5é"),
            ("id=2edfed59 face cafe1 abc123 x12 12x", "id=<N> face <N> <N> x12 12x"),
            ("v1 beef dead0 0-adef-feed", "v<N> beef <N> <N>-<N>-<N>"),
            ("0x1234 0XFEAD12 0xff x12 a0x12 0x", "0x<N> 0X<N> 0x<N> x12 a0x12 0x"),
            ("3h5m6s43ms43μs324ns, 1d2h 5m3h", "<N>h<N>m<N>s<N>ms<N>μs<N>ns, <N>d<N>h 5m3h"),
            ("1h33 1h33min 1_1_1 s1s1 7KiBx 7 KiB", "1h33 1h33min <N>_<N>_<N> s1s<N> 7KiBx <N> KiB"),
            ("", ""),
        ] {
            let mut out = String::new();
            collapse(text, &mut out);
            assert_eq!(out, expected, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[a-g0-9T_ é.:-]{0,24}") {
            collapse(&text, &mut String::new());
        }
    }
}
