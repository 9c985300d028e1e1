//! How often each range of numbers occurs: 18 ranges a decimal power, from 1e-9 to 1e18, as VictoriaMetrics has them.

use std::collections::BTreeMap;

const PER_DECADE: i32 = 18;
const MIN_EXPONENT: i32 = -9;
const MAX_EXPONENT: i32 = 18;
/// The number of what is below, and of what is above, all ranges.
const BELOW: i32 = -1;
const ABOVE: i32 = (MAX_EXPONENT - MIN_EXPONENT) * PER_DECADE;

/// Hits by the number of the range. Numbers below 0 are in none.
#[derive(Clone, Debug, Default)]
pub(crate) struct Histogram(BTreeMap<i32, u64>);

impl Histogram {
    pub fn add(&mut self, x: f64) {
        if x >= 0.0 {
            *self.0.entry(range_of(x)).or_default() += 1;
        }
    }

    pub fn merge(&mut self, other: &Self) {
        for (range, hits) in &other.0 {
            *self.0.entry(*range).or_default() += hits;
        }
    }

    pub fn into_json(self) -> String {
        let ranges = self.0.iter().map(|(range, hits)| {
            let from = if *range == BELOW { "0".into() } else { show(bound(*range)) };
            let to = if *range == ABOVE { "+Inf".into() } else { show(bound(*range + 1)) };
            format!("{{\"vmrange\":\"{from}...{to}\",\"hits\":{hits}}}")
        });
        format!("[{}]", ranges.collect::<Vec<_>>().join(","))
    }
}

/// Where a range begins.
fn bound(range: i32) -> f64 {
    10f64.powf(f64::from(MIN_EXPONENT) + f64::from(range) / f64::from(PER_DECADE))
}

/// The range that holds a number: a bound belongs to the range below it.
fn range_of(x: f64) -> i32 {
    let place = (x.log10() - f64::from(MIN_EXPONENT)) * f64::from(PER_DECADE);
    if place <= 0.0 {
        BELOW
    } else if place > f64::from(ABOVE) {
        ABOVE
    } else {
        // Rounding must not push a bound over itself.
        let nearest = place.round();
        let place = if (place - nearest).abs() < 1e-9 { nearest } else { place };
        place.ceil() as i32 - 1
    }
}

/// `1.136e+00`
fn show(x: f64) -> String {
    let text = format!("{x:.3e}");
    match text.split_once('e') {
        Some((digits, exponent)) => {
            let exponent: i32 = exponent.parse().unwrap_or(0);
            format!("{digits}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
        }
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_those_of_the_field() {
        let mut histogram = Histogram::default();
        for x in [0.0, 1.0, 1.1, 10.0, 11.0, 1e-12, 1e20, -5.0, f64::INFINITY] {
            histogram.add(x);
        }
        assert_eq!(
            histogram.into_json(),
            "[{\"vmrange\":\"0...1.000e-09\",\"hits\":2},\
             {\"vmrange\":\"8.799e-01...1.000e+00\",\"hits\":1},\
             {\"vmrange\":\"1.000e+00...1.136e+00\",\"hits\":1},\
             {\"vmrange\":\"8.799e+00...1.000e+01\",\"hits\":1},\
             {\"vmrange\":\"1.000e+01...1.136e+01\",\"hits\":1},\
             {\"vmrange\":\"1.000e+18...+Inf\",\"hits\":2}]"
        );
    }
}
