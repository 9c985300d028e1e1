//! `decolorize field`: without the escape sequences with which programs colour what they print on terminals.

use super::fields::NamePattern;
use super::row_pipe::{RowPipe, Worker};
use crate::error::ParseError;
use crate::parse::{Parser, quote};
use duramen::ValueKind;
use duramen::block::names;

/// Which field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decolorize {
    field: Box<str>,
}

impl Decolorize {
    pub(super) fn parse(p: &mut Parser<'_>) -> Result<Self, ParseError> {
        Ok(Self { field: if p.at_pipe_end() { names::MESSAGE.into() } else { p.field_name()? } })
    }
}

/// Writes a text into `out` without its escape sequences, forgetting what was there: drops every `ESC [ parameters letter`; one that does not end takes the rest, but for other text.
pub fn decolorize(text: &str, out: &mut String) {
    out.clear();
    let mut rest = text;
    while let Some(at) = rest.find("\u{1b}[") {
        out.push_str(&rest[..at]);
        let body = &rest[at + 2..];
        let len = body.bytes().take_while(|b| (0x20..0x40).contains(b)).count();
        let last = usize::from(body.as_bytes().get(len).is_some_and(|b| (0x40..0x7f).contains(b)));
        rest = &body[len + last..];
    }
    out.push_str(rest);
}

impl RowPipe for Decolorize {
    fn name(&self) -> &'static str {
        "decolorize"
    }

    fn arguments(&self) -> String {
        if *self.field == *names::MESSAGE { String::new() } else { format!(" {}", quote(&self.field)) }
    }

    fn reads(&self, see: &mut dyn FnMut(NamePattern)) {
        see(NamePattern::exact(&self.field));
    }

    fn worker(&self) -> Worker<'_> {
        let mut out = String::new();
        Box::new(move |row| {
            if let Some(text) = row.get(&self.field).filter(|text| text.contains('\u{1b}')) {
                decolorize(text, &mut out);
                row.set(&self.field, &out, ValueKind::String);
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequences_go() {
        for (text, plain) in [
            ("\u{1b}[1;31mred\u{1b}[0m", "red"),
            ("a\u{1b}[K b", "a b"),
            ("a\u{1b}[1;é", "aé"),
            ("a\u{1b}[", "a"),
            ("\u{1b}x", "\u{1b}x"),
        ] {
            let mut out = String::new();
            decolorize(text, &mut out);
            assert_eq!(out, plain, "{text:?}");
        }
    }
}
