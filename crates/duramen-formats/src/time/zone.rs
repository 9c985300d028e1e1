//! Zones: those a stamp names, and the one it leaves out.

use super::{DAY_SECS, civil};
use jiff::tz::TimeZone;
use jiff::{Timestamp, civil::DateTime};
use std::cell::Cell;

/// The zone abbreviations that are understood, with their offsets in minutes east of UTC. Several parts of
/// the world share some of them; these are the readings taken: `BST` British, `IST` Indian, `CST` and `EST`
/// North American. One that is not here leaves the stamp in the zone of the options.
pub const ABBREVIATIONS: [(&str, i32); 36] = [
    ("UTC", 0),
    ("GMT", 0),
    ("CET", 60),
    ("CEST", 120),
    ("EET", 120),
    ("EEST", 180),
    ("WET", 0),
    ("WEST", 60),
    ("BST", 60),
    ("MEZ", 60),
    ("MESZ", 120),
    ("MSK", 180),
    ("EST", -300),
    ("EDT", -240),
    ("CST", -360),
    ("CDT", -300),
    ("MST", -420),
    ("MDT", -360),
    ("PST", -480),
    ("PDT", -420),
    ("AKST", -540),
    ("AKDT", -480),
    ("HST", -600),
    ("BRT", -180),
    ("ART", -180),
    ("SAST", 120),
    ("IST", 330),
    ("PKT", 300),
    ("HKT", 480),
    ("SGT", 480),
    ("JST", 540),
    ("KST", 540),
    ("AEST", 600),
    ("AEDT", 660),
    ("NZST", 720),
    ("NZDT", 780),
];

/// A zone whose offsets are remembered: stamps of one log mostly fall into the minute of the one before.
#[derive(Clone, Debug)]
pub(crate) struct Zone {
    fixed: Option<i64>,
    timezone: TimeZone,
    /// The local minute last asked for, and its offset in seconds.
    last: Cell<(i64, i64)>,
}

impl Zone {
    pub fn new(timezone: TimeZone) -> Self {
        let fixed = timezone.to_fixed_offset().ok().map(|o| i64::from(o.seconds()));
        Self { fixed, timezone, last: Cell::new((i64::MIN, 0)) }
    }

    /// Seconds east of UTC at a moment, in seconds since the epoch.
    pub fn offset_at(&self, secs: i64) -> i64 {
        self.fixed.unwrap_or_else(|| {
            let at = Timestamp::from_second(secs).unwrap_or(Timestamp::UNIX_EPOCH);
            i64::from(self.timezone.to_offset(at).seconds())
        })
    }

    /// Seconds east of UTC when local clocks show `local`, in seconds as if they were UTC's. Of the two
    /// readings of an hour that clocks go through twice, the first.
    pub fn offset_of_local(&self, local: i64) -> i64 {
        if let Some(offset) = self.fixed {
            return offset;
        }
        let minute = local.div_euclid(60);
        let (last, offset) = self.last.get();
        if last == minute {
            return offset;
        }
        let offset = self.look_up(local).unwrap_or(0);
        self.last.set((minute, offset));
        offset
    }

    fn look_up(&self, local: i64) -> Option<i64> {
        let (year, month, day) = civil::date_of_day(local.div_euclid(DAY_SECS));
        let secs = local.rem_euclid(DAY_SECS);
        let date = DateTime::new(
            i16::try_from(year).ok()?,
            i8::try_from(month).ok()?,
            i8::try_from(day).ok()?,
            i8::try_from(secs / 3600).ok()?,
            i8::try_from(secs / 60 % 60).ok()?,
            i8::try_from(secs % 60).ok()?,
            0,
        )
        .ok()?;
        let moment = self.timezone.to_ambiguous_timestamp(date).compatible().ok()?;
        Some(local - moment.as_second())
    }
}

/// Reads the zone at `at`: seconds east of UTC and where it ends, or `(None, at)`.
pub(crate) fn read(s: &[u8], at: usize) -> (Option<i32>, usize) {
    let none = (None, at);
    match s.get(at) {
        Some(b'Z' | b'z') => (Some(0), at + 1),
        Some(b'+' | b'-') => numeric(s, at, true).map_or(none, |(o, end)| (Some(o), end)),
        Some(b' ') => match s.get(at + 1) {
            Some(b'+' | b'-') => numeric(s, at + 1, false)
                .or_else(|| hours_alone(s, at + 1))
                .map_or(none, |(o, end)| (Some(o), end)),
            Some(b'A'..=b'Z') => abbreviation(s, at + 1).map_or(none, |(o, end)| (Some(o), end)),
            _ => none,
        },
        Some(b'A'..=b'Y') => abbreviation(s, at).map_or(none, |(o, end)| (Some(o), end)),
        _ => none,
    }
}

