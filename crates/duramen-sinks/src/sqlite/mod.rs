//! SQLite: the sink, its tables, and reading them.
//!
//! | file | what it is |
//! |---|---|
//! | `options` | journal mode, synchronous, and opening |
//! | `tables` | making and checking the tables |
//! | `backend` | batches as transactions |
//! | `read` | rows, of one moment |
//! | `import` | tables, to import |

mod backend;
mod import;
mod options;
mod read;
mod tables;
#[cfg(test)]
mod tests;

pub use options::{JournalMode, SqliteSinkOptions, Synchronous};

use crate::error::{Error, Result};
use crate::queue::BatchSink;
use crate::stats::SinkStats;
use backend::SqliteBackend;
use duramen::{Record, Sink, SinkError};
use std::path::Path;

/// Writes lines into an SQLite database. Any thread may use it at any time; so may any number of processes, each
/// with a sink of its own: SQLite lets one of them write at a time.
///
/// A line that [`Sink::log`] took waits in memory until its batch is committed: it survives nothing before, unless
/// its level is one of [`crate::SinkOptions::eager_flush_levels`]. What a committed line survives is
/// [`Synchronous`]'s to say. After `fork`, the child has no thread that writes: it opens a sink of its own.
///
/// Closed when dropped, with nobody to tell of an error: call [`Sink::close`] to hear of it.
///
/// ```
/// use duramen::{Level, Record, Sink, Value};
/// use duramen_sinks::SqliteSink;
/// # let dir = tempfile::tempdir()?;
/// let sink = SqliteSink::open(dir.path().join("logs.db"))?;
/// let fields = [("app", Value::from("checkout")), ("amount", Value::from(12.5))];
/// let record = Record { time_ns: 1_700_000_000_000_000_000, level: Level::Error, message: "refused", fields: &fields };
/// sink.log(&record).map_err(|e| e.to_string())?; // an error: committed when this returns
/// assert_eq!(sink.stats().written, 1);
/// sink.close().map_err(|e| e.to_string())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct SqliteSink(BatchSink<SqliteBackend>);

impl SqliteSink {
    /// Opens a database with the default [`SqliteSinkOptions`], making it and the tables if they are missing.
    ///
    /// # Errors
    /// As [`SqliteSinkOptions::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        SqliteSinkOptions::new().open(path)
    }

    /// Where every line has gone.
    pub fn stats(&self) -> SinkStats {
        self.0.stats()
    }

    /// Writes everything that is due, where [`crate::SinkOptions::background`] is off; otherwise a thread does.
    ///
    /// # Errors
    /// [`Error::Failed`], [`Error::LinesLost`].
    pub fn background_step(&self) -> Result<()> {
        self.0.background_step()
    }
}

/// Errors are [`Error`]s.
impl Sink for SqliteSink {
    fn log(&self, record: &Record<'_>) -> Result<(), SinkError> {
        Ok(self.0.log(record)?)
    }

    fn flush(&self) -> Result<(), SinkError> {
        Ok(self.0.flush()?)
    }

    fn close(&self) -> Result<(), SinkError> {
        Ok(self.0.close()?)
    }
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(error.to_string())
    }
}
