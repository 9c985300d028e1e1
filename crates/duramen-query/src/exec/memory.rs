//! What a query may hold in memory, counted across its threads.

use crate::error::{Error, Result};
use std::sync::atomic::{AtomicUsize, Ordering};

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
