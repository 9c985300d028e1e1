//! Times in a text, moved to another time: their digits change, their layout stays.

use jiff::civil::DateTime;
use jiff::{Timestamp, tz::TimeZone};
use regex::{Captures, Regex};
use std::ops::Range;

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const DAY_NS: i64 = 86_400_000_000_000;
const QUARTER_NS: i64 = 900_000_000_000;
/// A time of day without a date counts as one if it is as near to the entry's own time as this, in some time zone.
const NEAR_NS: i64 = 60_000_000_000;

/// How times are written: `Y` year, `B` month's name, `M` month, `D` day, `h`, `m`, `s`, `f` fraction of a second.
pub(crate) const LAYOUTS: [&str; 7] = [
    r"(?<Y>[12]\d{3})[-/.](?<M>[01]\d)[-/.](?<D>[0-3]\d)(?:[T :-](?<h>[012]\d)[:.](?<m>[0-5]\d)[:.](?<s>[0-6]\d)(?:[.,](?<f>\d{1,9}))?Z?)?",
    r"(?<D>[0-3]\d)/(?<B>[A-Z][a-z]{2})/(?<Y>[12]\d{3}):(?<h>[012]\d):(?<m>[0-5]\d):(?<s>[0-6]\d)",
    r"(?<B>[A-Z][a-z]{2}) (?<D>[ \d]?\d) (?<h>[012]\d):(?<m>[0-5]\d):(?<s>[0-6]\d)(?:\.(?<f>\d{1,9}))?",
    r"(?<Y>\d\d)/(?<M>[01]\d)/(?<D>[0-3]\d) (?<h>[012]\d):(?<m>[0-5]\d):(?<s>[0-6]\d)",
    r"(?<M>[01]\d)-(?<D>[0-3]\d) (?<h>[012]\d):(?<m>[0-5]\d):(?<s>[0-6]\d)(?:\.(?<f>\d{1,9}))?",
    r"(?<Y>\d\d)(?<M>[01]\d)(?<D>[0-3]\d) (?<h>[012]\d)(?<m>[0-5]\d)(?<s>[0-6]\d)",
    r"(?<h>[012]\d):(?<m>[0-5]\d):(?<s>[0-6]\d)(?:[.,](?<f>\d{1,9}))?",
];

/// Knows all layouts.
#[derive(Debug)]
pub(crate) struct Stamps(Vec<Regex>);

