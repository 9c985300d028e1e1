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
        let _one_at_a_time = self.ingesting.lock().unwrap_or_else(PoisonError::into_inner);
        self.stall.set(|| Pace::Ingesting);
        let held = Held(self);
        // Late writers' tables would be looked at after these if they were below level 0 before these are there.
        let they_stay = self.compactions.hold();
        let adopted = self.take_number().and_then(|seq| self.put_in_place(tables, seq));
        drop(they_stay);
        drop(held);
        self.background.wake();
        adopted
    }

    /// A sequence number with nothing older in memtables.
    fn take_number(&self) -> Result<u64> {
        let wal = self.writable()?;
        // Writers that were past the check already may still come, so whether all memtables are empty is asked again
        // where none can: under the WAL's lock, when the number is taken. If one was quicker, the number is no good: its
        // memtable would be looked at before the tables, and what it holds is older.
        loop {
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
                return Ok(taken.first_seq);
            }
        }
    }

    /// Gives the tables their names, and has the manifest know them under this number.
    fn put_in_place(&self, tables: &mut [Written], seq: u64) -> Result<u64> {
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
        let closed = self.emptied.close();
        let mut manifest = self.manifest();
        // What late writers wrote meanwhile may be in tables already.
        let known = flushed_seq_of(manifest.get()?.state())?;
        edit.set_values.push(flushed_seq(seq.max(known)));
        self.apply(&mut manifest, edit)?;
        drop(manifest);
        drop(closed);
        self.visible.fetch_max(seq, Ordering::AcqRel);
        Ok(entries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Result;
    use crate::io::Clock;
    use crate::io::sim::Sim;
    use crate::kv::Engine;
    use crate::lsm::{Lsm, LsmOptions};
    use crate::wal::Background;
    use std::fmt::Debug;
    use std::sync::mpsc::{RecvTimeoutError, channel};
    use std::sync::{Arc, Mutex};
    use std::time::Duration;

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

    /// Calls something when it is asked for the time of day, once.
    struct Asked {
        clock: Arc<dyn Clock>,
        then: Mutex<Option<Box<dyn FnOnce() + Send>>>,
    }

    impl Debug for Asked {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("Asked")
        }
    }

    impl Clock for Asked {
        fn now_unix_ns(&self) -> i64 {
            let then = self.then.lock().ok().and_then(|mut then| then.take());
            then.into_iter().for_each(|then| then());
            self.clock.now_unix_ns()
        }

        fn monotonic(&self) -> Duration {
            self.clock.monotonic()
        }

        fn boot_id(&self) -> u64 {
            self.clock.boot_id()
        }
    }

    /// Ingests a key, and does something when the number is taken, and the manifest does not know the tables: two writers that
    /// were past the check before have written the same key, and their tables are in level 0.
    fn ingest_beside(then: impl FnOnce(&Arc<Lsm>) + Send + 'static) -> Result<Arc<Lsm>> {
        let mut env = Sim::new(1).env();
        let clock = Arc::new(Asked { clock: Arc::clone(&env.clock), then: Mutex::default() });
        env.clock = Arc::clone(&clock) as Arc<dyn Clock>;
        let options = LsmOptions {
            env,
            background: Background::Manual,
            level0_file_num_compaction_trigger: 2,
            ..LsmOptions::default()
        };
        let store = Arc::new(Lsm::open("/db", options)?);
        let late = Arc::downgrade(&store);
        let then = move || {
            let Some(store) = late.upgrade() else { return };
            store.inner.stall.set(|| Pace::Full);
            for value in [&b"later"[..], b"late"] {
                let written = store.put(b"key", value).and_then(|()| store.inner.flush_all());
                assert!(written.is_ok(), "{written:?}");
            }
            store.inner.stall.set(|| Pace::Ingesting);
            then(&store);
        };
        if let Ok(mut armed) = clock.then.lock() {
            *armed = Some(Box::new(then));
        }
        store.ingest(&mut [Ok((b"key".to_vec(), b"ingested".to_vec()))].into_iter())?;
        assert!(clock.then.lock().is_ok_and(|armed| armed.is_none()));
        Ok(store)
    }

    #[test]
    fn what_a_late_writer_wrote_is_never_behind_what_is_ingested() -> Result<()> {
        let store = ingest_beside(|store| {
            let compacted = store.inner.compact_one();
            assert!(compacted.is_ok(), "{compacted:?}");
        })?;
        assert_eq!(store.get(b"key")?.as_deref(), Some(&b"late"[..]));
        assert!(store.inner.compact_one()?, "compaction goes on");
        assert_eq!(store.get(b"key")?.as_deref(), Some(&b"late"[..]));
        Ok(())
    }

    /// Nor if somebody asks for a compaction of everything.
    #[test]
    fn who_compacts_everything_waits_for_the_end_of_an_ingestion() -> Result<()> {
        let (send, compacting) = channel();
        let store = ingest_beside(move |store| {
            let (end, ended) = channel();
            let store = Arc::clone(store);
            let thread = std::thread::spawn(move || {
                let compacted = store.inner.compact_all();
                let _nobody_may_listen = end.send(());
                compacted
            });
            let too_early = ended.recv_timeout(Duration::from_millis(200));
            assert_eq!(too_early, Err(RecvTimeoutError::Timeout));
            let _received_below = send.send(thread);
        })?;
        assert_eq!(store.get(b"key")?.as_deref(), Some(&b"late"[..]));
        compacting.recv().unwrap().join().unwrap()?;
        assert_eq!(store.get(b"key")?.as_deref(), Some(&b"late"[..]));
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
