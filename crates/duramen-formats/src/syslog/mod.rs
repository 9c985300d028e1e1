//! Syslog as it is on the wire and in files.
//!
//! ```text
//! RFC 5424   <165>1 2003-10-11T22:14:15.003Z host app 1234 ID47 [id param="value"] message
//! RFC 3164   <34>Oct 11 22:14:15 host app[1234]: message
//! files      Oct 11 22:14:15 host app[1234]: message
//!            2003-10-11T22:14:15.003+02:00 host app[1234]: message
//! ```

use crate::time::StampParser;
use crate::{Names, letters, level};
use duramen::entry::MAX_FIELDS;
use duramen::{EntryBuf, Level, Value};

/// The names of the facilities 0 to 23.
pub const FACILITIES: [&str; 24] = [
    "kern", "user", "mail", "daemon", "auth", "syslog", "lpr", "news", "uucp", "cron", "authpriv", "ftp",
    "ntp", "audit", "alert", "clock", "local0", "local1", "local2", "local3", "local4", "local5", "local6",
    "local7",
];
/// The names of the severities 0 to 7.
pub const SEVERITIES: [&str; 8] = ["emerg", "alert", "crit", "err", "warning", "notice", "info", "debug"];

/// The parts of a syslog line; those that are `-`, or missing, are `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyslogLine<'a> {
    /// Facility times eight plus severity, 0 to 191, from `<PRI>`.
    pub priority: Option<u8>,
    /// The time, ns since the epoch.
    pub time_ns: Option<i64>,
    /// The host.
    pub host: Option<&'a str>,
    /// The program.
    pub app: Option<&'a str>,
    /// Its process id, or what stands in its place.
    pub pid: Option<&'a str>,
    /// RFC 5424's message id.
    pub msgid: Option<&'a str>,
    /// RFC 5424's structured data, with its brackets.
    pub structured_data: Option<&'a str>,
    /// What the program said.
    pub message: &'a str,
}

impl SyslogLine<'_> {
    /// The severity's level, or without a `<PRI>` the level that the message shows.
    pub fn level(&self) -> Option<Level> {
        match self.priority {
            Some(priority) => level::of_syslog_severity(priority & 7),
            None => (self.app.and_then(level::of_cisco_tag))
                .or_else(|| {
                    letters::starts_klog(self.message)
                        .then(|| letters::glog_letter(self.message.as_bytes()))?
                })
                .or_else(|| level::find(self.message).map(|(level, _)| level)),
        }
    }

    /// Adds the parts as fields: `host`, `app`, `pid`, `priority`, `facility` and `severity` (names), `msgid`,
    /// and each parameter of the structured data as `sd.ID.PARAM`. `names` is memory to use again for the next line.
    pub fn add_to(&self, entry: &mut EntryBuf, names: &mut Names) {
        for (name, value) in [("host", self.host), ("app", self.app), ("msgid", self.msgid)] {
            if let Some(value) = value {
                entry.field(name, value);
            }
        }
        if let Some(pid) = self.pid {
            entry.field(
                "pid",
                if crate::logfmt::is_number(pid) { Value::Number(pid) } else { Value::Str(pid) },
            );
        }
        if let Some(priority) = self.priority {
            entry.field("priority", i64::from(priority));
            let facility = FACILITIES.get(usize::from(priority / 8)).copied().unwrap_or_default();
            let severity = SEVERITIES.get(usize::from(priority % 8)).copied().unwrap_or_default();
            entry.field("facility", facility).field("severity", severity);
        }
        if let Some(data) = self.structured_data {
            // A parameter may be there several times.
            names.clear();
            let (mut name, mut count) = (String::new(), 0);
            each_parameter(data, |id, param, value| {
                count += 1;
                // One more than an entry takes is enough to have it refused.
                if count <= MAX_FIELDS + 1 {
                    name.clear();
                    name.extend(["sd.", id, ".", param]);
                    if let Some(name) = names.take(&name, Value::Str(value)) {
                        entry.field(name, value);
                    }
                }
            });
        }
    }
}

/// Whether a line that [`parse`] read is syslog beyond doubt: of two words with a colon behind a time that is not as RFC 3164
/// has it, other logs have some, too (`2024-06-01T00:00:00Z worker stopped: x`).
pub(crate) fn is_certain(line: &str, parsed: &SyslogLine<'_>, stamps: &StampParser) -> bool {
    let is_bsd =
        || stamps.parse(line).is_some_and(|(_, end)| line.get(..end).map(Shape::of) == Some(Shape::Bsd));
    let is_tag = parsed.app.is_some_and(|app| app.starts_with('%'));
    parsed.priority.is_some() || parsed.pid.is_some() || is_tag || is_bsd()
}

