//! A tree whose tables are lists in memory, and the rules that it must keep.

use super::rows::{Random, Rows, clipped, visible};
use crate::lsm::compaction::{Job, LiveWork, pick, plan_manual};
use crate::lsm::listener::CompactionKind;
use crate::lsm::options::{CompactionStyle, LsmOptions};
use crate::lsm::version::{LEVELS, Obsolete, TableFacts, TableFile, Version};
use crate::manifest::TableMeta;
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

pub(super) const ENTRY_BYTES: u64 = 100;
/// Keys are below this.
const KEYS: u32 = 400;

/// A job, and the snapshots when it began.
pub(super) struct Running {
    pub(super) job: Arc<Job>,
    snapshots: Vec<u64>,
}

pub(super) struct Tree {
    pub(super) options: LsmOptions,
    pub(super) version: Version,
    pub(super) rows: BTreeMap<u64, Rows>,
    pub(super) running: Vec<Running>,
    /// Tables that readers see and the manifest does not know yet, the oldest first: no job may take them.
    uncommitted: VecDeque<Arc<TableFile>>,
    /// Each with what the store held then.
    pub(super) snapshots: BTreeMap<u64, BTreeMap<u32, u64>>,
    pub(super) now_unix_s: i64,
    pub(super) flushes: usize,
    pub(super) jobs_done: usize,
    pub(super) flushed_bytes: u64,
    pub(super) rewritten_bytes: u64,
    pub(super) bytes_before_compact: u64,
    /// What the store holds, whatever expired: key, its sequence number and when it was written.
    truth: BTreeMap<u32, (u64, i64)>,
    seq: u64,
    next_table: u64,
    obsolete: Arc<Obsolete>,
}

impl Tree {
    pub(super) fn new(options: LsmOptions) -> Self {
        Self {
            options,
            version: Version::default(),
            rows: BTreeMap::new(),
            running: Vec::new(),
            uncommitted: VecDeque::new(),
            snapshots: BTreeMap::new(),
            now_unix_s: 1_000_000,
            flushes: 0,
            jobs_done: 0,
            flushed_bytes: 0,
            rewritten_bytes: 0,
            bytes_before_compact: 0,
            truth: BTreeMap::new(),
            seq: 10,
            next_table: 1,
            obsolete: Arc::default(),
        }
    }

