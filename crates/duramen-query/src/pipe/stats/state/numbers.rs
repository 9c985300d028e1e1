//! Sums, means and deviations of numbers.

use crate::number::{Number, format_float, format_rounded};
use crate::pipe::stats::function::Function;
use crate::pipe::stats::kind::Kind;

/// A number of something in the time that the rows are of.
pub(super) fn per_second(n: f64, function: &Function) -> String {
    format_rounded(function.seconds.map_or(n, |seconds| n / seconds))
}

/// A sum: exact while all numbers are integers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sum {
    ints: i128,
    floats: f64,
    any_float: bool,
    count: u64,
}

impl Sum {
    pub fn add(&mut self, number: Number) {
        self.count += 1;
        match number {
            Number::Int(n) => self.ints += i128::from(n),
            Number::Float(x) => {
                self.floats += x;
                self.any_float = true;
            }
        }
    }

    pub fn merge(&mut self, other: &Self) {
        self.ints += other.ints;
        self.floats += other.floats;
        self.any_float |= other.any_float;
        self.count += other.count;
    }

    pub fn result(&self, function: &Function) -> String {
        let sum = self.ints as f64 + self.floats;
        match function.kind {
            _ if self.count == 0 => "NaN".into(),
            Kind::Avg => format_rounded(sum / self.count as f64),
            Kind::RateSum => per_second(sum, function),
            _ if self.any_float => format_rounded(sum),
            _ => self.ints.to_string(),
        }
    }
}

/// Mean and squared distances from it, updated number by number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Moments {
    count: f64,
    mean: f64,
    squares: f64,
}

impl Moments {
    pub fn add(&mut self, x: f64) {
        self.count += 1.0;
        let distance = x - self.mean;
        self.mean += distance / self.count;
        self.squares += distance * (x - self.mean);
    }

    pub fn merge(&mut self, other: &Self) {
        let count = self.count + other.count;
        if count == 0.0 {
            return;
        }
        let distance = other.mean - self.mean;
        self.squares += other.squares + distance * distance * self.count * other.count / count;
        self.mean += distance * other.count / count;
        self.count = count;
    }

    /// The deviation of these very numbers, not an estimate of that of others; to 12 digits, for the order in which
    /// threads meet changes the last ones.
    pub fn result(&self) -> String {
        let deviation = (self.squares / self.count).sqrt();
        if deviation.is_nan() {
            "NaN".into()
        } else {
            format_float(format!("{deviation:.11e}").parse().unwrap_or(deviation))
        }
    }
}
