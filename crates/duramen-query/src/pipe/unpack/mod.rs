//! `unpack_json from field fields (a, b*) result_prefix "x_"`, `unpack_logfmt`, `unpack_syslog`: a text as the fields
//! that are written in it, read by the parsers that read log files.

mod syslog;

use super::fields::NamePattern;
use super::row_pipe::{RowPipe, Worker};
use super::writes::{Writes, show_field, show_patterns};
use crate::error::ParseError;
use crate::parse::{Parser, quote_always};
use crate::row::ResultRow;
use duramen::{Value, ValueKind};
use duramen_formats::fields::Fields;
use duramen_formats::json::JsonParser;
use duramen_formats::{StampParser, logfmt};
use syslog::Syslog;

/// How the text is written.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Shape {
    Json,
    Logfmt,
    Syslog(Syslog),
}

/// What to read, and where it goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unpack {
    shape: Shape,
    from: Box<str>,
    fields: Vec<NamePattern>,
    prefix: Box<str>,
    writes: Writes,
}

impl Unpack {
    pub(super) fn parse_json(p: &mut Parser<'_>) -> Result<Self, ParseError> {
        Self::read(p, Shape::Json)
    }

    pub(super) fn parse_logfmt(p: &mut Parser<'_>) -> Result<Self, ParseError> {
        Self::read(p, Shape::Logfmt)
    }

    pub(super) fn parse_syslog(p: &mut Parser<'_>) -> Result<Self, ParseError> {
        let syslog = Syslog::new(p.options);
        Self::read(p, Shape::Syslog(syslog))
    }

    fn read(p: &mut Parser<'_>, shape: Shape) -> Result<Self, ParseError> {
        let mut unpack = Self {
            shape,
            from: p.source(&[
                "fields",
                "result_prefix",
                "keep_original_fields",
                "skip_empty_results",
                "offset",
            ])?,
            fields: Vec::new(),
            prefix: "".into(),
            writes: Writes::default(),
        };
        unpack.fields = p.patterns_after("fields")?;
        while !p.at_pipe_end() {
            if p.eat_word("result_prefix")? {
                unpack.prefix = p.text_token("a prefix")?.into();
            } else if let Shape::Syslog(syslog) = &mut unpack.shape
                && p.at_word("offset")
            {
                syslog.offset_ns = p.offset()?;
            } else if !unpack.writes.parse(p)? {
                return Err(p.expected(
                    "`fields (…)`, `result_prefix text`, `keep_original_fields`, `skip_empty_results` or `|`",
                ));
            }
        }
        Ok(unpack)
    }

    fn put(&self, row: &mut ResultRow, name: &str, text: &str, kind: ValueKind) {
        if !self.fields.iter().any(|pattern| pattern.matches(name)) {
            return;
        }
        if self.prefix.is_empty() {
            self.writes.put(row, name, text, kind);
        } else {
            self.writes.put(row, &format!("{}{name}", self.prefix), text, kind);
        }
    }

    fn put_value(&self, row: &mut ResultRow, name: &str, value: Value<'_>) {
        match value {
            Value::Str(text) => self.put(row, name, text, ValueKind::String),
            Value::Number(text) => self.put(row, name, text, ValueKind::Number),
            Value::Json(text) => self.put(row, name, text, ValueKind::Json),
            Value::Int(n) => self.put(row, name, &n.to_string(), ValueKind::Number),
            Value::Float(x) => self.put(row, name, &crate::number::format_float(x), ValueKind::Number),
            Value::Bool(b) => self.put(row, name, if b { "true" } else { "false" }, ValueKind::Bool),
            Value::Null => self.put(row, name, "", ValueKind::Null),
        }
    }
}

impl RowPipe for Unpack {
    fn name(&self) -> &'static str {
        match self.shape {
            Shape::Json => "unpack_json",
            Shape::Logfmt => "unpack_logfmt",
            Shape::Syslog(_) => "unpack_syslog",
        }
    }

    fn arguments(&self) -> String {
        let prefix = match &*self.prefix {
            "" => String::new(),
            prefix => format!(" result_prefix {}", quote_always(prefix)),
        };
        let offset = match &self.shape {
            Shape::Syslog(syslog) if syslog.offset_ns != 0 => format!(" offset {}ns", syslog.offset_ns),
            _ => String::new(),
        };
        let (from, fields) = (show_field("from", &self.from), show_patterns(&self.fields));
        format!("{from}{fields}{prefix}{offset}{}", self.writes.show())
    }

    fn reads(&self, see: &mut dyn FnMut(NamePattern)) {
        see(NamePattern::exact(&self.from));
    }

    fn worker(&self) -> Worker<'_> {
        let mut text = String::new();
        let mut fields = Fields::new();
        let mut json = JsonParser::new();
        let stamps = match &self.shape {
            Shape::Syslog(syslog) => Some(syslog.stamps()),
            _ => None,
        };
        Box::new(move |row| {
            text.clear();
            text.push_str(row.get(&self.from).unwrap_or(""));
            let understood = match &self.shape {
                Shape::Json => text.trim_start().starts_with('{') && json.parse(&text, &mut fields).is_ok(),
                Shape::Logfmt => logfmt::parse_any_key(&text, &mut fields).is_some(),
                Shape::Syslog(_) => {
                    if let Some(stamps) = &stamps {
                        self.put_syslog(row, &text, stamps);
                    }
                    false
                }
            };
            if understood {
                fields.for_each(&text, |name, value| self.put_value(row, name, value));
            }
        })
    }
}

impl Unpack {
    fn put_syslog(&self, row: &mut ResultRow, text: &str, stamps: &StampParser) {
        if let Shape::Syslog(syslog) = &self.shape {
            syslog.each_field(text, stamps, &mut |name, text, kind| self.put(row, name, text, kind));
        }
    }
}
