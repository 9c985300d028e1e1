//! The logger: one line's way from the call into the store.

use super::builder::{LoggerBuilder, OnFull};
use super::encode::{cut, encode};
use super::full::AT_ONCE;
use super::process::OfProcess;
use super::sink::{Sink, SinkError};
use super::{LoggerStats, Record, exit};
use crate::error::{Error, Result};
use crate::store::{Batch, Durability, Store};
use crate::value::{Level, Value};
use duramen_engine::io::Env;
use duramen_engine::wal::WriteOptions;
use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The most bytes that a thread's buffer keeps from one line to the next.
const KEPT_BUFFER_BYTES: usize = 256 << 10;

thread_local! {
    /// Where this thread encodes its lines.
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// A logger. Clones are the same logger; every method may be called from any number of threads.
///
/// A line survives the death of the process as soon as the call returns ([`LoggerBuilder::durability`]), and every
/// reader, in any process, sees it. No call panics, logs by itself (but for the one entry that says how many lines
/// were refused), or holds a lock while it waits for a device. A call waits for the device only if its level is one
/// of [`LoggerBuilder::sync_levels`], and for room no longer than [`LoggerBuilder::on_full`] says. Once a thread's
/// buffer has grown, a call allocates nothing.
///
/// After a fork the child's first call opens the store again, as a writer of its own; nothing of the parent's is
/// touched, and both go on.
///
/// Dropping the last clone seals and syncs what was logged, which takes as long as the device takes for it, but leaves
/// putting it into tables to the next keeper; [`Logger::close`] does that, too. A logger that is never dropped is
/// synced when the process ends through `exit` or by returning from `main`.
#[derive(Clone)]
pub struct Logger {
    core: Arc<Core>,
}

/// Where it is, not all that it holds: that is the whole store, in a program's logs and panics.
impl std::fmt::Debug for Logger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Logger").field("dir", &self.core.options.dir).finish_non_exhaustive()
    }
}

/// What the clones share.
#[derive(Debug)]
pub(super) struct Core {
    options: LoggerBuilder,
    env: Env,
    process: OfProcess,
    closed: AtomicBool,
}

impl Logger {
    /// Says what a logger into the store in `dir` is to be like.
    pub fn builder(dir: impl AsRef<Path>) -> LoggerBuilder {
        LoggerBuilder::new(dir.as_ref())
    }

    pub(super) fn open(mut options: LoggerBuilder) -> Result<Self> {
        let process = OfProcess::open(&options)?;
        // Children, and a writer after this one, open it again, wherever the process has gone meanwhile.
        options.dir = options.store.env.fs.absolute(&options.dir);
        let core = Arc::new(Core {
            env: options.store.env.clone(),
            process,
            closed: AtomicBool::new(false),
            options,
        });
        exit::remember(Arc::downgrade(&core));
        Ok(Self { core })
    }

