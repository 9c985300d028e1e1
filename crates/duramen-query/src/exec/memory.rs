//! What a query may hold in memory, counted across its threads.

use crate::error::{Error, Result};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The least that [`share_of_machine_bytes`] gives.
pub const MIN_SHARE_BYTES: usize = 128 << 20;

/// The most that [`share_of_machine_bytes`] gives.
pub const MAX_SHARE_BYTES: usize = 2 << 30;

/// How much memory each of so many queries at once may hold, for programs that have the machine to themselves: together a
/// quarter of its memory, or of its container's where that has less (cgroup v1 or v2); each between 128 MiB and 2 GiB.
pub fn share_of_machine_bytes(queries: usize) -> usize {
    share_bytes(machine_bytes(), queries)
}

/// As [`share_of_machine_bytes`], of a machine with so much memory, if that is known.
fn share_bytes(machine_bytes: Option<u64>, queries: usize) -> usize {
    let share = machine_bytes.unwrap_or_default() / 4 / queries.max(1) as u64;
    usize::try_from(share).unwrap_or(usize::MAX).clamp(MIN_SHARE_BYTES, MAX_SHARE_BYTES)
}

/// The memory of the machine, or of its container (cgroup v1 or v2) where that has less, in bytes; nothing where the system
/// does not tell.
pub fn machine_bytes() -> Option<u64> {
    let what = sysinfo::MemoryRefreshKind::nothing().with_ram();
    let system = sysinfo::System::new_with_specifics(sysinfo::RefreshKind::nothing().with_memory(what));
    // A system that does not tell its own memory is not asked for its container's: sysinfo panics.
    let bytes = Some(system.total_memory()).filter(|bytes| *bytes > 0)?;
    Some(system.cgroup_limits().map_or(bytes, |container| container.total_memory.min(bytes)))
}

/// A budget of bytes. Shared by threads; what is counted is an estimate, within some tens of percent.
#[derive(Debug)]
pub struct Memory {
    used: AtomicUsize,
    limit_bytes: usize,
}

impl Memory {
    /// A budget of so many bytes.
    pub fn new(limit_bytes: usize) -> Self {
        Self { used: AtomicUsize::new(0), limit_bytes }
    }

    /// Takes bytes.
    ///
    /// # Errors
    /// [`Error::MemoryLimit`] when the budget is spent; `what` says for what.
    pub fn charge(&self, bytes: usize, what: &'static str) -> Result<()> {
        let before = self.used.fetch_add(bytes, Ordering::Relaxed);
        if before.saturating_add(bytes) > self.limit_bytes {
            return Err(Error::MemoryLimit { limit_bytes: self.limit_bytes, what });
        }
        Ok(())
    }

    /// Whether half of the budget is left after so many bytes more.
    pub(crate) fn has_half_left(&self, bytes: usize) -> bool {
        self.used.load(Ordering::Relaxed).saturating_add(bytes) <= self.limit_bytes / 2
    }

    /// Gives bytes back, no more than are taken.
    pub fn release(&self, bytes: usize) {
        let less = |used: usize| Some(used.saturating_sub(bytes));
        let _before = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_share_a_quarter_of_the_machine() {
        const GIB: u64 = 1 << 30;
        assert_eq!(share_bytes(Some(24 * GIB), 4), 3 << 29);
        assert_eq!(share_bytes(Some(24 * GIB), 0), MAX_SHARE_BYTES);
        assert_eq!(share_bytes(Some(GIB), 4), MIN_SHARE_BYTES);
        assert_eq!(share_bytes(None, 1), MIN_SHARE_BYTES);
        assert!(machine_bytes().is_some_and(|bytes| bytes > 16 << 20));
    }
}
