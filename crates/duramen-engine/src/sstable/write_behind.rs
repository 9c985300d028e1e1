//! Writing to a file while the next bytes are being made.

use crate::io::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;

/// How many full buffers may wait for the thread: with fewer, the two wait for each other's hiccups.
const WAITING: usize = 4;

/// A thread that writes buffers to a file, in order.
#[derive(Debug)]
pub(super) struct WriteBehind {
    full: SyncSender<(Vec<u8>, u64)>,
    /// Buffers that have been written.
    empty: Receiver<Vec<u8>>,
    thread: JoinHandle<io::Result<()>>,
}

impl WriteBehind {
    /// Starts the thread.
    pub(super) fn start(file: Arc<dyn File>, path: &Path) -> io::Result<Self> {
        let (full, to_write) = sync_channel::<(Vec<u8>, u64)>(WAITING);
        let (written, empty) = channel();
        let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let thread = std::thread::Builder::new().name(name).spawn(move || {
            for (mut buffer, at) in to_write {
                file.write_all_at(&buffer, at)?;
                buffer.clear();
                let _nobody_may_want_it = written.send(buffer);
            }
            Ok(())
        })?;
        Ok(Self { full, empty, thread })
    }

    /// Hands `buffer` over, to be written at `at`, and leaves an empty one. If that fails, [`WriteBehind::finish`]
    /// says why.
    pub(super) fn write(&mut self, buffer: &mut Vec<u8>, at: u64) -> Result<(), ()> {
        let next = self.empty.try_recv().unwrap_or_else(|_| Vec::with_capacity(buffer.capacity()));
        self.full.send((std::mem::replace(buffer, next), at)).map_err(drop)
    }

    /// Waits until everything is written.
    pub(super) fn finish(self) -> io::Result<()> {
        drop(self.full);
        self.thread.join().unwrap_or_else(|_| Err(io::Error::other("the writing thread panicked")))
    }
}
