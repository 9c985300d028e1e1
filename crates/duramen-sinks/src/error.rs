//! What can go wrong with logs in SQL.

use std::sync::Arc;

/// The result of every fallible call.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong, and so what the caller can do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The sink was closed before. The line was not taken.
    #[error("the sink is closed")]
    Closed,
    /// An option or a line is over a limit, or malformed. A line was not taken.
    #[error("{0}")]
    Invalid(String),
    /// The queue is at its limit and does not wait, or waited in vain. The line was not taken, and was counted.
    #[error("the queue is full: {queued} lines wait for the database{}", reason(.why))]
    QueueFull {
        /// How many lines wait.
        queued: u64,
        /// What the database said last, if it said anything.
        why: Option<Arc<str>>,
    },
    /// The database did not take it in time. The lines are still in the queue, and are tried again.
    #[error("not written within {timeout_ms} ms: {queued} lines wait for the database{}", reason(.why))]
    Timeout {
        /// How long the call waited.
        timeout_ms: u64,
        /// How many lines wait.
        queued: u64,
        /// What the database said last, if it said anything.
        why: Option<Arc<str>>,
    },
    /// The database refused these lines for what they are. They are lost, and were counted; all others are not.
    #[error("{count} lines were refused by the database and are lost: {why}")]
    LinesLost {
        /// How many since this was last said.
        count: u64,
        /// What it said of the last of them.
        why: Arc<str>,
    },
    /// The database will not take anything any more. Every later call says so; what waited is lost, and was counted.
    #[error("the sink has failed: {0}; open it again once that is mended")]
    Failed(Arc<str>),
    /// The database's tables were made by a newer version.
    #[error(
        "the tables have schema version {found}, made by a newer duramen; this one knows versions up to {known}"
    )]
    NewerSchema {
        /// The version found.
        found: i64,
        /// The newest version known.
        known: i64,
    },
    /// The database holds no log tables, and the call does not make them.
    #[error("no log tables in {0}: a sink makes them when it is opened; name another table with --table")]
    NoTables(String),
    /// What the database or its client said.
    #[error("{0}")]
    Database(String),
}

fn reason(why: &Option<Arc<str>>) -> String {
    why.as_ref().map_or_else(String::new, |why| format!(" ({why})"))
}
