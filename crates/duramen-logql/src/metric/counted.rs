//! Functions that count lines or bytes, where the store's filter says which: it counts them by itself, from columns and on
//! several threads, in buckets of time that every window is made of.

use super::{LabelSet, Run, Series};
use crate::ast::{Grouping, RangeAggregation, RangeFunction};
use crate::census::{bytes_of, count_over_time, hits_of, label_of};
use crate::error::{Error, Result};
use crate::plan::Plan;
use duramen::block::names;
use duramen_query::filter::Filter;
use duramen_query::filter::time::TimeRange;
use duramen_query::parse::time::parse_time;
use duramen_query::{ResultRow, RunOptions};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// The most buckets that a window may have, and all windows together: beyond, going from line to line is as fast.
const MAX_BUCKETS: i64 = 100_000;

/// Which windows a bucket is in.
struct Buckets {
    first_end: i64,
    step: i64,
    range: i64,
    size: i64,
    windows: usize,
}

impl Buckets {
    /// `None` if there would be too many.
    fn new(ends: &[i64], step: i64, range: i64) -> Option<Self> {
        let (first_end, last_end) = (*ends.first()?, *ends.last()?);
        let size = if ends.len() == 1 { range } else { gcd(step, range) };
        let span = last_end.checked_sub(first_end)?.checked_add(range)?;
        let few = range / size <= MAX_BUCKETS && span / size <= MAX_BUCKETS;
        few.then_some(Self { first_end, step, range, size, windows: ends.len() })
    }

    /// How far the bucket's grid is off that of the epoch: each begins one nanosecond behind where a window ends.
    fn offset(&self) -> i64 {
        let off = -(i128::from(self.first_end) + 1);
        off.rem_euclid(i128::from(self.size)) as i64
    }

    /// The windows of the bucket that begins at `start`.
    fn windows_of(&self, start: i64) -> std::ops::Range<usize> {
        let end = i128::from(start) + i128::from(self.size) - 1 - i128::from(self.first_end);
        let (step, range) = (i128::from(self.step), i128::from(self.range));
        let index = |n: i128| usize::try_from(n.max(0)).unwrap_or(usize::MAX).min(self.windows);
        // Those that end with it or behind it, and begin before it.
        index((end + step - 1).div_euclid(step))..index((end + range - 1).div_euclid(step) + 1)
    }
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

impl Run<'_> {
    /// The series, if this way is open to them.
    pub(super) fn counted(
        &self,
        range: &RangeAggregation,
        grouping: Option<&Grouping>,
        plan: &Plan<'_>,
        ends: &[i64],
    ) -> Result<Option<Vec<Series>>> {
        use RangeFunction::{Bytes, BytesRate, Count, Rate};
        let labels: Vec<&str> = match grouping {
            Some(Grouping { without: false, labels }) => labels.iter().map(|label| &**label).collect(),
            _ => return Ok(None),
        };
        if !matches!(range.function, Count | Rate | Bytes | BytesRate)
            || range.unwrap.is_some()
            || !plan.is_done_by_store()
            || labels.iter().any(|label| label.starts_with("__"))
        {
            return Ok(None);
        }
        let Some(buckets) = Buckets::new(ends, self.steps.step_ns, range.range_ns) else { return Ok(None) };
        let last = ends.last().copied().unwrap_or(buckets.first_end);
        let first = buckets.first_end.saturating_sub(range.range_ns).saturating_add(1);
        let time = TimeRange { min: first, max: last };
        let filter = Filter::Time(time).and(plan.filter.clone());
        let bytes = matches!(range.function, Bytes | BytesRate);
        let Ok(query) = count_over_time(filter, &labels, bytes, (buckets.size, buckets.offset())) else {
            return Ok(None);
        };
        let mut series: BTreeMap<LabelSet, Series> = BTreeMap::new();
        let mut failed = None;
        let options = RunOptions { limit: None, ..self.limits.run.clone() };
        let blocks = (self.source)(time.min, time.max);
        let stats = query.run(blocks, &options, self.cancel, &mut |row| match self.add(
            &buckets,
            &labels,
            bytes,
            row,
            &mut series,
        ) {
            Ok(()) => ControlFlow::Continue(()),
            Err(e) => {
                failed = Some(e);
                ControlFlow::Break(())
            }
        })?;
        self.stats.borrow_mut().add(stats);
        if let Some(e) = failed {
            return Err(e);
        }
        let mut series: Vec<Series> = series.into_values().collect();
        if matches!(range.function, Rate | BytesRate) {
            let seconds = range.range_ns as f64 / 1e9;
            series.iter_mut().flat_map(|s| &mut s.points).flatten().for_each(|point| *point /= seconds);
        }
        Ok(Some(series))
    }

    fn add(
        &self,
        buckets: &Buckets,
        labels: &[&str],
        bytes: bool,
        row: &ResultRow,
        series: &mut BTreeMap<LabelSet, Series>,
    ) -> Result<(), Error> {
        let number = if bytes { bytes_of(row) } else { hits_of(row) } as f64;
        let Some(start) = row.get(names::TIME).and_then(parse_time) else { return Ok(()) };
        let of = |label: &&str| label_of(row, label).map(|value| ((*label).into(), value.into()));
        let mut labels: LabelSet = labels.iter().filter_map(of).collect();
        labels.sort_unstable();
        labels.dedup();
        let one = match series.entry(labels) {
            std::collections::btree_map::Entry::Occupied(entry) => entry.into_mut(),
            std::collections::btree_map::Entry::Vacant(entry) => {
                let new = self.empty_series(entry.key().clone())?;
                entry.insert(new)
            }
        };
        for point in &mut one.points[buckets.windows_of(start)] {
            *point = Some(point.unwrap_or(0.0) + number);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn buckets_are_in_the_windows_that_their_moments_are_in(
            first in -100i64..100, steps in 1usize..8, step in 1i64..20, range in 1i64..40, time in -200i64..300,
        ) {
            let ends: Vec<i64> = (0..steps as i64).map(|i| first + i * step).collect();
            let buckets = Buckets::new(&ends, step, range).unwrap();
            let offset = buckets.offset();
            let start = (time + offset).div_euclid(buckets.size) * buckets.size - offset;
            let windows = buckets.windows_of(start);
            for (i, end) in ends.iter().enumerate() {
                let is_in = time > end - range && time <= *end;
                proptest::prop_assert_eq!(windows.contains(&i), is_in, "{} {:?}", end, windows);
            }
        }
    }
}
