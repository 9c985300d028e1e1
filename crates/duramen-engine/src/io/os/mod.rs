//! The operating system's files, clock and randomness.

mod clock;
mod file;
mod fs;
mod segment;

pub use clock::{OsClock, OsRandom};
pub use fs::OsFs;
