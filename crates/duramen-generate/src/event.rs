//! An event: what happened, before it is written in some format.

/// How much an event matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// `debug`
    Debug,
    /// `info`
    Info,
    /// `warn`
    Warn,
    /// `error`
    Error,
    /// `fatal`
    Fatal,
}

impl Level {
    /// The level's name, lower case.
    pub fn name(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
            Self::Fatal => "fatal",
        }
    }
}

/// One event. It is small and copies nothing; [`Generator::render`](crate::Generator::render) writes it.
#[derive(Clone, Debug)]
pub struct Event {
    pub(crate) time_ns: i64,
    pub(crate) level: Level,
    /// The service that logs it, as an index.
    pub(crate) app: u16,
    /// The host it runs on, as an index.
    pub(crate) host: u16,
    /// How long what it tells of took, in microseconds; 0 if it tells of nothing that took time.
    pub(crate) took_us: u32,
    /// What its variables are made from.
    pub(crate) seed: u64,
    pub(crate) request: Option<Request>,
    pub(crate) body: Body,
}

impl Event {
    /// When it happened, in nanoseconds since 1970-01-01T00:00:00Z.
    pub fn time_ns(&self) -> i64 {
        self.time_ns
    }

    /// How much it matters.
    pub fn level(&self) -> Level {
        self.level
    }
}

/// The request on whose behalf something is logged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    pub(crate) seed: u64,
    pub(crate) trace: [u64; 2],
    /// Ranks: 0 is the busiest.
    pub(crate) user: u32,
    pub(crate) address: u32,
    pub(crate) agent: u8,
    pub(crate) route: u8,
    /// What it is answered with.
    pub(crate) status: u16,
}

/// What the event tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Body {
    /// The edge answered a request.
    Access,
    /// A service logs one of the catalog's messages, perhaps with a stack trace.
    Message { message: u16, trace: Option<u8> },
    /// A program of the system logs a line of one of its sequences.
    System { program: u8, sequence: u8, line: u8 },
    /// Something planted to be found.
    Needle(Needle),
}

/// What is planted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Needle {
    /// A UUID in the text of one event.
    Uuid,
    /// A phrase that nothing else says.
    Phrase,
    /// A trace id of many events.
    Trace,
}
