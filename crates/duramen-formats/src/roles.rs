//! Which fields hold an entry's time, message and level, by their names.

use crate::{FieldRules, ReaderOptions};
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
    "timestamp.seconds",
    "timestampSeconds",
    "Event.System.TimeCreated.#attributes.SystemTime",
    "Event.System.TimeCreated.SystemTime",
    "record.time.timestamp",
    "Log.time",
    "_write_ts",
    "eventtime",
    "date",
    "t",
    "t.$date",
    "@t",
    "dt",
    "event_time",
    "eventTimestamp",
    "requestReceivedTimestamp",
    "EdgeStartTimestamp",
    "EdgeEndTimestamp",
    "Datetime",
    "DateTime",
    "UtcTime",
    "StartTime",
    "CreationTime",
    "TimeGenerated",
    "activityDateTime",
    "createdDateTime",
    "published",
    "started_at",
    "unixTime",
    "lastTimestamp",
    "time_iso8601",
    "time_local",
];

/// The fields looked at for the message, the first that is a string with something in it wins.
/// `record.message` (Postgres under CloudNativePG, loguru) says more than what lies around it. The field without a name is
/// VictoriaLogs' own for the message, and where Go's logrus_fluent has it.
pub const MESSAGE_FIELDS: &[&str] = &[
    "_msg",
    "",
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
    "fields.message",
    "textPayload",
    "jsonPayload.message",
    "RenderedMessage",
    "MessageTemplate",
    "event",
];

/// Looked at behind them in an event for Splunk's collector that is an object: a container's line as Docker's driver sends it
/// (`line`, beside the `source` that it is of; elsewhere it is where in a program the message comes from), and what says most in a
/// line or a message that is an object itself.
const OF_AN_EVENT: &[&str] = &[
    LINE,
    "message.message",
    "message.msg",
    "message.text",
    "message.log",
    "message.event",
    "line.message",
    "line.msg",
    "line.text",
    "line.log",
    "line.event",
];
pub(crate) const LINE: &str = "line";

/// Levels of the same.
const LEVELS_OF_AN_EVENT: &[&str] = &["message.level", "message.severity", "line.level", "line.severity"];

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
    "level_name",
    "Severity",
    "severity_text",
    "severityText",
    "SeverityText",
    "Level",
    "LEVEL",
    "LogLevel",
    "@l",
    "@level",
    "PRIORITY",
    "syslog_severity",
    "syslog.severity",
    "log.syslog.severity.code",
    "log.syslog.severity.name",
    "severity_number",
    "severityNumber",
    "SeverityNumber",
    "Event.System.Level",
    "s",
    "priority",
];

/// What a field with a known name may be. A lower rank goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Time(u8),
    Message(u8),
    Level(u8),
}

/// The most names of one role that [`FieldRules`] can ask for; those beyond are as any other.
const MAX_ASKED: usize = 64;

/// Names to roles.
#[derive(Clone, Debug)]
pub(crate) struct Roles {
    names: HashMap<Box<str>, Role, FixedState>,
    /// Up to this rank a time field is the entry's own and consumed by it: `_time`, and those that rules ask for.
    pub own_time: u8,
    /// The same for message fields.
    pub own_message: u8,
    /// A bit for each value of [`Roles::sketch`] that some name has: turns away most other names for
    /// almost nothing.
    sketches: [u64; 4],
}

impl Roles {
    pub fn new(options: &ReaderOptions) -> Self {
        Self::with_rules(options, &FieldRules::default())
    }

    pub fn with_rules(options: &ReaderOptions, rules: &FieldRules) -> Self {
        let mut roles = Self { names: HashMap::default(), own_time: 0, own_message: 0, sketches: [0; 4] };
        roles.own_time = roles.add(&rules.time_fields, &options.time_field, TIME_FIELDS, Role::Time);
        roles.own_message =
            roles.add(&rules.message_fields, &options.message_field, MESSAGE_FIELDS, Role::Message);
        roles.add(&[], &options.level_field, LEVEL_FIELDS, Role::Level);
        roles
    }

    /// Those of events for Splunk's collector, too.
    pub fn and_of_an_event(mut self) -> Self {
        let mut insert = |names: &[&str], role: fn(u8) -> Role| {
            for (i, name) in names.iter().enumerate() {
                let rank = u8::MAX - u8::try_from(names.len() - i).unwrap_or(1);
                // A name that is asked for keeps its rank.
                if !self.names.contains_key(*name) {
                    self.insert(name, role(rank));
                }
            }
        };
        insert(OF_AN_EVENT, Role::Message);
        insert(LEVELS_OF_AN_EVENT, Role::Level);
        self
    }

    /// The lowest ranks are those of rules, the next the entry's own name (whose rank is returned), then the one
    /// asked for; the others follow in their order.
    fn add(
        &mut self,
        ruled: &[String],
        asked_for: &Option<String>,
        names: &[&str],
        role: impl Fn(u8) -> Role,
    ) -> u8 {
        let ruled = &ruled[..ruled.len().min(MAX_ASKED)];
        let own = u8::try_from(ruled.len()).unwrap_or(u8::MAX);
        for (i, name) in names.iter().enumerate() {
            let is_own = matches!(*name, "_time" | "_msg" | "");
            let rank = if is_own { own } else { u8::try_from(ruled.len() + i + 2).unwrap_or(u8::MAX) };
            self.insert(name, role(rank));
        }
        if let Some(name) = asked_for.as_deref().filter(|n| !matches!(*n, "_time" | "_msg" | "")) {
            self.insert(name, role(own + 1));
        }
        // Backwards, so that of a name said twice the first counts.
        for (i, name) in ruled.iter().enumerate().rev() {
            self.insert(name, role(u8::try_from(i).unwrap_or(u8::MAX)));
        }
        own
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
