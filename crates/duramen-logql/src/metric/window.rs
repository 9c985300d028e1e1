//! What is remembered of the values in a stretch of time: enough that two stretches side by side can be put together.

use crate::ast::RangeFunction;

/// A value, and when it was, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sample {
    pub seconds: f64,
    pub value: f64,
}

/// What is remembered, by what a function needs. Values come in order of time.
#[derive(Clone, Debug)]
pub(super) enum Summary {
    Sum {
        count: u64,
        sum: f64,
    },
    Min(f64),
    Max(f64),
    First(f64),
    Last(f64),
    /// How many, their mean, and the sum of the squares of what each is off it.
    Moments {
        count: u64,
        mean: f64,
        squares: f64,
    },
    Values(Vec<f64>),
    /// A counter, and what it lost when it began again.
    Counter {
        count: u64,
        first: Sample,
        last: Sample,
        lost: f64,
    },
}

impl Summary {
    /// Of one value.
    pub fn new(function: RangeFunction, sample: Sample) -> Self {
        let value = sample.value;
        match function {
            RangeFunction::Min => Self::Min(value),
            RangeFunction::Max => Self::Max(value),
            RangeFunction::First => Self::First(value),
            RangeFunction::Last => Self::Last(value),
            RangeFunction::Stddev | RangeFunction::Stdvar => {
                Self::Moments { count: 1, mean: value, squares: 0.0 }
            }
            RangeFunction::Quantile => Self::Values(vec![value]),
            RangeFunction::RateCounter => Self::Counter { count: 1, first: sample, last: sample, lost: 0.0 },
            _ => Self::Sum { count: 1, sum: value },
        }
    }

    /// Adds what comes after it.
    pub fn merge(&mut self, later: &Self) {
        match (self, later) {
            (Self::Sum { count, sum }, Self::Sum { count: n, sum: s }) => {
                *count += n;
                *sum += s;
            }
            // Not-a-number loses against any number.
            (Self::Min(a), Self::Min(b)) => *a = a.min(*b),
            (Self::Max(a), Self::Max(b)) => *a = a.max(*b),
            (Self::Last(a), Self::Last(b)) => *a = *b,
            (Self::Moments { count, mean, squares }, Self::Moments { count: n, mean: m, squares: s }) => {
                let (a, b) = (*count as f64, *n as f64);
                let off = m - *mean;
                *mean += off * b / (a + b);
                *squares += s + off * off * a * b / (a + b);
                *count += n;
            }
            (Self::Values(a), Self::Values(b)) => a.extend_from_slice(b),
            (
                Self::Counter { count, last, lost, .. },
                Self::Counter { count: n, first: next, last: end, lost: l },
            ) => {
                if next.value < last.value {
                    *lost += last.value;
                }
                *lost += l;
                *count += n;
                *last = *end;
            }
            // The first stays, and no two kinds meet.
            _ => {}
        }
    }

    /// The bytes it holds beside its own.
    pub fn heap_bytes(&self) -> usize {
        match self {
            Self::Values(values) => values.len() * size_of::<f64>(),
            _ => 0,
        }
    }

    /// What the function makes of it, for a window that ends then and is so many seconds long.
    pub fn result(
        self,
        function: RangeFunction,
        parameter: f64,
        end_seconds: f64,
        range_seconds: f64,
    ) -> f64 {
        match self {
            Self::Sum { count, sum } => match function {
                RangeFunction::Rate | RangeFunction::BytesRate => sum / range_seconds,
                RangeFunction::Avg => sum / count as f64,
                RangeFunction::Absent => 1.0,
                _ => sum,
            },
            Self::Min(x) | Self::Max(x) | Self::First(x) | Self::Last(x) => x,
            Self::Moments { count, squares, .. } => {
                let variance = squares / count as f64;
                if function == RangeFunction::Stddev { variance.sqrt() } else { variance }
            }
            Self::Values(values) => quantile(parameter, values),
            Self::Counter { count, first, last, lost } => {
                counter_rate(count, first, last, lost, end_seconds, range_seconds)
            }
        }
    }
}

/// The quantile between the two values that it lies between, by how near it is to each.
pub(super) fn quantile(q: f64, mut values: Vec<f64>) -> f64 {
    if q.is_nan() || values.is_empty() {
        return f64::NAN;
    }
    if q < 0.0 {
        return f64::NEG_INFINITY;
    }
    if q > 1.0 {
        return f64::INFINITY;
    }
    // Not-a-number, whatever its sign, stands before all numbers, as in Loki.
    values.sort_by(|a, b| b.is_nan().cmp(&a.is_nan()).then(a.total_cmp(b)));
    let rank = q * (values.len() - 1) as f64;
    let (low, high) = (rank.floor() as usize, (rank.floor() as usize + 1).min(values.len() - 1));
    let weight = rank - rank.floor();
    values[low] * (1.0 - weight) + values[high] * weight
}

