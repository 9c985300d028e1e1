//! From an entry's number to its sequence number and back: the first one's is kept, and where there is a gap.
//!
//! A writer's records leave none. What was recovered past damage does, and so does whoever takes sequence numbers
//! without writing.

use crate::lsm::memtable::append_list::AppendList;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Debug)]
pub(super) struct Seqs {
    /// Of entry 0.
    first: AtomicU64,
    /// For each gap: the number of the entry behind it, and its sequence number.
    gaps: OnceLock<AppendList>,
    /// What follows. The writer's.
    next: AtomicU64,
}

impl Seqs {
    pub(super) fn new() -> Self {
        Self { first: AtomicU64::new(0), gaps: OnceLock::new(), next: AtomicU64::new(0) }
    }

    /// Entry `number`, which is about to be shown to readers, has this one. `most`: how many entries there can be.
    #[inline]
    pub(super) fn add(&self, number: u32, seq: u64, most: usize) {
        if self.next.load(Ordering::Relaxed) != seq {
            self.jump(number, seq, most);
        }
        self.next.store(seq.wrapping_add(1), Ordering::Relaxed);
    }

    #[cold]
    fn jump(&self, number: u32, seq: u64, most: usize) {
        if number == 0 {
            self.first.store(seq, Ordering::Relaxed);
            return;
        }
        let gaps = self.gaps.get_or_init(|| AppendList::new(most * 2));
        gaps.push(u64::from(number));
        gaps.push(seq);
    }

    pub(super) fn bytes(&self) -> usize {
        self.gaps.get().map_or(0, AppendList::bytes)
    }

    /// Of an entry that the caller has seen.
    #[inline]
    pub(super) fn of(&self, number: u32) -> u64 {
        let number = u64::from(number);
        match self.gaps.get() {
            None => self.first.load(Ordering::Relaxed).wrapping_add(number),
            Some(gaps) => {
                let runs = Runs { first: self.first.load(Ordering::Relaxed), gaps, count: gaps.len() / 2 };
                let run = runs.get(runs.find(|run| run.number <= number));
                run.seq.wrapping_add(number - run.number)
            }
        }
    }

    /// How many entries are not newer than `seq`; may say too many where there are no entries yet.
    pub(super) fn count_through(&self, seq: u64) -> u32 {
        let first = self.first.load(Ordering::Relaxed);
        let through =
            |seq: u64, run: Run| seq.saturating_add(1).saturating_sub(run.seq).saturating_add(run.number);
        let count = match self.gaps.get() {
            None => through(seq, Run { number: 0, seq: first }),
            Some(gaps) => {
                let runs = Runs { first, gaps, count: gaps.len() / 2 };
                let nth = runs.find(|run| run.seq <= seq);
                let count = through(seq, runs.get(nth));
                // It may lie in the gap behind the run.
                if nth < runs.count { count.min(runs.get(nth + 1).number) } else { count }
            }
        };
        count.min(u64::from(u32::MAX)) as u32
    }
}

/// Entries without a gap between them, up to the next run: the first one's number and sequence number.
#[derive(Clone, Copy)]
struct Run {
    number: u64,
    seq: u64,
}

/// Run 0, and one behind each of `count` gaps.
struct Runs<'a> {
    first: u64,
    gaps: &'a AppendList,
    count: usize,
}

impl Runs<'_> {
    fn get(&self, nth: usize) -> Run {
        match nth.checked_sub(1) {
            None => Run { number: 0, seq: self.first },
            Some(gap) => Run { number: self.gaps.get(gap * 2), seq: self.gaps.get(gap * 2 + 1) },
        }
    }

    /// The last run for which `holds`, which it does for those before it; or run 0.
    fn find(&self, holds: impl Fn(Run) -> bool) -> usize {
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            if holds(self.get(middle)) {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        low
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_sequence_numbers_match_across_gaps() {
        let all = [5, 6, 7, 20, 21, 22, 23, 24, 30, 41, 42, 1000];
        for count in 1..=all.len() {
            let seqs = Seqs::new();
            for (number, seq) in (0..).zip(&all[..count]) {
                seqs.add(number, *seq, 100);
            }
            for (number, seq) in (0..).zip(&all[..count]) {
                assert_eq!(seqs.of(number), *seq);
            }
            for seq in 0..1002 {
                let expected = all[..count].iter().filter(|s| **s <= seq).count() as u32;
                assert_eq!(seqs.count_through(seq).min(count as u32), expected, "{count} {seq}");
            }
            assert!(seqs.count_through(u64::MAX) >= count as u32);
        }
    }
}
