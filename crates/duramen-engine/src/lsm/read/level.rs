//! The tables of a level as one cursor: they do not overlap, so one of them is open at a time.

use super::coverage::Covered;
use crate::Result;
use crate::kv::{OpKind, Run};
use crate::lsm::cursor::Cursor;

/// Tables in the order of their keys, none overlapping the next.
pub(crate) trait LevelTables: Send {
    /// Goes through one table.
    type Table: Cursor;
    /// How many tables there are.
    fn len(&self) -> usize;
    /// The table's smallest key, or something smaller that is not below the table before.
    fn min_key(&self, table: usize) -> &[u8];
    /// The table's largest key, or something larger that is not above the table that follows.
    fn max_key(&self, table: usize) -> &[u8];
    /// The newest sequence number in the table, or a newer one.
    fn max_seq(&self, table: usize) -> u64;
    /// Begins to read a table.
    fn open(&self, table: usize) -> Result<Self::Table>;
}

/// Goes through the tables of a level, one after the other. The last that it was in stays open until it enters
/// another.
#[derive(Debug)]
pub(crate) struct LevelCursor<L: LevelTables> {
    tables: L,
    open: Option<(usize, L::Table)>,
    /// Whether the open table's cursor is at a version. Nowhere otherwise.
    valid: bool,
}

impl<L: LevelTables> LevelCursor<L> {
    /// Of these tables. Nothing is opened yet.
    pub(crate) fn new(tables: L) -> Self {
        Self { tables, open: None, valid: false }
    }

    /// Goes to the first version that `seek` finds in this table or one after it (before it, in reverse).
    fn find(
        &mut self,
        mut table: usize,
        reverse: bool,
        mut seek: impl FnMut(&mut L::Table) -> Result<()>,
    ) -> Result<()> {
        self.valid = false;
        while table < self.tables.len() {
            let mut cursor = match self.open.take() {
                Some((open, cursor)) if open == table => cursor,
                other => {
                    drop(other);
                    self.tables.open(table)?
                }
            };
            seek(&mut cursor)?;
            self.valid = cursor.valid();
            self.open = Some((table, cursor));
            if self.valid {
                return Ok(());
            }
            // Below the first table it wraps round, which ends it.
            table = if reverse { table.wrapping_sub(1) } else { table + 1 };
        }
        Ok(())
    }

    /// The number of tables for which this holds; it holds for the first so many.
    fn partition_point(&self, holds: impl Fn(&L, usize) -> bool) -> usize {
        let (mut from, mut to) = (0, self.tables.len());
        while from < to {
            let middle = from + (to - from) / 2;
            if holds(&self.tables, middle) { from = middle + 1 } else { to = middle }
        }
        from
    }

    #[inline]
    fn step(&mut self, reverse: bool) -> Result<()> {
        let Some((table, cursor)) = &mut self.open else { return Ok(()) };
        let moved = if reverse { cursor.prev() } else { cursor.next() };
        self.valid = moved.is_ok() && cursor.valid();
        if self.valid || moved.is_err() {
            return moved;
        }
        let table = *table;
        if reverse {
            self.find(table.wrapping_sub(1), true, Cursor::seek_to_last)
        } else {
            self.find(table + 1, false, Cursor::seek_to_first)
        }
    }

    #[inline]
    fn table(&self) -> Option<&L::Table> {
        self.open.as_ref().map(|(_, cursor)| cursor)
    }
}

impl<L: LevelTables> Cursor for LevelCursor<L> {
    fn seek_to_first(&mut self) -> Result<()> {
        self.find(0, false, Cursor::seek_to_first)
    }

    fn seek_to_last(&mut self) -> Result<()> {
        self.find(self.tables.len().wrapping_sub(1), true, Cursor::seek_to_last)
    }

    fn seek(&mut self, key: &[u8], seq: u64) -> Result<()> {
        // Where one table may end with the key that the next begins with, it is the next one that has it.
        let after = self.partition_point(|tables, nth| tables.min_key(nth) <= key);
        let is_in_last = after > 0 && self.tables.max_key(after - 1) >= key;
        self.find(after - usize::from(is_in_last), false, |cursor| cursor.seek(key, seq))
    }

    fn seek_before(&mut self, key: &[u8], seq: u64) -> Result<()> {
        let after = self.partition_point(|tables, nth| tables.min_key(nth) <= key);
        self.find(after.wrapping_sub(1), true, |cursor| cursor.seek_before(key, seq))
    }

    #[inline]
    fn next(&mut self) -> Result<()> {
        self.step(false)
    }

    #[inline]
    fn prev(&mut self) -> Result<()> {
        self.step(true)
    }

    fn take_run(&mut self, seq: u64, below: Option<&[u8]>, run: &mut Run) -> bool {
        self.open.as_mut().filter(|_| self.valid).is_some_and(|(_, cursor)| cursor.take_run(seq, below, run))
    }

