//! Fields that pipes make of others, straight from columns to columns: what `stats` groups and computes then never is a row.
//!
//! Of constants and dictionaries, each combination of texts is looked at once.

use super::cells::cell;
use super::inputs::Known;
use super::memory::Memory;
use super::numbers::Numbers;
use super::open::{Open, STREAM_ID};
use super::scan::CANCEL_INTERVAL_ROWS;
use crate::bitmap::Bitmap;
use crate::error::{Error, Result};
use crate::number::Number;
use crate::pipe::Pipe;
use crate::pipe::maker::{Made, MakeNumber, Maker, Texts};
use crate::pipe::math::constant;
use crate::pipe::stats::{Aggregate, Cell, Function};
use duramen::ValueKind;
use duramen::block::names;
use duramen::column::{Codes, Column, ColumnData, IntText, Ints, Kinds, Order};
use std::rc::Rc;
use std::sync::Arc;

/// The most combinations of texts that are made once each.
const MAX_COMBINATIONS: usize = 4096;

/// What memory is charged for.
const CHARGED_FOR: &str = "what pipes make of a block";

/// The columns that a pipe makes of a block, and how many bytes of memory were charged for them.
type MadeColumns = (Vec<Column>, usize);

/// Memory is charged for in steps of this.
const CHARGED_BYTES: usize = 64 << 10;

/// The pipes' makers, if what `stats` does behind them can be done with columns.
pub(super) fn makers<'p>(pipes: &'p [Pipe], aggregate: &Aggregate) -> Option<Vec<Maker<'p>>> {
    let is_plain = |maker: &Maker<'_>| {
        let is_own = |name: &&str| matches!(*name, names::TIME | names::STREAM | STREAM_ID);
        !maker.keeps.is_any() && !maker.writes.iter().any(is_own)
    };
    let makers: Vec<_> = pipes.iter().map(Pipe::makers).collect::<Option<_>>()?;
    let mut makers: Vec<_> = makers.into_iter().flatten().collect();
    if !makers.iter().all(is_plain) {
        return None;
    }
    // Who looks at all fields, or at rows by a filter, would look at those of the block.
    let is_named = |f: &Function| f.condition.is_none() && f.fields.iter().all(|field| !field.prefix);
    if !aggregate.functions.iter().all(is_named) {
        return None;
    }
    for i in (0..makers.len()).rev() {
        let (before, behind) = makers.split_at_mut(i + 1);
        if let Some(Maker { writes, number, .. }) = before.last_mut()
            && !writes.iter().all(|name| only_numbers_matter(name, behind, aggregate))
        {
            *number = None;
        }
    }
    Some(makers)
}

/// Whether nobody wants to know more of what is made under this name than which number it is.
fn only_numbers_matter(name: &str, behind: &[Maker<'_>], aggregate: &Aggregate) -> bool {
    let wants_texts = |maker: &Maker<'_>| {
        maker.number.is_none() && (maker.reads.contains(&name) || maker.writes.contains(&name))
    };
    let is_right = |function: &Function| {
        let is_of_it = function.fields.iter().any(|field| *field.name == *name);
        let is_sorted_by_it = function.sort.iter().any(|(field, _)| **field == *name);
        !is_sorted_by_it && (!is_of_it || function.looks_at_numbers())
    };
    !behind.iter().any(wants_texts)
        && !aggregate.by.iter().any(|by| *by.field == *name)
        && aggregate.functions.iter().all(is_right)
}

