//! Sorted entries that go straight into tables.
//!
//! The tables are written first, with no sequence number in them. Then writes are held back for a moment, what is
//! in memtables is flushed, so that nothing older is looked at before the new tables, and one sequence number is
//! taken for all of them: the manifest's facts about each table say which.

use super::db::Inner;
use super::flush::{flushed_seq, path_of};
use super::stall::Pace;
use super::table::{TableOptions, TableSummary, TableWriter};
use super::version::TableFacts;
use super::write::KIND_INGEST;
use crate::kv::{OpKind, SortedRun, check_key, check_value};
use crate::manifest::Edit;
use crate::wal::WriteOptions;
use crate::{Error, Result};
use std::cell::Cell;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

/// A table that was written and that nobody knows of.
struct Written {
    number: u64,
    summary: TableSummary,
}

/// Gives writers the way free again, however an ingestion ends.
struct Held<'a>(&'a Inner);

impl Drop for Held<'_> {
    fn drop(&mut self) {
        let pace = self.0.pace_by_level0();
        self.0.stall.set(pace);
    }
}

impl Inner {
    pub(super) fn ingest(&self, run: SortedRun<'_>) -> Result<u64> {
        self.writable()?;
        let mut tables = Vec::new();
        let ingested = self.write_run(run, &mut tables).and_then(|()| self.adopt(&tables));
        // After a failed edit the manifest may have the tables all the same: then they must stay.
        if ingested.is_err() && self.poisoned().is_none() {
            for table in &tables {
                // An orphan that stays is removed at the next opening.
                let _best_effort = self.options.env.fs.remove_file(&path_of(&self.dir, table.number));
            }
        }
        ingested
    }

    /// Writes the entries to tables, durably.
    fn write_run(&self, run: SortedRun<'_>, tables: &mut Vec<Written>) -> Result<()> {
        let options = TableOptions::from(&self.options);
        let mut writer: Option<(u64, TableWriter)> = None;
        let mut last: Option<Vec<u8>> = None;
        for entry in run {
            let (key, value) = entry?;
            check_key(&key)?;
            check_value(&value)?;
            if last.as_ref().is_some_and(|last| *last >= key) {
                let key = key.escape_ascii();
                return Err(Error::InvalidArgument(format!(
                    "the key \"{key}\" is not above the one before it: keys to ingest must be strictly ascending"
                )));
            }
            if let Some((number, full)) =
                writer.take_if(|(_, writer)| writer.estimated_bytes() >= self.options.target_file_size_base)
            {
                tables.push(Written { number, summary: full.finish()? });
            }
            let (_, writer) = match &mut writer {
                Some(writer) => writer,
                none => {
                    let number = self.next_table.fetch_add(1, Ordering::Relaxed);
                    let path = path_of(&self.dir, number);
                    none.insert((number, TableWriter::create(&self.options.env, &path, &options)?))
                }
            };
            writer.add(&key, 0, OpKind::Put, &value)?;
            last = Some(key);
        }
        if let Some((number, last)) = writer {
            tables.push(Written { number, summary: last.finish()? });
        }
        Ok(())
    }

    /// Makes the tables part of the store, as the newest of all.
    fn adopt(&self, tables: &[Written]) -> Result<u64> {
        if tables.is_empty() {
            return Ok(0);
        }
        let wal = self.writable()?;
        let _one_at_a_time = self.ingesting.lock().unwrap_or_else(PoisonError::into_inner);
        self.stall.set(Pace::Ingesting);
        let held = Held(self);
        // Writers that were past the check already may still come, so whether all memtables are empty is asked again
        // where none can: under the WAL's lock, when the number is taken. If one was quicker, the number is no good: its
        // memtable would be looked at before the tables, and what it holds is older.
        let seq = loop {
            while self.current.load().memtables().any(|memtable| memtable.len() > 0) {
                self.flush_all()?;
            }
            let nothing_above = Cell::new(false);
            let taken = wal.append_then(KIND_INGEST, 1, &[], WriteOptions::default(), |_, reader| {
                self.switch_memtable(reader);
                let current = self.current.load();
                nothing_above.set(current.memtables().all(|memtable| memtable.len() == 0));
                current.active.as_ref().map_or(0, |active| active.index_bytes())
            })?;
            if nothing_above.get() {
                break taken.first_seq;
            }
        };
        let mut edit = Edit::default();
        let mut entries = 0;
        let fs = &self.options.env.fs;
        for Written { number, .. } in tables {
            let (from, to) = (path_of(&self.dir, *number), super::paths::ingested_table(*number, seq));
            fs.rename(&from, &self.dir.join(to)).map_err(Error::io("rename", &from))?;
        }
        let tables_dir = self.dir.join(super::paths::TABLES);
        fs.sync_dir(&tables_dir).map_err(Error::io("sync directory", &tables_dir))?;
        for Written { number, summary } in tables {
            let facts = TableFacts {
                min_seq: seq,
                max_seq: seq,
                newest_unix_s: self.options.env.clock.now_unix_ns() / 1_000_000_000,
                ingested: true,
                ..TableFacts::default()
            };
            entries += summary.entries;
            let path = super::paths::ingested_table(*number, seq);
            edit.add_tables.push(facts.meta(*number, path, summary));
        }
        edit.set_values.push(flushed_seq(seq));
        let mut manifest = self.manifest();
        self.apply(&mut manifest, edit).map_err(|e| self.poison(e))?;
        drop(manifest);
        self.visible.fetch_max(seq, Ordering::AcqRel);
        drop(held);
        self.background.wake();
        Ok(entries)
    }
}
