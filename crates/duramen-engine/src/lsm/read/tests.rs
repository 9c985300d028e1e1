//! A small tree of real tables, read as a whole: scans, and a compaction from tables to tables.

use super::model::{Source, Write, any_history, any_key, cut, read_at};
use super::*;
use crate::io::Env;
use crate::io::sim::Sim;
use crate::kv::Scan;
use crate::lsm::LsmOptions;
use crate::lsm::cursor::Cursor;
use crate::lsm::table::{TableCache, TableCursor, TableOptions, TableWriter};
use crate::lsm::version::{Obsolete, TableFacts, TableFile, Version};
use crate::manifest::TableMeta;
use proptest::prelude::*;
use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;

/// One memtable, tables of level 0, and level 1.
struct Tree {
    env: Env,
    cache: Arc<TableCache>,
    memtable: Source,
    version: Arc<Version>,
    tables_made: u64,
}

impl Tree {
    /// The newest source is the memtable, the oldest ones are compacted into level 1, the others are in level 0.
    fn new(
        history: &[Write],
        cuts: Vec<prop::sample::Index>,
        snapshots: &[u64],
        table_cuts: Vec<Vec<u8>>,
    ) -> Self {
        let env = Sim::new(7).env();
        let options = LsmOptions { env: env.clone(), ..LsmOptions::default() };
        let cache = Arc::new(TableCache::new(&options));
        let mut sources = cut(history, cuts);
        let memtable = sources.remove(0);
        let mut tree = Self { env, cache, memtable, version: Arc::default(), tables_made: 0 };
        let mut version = Version::default();
        let deep = sources.split_off(sources.len() / 2);
        version.levels[0] = sources.iter().filter_map(|source| tree.table(source, 0)).collect();
        let inputs: Vec<_> = deep.iter().filter_map(|source| tree.table(source, 0)).collect();
        version.levels[1] = tree.compact(&inputs, snapshots, table_cuts);
        tree.version = Arc::new(version);
        tree
    }

    /// Writes a source as a table, unless it is empty.
    fn table(&mut self, source: &Source, level: u8) -> Option<Arc<TableFile>> {
        if source.versions.is_empty() && source.tombstones.iter().all(|t| t.start >= t.end) {
            return None;
        }
        self.tables_made += 1;
        let path = format!("{}.sst", self.tables_made);
        let defaults = TableOptions::from(&LsmOptions::default());
        let options = TableOptions { block_size: 64, partition_bytes: 256, ..defaults };
        let mut writer = TableWriter::create(&self.env, Path::new(&path), &options).unwrap();
        let mut cursor = source.cursor();
        cursor.seek_to_first().unwrap();
        while cursor.valid() {
            writer.add(cursor.key(), cursor.seq(), cursor.kind(), cursor.value()).unwrap();
            cursor.next().unwrap();
        }
        for tombstone in source.range_tombstones().iter() {
            writer.add_range_tombstone(&tombstone).unwrap();
        }
        let written = writer.finish().unwrap();
        let facts = TableFacts { level, max_seq: written.max_seq, ..TableFacts::default() };
        let meta = TableMeta {
            number: self.tables_made,
            path,
            file_bytes: written.file_bytes,
            min_key: written.smallest,
            max_key: written.largest,
            user: facts.encode(),
            ..TableMeta::default()
        };
        Some(TableFile::new(Path::new(""), meta, &Arc::<Obsolete>::default()).unwrap())
    }

    fn tombstones(&self, table: &TableFile) -> Arc<RangeTombstones> {
        let listed = self.cache.reader(table).unwrap().range_tombstones().unwrap();
        Arc::new(RangeTombstones::new(&*listed))
    }

    /// Merges all there is into tables that begin at these keys.
    fn compact(
        &mut self,
        inputs: &[Arc<TableFile>],
        snapshots: &[u64],
        mut cuts: Vec<Vec<u8>>,
    ) -> Vec<Arc<TableFile>> {
        let cursors = inputs.iter().map(|table| self.cache.reader(table).unwrap().cursor(false)).collect();
        let listed: Vec<_> =
            inputs.iter().flat_map(|table| self.tombstones(table).iter().collect::<Vec<_>>()).collect();
        let tombstones = Arc::new(RangeTombstones::new(&listed));
        let survivors = surviving_tombstones(&tombstones, snapshots, true);
        let merged: MergeCursor<TableCursor> = MergeCursor::new(cursors);
        let mut kept = CompactionIter::new(
            FromStart::new(merged),
            snapshots.to_vec(),
            tombstones,
            true,
            |_: &[u8]| false,
        );
        cuts.sort();
        cuts.dedup();
        let mut outputs = vec![Source::default(); cuts.len() + 1];
        while kept.advance().unwrap() {
            let output = cuts.partition_point(|cut| cut.as_slice() <= kept.key());
            let version = (kept.key().to_vec(), kept.seq(), kept.kind(), kept.value().to_vec());
            outputs[output].versions.push(version);
        }
        for (nth, output) in outputs.iter_mut().enumerate() {
            let (from, to) =
                (nth.checked_sub(1).map(|n| cuts[n].as_slice()), cuts.get(nth).map(Vec::as_slice));
            output.tombstones = survivors.iter().filter_map(|tombstone| clip(tombstone, from, to)).collect();
        }
        outputs.iter().filter_map(|output| self.table(output, 1)).collect()
    }

    fn scan(&self, seq: u64, reverse: bool) -> Scan {
        let open = |table: Arc<TableCache>| move |file: &Arc<TableFile>| Ok(table.reader(file)?.cursor(true));
        let mut cursors: Vec<Box<dyn Cursor>> = vec![Box::new(self.memtable.cursor())];
        for table in &self.version.levels[0] {
            let tables = TableFiles::new(vec![Arc::clone(table)], open(Arc::clone(&self.cache)));
            cursors.push(Box::new(LevelCursor::new(tables)));
        }
        let level = self.version.levels[1].clone();
        cursors.push(Box::new(LevelCursor::new(TableFiles::new(level, open(Arc::clone(&self.cache))))));
        let tombstones = [self.memtable.range_tombstones()]
            .into_iter()
            .chain(self.version.tables().map(|t| self.tombstones(t)));
        let view = View::new(seq, Coverage::new(tombstones, seq), reverse);
        Scan::new(scan(MergeCursor::new(cursors), Bound::Unbounded, Bound::Unbounded, view))
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]
    #[test]
    fn a_tree_of_tables_is_as_a_reader_sees_it(
        history in any_history(2, 100),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 2..6),
        snapshots in prop::collection::btree_set(0..100u64, 0..3),
        table_cuts in prop::collection::vec(any_key(), 0..4),
    ) {
        let snapshots: Vec<u64> = snapshots.into_iter().collect();
        let tree = Tree::new(&history, cuts, &snapshots, table_cuts);
        for seq in snapshots.into_iter().chain([history.len() as u64]) {
            let seen = read_at(&history, seq);
            let mut entries: Vec<_> = seen.clone().into_iter().collect();
            prop_assert_eq!(&tree.scan(seq, false).collect().unwrap(), &entries);
            entries.reverse();
            prop_assert_eq!(&tree.scan(seq, true).collect().unwrap(), &entries);
        }
    }
}
