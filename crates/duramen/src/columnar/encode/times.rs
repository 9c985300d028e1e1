//! How many rows of a block each step of time has, by level.

use super::super::columnize::{Columnizer, Form};
use super::super::table_fields::{MAX_FEW_VALUE_BYTES, MAX_FEW_VALUES};
use super::super::table_times::{MAX_TIME_COUNTS, TimeCounts};
use crate::block::names;
use crate::column::Order;
use std::sync::Arc;

/// One count in so many rows is what the steps of a block may have, and in a small block…
const ROWS_A_COUNT: usize = 8;
/// …so many.
const LEAST_COUNTS: usize = 16;

/// The counts, unless they would be too many.
pub(super) fn counts_of(c: &Columnizer) -> Option<TimeCounts> {
    let rows = c.times.len();
    let (levels, level_of_slot) = levels(c);
    let most = (rows / ROWS_A_COUNT).clamp(LEAST_COUNTS, MAX_TIME_COUNTS);
    let mut counts = TimeCounts::new(*c.times.first()?, *c.times.last()?, levels, most)?;
    for (row, &time) in c.times.iter().enumerate() {
        let slot = match &c.streams.order {
            Order::Slots(slots) => *slots.get(row)? as usize,
            Order::Rows | Order::Few(_) => row,
        };
        counts.add(time, level_of_slot.get(slot).map_or(0, |level| usize::from(*level)));
    }
    Some(counts)
}

/// The values of `level`, and the number of that of each slot: of all slots the first, if there are none. The last value is
/// that of rows without.
fn levels(c: &Columnizer) -> (Vec<Option<Arc<str>>>, Vec<u8>) {
    let not_told = (vec![None], Vec::new());
    if c.streams.names().any(|name| name == names::LEVEL) {
        return not_told;
    }
    let rows = c.times.len();
    let of_level = c.columns().iter().find(|column| column.name == names::LEVEL);
    let Some(column) = of_level.filter(|column| column.count > 0) else {
        return (vec![Some("".into())], Vec::new());
    };
    if column.form != Form::Dictionary || column.texts.len() > MAX_FEW_VALUES {
        return not_told;
    }
    let text = |code| {
        let text = std::str::from_utf8(column.texts.get(code)).ok()?;
        (text.len() <= MAX_FEW_VALUE_BYTES).then(|| Some(text.into()))
    };
    let Some(mut levels) = (0..column.texts.len()).map(text).collect::<Option<Vec<_>>>() else {
        return not_told;
    };
    let none = levels.len() as u8;
    if !column.is_dense(rows) {
        levels.push(Some("".into()));
    }
    let mut codes = column.codes.iter();
    let of_slot = (0..rows).map(|slot| {
        let code = if column.has(slot) { codes.next() } else { None };
        code.map_or(none, |code| *code as u8)
    });
    (levels, of_slot.collect())
}