    /// A table of the rows, in the version.
    pub(super) fn add(&mut self, level: usize, rows: Rows, newest_unix_s: i64) -> Arc<TableFile> {
        let keys =
            rows.entries.keys().map(|&(key, _)| (key, key)).chain(rows.ranges.iter().map(|r| (r.0, r.1)));
        let (first, last) = keys.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))).unwrap();
        let facts = TableFacts {
            level: level as u8,
            min_seq: rows.seqs().min().unwrap(),
            max_seq: rows.seqs().max().unwrap(),
            newest_unix_s,
            deletes: rows.entries.values().filter(|&&put| !put).count() as u64,
            range_deletes: rows.ranges.len() as u64,
            old_versions: rows.old_versions(),
            ..TableFacts::default()
        };
        let meta = TableMeta {
            number: self.next_table,
            path: format!("{}.sst", self.next_table),
            file_bytes: (rows.entries.len() + rows.ranges.len()) as u64 * ENTRY_BYTES,
            entries: rows.entries.len() as u64,
            min_key: first.to_be_bytes().to_vec(),
            max_key: last.to_be_bytes().to_vec(),
            user: facts.encode(),
            ..TableMeta::default()
        };
        self.rows.insert(self.next_table, rows);
        self.next_table += 1;
        let table = TableFile::new(Path::new(""), meta, &self.obsolete).unwrap();
        self.place(Arc::clone(&table));
        table
    }

    /// A table of rows that are older than every flush.
    pub(super) fn add_old(&mut self, level: usize, rows: Rows) -> Arc<TableFile> {
        for (&(key, s), &put) in &rows.entries {
            let seq = u64::MAX - s;
            if put && self.truth.get(&key).is_none_or(|&(newer, _)| newer < seq) {
                self.truth.insert(key, (seq, self.now_unix_s));
            }
        }
        self.add(level, rows, self.now_unix_s)
    }

    fn place(&mut self, table: Arc<TableFile>) {
        let level = usize::from(table.facts.level);
        self.version.levels[level].push(table);
        if level == 0 {
            self.version.levels[0].sort_by_key(|t| std::cmp::Reverse((t.facts.max_seq, t.meta.number)));
        } else {
            self.version.levels[level].sort_by(|a, b| a.min_key().cmp(b.min_key()));
        }
    }

    /// A flush of these writes, in order: keys that are put or deleted, and ranges that are deleted.
    pub(super) fn flush(&mut self, writes: &[(u32, bool)], ranges: &[(u32, u32)]) -> Arc<TableFile> {
        let mut rows = Rows::default();
        for &(first, last) in ranges {
            self.seq += 1;
            rows.ranges.insert((first, last, self.seq));
            self.truth.retain(|key, _| !(first..=last).contains(key));
        }
        for &(key, put) in writes {
            self.seq += 1;
            // A memtable keeps every version; its flush those that a snapshot may need, here none.
            rows.entries.retain(|&(k, _), _| k != key);
            rows.add(key, self.seq, put);
            if put {
                self.truth.insert(key, (self.seq, self.now_unix_s));
            } else {
                self.truth.remove(&key);
            }
        }
        self.flushes += 1;
        let table = self.add(0, rows, self.now_unix_s);
        self.flushed_bytes += table.meta.file_bytes;
        table
    }

    /// A flush over all keys, or a part of them, or behind all others.
    pub(super) fn flush_random(&mut self, random: &mut Random) {
        let (from, width) = match random.below(4) {
            0 => (0, KEYS),
            1 => (self.flushes as u32 % 40 * 10, 10),
            _ => (random.below(KEYS as usize) as u32, 1 + random.below(60) as u32),
        };
        let one_in = 1 + random.below(6);
        let count = 1 + random.below(50);
        let writes: Vec<_> = (0..count)
            .map(|_| (from + random.below(width as usize) as u32, random.below(one_in) == 0))
            .collect();
        let mut ranges = Vec::new();
        if random.below(4) == 0 {
            let first = from + random.below(width as usize) as u32;
            ranges.push((first, first + random.below(40) as u32));
        }
        let table = self.flush(&writes, &ranges);
        if !self.uncommitted.is_empty() || random.below(4) == 0 {
            table.compacting.store(true, Ordering::Relaxed);
            self.uncommitted.push_back(table);
        }
    }

    pub(super) fn commit(&mut self) -> bool {
        let oldest = self.uncommitted.pop_front();
        oldest.inspect(|table| table.compacting.store(false, Ordering::Relaxed)).is_some()
    }

    pub(super) fn toggle_snapshot(&mut self, random: &mut Random) {
        if random.below(2) == 0 {
            self.snapshots.insert(self.seq, self.truth.iter().map(|(&key, &(seq, _))| (key, seq)).collect());
        } else {
            self.snapshots.pop_first();
        }
    }

    pub(super) fn pick(&self) -> Option<Job> {
        let running: Vec<_> = self.running.iter().map(|r| Arc::clone(&r.job)).collect();
        let snapshots: Vec<u64> = self.snapshots.keys().copied().collect();
        let live = LiveWork { running: &running, snapshots: &snapshots, now_unix_s: self.now_unix_s };
        pick(&self.version, &self.options, &live)
    }

    /// Picks a job and claims it, unless three run.
    pub(super) fn start(&mut self) -> Option<Arc<Job>> {
        if self.running.len() >= 3 {
            return None;
        }
        let job = Arc::new(self.pick()?);
        self.claim(&job);
        Some(job)
    }

    pub(super) fn claim(&mut self, job: &Arc<Job>) {
        for (at, (level, tables)) in job.inputs.iter().enumerate() {
            assert!(!tables.is_empty() && job.inputs[..at].iter().all(|(above, _)| above < level), "{job:?}");
        }
        assert!(job.tables().all(|t| !t.compacting.load(Ordering::Relaxed)), "taken twice");
        assert!(
            job.tables().all(|t| self.version.tables().any(|live| Arc::ptr_eq(t, live))),
            "a table that is no more"
        );
        job.claim();
        self.running
            .push(Running { job: Arc::clone(job), snapshots: self.snapshots.keys().copied().collect() });
    }

    pub(super) fn give_up(&mut self, at: usize) {
        self.running.remove(at).job.release();
    }

    /// Does what a running job says.
    pub(super) fn finish(&mut self, at: usize) {
        let Running { job, snapshots } = self.running.remove(at);
        job.release();
        self.jobs_done += 1;
        for level in &mut self.version.levels {
            level.retain(|t| !job.tables().any(|input| Arc::ptr_eq(input, t)));
        }
        match job.kind {
            CompactionKind::TrivialMove => {
                for table in job.tables() {
                    let facts = TableFacts { level: job.output_level as u8, ..table.facts };
                    let meta = TableMeta { user: facts.encode(), ..table.meta.clone() };
                    let moved = TableFile::new(Path::new(""), meta, &self.obsolete).unwrap();
                    self.place(moved);
                }
            }
            CompactionKind::DropExpired => {}
            CompactionKind::Merge => self.merge(&job, &snapshots),
        }
    }

    fn merge(&mut self, job: &Job, snapshots: &[u64]) {
        self.rewritten_bytes += job.input_bytes();
        let mut all = Rows::default();
        for table in job.tables() {
            let rows = self.rows.remove(&table.meta.number).unwrap();
            all.entries.extend(rows.entries);
            all.ranges.extend(rows.ranges);
        }
        let newest_unix_s = job.tables().map(|t| t.facts.newest_unix_s).max().unwrap();
        let all = visible(&all, snapshots, job.is_bottommost);
        let limit = if job.output_level == 0 { u64::MAX } else { self.options.target_file_size_base };
        let mut outputs = vec![Rows::default()];
        let mut cut_before = 0;
        let mut last_key = None;
        for (&(key, s), &put) in &all.entries {
            let full = outputs.last().unwrap().entries.len() as u64 * ENTRY_BYTES >= limit;
            if full && last_key != Some(key) {
                let end = last_key.unwrap();
                outputs.last_mut().unwrap().ranges = clipped(&all.ranges, cut_before, end);
                outputs.push(Rows::default());
                cut_before = end + 1;
            }
            outputs.last_mut().unwrap().entries.insert((key, s), put);
            last_key = Some(key);
        }
        outputs.last_mut().unwrap().ranges = clipped(&all.ranges, cut_before, u32::MAX);
        for rows in outputs.into_iter().filter(|rows| !rows.is_empty()) {
            self.add(job.output_level, rows, newest_unix_s);
        }
    }

    /// Ends all that runs, then picks and finishes until there is nothing more to do.
    pub(super) fn settle(&mut self) {
        while self.commit() {}
        while !self.running.is_empty() {
            self.finish(0);
            self.check();
        }
        let before = self.jobs_done;
        while self.start().is_some() {
            self.finish(0);
            self.check();
            assert!(self.jobs_done - before < 1000, "it never ends: {:?}", self.pick());
        }
    }

    pub(super) fn reopen(&mut self, options: LsmOptions) {
        while !self.running.is_empty() {
            self.give_up(0);
        }
        self.options = options;
    }

    /// A manual compaction, perhaps with flushes and other jobs meanwhile.
    pub(super) fn compact(&mut self, random: &mut Random, amid_writes: bool) {
        while self.commit() {}
        while !self.running.is_empty() {
            assert!(plan_manual(&self.version, &self.options).is_none(), "not while tables are compacted");
            self.finish(0);
        }
        (self.rewritten_bytes, self.bytes_before_compact) =
            (0, self.version.tables().map(|t| t.meta.file_bytes).sum());
        for job in plan_manual(&self.version, &self.options).unwrap() {
            self.claim(&Arc::new(job));
        }
        while !self.running.is_empty() {
            match random.below(4) {
                0 if amid_writes => self.flush_random(random),
                1 if amid_writes => {
                    if let Some(job) = self.pick() {
                        self.claim(&Arc::new(job));
                    }
                }
                _ => self.finish(random.below(self.running.len())),
            }
            self.check();
        }
    }

    /// What every reader relies on.
    pub(super) fn check(&self) {
        for level in &self.version.levels[1..] {
            assert!(
                level.windows(2).all(|pair| pair[0].max_key() < pair[1].min_key()),
                "tables of a level overlap"
            );
        }
        let tables: Vec<&Rows> = self.version.tables().map(|t| &self.rows[&t.meta.number]).collect();
        for key in 0..KEYS + 100 {
            let mut before = u64::MAX;
            for rows in &tables {
                let newest = rows.get(key, u64::MAX).map_or(0, |(seq, _)| seq);
                assert!(newest == 0 || newest < before, "key {key}: {newest} lies below {before}");
                let own = rows.entries.range((key, 0)..=(key, u64::MAX)).map(|(&(_, s), _)| u64::MAX - s);
                let ranges = rows.ranges.iter().filter(|r| r.0 <= key && key <= r.1).map(|r| r.2);
                before = own.chain(ranges).min().unwrap_or(before).min(before);
            }
            let found = |seq| {
                tables.iter().find_map(|rows| rows.get(key, seq)).filter(|&(_, put)| put).map(|(s, _)| s)
            };
            for (&seq, held) in &self.snapshots {
                assert_eq!(found(seq), held.get(&key).copied(), "key {key} at the snapshot {seq}");
            }
            let truth = self.truth.get(&key);
            let expired = truth.is_some_and(|&(_, written)| {
                self.options.ttl_s > 0 && written + (self.options.ttl_s as i64) < self.now_unix_s
            });
            let found = found(u64::MAX);
            assert!(
                found == truth.map(|&(seq, _)| seq) || found.is_none() && expired,
                "key {key}: {found:?}, not {truth:?}"
            );
        }
    }

    pub(super) fn assert_settled(&self) {
        match self.options.compaction {
            CompactionStyle::Leveled => {
                for (level, score) in crate::lsm::compaction::leveled::scores(&self.version, &self.options) {
                    assert!(score < 1.0, "level {level} has a score of {score}");
                }
            }
            CompactionStyle::SizeTiered => {
                let deeper = self.version.levels[1..].iter().filter(|level| !level.is_empty()).count();
                let runs = self.version.levels[0].len() + deeper;
                assert!(runs <= self.options.level0_file_num_compaction_trigger, "{runs} runs");
            }
            CompactionStyle::None => {}
        }
    }

    pub(super) fn assert_compact(&self) {
        let with_tables: Vec<usize> = (0..LEVELS).filter(|&l| !self.version.levels[l].is_empty()).collect();
        assert!(with_tables.len() <= 1 && with_tables != [0], "levels {with_tables:?} have tables");
        for table in self.version.tables() {
            let rows = &self.rows[&table.meta.number];
            assert!(
                rows.entries.values().all(|&put| put) && rows.ranges.is_empty() && rows.old_versions() == 0
            );
        }
    }
}
