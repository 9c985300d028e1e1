//! Lines whose time and level stand in a place of their own.

use super::{Lead, after_prefix};
use crate::syslog::{FACILITIES, SEVERITIES};
use crate::time::StampParser;
use crate::{event, level};
use duramen::Level;

/// How long the mark is by which an event begins before its stamp: `# Time: ` in MySQL's slow query log, `####<` and `<` in
/// those of WebLogic.
pub(super) fn mark_len(line: &str, stamps: &StampParser) -> usize {
    match line.as_bytes() {
        [b'#', b' ', ..] if line.starts_with("# Time: ") => 8,
        [b'#', b'#', b'#', b'#', b'<', ..] => 5,
        [b'<', b'A'..=b'Z', ..] if line.get(1..).and_then(|rest| stamps.parse(rest)).is_some() => 1,
        _ => 0,
    }
}

/// `kern  :info  : [    0.000000] x`, as `dmesg -x` shows facility and level before the time.
pub(super) fn kernel(line: &str, stamps: &StampParser) -> Option<Lead> {
    let (facility, rest) = line.split_once(':')?;
    let (severity, rest) = rest.split_once(':')?;
    let width = severity.len();
    let severity = SEVERITIES.iter().position(|name| match *name {
        "warning" => severity.trim_end() == "warn",
        name => severity.trim_end() == name,
    })?;
    if !FACILITIES.contains(&facility.trim_end()) || facility.len() > 8 || facility.len() < 6 || width < 6 {
        return None;
    }
    let time_ns = rest.trim_start().strip_prefix('[').and_then(|rest| stamps.parse(rest)).map(|(ns, _)| ns);
    let level = u8::try_from(severity).ok().and_then(level::of_syslog_severity);
    Some(Lead { time_ns, level, begins_event: true })
}

/// `10:00AM INF message`, as zerolog shows its lines: a time of day without seconds, no stamp.
pub(super) fn console(line: &str, start: usize) -> Option<Lead> {
    let rest = line.get(start..)?;
    let (clock, _) = rest.split_once([' ', '\x1b'])?;
    let (hours, minutes) = clock.split_once(':')?;
    let is_number = |text: &str, len| text.len() <= len && text.bytes().all(|b| b.is_ascii_digit());
    let minutes = minutes.strip_suffix("AM").or_else(|| minutes.strip_suffix("PM"))?;
    if hours.is_empty() || !is_number(hours, 2) || minutes.len() != 2 || !is_number(minutes, 2) {
        return None;
    }
    let at = after_prefix(line.as_bytes(), start + clock.len());
    let word = line.get(at..)?.split([' ', '\x1b']).next()?;
    Some(Lead { time_ns: None, level: level::spelled(word), begins_event: true })
}

/// `<Event xmlns=…><System>…<Level>4</Level>…<TimeCreated SystemTime='2024-…'/>`: an event of Windows as XML.
pub(super) fn windows_event(line: &str, stamps: &StampParser) -> Option<Lead> {
    let event = line.strip_prefix("<Event ")?;
    let (_, time) = event.split_once("SystemTime=")?;
    let (time_ns, _) = stamps.parse(time.get(1..)?)?;
    let level = event.split_once("<Level>").and_then(|(_, rest)| rest.split_once('<'));
    let level = level.and_then(|(level, _)| level::of_field("Level", level, true));
    Some(Lead { time_ns: Some(time_ns), level, begins_event: true })
}

/// `type=USER_LOGIN msg=audit(1717200000.123:45): pid=7 msg='op=login'`: what Linux audits, where it is no logfmt.
pub(super) fn audit(line: &str, stamps: &StampParser) -> Option<Lead> {
    let audited = line.starts_with("type=") || line.starts_with("node=");
    let (_, stamp) = if audited { line.split_once("msg=audit(")? } else { return None };
    let (time_ns, _) = stamps.parse(stamp)?;
    Some(Lead { time_ns: Some(time_ns), level: None, begins_event: true })
}

/// `Started GET "/" for ::1 at 2024-06-01 10:00:00 +0200`, with tags before it or not: how Rails begins to log a request. It is the
/// only time that a log of development has.
pub(super) fn rails_request(line: &str, stamps: &StampParser) -> Option<Lead> {
    let begins = line.starts_with("Started ") || (line.starts_with('[') && line.contains("] Started "));
    let (request, stamp) = if begins { line.rsplit_once(" at ")? } else { return None };
    let (time_ns, len) = stamps.parse(stamp)?;
    let is_request = len == stamp.len() && request.contains(" for ");
    is_request.then_some(Lead { time_ns: Some(time_ns), level: None, begins_event: true })
}

/// What a program writes by itself when nobody caught an exception: it belongs to no line of its log.
pub(super) fn uncaught(line: &str) -> Option<Lead> {
    let level = if event::is_uncaught(line) { Some(Level::Error) } else { None };
    let begins = level.is_some() || event::is_script_place(line);
    begins.then_some(Lead { time_ns: None, level, begins_event: true })
}

/// `=INFO REPORT==== 16-Jan-2013::15:58:33 ===`
pub(super) fn erlang_report(line: &str, stamps: &StampParser) -> Option<Lead> {
    let at = event::report_stamp(line)?;
    let (time_ns, _) = stamps.parse(line.get(at..)?)?;
    let kind = line.get(1..at)?.split(' ').next()?;
    let level = if kind == "CRASH" { Some(Level::Error) } else { level::spelled(kind) };
    Some(Lead { time_ns: Some(time_ns), level, begins_event: true })
}
