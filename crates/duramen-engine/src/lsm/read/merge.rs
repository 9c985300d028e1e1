//! Many cursors as one.
//!
//! The source whose version comes first is the top; the others wait in a binary heap. Each has a [`Head`], so that
//! most comparisons touch no key. As long as the top stays before the first of the others, which it mostly does, a
//! step is one comparison.
//!
//! All sources stand on the same side of the present version: at what follows it when going forward, at what
//! precedes it when going back. To turn round, the others seek.
//!
//! The same version twice (a WAL that was replayed over a table which already holds it) counts once: the first
//! source's.

use super::coverage::Covered;
use super::head::Head;
use crate::Result;
use crate::kv::{OpKind, Run};
use crate::lsm::cursor::Cursor;
use std::cmp::Ordering;

/// Merges cursors. With one it costs next to nothing.
#[derive(Debug)]
pub(crate) struct MergeCursor<C = Box<dyn Cursor>> {
    sources: Vec<C>,
    /// Where this cursor is, if `valid`.
    top: Place,
    valid: bool,
    /// The other sources that are at a version, as a heap.
    others: Vec<Place>,
    reverse: bool,
    /// How often not to try for a run, since the last one was short.
    short_runs: u32,
    scratch: Vec<u8>,
}

/// Where sources take turns so often that a run has fewer entries than this, going entry by entry is faster, and it is
/// tried again only after some steps.
const SHORT_RUN: usize = 8;
const STEPS_AFTER_SHORT_RUN: u32 = 32;

/// Where a source is.
#[derive(Clone, Copy, Debug)]
struct Place {
    head: Head,
    source: usize,
}

impl<C: Cursor> MergeCursor<C> {
    /// Of these sources; where two hold the same version, the first one's is taken.
    pub(crate) fn new(sources: Vec<C>) -> Self {
        let others = Vec::with_capacity(sources.len().saturating_sub(1));
        let top = Place { head: Head::NONE, source: 0 };
        Self { sources, top, valid: false, others, reverse: false, short_runs: 0, scratch: Vec::new() }
    }

    /// The present version in short. Only while valid.
    #[inline]
    pub(crate) fn present(&self) -> &Head {
        &self.top.head
    }

    /// The order of the versions themselves.
    #[inline]
    fn order(&self, a: &Place, b: &Place) -> Ordering {
        let whole_keys = || self.sources[a.source].key().cmp(self.sources[b.source].key());
        let keys = a.head.cmp_keys(&b.head).unwrap_or_else(whole_keys);
        keys.then_with(|| b.head.seq.cmp(&a.head.seq))
    }

    /// Whether `a` is nearer to the top, in the direction of travel.
    #[inline]
    fn is_before(&self, a: &Place, b: &Place) -> bool {
        let order = self.order(a, b);
        let order = if self.reverse { order.reverse() } else { order };
        order.then_with(|| a.source.cmp(&b.source)) == Ordering::Less
    }

    /// Moves every source, then begins in this direction.
    fn start(&mut self, reverse: bool, mut seek: impl FnMut(&mut C) -> Result<()>) -> Result<()> {
        self.valid = false;
        self.reverse = reverse;
        for source in &mut self.sources {
            seek(source)?;
        }
        self.build();
        Ok(())
    }

    /// Orders the sources anew.
    fn build(&mut self) {
        self.others.clear();
        for (nth, source) in self.sources.iter().enumerate() {
            let mut place = Place { head: Head::NONE, source: nth };
            if source.head(&mut place.head) {
                self.others.push(place);
            }
        }
        for at in (0..self.others.len() / 2).rev() {
            self.sift_down(at);
        }
        self.take_top();
    }

    /// Makes the first of the others the top.
    fn take_top(&mut self) {
        self.valid = !self.others.is_empty();
        if self.valid {
            self.top = self.others.swap_remove(0);
            self.sift_down(0);
        }
    }

