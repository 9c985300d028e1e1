//! Logs in SQL: SQLite and PostgreSQL as back ends of Duramen's logger, and as a source that is queried and
//! imported.
//!
//! For those who keep logs in a database because it is there anyway. A line waits in a queue until a batch is
//! full, the interval is over, or its level is one of those that wait for nothing; one thread a sink writes
//! batches, each a transaction.
//!
//! | module | what it is |
//! |---|---|
//! | [`options`] | what all sinks have in common: batch size, interval, eager levels, limits |
//! | [`stats`] | where every line that was logged has gone |
//! | [`error`] | what can go wrong |
//! | `line` | a line as the table has it: fields as JSON, and back |
//! | `queue` | lines on their way to the database, and the thread that writes them |
//! | [`schema`] | the tables |
//! | [`sqlite`], [`mod@postgres`] | one database each: the sink, and reading |
//! | [`sql`] | LogsQL over the table: SQL narrows, the query engine decides |
//! | [`import`] | tables into a store: our own, and any other with a key |

#[cfg(not(any(feature = "sqlite", feature = "postgres")))]
compile_error!("duramen-sinks holds nothing without one of its features: sqlite, postgres");

pub mod error;
pub mod import;
mod line;
pub mod options;
#[cfg(feature = "postgres")]
pub mod postgres;
mod queue;
pub mod schema;
pub mod sql;
#[cfg(feature = "sqlite")]
pub mod sqlite;
pub mod stats;

pub use error::{Error, Result};
pub use options::{SinkOptions, WhenFull};
#[cfg(feature = "postgres")]
pub use postgres::{PostgresSink, PostgresSinkOptions};
pub use sql::SqlLogs;
#[cfg(feature = "sqlite")]
pub use sqlite::{JournalMode, SqliteSink, SqliteSinkOptions, Synchronous};
pub use stats::SinkStats;
