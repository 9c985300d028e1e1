//! Digits, and the time of day.

/// The number of two digits at `at`.
pub(crate) fn two(s: &[u8], at: usize) -> Option<u32> {
    let (a, b) = (s.get(at)?.wrapping_sub(b'0'), s.get(at + 1)?.wrapping_sub(b'0'));
    (a < 10 && b < 10).then_some(u32::from(a) * 10 + u32::from(b))
}

/// The number of four digits at `at`.
pub(crate) fn four(s: &[u8], at: usize) -> Option<u32> {
    Some(two(s, at)? * 100 + two(s, at + 2)?)
}

/// The number of one digit, or two, at `at`, and where it ends.
pub(crate) fn one_or_two(s: &[u8], at: usize) -> Option<(u32, usize)> {
    if let Some(n) = two(s, at) {
        return Some((n, at + 2));
    }
    let a = s.get(at)?.wrapping_sub(b'0');
    (a < 10).then_some((u32::from(a), at + 1))
}

/// How many digits stand at `at`, up to 20.
pub(crate) fn digits(s: &[u8], at: usize) -> usize {
    s.get(at..).map_or(0, |s| s.iter().take(20).take_while(|b| b.is_ascii_digit()).count())
}

/// A time of day: seconds since midnight, nanoseconds, where it ends.
#[derive(Clone, Copy)]
pub(crate) struct Clock {
    pub secs: u32,
    pub nanos: u32,
    pub end: usize,
}

/// `hh:mm:ss` with a fraction after `.` or `,` (or three digits after `:`), also `h:mm:ss`; without seconds
/// only where `seconds_may_miss`; ` AM`, `PM` or ` p.m.` after it counts.
pub(crate) fn read(s: &[u8], at: usize, seconds_may_miss: bool) -> Option<Clock> {
    let (mut hour, i) = one_or_two(s, at)?;
    if s.get(i) != Some(&b':') {
        return None;
    }
    let minute = two(s, i + 1)?;
    let (second, mut end) = match s.get(i + 3) {
        Some(b':') => (two(s, i + 4)?, i + 6),
        _ if seconds_may_miss => (0, i + 3),
        _ => return None,
    };
    if s.get(end).is_some_and(u8::is_ascii_digit) {
        return None;
    }
    let mut nanos = 0;
    if end == i + 6 {
        (nanos, end) = fraction(s, end);
    }
    // Java since 20 has a narrow space there that does not break.
    let half = match s.get(end..) {
        Some([b' ', ..]) => end + 1,
        Some([0xe2, 0x80, 0xaf, ..]) => end + 3,
        _ => end,
    };
    if matches!(s.get(half), Some(b'a' | b'A' | b'p' | b'P'))
        && (1..=12).contains(&hour)
        && let Some((is_pm, after)) = half_of_day(s, half)
    {
        (hour, end) = (hour % 12 + if is_pm { 12 } else { 0 }, after);
    }
    build(hour, minute, second, nanos, end)
}

/// `AM`, `pm` or `p.m.` at `at`: whether it is the second half, and where it ends.
fn half_of_day(s: &[u8], at: usize) -> Option<(bool, usize)> {
    let is_pm = match s.get(at)? | 0x20 {
        b'a' => false,
        b'p' => true,
        _ => return None,
    };
    let end = match s.get(at + 1..)? {
        [b'm' | b'M', ..] => at + 2,
        [b'.', b'm' | b'M', b'.', ..] => at + 4,
        _ => return None,
    };
    // `pm-01` is a host.
    let is_name = s[at].is_ascii_lowercase()
        && matches!(s.get(end), Some(b'-' | b'_' | b'.' | b'/'))
        && s.get(end + 1).is_some_and(u8::is_ascii_alphanumeric);
    (!is_name && !s.get(end).is_some_and(u8::is_ascii_alphanumeric)).then_some((is_pm, end))
}

/// `h:m:s:ms`, where none of the numbers has leading zeros: `0:5:9:4` is nine seconds and four milliseconds.
pub(crate) fn read_unpadded(s: &[u8], at: usize) -> Option<Clock> {
    let mut parts = [0; 4];
    let mut i = at;
    for (n, part) in parts.iter_mut().enumerate() {
        let len = digits(s, i);
        if !(1..=if n == 3 { 3 } else { 2 }).contains(&len) || (n < 3 && s.get(i + len) != Some(&b':')) {
            return None;
        }
        *part = s[i..i + len].iter().fold(0, |sum, digit| sum * 10 + u32::from(digit - b'0'));
        i += len + usize::from(n < 3);
    }
    build(parts[0], parts[1], parts[2], parts[3] * 1_000_000, i)
}

/// `hhmmss`, with a fraction.
pub(crate) fn read_compact(s: &[u8], at: usize) -> Option<Clock> {
    let (hour, minute, second) = (two(s, at)?, two(s, at + 2)?, two(s, at + 4)?);
    let (nanos, end) = fraction(s, at + 6);
    build(hour, minute, second, nanos, end)
}

/// `hh.mm.ss`, with a fraction.
pub(crate) fn read_dotted(s: &[u8], at: usize) -> Option<Clock> {
    let (hour, minute, second) = (two(s, at)?, two(s, at + 3)?, two(s, at + 6)?);
    if s.get(at + 2) != Some(&b'.') || s.get(at + 5) != Some(&b'.') {
        return None;
    }
    let (nanos, end) = fraction(s, at + 8);
    build(hour, minute, second, nanos, end)
}

fn build(hour: u32, minute: u32, second: u32, nanos: u32, end: usize) -> Option<Clock> {
    (hour < 24 && minute < 60 && second <= 60).then_some(Clock {
        secs: hour * 3600 + minute * 60 + second,
        nanos,
        end,
    })
}

/// The nanoseconds of the fraction at `at`, if there is one, and where it ends. Digits past the ninth do
/// not count.
pub(crate) fn fraction(s: &[u8], at: usize) -> (u32, usize) {
    let is_fraction = match s.get(at) {
        Some(b'.' | b',') => s.get(at + 1).is_some_and(u8::is_ascii_digit),
        Some(b':') => digits(s, at + 1) == 3,
        _ => false,
    };
    if !is_fraction {
        return (0, at);
    }
    let (mut nanos, mut scale, mut end) = (0, 100_000_000, at + 1);
    while let Some(digit) = s.get(end).map(|b| b.wrapping_sub(b'0'))
        && digit < 10
    {
        nanos += u32::from(digit) * scale;
        scale /= 10;
        end += 1;
    }
    (nanos, end)
}
