//! Taking typed values out of events and spans.

use duramen::{FieldBuf, Line, Value};
use std::error::Error;
use std::fmt::{Debug, Write};
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
        let mut text = value.to_string();
        let mut cause = value.source();
        while let Some(error) = cause {
            text.push_str(": ");
            text.push_str(&error.to_string());
            cause = error.source();
        }
        self.0.put(field.name(), Value::Str(&text));
    }
}

/// An event's values, of which one may be its message.
pub(crate) struct OfEvent<'l>(pub(crate) &'l mut Line);

impl OfEvent<'_> {
    fn fields(&mut self) -> OfSpan<'_> {
        OfSpan(&mut self.0.fields)
    }
}

impl Visit for OfEvent<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == MESSAGE {
            self.0.message.clear();
            // A value that cannot show itself is kept as far as it came.
            let _as_far_as_it_came = write!(self.0.message, "{value:?}");
        } else {
            self.fields().record_debug(field, value);
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == MESSAGE {
            self.0.message.clear();
            self.0.message.push_str(value);
        } else {
            self.fields().record_str(field, value);
        }
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.fields().record_f64(field, value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.fields().record_i64(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.fields().record_u64(field, value);
    }

    fn record_i128(&mut self, field: &Field, value: i128) {
        self.fields().record_i128(field, value);
    }

    fn record_u128(&mut self, field: &Field, value: u128) {
        self.fields().record_u128(field, value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.fields().record_bool(field, value);
    }

    fn record_error(&mut self, field: &Field, value: &(dyn Error + 'static)) {
        self.fields().record_error(field, value);
    }
}
