//! The operating system's files, clock and randomness, and its processes' forks and ends.

mod clock;
mod file;
mod fork;
mod fs;
mod segment;

pub use clock::{OsClock, OsRandom};
pub use fork::{at_exit, fork_generation, without_fork};
pub use fs::OsFs;