/// Reads a line that has a `<PRI>`, a BSD time stamp, or an RFC 3339 one followed by host and program;
/// `None` if it has none of them.
pub fn parse<'a>(line: &'a str, stamps: &StampParser) -> Option<SyslogLine<'a>> {
    match line.as_bytes().first()? {
        b'<' => {
            let (priority, rest) = pri(line)?;
            let parsed = match rest.strip_prefix("1 ") {
                Some(rest) => rfc5424(rest, stamps),
                None => None,
            };
            let parsed = parsed
                .or_else(|| bsd(rest, stamps, false))
                .or_else(|| numbered(rest, stamps))
                .or_else(|| tagged(rest));
            let parsed = parsed.unwrap_or(EMPTY.with_message(rest));
            Some(SyslogLine { priority: Some(priority), ..parsed })
        }
        b'A'..=b'Z' | b'0'..=b'9' => bsd(line, stamps, true),
        _ => None,
    }
}

const EMPTY: SyslogLine<'static> = SyslogLine {
    priority: None,
    time_ns: None,
    host: None,
    app: None,
    pid: None,
    msgid: None,
    structured_data: None,
    message: "",
};

impl<'a> SyslogLine<'a> {
    fn with_message(self, message: &'a str) -> SyslogLine<'a> {
        SyslogLine { message, ..self }
    }
}

/// `<0>` to `<191>`.
fn pri(line: &str) -> Option<(u8, &str)> {
    let (number, rest) = line.strip_prefix('<')?.split_once('>')?;
    let digits = !number.is_empty() && number.len() <= 3 && number.bytes().all(|b| b.is_ascii_digit());
    let priority: u8 = if digits { number.parse().ok()? } else { return None };
    (priority <= 191).then_some((priority, rest))
}

/// What follows `<PRI>1 `. Behind a time the last parts may be missing: a message may be cut anywhere.
fn rfc5424<'a>(text: &'a str, stamps: &StampParser) -> Option<SyslogLine<'a>> {
    let part = |text: &'a str| text.split_once(' ').unwrap_or((text, ""));
    let (time, rest) = part(text);
    let time_ns =
        if time == "-" { None } else { Some(stamps.parse(time).filter(|(_, end)| *end == time.len())?.0) };
    // `1 - nothing`, without a time, is what some program said.
    if time_ns.is_none() && rest.bytes().filter(|b| *b == b' ').count() < 3 {
        return None;
    }
    let (host, rest) = part(rest);
    let (app, rest) = part(rest);
    let (pid, rest) = part(rest);
    let (msgid, rest) = part(rest);
    let (structured_data, message) = match rest.strip_prefix('-') {
        Some(message) => (None, message),
        None => match data_end(rest).and_then(|end| rest.split_at_checked(end)) {
            Some((data, message)) => (Some(data), message),
            None => (None, rest),
        },
    };
    let message = message.strip_prefix(' ').unwrap_or(message);
    let nil = |text: &'a str| (text != "-" && !text.is_empty()).then_some(text);
    Some(SyslogLine {
        priority: None,
        time_ns,
        host: nil(host),
        app: nil(app),
        pid: nil(pid),
        msgid: nil(msgid),
        structured_data,
        message: message.strip_prefix('\u{feff}').unwrap_or(message),
    })
}

/// Where structured data end. What cannot be read, or has no parameter, as `[INFO] ready` of who leaves the data out, is part
/// of the message, and costs no other part. A mark of UTF-8 behind them says that the message begins there.
fn data_end(text: &str) -> Option<usize> {
    let mut has_parameters = false;
    let end = each_parameter(text, |_, _, _| has_parameters = true)?;
    let marked = || end > 0 && text.get(end..).is_some_and(|rest| rest.starts_with(" \u{feff}"));
    (has_parameters || marked()).then_some(end)
}

