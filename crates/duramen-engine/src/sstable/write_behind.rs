//! Writing to a file, and making filters, while the next bytes are being made.

use super::filter::FilterBuilder;
use crate::io::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;

/// How many jobs may wait for the thread: with fewer, the two wait for each other's hiccups.
const WAITING: usize = 4;

/// What the thread has to do.
enum Job {
    /// To write a buffer at this place of the file.
    Write(Vec<u8>, u64),
    /// To make the filter of the block of this number, of these hashes.
    Filter(usize, Vec<u64>),
}

/// Filters that were made, each with the number of its block.
type Filters = Vec<(usize, Vec<u8>)>;

/// A thread that writes buffers to a file, in order.
#[derive(Debug)]
pub(super) struct WriteBehind {
    jobs: SyncSender<Job>,
    /// Buffers that have been written.
    empty: Receiver<Vec<u8>>,
    thread: JoinHandle<io::Result<Filters>>,
}

impl WriteBehind {
    /// Starts the thread.
    pub(super) fn start(file: Arc<dyn File>, path: &Path) -> io::Result<Self> {
        let (jobs, to_do) = sync_channel(WAITING);
        let (written, empty) = channel();
        let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let thread = std::thread::Builder::new().name(name).spawn(move || {
            let (mut builder, mut filters) = (FilterBuilder::default(), Filters::new());
            for job in to_do {
                match job {
                    Job::Write(mut buffer, at) => {
                        file.write_all_at(&buffer, at)?;
                        buffer.clear();
                        let _nobody_may_want_it = written.send(buffer);
                    }
                    Job::Filter(block, mut hashes) => {
                        filters.push((block, builder.build(&mut hashes).encode()))
                    }
                }
            }
            Ok(filters)
        })?;
        Ok(Self { jobs, empty, thread })
    }

    /// Hands `buffer` over, to be written at `at`, and leaves an empty one. If that fails, [`WriteBehind::finish`]
    /// says why.
    pub(super) fn write(&mut self, buffer: &mut Vec<u8>, at: u64) -> Result<(), ()> {
        let next = self.empty.try_recv().unwrap_or_else(|_| Vec::with_capacity(buffer.capacity()));
        self.jobs.send(Job::Write(std::mem::replace(buffer, next), at)).map_err(drop)
    }

    /// Has the filter of a block made. If that fails, [`WriteBehind::finish`] says why.
    pub(super) fn make_filter(&mut self, block: usize, hashes: Vec<u64>) -> Result<(), ()> {
        self.jobs.send(Job::Filter(block, hashes)).map_err(drop)
    }

    /// Waits until all is done, and gives the filters.
    pub(super) fn finish(self) -> io::Result<Filters> {
        drop(self.jobs);
        self.thread.join().unwrap_or_else(|_| Err(io::Error::other("the writing thread panicked")))
    }
}
