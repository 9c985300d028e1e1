//! Counts and sizes of a store.

use crate::block::Block;
use crate::error::Result;
use crate::store::field_counts::FieldCounts;
use crate::store::flush::FIELDS_PROPERTY;
use crate::store::keeper::retain::{counts_of, policy_of};
use crate::store::layout::{day_name, day_of};
use crate::store::live::Prefix;
use crate::store::retention::{Retention, RetentionCounts};
use crate::store::rows::RowSet;
use crate::store::snapshot::{Snapshots, View};
use crate::store::table_blocks::TableBlockHandle;
use crate::store::table_facts::TableFacts;
use duramen_engine::Error as EngineError;
use duramen_engine::manifest::TableMeta;
use std::collections::BTreeMap;
use std::collections::BTreeSet;

/// What a store holds.
#[derive(Clone, Debug, Default)]
pub struct StoreStats {
    /// By UTC day, `YYYYMMDD`: what is in tables.
    pub days: BTreeMap<String, DayStats>,
    /// What is not in tables yet.
    pub wal: WalStats,
    /// The fields of the tables' rows, by name.
    pub fields: FieldCounts,
    /// The names of the damaged files that were set aside, in `quarantine/`.
    pub quarantined: Vec<String>,
    /// How many sources have been read, wholly or in part.
    pub sources: usize,
    /// How long lines are kept; the default if a newer version set it.
    pub retention: Retention,
    /// What retention and deletion have removed since the store was made.
    pub removed: RetentionCounts,
    /// What is in tables, by retention rule in the policy's order, and behind the last rule what none fits. Empty, if
    /// there is no rule.
    pub classes: Vec<ClassStats>,
    /// Of that, what is in tables written before there were these rules: it is sorted once some of it expires.
    pub unsorted: ClassStats,
}

/// Lines in tables that have one retention rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassStats {
    /// How many.
    pub lines: u64,
    /// What they take; their share of tables that hold others, too.
    pub stored_bytes: u64,
}

/// One day's tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DayStats {
    /// Lines.
    pub lines: u64,
    /// Bytes of these lines as they were read; of those that never were lines, what they would take as NDJSON.
    pub raw_bytes: u64,
    /// Bytes of the tables' files: columns, filters and indexes.
    pub stored_bytes: u64,
    /// Table files whose first line is of this day.
    pub tables: u64,
    /// The earliest time stamp, ns since the epoch.
    pub min_time: i64,
    /// The latest.
    pub max_time: i64,
}

/// The write-ahead logs of all writers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WalStats {
    /// Writers that have segments.
    pub writers: usize,
    /// Segment files.
    pub segments: usize,
    /// Lines in them.
    pub lines: u64,
    /// Bytes in use in them.
    pub bytes: u64,
}

impl StoreStats {
    fn add_classes(&mut self, facts: &TableFacts, file_bytes: u64, classes_id: u64) {
        if self.classes.is_empty() {
            return;
        }
        let Some(parts) = facts.classes_by(classes_id) else {
            self.unsorted.lines += facts.rows();
            self.unsorted.stored_bytes += file_bytes;
            return;
        };
        let rows = u128::from(facts.rows().max(1));
        for part in parts {
            if let Some(class) = self.classes.get_mut(part.class as usize) {
                class.lines += part.rows;
                let share = u128::from(file_bytes) * u128::from(part.rows) / rows;
                class.stored_bytes += u64::try_from(share).unwrap_or(file_bytes);
            }
        }
    }
}

impl DayStats {
    fn add(&mut self, more: &Self) {
        self.lines += more.lines;
        self.raw_bytes += more.raw_bytes;
        self.stored_bytes += more.stored_bytes;
        self.tables += more.tables;
        self.min_time = self.min_time.min(more.min_time);
        self.max_time = self.max_time.max(more.max_time);
    }
}

impl Snapshots {
    /// What a table has of each day. One whose times cannot be read counts as its first day's, and that is told.
    fn days_of(&self, meta: &TableMeta, facts: &TableFacts) -> Vec<(String, DayStats)> {
        let Some((min_time, max_time)) = facts.time_range() else { return Vec::new() };
        let (raw_bytes, stored_bytes) = (facts.raw_bytes, meta.file_bytes);
        let whole = DayStats { lines: facts.rows(), raw_bytes, stored_bytes, tables: 1, min_time, max_time };
        if day_of(min_time) != day_of(max_time) {
            match self.shared_out(meta, &whole) {
                Ok(days) => return days,
                Err(e) => self.shared().incident(e),
            }
        }
        vec![(day_name(day_of(min_time)), whole)]
    }

