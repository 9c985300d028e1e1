//! Taking typed values out of events and spans.

use crate::log_record::LogRecord;
use duramen::{FieldBuf, Line, Value};
use std::error::Error;
use std::fmt::{self, Debug, Display, Formatter, Write};
use tracing_core::Field;
use tracing_core::field::Visit;

/// The field that is an event's message.
const MESSAGE: &str = "message";

/// A span's values, which all are fields.
pub(crate) struct OfSpan<'f>(pub(crate) &'f mut FieldBuf);

impl Visit for OfSpan<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.remove(field.name());
        self.0.push_debug(field.name(), value);
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.0.put(field.name(), Value::Float(value));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.0.put(field.name(), Value::Int(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.0.remove(field.name());
        self.0.push_u64(field.name(), value);
    }

    fn record_i128(&mut self, field: &Field, value: i128) {
        self.0.remove(field.name());
        self.0.push_number(field.name(), value);
    }

    fn record_u128(&mut self, field: &Field, value: u128) {
        self.0.remove(field.name());
        self.0.push_number(field.name(), value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.0.put(field.name(), Value::Bool(value));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.put(field.name(), Value::Str(value));
    }

    /// With what caused it, and what caused that.
    fn record_error(&mut self, field: &Field, value: &(dyn Error + 'static)) {
        self.0.remove(field.name());
        self.0.push_display(field.name(), Causes(value));
    }
}

/// An error, and what caused it, and what caused that.
struct Causes<'e>(&'e (dyn Error + 'static));

impl Display for Causes<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        let mut cause = self.0.source();
        while let Some(error) = cause {
            write!(f, ": {error}")?;
            cause = error.source();
        }
        Ok(())
    }
}

/// An event's values, of which one may be its message.
pub(crate) struct OfEvent<'l> {
    pub(crate) line: &'l mut Line,
    /// Whether it was a record of the `log` crate.
    pub(crate) of_log: bool,
}

impl OfEvent<'_> {
    /// Whether this is no field: the message, which is `text` then, or what the line has of a `log` record already.
    fn message(&mut self, field: &Field, text: impl Display) -> bool {
        let is = field.name() == MESSAGE;
        if is {
            self.line.message.clear();
            // A value that cannot show itself is kept as far as it came.
            let _as_far_as_it_came = write!(self.line.message, "{text}");
        }
        is || self.of_log && LogRecord::has(field.name())
    }

    fn fields(&mut self) -> OfSpan<'_> {
        OfSpan(&mut self.line.fields)
    }
}

impl Visit for OfEvent<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if !self.message(field, format_args!("{value:?}")) {
            self.fields().record_debug(field, value);
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        if !self.message(field, value) {
            self.fields().record_str(field, value);
        }
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        if !self.message(field, value) {
            self.fields().record_f64(field, value);
        }
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        if !self.message(field, value) {
            self.fields().record_i64(field, value);
        }
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        if !self.message(field, value) {
            self.fields().record_u64(field, value);
        }
    }

    fn record_i128(&mut self, field: &Field, value: i128) {
        if !self.message(field, value) {
            self.fields().record_i128(field, value);
        }
    }

    fn record_u128(&mut self, field: &Field, value: u128) {
        if !self.message(field, value) {
            self.fields().record_u128(field, value);
        }
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        if !self.message(field, value) {
            self.fields().record_bool(field, value);
        }
    }

    fn record_error(&mut self, field: &Field, value: &(dyn Error + 'static)) {
        if !self.message(field, Causes(value)) {
            self.fields().record_error(field, value);
        }
    }
}
