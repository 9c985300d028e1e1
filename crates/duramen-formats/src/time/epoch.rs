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

/// `1.669575482096E9`: the point is moved, for as a double it would be some 200 ns beside it.
fn exponent(text: &str) -> Option<i64> {
    if text.len() > 40 {
        return None;
    }
    let (number, power) = text.split_once(['e', 'E'])?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    match power.parse::<usize>() {
        Ok(power @ ..20) => {
            let (moved, rest) = fraction.split_at(fraction.len().min(power));
            read(&format!("{whole}{moved:0<power$}.{rest}"))
        }
        _ => {
            let x: f64 = text.parse().ok()?;
            (x >= MIN_SECS as f64 && x < END_SECS as f64 * 1e9).then(|| read(&format!("{x:.9}")))?
        }
    }
}
