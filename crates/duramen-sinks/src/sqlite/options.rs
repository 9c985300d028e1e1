//! How an SQLite database is opened for writing.

use super::SqliteSink;
use super::backend::SqliteBackend;
use super::tables;
use crate::error::{Error, Result};
use crate::options::SinkOptions;
use crate::queue::BatchSink;
use rusqlite::Connection;
use std::path::Path;
use std::time::Duration;

/// SQLite's journal: how a transaction is made atomic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum JournalMode {
    /// A write-ahead log beside the database: readers and the writer do not wait for each other.
    #[default]
    Wal,
    /// A rollback journal, deleted at each commit: works on network file systems, and syncs three times a commit.
    Delete,
}

/// SQLite's `synchronous`: what a committed transaction survives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Synchronous {
    /// The death of the process; a loss of power may damage the database.
    Off,
    /// The death of the process. After a loss of power the last transactions may be missing, and with
    /// [`JournalMode::Wal`] the database is whole.
    #[default]
    Normal,
    /// A loss of power.
    Full,
}

impl JournalMode {
    fn name(self) -> &'static str {
        match self {
            Self::Wal => "wal",
            Self::Delete => "delete",
        }
    }
}

impl Synchronous {
    fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Normal => "normal",
            Self::Full => "full",
        }
    }
}

/// How to open an SQLite database for writing.
///
/// ```
/// use duramen_sinks::{JournalMode, SinkOptions, SqliteSinkOptions, Synchronous};
/// # let dir = tempfile::tempdir()?;
/// let sink = SqliteSinkOptions::new()
///     .sink(SinkOptions::new().batch_size(500))
///     .journal_mode(JournalMode::Wal)
///     .synchronous(Synchronous::Full)
///     .open(dir.path().join("logs.db"))?;
/// # drop(sink);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct SqliteSinkOptions {
    sink: SinkOptions,
    journal_mode: JournalMode,
    synchronous: Synchronous,
    busy_timeout_ms: u32,
}

impl Default for SqliteSinkOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl SqliteSinkOptions {
    /// The defaults.
    pub fn new() -> Self {
        Self {
            sink: SinkOptions::new(),
            journal_mode: JournalMode::default(),
            synchronous: Synchronous::default(),
            busy_timeout_ms: 5_000,
        }
    }

    /// When lines are written, and how many may wait.
    pub fn sink(mut self, options: SinkOptions) -> Self {
        self.sink = options;
        self
    }

    /// The journal. Default [`JournalMode::Wal`].
    pub fn journal_mode(mut self, mode: JournalMode) -> Self {
        self.journal_mode = mode;
        self
    }

    /// What a committed line survives. Default [`Synchronous::Normal`].
    pub fn synchronous(mut self, synchronous: Synchronous) -> Self {
        self.synchronous = synchronous;
        self
    }

    /// How long SQLite waits for another writer's lock before an attempt counts as failed and is repeated later.
    /// Default 5,000.
    pub fn busy_timeout_ms(mut self, ms: u32) -> Self {
        self.busy_timeout_ms = ms;
        self
    }

    /// Opens the database, making it and its tables if they are missing. Its directory must be there.
    ///
    /// # Errors
    /// [`Error::NewerSchema`]; [`Error::Invalid`] for an option out of its range; [`Error::Database`] for what
    /// SQLite said, and where it does not take the journal mode (in memory, some network file systems).
    pub fn open(self, path: impl AsRef<Path>) -> Result<SqliteSink> {
        self.sink.check()?;
        let path = path.as_ref();
        let context = |e: rusqlite::Error| Error::Database(format!("cannot open {}: {e}", path.display()));
        let mut connection = Connection::open(path).map_err(context)?;
        connection.busy_timeout(Duration::from_millis(self.busy_timeout_ms.into())).map_err(context)?;
        let mode = self.journal_mode.name();
        let current: String =
            connection.pragma_query_value(None, "journal_mode", |row| row.get(0)).map_err(context)?;
        if current != mode {
            let now: String = connection
                .pragma_update_and_check(None, "journal_mode", mode, |row| row.get(0))
                .map_err(context)?;
            if now != mode {
                let path = path.display();
                return Err(Error::Database(format!(
                    "{path} keeps the journal mode {now} and takes no {mode}"
                )));
            }
        }
        connection.pragma_update(None, "synchronous", self.synchronous.name()).map_err(context)?;
        tables::make(&mut connection, &*self.sink.env.random)?;
        let backend = SqliteBackend::new(connection, path.to_owned(), self.sink.env.clone());
        Ok(SqliteSink(BatchSink::new(backend, self.sink, "duramen-sqlite")?))
    }
}
