//! Times in Go's layouts, which are what `Mon Jan 2 15:04:05 2006` would be in them. A time is a text as RFC 3339 has it,
//! and all that is shown is UTC.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const WEEKDAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/// A part of a layout.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Part<'l> {
    Literal(&'l str),
    /// Of so many digits, a text in front of them filling up what is missing: a zero, a blank, or nothing.
    Number(Field, usize, &'static str),
    Month {
        short: bool,
    },
    Weekday {
        short: bool,
    },
    /// `PM` or `pm`
    Half {
        small: bool,
    },
    /// `.000`, or `.999`, which leaves zeros at the end out.
    Fraction {
        digits: usize,
        sign: char,
        all: bool,
    },
    /// `-0700`: with colons or not, with minutes or seconds or not; `Z07:00` is `Z` for UTC.
    Offset {
        z: bool,
        colon: bool,
        parts: usize,
    },
    /// `MST`
    Zone,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Field {
    Year,
    ShortYear,
    Month,
    Day,
    DayOfYear,
    Hour,
    Hour12,
    Minute,
    Second,
}

/// What stands in layouts for something, longer ones before what they begin with.
const PARTS: &[(&str, Part<'static>)] = &[
    ("January", Part::Month { short: false }),
    ("Jan", Part::Month { short: true }),
    ("Monday", Part::Weekday { short: false }),
    ("Mon", Part::Weekday { short: true }),
    ("MST", Part::Zone),
    ("2006", Part::Number(Field::Year, 4, "0")),
    ("002", Part::Number(Field::DayOfYear, 3, "0")),
    ("__2", Part::Number(Field::DayOfYear, 3, " ")),
    ("01", Part::Number(Field::Month, 2, "0")),
    ("02", Part::Number(Field::Day, 2, "0")),
    ("03", Part::Number(Field::Hour12, 2, "0")),
    ("04", Part::Number(Field::Minute, 2, "0")),
    ("05", Part::Number(Field::Second, 2, "0")),
    ("06", Part::Number(Field::ShortYear, 2, "0")),
    ("15", Part::Number(Field::Hour, 2, "0")),
    ("_2", Part::Number(Field::Day, 2, " ")),
    ("1", Part::Number(Field::Month, 2, "")),
    ("2", Part::Number(Field::Day, 2, "")),
    ("3", Part::Number(Field::Hour12, 2, "")),
    ("4", Part::Number(Field::Minute, 2, "")),
    ("5", Part::Number(Field::Second, 2, "")),
    ("PM", Part::Half { small: false }),
    ("pm", Part::Half { small: true }),
    ("-07:00:00", Part::Offset { z: false, colon: true, parts: 3 }),
    ("-070000", Part::Offset { z: false, colon: false, parts: 3 }),
    ("-07:00", Part::Offset { z: false, colon: true, parts: 2 }),
    ("-0700", Part::Offset { z: false, colon: false, parts: 2 }),
    ("-07", Part::Offset { z: false, colon: false, parts: 1 }),
    ("Z07:00:00", Part::Offset { z: true, colon: true, parts: 3 }),
    ("Z070000", Part::Offset { z: true, colon: false, parts: 3 }),
    ("Z07:00", Part::Offset { z: true, colon: true, parts: 2 }),
    ("Z0700", Part::Offset { z: true, colon: false, parts: 2 }),
    ("Z07", Part::Offset { z: true, colon: false, parts: 1 }),
];

/// The part that a text begins with, if it is not literal, and its length.
fn part(text: &str) -> Option<(Part<'static>, usize)> {
    if let Some(rest) = text.strip_prefix(['.', ',']) {
        let first = rest.chars().next().filter(|c| matches!(c, '0' | '9'))?;
        let digits = rest.chars().take_while(|c| *c == first).count();
        let sign = if text.starts_with('.') { '.' } else { ',' };
        let ends = !rest[digits..].starts_with(|c: char| c.is_ascii_digit());
        return (ends && digits <= 9)
            .then_some((Part::Fraction { digits, sign, all: first == '0' }, digits + 1));
    }
    // `_2006` is a `_`, and the year.
    if text.starts_with("_2006") {
        return None;
    }
    let (name, part) = PARTS.iter().find(|(name, _)| text.starts_with(name))?;
    // `Janet` has no month in it.
    let is_word = matches!(*name, "Jan" | "Mon");
    let goes_on = is_word && text[name.len()..].starts_with(|c: char| c.is_ascii_lowercase());
    (!goes_on).then_some((*part, name.len()))
}

fn parts(layout: &str) -> Vec<Part<'_>> {
    let (mut parts, mut start, mut at) = (Vec::new(), 0, 0);
    while at < layout.len() {
        match part(&layout[at..]) {
            Some((found, len)) => {
                if start < at {
                    parts.push(Part::Literal(&layout[start..at]));
                }
                parts.push(found);
                at += len;
                start = at;
            }
            None => at += layout[at..].chars().next().map_or(1, char::len_utf8),
        }
    }
    if start < layout.len() {
        parts.push(Part::Literal(&layout[start..]));
    }
    parts
}

/// A time in a layout.
pub(super) fn format(layout: &str, time: Timestamp) -> String {
    let time = TimeZone::UTC.to_datetime(time);
    let mut out = String::new();
    for part in parts(layout) {
        match part {
            Part::Literal(text) => out.push_str(text),
            Part::Number(field, digits, fill) => {
                let number = match field {
                    Field::Year => i64::from(time.year()),
                    Field::ShortYear => i64::from(time.year().rem_euclid(100)),
                    Field::Month => time.month().into(),
                    Field::Day => time.day().into(),
                    Field::DayOfYear => time.date().day_of_year().into(),
                    Field::Hour => time.hour().into(),
                    Field::Hour12 => i64::from(time.hour() + 11).rem_euclid(12) + 1,
                    Field::Minute => time.minute().into(),
                    Field::Second => time.second().into(),
                };
                let text = number.to_string();
                out.push_str(&fill.repeat(digits.saturating_sub(text.len())));
                out.push_str(&text);
            }
            Part::Month { short } => {
                let name = MONTHS[(time.month() - 1).rem_euclid(12) as usize];
                out.push_str(if short { &name[..3] } else { name });
            }
            Part::Weekday { short } => {
                let name = WEEKDAYS[time.weekday().to_monday_zero_offset().rem_euclid(7) as usize];
                out.push_str(if short { &name[..3] } else { name });
            }
            Part::Half { small } => out.push_str(match (time.hour() >= 12, small) {
                (true, false) => "PM",
                (true, true) => "pm",
                (false, false) => "AM",
                (false, true) => "am",
            }),
            Part::Fraction { digits, sign, all } => {
                let text = format!("{:09}", time.subsec_nanosecond());
                let text = &text[..digits];
                let text = if all { text } else { text.trim_end_matches('0') };
                if !text.is_empty() {
                    out.push(sign);
                    out.push_str(text);
                }
            }
            Part::Offset { z: true, .. } => out.push('Z'),
            Part::Offset { colon, parts, .. } => {
                out.push_str("+00");
                for _ in 1..parts {
                    out.push_str(if colon { ":00" } else { "00" });
                }
            }
            Part::Zone => out.push_str("UTC"),
        }
    }
    out
}

/// The digits that a text begins with, and what is behind.
fn digits(text: &str, least: usize, most: usize) -> Option<(i64, &str)> {
    let len = text.bytes().take(most).take_while(u8::is_ascii_digit).count();
    (len >= least).then(|| text.split_at(len)).and_then(|(n, rest)| Some((n.parse().ok()?, rest)))
}

/// The nanoseconds of a fraction's digits, of which there is one at least, and what is behind.
fn fraction(text: &str) -> Option<(i64, &str)> {
    let len = text.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, rest) = text.split_at(len);
    (len > 0).then_some(())?;
    Some((format!("{digits:0<9}")[..9].parse().ok()?, rest))
}

/// The place of a name that a text begins with, in any case, and what is behind.
fn name<'t>(text: &'t str, names: &[&str], short: bool) -> Option<(i64, &'t str)> {
    names.iter().zip(1..).find_map(|(name, i)| {
        let len = if short { 3 } else { name.len() };
        text.get(..len).filter(|t| t.eq_ignore_ascii_case(&name[..len])).map(|_| (i, &text[len..]))
    })
}

