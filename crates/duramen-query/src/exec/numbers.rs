//! The numbers in a block's column: each text is read once, whichever functions look at it.

use super::cells::cell;
use super::open::{is_few, plain_text};
use crate::bitmap::Bitmap;
use crate::number::{Number, format_rounded};
use crate::pipe::stats::Cell;
use duramen::column::{Column, ColumnData, bit};
use std::cell::{OnceCell, Ref, RefCell};
use std::sync::Arc;

/// The numbers of a column's rows, or of what was made of columns.
pub(super) struct Numbers {
    column: Option<Arc<Column>>,
    /// If they were made: that of each row.
    made: Vec<Option<Number>>,
    /// By the number of the text, for constants and dictionaries, or by slot, for texts that are all looked at.
    read: Vec<Option<Number>>,
    lately: RefCell<Lately>,
}

/// The numbers of rows that were asked for together.
#[derive(Default)]
struct Lately {
    /// The first row, and how many they are.
    rows: Option<(usize, usize)>,
    numbers: Vec<Option<Number>>,
}

impl Numbers {
    /// Of the rows that were found.
    pub(super) fn new(column: Option<Arc<Column>>, found: &Bitmap) -> Self {
        let read = match column.as_ref().map(|column| (&column.data, &**column)) {
            Some((ColumnData::Const(text), _)) => vec![Number::parse(text)],
            Some((ColumnData::Dict { values, .. }, _)) if values.len() <= found.count() => {
                values.iter().map(Number::parse).collect()
            }
            Some((ColumnData::Text { ends, .. }, column)) if !is_few(found) => {
                (0..ends.len()).map(|slot| plain_text(column, slot).and_then(Number::parse)).collect()
            }
            _ => Vec::new(),
        };
        Self { column, made: Vec::new(), read, lately: RefCell::default() }
    }

    /// That were made, row by row.
    pub(super) fn made(made: Vec<Option<Number>>) -> Self {
        Self { column: None, made, read: Vec::new(), lately: RefCell::default() }
    }

    pub(super) fn column(&self) -> Option<&Column> {
        self.column.as_deref()
    }

    /// A row's value, which may be another than a number. If it has to be written, it is so there.
    pub(super) fn cell<'c>(&'c self, row: usize, written: &'c OnceCell<String>) -> Cell<'c> {
        match self.made.get(row) {
            None => cell(self.column(), row),
            Some(None) => Cell::Text(""),
            Some(Some(Number::Int(n))) => Cell::Int(*n),
            Some(Some(Number::Float(x))) => Cell::Text(written.get_or_init(|| format_rounded(*x))),
        }
    }

    /// Whether a row without a number has no value at all.
    pub(super) fn are_all(&self) -> bool {
        Self::are_all_of(self.column())
    }

    /// The same of the numbers of a column.
    pub(super) fn are_all_of(column: Option<&Column>) -> bool {
        let data = column.map(|column| &column.data);
        matches!(data, None | Some(ColumnData::Int { .. } | ColumnData::Decimal { .. }))
    }

    /// Whether no row has a value.
    pub(super) fn are_none(&self) -> bool {
        self.column.is_none() && self.made.is_empty()
    }

    /// The numbers in these of the rows that were found, each with its group: all from one on, as many as there are here.
    /// Whatever looks at the column asks for the same ones after another, and they are made once.
    pub(super) fn of_rows(&self, rows: &[(usize, usize)]) -> Ref<'_, [Option<Number>]> {
        let wanted = rows.first().map(|&(first, _)| (first, rows.len()));
        if self.lately.borrow().rows != wanted {
            let mut lately = self.lately.borrow_mut();
            let Lately { rows: of, numbers } = &mut *lately;
            *of = wanted;
            numbers.clear();
            self.append(rows.iter().map(|&(row, _)| row), numbers);
        }
        Ref::map(self.lately.borrow(), |lately| &*lately.numbers)
    }

    fn append(&self, rows: impl Iterator<Item = usize>, out: &mut Vec<Option<Number>>) {
        match self.column.as_deref() {
            Some(column) if Self::are_all_of(Some(column)) => append(Some(column), rows, Number::parse, out),
            _ => out.extend(rows.map(|row| self.get(row))),
        }
    }

    /// The number in a row, if there is one.
    pub(super) fn get(&self, row: usize) -> Option<Number> {
        let Some(column) = &self.column else { return *self.made.get(row)? };
        let slot = column.slot(row);
        match &column.data {
            ColumnData::Const(_) => *self.read.first()?,
            ColumnData::Dict { .. } if self.read.is_empty() => Number::parse(plain_text(column, slot)?),
            ColumnData::Dict { codes, .. } => *self.read.get(codes.get(slot) as usize)?,
            ColumnData::Int { values, present } => {
                present_at(present, slot, |slot| Number::Int(values.get(slot)))
            }
            ColumnData::Decimal { values, scale, present } => {
                present_at(present, slot, |slot| Number::of_decimal(values.get(slot), *scale))
            }
            ColumnData::Text { .. } if self.read.is_empty() => Number::parse(plain_text(column, slot)?),
            ColumnData::Text { .. } => *self.read.get(slot)?,
        }
    }
}

/// Appends the numbers in these rows of a column, of which texts are read so. What kind of column it is, is asked once.
pub(super) fn append(
    column: Option<&Column>,
    rows: impl Iterator<Item = usize>,
    read: impl Fn(&str) -> Option<Number>,
    out: &mut Vec<Option<Number>>,
) {
    match column {
        Some(column @ Column { data: ColumnData::Decimal { values, scale, present }, .. }) => {
            let number = |slot| Number::of_decimal(values.get(slot), *scale);
            out.extend(rows.map(|row| column.slot(row)).map(|slot| present_at(present, slot, number)));
        }
        Some(column @ Column { data: ColumnData::Int { values, present }, .. }) => {
            let number = |slot| Number::Int(values.get(slot));
            out.extend(rows.map(|row| column.slot(row)).map(|slot| present_at(present, slot, number)));
        }
        Some(column) => out.extend(rows.map(|row| read(plain_text(column, column.slot(row))?))),
        None => out.extend(rows.map(|_| None)),
    }
}

/// The number of a slot, if it has one.
fn present_at(
    present: &Option<Vec<u64>>,
    slot: usize,
    number: impl FnOnce(usize) -> Number,
) -> Option<Number> {
    present.as_ref().is_none_or(|present| bit(present, slot)).then(|| number(slot))
}
