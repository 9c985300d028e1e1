//! `time_add 1h at field`: a duration added to a time stamp.

use super::fields::NamePattern;
use super::row_pipe::{RowPipe, Worker};
use crate::error::ParseError;
use crate::number::parse_duration_ns;
use crate::parse::time::{format_time, parse_time};
use crate::parse::{Parser, quote};
use duramen::ValueKind;
use duramen::block::names;

/// What to add to which field; a field that holds no time stays as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimeAdd {
    field: Box<str>,
    duration_ns: i64,
}

impl TimeAdd {
    /// Of the time stamp of the row itself.
    pub(crate) fn of_time(duration_ns: i64) -> Self {
        Self { field: names::TIME.into(), duration_ns }
    }

    pub(super) fn parse(p: &mut Parser<'_>) -> Result<Self, ParseError> {
        let at = p.token.start;
        let text = p.text_token("a duration such as 1h or -30m")?;
        let duration_ns = parse_duration_ns(&text).ok_or_else(|| {
            let message = format!("`{text}` is no duration");
            ParseError::new(p.text, at, message, "expected a duration such as 1h or -30m")
        })?;
        let field = if p.eat_word("at")? { p.field_name()? } else { names::TIME.into() };
        Ok(Self { field, duration_ns })
    }
}

impl RowPipe for TimeAdd {
    fn name(&self) -> &'static str {
        "time_add"
    }

    fn arguments(&self) -> String {
        let at =
            if *self.field == *names::TIME { String::new() } else { format!(" at {}", quote(&self.field)) };
        format!(" {}ns{at}", self.duration_ns)
    }

    fn reads(&self, see: &mut dyn FnMut(NamePattern)) {
        see(NamePattern::exact(&self.field));
    }

    fn worker(&self) -> Worker<'_> {
        Box::new(|row| {
            if let Some(time) = row.get(&self.field).and_then(parse_time) {
                let time = time.saturating_add(self.duration_ns);
                row.set(&self.field, &format_time(time), ValueKind::String);
            }
        })
    }
}
