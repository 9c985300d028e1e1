//! Numbers for people: grouped digits, decimal byte units, durations.

use std::time::Duration;

/// `1234567` as `1,234,567`.
pub(crate) fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `n` of a thing: `1 line`, `2,000 lines`.
pub(crate) fn counted(n: u64, singular: &str, plural: &str) -> String {
    format!("{} {}", count(n), if n == 1 { singular } else { plural })
}

/// Bytes in decimal units with three significant digits: `0 B`, `999 B`, `1.50 kB`, `12.3 MB`.
pub(crate) fn bytes(n: u64) -> String {
    const UNITS: [&str; 6] = ["kB", "MB", "GB", "TB", "PB", "EB"];
    if n < 1000 {
        return format!("{n} B");
    }
    let mut value = n as f64;
    let mut unit = "B";
    for next in UNITS {
        // What would round up to 1000 belongs to the next unit.
        if value < 999.5 {
            break;
        }
        value /= 1000.0;
        unit = next;
    }
    let decimals = if value < 9.995 {
        2
    } else if value < 99.95 {
        1
    } else {
        0
    };
    format!("{value:.decimals$} {unit}")
}

/// Bytes per time, `0 B/s` for no time at all.
pub(crate) fn rate(bytes_read: u64, elapsed: Duration) -> String {
    format!("{}/s", bytes(per_second(bytes_read, elapsed)))
}

/// How many per second, rounded down; 0 for no time at all.
pub(crate) fn per_second(n: u64, elapsed: Duration) -> u64 {
    let seconds = elapsed.as_secs_f64();
    if seconds > 0.0 { (n as f64 / seconds) as u64 } else { 0 }
}

/// `0.12 s`, `12.3 s`, `2 min 3 s`, `1 h 2 min`.
pub(crate) fn duration(elapsed: Duration) -> String {
    let whole = elapsed.as_secs();
    match whole {
        0..10 => format!("{:.2} s", elapsed.as_secs_f64()),
        10..60 => format!("{:.1} s", elapsed.as_secs_f64()),
        60..3600 => format!("{} min {} s", whole / 60, whole % 60),
        _ => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
    }
}

/// An age in the largest unit that says it exactly: `90s`, `36h`, `30d`, as ages are given.
pub(crate) fn age(limit: Duration) -> String {
    let seconds = limit.as_secs();
    for (unit, in_seconds) in [("d", 86_400), ("h", 3600), ("m", 60)] {
        if seconds > 0 && seconds.is_multiple_of(in_seconds) && limit.subsec_nanos() == 0 {
            return format!("{}{unit}", seconds / in_seconds);
        }
    }
    if limit.subsec_nanos() == 0 { format!("{seconds}s") } else { format!("{}ms", limit.as_millis()) }
}

/// How many times smaller `stored` is than `raw`: `12.3×`; a dash where that says nothing.
pub(crate) fn ratio(raw: u64, stored: u64) -> String {
    if raw == 0 || stored == 0 { "-".into() } else { format!("{:.1}×", raw as f64 / stored as f64) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_grouped() {
        for (n, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (u64::MAX, "18,446,744,073,709,551,615")] {
            assert_eq!(count(n), text);
        }
        assert_eq!(counted(1, "line", "lines"), "1 line");
        assert_eq!(counted(2000, "line", "lines"), "2,000 lines");
    }

    #[test]
    fn bytes_have_three_digits() {
        for (n, text) in [
            (0, "0 B"),
            (999, "999 B"),
            (1000, "1.00 kB"),
            (9_994, "9.99 kB"),
            (9_996, "10.0 kB"),
            (999_499, "999 kB"),
            (999_500, "1.00 MB"),
            (12_345_678, "12.3 MB"),
            (u64::MAX, "18.4 EB"),
        ] {
            assert_eq!(bytes(n), text);
        }
    }

    #[test]
    fn time_is_said_as_people_say_it() {
        for (ms, text) in [
            (0, "0.00 s"),
            (120, "0.12 s"),
            (12_340, "12.3 s"),
            (123_000, "2 min 3 s"),
            (3_720_000, "1 h 2 min"),
        ] {
            assert_eq!(duration(Duration::from_millis(ms)), text);
        }
        let ages = [86_400_000, 129_600_000, 60_000, 61_000, 1500].map(|ms| age(Duration::from_millis(ms)));
        assert_eq!(ages, ["1d", "36h", "1m", "61s", "1500ms"]);
        assert_eq!(rate(5_000_000, Duration::from_millis(500)), "10.0 MB/s");
        assert_eq!(rate(5, Duration::ZERO), "0 B/s");
        assert_eq!((ratio(100, 8), ratio(1, 0)), ("12.5×".into(), "-".into()));
    }
}
