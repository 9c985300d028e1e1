//! What a record of the `log` crate was logged with.
//!
//! `tracing-log` makes events of such records. A callsite's metadata are fixed, and a record's are not: all of its events
//! have the target `log`, and what the record had in fields of these names.

use std::fmt::Debug;
use tracing_core::Event;
use tracing_core::Field;
use tracing_core::field::Visit;

/// The target of all such events.
const TARGET: &str = "log";

const RECORDS_TARGET: &str = "log.target";
const RECORDS_FILE: &str = "log.file";
const RECORDS_LINE: &str = "log.line";
const RECORDS_MODULE: &str = "log.module_path";

/// A record's metadata.
#[derive(Debug, Default)]
pub(crate) struct LogRecord {
    pub(crate) target: Option<String>,
    pub(crate) file: Option<String>,
    pub(crate) line: Option<u64>,
}

impl LogRecord {
    /// Those of the record that an event was made of, if it was.
    pub(crate) fn of(event: &Event<'_>) -> Option<Self> {
        let metadata = event.metadata();
        if metadata.target() != TARGET || metadata.fields().field(RECORDS_TARGET).is_none() {
            return None;
        }
        let mut record = Self::default();
        event.record(&mut record);
        Some(record)
    }

    /// Whether a field of such an event is told elsewhere in its line.
    pub(crate) fn has(name: &str) -> bool {
        matches!(name, RECORDS_TARGET | RECORDS_FILE | RECORDS_LINE | RECORDS_MODULE)
    }
}

impl Visit for LogRecord {
    fn record_debug(&mut self, _: &Field, _: &dyn Debug) {}

    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            RECORDS_TARGET => self.target = Some(value.into()),
            RECORDS_FILE => self.file = Some(value.into()),
            _ => {}
        }
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        if field.name() == RECORDS_LINE {
            self.line = Some(value);
        }
    }
}
