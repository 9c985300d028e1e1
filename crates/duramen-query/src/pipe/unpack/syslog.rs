//! The fields of a syslog line, under the names that LogsQL gives them.

use crate::parse::ParseOptions;
use crate::parse::time::format_time;
use duramen::{EntryBuf, EntryRef, Value, ValueKind};
use duramen_formats::syslog::{self, FACILITIES};
use duramen_formats::{Names, StampParser};
use jiff::tz::TimeZone;

/// How time stamps are read that do not say all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Syslog {
    /// The zone of stamps without one.
    timezone: TimeZone,
    /// About when lines without a year are written.
    now_ns: i64,
    /// Added to stamps without a zone.
    pub offset_ns: i64,
}

impl Syslog {
    pub fn new(options: &ParseOptions) -> Self {
        Self { timezone: options.timezone.clone(), now_ns: options.now_ns, offset_ns: 0 }
    }

    pub fn stamps(&self) -> StampParser {
        StampParser::new(self.timezone.clone(), self.now_ns, None)
    }

    /// Whether a line says of which zone its time stamp is: then it is the same whatever zone is meant otherwise. Only asked if
    /// there is an offset.
    fn has_zone(&self, line: &str) -> bool {
        let time_in = |zone| {
            let stamps = StampParser::new(TimeZone::fixed(jiff::tz::offset(zone)), self.now_ns, None);
            syslog::parse(line, &stamps)?.time_ns
        };
        self.offset_ns != 0 && time_in(1) == time_in(2)
    }

    /// Calls `put` with each field of a line.
    pub fn each_field(&self, line: &str, stamps: &StampParser, put: &mut dyn FnMut(&str, &str, ValueKind)) {
        let Some(parsed) = syslog::parse(line, stamps) else { return };
        if let Some(priority) = parsed.priority {
            let number = |n: u8| n.to_string();
            put("priority", &number(priority), ValueKind::Number);
            put("facility", &number(priority / 8), ValueKind::Number);
            let keyword = FACILITIES.get(usize::from(priority / 8)).copied().unwrap_or_default();
            put("facility_keyword", keyword, ValueKind::String);
            put("severity", &number(priority % 8), ValueKind::Number);
            if let Some(level) = parsed.level() {
                put("level", level.name(), ValueKind::String);
            }
        }
        let is_5424 =
            line.split_once('>').is_some_and(|(pri, rest)| pri.starts_with('<') && rest.starts_with("1 "));
        put("format", if is_5424 { "rfc5424" } else { "rfc3164" }, ValueKind::String);
        if let Some(time) = parsed.time_ns {
            let offset = if is_5424 || self.has_zone(line) { 0 } else { self.offset_ns };
            put("timestamp", &format_time(time.saturating_add(offset)), ValueKind::String);
        }
        let parts = [
            ("hostname", parsed.host),
            ("app_name", parsed.app),
            ("proc_id", parsed.pid),
            ("msg_id", parsed.msgid),
            ("message", Some(parsed.message)),
        ];
        for (name, text) in parts {
            if let Some(text) = text {
                put(name, text, ValueKind::String);
            }
        }
        if parsed.structured_data.is_some() {
            // The reader of log files knows how to take them apart, into an entry.
            let mut entry = EntryBuf::default();
            parsed.add_to(entry.start(0), &mut Names::new());
            let Some(entry) = entry.finish().ok().and_then(|bytes| EntryRef::decode(bytes).ok()) else {
                return;
            };
            for (name, value) in entry.fields() {
                if let (Some(parameter), Value::Str(text)) = (name.strip_prefix("sd."), value) {
                    put(parameter, text, ValueKind::String);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offset_is_added_to_stamps_without_a_zone() {
        let mut syslog =
            Syslog::new(&ParseOptions { now_ns: 1_717_236_000_000_000_000, ..ParseOptions::default() });
        syslog.offset_ns = 3_600_000_000_000;
        for (line, expected) in [
            ("<34>Jun  1 10:00:00 host app: x", "2024-06-01T11:00:00Z"),
            ("<34>2024-06-01T10:00:00+02:00 host app: x", "2024-06-01T08:00:00Z"),
            ("<34>1 2024-06-01T10:00:00Z host app - - - x", "2024-06-01T10:00:00Z"),
        ] {
            let mut times = Vec::new();
            syslog.each_field(line, &syslog.stamps(), &mut |name, text, _| {
                if name == "timestamp" {
                    times.push(text.to_owned());
                }
            });
            assert_eq!(times, [expected], "{line}");
        }
    }
}