/// Calls `f` with id, name and value of each parameter of `[id a="b" c="d"][id2 …]`, the value as it is
/// written (`\"`, `\\` and `\]` unescaped), and says where the data end; `None` if they do not.
fn each_parameter(data: &str, mut f: impl FnMut(&str, &str, &str)) -> Option<usize> {
    let s = data.as_bytes();
    let mut i = 0;
    let mut value = String::new();
    while s.get(i) == Some(&b'[') {
        let id_at = i + 1;
        i = id_at + s[id_at..].iter().position(|b| matches!(b, b' ' | b']'))?;
        let id = data.get(id_at..i)?;
        loop {
            let name_at = i + s.get(i..)?.iter().take_while(|b| **b == b' ').count();
            // Some put a blank before the bracket.
            if name_at == i || s.get(name_at) == Some(&b']') {
                i = name_at;
                break;
            }
            i = name_at + s.get(name_at..)?.iter().position(|b| matches!(b, b'=' | b' ' | b']' | b'"'))?;
            let name = data.get(name_at..i)?;
            if s.get(i..i + 2) != Some(b"=\"") {
                return None;
            }
            i += 2;
            value.clear();
            loop {
                let stop = i + memchr::memchr2(b'"', b'\\', s.get(i..)?)?;
                value.push_str(data.get(i..stop)?);
                i = stop + 1;
                if s[stop] == b'"' {
                    break;
                }
                // A backslash before anything else is itself.
                match s.get(i)? {
                    b'"' | b'\\' | b']' => {
                        value.push(char::from(s[i]));
                        i += 1;
                    }
                    _ => value.push('\\'),
                }
            }
            f(id, name, &value);
        }
        if s.get(i) != Some(&b']') {
            return None;
        }
        i += 1;
    }
    Some(i)
}

/// `stamp host app[pid]: message`. `strict` where no `<PRI>` says that this is syslog: there a stamp that
/// other logs have, too, needs a program after the host.
fn bsd<'a>(text: &'a str, stamps: &StampParser, strict: bool) -> Option<SyslogLine<'a>> {
    let s = text.as_bytes();
    let named = s.first()?.is_ascii_uppercase() && s.get(3) == Some(&b' ');
    let rfc3339 = matches!(s.get(10), Some(b'T')) && s.get(4) == Some(&b'-');
    if !(named || rfc3339) {
        return None;
    }
    let (time_ns, end) = stamps.parse(text)?;
    let shape = Shape::of(text.get(..end)?);
    // `Mon Jan  2 15:04:05 2006` is the ctime of some other log, and not a host called 2006.
    if strict && shape == Shape::Other {
        return None;
    }
    let rest = text.get(end..)?;
    // Cisco's devices end the stamp with a colon and say no host.
    let rest = if strict {
        rest.strip_prefix(' ')?
    } else {
        rest.strip_prefix(':').unwrap_or(rest).strip_prefix(' ')?
    };
    let rest = rest.trim_start_matches(' ');
    // `kubectl logs --timestamps` puts a time before klog's own.
    if strict && letters::starts_klog(rest) {
        return None;
    }
    let (host, after_host) = rest.split_once(' ').unwrap_or((rest, ""));
    let host_like = is_host(host);
    if strict && (!host_like || host == "-" || level::spelled(host.trim_matches(':')).is_some()) {
        return None;
    }
    let line = SyslogLine { time_ns: Some(time_ns), ..EMPTY };
    // Relays and small devices leave the host out: `Oct 11 22:14:15 app[1]: message`.
    if host.ends_with(':')
        && let Some((app, pid, message)) = tag(rest)
    {
        return Some(SyslogLine { app: Some(app), pid, message, ..line });
    }
    if !host_like {
        return Some(line.with_message(rest));
    }
    let after_host = after_host.trim_start_matches(' ');
    // As Cisco's firewalls part host and message.
    let after_host = after_host.strip_prefix(": ").unwrap_or(after_host);
    match tag(after_host) {
        Some((app, pid, message)) => {
            Some(SyslogLine { host: Some(host), app: Some(app), pid, message, ..line })
        }
        None if strict && shape != Shape::Bsd => None,
        None => Some(SyslogLine { host: Some(host), message: after_host, ..line }),
    }
}

/// What a stamp looks like.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// `Oct 11 22:14:15`
    Bsd,
    /// One that syslog has, and other logs as well: RFC 3339, `Oct 11 22:14:15.123456` and `Sat 2024-06-01 10:00:03 CEST` of
    /// systemd, `Jun 01 2024 10:00:07` of Cisco.
    Shared,
    Other,
}

impl Shape {
    fn of(stamp: &str) -> Self {
        let s = stamp.as_bytes();
        let digits_from = |at: usize| s.get(at..).is_some_and(|rest| rest.iter().all(u8::is_ascii_digit));
        match s {
            [b'0'..=b'9', ..] | [_, _, _, b' ', b'0'..=b'9', _, _, _, b'-', ..] => Shape::Shared,
            // `Mon Jan  2 15:04:05`: a day's name before the month's.
            [_, _, _, b' ', b'A'..=b'Z', ..] => Shape::Other,
            _ if s.len() <= 15 => Shape::Bsd,
            _ if s[15] == b'.' && digits_from(16) => Shape::Shared,
            [_, _, _, b' ', _, _, b' ', year @ ..] if s.len() == 20 && year[4] == b' ' => Shape::Shared,
            _ => Shape::Other,
        }
    }
}

