//! Which values were there before, where they are few.

use super::NamedColumns;
use duramen::column::ColumnData;

/// The most bits that say which values were seen in which group.
const MAX_SEEN_BITS: usize = 1 << 20;

/// Which combinations of values of a block's columns, all constants or dictionaries, were seen in which group.
pub(super) struct Seen {
    combinations: usize,
    bits: Vec<u64>,
}

impl Seen {
    pub(super) fn new(columns: &NamedColumns) -> Option<Self> {
        let combinations =
            columns.iter().try_fold(1usize, |n, (_, column)| match column.as_ref().map(|c| &c.data) {
                None | Some(ColumnData::Const(_)) => Some(n),
                Some(ColumnData::Dict { values, .. }) => n.checked_mul(values.len() + 1),
                Some(ColumnData::Int { .. } | ColumnData::Decimal { .. } | ColumnData::Text { .. }) => None,
            })?;
        (combinations <= MAX_SEEN_BITS).then(|| Self { combinations, bits: Vec::new() })
    }

    /// Whether a row's values were not seen in the group before, as far as that is known.
    pub(super) fn is_new(&mut self, columns: &NamedColumns, row: usize, group: usize) -> bool {
        let place =
            columns.iter().filter_map(|(_, column)| column.as_deref()).fold(0, |place, column| match &column
                .data
            {
                ColumnData::Dict { values, codes } => {
                    place * (values.len() + 1) + (codes.get(column.slot(row)) as usize).min(values.len())
                }
                _ => place,
            });
        let place = group.saturating_mul(self.combinations).saturating_add(place);
        if place >= MAX_SEEN_BITS {
            return true;
        }
        if place / 64 >= self.bits.len() {
            self.bits.resize(place / 64 + 1, 0);
        }
        let (word, bit) = (&mut self.bits[place / 64], 1 << (place % 64));
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }

    /// Forgets all: groups have other numbers now.
    pub(super) fn clear(&mut self) {
        self.bits.clear();
    }
}
