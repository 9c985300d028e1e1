//! Fields that pipes make of others, straight from columns to columns: what `stats` groups and computes then never is a row.
//!
//! Of constants and dictionaries, each combination of texts is looked at once.

use super::cells::cell;
use super::inputs::Known;
use super::made::{BySlot, CHARGED_FOR, MadeColumns, charge_for, merged};
use super::memory::Memory;
use super::numbers::{Numbers, append};
use super::open::{Open, plain_text};
use super::scan::CANCEL_INTERVAL_ROWS;
use crate::bitmap::Bitmap;
use crate::error::Result;
use crate::number::Number;
use crate::pipe::maker::{Made, MakeNumbers, Maker, Shortcut};
use crate::pipe::math::constant;
use crate::pipe::stats::Cell;
use duramen::ValueKind;
use duramen::block::LengthUnit;
use duramen::column::{Codes, Column, ColumnData, Kinds, Order};
use std::rc::Rc;
use std::sync::Arc;

/// The most combinations of texts that are made once each.
const MAX_COMBINATIONS: usize = 4096;

/// Puts the columns that a pipe makes of others in their place, for the rows that were found. If `stop` says so, it ends soon,
/// with columns that mean nothing. Where only numbers matter, they are `known` then, and there is no column. Gives how many
/// bytes of memory were charged for them; nothing, if only rows can tell what is made in this block.
pub(super) fn derive<'a>(
    maker: &mut Maker<'a>,
    open: &mut Open,
    found: &Bitmap,
    known: &mut Known<'a>,
    memory: &Memory,
    stop: &dyn Fn() -> bool,
) -> Result<duramen::Result<Option<usize>>> {
    if let (Some(Shortcut::Name { .. }), [read], [write]) =
        (maker.shortcut, &maker.reads[..], &maker.writes[..])
    {
        return Ok(open.name(read, write).map(|()| Some(0)));
    }
    if let Some(Shortcut::SameUnless(is_other)) = maker.shortcut {
        return same(&maker.reads, is_other, open, found, memory, stop);
    }
    Ok(derive_certain(maker, open, found, known, memory, stop)?.map(Some))
}

/// The same of one that is [certain](super::makers::are_certain).
fn derive_certain<'a>(
    maker: &mut Maker<'a>,
    open: &mut Open,
    found: &Bitmap,
    known: &mut Known<'a>,
    memory: &Memory,
    stop: &dyn Fn() -> bool,
) -> Result<duramen::Result<usize>> {
    if matches!(maker.shortcut, Some(Shortcut::Length))
        && !maker.keeps.is_any()
        && let ([read], [write]) = (&maker.reads[..], &maker.writes[..])
    {
        match open.lengths(read, LengthUnit::Bytes) {
            Ok(Some(lengths)) => {
                let bytes = lengths.bytes();
                memory.charge(bytes, CHARGED_FOR)?;
                open.put(write, lengths);
                return Ok(Ok(bytes));
            }
            Ok(None) => {}
            Err(e) => return Ok(Err(e)),
        }
    }
    if let (Some(make), [write], false) = (&maker.numbers, &maker.writes[..], maker.keeps.is_any()) {
        let bytes = size_of::<Option<Number>>() * found.len();
        memory.charge(bytes, CHARGED_FOR)?;
        return Ok(match numbers(make, &maker.reads, open, found, known, stop) {
            Ok(numbers) => {
                known.insert(write, Rc::new(numbers));
                Ok(bytes)
            }
            Err(e) => {
                memory.release(bytes);
                Err(e)
            }
        });
    }
    match by_text(maker, open, found, memory, stop)? {
        Ok(None) => {}
        Ok(Some(made)) => return put(maker, made, open, found, memory),
        Err(e) => return Ok(Err(e)),
    }
    let columns = maker.reads.iter().map(|name| open.column(name)).collect::<duramen::Result<Vec<_>>>();
    let columns = match columns {
        Ok(columns) => columns,
        Err(e) => return Ok(Err(e)),
    };
    let combinations =
        columns.iter().try_fold(1usize, |n, column| n.checked_mul(texts_of(column.as_deref())?));
    let made = match combinations.filter(|&n| n <= MAX_COMBINATIONS && 4 * n <= found.count()) {
        Some(n) => by_combination(maker, &columns, n, found, memory)?,
        None => by_row(maker, &columns, found, memory, stop)?,
    };
    put(maker, made, open, found, memory)
}