/// How fast a counter grows, as Prometheus has it: from the first value to the last, and on to the ends of the window if
/// those are near, but not to below zero. Of one value, or all at one time, it is 0, as in Loki.
fn counter_rate(count: u64, first: Sample, last: Sample, lost: f64, end: f64, range: f64) -> f64 {
    let growth = last.value - first.value + lost;
    let sampled = last.seconds - first.seconds;
    if count < 2 || sampled <= 0.0 {
        return 0.0;
    }
    let between = sampled / (count - 1) as f64;
    let near = between * 1.1;
    let beyond = |gap: f64| if gap < near { gap } else { between / 2.0 };
    let mut before = beyond(first.seconds - (end - range));
    if growth > 0.0 && first.value >= 0.0 {
        before = before.min(sampled * first.value / growth);
    }
    let covered = sampled + before + beyond(end - last.seconds);
    growth * (covered / sampled) / range
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(function: RangeFunction, values: &[f64]) -> Summary {
        let at = |i: usize| Sample { seconds: i as f64, value: values[i] };
        let mut summary = Summary::new(function, at(0));
        (1..values.len()).for_each(|i| summary.merge(&Summary::new(function, at(i))));
        summary
    }

    #[test]
    fn functions_of_a_window() {
        let values = [3.0, 1.0, 4.0, 1.0, 5.0];
        for (function, expected) in [
            (RangeFunction::Count, 14.0),
            (RangeFunction::Avg, 2.8),
            (RangeFunction::Min, 1.0),
            (RangeFunction::Max, 5.0),
            (RangeFunction::First, 3.0),
            (RangeFunction::Last, 5.0),
            (RangeFunction::Stdvar, 2.56),
            (RangeFunction::Stddev, 1.6),
            (RangeFunction::Quantile, 3.0),
            (RangeFunction::Rate, 1.4),
        ] {
            let result = of(function, &values).result(function, 0.5, 5.0, 10.0);
            assert!((result - expected).abs() < 1e-9, "{function:?}: {result}");
        }
        assert_eq!(quantile(0.9, vec![1.0, 2.0]), 1.9);
        for nan in [f64::NAN, -f64::NAN] {
            assert_eq!(quantile(1.0, vec![2.0, nan, 1.0]), 2.0);
            assert!(quantile(0.0, vec![2.0, nan, 1.0]).is_nan());
        }
        assert_eq!((quantile(-1.0, vec![1.0]), quantile(2.0, vec![1.0])), (f64::NEG_INFINITY, f64::INFINITY));
    }

    #[test]
    fn a_counter_that_begins_again_has_grown() {
        // One value a second, 10 more each, and back to 0 once: 90 in ten seconds, and a bit to either end.
        let values: Vec<f64> =
            (0..10).map(|i| if i < 5 { i as f64 * 10.0 } else { (i - 5) as f64 * 10.0 }).collect();
        let rate_of = |values: &[f64], end: f64, range: f64| {
            of(RangeFunction::RateCounter, values).result(RangeFunction::RateCounter, 0.0, end, range)
        };
        let rate = rate_of(&values, 9.5, 10.0);
        assert!((rate - 8.0 * (9.5 / 9.0)).abs() < 1e-9, "{rate}");
        assert_eq!(rate_of(&[1.0], 1.0, 1.0), 0.0);
        // Half of what is between two is added at both ends of a long window, though zero is 0.9 seconds off.
        let rate = rate_of(&[8.0, 20.0, 30.0, 5.0], 50.0, 100.0);
        assert!((rate - 27.0 * (4.0 / 3.0) / 100.0).abs() < 1e-9, "{rate}");
    }

    proptest::proptest! {
        #[test]
        fn stretches_can_be_put_together(values in proptest::collection::vec(0u8..20, 2..12), at in 1usize..11) {
            let values: Vec<f64> = values.into_iter().map(f64::from).collect();
            let at = at.min(values.len() - 1);
            for (_, function) in RangeFunction::NAMES {
                let whole = of(*function, &values).result(*function, 0.3, 12.0, 20.0);
                let stretch = |from: usize, to: usize| {
                    let mut summary: Option<Summary> = None;
                    for (i, value) in values.iter().enumerate().take(to).skip(from) {
                        let one = Summary::new(*function, Sample { seconds: i as f64, value: *value });
                        match &mut summary {
                            None => summary = Some(one),
                            Some(summary) => summary.merge(&one),
                        }
                    }
                    summary.unwrap()
                };
                let mut parts = stretch(0, at);
                parts.merge(&stretch(at, values.len()));
                let parts = parts.result(*function, 0.3, 12.0, 20.0);
                let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
                proptest::prop_assert!(
                    near(whole, parts), "{:?}", function
                );
            }
        }
    }
}
