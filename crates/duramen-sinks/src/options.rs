//! What all sinks have in common.

use crate::error::{Error, Result};
use duramen::Level;
use duramen_engine::io::Env;

/// What happens to a line when the queue is at its limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenFull {
    /// [`duramen::Sink::log`] waits for room, at most [`SinkOptions::timeout_ms`]; then the line is refused and
    /// counted.
    #[default]
    Block,
    /// The line is refused at once, and counted.
    Refuse,
}

/// When lines are written, and how many may wait.
///
/// ```
/// use duramen::Level;
/// use duramen_sinks::SinkOptions;
/// let careful = SinkOptions::new().batch_size(10).flush_interval_ms(1_000);
/// let fast = SinkOptions::new().batch_size(500).eager_flush_levels([]);
/// # let _ = (careful, fast, Level::Error);
/// ```
#[derive(Clone, Debug)]
pub struct SinkOptions {
    pub(crate) batch_size: usize,
    pub(crate) flush_interval_ms: u64,
    eager: u8,
    pub(crate) max_queue_lines: usize,
    pub(crate) max_queue_bytes: usize,
    pub(crate) when_full: WhenFull,
    pub(crate) timeout_ms: u64,
    pub(crate) retry_initial_ms: u64,
    pub(crate) retry_max_ms: u64,
    pub(crate) background: bool,
    pub(crate) env: Env,
}

impl Default for SinkOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl SinkOptions {
    /// The defaults.
    pub fn new() -> Self {
        Self {
            batch_size: 100,
            flush_interval_ms: 5_000,
            eager: mask([Level::Error, Level::Fatal]),
            max_queue_lines: 100_000,
            max_queue_bytes: 64 << 20,
            when_full: WhenFull::default(),
            timeout_ms: 30_000,
            retry_initial_ms: 100,
            retry_max_ms: 10_000,
            background: true,
            env: Env::os(),
        }
    }

    /// How many lines make a batch, and so the most in one transaction. At least 1, at most 100,000. Default 100.
    pub fn batch_size(mut self, lines: usize) -> Self {
        self.batch_size = lines;
        self
    }

    /// How long a line waits for others at most. At least 1. Default 5,000.
    pub fn flush_interval_ms(mut self, ms: u64) -> Self {
        self.flush_interval_ms = ms;
        self
    }

    /// A line of one of these levels is written at once, with all that wait before it, and
    /// [`duramen::Sink::log`] returns when it is committed. Default error and fatal.
    pub fn eager_flush_levels(mut self, levels: impl IntoIterator<Item = Level>) -> Self {
        self.eager = mask(levels);
        self
    }

    /// The most lines that may wait. At least `batch_size`. Default 100,000.
    pub fn max_queue_lines(mut self, lines: usize) -> Self {
        self.max_queue_lines = lines;
        self
    }

    /// The most bytes of messages and fields that may wait; a line larger than this waits alone. Default 64 MiB.
    pub fn max_queue_bytes(mut self, bytes: usize) -> Self {
        self.max_queue_bytes = bytes;
        self
    }

    /// What happens to a line when the queue is at its limit. Default [`WhenFull::Block`].
    pub fn when_full(mut self, policy: WhenFull) -> Self {
        self.when_full = policy;
        self
    }

    /// The longest that any call waits for the database: a line for room in the queue, an eager line and a flush
    /// for their commit, a close for the rest. Default 30,000.
    pub fn timeout_ms(mut self, ms: u64) -> Self {
        self.timeout_ms = ms;
        self
    }

    /// How long to wait before a failed write is repeated: first `initial_ms` (at least 1), then twice as long
    /// each time, up to `max_ms`. Default 100 and 10,000.
    pub fn retry_ms(mut self, initial_ms: u64, max_ms: u64) -> Self {
        (self.retry_initial_ms, self.retry_max_ms) = (initial_ms, max_ms);
        self
    }

    /// Whether a thread writes. If not, calls that would wait for it do the writing themselves, and what is due
    /// by time is written by `background_step`. For tests, and for programs with a loop of their own. Default
    /// true.
    pub fn background(mut self, background: bool) -> Self {
        self.background = background;
        self
    }

    /// Where time comes from. Default the operating system.
    pub fn env(mut self, env: Env) -> Self {
        self.env = env;
        self
    }

    pub(crate) fn is_eager(&self, level: Level) -> bool {
        self.eager >> (level as u8) & 1 == 1
    }

    pub(crate) fn check(&self) -> Result<()> {
        let invalid = |what: &str| Err(Error::Invalid(what.into()));
        match self {
            Self { batch_size: 0 | 100_001.., .. } => invalid("batch_size must be from 1 to 100,000"),
            Self { flush_interval_ms: 0, .. } => invalid("flush_interval_ms must be at least 1"),
            Self { retry_initial_ms: 0, .. } => invalid("a failed write cannot be repeated after 0 ms"),
            o if o.max_queue_lines < o.batch_size => invalid("max_queue_lines must be at least batch_size"),
            o if o.retry_max_ms < o.retry_initial_ms => {
                invalid("retries cannot wait less long at most than at first")
            }
            _ => Ok(()),
        }
    }
}

fn mask(levels: impl IntoIterator<Item = Level>) -> u8 {
    levels.into_iter().fold(0, |mask, level| mask | 1 << level as u8)
}
