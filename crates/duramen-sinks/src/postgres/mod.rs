//! PostgreSQL: the sink, its tables, and reading them.
//!
//! | file | what it is |
//! |---|---|
//! | `options` | opening |
//! | `address` | where the server is, and how it is spoken to |
//! | `tls` | whose certificate is believed |
//! | `connect` | whether a server answers, and a connection to it |
//! | `client` | a connection on which nothing is waited for without end |
//! | `tables` | making and checking the tables |
//! | `backend` | batches as statements, each once, however often the connection breaks |
//! | `read` | rows, of one moment |
//! | `import` | tables, to import |

mod address;
mod backend;
mod client;
mod connect;
mod import;
mod options;
mod read;
mod tables;
#[cfg(test)]
mod tests;
mod tls;

pub use options::PostgresSinkOptions;

use crate::error::{Error, Result};
use crate::queue::BatchSink;
use crate::stats::SinkStats;
use backend::PostgresBackend;
use duramen::{Record, Sink, SinkError};

/// Writes lines into a PostgreSQL database. Any thread may use it at any time, and any number of processes, each with
/// a sink of its own.
///
/// A line that [`Sink::log`] took waits in memory until its batch is committed, unless its level is one of
/// [`crate::SinkOptions::eager_flush_levels`]. A committed line survives what the server's `synchronous_commit` says:
/// by default, a loss of power. While the server is away, lines wait up to the queue's limits; each batch is there
/// once in the end, also if the connection broke during its commit. After `fork`, the child opens a sink of its own.
///
/// Closed when dropped, with nobody to tell of an error: call [`Sink::close`] to hear of it.
///
/// ```no_run
/// use duramen::{Level, Record, Sink};
/// use duramen_sinks::PostgresSink;
/// let sink = PostgresSink::open("postgres://app@localhost/logs")?;
/// let record = Record { time_ns: 1_700_000_000_000_000_000, level: Level::Error, message: "refused", fields: &[] };
/// sink.log(&record).map_err(|e| e.to_string())?; // an error: committed when this returns
/// sink.close().map_err(|e| e.to_string())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct PostgresSink(BatchSink<PostgresBackend>);

impl PostgresSink {
    /// Connects with the default [`PostgresSinkOptions`], making the tables if they are missing.
    ///
    /// # Errors
    /// As [`PostgresSinkOptions::open`].
    pub fn open(url: &str) -> Result<Self> {
        PostgresSinkOptions::new().open(url)
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
impl Sink for PostgresSink {
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

impl From<tokio_postgres::Error> for Error {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Database(explain(&error))
    }
}

/// What went wrong, in one line: the client's own text says little, and what caused it says the rest.
fn explain(error: &tokio_postgres::Error) -> String {
    use std::error::Error as _;
    match (error.as_db_error(), error.source()) {
        (Some(db), _) => match db.detail() {
            Some(detail) => format!("{} ({detail})", db.message()),
            None => db.message().to_owned(),
        },
        (None, Some(source)) => format!("{error}: {source}"),
        (None, None) => error.to_string(),
    }
}
