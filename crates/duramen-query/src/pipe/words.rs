//! `unpack_words from field as words`, `split "," from field as items`: a text as a JSON array of its parts.

use super::fields::NamePattern;
use super::row_pipe::{RowPipe, Worker};
use super::writes::show_field;
use crate::error::ParseError;
use crate::parse::{Parser, quote, quote_always};
use crate::row::write_json_array;
use duramen::{ValueKind, token};
use std::collections::BTreeSet;

/// How the text falls into parts.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Parts {
    /// Words; with `true`, each once.
    Words(bool),
    /// What stands between these separators.
    Separated(Box<str>),
}

/// What to take apart, and where the parts go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    parts: Parts,
    from: Box<str>,
    to: Box<str>,
}

impl Split {
    pub(super) fn parse_words(p: &mut Parser<'_>) -> Result<Self, ParseError> {
        let from = p.source(&["as", "drop_duplicates"])?;
        let to = if p.at_word("drop_duplicates") { None } else { p.result_name()? }
            .unwrap_or_else(|| from.clone());
        let once = p.eat_word("drop_duplicates")?;
        Ok(Self { parts: Parts::Words(once), from, to })
    }

    /// The field that is taken apart, and the one that the parts are put into.
    pub(super) fn fields(&self) -> (&str, &str) {
        (&self.from, &self.to)
    }

    /// Calls `see` with each part of a text.
    pub(super) fn each<'t>(&self, text: &'t str, see: &mut dyn FnMut(&'t str)) {
        match &self.parts {
            Parts::Words(false) => token::words(text).for_each(see),
            Parts::Words(true) => {
                let mut seen = BTreeSet::new();
                token::words(text).filter(|word| seen.insert(*word)).for_each(see);
            }
            // Of no separator, every character is a part.
            Parts::Separated(separator) if separator.is_empty() => {
                text.split("").filter(|part| !part.is_empty()).for_each(see);
            }
            Parts::Separated(separator) => text.split(&**separator).for_each(see),
        }
    }

    pub(super) fn parse_split(p: &mut Parser<'_>) -> Result<Self, ParseError> {
        let separator = match &p.token.kind {
            // A comma need not stand between quotes.
            crate::parse::lexer::TokenKind::Punct(',') => {
                p.advance()?;
                ",".to_string()
            }
            _ => p.text_token("a separator between quotes")?,
        };
        let from = p.source(&["as"])?;
        let to = p.result_name()?.unwrap_or_else(|| from.clone());
        Ok(Self { parts: Parts::Separated(separator.into()), from, to })
    }
}

impl RowPipe for Split {
    fn name(&self) -> &'static str {
        match self.parts {
            Parts::Words(_) => "unpack_words",
            Parts::Separated(_) => "split",
        }
    }

    fn arguments(&self) -> String {
        let (before, after) = match &self.parts {
            Parts::Words(once) => (String::new(), if *once { " drop_duplicates" } else { "" }),
            Parts::Separated(separator) => (format!(" {}", quote_always(separator)), ""),
        };
        let to = if self.to == self.from { String::new() } else { format!(" as {}", quote(&self.to)) };
        format!("{before}{}{to}{after}", show_field("from", &self.from))
    }

    fn reads(&self, see: &mut dyn FnMut(NamePattern)) {
        see(NamePattern::exact(&self.from));
    }

    fn splits(&self) -> Option<&Split> {
        Some(self)
    }

    fn worker(&self) -> Worker<'_> {
        Box::new(|row| {
            let mut parts = Vec::new();
            self.each(row.get(&self.from).unwrap_or(""), &mut |part| parts.push(part));
            let array = write_json_array(parts);
            row.set(&self.to, &array, ValueKind::Json);
        })
    }
}