    fn leave(&mut self, covered: &Covered<'_>, reverse: bool) -> Result<bool> {
        let Some((present, cursor)) = self.open.as_ref().filter(|_| self.valid) else { return Ok(false) };
        if self.tables.max_seq(*present) >= covered.seq || !covered.contains(cursor.key()) {
            return Ok(false);
        }
        // Tables that lie within the covered keys altogether need not even be opened.
        let is_old = |table: usize| self.tables.max_seq(table) < covered.seq;
        let mut table = *present;
        if reverse {
            while table > 0 && is_old(table) && covered.start <= self.tables.min_key(table) {
                table -= 1;
            }
            let is_old = is_old(table);
            self.find(table, true, |cursor| {
                if is_old { cursor.seek_before(covered.start, u64::MAX) } else { cursor.seek_to_last() }
            })?;
        } else {
            while table + 1 < self.tables.len() && is_old(table) && self.tables.max_key(table) < covered.end {
                table += 1;
            }
            let is_old = is_old(table);
            self.find(table, false, |cursor| {
                if is_old { cursor.seek(covered.end, u64::MAX) } else { cursor.seek_to_first() }
            })?;
        }
        Ok(true)
    }

    #[inline]
    fn valid(&self) -> bool {
        self.valid
    }

    #[inline]
    fn key(&self) -> &[u8] {
        self.table().map_or(&[], Cursor::key)
    }

    #[inline]
    fn seq(&self) -> u64 {
        self.table().map_or(0, Cursor::seq)
    }

    #[inline]
    fn kind(&self) -> OpKind {
        self.table().map_or(OpKind::Delete, Cursor::kind)
    }