impl Stamps {
    pub(crate) fn new() -> Result<Self, regex::Error> {
        LAYOUTS
            .iter()
            .map(|layout| Regex::new(&format!("^(?:{layout})$")))
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// The text if it is a time, moved as the entry is from its time to a new one.
    pub(crate) fn moved(&self, text: &str, entry_ns: i64, new_ns: i64) -> Option<String> {
        let captures = self.0.iter().find_map(|layout| layout.captures(text))?;
        let said_ns = instant(&captures, entry_ns)?;
        let delta_ns = said_ns.checked_sub(entry_ns)?;
        if captures.name("D").is_none() {
            // A duration looks the same.
            let off_ns = delta_ns.rem_euclid(QUARTER_NS);
            if off_ns.min(QUARTER_NS - off_ns) > NEAR_NS {
                return None;
            }
        }
        write(text, &captures, new_ns.checked_add(delta_ns)?)
    }
}

/// When that is, if UTC is meant.
fn instant(captures: &Captures<'_>, entry_ns: i64) -> Option<i64> {
    let entry = civil(entry_ns)?;
    let number = |name: &str| captures.name(name).and_then(|part| part.as_str().trim().parse::<i8>().ok());
    let year = match captures.name("Y").map(|part| part.as_str()) {
        Some(text) if text.len() == 2 => 2000 + text.parse::<i16>().ok()?,
        Some(text) => text.parse().ok()?,
        None => entry.year(),
    };
    let month = match captures.name("B") {
        Some(name) => i8::try_from(MONTHS.iter().position(|month| *month == name.as_str())?).ok()? + 1,
        None => number("M").unwrap_or(entry.month()),
    };
    let fraction = captures.name("f").map_or("", |part| part.as_str());
    let nanos = format!("{fraction:0<9}").parse().ok()?;
    let time = |name: &str| number(name).unwrap_or_default();
    let day = number("D").unwrap_or(entry.day());
    let said = DateTime::new(year, month, day, time("h"), time("m"), time("s").min(59), nanos).ok()?;
    i64::try_from(said.to_zoned(TimeZone::UTC).ok()?.timestamp().as_nanosecond()).ok()
}

fn write(text: &str, captures: &Captures<'_>, ns: i64) -> Option<String> {
    let new = civil(ns)?;
    let mut out = text.to_owned();
    let mut put = |name: &str, value: String| {
        if let Some(part) = captures.name(name).filter(|part| part.len() == value.len()) {
            out.replace_range(part.range(), &value);
        }
    };
    let year_digits = captures.name("Y").map_or(4, |part| part.len());
    put("Y", format!("{:04}", new.year())[4 - year_digits..].to_owned());
    put("M", format!("{:02}", new.month()));
    put("B", MONTHS[usize::try_from(new.month()).ok()? - 1].to_owned());
    let day = captures.name("D").map_or("", |part| part.as_str());
    put("D", if day.starts_with(' ') { format!("{:2}", new.day()) } else { format!("{:02}", new.day()) });
    put("h", format!("{:02}", new.hour()));
    put("m", format!("{:02}", new.minute()));
    put("s", format!("{:02}", new.second()));
    let fraction_digits = captures.name("f").map_or(0, |part| part.len());
    put("f", format!("{:09}", new.subsec_nanosecond())[..fraction_digits].to_owned());
    Some(out)
}

fn civil(ns: i64) -> Option<DateTime> {
    Some(TimeZone::UTC.to_datetime(Timestamp::from_nanosecond(i128::from(ns)).ok()?))
}

/// Seconds, ms, µs or ns since 1970 near the entry's time, with what stands behind a point: moved as the entry is.
pub(crate) fn moved_epoch(digits: &str, entry_ns: i64, new_ns: i64) -> Option<String> {
    let whole: Range<usize> = 0..digits.find('.').unwrap_or(digits.len());
    let unit_ns: i64 = match whole.end {
        10 => 1_000_000_000,
        13 => 1_000_000,
        16 => 1_000,
        19 => 1,
        _ => return None,
    };
    let said: i64 = digits[whole.clone()].parse().ok()?;
    let said_ns = said.checked_mul(unit_ns)?;
    let delta_ns = said_ns.checked_sub(entry_ns)?;
    if delta_ns.abs() > 2 * DAY_NS {
        return None;
    }
    let fraction = digits[whole.end..].trim_start_matches('.');
    let part_ns: i64 = if fraction.is_empty() { 0 } else { format!("{fraction:0<9}")[..9].parse().ok()? };
    // The part of a unit is there only for seconds.
    let moved_ns =
        new_ns.checked_add(delta_ns)?.checked_add(if unit_ns == 1_000_000_000 { part_ns } else { 0 })?;
    let mut out = (moved_ns / unit_ns).to_string();
    if !fraction.is_empty() {
        let part = format!("{:09}", moved_ns.rem_euclid(1_000_000_000));
        out.push('.');
        out.push_str(&part[..fraction.len().min(9)]);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENTRY_NS: i64 = 1_702_955_173_843_000_000; // 2023-12-19T03:06:13.843Z
    const NEW_NS: i64 = 1_767_571_200_139_000_000; // 2026-01-05T00:00:00.139Z

    fn moved(text: &str) -> Option<String> {
        Stamps::new().unwrap().moved(text, ENTRY_NS, NEW_NS)
    }

    #[test]
    fn each_layout_stays_and_its_time_moves() {
        for (before, after) in [
            ("2023-12-19 03:06:13.843", "2026-01-05 00:00:00.139"),
            ("2023-12-19T03:06:14,000", "2026-01-05T00:00:00,296"),
            ("2023-12-19T03:06:14.000Z", "2026-01-05T00:00:00.296Z"),
            ("2023-12-19-03.06.13.843000", "2026-01-05-00.00.00.139000"),
            ("2023.12.19", "2026.01.04"), // its midnight is three hours before
            ("19/Dec/2023:06:36:13", "05/Jan/2026:03:29:59"),
            ("Dec 19 03:06:13", "Jan 04 23:59:59"),
            ("23/12/19 03:06:14", "26/01/05 00:00:00"),
            ("12-19 03:06:13.843", "01-05 00:00:00.139"),
            ("231219 030614", "260105 000000"),
            ("11:06:13.844", "08:00:00.140"),
        ] {
            assert_eq!(moved(before).as_deref(), Some(after), "{before}");
        }
    }

    #[test]
    fn what_is_no_time_is_left() {
        for text in ["00:00:00", "2023-13-40", "Foo 19 03:06:13", "12345"] {
            assert_eq!(moved(text), None, "{text}");
        }
    }

    #[test]
    fn numbers_since_1970_move_if_they_are_near() {
        let of = |text| moved_epoch(text, ENTRY_NS, NEW_NS);
        assert_eq!(of("1702955173843").as_deref(), Some("1767571200139"));
        assert_eq!(of("1702955173.843").as_deref(), Some("1767571200.139"));
        assert_eq!(of("1702955174").as_deref(), Some("1767571200"));
        assert_eq!(of("1402955174"), None);
        assert_eq!(of("42"), None);
    }
}
