//! Which shape a stamp has, told by its first bytes, and reading it.

use super::civil::{Civil, is_weekday, month_of_name};
use super::clock::{self, Clock, digits, four, one_or_two, two};
use super::{epoch, zone};
use std::cell::Cell;

/// A stamp read: a calendar time or nanoseconds since the epoch; and where it ends.
pub(crate) enum Stamp {
    Civil(Civil, usize),
    Epoch(i64, usize),
}

/// Reads the stamp at the start.
pub(crate) fn read(s: &[u8], order: &Order) -> Option<Stamp> {
    match s.first()? {
        b'0'..=b'9' => from_digit(s, order),
        b'A'..=b'Z' => from_letter(s),
        b'@' => tai64n(s),
        _ => None,
    }
}

/// In which order dates of numbers alone name day, month and year. A date that can be read in one way only
/// is, and is evidence for those that can be read in two.
#[derive(Clone, Debug, Default)]
pub(crate) struct Order {
    /// How those are read that can be in two ways; without it the usual way.
    settled: Seen,
    /// What the dates so far showed.
    seen: Cell<Seen>,
}

/// What dates showed of their order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Some date had its day before its month: `13/02/2006`.
    pub day_first: bool,
    /// Some had a year of two digits last: `01/13/06`.
    pub year_last: bool,
    /// Some with dashes had its month before its day: `01-13-2006`.
    pub month_first: bool,
}

impl Order {
    /// An order that reads as these say.
    pub fn new(seen: Seen) -> Self {
        Self { settled: seen, seen: Cell::default() }
    }

    pub fn seen(&self) -> Seen {
        self.seen.get()
    }

    /// Month and day of `a-b-yyyy`, which more write with the day first.
    fn of_dashes(&self, a: u32, b: u32) -> (u32, u32) {
        if b > 12 && a <= 12 {
            self.seen.set(Seen { month_first: true, ..self.seen.get() });
        }
        if b > 12 || (self.settled.month_first && a <= 12) { (a, b) } else { (b, a) }
    }

    /// Month and day of `a/b/yyyy`.
    fn month_and_day(&self, a: u32, b: u32) -> (u32, u32) {
        if a > 12 && b <= 12 {
            self.seen.set(Seen { day_first: true, ..self.seen.get() });
        }
        if a > 12 || (self.settled.day_first && b <= 12) { (b, a) } else { (a, b) }
    }

    /// Year, month and day of `a/b/c`.
    fn of_two_digits(&self, a: u32, b: u32, c: u32) -> (u32, u32, u32) {
        let year_first = (1..=12).contains(&b) && (1..=31).contains(&c);
        if !year_first {
            self.seen.set(Seen { year_last: true, ..self.seen.get() });
        }
        if year_first && !self.settled.year_last {
            return (a, b, c);
        }
        let (month, day) = self.month_and_day(a, b);
        (c, month, day)
    }
}

fn from_digit(s: &[u8], order: &Order) -> Option<Stamp> {
    match digits(s, 0) {
        4 => year_first(s).or_else(|| year_month_name(s)),
        2 => match (s.get(2)?, s.get(3)?) {
            (b'/' | b'-' | b' ', b'A'..=b'Z' | b'a'..=b'z') => day_month_name(s, 2),
            (b'/', _) => slashes(s, order),
            (b'A'..=b'Z', _) => day_month_year(s),
            (b'.', _) => dots(s),
            (b'-', _) => month_day(s).or_else(|| dashes(s, order)),
            _ => None,
        },
        1 if matches!(s.get(1), Some(b' ' | b'-')) => day_month_name(s, 1),
        1 if s.get(1) == Some(&b'/') => slashes(s, order),
        6 => compact(s, i64::from(two_digit_year(two(s, 0)?)), 2),
        8 => compact(s, i64::from(four(s, 0)?), 4),
        14 | 17 => all_digits(s),
        10 | 13 | 16 | 19 => from_epoch(s),
        _ => None,
    }
}