/// Puts the columns that a pipe makes of others in their place, for the rows that were found. If `stop` says so, it ends soon,
/// with columns that mean nothing. Where only numbers matter, they are `known` then, and there is no column. Gives how many
/// bytes of memory were charged for them.
pub(super) fn derive<'a>(
    maker: &mut Maker<'a>,
    open: &mut Open,
    found: &Bitmap,
    known: &mut Known<'a>,
    memory: &Memory,
    stop: &dyn Fn() -> bool,
) -> Result<duramen::Result<usize>> {
    if maker.is_length
        && let ([read], [write]) = (&maker.reads[..], &maker.writes[..])
    {
        match open.lengths(read) {
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
    if let (Some(number), [write]) = (&maker.number, &maker.writes[..]) {
        let bytes = size_of::<Option<Number>>() * found.len();
        memory.charge(bytes, CHARGED_FOR)?;
        return Ok(match numbers(number, &maker.reads, open, found, known, stop) {
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
        Ok(Some((made, bytes))) => {
            put(maker, made, open);
            return Ok(Ok(bytes));
        }
        Err(e) => return Ok(Err(e)),
    }
    let columns = maker.reads.iter().map(|name| open.column(name)).collect::<duramen::Result<Vec<_>>>();
    let columns = match columns {
        Ok(columns) => columns,
        Err(e) => return Ok(Err(e)),
    };
    let combinations =
        columns.iter().try_fold(1usize, |n, column| n.checked_mul(texts_of(column.as_deref())?));
    let (made, bytes) = match combinations.filter(|&n| n <= MAX_COMBINATIONS && 4 * n <= found.count()) {
        Some(n) => by_combination(maker, &columns, n, found, memory)?,
        None => by_row(maker, &columns, found, memory, stop)?,
    };
    put(maker, made, open);
    Ok(Ok(bytes))
}

/// The numbers made of these fields, row by row.
fn numbers(
    number: &MakeNumber<'_>,
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
    let number_at = |i: usize, row: usize| match read.get(i)? {
        (Some(numbers), _) => numbers.get(row),
        (None, column) => match cell(column.as_deref(), row) {
            Cell::Text(text) => constant(text),
            cell => cell.number(),
        },
    };
    let mut made = vec![None; found.len()];
    for (i, row) in found.iter().enumerate() {
        if i % CANCEL_INTERVAL_ROWS == CANCEL_INTERVAL_ROWS - 1 && stop() {
            break;
        }
        made[row] = number(&|i| number_at(i, row));
    }
    Ok(Numbers::made(made))
}

/// Puts what was made in its place.
fn put(maker: &Maker<'_>, made: Vec<Column>, open: &mut Open) {
    for (name, column) in maker.writes.iter().zip(made) {
        open.put(name, Arc::new(column));
    }
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

/// Charges for values that take so many bytes, of which some are `charged` for.
fn charge_for(bytes: usize, charged: &mut usize, memory: &Memory) -> Result<()> {
    if bytes > *charged + CHARGED_BYTES {
        memory.charge(bytes - *charged, CHARGED_FOR)?;
        *charged = bytes;
    }
    Ok(())
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
        by_slot.make(maker, row, &text_of, memory)?;
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
            made = by_slot.make(maker, slot, &|_| text, memory);
        }
    };
    match open.look_through(name, found, &mut see) {
        Ok(None) => Ok(Ok(None)),
        Ok(Some(order)) => {
            made?;
            Ok(Ok(Some(by_slot.columns(&order, found.len()))))
        }
        Err(e) => {
            memory.release(by_slot.charged);
            Ok(Err(e))
        }
    }
}

/// What a pipe makes, slot by slot.
struct BySlot {
    made: Vec<Made>,
    values: Vec<Values>,
    charged: usize,
}

impl BySlot {
    fn new(writes: usize) -> Self {
        Self { made: vec![Made::default(); writes], values: vec![Values::default(); writes], charged: 0 }
    }

    /// Makes what belongs in a slot, which comes after those before.
    fn make(
        &mut self,
        maker: &mut Maker<'_>,
        slot: usize,
        text_of: &Texts<'_>,
        memory: &Memory,
    ) -> Result<()> {
        let Self { made, values, charged } = self;
        (maker.make)(text_of, made);
        values.iter_mut().zip(made).for_each(|(values, made)| values.push(slot, made));
        let bytes: usize = values.iter().map(Values::bytes).sum();
        charge_for(bytes, charged, memory)?;
        if bytes > u32::MAX as usize {
            // Where each text ends is 32 bits.
            let limit_bytes = u32::MAX as usize;
            return Err(Error::MemoryLimit { limit_bytes, what: CHARGED_FOR });
        }
        Ok(())
    }

    /// The columns of a block of so many rows, and how many bytes were charged for them.
    fn columns(self, order: &Order, rows: usize) -> MadeColumns {
        let columns = self.values.into_iter().map(|values| values.column(order, rows));
        (columns.collect(), self.charged)
    }
}

/// Values that are made row by row: integers, as long as all are.
#[derive(Clone, Debug, Default)]
struct Values {
    ints: Vec<i64>,
    texts: Option<(String, Vec<u32>)>,
    /// The kind of all.
    kind: Option<ValueKind>,
    /// That of each, once they differ.
    kinds: Option<Vec<u8>>,
}

impl Values {
    fn bytes(&self) -> usize {
        let texts = self.texts.as_ref().map_or(0, |(text, ends)| text.len() + 4 * ends.len());
        8 * self.ints.len() + texts + self.kinds.as_ref().map_or(0, Vec::len)
    }

    /// The value of a slot; those before it that have none are not looked at.
    fn push(&mut self, slot: usize, made: &mut Made) {
        self.fill(slot);
        let kind = made.kind();
        let common = *self.kind.get_or_insert(kind);
        if common != kind && self.kinds.is_none() {
            self.kinds = Some(vec![common as u8; slot]);
        }
        if let Some(kinds) = &mut self.kinds {
            kinds.push(kind as u8);
        }
        if self.texts.is_none() {
            if let Some(n) = made.int() {
                self.ints.push(n);
                return;
            }
            self.ints_to_texts();
        }
        if let Some((text, ends)) = &mut self.texts {
            text.push_str(made.text());
            ends.push(text.len() as u32);
        }
    }

    /// Gives the slots before this one some value.
    fn fill(&mut self, slot: usize) {
        match &mut self.texts {
            None => self.ints.resize(slot, 0),
            Some((text, ends)) => ends.resize(slot, text.len() as u32),
        }
        if let Some(kinds) = &mut self.kinds {
            kinds.resize(slot, ValueKind::String as u8);
        }
    }

    fn ints_to_texts(&mut self) {
        let (mut text, mut digits) = (String::new(), IntText::default());
        let mut end = |n: i64| {
            text.push_str(digits.format(n));
            text.len() as u32
        };
        let ends = std::mem::take(&mut self.ints).into_iter().map(&mut end).collect();
        self.texts = Some((text, ends));
    }

    fn column(mut self, order: &Order, rows: usize) -> Column {
        self.fill(rows);
        let common = Kinds::All(self.kind.unwrap_or(ValueKind::String));
        let kinds = self.kinds.map_or(common, Kinds::PerSlot);
        let data = match self.texts {
            None => ColumnData::Int { values: Ints::new(self.ints), present: None },
            Some((text, ends)) => ColumnData::Text { text, ends, present: None },
        };
        Column { data, kinds, order: order.clone(), rows }
    }
}
