//! Field values: what they are to a person is text; what kind of text, the sender said.

use std::fmt;

/// The kind of a field's value, as its sender typed it. The text of the value is kept exactly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum ValueKind {
    /// A string.
    #[default]
    String = 0,
    /// A number, integer or not; the text is the number as it was written (`1.50` stays `1.50`).
    Number = 1,
    /// `true` or `false`.
    Bool = 2,
    /// `null`; the text is empty.
    Null = 3,
    /// A JSON array, or an object with no members; the text is JSON.
    Json = 4,
}

impl ValueKind {
    /// The kind with this number, if there is one.
    pub fn from_u8(n: u8) -> Option<Self> {
        [Self::String, Self::Number, Self::Bool, Self::Null, Self::Json].get(usize::from(n)).copied()
    }
}

/// A field's value as a caller gives it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// A string.
    Str(&'a str),
    /// An integer.
    Int(i64),
    /// A floating-point number. Not-a-number and the infinities become strings.
    Float(f64),
    /// A number as written: for those an `i64` or `f64` would not give back exactly.
    Number(&'a str),
    /// A truth value.
    Bool(bool),
    /// JSON's null.
    Null,
    /// A JSON array or empty object, as text.
    Json(&'a str),
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(s: &'a str) -> Self {
        Self::Str(s)
    }
}
impl From<i64> for Value<'_> {
    fn from(n: i64) -> Self {
        Self::Int(n)
    }
}
impl From<f64> for Value<'_> {
    fn from(n: f64) -> Self {
        Self::Float(n)
    }
}
impl From<bool> for Value<'_> {
    fn from(b: bool) -> Self {
        Self::Bool(b)
    }
}

/// How much an entry matters, in the six steps that the field's loggers share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Level {
    /// The sender did not say, and the text does not tell.
    #[default]
    Unknown = 0,
    /// `trace`
    Trace = 1,
    /// `debug`
    Debug = 2,
    /// `info`; also syslog's `notice`
    Info = 3,
    /// `warn`
    Warn = 4,
    /// `error`
    Error = 5,
    /// `fatal`; also `critical`, `alert`, `emergency`, `panic`
    Fatal = 6,
}

impl Level {
    /// All levels that have a name, least first.
    pub const NAMED: [Self; 6] = [Self::Trace, Self::Debug, Self::Info, Self::Warn, Self::Error, Self::Fatal];

    /// The level's name, lower case; empty for [`Level::Unknown`].
    pub fn name(self) -> &'static str {
        match self {
            Self::Unknown => "",
            Self::Trace => "trace",
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
            Self::Fatal => "fatal",
        }
    }

    /// The level with this number, if there is one.
    pub fn from_u8(n: u8) -> Option<Self> {
        [Self::Unknown, Self::Trace, Self::Debug, Self::Info, Self::Warn, Self::Error, Self::Fatal]
            .get(usize::from(n))
            .copied()
    }

    /// Reads a level in any of the spellings that loggers use, in any case; `None` if it is none of them.
    pub fn parse(text: &str) -> Option<Self> {
        let mut lower = [0u8; 16];
        let text = text.trim();
        let lower = lower.get_mut(..text.len())?;
        lower.copy_from_slice(text.as_bytes());
        lower.make_ascii_lowercase();
        Some(match &*lower {
            b"trace" | b"trc" | b"finest" | b"finer" | b"verbose" | b"silly" => Self::Trace,
            b"debug" | b"dbg" | b"debug1" | b"debug2" | b"debug3" | b"debug4" | b"debug5" | b"fine" => {
                Self::Debug
            }
            b"info" | b"inf" | b"information" | b"informational" | b"notice" | b"log" | b"config" => {
                Self::Info
            }
            b"warn" | b"wrn" | b"warning" => Self::Warn,
            b"error" | b"err" | b"eror" | b"severe" | b"failure" => Self::Error,
            b"fatal" | b"ftl" | b"crit" | b"critical" | b"alert" | b"emerg" | b"emergency" | b"panic" => {
                Self::Fatal
            }
            _ => return None,
        })
    }

    /// Reads the value of a field that is a level: a spelling, or one of the numbers of pino and bunyan, 10 (trace) to 60
    /// (fatal), written so. (No word of a query or of a line is such a number.)
    pub fn of_value(text: &str) -> Option<Self> {
        Self::parse(text).or(match text.trim() {
            "10" => Some(Self::Trace),
            "20" => Some(Self::Debug),
            "30" => Some(Self::Info),
            "40" => Some(Self::Warn),
            "50" => Some(Self::Error),
            "60" => Some(Self::Fatal),
            between => Self::of_slog(between),
        })
    }

    /// What Go's slog writes for a level between those that have a name: `INFO+2`, `DEBUG-4`, `ERROR+4`. So programs have what is
    /// below `DEBUG`, or well above `ERROR`.
    fn of_slog(text: &str) -> Option<Self> {
        let at = text.find(['+', '-'])?;
        let (name, by) = text.split_at(at);
        Some(match (name, by.as_bytes()) {
            ("DEBUG", [b'-', b'1'..=b'9'] | [b'-', b'1'..=b'9', b'0'..=b'9']) => Self::Trace,
            ("ERROR", [b'+', b'1'..=b'3']) => Self::Error,
            (name, [b'+', b'1'..=b'9'] | [b'+', b'1'..=b'9', b'0'..=b'9']) => match name {
                "DEBUG" => Self::Debug,
                "INFO" => Self::Info,
                "WARN" => Self::Warn,
                "ERROR" => Self::Fatal,
                _ => return None,
            },
            _ => return None,
        })
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
