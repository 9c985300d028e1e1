//! Sorted entries that go straight into tables.
//!
//! The tables are written first, with no sequence number in them. Then writes are held back for a moment, what is
//! in memtables is flushed, so that nothing older is looked at before the new tables, and one sequence number is
//! taken for all of them: the manifest's facts about each table say which.

use super::db::Inner;
use super::flush::{flushed_seq, path_of};
use super::recover::flushed_seq_of;
use super::stall::Pace;
use super::table::{TableOptions, TableSummary, TableWriter};
use super::version::TableFacts;
use super::write::KIND_INGEST;
use crate::kv::{OpKind, SortedRun, check_key, check_value};
use crate::manifest::Edit;
use crate::wal::WriteOptions;
use crate::{Error, Result};
use std::cell::Cell;
use std::path::PathBuf;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

/// A table that was written and that nobody knows of.
struct Written {
    number: u64,
    path: PathBuf,
    summary: TableSummary,
}

/// Gives writers the way free again, however an ingestion ends.
struct Held<'a>(&'a Inner);

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.end_ingestion();
    }
}

impl Inner {
    pub(super) fn ingest(&self, run: SortedRun<'_>) -> Result<u64> {
        self.writable()?;
        let mut tables = Vec::new();
        let ingested = self.write_run(run, &mut tables).and_then(|()| self.adopt(&mut tables));
        // After a failed edit the manifest may have the tables all the same: then they must stay.
        if ingested.is_err() && self.poisoned().is_none() {
            for table in &tables {
                // An orphan that stays is removed at the next opening.
                let _best_effort = self.options.env.fs.remove_file(&table.path);
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
            // Who closes the store waits for the end.
            self.writable()?;
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
                tables.push(self.written(number, full)?);
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
            tables.push(self.written(number, last)?);
        }
        Ok(())
    }

    fn written(&self, number: u64, writer: TableWriter) -> Result<Written> {
        Ok(Written { number, path: path_of(&self.dir, number), summary: writer.finish()? })
    }

    /// Makes the tables part of the store, as the newest of all.
    fn adopt(&self, tables: &mut [Written]) -> Result<u64> {
        if tables.is_empty() {
            return Ok(0);
        }
        let wal = self.writable()?;
        let _one_at_a_time = self.ingesting.lock().unwrap_or_else(PoisonError::into_inner);
        self.stall.set(|| Pace::Ingesting);
        let held = Held(self);
        // Writers that were past the check already may still come, so whether all memtables are empty is asked again
        // where none can: under the WAL's lock, when the number is taken. If one was quicker, the number is no good: its
        // memtable would be looked at before the tables, and what it holds is older.
        let seq = loop {
            while self.current.load().memtables().any(|memtable| memtable.len() > 0) {
                self.flush_all()?;
            }
            let nothing_above = Cell::new(false);
            let taken = wal.append_then(KIND_INGEST, 1, &[], WriteOptions::default(), |at, reader| {
                self.switch_memtable(reader, at.first_seq - 1);
                let current = self.current.load();
                nothing_above.set(current.memtables().all(|memtable| memtable.len() == 0));
                current.active.as_ref().map_or(0, |active| active.index_bytes())
            })?;
            if nothing_above.get() {
                break taken.first_seq;
            }
        };
        // What was in tables already when the memtables were found empty may not be committed: it is older, and must not
        // be known later. Late writers' memtables may be flushed with it.
        while self.flush_one()? {}
        while self.commit_one()? {}
        let mut edit = Edit::default();
        let mut entries = 0;
        let fs = &self.options.env.fs;
        for table in &mut *tables {
            let to = self.dir.join(super::paths::ingested_table(table.number, seq));
            fs.rename(&table.path, &to).map_err(Error::io("rename", &table.path))?;
            table.path = to;
        }
        let tables_dir = self.dir.join(super::paths::TABLES);
        fs.sync_dir(&tables_dir).map_err(Error::io("sync directory", &tables_dir))?;
        for Written { number, summary, .. } in tables {
            let facts = TableFacts {
                min_seq: seq,
                max_seq: seq,
                newest_unix_s: self.options.env.clock.now_unix_ns() / 1_000_000_000,
                id: summary.id,
                ingested: true,
                ..TableFacts::default()
            };
            entries += summary.entries;
            let path = super::paths::ingested_table(*number, seq);
            edit.add_tables.push(facts.meta(*number, path, summary));
        }
        let mut manifest = self.manifest();
        // What late writers wrote meanwhile may be in tables already.
        let known = flushed_seq_of(manifest.get()?.state())?;
        edit.set_values.push(flushed_seq(seq.max(known)));
        self.apply(&mut manifest, edit)?;
        drop(manifest);
        self.visible.fetch_max(seq, Ordering::AcqRel);
        drop(held);
        self.background.wake();
        Ok(entries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Result;
    use crate::io::sim::Sim;
    use crate::kv::Engine;
    use crate::lsm::{Lsm, LsmOptions};
    use crate::wal::Background;

    /// A writer that was past the check already comes between the last flush and the number.
    #[test]
    fn a_number_that_was_taken_in_vain_leaves_no_gap() -> Result<()> {
        let sim = Sim::new(1);
        let open = || {
            let options =
                LsmOptions { env: sim.env(), background: Background::Manual, ..LsmOptions::default() };
            Lsm::open("/db", options)
        };
        let store = open()?;
        store.put(b"late", b"1")?;
        let inner = &store.inner;
        inner.writable()?.append_then(KIND_INGEST, 1, &[], WriteOptions::default(), |at, reader| {
            inner.switch_memtable(reader, at.first_seq - 1);
            inner.current.load().active.as_ref().map_or(0, |active| active.index_bytes())
        })?;
        store.flush()?;
        store.put(b"after", b"2")?;
        sim.crash_process();
        drop(store);
        let store = open()?;
        assert!(store.recovery().damage.is_empty(), "{:?}", store.recovery());
        assert_eq!(store.get(b"after")?.as_deref(), Some(&b"2"[..]));
        Ok(())
    }

    /// What is older is known no later, though it is in a table already and no memtable has it.
    #[test]
    fn what_is_flushed_and_not_committed_is_committed_before_an_ingestion() -> Result<()> {
        let sim = Sim::new(1);
        let options = LsmOptions { env: sim.env(), background: Background::Manual, ..LsmOptions::default() };
        let store = Lsm::open("/db", options.clone())?;
        store.put(b"key", b"old")?;
        let inner = &store.inner;
        inner.writable()?.rotate()?;
        if let Some((reader, last_seq)) = inner.writable()?.active_segment() {
            inner.switch_memtable(&reader, last_seq);
        }
        assert!(inner.flush_one()?);
        assert_eq!(inner.uncommitted().len(), 1);
        store.ingest(&mut [Ok((b"key".to_vec(), b"new".to_vec()))].into_iter())?;
        assert!(inner.uncommitted().is_empty());
        inner.compact_all()?;
        assert_eq!(store.get(b"key")?.as_deref(), Some(&b"new"[..]));
        sim.crash_process();
        drop(store);
        let options = LsmOptions { env: sim.env(), ..options };
        assert_eq!(Lsm::open_read_only("/db", options)?.get(b"key")?.as_deref(), Some(&b"new"[..]));
        Ok(())
    }

    /// It ends while level 0 is what it was, whatever was said meanwhile.
    #[test]
    fn who_wakes_writers_does_not_end_an_ingestion_nor_begin_one_anew() -> Result<()> {
        let options =
            LsmOptions { env: Sim::new(1).env(), background: Background::Manual, ..LsmOptions::default() };
        let store = Lsm::open("/db", options)?;
        let inner = &store.inner;
        inner.stall.set(|| Pace::Ingesting);
        inner.set_pace();
        inner.stall.wake();
        assert_eq!(inner.stall.pace(), Pace::Ingesting);
        drop(Held(inner));
        inner.stall.wake();
        assert_eq!(inner.stall.pace(), Pace::Full);
        Ok(())
    }
}
