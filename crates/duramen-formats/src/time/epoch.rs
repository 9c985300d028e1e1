//! Numbers that count from 1970: in seconds, milli-, micro- or nanoseconds, told apart by magnitude.

/// The first second taken for a time: 1973-03-03. What is smaller is a duration or a count.
const MIN_SECS: u64 = 100_000_000;
/// The first second not taken for a time any more: 2100-01-01.
const END_SECS: u64 = 4_102_444_800;

/// Reads a number of digits, with an optional decimal fraction, as nanoseconds since the epoch. `None` if
/// it would not be between 1973 and 2100 in any of the units. Digits past the nanosecond do not count.
pub(crate) fn read(text: &str) -> Option<i64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let all_digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || whole.len() > 19 || !all_digits(whole) || !all_digits(fraction) {
        return exponent(text);
    }
    let n: u64 = whole.parse().ok()?;
    for (unit, ns_per_unit) in
        [(1, 1_000_000_000), (1_000, 1_000_000), (1_000_000, 1_000), (1_000_000_000, 1)]
    {
        if (MIN_SECS * unit..END_SECS * unit).contains(&n) {
            let mut ns = n.checked_mul(ns_per_unit)?;
            let mut scale = ns_per_unit / 10;
            for digit in fraction.bytes() {
                ns += u64::from(digit - b'0') * scale;
                scale /= 10;
            }
            return i64::try_from(ns).ok();
        }
    }
    None
}

/// `1.669575482096E9`, `1669575482096e-3`: the point is moved, for as a double it would be some 200 ns beside it.
fn exponent(text: &str) -> Option<i64> {
    /// Of texts of this length, no point that is moved by more ends in a number that is a time.
    const MOST: usize = 40;
    if text.len() > MOST {
        return None;
    }
    let (number, power) = text.split_once(['e', 'E'])?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let all_digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if !all_digits(whole) || !all_digits(fraction) {
        return None;
    }
    let power: isize = power.parse().ok()?;
    let by = power.unsigned_abs();
    if by > MOST {
        return None;
    }
    let moved = if power < 0 {
        let (whole, moved) = whole.split_at(whole.len().saturating_sub(by));
        format!("{whole}.{moved:0>by$}{fraction}")
    } else {
        let (moved, fraction) = fraction.split_at(fraction.len().min(by));
        format!("{whole}{moved:0<by$}.{fraction}")
    };
    read(moved.trim_start_matches('0'))
}
