//! Numbers as LogsQL writes them: `-12`, `4.5e3`, `1_000`, `5KB`, `2.5MiB`, `10ms`, `1h33m`, `1MiB500KiB`.
//!
//! Sizes count bytes and durations count nanoseconds, so that `took:>10ms` finds `took=1.5s`.

use duramen::column::{IntText, Scale};
use std::cmp::Ordering;
use std::fmt;

/// A number: integers stay exact to 64 bits, so that ids compare correctly.
#[derive(Clone, Copy, Debug)]
pub enum Number {
    /// A whole number.
    Int(i64),
    /// Any other; never not-a-number.
    Float(f64),
}

/// Powers of ten, as many as are exact as floats.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
    1e19, 1e20, 1e21, 1e22,
];

/// Size suffixes, and what each multiplies with.
const SIZES: &[(&str, i64)] = &[
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

/// Duration suffixes, and how many nanoseconds each is.
const DURATIONS: &[(&str, i64)] = &[
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

impl Number {
    /// Reads a whole text as a number; `None` if it is not one.
    pub fn parse(text: &str) -> Option<Self> {
        let first = *text.as_bytes().first()?;
        if let Some(n) = duramen::entry::plain_integer(text) {
            return Some(Self::Int(n));
        }
        if let Some(x) = plain_decimal(text) {
            return Some(Self::from_f64(x));
        }
        let (negative, body) = match first {
            b'-' => (true, &text[1..]),
            b'+' => (false, &text[1..]),
            _ => (false, text),
        };
        if body.eq_ignore_ascii_case("inf") || body.eq_ignore_ascii_case("infinity") {
            return Some(Self::Float(if negative { f64::NEG_INFINITY } else { f64::INFINITY }));
        }
        let starts_well = |s: &str| {
            let b = s.as_bytes();
            b.first().is_some_and(u8::is_ascii_digit)
                || (b.first() == Some(&b'.') && b.get(1).is_some_and(u8::is_ascii_digit))
        };
        if !starts_well(body) {
            return None;
        }
        let (value, suffix) = split_plain(body)?;
        let number = if suffix.is_empty() {
            value
        } else if let Some(&(_, by)) = SIZES.iter().find(|(s, _)| *s == suffix) {
            value.times(by)
        } else {
            duration(body).or_else(|| sum_of(body, SIZES))?
        };
        Some(if negative { number.negated() } else { number })
    }

    /// The number that an integer of a column of decimal fractions stands for: what its text reads as.
    pub(crate) fn of_decimal(n: i64, scale: Scale) -> Self {
        /// Up to this, an integer divided by a power of ten is the floating-point number nearest to the text, and a whole one
        /// only if that is whole.
        const MOST_EXACT: u64 = 1 << 52;
        let power = scale.power();
        let x = n as f64 / power as f64;
        if n.unsigned_abs() > MOST_EXACT {
            let read = Self::parse(IntText::default().format_decimal(n, scale));
            return read.unwrap_or(Self::Float(x));
        }
        // Dividing integers, or asking the library for the fraction, takes several times as long.
        let whole = x as i64;
        if whole as f64 == x { Self::Int(whole) } else { Self::Float(x) }
    }

    /// Reads a number that stands in a query, which may also be hexadecimal, octal or binary: `0xff`, `0o17`, `0b101`.
    pub fn literal(text: &str) -> Option<Self> {
        const RADIXES: [(&str, u32); 3] = [("0x", 16), ("0o", 8), ("0b", 2)];
        let (negative, body) = text.strip_prefix('-').map_or((false, text), |body| (true, body));
        let digits = |(prefix, radix)| Some((body.strip_prefix(prefix)?, radix));
        let Some((digits, radix)) = RADIXES.into_iter().find_map(digits) else { return Self::parse(text) };
        let first = digits.bytes().next().filter(u8::is_ascii_alphanumeric);
        let n = i64::from_str_radix(&digits.replace('_', ""), radix).ok().filter(|_| first.is_some())?;
        Some(Self::Int(if negative { -n } else { n }))
    }

    /// The integer, if it is one.
    pub fn as_int(self) -> Option<i64> {
        match self {
            Self::Int(n) => Some(n),
            Self::Float(_) => None,
        }
    }

    /// The nearest floating-point number.
    pub fn as_f64(self) -> f64 {
        match self {
            Self::Int(n) => n as f64,
            Self::Float(x) => x,
        }
    }

    /// It as a computed number is [written](format_rounded), and then read.
    pub(crate) fn as_written(self) -> Self {
        match self {
            Self::Int(_) => self,
            Self::Float(x) => {
                let slowly = || Self::parse(&format_rounded(x)).unwrap_or(self);
                rounded(x).map_or_else(slowly, Self::from_f64)
            }
        }
    }

    pub(crate) fn from_f64(x: f64) -> Self {
        // Asking the library for the fraction takes several times as long.
        let whole = x as i64;
        if whole as f64 == x && x.abs() < 9e15 { Self::Int(whole) } else { Self::Float(x) }
    }

    fn times(self, by: i64) -> Self {
        match self {
            Self::Int(n) => n.checked_mul(by).map_or_else(|| Self::Float(n as f64 * by as f64), Self::Int),
            Self::Float(x) => Self::from_f64(x * by as f64),
        }
    }

    pub(crate) fn plus(self, other: Self) -> Self {
        match (self, other) {
            (Self::Int(a), Self::Int(b)) if a.checked_add(b).is_some() => Self::Int(a.saturating_add(b)),
            (a, b) => Self::from_f64(a.as_f64() + b.as_f64()),
        }
    }

    pub(crate) fn negated(self) -> Self {
        match self {
            Self::Int(n) => n.checked_neg().map_or(Self::Float(-(n as f64)), Self::Int),
            Self::Float(x) => Self::Float(-x),
        }
    }
}

/// The nearest float of digits with a point between them, if they are few. Both what they are without the point and the
/// power of ten that the point stands for are exact as floats, so that their quotient is rounded once (W. D. Clinger, How
/// to read floating point numbers accurately, 1990).
fn plain_decimal(text: &str) -> Option<f64> {
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
fn rounded(x: f64) -> Option<f64> {
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

/// Splits digits, fraction and exponent off the front, and gives what follows.
fn split_plain(text: &str) -> Option<(Number, &str)> {
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
fn duration(text: &str) -> Option<Number> {
    sum_of(text, DURATIONS)
}

/// Reads numbers with units of one kind one after another: `1h33m`, `1MiB500KiB`.
fn sum_of(mut text: &str, units: &[(&str, i64)]) -> Option<Number> {
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

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Number {}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Number {
    fn cmp(&self, other: &Self) -> Ordering {
        match (*self, *other) {
            (Self::Int(a), Self::Int(b)) => a.cmp(&b),
            (Self::Float(a), Self::Float(b)) => a.partial_cmp(&b).unwrap_or(Ordering::Equal),
            (Self::Int(a), Self::Float(b)) => int_float(a, b),
            (Self::Float(a), Self::Int(b)) => int_float(b, a).reverse(),
        }
    }
}

/// Compares without rounding the integer to a float.
fn int_float(a: i64, b: f64) -> Ordering {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if b >= LIMIT {
        Ordering::Less
    } else if b < -LIMIT {
        Ordering::Greater
    } else {
        let whole = b.trunc();
        a.cmp(&(whole as i64)).then_with(|| 0.0f64.partial_cmp(&(b - whole)).unwrap_or(Ordering::Equal))
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(n) => write!(f, "{n}"),
            Self::Float(x) => f.write_str(&format_float(*x)),
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn computed_numbers_have_fifteen_digits() {
        let slowly = |x: f64| format_float(format!("{x:.14e}").parse().unwrap_or(x));
        for x in [
            0.1 + 0.2,
            1e22,
            1.0 / 3.0,
            2343098.957999981,
            1e-7,
            -0.0,
            0.00012345678901234567,
            5e15,
            123456789012345.67,
        ] {
            assert_eq!(format_rounded(x), slowly(x), "{x}");
            assert_eq!(format_rounded(-x), slowly(-x), "{x}");
        }
        assert_eq!([f64::INFINITY, f64::NEG_INFINITY, f64::NAN].map(format_rounded), ["Inf", "-Inf", "NaN"]);
        assert_eq!(format_rounded(f64::MAX).parse(), Ok(f64::MAX));
    }

    #[test]
    fn computed_numbers_are_rounded_as_their_texts_are() {
        let mut quick = 0;
        let mut random = 1u64;
        for i in 0..200_000u64 {
            random = random.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(i).rotate_left(31);
            let (a, b) = ((random >> 40) as f64, (random % 9973 + 1) as f64);
            for x in [a / b, a / 1024.0, a / 1000.0, b / a.max(1.0), -a * 1e-9, (a / b).ln(), a * 1e7 / b] {
                let slowly = Number::parse(&format_rounded(x));
                quick += u32::from(rounded(x).is_some());
                let x = Number::from_f64(x);
                assert_eq!(format!("{:?}", Some(x.as_written())), format!("{slowly:?}"), "{x:?}");
            }
        }
        assert!(quick > 900_000, "{quick}");
        for x in
            [0.1 + 0.2, 1e-6, 1e14 - 0.1, 999_999_999_999_999.9, 0.5, 1e300, f64::INFINITY, f64::MIN_POSITIVE]
        {
            for x in [x, -x] {
                let slowly = Number::parse(&format_rounded(x));
                assert_eq!(format!("{:?}", Some(Number::Float(x).as_written())), format!("{slowly:?}"));
            }
        }
    }

    #[test]
    fn reads_what_logsql_writes() {
        for (text, value) in [
            ("0", 0.0),
            ("-12", -12.0),
            ("0012", 12.0),
            ("4.5e3", 4500.0),
            ("1_234_567", 1_234_567.0),
            ("1.234_5", 1.2345),
            ("5KB", 5000.0),
            ("1.5KiB", 1536.0),
            ("10ms", 1e7),
            ("1.5s", 1.5e9),
            ("1h33m", 93.0 * 60e9),
            ("1MiB500KiB200B", 1_560_776.0),
            ("-1.5K2B", -1502.0),
            ("-1h", -3600e9),
            ("2µs", 2000.0),
            (".5", 0.5),
            ("Inf", f64::INFINITY),
            ("-inf", f64::NEG_INFINITY),
        ] {
            assert_eq!(Number::parse(text).map(Number::as_f64), Some(value), "{text}");
        }
        for text in [
            "", "-", ".", "abc", "1.2.3.4", "5KBx", "1h33", "1h5K", "5K1h", "5K3", "nan", "--1", "- 1", "1 ",
            "5mm",
        ] {
            assert_eq!(Number::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn queries_may_say_numbers_in_other_bases() {
        for (text, value) in [("0xff", 255), ("-0xF_F", -255), ("0o17", 15), ("0b101", 5), ("1KiB", 1024)] {
            assert_eq!(Number::literal(text), Some(Number::Int(value)), "{text}");
        }
        for text in ["0x", "0x-1", "0x+1", "0x_1", "0b2", "0xffffffffffffffffff", "x"] {
            assert_eq!(Number::literal(text), None, "{text}");
        }
    }

    #[test]
    fn big_ids_compare_exactly() {
        let a = Number::parse("9007199254740993").unwrap();
        let b = Number::parse("9007199254740992").unwrap();
        assert!(a > b);
        assert!(Number::Int(3) < Number::Float(3.5) && Number::Int(-3) > Number::Float(-3.5));
        assert!(Number::Int(i64::MAX) < Number::Float(1e19));
    }

    proptest::proptest! {
        #[test]
        fn decimal_fractions_of_columns_are_what_their_texts_read_as(
            n in proptest::prop_oneof![proptest::prelude::any::<i64>(), -100_000i64..100_000], most in 0u8..=18, least in 0u8..=18,
        ) {
            let Some(scale) = Scale::new(most, least) else { return Ok(()) };
            let text = IntText::default().format_decimal(n, scale).to_owned();
            let (read, told) = (Number::parse(&text), Number::of_decimal(n, scale));
            proptest::prop_assert_eq!(format!("{read:?}"), format!("{:?}", Some(told)), "{}", text);
        }
    }

    #[test]
    fn only_digits_with_a_point_between_them_are_read_the_quick_way() {
        assert_eq!(plain_decimal("9.017"), Some(9.017));
        assert_eq!(plain_decimal("-00.5"), Some(-0.5));
        assert_eq!(plain_decimal("1234567890123.45"), Some(1_234_567_890_123.45));
        for text in
            ["", "-", ".", "1.", ".5", "-.5", "1.5.2", "1-.5", "12345678901234.56", "1.5e3", "1_0.5", "1.5ms"]
        {
            assert_eq!(plain_decimal(text), None, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_decimals_are_read_as_floats_are(text in "-?[0-9]{1,9}\\.[0-9]{1,9}") {
            let expected = text.parse::<f64>().unwrap();
            proptest::prop_assert_eq!(Number::parse(&text).map(Number::as_f64), Some(expected + 0.0), "{}", text);
            proptest::prop_assert_eq!(plain_decimal(&text).is_some(), text.trim_start_matches('-').len() <= 16, "{}", text);
        }

        #[test]
        fn no_text_makes_it_panic(text in "[-+0-9._eKMGTiBnuµmshdwy]{0,12}|.{0,8}") {
            if let Some(n) = Number::parse(&text) {
                let again = Number::parse(&n.to_string());
                proptest::prop_assert_eq!(again, Some(n));
            }
            let _ = parse_duration_ns(&text);
        }
    }
}
