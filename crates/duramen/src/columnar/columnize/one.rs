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
    match &streams.order {
        Order::Slots(order) => {
            let mut row_of_slot = vec![0; order.len()];
            for (row, &slot) in order.iter().enumerate() {
                row_of_slot[slot as usize] = row;
            }
            (0..).zip(row_of_slot).try_for_each(|(slot, i)| row(i).map(|row| field.take_row(slot, &row)))?;
        }
        Order::Rows | Order::Few(_) => {
            (0..)
                .zip(0..streams.rows)
                .try_for_each(|(slot, i)| row(i).map(|row| field.take_row(slot, &row)))?;
        }
    }
    field.values.settle()?;
    Ok(field.values)
}

/// Whether a row has a plain field of this name.
pub(crate) fn has_field(row: &Row<'_>, name: &str, in_bytes: &Finder<'_>) -> bool {
    in_bytes.find(row.entry.field_bytes()).is_some() && row.entry.fields().any(|(field, _)| field == name)
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
