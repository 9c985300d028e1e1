//! `unwrap`: the number that a label is.

use super::errors;
use crate::ast::{Conversion, Unwrap};
use crate::labels::Entry;
use crate::units;

impl Unwrap {
    /// The number of an entry, whose label stays; none if the entry does not have it, or a filter behind holds it back.
    /// What is no number is an error of the entry, and counts as 0 if a filter lets it through.
    pub fn value(&self, entry: &mut Entry<'_>) -> Option<f64> {
        let text = entry.get(&self.label)?;
        let value = match self.conversion {
            Conversion::Number => text.parse().ok(),
            Conversion::Duration | Conversion::DurationSeconds => {
                units::parse_duration(text).map(|ns| ns as f64 / 1e9)
            }
            Conversion::Bytes => units::parse_bytes(text).map(|n| n as f64),
        };
        let value = match value {
            Some(value) => value,
            None => {
                let details = format!("{}: `{text}` cannot be converted", self.label);
                entry.fail(errors::UNWRAP, details);
                0.0
            }
        };
        self.filters.iter().all(|filter| filter.passes(entry)).then_some(value)
    }
}
