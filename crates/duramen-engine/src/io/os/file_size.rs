//! The limit of a file's size (`ulimit -f`, `LimitFSIZE=`), heeded before the kernel does: it would end the program with SIGXFSZ,
//! unless that happens to ignore it. A library says instead what any refused write says.

use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

/// The limit when a file was last opened or reserved for writing: programs set theirs early, and a write need not ask.
static LIMIT_BYTES: AtomicU64 = AtomicU64::new(u64::MAX);

/// Asks for the limit; before a file is written that may be the first since it was set.
pub(super) fn look() {
    let current = getrlimit(Resource::Fsize).current;
    LIMIT_BYTES.store(current.unwrap_or(u64::MAX), Ordering::Relaxed);
}

/// That a file may be so long.
pub(super) fn check(end: u64) -> io::Result<()> {
    if end <= LIMIT_BYTES.load(Ordering::Relaxed) { Ok(()) } else { Err(Errno::FBIG.into()) }
}
