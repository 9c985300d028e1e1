//! A row of the answer.

use crate::held_row::allocated_bytes;
use crate::parse::time::{format_time, parse_time};
use duramen::ValueKind;
use duramen::block::names;

/// A row of the answer: named values in order. Values may be missing; names are not repeated.
///
/// Rows that are log entries have `_time`, `_stream` (if it is not empty) and `_msg` first, then the other
/// fields by name; pipes such as `fields` and `stats` put them in the order they were written in.
#[derive(Clone, Debug, Default)]
pub struct ResultRow {
    cells: Vec<Cell>,
    used: usize,
    time: Option<i64>,
}

#[derive(Clone, Debug)]
struct Cell {
    name: String,
    text: String,
    kind: ValueKind,
}

impl ResultRow {
    /// A row without values.
    pub fn new() -> Self {
        Self::default()
    }

    /// The names, texts and kinds, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str, ValueKind)> {
        self.cells[..self.used].iter().map(|c| (&*c.name, &*c.text, c.kind))
    }

    /// How many values it has.
    pub fn len(&self) -> usize {
        self.used
    }

    /// Whether it has no value.
    pub fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// The text of a value, if the row has it.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.iter().find(|(n, ..)| *n == name).map(|(_, text, _)| text)
    }

    /// The time stamp of the log entry it comes from, ns since the epoch; `None` for rows that pipes made.
    pub fn time_ns(&self) -> Option<i64> {
        self.time
    }

    /// Bytes it takes in memory, about.
    pub fn heap_bytes(&self) -> usize {
        let of_cell = |(name, text, _): (&str, &str, _)| {
            allocated_bytes(name.len()) + allocated_bytes(text.len()) + size_of::<Cell>()
        };
        self.iter().map(of_cell).sum::<usize>() + 64
    }

    /// Forgets the values, keeping their memory for the next.
    pub(crate) fn clear(&mut self) {
        self.used = 0;
        self.time = None;
    }

    pub(crate) fn push(&mut self, name: &str, text: &str, kind: ValueKind) {
        if let Some(cell) = self.cells.get_mut(self.used) {
            cell.name.clear();
            cell.name.push_str(name);
            cell.text.clear();
            cell.text.push_str(text);
            cell.kind = kind;
        } else {
            self.cells.push(Cell { name: name.into(), text: text.into(), kind });
        }
        self.used += 1;
    }

    /// Gives a field a value, in the place of the one it had, or behind all others.
    pub(crate) fn set(&mut self, name: &str, text: &str, kind: ValueKind) {
        match self.cells[..self.used].iter_mut().find(|c| c.name == name) {
            Some(cell) => {
                cell.text.clear();
                cell.text.push_str(text);
                cell.kind = kind;
            }
            None => self.push(name, text, kind),
        }
    }

    /// Makes a text of the value of a field, the empty one if there is none.
    pub(crate) fn set_to_text(&mut self, name: &str) {
        match self.cells[..self.used].iter_mut().find(|c| c.name == name) {
            Some(cell) => cell.kind = ValueKind::String,
            None => self.push(name, "", ValueKind::String),
        }
    }

    pub(crate) fn push_time(&mut self, ns: i64) {
        self.push(names::TIME, &format_time(ns), ValueKind::String);
    }

    pub(crate) fn set_time(&mut self, ns: i64) {
        self.time = Some(ns);
    }

    /// Keeps the values for which `keep` holds.
    pub(crate) fn retain(&mut self, mut keep: impl FnMut(&str) -> bool) {
        self.cells.truncate(self.used);
        self.cells.retain(|c| keep(&c.name));
        self.used = self.cells.len();
    }

    /// Keeps the values that are not empty.
    pub(crate) fn retain_filled(&mut self) {
        self.cells.truncate(self.used);
        self.cells.retain(|c| !c.text.is_empty());
        self.used = self.cells.len();
    }

    /// Sorts by a rank given to each name, keeping the order among equals.
    pub(crate) fn order_by(&mut self, mut rank: impl FnMut(&str) -> usize) {
        self.cells[..self.used].sort_by_key(|c| rank(&c.name));
    }

    /// Gives a value another name; one that had that name before goes. Of a missing value, only this happens.
    pub(crate) fn rename(&mut self, from: &str, to: &str) {
        if from != to {
            self.retain(|n| n != to);
            if let Some(cell) = self.cells[..self.used].iter_mut().find(|c| c.name == from) {
                cell.name = to.into();
            }
        }
    }

    /// Copies a value to another name; one that had that name before goes.
    pub(crate) fn copy(&mut self, from: &str, to: &str) {
        if from != to {
            self.retain(|n| n != to);
            if let Some(mut cell) = self.cells[..self.used].iter().find(|c| c.name == from).cloned() {
                cell.name = to.into();
                self.cells.truncate(self.used);
                self.cells.push(cell);
                self.used += 1;
            }
        }
    }

    /// Becomes a copy of another, in the memory it has.
    pub(crate) fn fill_from(&mut self, other: &Self) {
        self.clear();
        self.time = other.time;
        for (name, text, kind) in other.iter() {
            self.push(name, text, kind);
        }
    }

    /// A copy without spare room.
    pub(crate) fn compact(&self) -> Self {
        Self { cells: self.cells[..self.used].to_vec(), used: self.used, time: self.time }
    }

    /// Appends the row as one JSON object, without a line end: numbers, truth values, null and embedded JSON
    /// as such, all else as strings.
    pub fn write_json(&self, out: &mut Vec<u8>) {
        out.push(b'{');
        for (i, (name, text, kind)) in self.iter().enumerate() {
            if i > 0 {
                out.push(b',');
            }
            write_json_string(name, out);
            out.push(b':');
            match kind {
                ValueKind::Number if is_json_number(text) => out.extend_from_slice(text.as_bytes()),
                ValueKind::Bool if matches!(text, "true" | "false") => out.extend_from_slice(text.as_bytes()),
                ValueKind::Null => out.extend_from_slice(b"null"),
                // A line break can only be white space there, and would end the line of NDJSON.
                ValueKind::Json => {
                    out.extend(text.bytes().map(|b| if matches!(b, b'\n' | b'\r') { b' ' } else { b }))
                }
                _ => write_json_string(text, out),
            }
        }
        out.push(b'}');
    }
}