fn from_letter(s: &[u8]) -> Option<Stamp> {
    if matches!(s[0], b'I' | b'W' | b'E' | b'F' | b'D') && matches!(digits(s, 1), 4 | 8) {
        return klog(s);
    }
    if month_of_name(s).is_some() {
        return month_name_first(s, 0);
    }
    if is_weekday(s) {
        let at = if s.get(3) == Some(&b',') { 4 } else { 3 };
        if s.get(at) != Some(&b' ') {
            return None;
        }
        return match s.get(at + 1)? {
            b'0'..=b'9' => {
                let shifted = s.get(at + 1..)?;
                let stamp = match digits(shifted, 0) {
                    // `Sat 2024-06-01 10:00:03 CEST`, as systemd writes it.
                    4 => year_first(shifted)?,
                    days => day_month_name(shifted, days)?,
                };
                match stamp {
                    Stamp::Civil(civil, end) => Some(Stamp::Civil(civil, end + at + 1)),
                    epoch @ Stamp::Epoch(..) => Some(epoch),
                }
            }
            _ => month_name_first(s, at + 1),
        };
    }
    None
}

/// Puts a date and a time of day together and reads the zone after them.
fn with_zone(s: &[u8], year: Option<i64>, month: u32, day: u32, clock: Clock) -> Option<Stamp> {
    let (offset, end) = zone::read(s, clock.end);
    finish(year, month, day, clock, offset, end)
}

fn finish(
    year: Option<i64>,
    month: u32,
    day: u32,
    clock: Clock,
    offset: Option<i32>,
    end: usize,
) -> Option<Stamp> {
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let Clock { secs, nanos, .. } = clock;
    Some(Stamp::Civil(Civil { year, month, day, secs, nanos, offset }, end))
}

/// `yyyy-mm-dd hh:mm:ss`, with `-`, `/` or `.` in the date and `T`, a space and others before the time;
/// `yyyy-mm-dd-hh.mm.ss.ffffff`.
fn year_first(s: &[u8]) -> Option<Stamp> {
    let separator = *s.get(4)?;
    if !matches!(separator, b'-' | b'/' | b'.') || s.get(7) != Some(&separator) {
        return None;
    }
    let (year, month, day) = (four(s, 0)?, two(s, 5)?, two(s, 8)?);
    let clock = match s.get(10)? {
        b'-' if s.get(13) == Some(&b'.') => clock::read_dotted(s, 11)?,
        b'T' | b't' => clock::read(s, 11, true)?,
        b' ' if s.get(11) == Some(&b' ') => clock::read(s, 12, false)?,
        // Airflow's: `[2024-06-01, 10:00:01 UTC]`
        b',' if s.get(11) == Some(&b' ') => clock::read(s, 12, false)?,
        b' ' if s.get(11..13) == Some(b"- ") => clock::read(s, 13, false)?,
        // `[2024-06-01][10:00:01][app][INFO]`, as Rust's fern is mostly told to, and Tauri's logs have it.
        b']' if s.get(11) == Some(&b'[') => clock::read(s, 12, false)?,
        b' ' | b'_' | b'-' | b':' | b'\t' => clock::read(s, 11, true)?,
        _ => return None,
    };
    with_zone(s, Some(i64::from(year)), month, day, clock)
}

/// `yyyy-Mon-dd hh:mm:ss`, with `-`, `/` or spaces in the date, where the day may be filled up with one.
fn year_month_name(s: &[u8]) -> Option<Stamp> {
    let separator = *s.get(4)?;
    if !matches!(separator, b'-' | b'/' | b' ') || s.get(8) != Some(&separator) {
        return None;
    }
    let month = month_of_name(s.get(5..8)?)?;
    // `2048 Jun 17 10:00:07`: a process id.
    if separator == b' ' && !(2000..2040).contains(&four(s, 0)?) {
        return None;
    }
    let is_filled = separator == b' ' && s.get(9) == Some(&b' ');
    let (day, end) = one_or_two(s, 9 + usize::from(is_filled))?;
    match s.get(end)? {
        b' ' | b'T' | b':' => {
            with_zone(s, Some(i64::from(four(s, 0)?)), month, day, clock::read(s, end + 1, false)?)
        }
        _ => None,
    }
}

/// `yyyymmddhhmmss`, with milliseconds or not, as a word of its own.
fn all_digits(s: &[u8]) -> Option<Stamp> {
    let len = digits(s, 0);
    let year = i64::from(four(s, 0)?);
    if !(1990..2100).contains(&year) {
        return None;
    }
    let millis = s.get(14..len)?.iter().fold(0, |sum, digit| sum * 10 + u32::from(digit - b'0'));
    let clock = clock::read_compact(s.get(..14)?, 8)?;
    let (nanos, end) = match s.get(14) {
        Some(b'.') => clock::fraction(s, 14),
        _ => (millis * 1_000_000, len),
    };
    let clock = Clock { nanos, end, ..clock };
    let (offset, end) = zone::read(s, clock.end);
    if !ends_a_word(s, end) {
        return None;
    }
    finish(Some(year), two(s, 4)?, two(s, 6)?, clock, offset, end)
}

