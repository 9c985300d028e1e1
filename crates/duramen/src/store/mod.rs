//! The log store: a directory that any number of processes append to and read from.

mod ahead;
mod background;
mod block_cache;
mod checkpoint;
mod compact;
mod cut;
pub(crate) mod delete;
mod field_counts;
mod flush;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing;
mod keeper;
mod kept_view;
mod kept_word_filters;
mod kind;
mod known_words;
mod layout;
mod live;
mod merge;
mod newest;
mod open;
mod options;
mod origins;
mod payload;
mod pin;
mod put_back;
mod ranges_ahead;
mod readers;
mod reading;
mod reencode;
mod renew;
mod retained;
pub(crate) mod retention;
mod room;
mod rows;
mod scan;
mod seam;
pub(crate) mod shared;
mod size;
mod snapshot;
pub(crate) mod some_rows;
mod source;
mod stats;
mod table_blocks;
mod table_facts;
mod tables;
mod tail;
mod unnamed;
mod verify;
mod writers;

pub use block_cache::{BlockCache, MAX_CACHED_BLOCKS};
pub use checkpoint::CheckpointReport;
pub use compact::{MAX_MERGE_INPUT_AT_CLOSE_RAW_BYTES, MAX_MERGE_INPUT_RAW_BYTES, MIN_MERGE_WIDTH};
pub use delete::{DeleteReport, Matches};
pub use duramen_engine::wal::Durability;
pub use field_counts::{FieldCount, FieldCounts, MAX_COUNTED_FIELDS};
pub use kept_word_filters::MAX_KEPT_FILTER_BYTES;
pub use options::StoreOptions;
pub use payload::{Batch, MAX_BATCH_BYTES, MAX_BATCH_ENTRIES};
pub use put_back::{Aside, PutBackReport};
pub use retention::{
    MAX_RETENTION_RULES, MIN_RETENTION_AGE, Removed, Retention, RetentionCounts, RetentionLines,
    RetentionRule, StreamSelector,
};
pub use scan::ScanRow;
pub use shared::{Incidents, MAX_INCIDENTS};
pub use size::StoreSize;
pub use snapshot::Snapshot;
pub use source::SourcePosition;
pub use stats::{ClassStats, DayStats, StoreStats, WalStats};
pub use tables::MAX_OPEN_TABLES;
pub use tail::Tail;
pub use verify::{Damage, VerifyProgress, VerifyReport};

use crate::entry::EntryRef;
use crate::error::{Error, Result};
use background::{Background, KeeperSlot, Signal, flush_at_bytes};
use duramen_engine::wal::{Wal, WalMetrics, WalOptions, WriteOptions};
use shared::{Shared, lock};
use snapshot::Snapshots;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// What an entry is known by, for ever: who wrote it, and as its how-manieth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryId {
    /// The writer: random, new each time a process opens a store and appends.
    pub writer: u64,
    /// Counts from 1, without gaps.
    pub seq: u64,
}

/// An open store. Share it in an `Arc`: every method may be called from any number of threads, and any
/// number of processes may have the same directory open.
///
/// A line is visible to every reader, in this process and others, as soon as [`Store::append`] returns, and
/// then survives what [`StoreOptions::durability`] says.
///
/// A store does not outlive a fork: in the child, every call fails with [`duramen_engine::Error::Forked`], and
/// dropping it does nothing. The child opens the directory again; [`crate::Logger`] does so by itself.
///
/// ```
/// use duramen::{EntryBuf, Level, Store};
/// use std::ops::ControlFlow;
/// # let dir = tempfile::tempdir()?;
/// # let dir = dir.path().join("logs");
/// let store = Store::open(&dir)?;
/// let mut entry = EntryBuf::new(["app"]);
/// entry.start(1_700_000_000_000_000_000).level(Level::Info).message("ready").field("app", "web");
/// store.append(entry.finish()?)?;
///
/// let mut messages = Vec::new();
/// store.scan(i64::MIN, i64::MAX, &mut |row| {
///     messages.push(row.message().to_owned());
///     ControlFlow::Continue(())
/// })?;
/// assert_eq!(messages, ["ready"]);
/// store.close()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Store {
    shared: Arc<Shared>,
    snapshots: Arc<Snapshots>,
    keeper: KeeperSlot,
    signal: Arc<Signal>,
    background: Mutex<Option<Background>>,
    making_wal: Mutex<()>,
    closed: AtomicBool,
    read_only: bool,
}