/// Makes texts of the values of these fields, if none is such.
fn same(
    names: &[&str],
    is_other: fn(&str) -> bool,
    open: &mut Open,
    found: &Bitmap,
    memory: &Memory,
    stop: &dyn Fn() -> bool,
) -> Result<duramen::Result<Option<usize>>> {
    let mut charged = 0;
    for name in names {
        let column = match open.column(name) {
            Ok(Some(column)) => column,
            Ok(None) => continue,
            Err(e) => {
                memory.release(charged);
                return Ok(Err(e));
            }
        };
        if any(&column, found, is_other, stop) {
            memory.release(charged);
            return Ok(Ok(None));
        }
        if !matches!(column.kinds, Kinds::All(ValueKind::String)) {
            charged += column.bytes();
            // Rows need less room.
            if memory.charge(column.bytes(), CHARGED_FOR).is_err() {
                memory.release(charged);
                return Ok(Ok(None));
            }
            let kinds = Kinds::All(ValueKind::String);
            open.put(name, Arc::new(Column { kinds, ..(*column).clone() }));
        }
    }
    Ok(Ok(Some(charged)))
}

/// Whether one of a column's texts may be such, of which integers and fractions are none; or there is no time to look at all.
fn any(column: &Column, found: &Bitmap, is_such: fn(&str) -> bool, stop: &dyn Fn() -> bool) -> bool {
    match &column.data {
        ColumnData::Const(text) => is_such(text),
        ColumnData::Dict { values, .. } => values.iter().any(is_such),
        ColumnData::Int { .. } | ColumnData::Decimal { .. } => false,
        ColumnData::Text { .. } => found.iter().enumerate().any(|(i, row)| {
            i % CANCEL_INTERVAL_ROWS == CANCEL_INTERVAL_ROWS - 1 && stop()
                || plain_text(column, column.slot(row)).is_some_and(is_such)
        }),
    }
}

/// The numbers made of these fields, some rows at a time.
fn numbers(
    make: &MakeNumbers<'_>,
    reads: &[&str],
    open: &mut Open,
    found: &Bitmap,
    known: &Known<'_>,
    stop: &dyn Fn() -> bool,
) -> duramen::Result<Numbers> {
    let read = |name: &&str| match known.get(name).cloned() {
        Some(numbers) => Ok((Some(numbers), None)),
        None => open.column(name).map(|column| (None, column)),
    };
    let read = reads.iter().map(read).collect::<duramen::Result<Vec<_>>>()?;
    let mut made = vec![None; found.len()];
    let mut numbers = vec![Vec::new(); read.len()];
    let (mut rows, mut some) = (found.iter(), Vec::with_capacity(CANCEL_INTERVAL_ROWS));
    loop {
        some.clear();
        some.extend(rows.by_ref().take(CANCEL_INTERVAL_ROWS));
        if some.is_empty() || stop() {
            return Ok(Numbers::made(made));
        }
        for ((known, column), numbers) in read.iter().zip(&mut numbers) {
            numbers.clear();
            let rows = some.iter().copied();
            match known {
                Some(known) => numbers.extend(rows.map(|row| known.get(row))),
                None => append(column.as_deref(), rows, constant, numbers),
            }
        }
        for (&row, number) in some.iter().zip(make(&numbers, some.len())) {
            made[row] = number;
        }
    }
}

/// Puts what was made in its place, where that is not taken. Gives how many bytes were charged for it.
fn put(
    maker: &Maker<'_>,
    (made, mut charged): MadeColumns,
    open: &mut Open,
    found: &Bitmap,
    memory: &Memory,
) -> Result<duramen::Result<usize>> {
    for (name, mut column) in maker.writes.iter().zip(made) {
        let own = if maker.keeps.is_any() { open.column(name) } else { Ok(None) };
        match own {
            Ok(None) => {}
            Ok(Some(own)) => {
                let (merged, bytes) = merged(maker.keeps, &own, &column, found, memory)?;
                (column, charged) = (merged, charged + bytes);
            }
            Err(e) => {
                memory.release(charged);
                return Ok(Err(e));
            }
        }
        open.put(name, Arc::new(column));
    }
    Ok(Ok(charged))
}

/// How many texts the rows of a column have, the empty one among them, if they are few.
fn texts_of(column: Option<&Column>) -> Option<usize> {
    match column.map(|column| &column.data) {
        None | Some(ColumnData::Const(_)) => Some(1),
        Some(ColumnData::Dict { values, .. }) => Some(values.len() + 1),
        Some(ColumnData::Int { .. } | ColumnData::Decimal { .. } | ColumnData::Text { .. }) => None,
    }
}

