//! Moments and zones as people type them: `90s`, `2h30m`, `yesterday`, `14:30`, `2026`, `2026-11-21 14:30`, RFC 3339.
//!
//! jiff reads more than people mean: `2026` is a time of day to it, and it drops a zone where it is asked for none. So each
//! of its readers is given only what is written in the signs that belong there.

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::{Offset, TimeZone};
use jiff::{Span, Timestamp, Zoned};

/// Reads `local`, `UTC`, an offset (`+02:00`) or a name of the time zone database (`Europe/Berlin`).
///
/// # Errors
/// What is wrong with it, for the user.
pub(crate) fn parse_zone(text: &str) -> Result<TimeZone, String> {
    let trimmed = text.trim();
    match trimmed.to_ascii_lowercase().as_str() {
        "local" | "" => return local(std::env::var("TZ").ok().as_deref()),
        "utc" | "z" => return Ok(TimeZone::UTC),
        _ => {}
    }
    if let Some(offset) = parse_offset(trimmed) {
        return Ok(TimeZone::fixed(offset));
    }
    TimeZone::get(trimmed).map_err(|_| {
        format!(
            "`{text}` is no time zone: use local, UTC, an offset like +02:00, or a name like Europe/Berlin"
        )
    })
}

/// The machine's zone. Where it names none that is known, it is UTC; one that was asked for by `TZ` must be there.
fn local(asked: Option<&str>) -> Result<TimeZone, String> {
    match (TimeZone::try_system(), asked) {
        (Ok(zone), _) => Ok(zone),
        (Err(_), Some(name)) if !name.is_empty() => Err(format!("TZ names `{name}`, which is no time zone")),
        (Err(_), _) => Ok(TimeZone::UTC),
    }
}

/// `+02:00`, `-0530`, `+1`.
fn parse_offset(text: &str) -> Option<Offset> {
    let (sign, digits) = match text.as_bytes().first()? {
        b'+' => (1, &text[1..]),
        b'-' => (-1, &text[1..]),
        _ => return None,
    };
    let (hours, minutes) = match digits.split_once(':') {
        Some(parts) => parts,
        None if digits.len() == 4 => digits.split_at_checked(2)?,
        None => (digits, "0"),
    };
    let number = |text: &str| text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse::<i32>().ok())?;
    let (hours, minutes) = (number(hours)?, number(minutes)?);
    (hours < 24 && minutes < 60).then(|| Offset::from_seconds(sign * (hours * 3600 + minutes * 60)).ok())?
}

/// Reads a moment, in ns since the epoch. A duration means that long before `now`.
///
/// # Errors
/// What is wrong with it, for the user.
pub(crate) fn parse_moment(text: &str, now: &Zoned) -> Result<i64, String> {
    let zoned = read_moment(text.trim(), now).ok_or_else(|| {
        format!(
            "`{text}` is no time: use a duration (90s, 15m, 2h30m, 7d), a date (2026-11-21, 2026-11, 2026), \
             a time (14:30 is today's), both (2026-11-21 14:30:05), RFC 3339, now, today or yesterday"
        )
    })?;
    i64::try_from(zoned.as_nanosecond()).map_err(|_| format!("`{text}` is out of range: 1677 to 2262"))
}

fn read_moment(text: &str, now: &Zoned) -> Option<Timestamp> {
    let in_zone = |at: DateTime| at.to_zoned(now.time_zone().clone()).ok().map(|zoned| zoned.timestamp());
    match text {
        "now" => return Some(now.timestamp()),
        "today" => return in_zone(now.date().to_datetime(Time::midnight())),
        "yesterday" => return in_zone(now.date().yesterday().ok()?.to_datetime(Time::midnight())),
        _ => {}
    }
    // The span parser would read an ISO 8601 time of day as nothing; a sign would turn past into future.
    if text.starts_with(|c: char| c.is_ascii_digit())
        && text.ends_with(|c: char| c.is_ascii_alphabetic() && c != 'Z')
        && let Ok(span) = text.parse::<Span>()
    {
        // With `ago` it is negative already.
        return now.checked_sub(span.abs()).ok().map(|zoned| zoned.timestamp());
    }
    if text.contains('[') {
        return text.parse::<Zoned>().ok().map(|zoned| zoned.timestamp());
    }
    if let Ok(time) = text.parse::<Timestamp>() {
        return Some(time);
    }
    let consists_of = |more: &str| text.chars().all(|c| c.is_ascii_digit() || more.contains(c));
    if consists_of("-") {
        let whole = match text.len() {
            4 => format!("{text}-01-01"),
            7 => format!("{text}-01"),
            _ => text.to_owned(),
        };
        return in_zone(whole.parse::<Date>().ok()?.to_datetime(Time::midnight()));
    }
    if text.contains(':') && consists_of(":.,") {
        return in_zone(now.date().to_datetime(text.parse::<Time>().ok()?));
    }
    consists_of("-:.,Tt ").then(|| text.parse::<DateTime>().ok()).flatten().and_then(in_zone)
}