/// `dd/Mon/yyyy:hh:mm:ss`, `dd-Mon-yyyy hh:mm:ss`, `d Mon yyyy hh:mm:ss`; the month's name begins at `at + 1`. Redis
/// before 5 leaves out the year: `01 Jun 10:00:04.123`.
fn day_month_name(s: &[u8], at: usize) -> Option<Stamp> {
    let (day, _) = one_or_two(s, 0)?;
    let month = month_of_name(s.get(at + 1..)?)?;
    let separator = s.get(at)?;
    let year_at = at + 5;
    if separator == &b' ' && s.get(at + 4) == Some(&b' ') && digits(s, year_at) == 2 {
        return with_zone(s, None, month, day, clock::read(s, year_at, false)?);
    }
    if s.get(at + 4) != Some(separator) || digits(s, year_at) != 4 {
        return None;
    }
    let year = four(s, year_at)?;
    let clock_at = match s.get(year_at + 4..)? {
        // `16-Jan-2013::15:58:33`, as Erlang has it.
        [b':', b':', ..] => year_at + 6,
        [b':' | b' ', ..] => year_at + 5,
        _ => return None,
    };
    with_zone(s, Some(i64::from(year)), month, day, clock::read(s, clock_at, false)?)
}

/// `ddMonyyyy hh:mm:ss`, as Minecraft Forge writes it, and `ddMONyyyy:hh:mm:ss`, as SAS does.
fn day_month_year(s: &[u8]) -> Option<Stamp> {
    let month = month_of_name(s.get(2..)?)?;
    if digits(s, 5) != 4 || !matches!(s.get(9)?, b' ' | b':') {
        return None;
    }
    with_zone(s, Some(i64::from(four(s, 5)?)), month, two(s, 0)?, clock::read(s, 10, false)?)
}

/// `yy/mm/dd hh:mm:ss`, `mm/dd/yyyy hh:mm:ss`, and other orders where a number shows it or [`Order`] says so; `m/d/yyyy`
/// and `m/d/yy` as well. Snort and Suricata have a dash before the clock, and Snort no year: `mm/dd-hh:mm:ss`. Suricata's log of its
/// own has the day first: `d/m/yyyy -- hh:mm:ss`.
fn slashes(s: &[u8], order: &Order) -> Option<Stamp> {
    let (a, at) = one_or_two(s, 0)?;
    let (b, end) = one_or_two(s, at + 1)?;
    if end == 5 && s.get(end) == Some(&b'-') {
        let clock = clock::read(s, end + 1, false)?;
        return finish(None, a, b, clock, None, clock.end);
    }
    if s.get(end) != Some(&b'/') {
        return None;
    }
    let (is_short, at) = (end < 5, end + 1);
    let width = digits(s, at);
    let after = at + width + usize::from(s.get(at + width) == Some(&b','));
    let clock_at = match s.get(after..after + 3)? {
        b" - " => after + 3,
        b" --" if width == 4 => {
            let clock = clock::read(s, after + 4, false).filter(|_| s.get(after + 3) == Some(&b' '))?;
            return with_zone(s, Some(i64::from(four(s, at)?)), b, a, clock);
        }
        [b' ', ..] => after + 1,
        [b'-', ..] if width == 4 => after + 1,
        _ => return None,
    };
    let clock = clock::read(s, clock_at, false)?;
    match width {
        // A year is not written with one digit.
        2 if is_short => {
            order.seen.set(Seen { year_last: true, ..order.seen.get() });
            let (month, day) = order.month_and_day(a, b);
            with_zone(s, Some(i64::from(two_digit_year(two(s, at)?))), month, day, clock)
        }
        2 => {
            let (year, month, day) = order.of_two_digits(a, b, two(s, at)?);
            with_zone(s, Some(i64::from(two_digit_year(year))), month, day, clock)
        }
        4 => {
            let (month, day) = order.month_and_day(a, b);
            with_zone(s, Some(i64::from(four(s, at)?)), month, day, clock)
        }
        _ => None,
    }
}

