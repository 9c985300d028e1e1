//! Lines on their way to the database.
//!
//! ```text
//! log ──▶ waiting lines ──▶ the batch being written ──▶ committed
//!             │ numbered 1, 2, 3 … as they come; written in this order; `settled` is the last that is done with
//! ```
//!
//! | file | what it is |
//! |---|---|
//! | `waiting` | what waits, and when it is due: a lock, and two conditions to wait for |
//! | `writer` | takes what is due and has it written: again after a while, in halves, or never |
//! | `sink` | what callers of a sink do: log, flush, close |

mod sink;
#[cfg(test)]
mod tests;
mod waiting;
mod writer;

pub(crate) use sink::BatchSink;

use crate::line::Line;
use std::fmt::Debug;

/// A database that takes batches.
pub(crate) trait Backend: Send + Debug + 'static {
    /// Writes lines as one transaction: all of them are there, or none. The first has the number `first`; a batch
    /// that is written again after [`WriteError::Transient`] has the same numbers, so that one whose commit was
    /// not heard of is not written twice.
    fn write(&mut self, first: u64, lines: &[Line]) -> Result<(), WriteError>;

    /// Whether another line would be taken now: if so, it is its own fault that one alone always takes too long.
    fn takes_others(&mut self) -> bool {
        false
    }
}

/// Why a batch is not written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum WriteError {
    /// It may go well later: the same batch is tried again.
    Transient(String),
    /// It took longer than a batch may: it is tried again with half of the lines, and one alone some times.
    #[cfg_attr(not(feature = "postgres"), allow(dead_code))]
    TooLong(String),
    /// At least one of the lines is not acceptable; none is written.
    Lines(String),
    /// It will not go well.
    Permanent(String),
}
