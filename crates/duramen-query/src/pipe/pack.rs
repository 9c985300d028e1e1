//! `pack_json fields (a, b*) as field`, `pack_logfmt`: fields put into one, as JSON or as `key=value`.

use super::fields::NamePattern;
use super::row_pipe::{RowPipe, Worker};
use super::writes::{show_field, show_patterns};
use crate::error::ParseError;
use crate::parse::Parser;
use crate::row::{ResultRow, write_json_string};
use duramen::ValueKind;
use duramen::block::names;

/// As what, of which fields, and where it goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pack {
    logfmt: bool,
    fields: Vec<NamePattern>,
    to: Box<str>,
}

impl Pack {
    pub(super) fn parse_json(p: &mut Parser<'_>) -> Result<Self, ParseError> {
        Self::read(p, false)
    }

    pub(super) fn parse_logfmt(p: &mut Parser<'_>) -> Result<Self, ParseError> {
        Self::read(p, true)
    }

    fn read(p: &mut Parser<'_>, logfmt: bool) -> Result<Self, ParseError> {
        let fields = p.patterns_after("fields")?;
        let to = p.result_name()?.unwrap_or_else(|| names::MESSAGE.into());
        Ok(Self { logfmt, fields, to })
    }
}

/// Appends a row as `key=value` pairs: values with blanks, quotes or nothing in them between quotes.
fn write_logfmt(row: &ResultRow, out: &mut Vec<u8>) {
    for (i, (name, text, _)) in row.iter().enumerate() {
        if i > 0 {
            out.push(b' ');
        }
        out.extend_from_slice(name.as_bytes());
        out.push(b'=');
        if text.is_empty() || text.contains(|c: char| c <= ' ' || matches!(c, '"' | '=' | '\\')) {
            write_json_string(text, out);
        } else {
            out.extend_from_slice(text.as_bytes());
        }
    }
}

impl RowPipe for Pack {
    fn name(&self) -> &'static str {
        if self.logfmt { "pack_logfmt" } else { "pack_json" }
    }

    fn arguments(&self) -> String {
        format!("{}{}", show_patterns(&self.fields), show_field("as", &self.to))
    }

    fn reads(&self, see: &mut dyn FnMut(NamePattern)) {
        self.fields.iter().cloned().for_each(see);
    }

    fn worker(&self) -> Worker<'_> {
        let (mut chosen, mut out) = (ResultRow::new(), Vec::new());
        let takes_all = self.fields.iter().any(NamePattern::is_all);
        Box::new(move |row| {
            let packed = if takes_all {
                &*row
            } else {
                chosen.clear();
                for (name, text, kind) in row.iter() {
                    if self.fields.iter().any(|pattern| pattern.matches(name)) {
                        chosen.push(name, text, kind);
                    }
                }
                &chosen
            };
            out.clear();
            if self.logfmt {
                write_logfmt(packed, &mut out)
            } else {
                packed.write_json(&mut out)
            }
            row.set(&self.to, std::str::from_utf8(&out).unwrap_or(""), ValueKind::String);
        })
    }
}