/// `dd-mm-yyyy hh:mm:ss`, or `mm-dd-yyyy` where a number shows it.
fn dashes(s: &[u8], order: &Order) -> Option<Stamp> {
    let (a, b) = (two(s, 0)?, two(s, 3)?);
    if s.get(5) != Some(&b'-') || digits(s, 6) != 4 {
        return None;
    }
    let clock = match s.get(10..)? {
        [b',', b' ', ..] => clock::read(s, 12, false)?,
        [b' ' | b'T' | b'_', ..] => clock::read(s, 11, false)?,
        _ => return None,
    };
    let (month, day) = order.of_dashes(a, b);
    with_zone(s, Some(i64::from(four(s, 6)?)), month, day, clock)
}

/// `dd.mm.yyyy hh:mm:ss` and `mm.dd hh:mm:ss`.
fn dots(s: &[u8]) -> Option<Stamp> {
    let (a, b) = (two(s, 0)?, two(s, 3)?);
    if digits(s, 3) != 2 {
        return None;
    }
    match s.get(5)? {
        b' ' => {
            let clock = clock::read(s, 6, false)?;
            finish(None, a, b, clock, None, clock.end)
        }
        b'.' if digits(s, 6) == 4 => {
            let after = if s.get(10) == Some(&b',') { 11 } else { 10 };
            let at = if s.get(after) == Some(&b' ') { after + 1 } else { return None };
            with_zone(s, Some(i64::from(four(s, 6)?)), b, a, clock::read(s, at, false)?)
        }
        _ => None,
    }
}

/// `mm-dd hh:mm:ss.fff`
fn month_day(s: &[u8]) -> Option<Stamp> {
    if digits(s, 3) != 2 || s.get(5) != Some(&b' ') {
        return None;
    }
    let clock = clock::read(s, 6, false)?;
    finish(None, two(s, 0)?, two(s, 3)?, clock, None, clock.end)
}

/// `yymmdd hhmmss` and `yyyymmddThhmmss`: a year of `year_digits` digits, then month and day at once; the
/// time of day with colons or without.
fn compact(s: &[u8], year: i64, year_digits: usize) -> Option<Stamp> {
    let (month, day) = (two(s, year_digits)?, two(s, year_digits + 2)?);
    let mut at = year_digits + 4;
    match s.get(at)? {
        b' ' if s.get(at + 1) == Some(&b' ') => at += 2,
        b' ' => at += 1,
        b'T' | b'-' | b'_' if year_digits == 4 => at += 1,
        _ => return None,
    }
    let clock = match digits(s, at) {
        6 => clock::read_compact(s, at)?,
        _ if year_digits == 4 => clock::read_unpadded(s, at).or_else(|| clock::read(s, at, false))?,
        _ => clock::read(s, at, false)?,
    };
    with_zone(s, Some(year), month, day, clock)
}

/// `I0109 12:34:56.789012`, `I20240109 12:34:56.789012`
fn klog(s: &[u8]) -> Option<Stamp> {
    let date = digits(s, 1);
    if s.get(1 + date) != Some(&b' ') {
        return None;
    }
    let clock = clock::read(s, date + 2, false)?;
    let year = if date == 8 { Some(i64::from(four(s, 1)?)) } else { None };
    finish(year, two(s, date - 3)?, two(s, date - 1)?, clock, None, clock.end)
}

/// `Mon d hh:mm:ss`, with the year after the day, after the time, or after time and zone.
fn month_name_first(s: &[u8], at: usize) -> Option<Stamp> {
    let month = month_of_name(s.get(at..)?)?;
    let mut i = at + 3;
    if s.get(i) != Some(&b' ') {
        return None;
    }
    i += 1;
    if s.get(i) == Some(&b' ') {
        i += 1;
    }
    let (day, mut i) = one_or_two(s, i)?;
    // Syslog has neither a day of the week nor commas.
    let mut may_have_host = at == 0;
    if s.get(i) == Some(&b',') {
        may_have_host = false;
        i += 1;
    }
    if s.get(i) != Some(&b' ') {
        return None;
    }
    i += 1;
    if digits(s, i) == 4 {
        may_have_host &= s.get(i + 4) == Some(&b' ') && s.get(i + 5) != Some(&b'@');
        let clock_at = match s.get(i + 4..)? {
            // Kibana's.
            [b' ', b'@', b' ', ..] => i + 7,
            [b',', b' ', ..] => i + 6,
            [b' ', ..] => i + 5,
            _ => return None,
        };
        let year = Some(i64::from(four(s, i)?));
        let (clock, offset, end) = clock_and_zone(s, clock_at, may_have_host)?;
        return finish(year, month, day, clock, offset, end);
    }
    let (clock, offset, end) = clock_and_zone(s, i, may_have_host)?;
    let is_year = |at: usize| digits(s, at) == 4 && ends_a_word(s, at + 4);
    match s.get(end) {
        Some(b' ') if is_year(end + 1) && !(may_have_host && is_address(&s[end + 1..])) => {
            let year = four(s, end + 1)?;
            if (1970..2262).contains(&year) {
                return finish(Some(i64::from(year)), month, day, clock, offset, end + 5);
            }
            finish(None, month, day, clock, offset, end)
        }
        _ => finish(None, month, day, clock, offset, end),
    }
}

