//! Where every line that was logged has gone.

/// Counts of a sink's lines since it was opened. Every line given to [`duramen::Sink::log`] is in exactly one of
/// `written`, `queued`, `failed` and `dropped`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SinkStats {
    /// Lines that are committed.
    pub written: u64,
    /// Lines that wait, those being written now among them.
    pub queued: u64,
    /// Lines that were taken and lost: refused by the database, or waiting when it failed for good.
    pub failed: u64,
    /// Lines that were not taken: the queue was full, the line invalid, the sink failed or closed. Their caller
    /// was told.
    pub dropped: u64,
    /// Transactions that were committed.
    pub batches: u64,
    /// Attempts that failed and were, or will be, repeated.
    pub retries: u64,
    /// What the database said last when something failed.
    pub last_error: Option<String>,
}
