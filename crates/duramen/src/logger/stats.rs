//! What a logger has done.

use crate::store::Incidents;

/// What a logger has done in this process: a forked child counts from zero.
#[derive(Clone, Debug, Default)]
pub struct LoggerStats {
    /// Lines that are in the log.
    pub lines: u64,
    /// Bytes that they took in the write-ahead log.
    pub bytes: u64,
    /// Lines whose message was cut.
    pub truncated: u64,
    /// Lines that were refused because there was no room: see [`super::OnFull`].
    pub dropped: u64,
    /// Lines whose call failed for any other reason: over a limit, or the writer has stopped.
    pub errors: u64,
    /// How often the writer was replaced after a failed write or sync.
    pub reopened: u64,
    /// Lines that were acknowledged before such a failure and not known to be on the device, all together. They are
    /// in the log unless power was lost before the keeper had put them into tables, which takes it a moment.
    pub unsynced: u64,
    /// What was wrong the last time that a call failed.
    pub last_error: Option<String>,
    /// What went wrong in the background.
    pub incidents: Incidents,
}
