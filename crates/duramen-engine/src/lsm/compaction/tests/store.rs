//! A store of real tables, without a WAL: what is written to it, flushed, compacted and read back.

use super::rows::Random;
use crate::Result;
use crate::io::sim::Sim;
use crate::kv::OpKind;
use crate::lsm::compaction::run::Outcome;
use crate::lsm::compaction::{Cancel, Context, Job, LiveWork, RateLimiter, pick, run};
use crate::lsm::cursor::{Cursor, RangeTombstone};
use crate::lsm::listener::CompactionInfo;
use crate::lsm::options::LsmOptions;
use crate::lsm::table::{TableCache, TableOptions, TableWriter};
use crate::lsm::version::{Obsolete, TableFacts, Version};
use crate::manifest::{Edit, State, TableMeta};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

type Entries = BTreeMap<Vec<u8>, Vec<u8>>;
/// By key, then the newest first: the complement of the sequence number.
type Versions = BTreeMap<(Vec<u8>, u64), (OpKind, Vec<u8>)>;

#[derive(Clone, Debug)]
pub(super) enum Write {
    Put(Vec<u8>, Vec<u8>),
    Delete(Vec<u8>),
    DeleteRange(Vec<u8>, Vec<u8>),
}

pub(super) fn table_path(number: u64) -> String {
    format!("{number}.sst")
}

pub(super) struct Store {
    pub(super) sim: Sim,
    pub(super) options: LsmOptions,
    pub(super) tables: TableCache,
    pub(super) version: Version,
    state: State,
    pub(super) next_table: AtomicU64,
    pub(super) limiter: RateLimiter,
    pub(super) cancel: Cancel,
    pub(super) infos: Vec<CompactionInfo>,
    pub(super) seq: u64,
    now: Entries,
    /// What the store held at these sequence numbers.
    pub(super) snapshots: BTreeMap<u64, Entries>,
    keys: BTreeSet<Vec<u8>>,
    obsolete: Arc<Obsolete>,
}

impl Store {
    pub(super) fn new(options: LsmOptions) -> Self {
        let sim = Sim::new(1);
        let options = LsmOptions { env: sim.env(), ..options };
        Self {
            tables: TableCache::new(&options),
            limiter: RateLimiter::new(0, Arc::clone(&options.env.clock), false),
            sim,
            options,
            version: Version::default(),
            state: State::default(),
            next_table: AtomicU64::new(1),
            cancel: Cancel::default(),
            infos: Vec::new(),
            seq: 0,
            now: Entries::new(),
            snapshots: BTreeMap::new(),
            keys: BTreeSet::new(),
            obsolete: Arc::default(),
        }
    }

    /// Writes, and makes a table of level 0 of it.
    pub(super) fn flush(&mut self, writes: &[Write]) {
        let mut versions = Versions::new();
        let mut ranges = Vec::new();
        let first_seq = self.seq + 1;
        for write in writes {
            self.seq += 1;
            match write.clone() {
                Write::Put(key, value) => {
                    versions.insert((key.clone(), u64::MAX - self.seq), (OpKind::Put, value.clone()));
                    self.now.insert(key, value);
                }
                Write::Delete(key) => {
                    self.now.remove(&key);
                    versions.insert((key, u64::MAX - self.seq), (OpKind::Delete, Vec::new()));
                }
                Write::DeleteRange(start, end) => {
                    self.now.retain(|key, _| *key < start || *key >= end);
                    ranges.push(RangeTombstone { start, end, seq: self.seq });
                }
            }
        }
        self.keys.extend(versions.keys().map(|(key, _)| key.clone()));
        self.keys.extend(ranges.iter().flat_map(|range| [range.start.clone(), range.end.clone()]));
        self.write_table(&versions, &ranges, |facts| TableFacts { min_seq: first_seq, ..facts });
    }

    /// Adds keys with this value, all at one sequence number, as a table that knows none.
    pub(super) fn ingest(&mut self, keys: &BTreeSet<Vec<u8>>, value: &[u8]) {
        self.seq += 1;
        let seq = self.seq;
        self.now.extend(keys.iter().map(|key| (key.clone(), value.to_vec())));
        self.keys.extend(keys.iter().cloned());
        let versions =
            keys.iter().map(|key| ((key.clone(), u64::MAX), (OpKind::Put, value.to_vec()))).collect();
        self.write_table(&versions, &[], |facts| TableFacts {
            min_seq: seq,
            max_seq: seq,
            ingested: true,
            ..facts
        });
    }

    fn write_table(
        &mut self,
        versions: &Versions,
        ranges: &[RangeTombstone],
        facts: impl FnOnce(TableFacts) -> TableFacts,
    ) {
        let number = self.next_table.fetch_add(1, Ordering::Relaxed);
        let path = table_path(number);
        let options = TableOptions::from(&self.options);
        let mut writer = TableWriter::create(&self.options.env, Path::new(&path), &options).unwrap();
        for ((key, s), (kind, value)) in versions {
            writer.add(key, u64::MAX - s, *kind, value).unwrap();
        }
        ranges.iter().for_each(|range| writer.add_range_tombstone(range).unwrap());
        let summary = writer.finish().unwrap();
        let facts = facts(TableFacts {
            min_seq: summary.min_seq,
            max_seq: summary.max_seq,
            newest_unix_s: number as i64,
            deletes: summary.deletes,
            range_deletes: summary.range_deletes,
            old_versions: summary.old_versions,
            ..TableFacts::default()
        });
        let table = TableMeta {
            number,
            path,
            file_bytes: summary.file_bytes,
            entries: summary.entries,
            blocks: summary.blocks,
            min_key: summary.smallest,
            max_key: summary.largest,
            user: facts.encode(),
        };
        self.apply(&Edit { add_tables: vec![table], ..Edit::default() });
    }

