//! What the benchmarks share.
//!
//! | module | one idea |
//! |---|---|
//! | [`machine`] | what a benchmark ran on |
//! | [`case`] | one case: measured in a process of its own |
//! | [`kept`] | a benchmark's outcomes, kept as lines of JSON |
//! | [`process`] | what the kernel says of a process |
//! | [`disk`] | the files of a directory, and the page cache without them |
//! | [`middle`] | the middle of some figures |

pub mod case;
pub mod disk;
pub mod kept;
pub mod machine;
pub mod middle;
pub mod process;

/// Anything that stops a benchmark: a sentence for a person.
pub type Result<T, E = Box<dyn std::error::Error + Send + Sync>> = std::result::Result<T, E>;
