//! Levels as logs write them: a word in a line, a letter, a number in a field.

mod line;
mod words;

use duramen::Level;

pub use line::find;
pub(crate) use line::first_word;

/// How far into a text a level is looked for, in bytes.
pub const LEVEL_WITHIN_BYTES: usize = 100;

/// A level as lines of text spell it: as fields do, or in the four and three letters of .NET, logrus, supervisord, Serilog
/// and zerolog, MySQL's `Note`, zap's `DPANIC` and Apache's `trace1` to `trace8`. A field of these is no level: what a
/// field's text means is part of the format on disk ([`Level::parse`]).
pub(crate) fn spelled(text: &str) -> Option<Level> {
    const MORE: [(&str, Level); 14] = [
        ("trce", Level::Trace),
        ("trac", Level::Trace),
        ("vrb", Level::Trace),
        ("dbug", Level::Debug),
        ("debu", Level::Debug),
        ("debg", Level::Debug),
        ("note", Level::Info),
        ("erro", Level::Error),
        ("fail", Level::Error),
        ("fata", Level::Fatal),
        ("pani", Level::Fatal),
        ("pnc", Level::Fatal),
        ("dpanic", Level::Fatal),
        ("dpani", Level::Fatal),
    ];
    let more = || MORE.iter().find(|(known, _)| text.eq_ignore_ascii_case(known)).map(|(_, level)| *level);
    let numbered =
        || matches!(text.as_bytes(), [b't', b'r', b'a', b'c', b'e', b'1'..=b'8']).then_some(Level::Trace);
    Level::parse(text).or_else(more).or_else(numbered)
}

/// `%ASA-3-106023`: the number is syslog's severity.
pub(crate) fn of_cisco_tag(tag: &str) -> Option<Level> {
    of_cisco(tag.strip_prefix('%')?.as_bytes())
}

/// The same of what follows the `%`.
fn of_cisco(s: &[u8]) -> Option<Level> {
    let name = s.iter().take_while(|b| b.is_ascii_uppercase() || matches!(b, b'_' | b'0'..=b'9')).count();
    match s.get(name..)? {
        [b'-', digit @ b'0'..=b'7', b'-', b'A'..=b'Z' | b'0'..=b'9', ..] if name > 1 => {
            of_syslog_severity(digit - b'0')
        }
        _ => None,
    }
}

/// The level of a single letter as Android's log and klog write it.
pub fn of_letter(letter: u8) -> Option<Level> {
    Some(match letter {
        b'V' => Level::Trace,
        b'D' => Level::Debug,
        b'I' => Level::Info,
        b'W' => Level::Warn,
        b'E' => Level::Error,
        b'F' | b'A' => Level::Fatal,
        _ => return None,
    })
}

/// The level of a syslog severity, 0 (emergency) to 7 (debug).
pub fn of_syslog_severity(severity: u8) -> Option<Level> {
    Some(match severity {
        0..=2 => Level::Fatal,
        3 => Level::Error,
        4 => Level::Warn,
        5 | 6 => Level::Info,
        7 => Level::Debug,
        _ => return None,
    })
}

/// The level that a field of this name means by this value. `windows` says that the entry is an event of
/// Windows' event log, whose `Level` is 1 (critical) to 5 (verbose).
pub(crate) fn of_field(name: &str, value: &str, windows: bool) -> Option<Level> {
    if let Ok(n) = value.trim().parse::<u8>() {
        return match name {
            "PRIORITY" | "syslog_severity" | "syslog.severity" | "log.syslog.severity.code" => {
                of_syslog_severity(n)
            }
            "severity_number" | "severityNumber" | "SeverityNumber" => of_otel_severity(n),
            "Level" if windows => of_windows_level(n),
            "Event.System.Level" => of_windows_level(n),
            // Falco's is a word; a number may mean anything.
            "priority" => None,
            _ => Level::of_value(value),
        };
    }
    // MongoDB's letters, of which `D1` to `D5` have a number.
    if name == "s" {
        return if value.len() <= 2 { of_letter(*value.as_bytes().first()?) } else { None };
    }
    Level::of_value(value)
}

/// The level that a field means which stands beside a line, if it has a name that levels have
/// ([`LEVEL_FIELDS`](crate::LEVEL_FIELDS), and Loki's `detected_level`).
pub fn of_named(name: &str, value: &str) -> Option<Level> {
    let known = name == "detected_level" || crate::LEVEL_FIELDS.contains(&name);
    if known { of_field(name, value, false) } else { None }
}

/// The level of OpenTelemetry's severity number: bands of four from 1 (trace) to 24 (fatal).
pub fn of_otel_severity(n: u8) -> Option<Level> {
    let step = usize::from(n).checked_sub(1)? / 4;
    Level::NAMED.get(step).copied()
}

fn of_windows_level(n: u8) -> Option<Level> {
    Some(match n {
        0 | 4 => Level::Info,
        1 => Level::Fatal,
        2 => Level::Error,
        3 => Level::Warn,
        5 => Level::Trace,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_mean_what_the_name_says() {
        assert_eq!(of_field("level", "50", false), Some(Level::Error));
        assert_eq!(of_field("level", "4", false), None);
        assert_eq!(of_field("PRIORITY", "4", false), Some(Level::Warn));
        // Of Go's slog.
        let slog = ["DEBUG-4", "DEBUG+1", "INFO+2", "WARN+1", "ERROR+3", "ERROR+4"];
        assert_eq!(
            slog.map(|text| of_field("level", text, false)),
            [Level::Trace, Level::Debug, Level::Info, Level::Warn, Level::Error, Level::Fatal].map(Some)
        );
        for none in ["INFO+", "INFO+x", "+2", "GOLD+2", "info+2", "INFO+-2", "INFO+200", "é+2"] {
            assert_eq!(of_field("level", none, false), None, "{none}");
        }
        assert_eq!(of_field("severity_number", "24", false), Some(Level::Fatal));
        assert_eq!(of_field("severity_number", "0", false), None);
        assert_eq!(of_field("Level", "2", true), Some(Level::Error));
        assert_eq!(of_field("Level", "2", false), None);
        assert_eq!(of_field("level", "Warning", false), Some(Level::Warn));
        assert_eq!(of_field("PRIORITY", " 4 ", false), Some(Level::Warn));
        assert_eq!(of_field("level", " 50 ", false), Some(Level::Error));
        for text in ["50", " 50 ", "\t10\n", "050", "+50", "55", "5", "50.0", "", " ", " Warn ", "D2"] {
            assert_eq!(
                of_field("level", text, false),
                Level::of_value(text),
                "{text:?} is found as it is kept"
            );
        }
        assert_eq!(of_field("s", "W", false), Some(Level::Warn));
        assert_eq!(of_field("s", "D2", false), Some(Level::Debug));
        assert_eq!(of_field("s", "error", false), None);
        assert_eq!(of_field("s", "", false), None);
    }
}