/// Columns of the values of each combination of texts, of which there are at most so many.
fn by_combination(
    maker: &mut Maker<'_>,
    columns: &[Option<Arc<Column>>],
    combinations: usize,
    found: &Bitmap,
    memory: &Memory,
) -> Result<MadeColumns> {
    let mut made = vec![Made::default(); maker.writes.len()];
    let mut code_of = vec![ColumnData::ABSENT; combinations];
    let mut codes = vec![ColumnData::ABSENT; found.len()];
    let mut values: Vec<Vec<(Box<str>, ValueKind)>> = vec![Vec::new(); made.len()];
    let (mut bytes, mut charged) = (0, 0);
    for row in found.iter() {
        let combination = columns.iter().flatten().fold(0, |all, column| match &column.data {
            ColumnData::Dict { values, codes } => {
                all * (values.len() + 1) + (codes.get(column.slot(row)) as usize).min(values.len())
            }
            _ => all,
        });
        let code = &mut code_of[combination];
        if *code == ColumnData::ABSENT {
            *code = values.first().map_or(0, Vec::len) as u32;
            (maker.make)(&|i| text(columns.get(i), row), &mut made);
            for (values, made) in values.iter_mut().zip(&mut made) {
                values.push((made.text().into(), made.kind()));
                bytes += size_of::<(Box<str>, ValueKind)>() + made.text().len();
            }
            charge_for(bytes, &mut charged, memory)?;
        }
        codes[row] = *code;
    }
    let column = |values: Vec<(Box<str>, ValueKind)>| {
        let first = values.first().map_or(ValueKind::String, |(_, kind)| *kind);
        let kinds = if values.iter().all(|(_, kind)| *kind == first) {
            Kinds::All(first)
        } else {
            let kind = |&code: &u32| values.get(code as usize).map_or(0, |(_, kind)| *kind as u8);
            Kinds::PerSlot(codes.iter().map(kind).collect())
        };
        let texts = values.len();
        let data = ColumnData::Dict {
            values: values.into_iter().map(|(text, _)| text).collect(),
            codes: Codes::new(texts, codes.iter().copied()),
        };
        Column { data, kinds, order: Order::Rows, rows: found.len() }
    };
    Ok((values.into_iter().map(column).collect(), charged))
}

/// A row's text, of a column that has no numbers as such.
fn text(column: Option<&Option<Arc<Column>>>, row: usize) -> &str {
    match cell(column.and_then(|column| column.as_deref()), row) {
        Cell::Text(text) => text,
        Cell::Int(_) | Cell::Decimal(..) => "",
    }
}

/// Columns of the values of each row.
fn by_row(
    maker: &mut Maker<'_>,
    columns: &[Option<Arc<Column>>],
    found: &Bitmap,
    memory: &Memory,
    stop: &dyn Fn() -> bool,
) -> Result<MadeColumns> {
    let mut by_slot = BySlot::new(maker.writes.len());
    // Numbers are written here; all other texts lie in their columns.
    let mut digits = vec![String::new(); columns.len()];
    for (i, row) in found.iter().enumerate() {
        if i % CANCEL_INTERVAL_ROWS == CANCEL_INTERVAL_ROWS - 1 && stop() {
            break;
        }
        for (column, digits) in columns.iter().zip(&mut digits) {
            let cell = cell(column.as_deref(), row);
            if !matches!(cell, Cell::Text(_)) {
                digits.clear();
                cell.with_text(|text| digits.push_str(text));
            }
        }
        let text_of = |i: usize| match (cell(columns.get(i).and_then(Option::as_deref), row), digits.get(i)) {
            (Cell::Text(text), _) => text,
            (Cell::Int(_) | Cell::Decimal(..), digits) => digits.map_or("", String::as_str),
        };
        by_slot.make(row, memory, |made| (maker.make)(&text_of, made))?;
    }
    Ok(by_slot.columns(&Order::Rows, found.len()))
}

/// The same of one field's texts, if the block looks through them without keeping them.
fn by_text(
    maker: &mut Maker<'_>,
    open: &mut Open,
    found: &Bitmap,
    memory: &Memory,
    stop: &dyn Fn() -> bool,
) -> Result<duramen::Result<Option<MadeColumns>>> {
    let [name] = maker.reads[..] else { return Ok(Ok(None)) };
    if !open.may_look_through(name, found) {
        return Ok(Ok(None));
    }
    match open.block.rows_with(name) {
        // Rows without a text would be passed over.
        Ok(with) if with != Some(found.len()) => return Ok(Ok(None)),
        Ok(_) => {}
        Err(e) => return Ok(Err(e)),
    }
    let mut by_slot = BySlot::new(maker.writes.len());
    let (mut seen, mut is_stopped, mut made) = (0, false, Ok(()));
    let mut see = |slot: usize, text: &str| {
        seen += 1;
        is_stopped |= seen % CANCEL_INTERVAL_ROWS == 0 && stop();
        if !is_stopped && made.is_ok() {
            made = by_slot.make(slot, memory, |made| (maker.make)(&|_| text, made));
        }
    };
    match open.look_through(name, found, maker.start, &mut see) {
        Ok(None) => Ok(Ok(None)),
        Ok(Some(order)) => {
            made?;
            Ok(Ok(Some(by_slot.columns(&order, found.len()))))
        }
        Err(e) => {
            by_slot.forget(memory);
            Ok(Err(e))
        }
    }
}
