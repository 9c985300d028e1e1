//! `decolorize field`: without the escape sequences with which programs colour what they print on terminals.

use super::fields::NamePattern;
use super::row_pipe::{RowPipe, Worker};
use crate::error::ParseError;
use crate::parse::{Parser, quote};
use duramen::ValueKind;
use duramen::block::names;
pub use duramen_formats::decolorize;

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
