//! A column in memory: one field of every row of a block, however it was stored.
//!
//! Rows are in time order. Values may lie in another order (rows of one stream together, as they are
//! stored); [`Column::slot`] leads from the row to the value. Whoever looks at every value does so in the
//! order of the data (each constant or dictionary entry once) and asks for slots only of rows that matter.

use crate::decimal::MAX_TEXT_BYTES;
pub use crate::decimal::Scale;
pub use crate::narrow::{Codes, Ints, Narrow};
pub use crate::strings::Strings;
use crate::value::ValueKind;
use std::sync::Arc;

/// One field of every row of a block.
#[derive(Clone, Debug)]
pub struct Column {
    /// The values.
    pub data: ColumnData,
    /// What kind the values are.
    pub kinds: Kinds,
    /// How rows lead to slots. Means nothing for [`ColumnData::Const`].
    pub order: Order,
    /// How many rows there are.
    pub rows: usize,
}

/// How rows lead to slots.
#[derive(Clone, Debug, Default)]
pub enum Order {
    /// Each row's slot is its own number.
    #[default]
    Rows,
    /// The slot of each row.
    Slots(Arc<Vec<u32>>),
    /// Only some rows have one.
    Few(Arc<FewSlots>),
}

impl Order {
    /// The slot of a row; any slot, for a row that has none.
    pub fn slot(&self, row: usize) -> usize {
        match self {
            Self::Rows => row,
            Self::Slots(order) => order[row] as usize,
            Self::Few(few) => few.slot(row),
        }
    }
}

impl From<Option<Arc<Vec<u32>>>> for Order {
    fn from(order: Option<Arc<Vec<u32>>>) -> Self {
        order.map_or(Self::Rows, Self::Slots)
    }
}

/// The slots of some rows of a block, numbered from 0.
#[derive(Debug)]
pub struct FewSlots {
    rows: Vec<u32>,
    slots: Vec<u32>,
}

impl FewSlots {
    /// Of ascending rows, at least one, whose values lie at these places among those of all rows.
    pub(crate) fn new(rows: Vec<u32>, places: &[u32]) -> Self {
        let mut by_place: Vec<u32> = (0..rows.len() as u32).collect();
        if places.is_sorted() {
            return Self { rows, slots: by_place };
        }
        by_place.sort_unstable_by_key(|&i| places[i as usize]);
        let mut slots = vec![0; rows.len()];
        for (slot, &i) in (0..).zip(&by_place) {
            slots[i as usize] = slot;
        }
        Self { rows, slots }
    }

    /// Of ascending rows, and the slot of each.
    pub(crate) fn with_slots(rows: Vec<u32>, slots: Vec<u32>) -> Self {
        Self { rows, slots }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.slots.len()
    }

    /// The rows, ascending, and the slot of each.
    pub fn iter(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.rows.iter().zip(&self.slots).map(|(&row, &slot)| (row as usize, slot as usize))
    }

    fn slot(&self, row: usize) -> usize {
        let row = row as u32;
        // Rows of a span of time follow one another.
        let guess = row.wrapping_sub(self.rows.first().copied().unwrap_or_default()) as usize;
        let found =
            if self.rows.get(guess) == Some(&row) { Ok(guess) } else { self.rows.binary_search(&row) };
        found.map_or(0, |i| self.slots[i] as usize)
    }
}

/// The values of a column. A *slot* is the position of a value in here.
#[derive(Clone, Debug)]
pub enum ColumnData {
    /// The same text in every row; every row has it.
    Const(Box<str>),
    /// Texts that many slots have. The code in a slot is [`ColumnData::ABSENT`] or an index into `values`.
    Dict {
        /// The texts; mostly each once, but that is not sure. There may be some that no slot has.
        values: Strings,
        /// One code a slot.
        codes: Codes,
    },
    /// Integers whose text is plain decimal: no leading zeros, no plus sign, no `-0`.
    Int {
        /// One integer a slot; any where absent.
        values: Ints,
        /// One bit a slot, least significant first, set where the row has the field; `None`: all have.
        present: Option<Vec<u64>>,
    },
    /// Numbers whose text is a plain decimal fraction.
    Decimal {
        /// One integer a slot, so many times too large as the scale says; any where absent.
        values: Ints,
        /// How the integers stand for the numbers.
        scale: Scale,
        /// As for `Int`.
        present: Option<Vec<u64>>,
    },
    /// Any texts. The text of slot `s` is `text[ends[s - 1]..ends[s]]` (from 0 for the first).
    Text {
        /// All texts, one after another.
        text: String,
        /// Where each ends.
        ends: Vec<u32>,
        /// As for `Int`.
        present: Option<Vec<u64>>,
    },
}

/// The kinds of a column's values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kinds {
    /// One kind in every row that has the field.
    All(ValueKind),
    /// One kind a slot (by the number of [`ValueKind`]), for columns that mix them.
    PerSlot(Vec<u8>),
}

impl Kinds {
    /// The kind of the value in a slot.
    pub fn at(&self, slot: usize) -> ValueKind {
        match self {
            Self::All(kind) => *kind,
            Self::PerSlot(kinds) => {
                kinds.get(slot).and_then(|&k| ValueKind::from_u8(k)).unwrap_or(ValueKind::String)
            }
        }
    }
}

impl ColumnData {
    /// The code of a row without the field.
    pub const ABSENT: u32 = u32::MAX;
}

