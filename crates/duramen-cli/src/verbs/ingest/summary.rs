//! What became of a source, in one line.

use super::feed::Fed;
use crate::render::terminal::local_time;
use crate::render::units::{bytes, count, counted, duration, rate};
use jiff::tz::TimeZone;
use std::time::Duration;

/// The sums over sources.
#[derive(Default)]
pub(super) struct Totals {
    sources: u64,
    lines: u64,
    entries: u64,
    read_bytes: u64,
    elapsed: Duration,
}

impl Totals {
    /// Adds a source.
    pub(super) fn add(&mut self, fed: &Fed) {
        self.sources += 1;
        self.lines += fed.report.lines;
        self.entries += fed.entries;
        self.read_bytes += fed.read_bytes;
        self.elapsed += fed.elapsed;
    }

    /// The line below all others, if there were several.
    pub(super) fn line(&self) -> Option<String> {
        (self.sources > 1).then(|| {
            format!(
                "{}: {}, {}, {} in {} ({})",
                counted(self.sources, "input", "inputs"),
                counted(self.lines, "line", "lines"),
                counted(self.entries, "entry", "entries"),
                bytes(self.read_bytes),
                duration(self.elapsed),
                rate(self.read_bytes, self.elapsed)
            )
        })
    }
}

/// What became of a source, and of how many lines of it were in the store before, if it is known there. Counts that are zero are
/// not worth a word.
pub(super) fn line(name: &str, fed: &Fed, known_lines: Option<u64>, zone: &TimeZone) -> String {
    if fed.read_bytes == 0 {
        return match known_lines {
            None => format!("{name}: empty"),
            // One that is a single line may have no line's end.
            Some(0) => format!("{name}: already in the store, nothing new"),
            Some(n) => {
                format!("{name}: already in the store: {} skipped, nothing new", counted(n, "line", "lines"))
            }
        };
    }
    let report = &fed.report;
    let mut parts = vec![counted(report.lines, "line", "lines"), counted(fed.entries, "entry", "entries")];
    for (n, what) in [
        (report.joined_lines, "joined"),
        (report.unparsed_lines, "unparsed"),
        (report.lines_not_utf8, "not UTF-8"),
        (report.cut_lines, "cut, being too long"),
        (report.lines_without_time, "without a time"),
    ] {
        if n > 0 {
            parts.push(format!("{} {what}", count(n)));
        }
    }
    if let Some((first, last)) = fed.times {
        let short = |ns| local_time(ns, zone).chars().take("2026-11-21 10:00:00".len()).collect::<String>();
        parts.push(format!("{} to {}", short(first), short(last)));
    }
    parts.push(format!(
        "{} in {} ({})",
        bytes(fed.read_bytes),
        duration(fed.elapsed),
        rate(fed.read_bytes, fed.elapsed)
    ));
    let mut line = format!("{name}: {}", parts.join(", "));
    if let Some(known) = known_lines.filter(|lines| *lines > 0) {
        line.push_str(&format!("; already in the store: {} skipped", counted(known, "line", "lines")));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use duramen_formats::Report;

    fn fed() -> Fed {
        Fed {
            report: Report { lines: 1234, entries: 1200, joined_lines: 34, ..Report::default() },
            read_bytes: 5_000_000,
            entries: 1200,
            times: Some((0, 86_399_999_999_999)),
            position: None,
            cut_short: None,
            elapsed: Duration::from_millis(500),
        }
    }

    #[test]
    fn the_line_says_what_there_is_to_say() {
        let text = "app.log: 1,234 lines, 1,200 entries, 34 joined, 1970-01-01 00:00:00 to 1970-01-01 23:59:59, \
                    5.00 MB in 0.50 s (10.0 MB/s)";
        assert_eq!(line("app.log", &fed(), None, &TimeZone::UTC), text);
        assert_eq!(
            line("app.log", &fed(), Some(1), &TimeZone::UTC),
            format!("{text}; already in the store: 1 line skipped")
        );
        let nothing = Fed { read_bytes: 0, ..fed() };
        assert_eq!(line("x", &nothing, None, &TimeZone::UTC), "x: empty");
        assert_eq!(line("x", &nothing, Some(0), &TimeZone::UTC), "x: already in the store, nothing new");
        assert_eq!(
            line("x", &nothing, Some(7), &TimeZone::UTC),
            "x: already in the store: 7 lines skipped, nothing new"
        );
    }

    #[test]
    fn totals_are_for_several() {
        let mut totals = Totals::default();
        totals.add(&fed());
        assert_eq!(totals.line(), None);
        totals.add(&fed());
        assert_eq!(
            totals.line().unwrap(),
            "2 inputs: 2,468 lines, 2,400 entries, 10.0 MB in 1.00 s (10.0 MB/s)"
        );
    }
}
