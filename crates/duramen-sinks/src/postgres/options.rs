//! How a PostgreSQL database is opened for writing.

use super::address::Address;
use super::backend::PostgresBackend;
use super::{PostgresSink, connect, tables};
use crate::error::{Error, Result};
use crate::options::SinkOptions;
use crate::queue::BatchSink;
use std::time::Duration;

/// How to open a PostgreSQL database for writing.
///
/// ```no_run
/// use duramen_sinks::{PostgresSinkOptions, SinkOptions};
/// let sink = PostgresSinkOptions::new()
///     .sink(SinkOptions::new().batch_size(1_000).flush_interval_ms(1_000))
///     .open("host=/run/postgresql dbname=logs")?;
/// # Ok::<(), duramen_sinks::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct PostgresSinkOptions {
    sink: SinkOptions,
    statement_timeout_ms: u64,
}

impl Default for PostgresSinkOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl PostgresSinkOptions {
    /// The defaults.
    pub fn new() -> Self {
        Self { sink: SinkOptions::new(), statement_timeout_ms: 60_000 }
    }

    /// When lines are written, and how many may wait.
    pub fn sink(mut self, options: SinkOptions) -> Self {
        self.sink = options;
        self
    }

    /// How long the server may take to insert a batch; then its statement is cancelled, the connection given up, and half of the
    /// batch tried on another. Batches grow again bit by bit. A server that answers nobody any more is noticed sooner, by `connect_timeout` (10 s). At least 1. Default 60,000.
    pub fn statement_timeout_ms(mut self, ms: u64) -> Self {
        self.statement_timeout_ms = ms;
        self
    }

    /// Connects, and makes the tables if they are missing, in the first schema of the `search_path`. `url` is a
    /// URL (`postgres://user:password@host:port/database`) or words (`host=/run/postgresql dbname=logs`), as
    /// libpq's, its `sslmode` and `sslrootcert` (a file, or `system`, the default) included: by default TLS is
    /// spoken if the server can, and nothing verified; `verify-full` verifies all there is. Certificates of clients
    /// are not known.
    ///
    /// A server that is away now is an error; one that goes away later is waited for.
    ///
    /// # Errors
    /// [`Error::NewerSchema`]; [`Error::Invalid`] for an option out of its range, or a malformed URL;
    /// [`Error::Database`] for what the server or the network said.
    pub fn open(self, url: &str) -> Result<PostgresSink> {
        self.sink.check()?;
        if self.statement_timeout_ms == 0 {
            return Err(Error::Invalid("statement_timeout_ms must be at least 1".into()));
        }
        let limit = Duration::from_millis(self.statement_timeout_ms);
        let address = Address::parse(url)?;
        let random = self.sink.env.random.clone();
        let writer = random.next_u64().cast_signed();
        // The client waits on a runtime of its own, and must not do so on a thread that already has one.
        let backend = connect::on_own_thread(move || {
            let client = connect::connect(&address)?;
            tables::make(&client, &*random)?;
            tables::enter_writer(&client, writer)?;
            Ok::<_, Error>(PostgresBackend::new(address, client, writer, limit))
        })??;
        Ok(PostgresSink(BatchSink::new(backend, self.sink, "duramen-postgres")?))
    }
}
