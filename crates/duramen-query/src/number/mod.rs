//! Numbers as LogsQL writes them: `-12`, `4.5e3`, `1_000`, `5KB`, `2.5MiB`, `10ms`, `1h33m`, `1MiB500KiB`.

mod floats;
mod units;

pub use floats::{format_float, format_rounded};
pub(crate) use units::duration_text;
pub use units::{DURATIONS, parse_duration_ns};

use duramen::column::{IntText, Scale};
use floats::{plain_decimal, rounded};
use std::cmp::Ordering;
use std::fmt;
use units::{SIZES, duration, split_plain, sum_of};

/// A number: integers stay exact to 64 bits, so that ids compare correctly.
#[derive(Clone, Copy, Debug)]
pub enum Number {
    /// A whole number.
    Int(i64),
    /// Any other; never not-a-number.
    Float(f64),
}

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

#[cfg(test)]
mod tests;
