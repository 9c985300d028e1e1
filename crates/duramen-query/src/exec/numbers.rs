//! The numbers in a block's column: each text is read once, whichever functions look at it.

use super::open::{is_few, plain_text};
use crate::bitmap::Bitmap;
use crate::number::Number;
use duramen::column::{Column, ColumnData, bit};
use std::sync::Arc;

/// The numbers of a column's rows.
pub(super) struct Numbers {
    column: Option<Arc<Column>>,
    /// By the number of the text, for constants and dictionaries, or by slot, for texts that are all looked at.
    read: Vec<Option<Number>>,
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
        Self { column, read }
    }

    pub(super) fn column(&self) -> Option<&Column> {
        self.column.as_deref()
    }

    /// The number in a row, if there is one.
    pub(super) fn get(&self, row: usize) -> Option<Number> {
        let column = self.column()?;
        let slot = column.slot(row);
        match &column.data {
            ColumnData::Const(_) => *self.read.first()?,
            ColumnData::Dict { .. } if self.read.is_empty() => Number::parse(plain_text(column, slot)?),
            ColumnData::Dict { codes, .. } => *self.read.get(codes.get(slot) as usize)?,
            ColumnData::Int { values, present } => {
                let is_there = present.as_ref().is_none_or(|present| bit(present, slot));
                is_there.then(|| Number::Int(values.get(slot)))
            }
            ColumnData::Decimal { values, scale, present } => {
                let is_there = present.as_ref().is_none_or(|present| bit(present, slot));
                is_there.then(|| Number::of_decimal(values.get(slot), *scale))
            }
            ColumnData::Text { .. } if self.read.is_empty() => Number::parse(plain_text(column, slot)?),
            ColumnData::Text { .. } => *self.read.get(slot)?,
        }
    }
}
