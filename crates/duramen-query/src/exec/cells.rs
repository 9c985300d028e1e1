//! What a row has in a column.

use super::open::plain_text;
use crate::pipe::stats::{Cell, Named};
use duramen::ValueKind;
use duramen::column::{Column, ColumnData, Kinds, bit};

/// A row's value of a column.
pub(crate) fn cell(column: Option<&Column>, row: usize) -> Cell<'_> {
    let Some(column) = column else { return Cell::Text("") };
    let slot = column.slot(row);
    match &column.data {
        ColumnData::Int { values, present } if present.as_ref().is_none_or(|p| bit(p, slot)) => {
            Cell::Int(values.get(slot))
        }
        ColumnData::Decimal { values, scale, present } if present.as_ref().is_none_or(|p| bit(p, slot)) => {
            Cell::Decimal(values.get(slot), *scale)
        }
        _ => Cell::Text(plain_text(column, slot).unwrap_or("")),
    }
}

/// Whether a row has a value in a column that is not the empty text.
pub(super) fn has_value(column: &Column, row: usize) -> bool {
    let slot = column.slot(row);
    let is_there = |present: &Option<Vec<u64>>| present.as_ref().is_none_or(|present| bit(present, slot));
    match &column.data {
        ColumnData::Const(text) => !text.is_empty(),
        ColumnData::Dict { values, codes } => {
            values.get(codes.get(slot) as usize).is_some_and(|text| !text.is_empty())
        }
        ColumnData::Int { present, .. } | ColumnData::Decimal { present, .. } => is_there(present),
        ColumnData::Text { ends, present, .. } => {
            let start = slot.checked_sub(1).map_or(0, |before| ends[before]);
            is_there(present) && start < ends[slot]
        }
    }
}

/// A row's value of a column, with its name and kind.
pub(super) fn named<'c>(name: &'c str, column: Option<&'c Column>, row: usize) -> Named<'c> {
    let kind = column.map_or(ValueKind::String, |column| match &column.kinds {
        Kinds::All(kind) => *kind,
        Kinds::PerSlot(_) => column.kind_at(column.slot(row)),
    });
    Named { name, cell: cell(column, row), kind }
}
