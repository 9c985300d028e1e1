//! Floats and their digits: read when they are few, written as short as can be, rounded to what sums of them are sure of.

/// Powers of ten, as many as are exact as floats.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
    1e19, 1e20, 1e21, 1e22,
];

/// The nearest float of digits with a point between them, if they are few. Both what they are without the point and the
/// power of ten that the point stands for are exact as floats, so that their quotient is rounded once (W. D. Clinger, How
/// to read floating point numbers accurately, 1990).
pub(super) fn plain_decimal(text: &str) -> Option<f64> {
    /// With the point: a number of so many digits is exact.
    const MAX_BYTES: usize = 16;
    let digits = match text.as_bytes() {
        [b'-', digits @ ..] | digits => digits,
    };
    if digits.len() > MAX_BYTES {
        return None;
    }
    let (mut n, mut point) = (0u64, None);
    for (i, &c) in digits.iter().enumerate() {
        match c {
            b'0'..=b'9' => n = n * 10 + u64::from(c - b'0'),
            b'.' if point.is_none() && i > 0 => point = Some(i),
            _ => return None,
        }
    }
    let behind = digits.get(point? + 1..)?.len();
    let x = n as f64 / POWERS.get(behind).filter(|_| behind > 0)?;
    Some(if digits.len() < text.len() { -x } else { x })
}

/// A float of common size, rounded to 15 significant digits, if it is not about in the middle between two such numbers.
///
/// The digits as an integer, and the power of ten behind them, are exact as floats: their quotient is rounded once, as what is
/// read of the text is.
pub(super) fn rounded(x: f64) -> Option<f64> {
    const DIGITS: f64 = 1e15;
    /// What the product may be off by, and then some.
    const UNSURE: f64 = 0.1;
    let size = x.abs();
    if !(1e-6..1e14).contains(&size) {
        return None;
    }
    // How many digits stand before the point, or one less; zeros that follow it are counted down from none. 1233 / 4096 is the
    // decimal logarithm of 2.
    let exponent = (size.to_bits() >> 52) as i64 - 1023;
    let before = (exponent * 1233) >> 12;
    let power = |before: i64| POWERS.get(usize::try_from(14 - before).ok()?).copied();
    // The greatest power with which there are not more digits.
    let power = power(before).filter(|power| size * power < DIGITS).or_else(|| power(before + 1))?;
    let digits = size * power;
    let whole = (digits + 0.5) as i64 as f64;
    ((digits - whole).abs() < 0.5 - UNSURE).then(|| (whole / power).copysign(x))
}

/// The shortest text that reads back as the same number; the infinities as `Inf` and `-Inf`.
pub fn format_float(x: f64) -> String {
    if x.is_infinite() { if x > 0.0 { "Inf".into() } else { "-Inf".into() } } else { format!("{x}") }
}

/// A computed number, rounded to 15 significant digits: sums of the same numbers in another order (blocks
/// are read in parallel) then look the same, and `0.1 + 0.2` is `0.3`.
pub fn format_rounded(x: f64) -> String {
    // As short as can be, with no more digits: then it is rounded already.
    let shortest = format_float(x);
    if shortest.bytes().filter(u8::is_ascii_digit).count() <= 15 {
        return shortest;
    }
    // The greatest floats would become infinite.
    format_float(format!("{x:.14e}").parse().ok().filter(|rounded: &f64| rounded.is_finite()).unwrap_or(x))
}
