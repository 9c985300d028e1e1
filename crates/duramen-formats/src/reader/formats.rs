//! Lines of a form that is told by the line alone: access logs, syslog, CEF and LEEF, logfmt.

use super::Builder;
use crate::access;
use crate::detect::is_logfmt;
use crate::fields::Found;
use crate::lines::Line;
use crate::syslog::{self, SyslogLine};
use crate::{LineFormat, NameFilter, Sink, cef, haproxy, level, logfmt, plain, words};

impl Builder {
    /// Takes a line that is of an access log, syslog or logfmt; says whether it is one of those tried.
    pub(super) fn structured_line<S: Sink + ?Sized>(
        &mut self,
        text: &str,
        line: Line<'_>,
        sink: &mut S,
    ) -> Result<bool, S::Error> {
        let format = self.options.format;
        let tries = |f| format == f || format == LineFormat::Auto;
        if tries(LineFormat::Columns)
            && self.head.is_none()
            && let Some(parsed) = self.header.clone().parse(text, &self.stamps)
        {
            self.flush(sink)?;
            self.begin(parsed.time_ns, parsed.level, LineFormat::Columns);
            parsed.add_to(&mut self.entry);
            self.single(text, line, sink)?;
            return Ok(true);
        }
        if tries(LineFormat::AccessLog)
            && let Some(parsed) = access::parse(text, &self.stamps)
        {
            self.flush(sink)?;
            self.begin_access(text, parsed.before, parsed.time_ns);
            parsed.add_to(&mut self.entry);
            self.single(text, line, sink)?;
            return Ok(true);
        }
        if tries(LineFormat::AccessLog)
            && let Some(parsed) = words::parse(text, &self.stamps)
        {
            self.flush(sink)?;
            self.begin_access(text, parsed.before, parsed.time_ns);
            parsed.add_to(&mut self.entry);
            self.single(text, line, sink)?;
            return Ok(true);
        }
        if tries(LineFormat::AccessLog)
            && let Some(parsed) = haproxy::parse(text, &self.stamps)
        {
            self.flush(sink)?;
            self.begin_access(text, parsed.before, parsed.time_ns);
            parsed.add_to(&mut self.entry);
            self.single(text, line, sink)?;
            return Ok(true);
        }
        if tries(LineFormat::Syslog)
            && let Some(at) = cef::start(text)
            && let Some(found) = cef::parse(text, at, &mut self.fields, &self.stamps)
        {
            self.flush(sink)?;
            self.security_event(text, at, &found);
            self.open(text, line, true);
            return Ok(true);
        }
        if tries(LineFormat::Syslog)
            && let Some(parsed) = self.syslog(text)
        {
            self.flush(sink)?;
            self.syslog_line(&parsed);
            self.open(text, line, true);
            return Ok(true);
        }
        let is_logfmt = match format {
            LineFormat::Logfmt => logfmt::parse(text, &mut self.fields).is_some_and(|l| l.pairs > 0),
            // Where events lead and none of the first was logfmt, `a=b c=d` is some event's second line.
            LineFormat::Auto => {
                self.detected.is_none_or(|d| d.has_logfmt || !d.events_lead)
                    && is_logfmt(text, &mut self.fields)
            }
            _ => false,
        };
        if is_logfmt {
            self.flush(sink)?;
            let found = self.fields.find_roles(text, &self.roles, &self.stamps).without_message();
            self.begin(found.time, found.level, LineFormat::Logfmt);
            self.add_read(text, &found);
            self.open(text, line, true);
            return Ok(true);
        }
        Ok(false)
    }

    /// Reads a line as syslog, if it is no other log's that looks like it.
    fn syslog<'a>(&self, text: &'a str) -> Option<SyslogLine<'a>> {
        let parsed = syslog::parse(text, &self.stamps)?;
        let is_said = self.options.format == LineFormat::Syslog || self.detected.is_none_or(|d| d.is_syslog);
        (is_said || syslog::is_certain(text, &parsed, &self.stamps)).then_some(parsed)
    }

    /// Starts an entry of syslog. A firewall that leaves the time to its message has pairs there.
    fn syslog_line(&mut self, parsed: &SyslogLine<'_>) {
        let pairs = parsed.time_ns.is_none() && is_logfmt(parsed.message, &mut self.fields);
        if !pairs {
            // What programs put behind `<PRI>` has stamps of all kinds.
            let lead = || plain::lead(parsed.message, &self.stamps).time_ns;
            self.begin(parsed.time_ns.or_else(lead), parsed.level(), LineFormat::Syslog);
            parsed.add_to(&mut self.entry, &mut self.names);
            return;
        }
        let found = self.fields.find_roles(parsed.message, &self.roles, &self.stamps);
        self.begin(found.time, parsed.level().or(found.level), LineFormat::Syslog);
        self.add_with_head(parsed, parsed.message);
    }

    /// Starts an entry of an access log, with what a head before it tells.
    fn begin_access(&mut self, text: &str, before: &str, time_ns: i64) {
        let head = if before.is_empty() { None } else { self.syslog(text) };
        let level = match head {
            Some(head) => head.priority.and_then(|priority| level::of_syslog_severity(priority & 7)),
            None => level::find(before).map(|(level, _)| level),
        };
        self.begin(Some(time_ns), level, LineFormat::AccessLog);
        if let Some(head) = head {
            head.add_to(&mut self.entry, &mut self.names);
        }
    }

    /// Adds the head of syslog's, and the fields read from `text` beside it.
    fn add_with_head(&mut self, head: &SyslogLine<'_>, text: &str) {
        self.names.clear();
        self.reserve_head(true);
        head.add_to(&mut self.entry, &mut self.names);
        let priority = head.priority.map(|_| "");
        let has = [
            ("host", head.host),
            ("app", head.app),
            ("pid", head.pid),
            ("msgid", head.msgid),
            ("priority", priority),
            ("facility", priority),
            ("severity", priority),
        ];
        for (name, _) in has.iter().filter(|(_, value)| value.is_some()) {
            self.names.reserve(name);
        }
        self.add_beside(text);
    }

    /// Adds the fields read from `text`; those that are called as one of a runtime's head under other names.
    fn add_read(&mut self, text: &str, found: &Found) {
        if self.head.is_none() {
            return self.fields.add_to(&mut self.entry, text, found, &NameFilter::default());
        }
        self.names.clear();
        self.reserve_head(true);
        self.add_beside(text);
    }

    /// Adds the fields read from `text`, and those whose names are reserved under others.
    pub(super) fn add_beside(&mut self, text: &str) {
        let Self { fields, names, entry, .. } = self;
        fields.for_each(text, |name, value| {
            if let Some(name) = names.take(name, value) {
                entry.field(name, value);
            }
        });
    }

    /// Starts an entry of CEF or LEEF, whose fields are read, with those of the head of syslog's before it, if there is one.
    fn security_event(&mut self, text: &str, at: usize, found: &Found) {
        let head = if at > 0 { syslog::parse(text, &self.stamps) } else { None };
        self.names.clear();
        let Some(mut head) = head else {
            self.begin(found.time, found.level, LineFormat::Syslog);
            self.add_read(text, found);
            return;
        };
        // `CEF:` looks like a program's name.
        head.app = head.app.filter(|app| !matches!(*app, "CEF" | "LEEF"));
        self.begin(head.time_ns.or(found.time), found.level.or(head.level()), LineFormat::Syslog);
        self.add_with_head(&head, text);
    }
}
