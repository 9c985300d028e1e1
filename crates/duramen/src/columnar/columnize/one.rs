//! The values of one field of rows, for who asks for no other: the same that [`super::Columnizer`] makes of it, but that a
//! reference to the message is a text.

use super::super::Row;
use super::super::labels::StreamTable;
use super::{Collected, text_of};
use crate::block::names;
use crate::column::{IntText, Order};
use crate::error::Result;
use crate::value::{Level, Value, ValueKind};
use memchr::memmem::Finder;

/// The field, slot by slot, of rows whose streams these are; `row` gives each by its number.
///
/// # Errors
/// Those of `row`; [`crate::Error::Invalid`] if it has more than 4 GiB of text.
pub(crate) fn one_field<'r>(
    row: &dyn Fn(usize) -> Result<Row<'r>>,
    streams: &StreamTable,
    name: &str,
) -> Result<Collected> {
    let mut field = Field::new(streams, name);
    let mut row_of_slot: Vec<usize> = (0..streams.rows).collect();
    if let Order::Slots(order) = &streams.order {
        for (row, &slot) in order.iter().enumerate() {
            row_of_slot[slot as usize] = row;
        }
    }
    for (slot, i) in (0..).zip(row_of_slot) {
        field.take_row(slot, &row(i)?);
    }
    field.values.settle()?;
    Ok(field.values)
}

struct Field<'a> {
    name: &'a str,
    /// Where it is not found, no field has the name: fields are walked over only where it is.
    in_bytes: Finder<'a>,
    streams: &'a StreamTable,
    /// Of each stream, if it is the level: whether it has that as a label.
    has_level: Vec<bool>,
    values: Collected,
    digits: IntText,
}

impl<'a> Field<'a> {
    fn new(streams: &'a StreamTable, name: &'a str) -> Self {
        let mut values = Collected::default();
        values.reset(name);
        let has_level = if name == names::LEVEL { streams.have_level() } else { Vec::new() };
        let in_bytes = Finder::new(name.as_bytes());
        Self { name, in_bytes, streams, has_level, values, digits: IntText::default() }
    }

    fn take_row(&mut self, slot: u32, row: &Row<'_>) {
        let entry = &row.entry;
        let is_message = self.name == names::MESSAGE;
        if is_message && !entry.message.is_empty() {
            self.values.push_text(slot, entry.message, ValueKind::String, None);
        }
        if self.in_bytes.find(entry.field_bytes()).is_some() {
            for (_, value) in entry.fields().filter(|(field, _)| *field == self.name) {
                match value {
                    Value::Int(n) if !is_message => self.values.push_int(slot, n, None, &mut self.digits),
                    other => {
                        let (text, kind) = text_of(other, &mut self.digits);
                        self.values.push_text(slot, &text, kind, None);
                    }
                }
            }
        }
        if self.name == names::LEVEL
            && entry.level != Level::Unknown
            && !self.has_level.get(self.streams.stream_of(slot)).copied().unwrap_or(false)
            && self.values.last_slot != Some(slot)
        {
            self.values.push_text(slot, entry.level.name(), ValueKind::String, None);
        }
    }
}
