//! Sums, means and deviations of numbers.

use crate::number::{Number, format_float, format_rounded};
use crate::pipe::stats::function::Function;
use crate::pipe::stats::kind::Kind;

/// A number of something in the time that the rows are of.
pub(super) fn per_second(n: f64, function: &Function) -> String {
    format_rounded(function.seconds.map_or(n, |seconds| n / seconds))
}

/// A sum: exact while all numbers are integers. What is lost when floats are added is summed up beside them (A. Neumaier,
/// Rundungsfehleranalyse einiger Verfahren zur Summation endlicher Summen, 1974), so that the sum is the same in any order,
/// but for its last digits, which are not shown.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sum {
    ints: i128,
    floats: f64,
    lost: f64,
    any_float: bool,
    count: u64,
}

impl Sum {
    pub fn add(&mut self, number: Number) {
        self.count += 1;
        match number {
            Number::Int(n) => self.ints += i128::from(n),
            Number::Float(x) => {
                self.add_float(x);
                self.any_float = true;
            }
        }
    }

    fn add_float(&mut self, x: f64) {
        let sum = self.floats + x;
        let lost = if self.floats.abs() >= x.abs() { self.floats - sum + x } else { x - sum + self.floats };
        self.lost += lost;
        self.floats = sum;
    }

    pub fn merge(&mut self, other: &Self) {
        self.ints += other.ints;
        self.add_float(other.floats);
        self.lost += other.lost;
        self.any_float |= other.any_float;
        self.count += other.count;
    }

    pub fn result(&self, function: &Function) -> String {
        let floats = if self.floats.is_finite() { self.floats + self.lost } else { self.floats };
        let sum = self.ints as f64 + floats;
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

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(numbers: &[f64]) -> Sum {
        let mut sum = Sum::default();
        numbers.iter().for_each(|&x| sum.add(Number::Float(x)));
        sum
    }

    #[test]
    fn sums_are_the_same_in_any_order() {
        let numbers: Vec<f64> =
            (0..100_000).map(|i| f64::from(i * 7919 % 100_003) / 1000.0 + 0.0001).collect();
        let (front, back) = numbers.split_at(12_345);
        let mut parts = sum(back);
        parts.merge(&sum(front));
        let backwards: Vec<f64> = numbers.iter().rev().copied().collect();
        let function = Function { kind: Kind::Sum, ..Function::count() };
        let exact: i64 = numbers.iter().map(|x| (x * 10_000.0).round() as i64).sum();
        let exact = format_float(exact as f64 / 10_000.0);
        for sum in [sum(&numbers), sum(&backwards), parts] {
            assert_eq!(sum.result(&function), exact);
        }
        assert_eq!(sum(&[1e308, 1e308, -1.0]).result(&function), "Inf");
        assert_eq!(sum(&[1e17, 0.5, -1e17]).result(&function), "0.5");
    }
}