/// The wall clock's now in a zone.
pub(crate) fn now_in(zone: TimeZone, clock: &dyn duramen_engine::io::Clock) -> Zoned {
    // Every i64 of nanoseconds lies within a Timestamp's range.
    let now = Timestamp::from_nanosecond(i128::from(clock.now_unix_ns())).unwrap_or(Timestamp::UNIX_EPOCH);
    now.to_zoned(zone)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str, zone: &str) -> Result<String, String> {
        let zone = parse_zone(zone).unwrap();
        let now = "2026-11-21T12:00:00Z".parse::<Timestamp>().unwrap().to_zoned(zone);
        parse_moment(text, &now).map(|ns| Timestamp::from_nanosecond(i128::from(ns)).unwrap().to_string())
    }

    #[test]
    fn moments_are_read_as_people_mean_them() {
        for (text, expected) in [
            ("90s", "2026-11-21T11:58:30Z"),
            ("15m", "2026-11-21T11:45:00Z"),
            ("2h30m", "2026-11-21T09:30:00Z"),
            ("1d", "2026-11-20T12:00:00Z"),
            ("2w", "2026-11-07T12:00:00Z"),
            ("1 hour", "2026-11-21T11:00:00Z"),
            ("2 hours ago", "2026-11-21T10:00:00Z"),
            ("1d ago", "2026-11-20T12:00:00Z"),
            ("now", "2026-11-21T12:00:00Z"),
            ("today", "2026-11-20T23:00:00Z"),
            ("yesterday", "2026-11-19T23:00:00Z"),
            ("14:30", "2026-11-21T13:30:00Z"),
            ("14:30:05.5", "2026-11-21T13:30:05.5Z"),
            ("2026-11-21", "2026-11-20T23:00:00Z"),
            ("20261121", "2026-11-20T23:00:00Z"),
            ("2026-11", "2026-10-31T23:00:00Z"),
            ("2025", "2024-12-31T23:00:00Z"),
            ("1999", "1998-12-31T23:00:00Z"),
            ("2026-11-21 14:30", "2026-11-21T13:30:00Z"),
            ("2026-11-21T14:30:05", "2026-11-21T13:30:05Z"),
            ("2026-11-21T14:30:05Z", "2026-11-21T14:30:05Z"),
            ("2026-11-21T14:30:05-05:00", "2026-11-21T19:30:05Z"),
            ("2026-11-21T14:30-05", "2026-11-21T19:30:00Z"),
            ("2026-11-21T14:30[Asia/Tokyo]", "2026-11-21T05:30:00Z"),
            ("2026-11-21[Asia/Tokyo]", "2026-11-20T15:00:00Z"),
            ("2026-11-21 14", "2026-11-21T13:00:00Z"),
            ("20261121T1430", "2026-11-21T13:30:00Z"),
        ] {
            assert_eq!(at(text, "+01:00").as_deref(), Ok(expected), "{text}");
        }
        for text in ["", "soon", "1", "-1h", "25:00", "2026-13-01", "12:00Z", "9999-01-01", "5x"]
            .into_iter()
            .chain(["9999", "103000", "1030", "12", "202511", "2025-13", "14:30+09:00", "14:30-05", "T14:30"])
            .chain(["14:30[Asia/Tokyo]", "2026-11-21T14:30[Mars/Base]", "2026-11-21[", "2026-11-21+09:00"])
        {
            assert!(at(text, "UTC").is_err(), "{text}: {:?}", at(text, "UTC"));
        }
    }

    #[test]
    fn zones_are_read() {
        for text in ["UTC", "z", "local", "Europe/Berlin", "+02:00", "-0530", "+1"] {
            assert!(parse_zone(text).is_ok(), "{text}");
        }
        for text in ["Mars/Base", "+25:00", "+1:2:3", "+x", "+ä234"] {
            assert!(parse_zone(text).is_err(), "{text}");
        }
        assert_eq!(parse_offset("-0530").unwrap().seconds(), -(5 * 3600 + 30 * 60));
    }
}