    #[inline]
    fn value(&self) -> &[u8] {
        self.table().map_or(&[], Cursor::value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;
    use crate::lsm::read::VecCursor;
    use crate::lsm::read::model::{any_key, any_moves, assert_same, present};
    use proptest::prelude::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    type Versions = Vec<(Vec<u8>, u64, OpKind, Vec<u8>)>;

    /// Tables in memory, that count how many are open.
    struct MemoryTables {
        tables: Vec<(Vec<u8>, Vec<u8>, VecCursor)>,
        open: Arc<AtomicUsize>,
        broken: Option<usize>,
    }

    struct Open(VecCursor, Arc<AtomicUsize>);

    impl Drop for Open {
        fn drop(&mut self) {
            self.1.fetch_sub(1, Relaxed);
        }
    }

    impl Cursor for Open {
        fn seek_to_first(&mut self) -> Result<()> {
            self.0.seek_to_first()
        }
        fn seek_to_last(&mut self) -> Result<()> {
            self.0.seek_to_last()
        }
        fn seek(&mut self, key: &[u8], seq: u64) -> Result<()> {
            self.0.seek(key, seq)
        }
        fn seek_before(&mut self, key: &[u8], seq: u64) -> Result<()> {
            self.0.seek_before(key, seq)
        }
        fn next(&mut self) -> Result<()> {
            self.0.next()
        }
        fn prev(&mut self) -> Result<()> {
            self.0.prev()
        }
        fn valid(&self) -> bool {
            self.0.valid()
        }
        fn key(&self) -> &[u8] {
            self.0.key()
        }
        fn seq(&self) -> u64 {
            self.0.seq()
        }
        fn kind(&self) -> OpKind {
            self.0.kind()
        }
        fn value(&self) -> &[u8] {
            self.0.value()
        }
    }

    impl LevelTables for MemoryTables {
        type Table = Open;
        fn len(&self) -> usize {
            self.tables.len()
        }
        fn min_key(&self, table: usize) -> &[u8] {
            &self.tables[table].0
        }
        fn max_key(&self, table: usize) -> &[u8] {
            &self.tables[table].1
        }
        fn max_seq(&self, table: usize) -> u64 {
            self.tables[table].2.max_seq()
        }
        fn open(&self, table: usize) -> Result<Open> {
            if self.broken == Some(table) {
                return Err(Error::InvalidArgument("broken".into()));
            }
            assert_eq!(self.open.fetch_add(1, Relaxed), 0, "one table open at a time");
            Ok(Open(self.tables[table].2.clone(), Arc::clone(&self.open)))
        }
    }

    /// Cuts versions at these keys. Every other table claims all keys from one cut to the next, as one with deleted
    /// ranges at its ends may, some of them having no version at all.
    fn tables_of(versions: &Versions, mut cuts: Vec<Vec<u8>>) -> MemoryTables {
        cuts.push(vec![255; 3]);
        cuts.sort();
        cuts.dedup();
        let mut from = Vec::new();
        let mut tables = Vec::new();
        for (nth, to) in cuts.into_iter().enumerate() {
            let within: Versions = versions.iter().filter(|v| from <= v.0 && v.0 < to).cloned().collect();
            let ends = (from, to.clone());
            let (min, max) = match (within.first(), within.last()) {
                (Some(first), Some(last)) if nth % 2 == 0 => (first.0.clone(), last.0.clone()),
                _ => ends,
            };
            tables.push((min, max, VecCursor::new(within)));
            from = to;
        }
        MemoryTables { tables, open: Arc::default(), broken: None }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        #[test]
        fn tables_are_as_one(
            keys in prop::collection::vec((any_key(), 1..9u64), 0..50),
            cuts in prop::collection::vec(any_key(), 0..8),
            moves in any_moves(9),
        ) {
            let mut versions: Versions = keys.into_iter().map(|(key, seq)| (key, seq, OpKind::Put, vec![seq as u8])).collect();
            versions.sort();
            versions.dedup();
            let mut level = LevelCursor::new(tables_of(&versions, cuts));
            assert_same(&mut level, &mut VecCursor::new(versions), &moves);
        }
    }

    proptest! {
        #[test]
        fn covered_keys_are_left_table_by_table(
            keys in prop::collection::vec((0..16u8, 1..4u64), 1..50),
            cuts in prop::collection::vec((0..16u8).prop_map(|key| vec![key]), 0..8),
            at in 0..16u8,
            covered in (0..16u8, 1..16u8, 1..10u64),
            reverse: bool,
        ) {
            let mut versions: Versions = keys.into_iter().map(|(key, seq)| (vec![key], seq, OpKind::Put, vec![])).collect();
            versions.sort();
            versions.dedup();
            let (start, end) = ([covered.0], [covered.0 + covered.1]);
            let covered = Covered { start: &start, end: &end, seq: covered.2 };
            let mut level = LevelCursor::new(tables_of(&versions, cuts));
            let mut model = VecCursor::new(versions.clone());
            for cursor in [&mut level as &mut dyn Cursor, &mut model] {
                if reverse { cursor.seek_before(&[at], 0).unwrap() } else { cursor.seek(&[at], u64::MAX).unwrap() }
            }
            let before = present(&model);
            let moved = level.leave(&covered, reverse).unwrap();
            let after = present(&level);
            prop_assert!(moved || after == before);
            // What it jumps over was covered, and older.
            while present(&model) != after {
                prop_assert!(moved && covered.contains(model.key()) && model.seq() < covered.seq);
                if reverse { model.prev().unwrap() } else { model.next().unwrap() }
            }
            let all_old = versions.iter().all(|version| version.1 < covered.seq);
            prop_assert!(!all_old || !level.valid() || !covered.contains(level.key()));
        }
    }

    #[test]
    fn the_end_of_the_covered_keys_is_not_left_though_it_ends_a_table() {
        let versions: Versions = (0..30u8).map(|n| (vec![n], 1, OpKind::Put, Vec::new())).collect();
        for (start, end) in [(3, 9), (3, 10), (0, 29), (3, 8), (10, 20)] {
            let covered = Covered { start: &[start], end: &[end], seq: 2 };
            let mut level = LevelCursor::new(tables_of(&versions, vec![vec![10], vec![20]]));
            level.seek(&[start], u64::MAX).unwrap();
            assert!(level.leave(&covered, false).unwrap());
            assert_eq!(level.key(), [end]);
            level.prev().unwrap();
            assert!(level.leave(&covered, true).unwrap());
            assert_eq!(
                level.valid().then(|| level.key()),
                start.checked_sub(1).as_ref().map(std::slice::from_ref)
            );
        }
    }

    #[test]
    fn a_table_that_cannot_be_opened_is_an_error_and_the_others_can_be_read() {
        let versions: Versions =
            (0..30u8).map(|n| (vec![n], u64::from(n) + 1, OpKind::Put, Vec::new())).collect();
        let mut tables = tables_of(&versions, vec![vec![10], vec![20]]);
        tables.broken = Some(1);
        let mut level = LevelCursor::new(tables);
        level.seek(&[9], u64::MAX).unwrap();
        assert_eq!(level.key(), [9]);
        assert!(level.next().is_err());
        assert!(!level.valid());
        assert!(level.seek(&[15], u64::MAX).is_err());
        level.seek(&[21], u64::MAX).unwrap();
        level.prev().unwrap();
        assert_eq!(level.key(), [20]);
        assert!(level.prev().is_err());
        level.seek_before(&[5], 0).unwrap();
        assert_eq!(level.key(), [5]);
    }

    #[test]
    fn a_level_without_tables_has_nothing() {
        let mut level = LevelCursor::new(tables_of(&Vec::new(), Vec::new()));
        for step in [Cursor::seek_to_first, Cursor::seek_to_last] {
            step(&mut level).unwrap();
            assert!(!level.valid());
        }
        let mut empty =
            LevelCursor::new(MemoryTables { tables: Vec::new(), open: Arc::default(), broken: None });
        empty.seek_to_last().unwrap();
        assert!(!empty.valid());
        empty.seek_before(b"k", 3).unwrap();
        assert!(!empty.valid());
    }
}