/// The time that a text is in a layout, in a time zone unless it names one; `None` if it is none.
pub(super) fn parse(layout: &str, text: &str, zone: &TimeZone) -> Option<Timestamp> {
    let (mut year, mut month, mut day, mut day_of_year) = (0, 1, 1, None);
    let (mut hour, mut minute, mut second, mut nanos) = (0, 0, 0, 0);
    let (mut half, mut offset) = (None, None);
    let mut rest = text;
    let parts = parts(layout);
    for (i, part) in parts.iter().enumerate() {
        match *part {
            Part::Literal(text) => rest = rest.strip_prefix(text)?,
            Part::Number(field, width, fill) => {
                if fill == " " {
                    rest = rest.trim_start_matches(' ');
                }
                let least = if fill == "0" && field != Field::Hour { width } else { 1 };
                let (number, after) = digits(rest, least, width)?;
                rest = after;
                match field {
                    Field::Year => year = number,
                    Field::ShortYear => year = if number >= 69 { 1900 } else { 2000 } + number,
                    Field::Month => month = number,
                    Field::Day => day = number,
                    Field::DayOfYear => day_of_year = Some(number),
                    Field::Hour | Field::Hour12 => hour = number,
                    Field::Minute => minute = number,
                    Field::Second => second = number,
                }
                // A fraction may follow, though the layout has none.
                let has_one = matches!(parts.get(i + 1), Some(Part::Fraction { .. }));
                if field == Field::Second
                    && !has_one
                    && let Some((ns, after)) = rest.strip_prefix(['.', ',']).and_then(fraction)
                {
                    (nanos, rest) = (ns, after);
                }
            }
            Part::Month { short } => (month, rest) = name(rest, &MONTHS, short)?,
            Part::Weekday { short } => (_, rest) = name(rest, &WEEKDAYS, short)?,
            Part::Half { small } => {
                let (found, after) = name(rest, if small { &["am", "pm"] } else { &["AM", "PM"] }, false)?;
                (half, rest) = (Some(found), after);
            }
            Part::Fraction { all, .. } => match rest.strip_prefix(['.', ',']).and_then(fraction) {
                Some((ns, after)) => (nanos, rest) = (ns, after),
                None if all => return None,
                None => {}
            },
            Part::Offset { z: true, .. } if rest.starts_with('Z') => {
                rest = &rest[1..];
                offset = Some(0);
            }
            Part::Offset { colon, parts, .. } => {
                let sign = if rest.starts_with('-') { -1 } else { 1 };
                rest = rest.strip_prefix(['+', '-'])?;
                let mut seconds = 0;
                for (i, unit) in [3600, 60, 1].into_iter().enumerate().take(parts) {
                    if i > 0 && colon {
                        rest = rest.strip_prefix(':')?;
                    }
                    let (number, after) = digits(rest, 2, 2)?;
                    rest = after;
                    seconds += number * unit;
                }
                offset = Some(sign * seconds);
            }
            // Which zone a name means, Go only knows of the local one: any other is UTC.
            Part::Zone => {
                let len = rest.bytes().take(5).take_while(u8::is_ascii_uppercase).count();
                (len >= 3).then_some(())?;
                rest = &rest[len..];
                offset = Some(0);
            }
        }
    }
    match half {
        Some(2) if hour < 12 => hour += 12,
        Some(1) if hour == 12 => hour = 0,
        _ => {}
    }
    let small = |n: i64| i8::try_from(n).ok();
    let date = match day_of_year {
        Some(day) => Date::new(i16::try_from(year).ok()?, 1, 1)
            .ok()?
            .with()
            .day_of_year(i16::try_from(day).ok()?)
            .build()
            .ok()?,
        None => Date::new(i16::try_from(year).ok()?, small(month)?, small(day)?).ok()?,
    };
    let nanos = i32::try_from(nanos).ok()?;
    let time = Time::new(small(hour)?, small(minute)?, small(second)?, nanos).ok()?;
    let time = DateTime::from_parts(date, time);
    let made = match offset {
        Some(seconds) => {
            let utc = TimeZone::UTC.to_timestamp(time).ok()?;
            utc.checked_sub(jiff::SignedDuration::from_secs(seconds)).ok()?
        }
        None => zone.to_timestamp(time).ok()?,
    };
    rest.is_empty().then_some(made)
}

