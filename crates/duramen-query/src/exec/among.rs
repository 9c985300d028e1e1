//! Which of some rows match, told slot by slot.

use super::open::is_few;
use crate::bitmap::Bitmap;
use duramen::column::{Ints, Narrow, Order, bit};
use std::ops::RangeInclusive;

/// How many rows go by between two looks at whether to stop: some tests take microseconds.
pub(super) const STOP_INTERVAL_ROWS: usize = 1024;

/// From the smallest to the greatest of the values, if that is much fewer than are to be looked at.
pub(super) fn range_of_few(values: &Ints, rows: usize) -> Option<RangeInclusive<i64>> {
    let (min, max) = values.range();
    (max.checked_sub(min).filter(|_| min <= max)? < (rows / 8) as i64).then_some(min..=max)
}

/// Candidates, whose values lie in the slots of a column in this order; nobody looks further once `stop` says so.
pub(super) struct Among<'a> {
    pub(super) candidates: &'a Bitmap,
    pub(super) order: &'a Order,
    pub(super) stop: &'a dyn Fn() -> bool,
}

impl Among<'_> {
    /// Those whose slots match.
    pub(super) fn one_by_one(&self, matches: impl FnMut(usize) -> bool) -> Bitmap {
        // The order is found out once, and not for each row.
        match self.order {
            Order::Rows => self.keep(|row| row, matches),
            Order::Slots(order) => self.keep(|row| order[row] as usize, matches),
            Order::Few(_) => self.keep(|row| self.order.slot(row), matches),
        }
    }

    /// Those for whose number the table says yes; of a number that is not in it, and of slots without a value, which
    /// `present` tells, `absent` says it.
    pub(super) fn by_numbers(
        &self,
        numbers: &Narrow,
        table: &[bool],
        present: Option<&[u64]>,
        absent: bool,
    ) -> Bitmap {
        let passes = |number: usize| table.get(number).copied().unwrap_or(absent);
        match numbers {
            Narrow::U8(numbers) => self.of_present(present, absent, |slot| passes(numbers[slot].into())),
            Narrow::U16(numbers) => self.of_present(present, absent, |slot| passes(numbers[slot].into())),
            Narrow::U32(numbers) => self.of_present(present, absent, |slot| passes(numbers[slot] as usize)),
        }
    }

    /// Those whose slots match; where some have no value, `absent` says whether those do.
    fn of_present(&self, present: Option<&[u64]>, absent: bool, matches: impl Fn(usize) -> bool) -> Bitmap {
        let Some(present) = present else { return self.by_table(matches) };
        if !matches!(self.order, Order::Rows) {
            return self.by_table(|slot| if bit(present, slot) { matches(slot) } else { absent });
        }
        let present = Bitmap::from_words(present.to_vec(), self.candidates.len());
        let mut with = self.candidates.clone();
        with.intersect(&present);
        let mut found = Among { candidates: &with, ..*self }.by_table(matches);
        if absent {
            let mut without = self.candidates.clone();
            without.subtract(&present);
            found.union(&without);
        }
        found
    }

    /// The same for a test that is a look into a table. Where slots are rows, it is cheaper to make it of 64 rows at a
    /// time, without a jump, than to go from one candidate to the next.
    fn by_table(&self, matches: impl Fn(usize) -> bool) -> Bitmap {
        if !matches!(self.order, Order::Rows) || is_few(self.candidates) {
            return self.one_by_one(matches);
        }
        let rows = self.candidates.len();
        let mut words = Vec::with_capacity(rows.div_ceil(64));
        for (start, &of) in (0..rows).step_by(64).zip(self.candidates.words()) {
            if start % STOP_INTERVAL_ROWS == 0 && (self.stop)() {
                break;
            }
            let pass =
                (start..rows.min(start + 64)).rev().fold(0, |word, row| word << 1 | u64::from(matches(row)));
            words.push(pass & of);
        }
        Bitmap::from_words(words, rows)
    }

    fn keep(&self, slot: impl Fn(usize) -> usize, mut matches: impl FnMut(usize) -> bool) -> Bitmap {
        let mut found = Bitmap::none(self.candidates.len());
        for (i, row) in self.candidates.iter().enumerate() {
            if i % STOP_INTERVAL_ROWS == STOP_INTERVAL_ROWS - 1 && (self.stop)() {
                break;
            }
            if matches(slot(row)) {
                found.insert(row);
            }
        }
        found
    }
}
