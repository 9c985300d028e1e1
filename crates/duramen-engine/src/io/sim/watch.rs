//! Being told what has changed.

use super::world::Shared;
use crate::io::Watch;
use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// What is watched for one who asks. No operation of the trace: it touches nothing.
#[derive(Debug)]
pub(super) struct SimWatch {
    shared: Arc<Shared>,
    process: u64,
    /// The inodes, and how often they were other ones.
    watched: Mutex<(BTreeSet<u64>, u64)>,
}

impl SimWatch {
    pub(super) fn new(shared: Arc<Shared>, process: u64) -> Self {
        Self { shared, process, watched: Mutex::default() }
    }
}

impl Watch for SimWatch {
    fn only(&self, dirs: &[&Path], files: &[&Path]) -> io::Result<u64> {
        {
            let world = self.shared.lock();
            let found = dirs.iter().chain(files).map(|path| world.resolve(path));
            let found = found.collect::<io::Result<_>>()?;
            let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
            if watched.0 != found {
                *watched = (found, watched.1 + 1);
            }
        }
        self.changes().ok_or_else(super::fault::crashed)
    }

    fn changes(&self) -> Option<u64> {
        let world = self.shared.lock();
        if world.halted || !world.processes.contains(&self.process) {
            return None;
        }
        let watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        let (inodes, times) = &*watched;
        Some(
            (times << 32)
                + inodes.iter().map(|inode| world.changes.get(inode).copied().unwrap_or(0)).sum::<u64>(),
        )
    }
}
