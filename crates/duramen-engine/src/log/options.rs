//! How a log is to behave.

use crate::io::Env;
use crate::wal::{Background, Durability};
use crate::{Error, Result};

/// How a [`Log`](super::Log) is to behave. Kept by the caller, not in the store: every option may change from one
/// opening to the next.
#[derive(Clone, Debug)]
pub struct LogOptions {
    /// Files, clock and randomness. Default: the operating system's.
    pub env: Env,
    /// When a write counts as done, unless it says otherwise. Default [`Durability::Sync`].
    /// [`Durability::None`] is as good as [`Durability::Process`]: nothing is kept back in memory.
    pub durability: Durability,
    /// How much of the file, in percent, may be garbage (overwritten, deleted, or saved by packing writes more
    /// densely) before it is compacted in the background: 1 to 99; 0 is never. Default 50.
    pub compaction_garbage_percent: u8,
    /// Below this size in bytes the file is not compacted in the background. Default 1 MiB.
    pub compaction_min_bytes: u64,
    /// Who compacts and syncs at intervals. [`Background::Manual`]: whoever calls
    /// [`Log::background_step`](super::Log::background_step). Default a thread.
    pub background: Background,
}

impl Default for LogOptions {
    fn default() -> Self {
        Self {
            env: Env::os(),
            durability: Durability::Sync,
            compaction_garbage_percent: 50,
            compaction_min_bytes: 1 << 20,
            background: Background::default(),
        }
    }
}

/// A compaction is not worth it for less.
const LEAST_GROWTH_BYTES: u64 = 4096;

impl LogOptions {
    /// Refuses what cannot work.
    pub(super) fn checked(self) -> Result<Self> {
        if self.compaction_garbage_percent > 99 {
            let percent = self.compaction_garbage_percent;
            return Err(Error::InvalidArgument(format!(
                "compaction_garbage_percent {percent} is not in 0..=99"
            )));
        }
        Ok(self)
    }

    /// The size at which a file of which `live_bytes` are needed may be worth compacting.
    pub(super) fn compaction_due_at(&self, live_bytes: u64) -> u64 {
        match u64::from(self.compaction_garbage_percent) {
            0 => u64::MAX,
            percent => {
                let due_at = live_bytes.saturating_mul(100) / (100 - percent);
                due_at.max(live_bytes.saturating_add(LEAST_GROWTH_BYTES)).max(self.compaction_min_bytes)
            }
        }
    }
}