/// Where it is, not all that it holds: that is the whole store, in a program's logs and panics.
impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store")
            .field("dir", &self.shared.layout.root())
            .field("read_only", &self.read_only)
            .finish_non_exhaustive()
    }
}

impl Store {
    /// Opens the store in `dir` with the default [`StoreOptions`], making it, and the directory, if missing.
    ///
    /// # Errors
    /// [`Error::NotAStore`] if the directory holds something else; the engine's for options that cannot be, before anything is
    /// made, for what the file system said, for damage in the manifest, and for a store made by a newer version.
    pub fn open(dir: impl AsRef<Path>) -> Result<Self> {
        StoreOptions::default().open(dir)
    }

    /// Opens the store in `dir` for reading. Takes no lock and writes nothing.
    ///
    /// # Errors
    /// [`Error::NoStore`] if there is none; otherwise as [`Store::open`].
    pub fn open_read_only(dir: impl AsRef<Path>) -> Result<Self> {
        StoreOptions::default().open_read_only(dir)
    }

    pub(crate) fn open_with(dir: &Path, options: StoreOptions) -> Result<Self> {
        open::read_write(dir, options)
    }

    /// Appends an entry, as [`crate::EntryBuf::finish`] gives it. Waits while all write buffers are full, that
    /// is until a keeper, in this process or another, has put one into tables; fails if this process's cannot.
    ///
    /// # Errors
    /// [`Error::ReadOnly`]; [`Error::Decode`] if the bytes are no entry; the engine's
    /// [`duramen_engine::Error::Poisoned`] after a failed write or sync, and what the file system said.
    /// Without an `Ok` the entry may be there or not.
    pub fn append(&self, entry: &[u8]) -> Result<EntryId> {
        self.append_with(entry, WriteOptions::default())
    }

    /// Appends an entry with its own durability, or without waiting for a full write buffer.
    ///
    /// # Errors
    /// As [`Store::append`]; and [`duramen_engine::Error::Stalled`] if waiting was refused.
    pub fn append_with(&self, entry: &[u8], options: WriteOptions) -> Result<EntryId> {
        EntryRef::decode_known(entry)?;
        self.append_known(entry, options)
    }

    /// As [`Store::append_with`], for bytes that were encoded a moment ago and need no second look.
    #[inline]
    pub(crate) fn append_known(&self, entry: &[u8], options: WriteOptions) -> Result<EntryId> {
        let wal = self.wal()?;
        let seq = wal.append(payload::ENTRY, 1, entry, options)?;
        Ok(EntryId { writer: wal.writer_id(), seq })
    }

    /// Appends a batch, and how far its source has been read if it was read from one: all of it survives a
    /// crash, or nothing. The batch is empty afterwards if that went well; an empty one does nothing.
    ///
    /// # Errors
    /// As [`Store::append`].
    pub fn append_batch(&self, batch: &mut Batch, source: Option<&SourcePosition>) -> Result<()> {
        self.append_batch_with(batch, source, WriteOptions::default())
    }

    /// As [`Store::append_batch`], with the batch's own durability, or without waiting for a full write buffer.
    ///
    /// # Errors
    /// As [`Store::append_with`].
    pub fn append_batch_with(
        &self,
        batch: &mut Batch,
        source: Option<&SourcePosition>,
        options: WriteOptions,
    ) -> Result<()> {
        if batch.is_empty() {
            return Ok(());
        }
        let wal = self.wal()?;
        batch.with_payload(source, |count, payload| {
            wal.append(payload::BATCH, count, payload, options)?;
            Ok(())
        })?;
        batch.clear();
        Ok(())
    }

    /// Makes this process's writer now, so that the first append need not.
    pub(crate) fn make_writer(&self) -> Result<()> {
        self.wal().map(drop)
    }

    /// This process's writer; made when first asked for, so that readers never become writers.
    #[inline]
    fn wal(&self) -> Result<&Wal> {
        match self.shared.wal.newest() {
            Some(wal) => Ok(wal), // it knows itself whether it was forked
            None => self.wal_made_now(),
        }
    }