/// Whether bit `i` of a presence map is set.
pub fn bit(map: &[u64], i: usize) -> bool {
    map.get(i / 64).is_some_and(|word| word >> (i % 64) & 1 == 1)
}

/// The numbers of the bits that are set.
pub(crate) fn set_bits(words: &[u64]) -> impl Iterator<Item = u32> {
    (0..).step_by(64).zip(words).flat_map(|(start, &word)| {
        std::iter::successors(Some(word), |word| Some(word & word.wrapping_sub(1)))
            .take_while(|&word| word != 0)
            .map(move |word| start + word.trailing_zeros())
    })
}

/// Sets the bits `from..to` of a presence map, as far as it reaches.
pub fn set_range(map: &mut [u64], from: usize, to: usize) {
    for (i, word) in map.iter_mut().enumerate().take(to.div_ceil(64)).skip(from / 64) {
        let (first, end) = (from.saturating_sub(i * 64), (to - i * 64).min(64));
        *word |= (u64::MAX << first) & (u64::MAX >> (64 - end));
    }
}

impl Column {
    /// About how many bytes it takes in memory.
    pub fn bytes(&self) -> usize {
        let order = match &self.order {
            Order::Rows => 0,
            Order::Slots(order) => order.len() * 4,
            Order::Few(few) => few.count() * 8,
        };
        order
            + match &self.data {
                ColumnData::Const(text) => text.len(),
                ColumnData::Dict { values, codes } => codes.bytes() + values.bytes(),
                ColumnData::Int { values, .. } | ColumnData::Decimal { values, .. } => values.bytes(),
                ColumnData::Text { text, ends, .. } => text.len() + ends.len() * 4,
            }
    }

    /// The slot of a row's value.
    pub fn slot(&self, row: usize) -> usize {
        self.order.slot(row)
    }

    /// The text in a slot, `None` where the row does not have the field. `buf` holds the digits of numbers.
    pub fn text_at<'a>(&'a self, slot: usize, buf: &'a mut IntText) -> Option<&'a str> {
        match &self.data {
            ColumnData::Const(text) => Some(text),
            ColumnData::Dict { values, codes } => values.get(codes.get(slot) as usize),
            ColumnData::Int { values, present } => {
                present.as_ref().is_none_or(|p| bit(p, slot)).then(|| buf.format(values.get(slot)))
            }
            ColumnData::Decimal { values, scale, present } => present
                .as_ref()
                .is_none_or(|p| bit(p, slot))
                .then(|| buf.format_decimal(values.get(slot), *scale)),
            ColumnData::Text { text, ends, present } => {
                if present.as_ref().is_some_and(|p| !bit(p, slot)) {
                    return None;
                }
                let start = if slot == 0 { 0 } else { ends[slot - 1] as usize };
                text.get(start..ends[slot] as usize)
            }
        }
    }

    /// The text of a row's value: [`Column::text_at`] of its slot.
    pub fn text<'a>(&'a self, row: usize, buf: &'a mut IntText) -> Option<&'a str> {
        self.text_at(self.slot(row), buf)
    }

    /// The kind of the value in a slot.
    pub fn kind_at(&self, slot: usize) -> ValueKind {
        self.kinds.at(slot)
    }
}

/// Room for the decimal digits of a number.
#[derive(Clone, Default)]
pub struct IntText(itoa::Buffer, [u8; MAX_TEXT_BYTES]);

impl IntText {
    /// The decimal text of `n`.
    pub fn format(&mut self, n: i64) -> &str {
        self.0.format(n)
    }

    /// The text of the decimal fraction that `n` stands for.
    pub fn format_decimal(&mut self, n: i64, scale: Scale) -> &str {
        scale.write(n, &mut self.1)
    }
}

impl std::fmt::Debug for IntText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("IntText")
    }
}

#[cfg(test)]
mod tests {
    use super::{FewSlots, bit, set_range};

    #[test]
    fn few_rows_lead_to_their_slots() {
        let whole: Vec<u32> = (100..140).collect();
        let gaps = vec![3, 4, 9, 10, 11, 500];
        for rows in [whole, gaps, vec![0], vec![u32::MAX]] {
            for places in [
                rows.clone(),
                rows.iter().rev().copied().collect(),
                rows.iter().map(|row| row.wrapping_mul(0x9e37_79b1)).collect(),
            ] {
                let few = FewSlots::new(rows.clone(), &places);
                let mut sorted = places.clone();
                sorted.sort_unstable();
                for (&row, place) in rows.iter().zip(&places) {
                    assert_eq!(sorted[few.slot(row as usize)], *place, "{row} of {rows:?}");
                }
                for none in [1, 5, 99, 140, 501] {
                    assert!(
                        rows.contains(&none) || few.slot(none as usize) == 0,
                        "any slot will do, but there must be one"
                    );
                }
            }
        }
    }

    #[test]
    fn ranges_of_bits_are_set() {
        for (from, to) in
            [(0, 0), (0, 1), (3, 64), (63, 65), (64, 128), (5, 200), (199, 200), (70, 70), (0, 256), (9, 3)]
        {
            let mut bits = vec![0u64; 4];
            set_range(&mut bits, from, to);
            for i in 0..256 {
                assert_eq!(bit(&bits, i), (from..to).contains(&i), "{i} of {from}..{to}");
            }
        }
        let mut bits = [0];
        set_range(&mut bits, 60, 70);
        assert_eq!(bits, [0xf << 60], "as far as it reaches");
    }
}
