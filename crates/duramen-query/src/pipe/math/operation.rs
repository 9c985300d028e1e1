//! Operators and functions of expressions. Nothing (`None`) is not a number, and makes what is computed of it none.

use crate::number::Number;

/// An operator between two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Power,
    Times,
    Divided,
    Remainder,
    Plus,
    Minus,
    And,
    Xor,
    Or,
    Default,
}

impl Operator {
    /// How it is written, and how tightly it binds: the least the most.
    pub const ALL: [(&'static str, u8, Self); 10] = [
        ("^", 1, Self::Power),
        ("*", 2, Self::Times),
        ("/", 2, Self::Divided),
        ("%", 2, Self::Remainder),
        ("+", 3, Self::Plus),
        ("-", 3, Self::Minus),
        ("&", 4, Self::And),
        ("xor", 5, Self::Xor),
        ("or", 6, Self::Or),
        ("default", 7, Self::Default),
    ];

    /// How it is written.
    pub fn sign(self) -> &'static str {
        Self::ALL.iter().find(|(_, _, operator)| *operator == self).map_or("", |(sign, ..)| sign)
    }

    /// How tightly it binds: the least the most, at least 1.
    pub fn binds(self) -> u8 {
        Self::ALL.iter().find(|(_, _, operator)| *operator == self).map_or(1, |(_, binds, _)| *binds)
    }

    /// Of each two values in the same place. Which operator it is, is asked once.
    pub fn apply_each(self, a: &[Option<Number>], b: &[Option<Number>]) -> Vec<Option<Number>> {
        fn each(
            a: &[Option<Number>],
            b: &[Option<Number>],
            apply: impl Fn(Option<Number>, Option<Number>) -> Option<Number>,
        ) -> Vec<Option<Number>> {
            a.iter().zip(b).map(|(&a, &b)| apply(a, b)).collect()
        }
        match self {
            Self::Plus => each(a, b, |a, b| Self::Plus.apply(a, b)),
            Self::Minus => each(a, b, |a, b| Self::Minus.apply(a, b)),
            Self::Times => each(a, b, |a, b| Self::Times.apply(a, b)),
            Self::Divided => each(a, b, |a, b| Self::Divided.apply(a, b)),
            other => each(a, b, |a, b| other.apply(a, b)),
        }
    }

    #[inline(always)]
    pub fn apply(self, a: Option<Number>, b: Option<Number>) -> Option<Number> {
        if self == Self::Default {
            return a.or(b);
        }
        let (a, b) = (a?, b?);
        let exact = |f: fn(i64, i64) -> Option<i64>| match (a, b) {
            (Number::Int(a), Number::Int(b)) => f(a, b).map(Number::Int),
            _ => None,
        };
        let (x, y) = (a.as_f64(), b.as_f64());
        let bits = |f: fn(i64, i64) -> i64| Some(Number::Int(f(whole(a)?, whole(b)?)));
        match self {
            Self::Plus => exact(i64::checked_add).or_else(|| float(x + y)),
            Self::Minus => exact(i64::checked_sub).or_else(|| float(x - y)),
            Self::Times => exact(i64::checked_mul).or_else(|| float(x * y)),
            Self::Divided => exact(|a, b| if a.checked_rem(b)? == 0 { a.checked_div(b) } else { None })
                .or_else(|| float(x / y)),
            Self::Remainder => exact(i64::checked_rem).or_else(|| float(x % y)),
            Self::Power => exact(|a, b| a.checked_pow(u32::try_from(b).ok()?)).or_else(|| float(x.powf(y))),
            Self::And => bits(|a, b| a & b),
            Self::Xor => bits(|a, b| a ^ b),
            Self::Or => bits(|a, b| a | b),
            Self::Default => None,
        }
    }
}

/// A number as bits.
fn whole(n: Number) -> Option<i64> {
    match n {
        Number::Int(n) => Some(n),
        Number::Float(x) if x.abs() < 9.2e18 => Some(x as i64),
        Number::Float(_) => None,
    }
}

/// What was computed; an integer if it is one.
pub(super) fn float(x: f64) -> Option<Number> {
    (!x.is_nan()).then(|| Number::from_f64(x))
}

/// A function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    Abs,
    Ceil,
    Exp,
    Floor,
    Ln,
    Max,
    Min,
    Rand,
    Round,
}

impl Call {
    /// Name, and the least and most arguments. `now()` is a number by the time it is read.
    pub const ALL: [(&'static str, usize, usize, Self); 9] = [
        ("abs", 1, 1, Self::Abs),
        ("ceil", 1, 1, Self::Ceil),
        ("exp", 1, 1, Self::Exp),
        ("floor", 1, 1, Self::Floor),
        ("ln", 1, 1, Self::Ln),
        ("max", 1, usize::MAX, Self::Max),
        ("min", 1, usize::MAX, Self::Min),
        ("rand", 0, 0, Self::Rand),
        ("round", 1, 2, Self::Round),
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(.., call)| *call == self).map_or("", |(name, ..)| name)
    }

    pub fn apply(self, arguments: &[Option<Number>], random: &mut u64) -> Option<Number> {
        let first = || arguments.first().copied().flatten();
        let of_float = |f: fn(f64) -> f64| match first()? {
            Number::Int(n) => Some(Number::Int(n)),
            Number::Float(x) => float(f(x)),
        };
        match self {
            Self::Abs => match first()? {
                Number::Int(n) => n.checked_abs().map(Number::Int).or_else(|| float((n as f64).abs())),
                Number::Float(x) => float(x.abs()),
            },
            Self::Ceil => of_float(f64::ceil),
            Self::Floor => of_float(f64::floor),
            Self::Exp => float(first()?.as_f64().exp()),
            Self::Ln => float(first()?.as_f64().ln()),
            // Those that are no numbers are left out.
            Self::Max => arguments.iter().flatten().max().copied(),
            Self::Min => arguments.iter().flatten().min().copied(),
            Self::Rand => {
                *random = random.wrapping_add(0x9e37_79b9_7f4a_7c15);
                let hash = xxhash_rust::xxh3::xxh3_64(&random.to_le_bytes());
                float((hash >> 11) as f64 / (1u64 << 53) as f64)
            }
            Self::Round => match arguments.get(1).copied() {
                None => of_float(f64::round),
                Some(nearest) => {
                    let (x, nearest) = (first()?.as_f64(), nearest?.as_f64());
                    float((x / nearest).round() * nearest)
                }
            },
        }
    }
}