/// A time of day, and the zone behind it. Where there may be a host behind them, `PM-01`, `MSK-FW01` and `IST.example.org` are
/// hosts, and neither a half of the day nor a zone.
fn clock_and_zone(s: &[u8], at: usize, may_have_host: bool) -> Option<(Clock, Option<i32>, usize)> {
    let mut clock = clock::read(s, at, false)?;
    let space = at + s[at..].iter().position(|b| *b == b' ').unwrap_or(s.len() - at);
    if may_have_host && clock.end > space && goes_on(s, clock.end) {
        clock = clock::read(&s[..space], at, false)?;
    }
    let (offset, end) = zone::read(s, clock.end);
    let is_host = may_have_host && s.get(clock.end) == Some(&b' ') && goes_on(s, end) && !is_offset(s, end);
    Some(if is_host { (clock, None, clock.end) } else { (clock, offset, end) })
}

/// Whether a host's name goes on there.
fn goes_on(s: &[u8], at: usize) -> bool {
    matches!(s.get(at), Some(b'-' | b'.' | b'_')) && s.get(at + 1).is_some_and(u8::is_ascii_alphanumeric)
}

/// Whether a zone goes on there with what it is from UTC: `EST-0500`.
fn is_offset(s: &[u8], at: usize) -> bool {
    s.get(at) == Some(&b'-') && digits(s, at + 1) == 4 && ends_a_word(s, at + 5)
}

/// Whether a host's address of IPv6 begins there: `2001:db8::1`.
fn is_address(s: &[u8]) -> bool {
    let word = s.split(|b| *b == b' ').next().unwrap_or_default();
    let is_written_so = word.iter().all(|b| b.is_ascii_hexdigit() || *b == b':');
    let is_whole =
        || word.windows(2).any(|two| two == b"::") || word.iter().filter(|b| **b == b':').count() == 7;
    is_written_so && is_whole()
}

fn ends_a_word(s: &[u8], at: usize) -> bool {
    s.get(at).is_none_or(|b| matches!(b, b' ' | b'\t' | b'|' | b']' | b':' | b',' | b')' | b'"' | 0x1b))
}

/// 10, 13, 16 or 19 digits, and for seconds a fraction, that end as a word does.
fn from_epoch(s: &[u8]) -> Option<Stamp> {
    let whole = digits(s, 0);
    let mut end = whole;
    if whole == 10 && s.get(end) == Some(&b'.') && digits(s, end + 1) > 0 {
        end += 1 + digits(s, end + 1);
    }
    if !ends_a_word(s, end) {
        return None;
    }
    let text = std::str::from_utf8(s.get(..end)?).ok()?;
    Some(Stamp::Epoch(epoch::read(text)?, end))
}

/// `@400000004c91b044077a9e94`, as daemontools, runit and s6 write it: seconds from 2^62 on, ten ahead of UTC's, and nanoseconds.
fn tai64n(s: &[u8]) -> Option<Stamp> {
    const EPOCH: u64 = (1 << 62) + 10;
    let hex = |from: usize, to: usize| {
        let text =
            s.get(from..to)?.iter().all(u8::is_ascii_hexdigit).then(|| std::str::from_utf8(&s[from..to]));
        u64::from_str_radix(text?.ok()?, 16).ok()
    };
    let (secs, nanos) = (hex(1, 17)?.checked_sub(EPOCH)?, hex(17, 25)?);
    // Hundreds of years, and whole numbers of nanoseconds.
    if secs >= 1 << 32 || nanos >= 1_000_000_000 || !ends_a_word(s, 25) {
        return None;
    }
    Some(Stamp::Epoch(i64::try_from(secs * 1_000_000_000 + nanos).ok()?, 25))
}

fn two_digit_year(yy: u32) -> u32 {
    if yy < 70 { 2000 + yy } else { 1900 + yy }
}