/// A row as a filter sees it. A field that it does not have is the empty text.
pub trait RowView {
    /// Its time stamp, ns since the epoch.
    fn time(&self) -> Option<i64>;
    /// The text of a field.
    fn text(&self, field: &str) -> &str;
    /// Whether one of its fields, by name and text, is such.
    fn any(&self, is: &mut dyn FnMut(&str, &str) -> bool) -> bool;
}

impl RowView for ResultRow {
    fn time(&self) -> Option<i64> {
        self.get(names::TIME).and_then(parse_time)
    }

    fn text(&self, field: &str) -> &str {
        self.get(field).unwrap_or("")
    }

    fn any(&self, is: &mut dyn FnMut(&str, &str) -> bool) -> bool {
        self.iter().any(|(name, text, _)| is(name, text))
    }
}

impl PartialEq for ResultRow {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

/// Appends a text as a JSON string.
pub(crate) fn write_json_string(text: &str, out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    out.push(b'"');
    let bytes = text.as_bytes();
    let mut start = 0;
    for (i, &b) in bytes.iter().enumerate() {
        if b >= 0x20 && b != b'"' && b != b'\\' {
            continue;
        }
        out.extend_from_slice(&bytes[start..i]);
        start = i + 1;
        match b {
            b'"' | b'\\' => out.extend([b'\\', b]),
            b'\n' => out.extend(b"\\n"),
            b'\r' => out.extend(b"\\r"),
            b'\t' => out.extend(b"\\t"),
            _ => out.extend([b'\\', b'u', b'0', b'0', HEX[usize::from(b >> 4)], HEX[usize::from(b & 15)]]),
        }
    }
    out.extend_from_slice(&bytes[start..]);
    out.push(b'"');
}

/// Texts as a JSON array of strings.
pub(crate) fn write_json_array<'t>(texts: impl IntoIterator<Item = &'t str>) -> String {
    let mut json = vec![b'['];
    for (i, text) in texts.into_iter().enumerate() {
        if i > 0 {
            json.push(b',');
        }
        write_json_string(text, &mut json);
    }
    json.push(b']');
    String::from_utf8(json).unwrap_or_default()
}

/// Whether a text is a number in JSON's grammar.
pub(crate) fn is_json_number(text: &str) -> bool {
    let digits = |s: &mut &[u8]| {
        let n = s.iter().take_while(|b| b.is_ascii_digit()).count();
        *s = &s[n..];
        n
    };
    let mut s = text.strip_prefix('-').unwrap_or(text).as_bytes();
    let leading_zero = s.first() == Some(&b'0');
    let whole = digits(&mut s);
    if whole == 0 || (leading_zero && whole > 1) {
        return false;
    }
    if let [b'.', rest @ ..] = s {
        s = rest;
        if digits(&mut s) == 0 {
            return false;
        }
    }
    if let [b'e' | b'E', rest @ ..] = s {
        s = rest;
        if let [b'+' | b'-', rest @ ..] = s {
            s = rest;
        }
        if digits(&mut s) == 0 {
            return false;
        }
    }
    s.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_become_json() {
        let mut row = ResultRow::new();
        row.push("s", "a\"\\\n\u{1}é", ValueKind::String);
        row.push("n", "1.50", ValueKind::Number);
        row.push("odd", "007", ValueKind::Number);
        row.push("t", "true", ValueKind::Bool);
        row.push("z", "", ValueKind::Null);
        row.push("j", "[1,\n2]", ValueKind::Json);
        let mut out = Vec::new();
        row.write_json(&mut out);
        assert_eq!(
            String::from_utf8(out.clone()).unwrap(),
            r#"{"s":"a\"\\\n\u0001é","n":1.50,"odd":"007","t":true,"z":null,"j":[1, 2]}"#
        );
        assert!(serde_json::from_slice::<serde_json::Value>(&out).is_ok());
    }

    proptest::proptest! {
        #[test]
        fn numbers_are_as_a_json_parser_has_them(text in "-?[0-9]{0,3}[.]?[0-9]{0,2}([eE][-+]?[0-9]{0,2})?") {
            proptest::prop_assert_eq!(is_json_number(&text), serde_json::from_str::<serde_json::Number>(&text).is_ok());
        }
    }
}