    fn sift_down(&mut self, mut at: usize) {
        let Some(&place) = self.others.get(at) else { return };
        while let Some(left) = self.others.get(2 * at + 1) {
            let right = self.others.get(2 * at + 2).filter(|right| self.is_before(right, left));
            let (child, first) = right.map_or((2 * at + 1, left), |right| (2 * at + 2, right));
            if !self.is_before(first, &place) {
                break;
            }
            self.others[at] = *first;
            at = child;
        }
        self.others[at] = place;
    }

    /// Moves past the present version, in the present direction.
    #[inline]
    fn advance(&mut self) -> Result<()> {
        // Only the same version twice has the same sequence number.
        if self.others.first().is_some_and(|other| other.head.seq == self.top.head.seq) {
            self.skip_same()?;
        }
        let source = &mut self.sources[self.top.source];
        let head = &mut self.top.head;
        let there = if self.reverse { source.prev_head(head) } else { source.next_head(head) };
        match there {
            Ok(true) => {
                if let Some(other) = self.others.first()
                    && self.is_before(other, &self.top)
                {
                    self.others[0] = std::mem::replace(&mut self.top, *other);
                    self.sift_down(0);
                }
                Ok(())
            }
            Ok(false) => {
                self.take_top();
                Ok(())
            }
            Err(error) => {
                self.valid = false;
                Err(error)
            }
        }
    }

    /// Moves other sources past the present version, where they hold it too.
    #[cold]
    fn skip_same(&mut self) -> Result<()> {
        while let Some(mut other) = self.others.first().copied() {
            if self.order(&other, &self.top) != Ordering::Equal {
                break;
            }
            let source = &mut self.sources[other.source];
            let there = if self.reverse {
                source.prev_head(&mut other.head)
            } else {
                source.next_head(&mut other.head)
            };
            match there {
                Ok(true) => self.others[0] = other,
                Ok(false) => _ = self.others.swap_remove(0),
                Err(error) => {
                    self.valid = false;
                    return Err(error);
                }
            }
            self.sift_down(0);
        }
        Ok(())
    }

    /// Brings the other sources to the other side of the present version.
    #[cold]
    fn turn(&mut self) -> Result<()> {
        self.reverse = !self.reverse;
        if self.sources.len() == 1 {
            return Ok(());
        }
        self.valid = false;
        let top = self.top;
        self.scratch.clear();
        self.scratch.extend_from_slice(self.sources[top.source].key());
        for (nth, source) in self.sources.iter_mut().enumerate() {
            if nth == top.source {
            } else if self.reverse {
                source.seek_before(&self.scratch, top.head.seq)?;
            } else {
                source.seek(&self.scratch, top.head.seq)?;
            }
        }
        self.build();
        Ok(())
    }

    fn take_run_of_top(&mut self, seq: u64, below: Option<&[u8]>, run: &mut Run) -> bool {
        let source = &mut self.sources[self.top.source];
        source.take_run(seq, below, run) && source.head(&mut self.top.head)
    }

    #[inline]
    fn top(&self) -> &C {
        &self.sources[self.top.source]
    }
}

impl<C: Cursor> Cursor for MergeCursor<C> {
    fn seek_to_first(&mut self) -> Result<()> {
        self.start(false, Cursor::seek_to_first)
    }

    fn seek_to_last(&mut self) -> Result<()> {
        self.start(true, Cursor::seek_to_last)
    }

    fn seek(&mut self, key: &[u8], seq: u64) -> Result<()> {
        self.start(false, |source| source.seek(key, seq))
    }

    fn seek_before(&mut self, key: &[u8], seq: u64) -> Result<()> {
        self.start(true, |source| source.seek_before(key, seq))
    }

    #[inline]
    fn next(&mut self) -> Result<()> {
        if self.reverse {
            self.turn()?;
        }
        self.advance()
    }

    #[inline]
    fn prev(&mut self) -> Result<()> {
        if !self.reverse {
            self.turn()?;
        }
        self.advance()
    }

    #[inline]
    fn valid(&self) -> bool {
        self.valid
    }

    #[inline]
    fn key(&self) -> &[u8] {
        self.top().key()
    }

    #[inline]
    fn seq(&self) -> u64 {
        self.top.head.seq
    }

    #[inline]
    fn kind(&self) -> OpKind {
        self.top.head.kind
    }