/// The first parts of the names that zones have in the time zone database, but for old ones.
const REGIONS: [&str; 11] = [
    "Africa",
    "America",
    "Antarctica",
    "Arctic",
    "Asia",
    "Atlantic",
    "Australia",
    "Etc",
    "Europe",
    "Indian",
    "Pacific",
];

/// The name that follows a stamp's end after a space, if it looks like that of a zone: `Europe/Berlin`.
pub(crate) fn name(text: &str, at: usize) -> Option<&str> {
    let rest = text.get(at..)?.strip_prefix(' ')?;
    let may_be = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'/' | b'_' | b'-' | b'+');
    let name = rest.get(..rest.bytes().take(64).take_while(may_be).count())?;
    let (region, _) = name.split_once('/')?;
    REGIONS.contains(&region).then_some(name)
}

/// `+hh:mm`, `+hhmm`, and `+hh` where a number alone can be nothing else.
fn numeric(s: &[u8], at: usize, hours_alone: bool) -> Option<(i32, usize)> {
    let sign = if s.get(at)? == &b'-' { -1 } else { 1 };
    let hours = super::clock::two(s, at + 1)?;
    let (minutes, end) = match (s.get(at + 3), super::clock::two(s, at + 3), super::clock::two(s, at + 4)) {
        (_, Some(minutes), _) => (minutes, at + 5),
        (Some(b':'), _, Some(minutes)) => (minutes, at + 6),
        _ if hours_alone => (0, at + 3),
        _ => return None,
    };
    let more = s.get(end).is_some_and(u8::is_ascii_digit);
    (hours <= 18 && minutes < 60 && !more)
        .then_some((sign * i32::try_from(hours * 3600 + minutes * 60).ok()?, end))
}

/// `-03`, as PostgreSQL writes zones that have no letters: a word of its own.
fn hours_alone(s: &[u8], at: usize) -> Option<(i32, usize)> {
    let (offset, end) = numeric(s, at, true)?;
    let ends = match s.get(end..)? {
        [] | [b' '] | [b'\t' | b']' | b')' | b',' | b'|' | b'"', ..] => true,
        // `+10 dBm` and `-12 V` are no zones.
        [b' ', rest @ ..] => rest[0].is_ascii_punctuation() || is_of_postgres(rest),
        _ => false,
    };
    (end == at + 3 && ends && offset.abs() <= 14 * 3600).then_some((offset, end))
}

/// Whether a line goes on as PostgreSQL's: with a word in capitals, or one somewhere near with a colon and two blanks.
fn is_of_postgres(rest: &[u8]) -> bool {
    let capitals = rest.iter().take_while(|b| b.is_ascii_uppercase()).count();
    let rest = &rest[..rest.len().min(200)];
    capitals >= 3 || rest.windows(4).any(|w| w[0].is_ascii_uppercase() && &w[1..] == b":  ")
}

/// What follows `GMT` and `UTC` where they only say from where is counted: `GMT+0200`, `GMT+02:00`, `UTC+5`.
fn counted_from_utc(s: &[u8], at: usize) -> Option<(i32, usize)> {
    if !matches!(s.get(at), Some(b'+' | b'-')) {
        return None;
    }
    numeric(s, at, true).or_else(|| {
        let sign = if s[at] == b'-' { -1 } else { 1 };
        let hour = s.get(at + 1)?.wrapping_sub(b'0');
        let minutes = super::clock::two(s, at + 3).filter(|_| s.get(at + 2) == Some(&b':'));
        let end = if minutes.is_some() { at + 5 } else { at + 2 };
        let next = (s.get(end), s.get(end + 1));
        let ends = match next {
            (Some(b':'), after) => !after.is_some_and(u8::is_ascii_digit),
            (next, _) => !next.is_some_and(u8::is_ascii_alphanumeric),
        };
        let minutes = i32::try_from(minutes.unwrap_or(0)).ok()?;
        (hour < 10 && ends).then_some((sign * (i32::from(hour) * 60 + minutes) * 60, end))
    })
}

fn abbreviation(s: &[u8], at: usize) -> Option<(i32, usize)> {
    let rest = s.get(at..)?;
    let len = rest.iter().take(6).take_while(|b| b.is_ascii_uppercase()).count();
    if rest.get(len).is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_') {
        return None;
    }
    let name = &rest[..len];
    if name == b"Z" {
        return Some((0, at + 1));
    }
    if matches!(name, b"GMT" | b"UTC")
        && let Some(found) = counted_from_utc(s, at + len)
    {
        return Some(found);
    }
    let (_, minutes) = ABBREVIATIONS.iter().find(|(n, _)| n.as_bytes() == name)?;
    Some((minutes * 60, at + len))
}
