//! Label filters at work.

use super::errors;
use crate::ast::{LabelFilter, NumberIn};
use crate::labels::Entry;
use crate::units;

impl LabelFilter {
    /// Whether an entry goes on. A value that is not of the kind compared with is an error, and goes on so that it is seen;
    /// an entry without the label does not, whatever failed before.
    pub fn passes(&self, entry: &mut Entry<'_>) -> bool {
        match self {
            Self::Text(matcher) => matcher.matches(entry.get(&matcher.label).unwrap_or("")),
            Self::And(parts) => parts.iter().all(|part| part.passes(entry)),
            Self::Or(parts) => parts.iter().any(|part| part.passes(entry)),
            // As in Loki: texts and numbers hold back what failed before, addresses do not.
            Self::Ip { .. } if entry.error.is_some() => true,
            Self::Ip { label, negated, ips } => {
                entry.get(label).is_some_and(|value| ips.is_in(value) != *negated)
            }
            Self::Number { label, op, value } => {
                let Some(text) = entry.get(label) else { return false };
                let (number, wanted, what) = match *value {
                    NumberIn::Plain(wanted) => (text.parse::<f64>().ok(), wanted, "number"),
                    NumberIn::Duration(wanted) => {
                        (units::parse_duration(text).map(|ns| ns as f64), wanted as f64, "duration")
                    }
                    NumberIn::Bytes(wanted) => {
                        (units::parse_bytes(text).map(|n| n as f64), wanted as f64, "size")
                    }
                };
                match number {
                    Some(number) => op.holds(number, wanted),
                    // What failed before tells more.
                    None if entry.error.is_some() => true,
                    None => {
                        let details = format!("{label}: `{text}` is no {what}");
                        entry.fail(errors::LABEL_FILTER, details);
                        true
                    }
                }
            }
        }
    }

    /// Calls `see` with every label that it looks at.
    pub fn for_each_label(&self, see: &mut dyn FnMut(&str)) {
        match self {
            Self::Text(matcher) => see(&matcher.label),
            Self::Number { label, .. } | Self::Ip { label, .. } => see(label),
            Self::And(parts) | Self::Or(parts) => parts.iter().for_each(|part| part.for_each_label(see)),
        }
    }
}
