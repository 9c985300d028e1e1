//! The ends of processes, and of power.

use super::world::{Inode, World};
use std::io;

impl World {
    /// Ends one process: its handles and locks go.
    pub(super) fn end_process(&mut self, process: u64) {
        self.processes.remove(&process);
        self.handles.retain(|_, (owner, _)| *owner != process);
        let handles = &self.handles;
        self.locks.retain(|(_, holder), _| handles.contains_key(holder));
        self.forget_unreachable();
    }

    /// Ends all processes and starts a new one on what they have written.
    pub(super) fn crash_process(&mut self) {
        for process in std::mem::take(&mut self.processes) {
            self.end_process(process);
        }
        for inode in self.inodes.values_mut() {
            if let Inode::File { bytes, .. } = inode {
                enough_memory(bytes.detach());
            }
        }
        self.halted = false;
        self.armed.clear();
        self.main_process = self.start_process();
    }

    /// Ends all processes and keeps of what was not synced only some.
    pub(super) fn crash_power(&mut self, keep_percent: Option<u8>) {
        self.crash_process();
        // The extremes find most mistakes, so they come up often.
        let keep_percent = keep_percent.unwrap_or_else(|| match self.dice.below(4) {
            0 => 0,
            1 => 100,
            _ => 1 + self.dice.below(99) as u8,
        });
        self.lose_power_over_names(keep_percent);
        for inode in self.inodes.values_mut() {
            if let Inode::File { bytes, .. } = inode {
                enough_memory(bytes.lose_power(keep_percent, &mut self.dice));
            }
        }
    }

    /// Makes everything durable.
    pub(super) fn sync_all(&mut self) {
        let directories: Vec<u64> = self.inodes.keys().copied().collect();
        for inode in directories {
            match self.inodes.get_mut(&inode) {
                Some(Inode::File { bytes, .. }) => bytes.sync_all(),
                _ => self.sync_directory(inode),
            }
        }
    }
}

/// A crash cannot fail, but the test's machine can run out of memory for it; then the test has to end.
#[expect(clippy::panic, reason = "only tests simulate, and going on would be a lie about what survived")]
fn enough_memory(outcome: io::Result<()>) {
    if let Err(e) = outcome {
        panic!("the simulator ran out of memory: {e}");
    }
}