    #[inline]
    fn value(&self) -> &[u8] {
        self.top().value()
    }

    fn leave(&mut self, covered: &Covered<'_>, reverse: bool) -> Result<bool> {
        if reverse != self.reverse || !self.valid {
            return Ok(false);
        }
        self.valid = false;
        let mut moved = false;
        for source in &mut self.sources {
            moved |= source.leave(covered, reverse)?;
        }
        if moved {
            self.build();
        } else {
            self.valid = true;
        }
        Ok(moved)
    }

    fn take_run(&mut self, seq: u64, below: Option<&[u8]>, run: &mut Run) -> bool {
        if self.reverse || !self.valid {
            return false;
        }
        let Some(other) = self.others.first() else {
            return self.take_run_of_top(seq, below, run);
        };
        if self.short_runs > 0 {
            self.short_runs -= 1;
            return false;
        }
        // Up to where the next source comes in.
        let other = self.sources[other.source].key();
        let mut limit = std::mem::take(&mut self.scratch);
        limit.clear();
        limit.extend_from_slice(below.map_or(other, |below| below.min(other)));
        let taken = self.take_run_of_top(seq, Some(&limit), run);
        self.scratch = limit;
        if !taken || run.len() < SHORT_RUN {
            self.short_runs = STEPS_AFTER_SHORT_RUN;
        }
        taken
    }

    #[inline]
    fn head(&self, head: &mut Head) -> bool {
        *head = self.top.head;
        self.valid
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lsm::read::VecCursor;
    use crate::lsm::read::model::{Move, any_key, any_moves, assert_same, make};
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]
        #[test]
        fn many_cursors_are_as_one(
            versions in prop::collection::vec((any_key(), 1..12u64, 0..6usize), 0..60),
            moves in any_moves(12),
            sources in 1..7usize,
        ) {
            let mut all = BTreeMap::new();
            let mut parts = vec![BTreeMap::new(); sources];
            for (key, seq, source) in versions {
                let source = source % sources;
                let (at, value) = ((key, std::cmp::Reverse(seq)), vec![source as u8]);
                parts[source].insert(at.clone(), value.clone());
                all.entry(at).and_modify(|v: &mut Vec<u8>| *v = value.clone().min(v.clone())).or_insert(value);
            }
            let cursor = |versions: BTreeMap<(Vec<u8>, _), _>| {
                VecCursor::new(versions.into_iter().map(|((key, seq), value)| {
                    let seq: std::cmp::Reverse<u64> = seq;
                    (key, seq.0, OpKind::Put, value)
                }))
            };
            let mut merged = MergeCursor::new(parts.into_iter().map(cursor).collect());
            assert_same(&mut merged, &mut cursor(all), &moves);
        }

        #[test]
        fn after_an_error_it_is_nowhere_and_can_seek_again(
            keys in prop::collection::vec((any_key(), 0..3usize), 1..30),
            moves in any_moves(12),
            fails_after in 0..20usize,
        ) {
            let mut parts = vec![Vec::new(); 3];
            for (seq, (key, source)) in keys.into_iter().enumerate() {
                parts[source].push((key, seq as u64 + 1, OpKind::Put, Vec::new()));
            }
            let mut sources: Vec<_> = parts.into_iter().map(VecCursor::new).collect();
            sources[1] = sources[1].clone().failing(fails_after);
            let mut merged = MergeCursor::new(sources);
            let mut failed = false;
            for step in &moves {
                if make(&mut merged, step).is_err() {
                    failed = true;
                    prop_assert!(!merged.valid());
                    prop_assert!(matches!(step, Move::Next | Move::Prev) || merged.seek_to_first().is_err());
                }
                prop_assert!(!failed || !merged.valid());
            }
        }
    }

    #[test]
    fn of_no_cursors_there_is_nothing() {
        let mut merged = MergeCursor::<VecCursor>::new(Vec::new());
        merged.seek_to_first().unwrap();
        assert!(!merged.valid());
        merged.seek_before(b"a", 1).unwrap();
        assert!(!merged.valid());
    }
}
