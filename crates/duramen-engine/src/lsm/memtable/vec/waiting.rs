//! The newest entries, while the hash's memory for them is on its way.
//!
//! ```text
//! entries   … 91 92 93 94 | 95 96 97 98     98 is being inserted: the cache line of its slot is asked for
//! hash      … 91 92 93 94 |                 94 has just been given its slot, whose cache line was asked for
//! waiting                 | 95 96 97 98     when 94 was inserted, and has come meanwhile
//! ```
//!
//! The slot of a key lies anywhere in some megabytes: waiting for it took a third of an insert's time. Whoever looks for
//! a key looks at the few that wait first, newest first: all of them are newer than what the hash has.
//!
//! One writer, any number of readers, no locks. An entry is in the hash before another takes its place here, so a reader
//! that finds its place taken finds the entry in the hash.

use std::sync::atomic::{AtomicU64, Ordering};

/// How many wait: in the time of so many inserts, also those of a batch, memory answers.
pub(super) const WAITING: u32 = 4;

/// By entry number: its fingerprint, high 32 bits, and number + 1, low 32 bits; 0: nobody.
#[derive(Debug, Default)]
pub(super) struct Waiting([AtomicU64; WAITING as usize]);

/// Who waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Waiter {
    pub(super) number: u32,
    pub(super) fingerprint: u32,
}

impl Waiting {
    #[inline]
    fn place(&self, number: u32) -> &AtomicU64 {
        &self.0[(number % WAITING) as usize]
    }

    /// Who has the place that entry `number` is to take: give it its slot first. The writer's.
    #[inline]
    pub(super) fn before(&self, number: u32) -> Option<Waiter> {
        let word = self.place(number).load(Ordering::Relaxed);
        let number = (word as u32).checked_sub(1)?;
        Some(Waiter { number, fingerprint: (word >> 32) as u32 })
    }

    /// Lets an entry wait that is not shown to readers yet; without a fingerprint, nobody is in its place. The writer's.
    #[inline]
    pub(super) fn put(&self, number: u32, fingerprint: Option<u32>) {
        let word = fingerprint.map_or(0, |print| u64::from(print) << 32 | u64::from(number + 1));
        self.place(number).store(word, Ordering::Release);
    }

    /// Those of the first `len` entries that wait and have this fingerprint, newest first.
    #[inline]
    pub(super) fn newest_first(&self, len: u32, fingerprint: u32) -> impl Iterator<Item = u32> {
        (len.saturating_sub(WAITING)..len).rev().filter(move |&number| {
            let word = u64::from(fingerprint) << 32 | u64::from(number + 1);
            self.place(number).load(Ordering::Acquire) == word
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_few_wait_and_are_found_newest_first() {
        let waiting = Waiting::default();
        for number in 0..100u32 {
            let oldest = number.checked_sub(WAITING);
            // Every tenth deletes a range, and does not wait.
            let expected =
                oldest.filter(|n| n % 10 != 9).map(|number| Waiter { number, fingerprint: number % 2 });
            assert_eq!(waiting.before(number), expected);
            waiting.put(number, (number % 10 != 9).then_some(number % 2));
            for fingerprint in 0..3 {
                let found: Vec<u32> = waiting.newest_first(number + 1, fingerprint).collect();
                let there = (0..=number).rev().take(WAITING as usize);
                let there: Vec<u32> = there.filter(|n| n % 10 != 9 && n % 2 == fingerprint).collect();
                assert_eq!(found, there);
            }
        }
    }
}
