//! Some slots of a block, those of a few rows: what of a column is decoded for them, and where it then lies.

use crate::column::{Column, FewSlots, Order, bit, set_bits};
use crate::error::Result;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The slots of a few rows, numbered from 0.
pub(super) struct Wanted {
    few: Arc<FewSlots>,
    /// Where each lies among the slots of all rows, ascending.
    places: Vec<u32>,
    /// Columns with these slots that others refer to.
    referenced: RefCell<BTreeMap<usize, Arc<Column>>>,
}

/// What of a column lies in such slots.
pub(super) struct InColumn {
    /// Which of its values, ascending.
    pub(super) values: Vec<u32>,
    /// Which slots have one; `None`: all.
    pub(super) map: Option<Vec<u64>>,
}

impl Wanted {
    /// Of these rows, one bit each, of `count`; nothing if there are none.
    pub(super) fn new(rows: &[u64], count: usize, order: &Order) -> Option<Self> {
        let rows: Vec<u32> = set_bits(rows).take_while(|&row| (row as usize) < count).collect();
        let mut places: Vec<u32> = rows.iter().map(|&row| order.slot(row as usize) as u32).collect();
        if rows.is_empty() {
            return None;
        }
        let few = Arc::new(FewSlots::new(rows, &places));
        places.sort_unstable();
        Some(Self { few, places, referenced: RefCell::default() })
    }

    /// How many slots there are.
    pub(super) fn slots(&self) -> usize {
        self.places.len()
    }

    /// How rows lead to them.
    pub(super) fn order(&self) -> Order {
        Order::Few(self.few.clone())
    }

    /// Where they lie among the slots of all rows, ascending.
    pub(super) fn places(&self) -> &[u32] {
        &self.places
    }

    /// What of a column with this map lies in them.
    pub(super) fn in_column(&self, map: Option<&Vec<u64>>) -> InColumn {
        let Some(map) = map else { return InColumn { values: self.places.clone(), map: None } };
        let mut has = vec![0u64; self.slots().div_ceil(64)];
        let mut values = Vec::with_capacity(self.slots());
        let (mut word, mut before) = (0, 0);
        for (slot, &place) in self.places.iter().enumerate() {
            let place = place as usize;
            if !bit(map, place) {
                continue;
            }
            while word < place / 64 {
                before += map[word].count_ones();
                word += 1;
            }
            values.push(before + (map[word] & !(u64::MAX << (place % 64))).count_ones());
            has[slot / 64] |= 1 << (slot % 64);
        }
        InColumn { values, map: Some(has) }
    }

    /// The time of each slot's row, of the times of all rows.
    pub(super) fn times(&self, times: &[i64]) -> Vec<i64> {
        let mut by_slot = vec![0; self.slots()];
        self.few.iter().for_each(|(row, slot)| by_slot[slot] = times[row]);
        by_slot
    }

    /// The column that another refers to, made once.
    pub(super) fn referenced(&self, of: usize, make: impl FnOnce() -> Result<Column>) -> Result<Arc<Column>> {
        if let Some(column) = self.referenced.borrow().get(&of) {
            return Ok(column.clone());
        }
        let column = Arc::new(make()?);
        self.referenced.borrow_mut().insert(of, column.clone());
        Ok(column)
    }
}
