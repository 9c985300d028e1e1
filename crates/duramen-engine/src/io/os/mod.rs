//! The operating system's files, clock and randomness, and its processes' forks and ends.

mod clock;
mod file;
mod file_size;
mod fork;
mod fs;
mod kept_back;
mod pieces;
mod priority;
mod reserve;
mod segment;
#[cfg(all(target_arch = "x86_64", target_os = "linux", not(miri)))]
mod ticks;
mod unmapped;
#[cfg(target_os = "linux")]
mod watch;

pub use clock::{OsClock, OsRandom};
pub use fork::{at_exit, fork_generation, without_fork};
pub use fs::OsFs;
pub use priority::let_others_go_first;
pub use reserve::CopiesOnWrite;

use rustix::io::Errno;

/// Whether a file could not be opened because this process, or all together, have as many open as they may.
pub fn is_out_of_descriptors(error: &std::io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::MFILE | Errno::NFILE))
}
