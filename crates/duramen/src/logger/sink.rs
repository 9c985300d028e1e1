//! Where log lines go.

use super::Record;
use std::error::Error;
use std::fmt::Debug;

/// What can go wrong in a [`Sink`]: whatever its back end says.
pub type SinkError = Box<dyn Error + Send + Sync>;

/// A back end of logging. Any thread may call any method at any time.
///
/// What a line survives once [`Sink::log`] has returned is the back end's to say.
pub trait Sink: Send + Sync + Debug {
    /// Takes a line.
    ///
    /// # Errors
    /// The back end's. The line is not lost silently: it was refused, and this says why, or what it waits for is
    /// counted in the back end's own statistics.
    fn log(&self, record: &Record<'_>) -> Result<(), SinkError>;

    /// Makes every line that was taken before the call as safe as the back end can.
    ///
    /// # Errors
    /// The back end's: then some of them may not be.
    fn flush(&self) -> Result<(), SinkError>;

    /// Flushes, and gives back what the sink holds. Later calls of [`Sink::log`] fail; a second close does nothing.
    ///
    /// # Errors
    /// As [`Sink::flush`].
    fn close(&self) -> Result<(), SinkError>;
}
