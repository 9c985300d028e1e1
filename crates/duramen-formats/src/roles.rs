//! Which fields hold an entry's time, message and level, by their names.

use crate::ReaderOptions;
use foldhash::fast::FixedState;
use std::collections::HashMap;

/// The fields looked at for the time, the first that reads as one wins. One whose value is no time, or an
/// implausible one (before 1970, a duration, a counter), is passed over.
pub const TIME_FIELDS: &[&str] = &[
    "_time",
    "@timestamp",
    "timestamp",
    "time",
    "ts",
    "Timestamp",
    "eventTime",
    "EventTime",
    "TimeCreated",
    "datetime",
    "log_time",
    "record.log_time",
    "TimeUnixNano",
    "timeUnixNano",
    "time_unix_nano",
    "__REALTIME_TIMESTAMP",
    "start_time",
    "asctime",
    "created_at",
    "Time",
    "TIMESTAMP",
    "timeMillis",
    "instant.epochSecond",
    "record.time.timestamp",
    "Log.time",
    "_write_ts",
    "date",
    "t",
];

/// The fields looked at for the message, the first that is a string with something in it wins.
/// `record.message` (Postgres under CloudNativePG, loguru) says more than what lies around it.
pub const MESSAGE_FIELDS: &[&str] = &[
    "_msg",
    "record.message",
    "message",
    "msg",
    "Message",
    "MESSAGE",
    "log",
    "Log.log",
    "text",
    "body",
    "Body",
    "event.original",
    "short_message",
    "@message",
    "@m",
    "@mt",
];

/// The fields looked at for the level, the first that reads as one wins. Numbers are read as those of pino
/// and bunyan (10 to 60); as syslog's severities, OpenTelemetry's or Windows' only where the name tells.
pub const LEVEL_FIELDS: &[&str] = &[
    "record.error_severity",
    "record.level.name",
    "error_severity",
    "level",
    "severity",
    "lvl",
    "loglevel",
    "log.level",
    "logLevel",
    "log_level",
    "levelname",
    "Severity",
    "severity_text",
    "severityText",
    "SeverityText",
    "Level",
    "LEVEL",
    "LogLevel",
    "@l",
    "PRIORITY",
    "syslog_severity",
    "syslog.severity",
    "log.syslog.severity.code",
    "log.syslog.severity.name",
    "severity_number",
    "severityNumber",
    "SeverityNumber",
];

/// What a field with a known name may be. A lower rank goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Time(u8),
    Message(u8),
    Level(u8),
}

/// Rank of the names `_time` and `_msg`: they are the entry's own and consumed by it.
pub(crate) const OWN: u8 = 0;

/// Names to roles.
#[derive(Clone, Debug)]
pub(crate) struct Roles {
    names: HashMap<Box<str>, Role, FixedState>,
    /// A bit for each value of [`Roles::sketch`] that some name has: turns away most other names for
    /// almost nothing.
    sketches: [u64; 4],
}

impl Roles {
    pub fn new(options: &ReaderOptions) -> Self {
        let mut roles = Self { names: HashMap::default(), sketches: [0; 4] };
        // Rank 0 is the entry's own name, 1 the one asked for; the others follow in their order.
        roles.add(&options.time_field, TIME_FIELDS, Role::Time);
        roles.add(&options.message_field, MESSAGE_FIELDS, Role::Message);
        roles.add(&options.level_field, LEVEL_FIELDS, Role::Level);
        roles
    }

    fn add(&mut self, asked_for: &Option<String>, names: &[&str], role: impl Fn(u8) -> Role) {
        for (i, name) in names.iter().enumerate() {
            let own = matches!(*name, "_time" | "_msg");
            let rank = if own { OWN } else { u8::try_from(i + 2).unwrap_or(u8::MAX) };
            self.insert(name, role(rank));
        }
        if let Some(name) = asked_for.as_deref().filter(|n| !matches!(*n, "_time" | "_msg")) {
            self.insert(name, role(1));
        }
    }

    fn insert(&mut self, name: &str, role: Role) {
        let sketch = Self::sketch(name);
        self.sketches[usize::from(sketch / 64)] |= 1 << (sketch % 64);
        self.names.insert(name.into(), role);
    }

    /// The role of a field of this name.
    pub fn of(&self, name: &str) -> Option<Role> {
        let sketch = Self::sketch(name);
        if self.sketches[usize::from(sketch / 64)] & (1 << (sketch % 64)) == 0 {
            return None;
        }
        self.names.get(name).copied()
    }

    fn sketch(name: &str) -> u8 {
        let bytes = name.as_bytes();
        let (first, last) = (bytes.first().copied().unwrap_or(0), bytes.last().copied().unwrap_or(0));
        (bytes.len() as u8).wrapping_mul(37).wrapping_add(first.wrapping_mul(11)).wrapping_add(last)
    }
}
