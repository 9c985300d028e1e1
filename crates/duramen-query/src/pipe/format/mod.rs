//! `format "request from <ip>:<port>" as field`: a text made of fields, each in a form of its choice.

mod codec;
mod form;

use super::fields::NamePattern;
use super::maker::{Made, Maker, Texts};
use super::row_pipe::{RowPipe, Worker};
use super::template::{self, Piece};
use super::writes::{Writes, show_field};
use crate::error::ParseError;
use crate::parse::{Parser, quote_always};
use duramen::ValueKind;
use duramen::block::names;
use form::Form;

/// A piece of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(Box<str>),
    Field(Form, Box<str>),
}

/// What to make, and where it goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Format {
    pattern: Box<str>,
    parts: Vec<Part>,
    to: Box<str>,
    writes: Writes,
}

impl Format {
    pub(super) fn parse(p: &mut Parser<'_>) -> Result<Self, ParseError> {
        let at = p.token.start;
        let pattern = p.text_token("a pattern such as \"request from <ip>\"")?;
        let forms: Vec<&str> = Form::NAMES.iter().map(|(name, _)| *name).collect();
        let pieces = template::parse(&pattern, &forms).map_err(|(_, why)| {
            ParseError::new(p.text, at, why, "write a pattern such as \"request from <ip>\"")
        })?;
        let parts = pieces.into_iter().map(|piece| match piece {
            Piece::Text(text) => Part::Text(text),
            Piece::Field { option, name } => Part::Field(Form::of(option.as_deref()), name),
        });
        let parts = parts.collect();
        let mut writes = Writes::default();
        let mut to = names::MESSAGE.into();
        while !p.at_pipe_end() {
            if p.eat_word("as")? {
                to = p.field_name()?;
            } else if !writes.parse(p)? {
                return Err(p.expected("`as field`, `keep_original_fields`, `skip_empty_results` or `|`"));
            }
        }
        Ok(Self { pattern: pattern.into(), parts, to, writes })
    }
}

impl RowPipe for Format {
    fn name(&self) -> &'static str {
        "format"
    }

    fn arguments(&self) -> String {
        format!(" {}{}{}", quote_always(&self.pattern), show_field("as", &self.to), self.writes.show())
    }

    fn reads(&self, see: &mut dyn FnMut(NamePattern)) {
        for part in &self.parts {
            if let Part::Field(_, name) = part {
                see(NamePattern::exact(name));
            }
        }
        if self.writes.keep_original {
            see(NamePattern::exact(&self.to));
        }
    }

    fn worker(&self) -> Worker<'_> {
        self.format().worker()
    }

    fn maker(&self) -> Option<Maker<'_>> {
        Some(self.format())
    }
}

impl Format {
    fn format(&self) -> Maker<'_> {
        let fields = self.parts.iter().filter_map(|part| match part {
            Part::Field(_, name) => Some(&**name),
            Part::Text(_) => None,
        });
        let make = |texts: &Texts<'_>, made: &mut [Made]| {
            let Some(made) = made.first_mut() else { return };
            let (out, mut fields) = (made.start(ValueKind::String), 0..);
            for part in &self.parts {
                match part {
                    Part::Text(text) => out.push_str(text),
                    Part::Field(form, _) => form.write(texts(fields.next().unwrap_or_default()), out),
                }
            }
        };
        Maker {
            reads: fields.collect(),
            writes: vec![&self.to],
            keeps: self.writes,
            start: "",
            shortcut: None,
            numbers: None,
            make: Box::new(make),
        }
    }
}
