//! This process's writers: the one that takes lines, and those before it that a failed write or sync has stopped.
//!
//! A log call finds the newest without a lock and without counting who uses it, so none is ever freed before the store
//! is: a stopped writer has given its memory and its lock back, and what stays of it is some hundred bytes.

use duramen_engine::wal::{Wal, WalMetrics};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// So many are found at once; for each so many more, one step further.
const CHUNK: usize = 16;

/// The writers, oldest first. Any thread may look; one at a time adds.
#[derive(Debug, Default)]
pub(crate) struct Writers {
    first: Chunk,
    /// The newest's index, once there is one.
    newest: AtomicUsize,
}

#[derive(Debug, Default)]
struct Chunk {
    writers: [OnceLock<Wal>; CHUNK],
    next: OnceLock<Box<Chunk>>,
}

impl Writers {
    /// The writer that takes lines, or has stopped and has no successor yet; `None` before the first.
    #[inline]
    pub(crate) fn newest(&self) -> Option<&Wal> {
        let mut index = self.newest.load(Ordering::Acquire);
        let mut chunk = &self.first;
        while index >= CHUNK {
            chunk = chunk.next.get()?;
            index -= CHUNK;
        }
        chunk.writers.get(index)?.get()
    }

    /// Adds the newest. The caller sees to it that nobody else does meanwhile.
    pub(crate) fn push(&self, writer: Wal) {
        let mut chunk = &self.first;
        let mut index = 0;
        let mut writer = Some(writer);
        loop {
            for slot in &chunk.writers {
                if let Some(added) = writer.take_if(|_| slot.get().is_none()) {
                    let _was_empty = slot.set(added);
                    self.newest.store(index, Ordering::Release);
                    return;
                }
                index += 1;
            }
            chunk = chunk.next.get_or_init(Box::default);
        }
    }

    /// All of them, oldest first.
    fn all(&self) -> impl Iterator<Item = &Wal> {
        let chunks = std::iter::successors(Some(&self.first), |chunk| chunk.next.get().map(|next| &**next));
        chunks.flat_map(|chunk| chunk.writers.iter().filter_map(OnceLock::get))
    }

    /// The counters of all of them together; `None` before the first.
    pub(crate) fn metrics(&self) -> Option<WalMetrics> {
        self.all().map(Wal::metrics).reduce(|a, b| WalMetrics {
            records: a.records + b.records,
            bytes: a.bytes + b.bytes,
            segments_sealed: a.segments_sealed + b.segments_sealed,
            syncs: a.syncs + b.syncs,
            stalls: a.stalls + b.stalls,
            stall_ns: a.stall_ns.saturating_add(b.stall_ns),
            prepare_failures: a.prepare_failures + b.prepare_failures,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use duramen_engine::io::sim::Sim;
    use duramen_engine::wal::{Background, WalOptions, WriteOptions};
    use std::path::Path;

    #[test]
    fn the_newest_is_found_however_many_there_are_and_all_are_counted() {
        let sim = Sim::new(1);
        let writers = Writers::default();
        assert!(writers.newest().is_none() && writers.metrics().is_none());
        for n in 1..=2 * CHUNK as u64 + 3 {
            let options = WalOptions {
                background: Background::Manual,
                write_buffer_size: 64 << 10,
                ..WalOptions::default()
            };
            let wal = Wal::create(&sim.env(), Path::new("/wal"), options).unwrap();
            let id = wal.writer_id();
            wal.append(0, 1, b"x", WriteOptions::default()).unwrap();
            writers.push(wal);
            assert_eq!(writers.newest().unwrap().writer_id(), id);
            assert_eq!(writers.metrics().unwrap().records, n);
        }
    }
}
