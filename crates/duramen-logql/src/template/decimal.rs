//! `addf`, `mulf` and the like: in decimals, as sprig has them, so that 0.1 and 0.2 are 0.3.

/// A number of digits, and the power of ten that they are to be multiplied with.
#[derive(Clone, Copy)]
struct Decimal {
    digits: i128,
    exponent: i32,
}

/// How many places behind the point a quotient has.
const QUOTIENT_PLACES: i32 = 16;

impl Decimal {
    /// The shortest digits that are read back as the number; none of infinity and what is no number.
    fn new(x: f64) -> Option<Self> {
        if !x.is_finite() {
            return None;
        }
        let text = format!("{x:e}");
        let (digits, exponent) = text.split_once('e')?;
        let places = digits.split_once('.').map_or(0, |(_, places)| places.len());
        let digits = digits.replace('.', "").parse().ok()?;
        Some(Self { digits, exponent: exponent.parse::<i32>().ok()? - places as i32 })
    }

    fn float(self) -> f64 {
        format!("{}e{}", self.digits, self.exponent).parse().unwrap_or(f64::NAN)
    }

    /// The digits with another exponent, which is not greater.
    fn at(self, exponent: i32) -> Option<i128> {
        let more = u32::try_from(self.exponent.checked_sub(exponent)?).ok()?;
        self.digits.checked_mul(10i128.checked_pow(more)?)
    }

    fn add(self, other: Self) -> Option<Self> {
        let exponent = self.exponent.min(other.exponent);
        Some(Self { digits: self.at(exponent)?.checked_add(other.at(exponent)?)?, exponent })
    }

    fn sub(self, other: Self) -> Option<Self> {
        self.add(Self { digits: -other.digits, ..other })
    }

    fn mul(self, other: Self) -> Option<Self> {
        let digits = self.digits.checked_mul(other.digits)?;
        Some(Self { digits, exponent: self.exponent.checked_add(other.exponent)? })
    }

    fn div(self, other: Self) -> Option<Self> {
        let places = self.exponent - other.exponent + QUOTIENT_PLACES;
        let ten = 10i128.checked_pow(places.unsigned_abs())?;
        let (above, below) = match places {
            0.. => (self.digits.checked_mul(ten)?, other.digits),
            _ => (self.digits, other.digits.checked_mul(ten)?),
        };
        let (quotient, rest) = (above.checked_div(below)?, above.checked_rem(below)?);
        let up = rest.unsigned_abs() >= below.unsigned_abs().div_ceil(2);
        let sign = if (above < 0) == (below < 0) { 1 } else { -1 };
        Some(Self { digits: quotient + if up { sign } else { 0 }, exponent: -QUOTIENT_PLACES })
    }
}

/// What is done with two numbers.
#[derive(Clone, Copy)]
pub(super) enum Operation {
    Add,
    Sub,
    Mul,
    Div,
}

impl Operation {
    /// The result of the first two numbers, with the third, and so on. What decimals of 38 digits cannot hold is computed
    /// in binary.
    pub fn of(self, numbers: impl IntoIterator<Item = f64>) -> Result<f64, String> {
        let mut numbers = numbers.into_iter();
        let mut sum = numbers.next().unwrap_or(0.0);
        let decimal = |x| Decimal::new(x).ok_or_else(|| format!("`{x}` cannot be computed with"));
        let mut exact = decimal(sum)?;
        for number in numbers {
            let other = decimal(number)?;
            if matches!(self, Self::Div) && other.digits == 0 {
                return Err("division by zero".into());
            }
            let (made, binary) = match self {
                Self::Add => (exact.add(other), sum + number),
                Self::Sub => (exact.sub(other), sum - number),
                Self::Mul => (exact.mul(other), sum * number),
                Self::Div => (exact.div(other), sum / number),
            };
            exact = match made {
                Some(made) => made,
                None => decimal(binary)?,
            };
            sum = exact.float();
        }
        Ok(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::Operation::{Add, Div, Mul, Sub};

    #[test]
    fn decimals_are_exact() {
        for (operation, numbers, expected) in [
            (Add, &[0.1, 0.2][..], 0.3),
            (Add, &[1e300, 1.0], 1e300),
            (Sub, &[0.3, 0.1], 0.2),
            (Mul, &[1.1, 1.1], 1.21),
            (Mul, &[1.1, 1.1, 1.1], 1.331),
            (Mul, &[1e200, 1e100], 1e300),
            (Div, &[1.0, 3.0], 0.333_333_333_333_333_3),
            (Div, &[-2.0, 3.0], -0.666_666_666_666_666_7),
            (Div, &[1.0, 8.0, 2.0], 0.0625),
            (Div, &[1e-10, 1e10], 0.0),
            (Add, &[-0.0], 0.0),
        ] {
            assert_eq!(operation.of(numbers.iter().copied()), Ok(expected), "{numbers:?}");
        }
        for (operation, numbers) in [(Div, [1.0, 0.0]), (Add, [f64::NAN, 1.0]), (Mul, [1.0, f64::INFINITY])] {
            assert!(operation.of(numbers).is_err(), "{numbers:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn results_are_near_those_in_binary(a in -1e6f64..1e6, b in -1e6f64..1e6, any in proptest::num::f64::ANY) {
            for (operation, binary) in [(Add, a + b), (Sub, a - b), (Mul, a * b), (Div, a / b)] {
                let exact = operation.of([a, b]).unwrap_or(binary);
                proptest::prop_assert!((exact - binary).abs() <= 1e-9 * (a.abs() + b.abs() + binary.abs()) + 1e-15);
                let _ = (operation.of([a, any]), operation.of([any, any]));
            }
        }
    }
}
