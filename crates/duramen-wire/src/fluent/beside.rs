//! What Fluent Bit keeps beside a record: its metadata, and what it says of a group of records before them. Both are
//! there for logs of OpenTelemetry's, and become the fields that such logs have when they come as they are.
//!
//! ```text
//! metadata   {"otlp": {"trace_id": bytes, "severity_number": 17, "attributes": {…}, …}, …}
//! a group's  {"resource": {"attributes": {…}, …}, "scope": {"name": "…", "attributes": {…}, …}, …}
//! ```

use super::json::{push_json, push_text};
use crate::msgpack::{Cursor, Item};
use duramen::Level;
use duramen_formats::{level, text_of};
use std::fmt::Write;

/// Fields that are not a record's own.
#[derive(Debug, Default)]
pub(super) struct Beside {
    /// They, as members of a JSON object, without its braces.
    members: Vec<u8>,
    /// The level, by its number or else by its name.
    pub level: Option<Level>,
}

impl Beside {
    pub fn clear(&mut self) {
        self.members.clear();
        self.level = None;
    }

    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Writes them as a JSON object; says whether there are any.
    pub fn write(&self, object: &mut String) -> bool {
        object.clear();
        // What is written is text already.
        let members = std::str::from_utf8(&self.members).unwrap_or_default();
        object.extend(["{", members, "}"]);
        !members.is_empty()
    }

    /// Adds a record's metadata. `None` if it is no map, nested too deep, or not whole.
    pub fn add_metadata(&mut self, cursor: Cursor<'_>) -> Option<()> {
        each_pair(cursor, |key, value| match key {
            b"otlp" if is_map(value) => each_pair(value, |key, value| self.add_of_record(key, value)),
            _ => self.add("", key, value),
        })
    }

    /// Adds what is said of a group, likewise.
    pub fn add_group(&mut self, cursor: Cursor<'_>) -> Option<()> {
        each_pair(cursor, |key, value| {
            let (prefix, of_attributes) = match key {
                b"resource" if is_map(value) => ("resource.", ""),
                b"scope" if is_map(value) => ("scope.", "scope."),
                _ => return self.add("", key, value),
            };
            each_pair(value, |key, value| match key {
                b"attributes" if is_map(value) => {
                    each_pair(value, |key, value| self.add(of_attributes, key, value))
                }
                _ => self.add(prefix, key, value),
            })
        })
    }

    fn add_of_record(&mut self, key: &[u8], value: Cursor<'_>) -> Option<()> {
        match (key, { value }.next().ok()?) {
            // The event has the time, and the one at which it was observed does not matter beside it.
            (b"timestamp" | b"observed_timestamp", _) | (b"trace_flags", Item::Uint(0)) => Some(()),
            (b"severity_number", Item::Uint(n)) => {
                self.level = u8::try_from(n).ok().and_then(level::of_otel_severity).or(self.level);
                Some(())
            }
            (b"severity_text", Item::Bytes(text)) => {
                self.level = self.level.or_else(|| Level::of_value(&text_of(text)));
                self.add("", key, value)
            }
            // Bytes of an id; all zeros stand for none.
            (b"trace_id" | b"span_id", Item::Bytes(id)) if matches!(id.len(), 8 | 16) => {
                if id.iter().any(|b| *b != 0) {
                    let mut hex = String::with_capacity(2 * id.len());
                    for byte in id {
                        let _infallible = write!(hex, "{byte:02x}");
                    }
                    self.push_name("", key);
                    push_text(hex.as_bytes(), &mut self.members);
                }
                Some(())
            }
            (b"trace_flags", _) => self.add("", b"flags", value),
            (b"attributes", Item::Map(_)) => each_pair(value, |key, value| self.add("", key, value)),
            _ => self.add("", key, value),
        }
    }

    fn add(&mut self, prefix: &str, key: &[u8], mut value: Cursor<'_>) -> Option<()> {
        let before = self.members.len();
        self.push_name(prefix, key);
        let pushed = push_json(&mut value, &mut self.members);
        if pushed.is_none() {
            // Half a value would cost all records that get this.
            self.members.truncate(before);
        }
        pushed
    }

    fn push_name(&mut self, prefix: &str, key: &[u8]) {
        if !self.members.is_empty() {
            self.members.push(b',');
        }
        push_text(&[prefix.as_bytes(), key].concat(), &mut self.members);
        self.members.push(b':');
    }
}

fn is_map(mut value: Cursor<'_>) -> bool {
    matches!(value.next(), Ok(Item::Map(_)))
}

/// Calls `f` with each key of the map at the cursor, and the place of its value.
fn each_pair<'a>(
    mut cursor: Cursor<'a>,
    mut f: impl FnMut(&'a [u8], Cursor<'a>) -> Option<()>,
) -> Option<()> {
    let Ok(Item::Map(pairs)) = cursor.next() else { return None };
    for _ in 0..pairs {
        let Ok(Item::Bytes(key)) = cursor.next() else { return None };
        let value = cursor;
        cursor.skip().ok()?;
        f(key, value)?;
    }
    Some(())
}