/// `29: *Oct 11 22:14:15.123: %SYS-5-CONFIG_I: message`, as Cisco's devices number their messages and mark a clock that is
/// not synchronised. The number is no program, and the time is the time. Behind it may stand the device's name, a second
/// number (`29: router1: 000123: Oct 11 …`), or in the stamp's place how long the device has run (`29: 1d02h: …`), which
/// stays in the message.
fn numbered<'a>(text: &'a str, stamps: &StampParser) -> Option<SyslogLine<'a>> {
    let (number, rest) = text.split_once(':')?;
    if !is_number(number) {
        return None;
    }
    let msgid = Some(number).filter(|number| !number.is_empty());
    let message = rest.trim_start_matches(' ');
    let (mut rest, mut host) = (message, None);
    for _ in 0..3 {
        if let Some(line) = bsd(rest.strip_prefix(['*', '.']).unwrap_or(rest), stamps, false) {
            return Some(SyslogLine { msgid, host: line.host.or(host), ..line });
        }
        let Some((head, after)) = rest.split_once(": ") else { break };
        if !is_number(head) {
            if host.is_some() || !is_host(head) {
                break;
            }
            host = Some(head);
        }
        rest = after.trim_start_matches(' ');
    }
    if let Some(line) = of_node(message, stamps) {
        return Some(SyslogLine { msgid, ..line });
    }
    // `12:30 o'clock` is not numbered.
    msgid.filter(|_| rest_is_parted(text, number))?;
    match tag(message).filter(|(app, ..)| app.starts_with('%')) {
        Some((app, pid, message)) => Some(SyslogLine { msgid, app: Some(app), pid, message, ..EMPTY }),
        None => Some(SyslogLine { msgid, message, ..EMPTY }),
    }
}

/// Whether a space stands behind the number and its colon.
fn rest_is_parted(text: &str, number: &str) -> bool {
    text.as_bytes().get(number.len() + 1) == Some(&b' ')
}

/// `vmx01 RP/0/RSP1/CPU0:Mar 28 10:20:30.123 UTC: ifmgr[123]: message`, as IOS-XR says which of its nodes speaks; the host
/// may be missing. The message is all from the node on.
fn of_node<'a>(text: &'a str, stamps: &StampParser) -> Option<SyslogLine<'a>> {
    let (head, stamp) = text.split_once(':')?;
    let (host, node) = head.split_once(' ').map_or((None, head), |(host, node)| (Some(host), node));
    if !node.contains('/') || !is_host(node) || !host.is_none_or(is_host) {
        return None;
    }
    let SyslogLine { time_ns, .. } = bsd(stamp, stamps, false)?;
    let message = text.get(head.len() - node.len()..)?;
    Some(SyslogLine { time_ns, host, message, ..EMPTY })
}

fn is_number(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_digit())
}

fn is_host(text: &str) -> bool {
    let may_be = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_' | b':' | b'/');
    !text.is_empty() && text.bytes().all(may_be)
}

/// `<PRI>app: message`, as libraries send it that leave time and host to the receiver. A level or a sentence before the
/// colon is no app, and neither is a number.
fn tagged(text: &str) -> Option<SyslogLine<'_>> {
    let (app, pid, message) = tag(text)?;
    let name_like = app.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_' | b'/'));
    let parted = text[..text.len() - message.len()].ends_with(' ');
    let line = SyslogLine { app: Some(app), pid, message, ..EMPTY };
    (name_like && parted && !is_number(app) && level::spelled(app).is_none()).then_some(line)
}

/// `app[pid]: message` and `app: message`; none begins with a tab, as the lines of a stack trace do, each of which Logback sends.
fn tag(text: &str) -> Option<(&str, Option<&str>, &str)> {
    let s = text.as_bytes();
    let end = s.iter().take(128).position(|b| matches!(b, b'[' | b':' | b' ' | b'\t'))?;
    let app = text.get(..end)?;
    if app.is_empty() {
        return None;
    }
    let (pid, after) = match s[end] {
        b'[' => {
            let close = end + s[end..].iter().take(64).position(|b| *b == b']')?;
            (Some(text.get(end + 1..close)?).filter(|pid| !pid.is_empty()), close + 1)
        }
        _ => (None, end),
    };
    match s.get(after) {
        Some(b':') => {
            let message = text.get(after + 1..)?;
            Some((app, pid, message.strip_prefix(' ').unwrap_or(message)))
        }
        _ if pid.is_some() => Some((app, pid, text.get(after..)?.trim_start_matches(' '))),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