    #[cold]
    fn wal_made_now(&self) -> Result<&Wal> {
        self.shared.not_forked()?;
        if self.read_only {
            return Err(Error::ReadOnly);
        }
        let _one_makes_it = lock(&self.making_wal);
        if self.shared.wal.newest().is_none() {
            self.shared.wal.push(self.create_wal()?);
        }
        self.shared.wal.newest().ok_or(Error::ReadOnly)
    }

    fn create_wal(&self) -> Result<Wal> {
        let signal = Arc::downgrade(&self.signal);
        let options = &self.shared.options;
        let flush_at_bytes = flush_at_bytes(options);
        let wal_options = WalOptions {
            on_sealed: Some(Arc::new(move |_, bytes| {
                if let Some(signal) = signal.upgrade() {
                    signal.sealed(bytes, flush_at_bytes);
                }
            })),
            ..options.wal()
        };
        Ok(Wal::create(&self.shared.env, &self.shared.layout.wal(), wal_options)?)
    }

    /// Makes everything this process appended survive a loss of power.
    ///
    /// # Errors
    /// What the file system said; then the writer is poisoned. [`Error::NotYetSafe`], through a [`crate::Logger`], that
    /// goes on after that.
    pub fn sync(&self) -> Result<()> {
        let Some(wal) = self.shared.wal.newest() else { return Ok(()) };
        wal.sync()?;
        self.sync_stopped()
    }

    /// Seals what this process appended, and if it is the keeper, puts everything sealed, its own and
    /// others', into tables before it returns. If another process is, that one does it, soon.
    ///
    /// # Errors
    /// What the file system said; [`Error::ReadOnly`].
    pub fn flush(&self) -> Result<()> {
        self.shared.not_forked()?;
        if self.read_only {
            return Err(Error::ReadOnly);
        }
        // Once before, because sealing needs a free write buffer, and once after, for what was sealed.
        self.keep()?;
        if let Some(wal) = self.shared.wal.newest() {
            wal.rotate()?;
            wal.background_step()?;
        }
        self.keep()
    }

    fn keep(&self) -> Result<()> {
        if self.shared.options.keeper { background::step(&self.shared, &self.keeper) } else { Ok(()) }
    }

    /// Merges small tables until there is nothing to merge, if this process is the keeper or can become it;
    /// otherwise does nothing. Ends sooner while another thread, or another process, deletes lines or sets the retention policy.
    ///
    /// # Errors
    /// What the file system said; [`Error::ReadOnly`].
    pub fn compact(&self) -> Result<()> {
        self.shared.not_forked()?;
        if self.read_only {
            return Err(Error::ReadOnly);
        }
        if self.shared.options.keeper {
            background::compact(&self.shared, &self.keeper, MAX_MERGE_INPUT_RAW_BYTES, &|| false)
        } else {
            Ok(())
        }
    }

    /// Whether this process is the keeper. Waits for the flush or merge that it is at.
    pub fn is_keeper(&self) -> bool {
        self.shared.not_forked().is_ok() && lock(&self.keeper).is_some()
    }

    /// Seals, syncs and flushes everything, and ends the background threads. Dropping a store does the same
    /// and has nobody to tell of an error.
    ///
    /// # Errors
    /// What the file system said. What was acknowledged is safe all the same: the next keeper recovers it.
    pub fn close(self) -> Result<()> {
        self.shut_down(true)
    }

    /// Closes it as [`Store::close`] does, and says what [`Store::incidents`] there were, in closing it, too: only then the last
    /// lines are put into tables, which may be too late for the retention policy.
    pub fn close_with_incidents(self) -> (Result<()>, Incidents) {
        let closed = self.shut_down(true);
        (closed, self.incidents())
    }

