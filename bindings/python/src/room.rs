//! How much of what a program gives becomes part of one line.
//!
//! Values may refer to each other: a few dicts that each hold the others have more paths through them than a machine has
//! memory. So what is followed is counted, and where there is no room for more, it ends: the line is kept, and says of
//! which fields something is lacking.

use crate::json;
use duramen::entry::{MAX_ENTRY_BYTES, MAX_FIELD_NAME_BYTES, MAX_FIELDS};
use duramen::{FieldBuf, Value};
use pyo3::prelude::*;

/// The most values that are followed for one line, those in lists included.
const MAX_VALUES: usize = 1 << 20;

/// The most bytes that a field takes besides its name and text.
const FIELD_BYTES: usize = 20;

/// What the line itself takes, and the fields that say what was cut.
const FRAME_BYTES: usize = 8 << 10;

/// The field that has the names of those of which something is lacking.
const TRUNCATED_FIELDS: &str = "truncated_fields";

/// So many bytes of such names are told.
const TOLD_BYTES: usize = 1000;

/// What there is still room for.
#[derive(Clone, Debug)]
pub(crate) struct Room {
    fields: usize,
    values: usize,
    bytes: usize,
    /// The dicts and lists around a value: what contains itself is not followed for ever.
    around: Vec<usize>,
    /// Whether something had no room.
    lacking: bool,
}

impl Default for Room {
    /// That of a line without anything.
    fn default() -> Self {
        Self {
            // Two are for what was cut.
            fields: MAX_FIELDS - 2,
            values: MAX_VALUES,
            bytes: MAX_ENTRY_BYTES - FRAME_BYTES,
            around: Vec::new(),
            lacking: false,
        }
    }
}

impl Room {
    /// What is left beside so many bytes.
    pub(crate) fn beside(mut self, bytes: usize) -> Self {
        self.bytes = self.bytes.saturating_sub(bytes);
        self
    }

    /// Whether there is room for so many bytes, and one more value; if not, something is lacking.
    pub(crate) fn value(&mut self, bytes: usize) -> bool {
        let enough = self.values > 0 && bytes <= self.bytes;
        self.values = self.values.saturating_sub(1);
        self.lacking |= !enough;
        enough
    }

    /// How many bytes there may still be.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Says that something is lacking.
    pub(crate) fn lack(&mut self) {
        self.lacking = true;
    }

    /// How many dicts and lists are around.
    pub(crate) fn depth(&self) -> usize {
        self.around.len()
    }

    /// Goes into `value`, until [`Room::leave`]; false if that would lead in circles.
    pub(crate) fn enter(&mut self, value: &Bound<'_, PyAny>) -> bool {
        let id = value.as_ptr().addr();
        let is_new = !self.around.contains(&id);
        if is_new {
            self.around.push(id);
        }
        is_new
    }

    /// Goes out of what was entered last.
    pub(crate) fn leave(&mut self) {
        self.around.pop();
    }
}

/// A line's fields as they are found.
#[derive(Debug, Default)]
pub(crate) struct Fields {
    line: FieldBuf,
    pub(crate) room: Room,
    /// Names of those of which something is lacking, and how many bytes these have.
    cut: Vec<String>,
    cut_bytes: usize,
}

impl Fields {
    /// None yet, with room for these.
    pub(crate) fn new(room: Room) -> Self {
        Self { room, ..Self::default() }
    }

    /// Adds what there is room for of a field.
    pub(crate) fn push(&mut self, name: &str, value: Value<'_>) {
        let room = &mut self.room;
        let whole_name = name;
        let name = beginning(name, MAX_FIELD_NAME_BYTES);
        room.lacking |= name.len() < whole_name.len();
        let left = room.bytes.checked_sub(FIELD_BYTES + name.len());
        let (Some(left), Some(fields)) = (left, room.fields.checked_sub(1)) else {
            room.lacking = true;
            return;
        };
        let mut value = value;
        let mut bytes = text(&value).map_or(0, str::len);
        if let Some(text) = text(&value)
            && text.len() > left
        {
            // A part of a number or of JSON is none.
            let part = beginning(text, left);
            bytes = part.len();
            value = Value::Str(part);
            room.lacking = true;
        }
        (room.fields, room.bytes) = (fields, left - bytes);
        self.line.push(name, value);
    }

    /// To be called behind each field that the program has given: `name` is told if something is lacking since the last call.
    pub(crate) fn ended(&mut self, name: &str) {
        if std::mem::take(&mut self.room.lacking) {
            let name = beginning(name, TOLD_BYTES - self.cut_bytes);
            if self.cut.is_empty() || !name.is_empty() {
                self.cut_bytes += name.len();
                self.cut.push(name.into());
            }
        }
    }

    /// Whether there is room for nothing more.
    pub(crate) fn are_full(&self) -> bool {
        self.room.fields == 0 || self.room.values == 0 || self.room.bytes < FIELD_BYTES
    }

    /// Whether something is lacking.
    pub(crate) fn are_cut(&self) -> bool {
        self.room.lacking || !self.cut.is_empty()
    }

    /// What was found, and what it lacks; and the room that is left.
    pub(crate) fn finish(mut self) -> (FieldBuf, Room) {
        if !self.cut.is_empty() {
            self.line.push(TRUNCATED_FIELDS, Value::Json(&json::strings(&self.cut)));
        }
        (self.line, self.room)
    }
}

/// A value's text, if it has one.
fn text<'a>(value: &Value<'a>) -> Option<&'a str> {
    match *value {
        Value::Str(text) | Value::Number(text) | Value::Json(text) => Some(text),
        _ => None,
    }
}

/// So many bytes of a text at most, in whole characters.
pub(crate) fn beginning(text: &str, max_bytes: usize) -> &str {
    if text.len() <= max_bytes {
        return text;
    }
    let end = (0..=max_bytes).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
    text.get(..end).unwrap_or_default()
}