    /// Logs a line, as of now.
    ///
    /// # Errors
    /// When there is no room, after the wait that [`LoggerBuilder::on_full`] allows: the engine's `Stalled`,
    /// `FlushFails`, or `Io` with `StorageFull`. The engine's `Io` for a write or sync that failed, and `Poisoned`
    /// as long as there is no new writer after that: the next call tries to make one, and if that fails, or it
    /// fails, too, so does one a second later, two seconds after that, and so on up to half a minute.
    /// [`Error::Invalid`] if the line has too many fields, or is too long. What kept a forked child from opening
    /// the store. In all cases the line was counted in [`Logger::stats`], and is not in the log; unless it was the
    /// one whose write or sync failed, when nobody knows.
    #[inline]
    pub fn log(&self, level: Level, message: &str, fields: &[(&str, Value<'_>)]) -> Result<()> {
        let time_ns = self.core.env.clock.now_unix_ns();
        self.log_at(&Record { time_ns, level, message, fields })
    }

    /// Logs a line with its own time.
    ///
    /// # Errors
    /// As [`Logger::log`].
    pub fn log_at(&self, record: &Record<'_>) -> Result<()> {
        let core = &*self.core;
        let process = core.here()?;
        BUFFER
            .try_with(|buffer| match buffer.try_borrow_mut() {
                Ok(mut buffer) => core.append(process, record, &mut buffer),
                // A line logged in the middle of another, by an allocator that logs.
                Err(_) => core.append(process, record, &mut Vec::new()),
            })
            // A line logged by the destructor of another thread-local value.
            .unwrap_or_else(|_| core.append(process, record, &mut Vec::new()))
    }

    /// Appends a batch of entries as they are: without the logger's own fields, limits and `sync_levels`, but with
    /// its care: a writer that has stopped is replaced, and a full store is waited for as long as `on_full` says. All of
    /// it survives a crash, or nothing. The batch is empty afterwards if that went well.
    ///
    /// For servers and shippers, which tell their clients of a refusal: none is counted, or told in the log.
    ///
    /// # Errors
    /// As [`Logger::log`]; the batch is as it was, and may be appended again.
    pub fn append_batch(&self, batch: &mut Batch, on_full: OnFull) -> Result<()> {
        let process = self.core.here()?;
        process.append_batch(&self.core.env, on_full, batch)?;
        if process.renewal.is_untold() {
            self.core.tell();
        }
        Ok(())
    }

    /// Makes every line that was logged before the call, in this process, survive a loss of power.
    ///
    /// # Errors
    /// What the file system said; then the writer has stopped. [`Error::NotYetSafe`] if an earlier one had, and its
    /// lines are not in tables yet: they are not synced again, for that would prove nothing.
    pub fn sync(&self) -> Result<()> {
        self.core.sync()
    }

    /// Puts every line into tables if this process is the keeper, and otherwise has the keeper do so soon.
    ///
    /// # Errors
    /// As [`Store::flush`].
    pub fn flush(&self) -> Result<()> {
        self.core.tell();
        self.store()?.flush()
    }

    /// Seals and syncs what was logged and, if this process is the keeper, puts it into tables. Later lines are
    /// refused, by every clone; a second close does nothing. In a forked child it ends what the child opened.
    ///
    /// # Errors
    /// What the file system said. Lines that were acknowledged are safe all the same.
    pub fn close(&self) -> Result<()> {
        self.core.close(true)
    }

    /// What was done so far, in this process.
    pub fn stats(&self) -> LoggerStats {
        let mut stats = LoggerStats::default();
        let Some(process) = self.core.process.opened_here() else {
            stats.errors = self.core.process.refused_unopened();
            return stats;
        };
        if let Some(metrics) = process.store.wal_metrics() {
            stats.lines = metrics.records;
            stats.bytes = metrics.bytes;
        }
        stats.incidents = process.store.incidents();
        process.refusals.fill(&mut stats);
        process.renewal.fill(&mut stats);
        stats
    }

    /// The store, to read what was logged, by this process and all others. In a forked child, the child's.
    ///
    /// # Errors
    /// What kept a forked child from opening it.
    pub fn store(&self) -> Result<&Store> {
        Ok(&self.core.here()?.store)
    }
}

impl Core {
    /// What this process has opened; a forked child opens it now.
    #[inline]
    fn here(&self) -> Result<&OfProcess> {
        if self.process.is_here() {
            return Ok(&self.process);
        }
        if self.closed.load(Ordering::SeqCst) {
            return Err(Error::Invalid("the logger is closed".into()));
        }
        self.process.in_child(&self.options)
    }

    #[inline]
    fn append(&self, process: &OfProcess, record: &Record<'_>, buffer: &mut Vec<u8>) -> Result<()> {
        let options = &self.options;
        let message = cut(record.message, options.max_message_bytes);
        let synced = options.sync_levels & 1 << record.level as u8 != 0;
        let durability = synced.then_some(Durability::Sync);
        let appended =
            encode(buffer, &options.stream_fields, &process.constants, record, message).and_then(|len| {
                let entry = buffer.get(..len).unwrap_or_default();
                process.append(&self.env, options.on_full, entry, WriteOptions { durability, ..AT_ONCE })
            });
        if buffer.capacity() > KEPT_BUFFER_BYTES {
            *buffer = Vec::new();
        }
        match &appended {
            Ok(()) => {
                if message.1.is_some() {
                    process.refusals.count_truncated();
                }
                // A line that was taken says that it goes on.
                if process.refusals.are_untold() || process.renewal.is_untold() {
                    self.tell();
                }
            }
            Err(e) => process.refusals.count(e),
        }
        appended
    }

    /// Says in the log what was refused, and that the writer was replaced, if that is so.
    #[cold]
    fn tell(&self) {
        if let Some(process) = self.process.opened_here() {
            let now_ns = self.env.clock.now_unix_ns();
            process.tell_renewed(now_ns, &self.options.stream_fields);
            process.tell(now_ns, &self.options.stream_fields);
        }
    }

    pub(super) fn sync(&self) -> Result<()> {
        self.tell();
        self.process.opened_here().map_or(Ok(()), |process| process.store.sync())
    }

    fn close(&self, fold: bool) -> Result<()> {
        if self.closed.swap(true, Ordering::SeqCst) {
            return Ok(());
        }
        self.tell();
        self.process.opened_here().map_or(Ok(()), |process| process.store.shut_down(fold))
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        // Nobody is left to be told.
        let _best_effort = self.close(false);
    }
}

impl Sink for Logger {
    fn log(&self, record: &Record<'_>) -> Result<(), SinkError> {
        Ok(self.log_at(record)?)
    }

    fn flush(&self) -> Result<(), SinkError> {
        Ok(self.sync()?)
    }

    fn close(&self) -> Result<(), SinkError> {
        Ok(Logger::close(self)?)
    }
}