    /// Ends the background threads and the writer; with `fold`, flushes everything, too. Without, what was
    /// appended is sealed and synced, and put into tables by the next keeper.
    pub(crate) fn shut_down(&self, fold: bool) -> Result<()> {
        self.shared.not_forked()?;
        if self.closed.swap(true, Ordering::SeqCst) || self.read_only {
            return Ok(());
        }
        if let Some(mut background) = lock(&self.background).take() {
            background.stop();
        }
        // Who replaces the writer just now goes first; nobody does after us.
        drop(lock(&self.making_wal));
        let closed = self.shared.close_wal();
        let flushed = if fold && self.shared.options.keeper {
            self.keep().and_then(|()| {
                background::compact(&self.shared, &self.keeper, MAX_MERGE_INPUT_AT_CLOSE_RAW_BYTES, &|| false)
            })
        } else {
            Ok(())
        };
        *lock(&self.keeper) = None;
        closed?;
        flushed
    }

    /// A view of everything in the store at this moment.
    ///
    /// # Errors
    /// What the file system said; damage in the manifest.
    pub fn snapshot(&self) -> Result<Snapshot> {
        self.snapshots.take()
    }

    /// Calls `each` with every entry from `min_time` to `max_time` (ns since the epoch, both included), in
    /// order of time and then as they were written, until it breaks. Blocks are decoded on up to four threads, as many as
    /// there are processors, some before their entries are due; each takes up to some 32 MiB of memory until they were, long free
    /// text only some 1 MiB, and as much stays for the next scan.
    ///
    /// # Errors
    /// As [`Store::snapshot`]; damage in a table.
    pub fn scan(
        &self,
        min_time: i64,
        max_time: i64,
        each: &mut dyn FnMut(&ScanRow<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let blocks = self.snapshot()?.blocks(min_time, max_time);
        let clock = &*self.snapshots.shared().env.clock;
        scan::scan(blocks, clock, self.snapshots.page_buffers(), (min_time, max_time), each)
    }

    /// Follows what is appended from now on, by any process.
    ///
    /// # Errors
    /// As [`Store::snapshot`].
    pub fn tail(&self) -> Result<Tail> {
        Tail::new(self.snapshots.clone())
    }

    /// How far each source has been read into the store.
    ///
    /// # Errors
    /// As [`Store::snapshot`]; damage in a segment that is not in tables yet.
    pub fn source_positions(&self) -> Result<Vec<SourcePosition>> {
        self.snapshots.source_positions()
    }

    /// Counts and sizes.
    ///
    /// # Errors
    /// As [`Store::snapshot`].
    pub fn stats(&self) -> Result<StoreStats> {
        self.snapshots.stats()
    }

    /// How much it holds: of [`Store::stats`] what costs next to nothing. No table is opened, and of segments only those
    /// records are read that each writer's newest has got since the last call.
    ///
    /// # Errors
    /// As [`Store::snapshot`].
    pub fn size(&self) -> Result<StoreSize> {
        self.snapshots.size()
    }

    /// Reads every byte and checks every checksum, telling `progress` as it goes. Goes on after damage.
    ///
    /// # Errors
    /// Only what keeps it from looking at all; damage is in the report.
    pub fn verify(&self, progress: &mut dyn FnMut(VerifyProgress)) -> Result<VerifyReport> {
        self.snapshots.verify(progress)
    }

    /// Of what [`Store::verify`] finds, what the tables' names and heads tell: those that may be the only place for their
    /// lines, and that the manifest does not name. None while some process is keeper, which looked after them when it
    /// became one.
    ///
    /// # Errors
    /// What keeps it from looking at all.
    pub fn lost_tables(&self) -> Result<Vec<Damage>> {
        self.snapshots.lost_tables()
    }

    /// What went wrong in the background. Nothing is known of it in a forked child.
    pub fn incidents(&self) -> Incidents {
        if self.shared.not_forked().is_ok() { self.shared.incidents() } else { Incidents::default() }
    }

    /// This process's writer's counters; `None` before its first append.
    pub fn wal_metrics(&self) -> Option<WalMetrics> {
        self.shared.not_forked().ok()?;
        self.shared.wal.metrics()
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        if self.shared.not_forked().is_err() {
            // Its threads and locks are another process's: all of it stays as it is.
            let background = self.background.get_mut().unwrap_or_else(PoisonError::into_inner);
            std::mem::forget((
                background.take(),
                self.shared.clone(),
                self.snapshots.clone(),
                self.keeper.clone(),
            ));
            return;
        }
        if let Err(e) = self.shut_down(true) {
            self.shared.incident(e);
        }
    }
}