    fn apply(&mut self, edit: &Edit) {
        self.state = self.state.apply(edit).unwrap();
        self.version = Version::of(Path::new(""), &self.state, &self.version, &self.obsolete).unwrap();
    }

    pub(super) fn context(&self) -> Context<'_> {
        Context {
            options: &self.options,
            dir: Path::new(""),
            tables: &self.tables,
            snapshots: self.snapshots.keys().copied().collect(),
            next_table: &self.next_table,
            table_path,
            limiter: &self.limiter,
            cancel: &self.cancel,
            give_way: &|| (),
        }
    }

    pub(super) fn pick(&self) -> Option<Job> {
        let snapshots: Vec<u64> = self.snapshots.keys().copied().collect();
        pick(&self.version, &self.options, &LiveWork { running: &[], snapshots: &snapshots, now_unix_s: 0 })
    }

    pub(super) fn run(&self, job: &Job) -> Result<Outcome> {
        run(job, &self.context())
    }

    /// Does a job, and removes its inputs.
    pub(super) fn compact(&mut self, job: &Job) {
        let outcome = self.run(job).unwrap();
        self.apply(&outcome.edit);
        for number in &outcome.edit.remove_tables {
            self.options.env.fs.remove_file(Path::new(&table_path(*number))).unwrap();
        }
        self.infos.push(outcome.info);
        self.check();
    }

    pub(super) fn snapshot(&mut self) {
        self.snapshots.insert(self.seq, self.now.clone());
    }

    /// The tables are what the manifest says of them, and hold what was written.
    pub(super) fn check(&self) {
        for level in &self.version.levels[1..] {
            assert!(
                level.windows(2).all(|pair| pair[0].max_key() < pair[1].min_key()),
                "tables of a level overlap"
            );
        }
        let mut versions = Versions::new();
        let mut ranges = Vec::new();
        for table in self.version.tables() {
            let (mut entries, mut deletes, mut old_versions, mut last_key) = (0, 0, 0, None);
            let mut seqs = Vec::new();
            let mut cursor = table.cursor(&self.tables, false).unwrap();
            cursor.seek_to_first().unwrap();
            while cursor.valid() {
                let key = cursor.key().to_vec();
                assert!(table.overlaps(&key, &key), "a key out of the table's range");
                entries += 1;
                deletes += u64::from(cursor.kind() == OpKind::Delete);
                old_versions += u64::from(last_key.as_ref() == Some(&key));
                seqs.push(cursor.seq());
                let version = (cursor.kind(), cursor.value().to_vec());
                versions.insert((key.clone(), u64::MAX - cursor.seq()), version);
                last_key = Some(key);
                cursor.next().unwrap();
            }
            let listed = self.tables.reader(table).unwrap().range_tombstones().unwrap();
            for range in listed.iter() {
                assert!(table.min_key() <= range.start.as_slice() && range.last_key() <= table.max_key());
                seqs.push(range.seq);
            }
            let facts = &table.facts;
            let found = (entries, deletes, listed.len() as u64, old_versions);
            assert_eq!(found, (table.meta.entries, facts.deletes, facts.range_deletes, facts.old_versions));
            assert!(seqs.iter().all(|&seq| facts.min_seq <= seq && seq <= facts.max_seq));
            ranges.extend_from_slice(&listed);
        }
        for (&seq, held) in self.snapshots.iter().chain([(&u64::MAX, &self.now)]) {
            for key in &self.keys {
                let from = (key.clone(), u64::MAX - seq);
                let seen = versions.range(from..=(key.clone(), u64::MAX)).next();
                let covers =
                    |range: &&RangeTombstone| range.start <= *key && *key < range.end && range.seq <= seq;
                let deleted = ranges.iter().filter(covers).map(|range| range.seq).max().unwrap_or(0);
                let put = seen.filter(|(at, version)| version.0 == OpKind::Put && u64::MAX - at.1 > deleted);
                let value = put.map(|(_, version)| &version.1);
                assert_eq!(value, held.get(key), "key {key:?} at {seq}");
            }
        }
    }

    /// A table of random writes: keys that often collide, begin alike, and end with zeros.
    pub(super) fn flush_random(&mut self, random: &mut Random) {
        let spread = 1 + random.below(40);
        let from = random.below(200);
        let key = |random: &mut Random| {
            let mut key = format!("k{:03}", from + random.below(spread)).into_bytes();
            key.extend(vec![0; random.below(8).saturating_sub(5)]);
            if random.below(9) == 0 {
                key.splice(0..1, [b'x'; 40]);
            }
            key
        };
        if random.below(8) == 0 {
            let keys = (0..1 + random.below(40)).map(|_| key(random)).collect();
            return self.ingest(&keys, format!("ingested at {}", self.seq).as_bytes());
        }
        let writes: Vec<_> = (0..1 + random.below(40))
            .filter_map(|_| match random.below(8) {
                0..5 => Some(Write::Put(key(random), vec![random.below(256) as u8; random.below(120)])),
                5..7 => Some(Write::Delete(key(random))),
                _ => {
                    let (a, b) = (key(random), key(random));
                    (a != b).then(|| Write::DeleteRange(a.clone().min(b.clone()), a.max(b)))
                }
            })
            .collect();
        if !writes.is_empty() {
            self.flush(&writes);
        }
    }
}
