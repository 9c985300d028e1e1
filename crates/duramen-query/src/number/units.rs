//! Sizes count bytes and durations count nanoseconds, so that `took:>10ms` finds `took=1.5s`.

use super::Number;

/// Size suffixes, and what each multiplies with.
pub(super) const SIZES: &[(&str, i64)] = &[
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("Ki", 1 << 10),
    ("Mi", 1 << 20),
    ("Gi", 1 << 30),
    ("Ti", 1 << 40),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("K", 1_000),
    ("M", 1_000_000),
    ("G", 1_000_000_000),
    ("T", 1_000_000_000_000),
    ("B", 1),
];

/// Duration suffixes, and how many nanoseconds each is, the smallest first: a day is 24 hours, a week 7 days, a year 365.
pub const DURATIONS: &[(&str, i64)] = &[
    ("ns", 1),
    ("µs", 1_000),
    ("μs", 1_000),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
    ("d", 86_400_000_000_000),
    ("w", 7 * 86_400_000_000_000),
    ("y", 365 * 86_400_000_000_000),
];

/// Splits digits, fraction and exponent off the front, and gives what follows.
pub(super) fn split_plain(text: &str) -> Option<(Number, &str)> {
    let bytes = text.as_bytes();
    let digits = |mut at: usize| {
        while bytes.get(at).is_some_and(|b| b.is_ascii_digit() || *b == b'_') {
            at += 1;
        }
        at
    };
    let whole = digits(0);
    let mut end = whole;
    if bytes.get(end) == Some(&b'.') {
        end = digits(end + 1);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'-' | b'+')));
        let exponent_end = digits(end + 1 + sign);
        if exponent_end > end + 1 + sign {
            end = exponent_end;
        }
    }
    let (number, rest) = (&text[..end], &text[end..]);
    let plain: std::borrow::Cow<'_, str> =
        if number.contains('_') { number.replace('_', "").into() } else { number.into() };
    let value = match (end == whole).then(|| plain.parse::<i64>()) {
        Some(Ok(n)) => Number::Int(n),
        _ => Number::from_f64(plain.parse::<f64>().ok().filter(|x| !x.is_nan())?),
    };
    Some((value, rest))
}

/// Reads durations one after another: `1h33m`.
pub(super) fn duration(text: &str) -> Option<Number> {
    sum_of(text, DURATIONS)
}

/// Reads numbers with units of one kind one after another: `1h33m`, `1MiB500KiB`.
pub(super) fn sum_of(mut text: &str, units: &[(&str, i64)]) -> Option<Number> {
    let mut sum = Number::Int(0);
    while !text.is_empty() {
        let (value, rest) = split_plain(text)?;
        let unit_len = rest.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(rest.len());
        let (unit, rest) = rest.split_at(unit_len);
        let &(_, by) = units.iter().find(|(s, _)| *s == unit)?;
        sum = sum.plus(value.times(by));
        text = rest;
    }
    Some(sum)
}

/// Reads a duration (a number of nanoseconds with a unit), possibly negative; `None` if it is none, or is
/// longer than 64 bits of nanoseconds hold (292 years).
pub fn parse_duration_ns(text: &str) -> Option<i64> {
    let (negative, body) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    if !body.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    let n = match duration(body)? {
        Number::Int(n) => n,
        Number::Float(x) if x.abs() < 9.2e18 => x as i64,
        Number::Float(_) => return None,
    };
    Some(if negative { -n } else { n })
}

/// `1h33m5s20ms`: whole units, the greatest first.
pub(crate) fn duration_text(ns: i64) -> String {
    let mut out = String::new();
    if ns < 0 {
        out.push('-');
    }
    let mut left = ns.unsigned_abs();
    if left == 0 {
        out.push('0');
    }
    // Years are not of one length to people.
    for &(unit, size) in DURATIONS.iter().rev().filter(|(unit, _)| !matches!(*unit, "y" | "us" | "\u{3bc}s"))
    {
        let count = left / size.unsigned_abs();
        left %= size.unsigned_abs();
        if count > 0 {
            out.push_str(&format!("{count}{unit}"));
        }
    }
    out
}