/// The time that a number since 1970 is: days, seconds, or thousandths, millionths or billionths of one, by how many digits
/// it has.
pub(super) fn of_epoch(text: &str) -> Option<Timestamp> {
    let number: i64 = text.parse().ok()?;
    let unit = match text.len() {
        5 => 86_400_000_000_000,
        10 => 1_000_000_000,
        13 => 1_000_000,
        16 => 1_000,
        19 => 1,
        _ => return None,
    };
    Timestamp::from_nanosecond(i128::from(number) * unit).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn layouts_are_gos() {
        let at = time("2024-05-07T15:04:09.012345Z");
        for (layout, text) in [
            ("2006-01-02T15:04:05Z07:00", "2024-05-07T15:04:09Z"),
            ("Mon Jan _2 15:04:05 2006", "Tue May  7 15:04:09 2024"),
            ("Monday, 02-Jan-06 15:04:05 MST", "Tuesday, 07-May-24 15:04:09 UTC"),
            ("January 2, 3:4:5 PM", "May 7, 3:4:9 PM"),
            ("03pm .000 .999999999 ,0", "03pm .012 .012345 ,0"),
            ("20060102 -0700 -07:00 -07 Z0700", "20240507 +0000 +00:00 +00 Z"),
            ("002 __2 1/2", "128 128 5/7"),
            ("Janet _2006 é", "Janet _2024 é"),
            ("", ""),
        ] {
            assert_eq!(format(layout, at), text, "{layout}");
        }
        assert_eq!(format("3PM 03", time("2024-05-07T00:00:00Z")), "12AM 12");
    }

    #[test]
    fn texts_are_read_by_them() {
        let new_york = TimeZone::fixed(jiff::tz::offset(-5));
        for (layout, text, expected) in [
            ("2006-01-02", "2024-05-07", "2024-05-07T00:00:00Z"),
            ("2006-01-02 15:04:05", "2024-05-07 15:04:09.5", "2024-05-07T15:04:09.5Z"),
            ("2006-01-02T15:04:05Z07:00", "2024-05-07T15:04:09+02:00", "2024-05-07T13:04:09Z"),
            ("02/Jan/2006:15:04:05 -0700", "07/May/2024:15:04:09 -0130", "2024-05-07T16:34:09Z"),
            ("Mon Jan _2 3:04PM 2006", "Tue May  7 3:04PM 2024", "2024-05-07T15:04:00Z"),
            ("2006 002 MST", "2024 128 CEST", "2024-05-07T00:00:00Z"),
            ("1/2/06 15h.000", "5/7/99 3h.250", "1999-05-07T03:00:00.25Z"),
        ] {
            assert_eq!(parse(layout, text, &TimeZone::UTC), Some(time(expected)), "{layout} {text}");
        }
        let at = parse("2006-01-02 15:04", "2024-01-07 15:04", &new_york);
        assert_eq!(at, Some(time("2024-01-07T20:04:00Z")));
        for (layout, text) in [
            ("2006-01-02", "2024-05-07 "),
            ("2006-01-02", "24-05-07"),
            ("2006-01-02", "2024-13-07"),
            ("15:04", "25:00"),
            ("05.000", "01"),
            ("Z07:00", "x"),
            ("January", "Ma"),
        ] {
            assert_eq!(parse(layout, text, &TimeZone::UTC), None, "{layout} {text}");
        }
        assert_eq!(of_epoch("1715094249012"), Some(time("2024-05-07T15:04:09.012Z")));
        assert_eq!(
            (of_epoch("19850"), of_epoch("12"), of_epoch("x")),
            (Some(time("2024-05-07T00:00:00Z")), None, None)
        );
    }

    proptest::proptest! {
        #[test]
        fn what_is_written_is_read(ns in 0i64.., layout in "[-_0-9JanMoPMSTZ:., é]{0,24}", text in "[-+0-9a-zA-Z:., é]{0,24}") {
            let at = Timestamp::from_nanosecond(i128::from(ns)).unwrap();
            let full = "Mon, 02 January 2006 03:04:05.000000000 PM -07:00";
            proptest::prop_assert_eq!(parse(full, &format(full, at), &TimeZone::UTC), Some(at));
            let _ = (format(&layout, at), parse(&layout, &text, &TimeZone::UTC));
            let _ = parse(&layout, &format(&layout, at), &TimeZone::UTC);
        }
    }
}
