//! What front ends share: a line that is put together on its thread, and nobody to tell of an error.

use super::{FieldBuf, Record, Sink};
use crate::value::Level;
use duramen_engine::io::{Clock, Env};
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A line that is being put together.
#[derive(Debug, Default)]
pub struct Line {
    /// What happened, for people.
    pub message: String,
    /// What belongs to it.
    pub fields: FieldBuf,
}

/// The most bytes of texts that a thread keeps room for from one line to the next.
const KEPT_BYTES: usize = 256 << 10;

thread_local! {
    /// The line of this thread, while nobody puts one together.
    static LINE: Cell<Option<Box<Line>>> = const { Cell::new(None) };
    /// Whether this thread is in a sink.
    static IN_SINK: Cell<bool> = const { Cell::new(false) };
}

/// Hands the lines of a logging framework to a [`Sink`], for those who write a front end. Any thread may use it.
///
/// A sink's own libraries may log through the framework that the front end serves. What is logged on a thread that
/// is in the sink is not handed to it, or it would never come out again; it is counted.
#[derive(Debug)]
pub struct FrontEnd {
    sink: Arc<dyn Sink>,
    clock: Arc<dyn Clock>,
    refused: AtomicU64,
    nested: AtomicU64,
}

impl FrontEnd {
    /// A front end of a sink, by the machine's clock.
    pub fn new(sink: Arc<dyn Sink>) -> Self {
        Self { sink, clock: Env::os().clock, refused: AtomicU64::new(0), nested: AtomicU64::new(0) }
    }

    /// Takes the time from another clock.
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// The sink.
    pub fn sink(&self) -> &Arc<dyn Sink> {
        &self.sink
    }

    /// How many lines the sink refused. The sink says why, where it can: see [`crate::LoggerStats`].
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// How many lines were logged from inside the sink, and left out.
    pub fn nested(&self) -> u64 {
        self.nested.load(Ordering::Relaxed)
    }

    /// Logs the line that `fill` makes of an empty one.
    pub fn log(&self, level: Level, fill: impl FnOnce(&mut Line)) {
        if IN_SINK.try_with(Cell::get).unwrap_or(false) {
            self.nested.fetch_add(1, Ordering::Relaxed);
            return;
        }
        // A value that logs while it shows itself finds no line here, and makes its own.
        let mut line = LINE.try_with(Cell::take).ok().flatten().unwrap_or_default();
        line.message.clear();
        line.fields.clear();
        fill(&mut line);
        let time_ns = self.clock.now_unix_ns();
        let taken = line.fields.with(|fields| {
            let _in_sink = InSink::enter();
            self.sink.log(&Record { time_ns, level, message: &line.message, fields })
        });
        if taken.is_err() {
            self.refused.fetch_add(1, Ordering::Relaxed);
        }
        if line.message.capacity() + line.fields.capacity() <= KEPT_BYTES {
            let _gone_at_the_threads_end = LINE.try_with(|kept| kept.set(Some(line)));
        }
    }
}

/// Says that this thread is in a sink, until it is dropped.
struct InSink;

impl InSink {
    fn enter() -> Self {
        let _gone_at_the_threads_end = IN_SINK.try_with(|inside| inside.set(true));
        Self
    }
}

impl Drop for InSink {
    fn drop(&mut self) {
        let _gone_at_the_threads_end = IN_SINK.try_with(|inside| inside.set(false));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logger::SinkError;

    #[derive(Debug)]
    struct Nowhere;

    impl Sink for Nowhere {
        fn log(&self, _: &Record<'_>) -> Result<(), SinkError> {
            Ok(())
        }

        fn flush(&self) -> Result<(), SinkError> {
            Ok(())
        }

        fn close(&self) -> Result<(), SinkError> {
            Ok(())
        }
    }

    #[test]
    fn a_thread_keeps_the_memory_of_a_usual_line_but_not_of_a_huge_one() {
        let front = FrontEnd::new(Arc::new(Nowhere));
        let kept = || {
            let mut bytes = 0;
            front.log(Level::Info, |line| bytes = line.message.capacity() + line.fields.capacity());
            bytes
        };
        front.log(Level::Info, |line| line.message.push_str(&"x".repeat(1000)));
        assert!((1000..KEPT_BYTES).contains(&kept()));
        front.log(Level::Info, |line| line.message.push_str(&"x".repeat(KEPT_BYTES + 1)));
        assert_eq!(kept(), 0);
        front.log(Level::Info, |line| line.fields.push_display("x", "x".repeat(KEPT_BYTES + 1)));
        assert_eq!(kept(), 0);
    }
}
