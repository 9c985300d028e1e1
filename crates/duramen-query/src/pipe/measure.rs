//! `len(field) as n`, `hash(field) as h`, `json_array_len(field) as n`: a number made of a value, in the message unless
//! a name follows.

use super::fields::NamePattern;
use super::maker::{Maker, Shortcut};
use super::row_pipe::{RowPipe, Worker};
use crate::error::ParseError;
use crate::json;
use crate::parse::{Parser, quote};
use duramen::ValueKind;
use duramen::block::names;
use xxhash_rust::xxh3::xxh3_64;

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Measure {
    /// Bytes.
    Len,
    /// 64 bits of XXH3, without a sign.
    Hash,
    /// Items of a JSON array; of anything else, none.
    ArrayLen,
}

/// Of which field, and where it goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measured {
    measure: Measure,
    field: Box<str>,
    to: Box<str>,
}

impl Measured {
    pub(super) fn parse_len(p: &mut Parser<'_>) -> Result<Self, ParseError> {
        Self::read(p, Measure::Len)
    }

    pub(super) fn parse_hash(p: &mut Parser<'_>) -> Result<Self, ParseError> {
        Self::read(p, Measure::Hash)
    }

    pub(super) fn parse_array_len(p: &mut Parser<'_>) -> Result<Self, ParseError> {
        Self::read(p, Measure::ArrayLen)
    }

    fn read(p: &mut Parser<'_>, measure: Measure) -> Result<Self, ParseError> {
        let field = p.field_in_parentheses()?;
        let to = p.result_name()?.unwrap_or_else(|| names::MESSAGE.into());
        Ok(Self { measure, field, to })
    }
}

impl RowPipe for Measured {
    fn name(&self) -> &'static str {
        match self.measure {
            Measure::Len => "len",
            Measure::Hash => "hash",
            Measure::ArrayLen => "json_array_len",
        }
    }

    fn arguments(&self) -> String {
        format!("({}) as {}", quote(&self.field), quote(&self.to))
    }

    fn reads(&self, see: &mut dyn FnMut(NamePattern)) {
        see(NamePattern::exact(&self.field));
    }

    fn worker(&self) -> Worker<'_> {
        self.measure().worker()
    }

    fn maker(&self) -> Option<Maker<'_>> {
        Some(self.measure())
    }
}

impl Measured {
    fn measure(&self) -> Maker<'_> {
        let maker = Maker::of_one(&self.field, &self.to, |text, made| {
            let number = match self.measure {
                Measure::Len => text.len() as u64,
                Measure::Hash => xxh3_64(text.as_bytes()),
                Measure::ArrayLen => json::array_len(text).unwrap_or(0) as u64,
            };
            match i64::try_from(number) {
                Ok(n) => made.set_int(n),
                Err(_) => made.start(ValueKind::Number).push_str(&number.to_string()),
            }
        });
        Maker { shortcut: matches!(self.measure, Measure::Len).then_some(Shortcut::Length), ..maker }
    }
}
