//! Many cursors as one.
//!
//! A binary heap holds the sources that are at a version, the one whose version comes first on top. Each keeps the
//! first bytes of its key as a number, so most comparisons touch no key. The best of the others is known as well:
//! as long as the top stays before it, which it mostly does, a step is one comparison.
//!
//! All sources stand on the same side of the present version: at what follows it when going forward, at what
//! precedes it when going back. To turn round, the others seek.
//!
//! The same version twice (a WAL that was replayed over a table which already holds it) counts once: the first
//! source's.

use super::key::prefix16;
use crate::Result;
use crate::kv::OpKind;
use crate::lsm::cursor::Cursor;
use std::cmp::Ordering;

/// Merges cursors. With one it costs next to nothing.
#[derive(Debug)]
pub(crate) struct MergeCursor<C = Box<dyn Cursor>> {
    sources: Vec<C>,
    /// The sources that are at a version, as a heap. Empty if this cursor is nowhere.
    heap: Vec<Head>,
    /// The child of the heap's top that comes first: 1 or 2, where there may be none.
    second: usize,
    reverse: bool,
    scratch: Vec<u8>,
}

/// Where a source is.
#[derive(Clone, Copy, Debug)]
struct Head {
    prefix: u128,
    seq: u64,
    source: usize,
}

impl<C: Cursor> MergeCursor<C> {
    /// Of these sources; where two hold the same version, the first one's is taken.
    pub(crate) fn new(sources: Vec<C>) -> Self {
        let heap = Vec::with_capacity(sources.len());
        Self { sources, heap, second: 1, reverse: false, scratch: Vec::new() }
    }

    #[inline]
    fn head(&self, source: usize) -> Head {
        let cursor = &self.sources[source];
        Head { prefix: prefix16(cursor.key()), seq: cursor.seq(), source }
    }

    /// The order of the versions themselves.
    #[inline]
    fn order(&self, a: &Head, b: &Head) -> Ordering {
        let keys = a.prefix.cmp(&b.prefix);
        if keys != Ordering::Equal {
            return keys;
        }
        let keys = self.sources[a.source].key().cmp(self.sources[b.source].key());
        keys.then(b.seq.cmp(&a.seq))
    }

    /// Whether `a` is nearer to the top, in the direction of travel.
    #[inline]
    fn is_before(&self, a: &Head, b: &Head) -> bool {
        let order = self.order(a, b);
        let order = if self.reverse { order.reverse() } else { order };
        order.then(a.source.cmp(&b.source)) == Ordering::Less
    }

    /// Moves every source, then begins in this direction.
    fn start(&mut self, reverse: bool, mut seek: impl FnMut(&mut C) -> Result<()>) -> Result<()> {
        self.heap.clear();
        self.reverse = reverse;
        for source in &mut self.sources {
            seek(source)?;
        }
        self.build();
        Ok(())
    }

    fn build(&mut self) {
        self.heap.clear();
        for source in 0..self.sources.len() {
            if self.sources[source].valid() {
                let head = self.head(source);
                self.heap.push(head);
            }
        }
        for at in (0..self.heap.len() / 2).rev() {
            self.sift_down(at);
        }
        self.find_second();
    }

    fn sift_down(&mut self, mut at: usize) {
        let Some(&head) = self.heap.get(at) else { return };
        while let Some(left) = self.heap.get(2 * at + 1) {
            let mut child = 2 * at + 1;
            let mut best = *left;
            if let Some(right) = self.heap.get(child + 1)
                && self.is_before(right, left)
            {
                child += 1;
                best = *right;
            }
            if !self.is_before(&best, &head) {
                break;
            }
            self.heap[at] = best;
            at = child;
        }
        self.heap[at] = head;
    }

    fn find_second(&mut self) {
        self.second = match (self.heap.get(1), self.heap.get(2)) {
            (Some(left), Some(right)) if self.is_before(right, left) => 2,
            _ => 1,
        };
    }

    /// Moves one source of the heap on.
    fn step(&mut self, at: usize) -> Result<()> {
        let source = self.heap[at].source;
        let cursor = &mut self.sources[source];
        let moved = if self.reverse { cursor.prev() } else { cursor.next() };
        if moved.is_err() {
            self.heap.clear();
            return moved;
        }
        if self.sources[source].valid() {
            if self.heap.len() == 1 {
                return Ok(());
            }
            self.heap[at] = self.head(source);
            if at == 0 && !self.is_before(&self.heap[self.second], &self.heap[0]) {
                return Ok(());
            }
        } else {
            self.heap.swap_remove(at);
        }
        // What takes the place of a removed head comes from further down, so it need never rise.
        self.sift_down(at);
        self.find_second();
        Ok(())
    }

    /// Moves past the present version, in the present direction.
    #[inline]
    fn advance(&mut self) -> Result<()> {
        while let (Some(top), Some(second)) = (self.heap.first(), self.heap.get(self.second)) {
            if top.seq != second.seq || self.order(top, second) != Ordering::Equal {
                break;
            }
            self.step(self.second)?;
        }
        if self.heap.is_empty() { Ok(()) } else { self.step(0) }
    }

    /// Brings the other sources to the other side of the present version.
    #[cold]
    fn turn(&mut self) -> Result<()> {
        self.reverse = !self.reverse;
        let Some(top) = self.heap.first().copied() else { return Ok(()) };
        if self.sources.len() == 1 {
            return Ok(());
        }
        let mut key = std::mem::take(&mut self.scratch);
        key.clear();
        key.extend_from_slice(self.sources[top.source].key());
        // Not the head's: it is not kept up while there is no other.
        let (reverse, seq) = (self.reverse, self.sources[top.source].seq());
        let mut turned = Ok(());
        for (nth, source) in self.sources.iter_mut().enumerate() {
            if nth != top.source && turned.is_ok() {
                turned = if reverse { source.seek_before(&key, seq) } else { source.seek(&key, seq) };
            }
        }
        self.scratch = key;
        match turned {
            Ok(()) => self.build(),
            Err(_) => self.heap.clear(),
        }
        turned
    }

    #[inline]
    fn top(&self) -> &C {
        &self.sources[self.heap[0].source]
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
        !self.heap.is_empty()
    }

    #[inline]
    fn key(&self) -> &[u8] {
        self.top().key()
    }

    #[inline]
    fn seq(&self) -> u64 {
        self.top().seq()
    }

    #[inline]
    fn kind(&self) -> OpKind {
        self.top().kind()
    }

    #[inline]
    fn value(&self) -> &[u8] {
        self.top().value()
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