    /// What a table that several days share has of each: the times tell whose the lines are, and each day has its share
    /// of the bytes.
    fn shared_out(&self, meta: &TableMeta, whole: &DayStats) -> Result<Vec<(String, DayStats)>> {
        let mut days: BTreeMap<i64, DayStats> = BTreeMap::new();
        for handle in TableBlockHandle::of(self.tables(), meta, &None)? {
            for &time in &*handle.open_table_block()?.times()? {
                let day = DayStats { lines: 1, min_time: time, max_time: time, ..DayStats::default() };
                days.entry(day_of(time)).and_modify(|all| all.add(&day)).or_insert(day);
            }
        }
        // What has been given to the days before, so that all shares together are the whole.
        let mut given = DayStats::default();
        let share = |bytes: u64, lines: u64| {
            let share = u128::from(bytes) * u128::from(lines) / u128::from(whole.lines.max(1));
            u64::try_from(share).unwrap_or(bytes)
        };
        let with_bytes = |(day, part): (i64, DayStats)| {
            let lines = given.lines + part.lines;
            let raw_bytes = share(whole.raw_bytes, lines) - given.raw_bytes;
            let stored_bytes = share(whole.stored_bytes, lines) - given.stored_bytes;
            let part = DayStats { raw_bytes, stored_bytes, tables: u64::from(given.lines == 0), ..part };
            given.add(&part);
            (day_name(day), part)
        };
        Ok(days.into_iter().map(with_bytes).collect())
    }

    pub(crate) fn stats(&self) -> Result<StoreStats> {
        let View { pin: _pin, state, live } = self.view()?;
        let mut stats = StoreStats { removed: counts_of(&state)?, ..StoreStats::default() };
        match policy_of(&state) {
            Ok(policy) => stats.retention = policy,
            Err(e) => self.shared().incident(e),
        }
        let classes_id = stats.retention.classes_id();
        if !stats.retention.rules.is_empty() {
            stats.classes = vec![ClassStats::default(); stats.retention.rules.len() + 1];
        }
        for meta in state.tables.values() {
            let facts = TableFacts::decode(&meta.user)?;
            for (day, part) in self.days_of(meta, &facts) {
                stats.days.entry(day).and_modify(|all| all.add(&part)).or_insert(part);
            }
            stats.add_classes(&facts, meta.file_bytes, classes_id);
            match self.tables().known(meta).and_then(|known| self.tables().get(&known)) {
                Ok(open) => {
                    if let Some(fields) = open.table.property(FIELDS_PROPERTY) {
                        stats.fields.add(&FieldCounts::of_property(fields)?);
                    }
                }
                Err(e) => self.shared().incident(e),
            }
        }
        let mut writers = BTreeSet::new();
        let mut prefix = Prefix::default();
        for segment in &live.segments {
            writers.insert(segment.writer);
            if !prefix.goes_on_with(self.shared(), segment) {
                continue;
            }
            let mut rows = RowSet::default();
            rows.follow(segment.reader.clone());
            prefix.has(self.shared(), rows.extend(), rows.next_seq());
            stats.wal.segments += 1;
            stats.wal.lines += rows.len() as u64;
            stats.wal.bytes += segment.reader.committed();
        }
        stats.wal.writers = writers.len();
        stats.sources = state.values.keys().filter(|k| k.starts_with(super::source::KEY_PREFIX)).count();
        stats.quarantined = self.quarantined()?;
        Ok(stats)
    }

    /// The names of what was set aside.
    pub(crate) fn quarantined(&self) -> Result<Vec<String>> {
        let dir = self.shared().layout.quarantine();
        match self.shared().env.fs.read_dir(&dir) {
            Ok(entries) => Ok(entries.into_iter().map(|e| e.name).collect()),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(e) => Err(EngineError::io("list", &dir)(e).into()),
        }
    }
}
