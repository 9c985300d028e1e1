//! The direct logger: a program's own lines, straight into a store.
//!
//! A [`Logger`] is opened once and shared by every thread. A line is encoded on the thread that logs it, copied once
//! into a mapped segment, and from then on survives the death of the process, at no system call. No thread stands in
//! between, no queue is filled, and there is nothing to flush.
//!
//! ```
//! use duramen::{Level, Logger, Value};
//! # let dir = tempfile::tempdir()?;
//! # let dir = dir.path().join("logs");
//! let logger = Logger::builder(&dir).field("app", "checkout").pid(true).open()?;
//! logger.log(Level::Error, "payment refused", &[("order", Value::Int(4711)), ("bank", Value::Str("n26"))])?;
//! assert_eq!(logger.stats().lines, 1);
//! logger.close()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | module | one idea |
//! |---|---|
//! | `record` | a log line as a program gives it |
//! | `builder` | what a logger is to be like |
//! | `direct` | the logger: one line's way |
//! | `encode` | a line's bytes, written in one go |
//! | `full` | no room: waiting, counting, and telling the log |
//! | `renewal` | going on after a failed write or sync |
//! | `process` | the store of this process, and of each child forked from it |
//! | `exit` | what is done when the process ends |
//! | `stats` | what a logger has done |
//! | `sink` | what a front end needs of any back end |
//! | `front_end`, `field_buf` | what front ends share |

/// The guide, whose examples are compiled with the tests.
#[cfg(doctest)]
#[doc = include_str!("../../../../docs/logger.md")]
struct Guide;

mod builder;
mod direct;
mod encode;
mod exit;
mod field_buf;
mod front_end;
mod full;
mod process;
mod record;
mod renewal;
mod sink;
mod stats;

pub use builder::{DEFAULT_MAX_MESSAGE_BYTES, LoggerBuilder, OnFull};
pub use direct::Logger;
pub use encode::TRUNCATED_FIELD;
pub use field_buf::FieldBuf;
pub use front_end::{FrontEnd, Line};
pub use full::DROPPED_FIELD;
pub use record::Record;
pub use renewal::UNSYNCED_FIELD;
pub use sink::{Sink, SinkError};
pub use stats::LoggerStats;
