//! Values that pipes make of a block's rows, one after another, as columns.

use super::cells::{has_value, named};
use super::memory::Memory;
use crate::bitmap::Bitmap;
use crate::error::{Error, Result};
use crate::pipe::maker::Made;
use crate::pipe::stats::Cell;
use crate::pipe::writes::Writes;
use duramen::ValueKind;
use duramen::column::{Column, ColumnData, IntText, Ints, Kinds, Order};

/// What memory is charged for.
pub(super) const CHARGED_FOR: &str = "what pipes make of a block";

/// The columns that a pipe makes of a block, and how many bytes of memory were charged for them.
pub(super) type MadeColumns = (Vec<Column>, usize);

/// Memory is charged for in steps of this.
const CHARGED_BYTES: usize = 64 << 10;

/// Charges for values that take so many bytes, of which some are `charged` for.
pub(super) fn charge_for(bytes: usize, charged: &mut usize, memory: &Memory) -> Result<()> {
    if bytes > *charged + CHARGED_BYTES {
        memory.charge(bytes - *charged, CHARGED_FOR)?;
        *charged = bytes;
    }
    if bytes > u32::MAX as usize {
        // Where each text ends is 32 bits.
        return Err(Error::MemoryLimit { limit_bytes: u32::MAX as usize, what: CHARGED_FOR });
    }
    Ok(())
}

/// What rows have of a field of which some values stay as they are, and the others are those that a pipe made; and how many bytes
/// were charged for it.
pub(super) fn merged(
    keeps: Writes,
    own: &Column,
    made: &Column,
    found: &Bitmap,
    memory: &Memory,
) -> Result<(Column, usize)> {
    let (first, second) = if keeps.keep_original { (own, made) } else { (made, own) };
    let (mut values, mut made, mut charged) = (Values::default(), Made::default(), 0);
    for row in found.iter() {
        let value = named("", Some(if has_value(first, row) { first } else { second }), row);
        match value.cell {
            Cell::Int(n) if value.kind == ValueKind::Number => made.set_int(n),
            cell => cell.with_text(|text| made.start(value.kind).push_str(text)),
        }
        values.push(row, &mut made);
        charge_for(values.bytes(), &mut charged, memory)?;
    }
    Ok((values.column(&Order::Rows, found.len()), charged))
}

/// What a pipe makes, slot by slot.
pub(super) struct BySlot {
    made: Vec<Made>,
    values: Vec<Values>,
    charged: usize,
}

impl BySlot {
    pub(super) fn new(writes: usize) -> Self {
        Self { made: vec![Made::default(); writes], values: vec![Values::default(); writes], charged: 0 }
    }

    /// Has what belongs in a slot made, which comes after those before.
    pub(super) fn make(
        &mut self,
        slot: usize,
        memory: &Memory,
        make: impl FnOnce(&mut [Made]),
    ) -> Result<()> {
        let Self { made, values, charged } = self;
        make(made);
        values.iter_mut().zip(made).for_each(|(values, made)| values.push(slot, made));
        let bytes: usize = values.iter().map(Values::bytes).sum();
        charge_for(bytes, charged, memory)
    }

    /// The columns of a block of so many rows, and how many bytes were charged for them.
    pub(super) fn columns(self, order: &Order, rows: usize) -> MadeColumns {
        let columns = self.values.into_iter().map(|values| values.column(order, rows));
        (columns.collect(), self.charged)
    }

    /// Gives back what was charged for it.
    pub(super) fn forget(self, memory: &Memory) {
        memory.release(self.charged);
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
