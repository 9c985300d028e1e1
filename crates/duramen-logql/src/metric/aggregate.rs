//! Aggregations: at every step, the series of a group become one, or the greatest of them stay.

use super::window::{Sample, Summary};
use super::{LabelSet, Run, Series};
use crate::ast::{Aggregation, Grouping, Operation, RangeFunction};
use crate::error::Result;
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// The labels that a grouping leaves; of none, none.
fn group_labels(labels: &LabelSet, grouping: Option<&Grouping>) -> LabelSet {
    let Some(grouping) = grouping else { return Vec::new() };
    let keep = |name: &str| grouping.labels.iter().any(|l| **l == *name) != grouping.without;
    labels.iter().filter(|(name, _)| keep(name)).cloned().collect()
}

pub(super) fn aggregate(
    aggregation: &Aggregation,
    series: Vec<Series>,
    run: &Run<'_>,
) -> Result<Vec<Series>> {
    let count = aggregation.count;
    match aggregation.operation {
        Operation::Sort => Ok(sorted(series, false)),
        Operation::SortDesc => Ok(sorted(series, true)),
        Operation::TopK => best(aggregation, series, count, true, run),
        Operation::BottomK => best(aggregation, series, count, false, run),
        operation => {
            let mut groups: BTreeMap<LabelSet, Vec<Series>> = BTreeMap::new();
            for one in series {
                groups.entry(group_labels(&one.labels, aggregation.grouping.as_ref())).or_default().push(one);
            }
            let mut result = Vec::with_capacity(groups.len());
            for (labels, members) in groups {
                run.cancel.check()?;
                let mut group = run.empty_series(labels)?;
                for (step, point) in group.points.iter_mut().enumerate() {
                    *point = of_values(operation, members.iter().filter_map(|m| m.points[step]));
                }
                result.push(group);
            }
            Ok(result)
        }
    }
}

/// What an operation makes of values; of none, none.
fn of_values(operation: Operation, values: impl Iterator<Item = f64>) -> Option<f64> {
    let function = match operation {
        Operation::Avg => RangeFunction::Avg,
        Operation::Min => RangeFunction::Min,
        Operation::Max => RangeFunction::Max,
        Operation::Stddev => RangeFunction::Stddev,
        Operation::Stdvar => RangeFunction::Stdvar,
        _ => RangeFunction::Sum,
    };
    let value = |value: f64| if operation == Operation::Count { 1.0 } else { value };
    let summaries = values.map(|v| Summary::new(function, Sample { seconds: 0.0, value: value(v) }));
    let all = summaries.reduce(|mut all, one| {
        all.merge(&one);
        all
    });
    Some(all?.result(function, 0.0, 0.0, 1.0))
}

/// Numbers in order, not-a-number behind all others.
fn order(a: f64, b: f64, descending: bool) -> Ordering {
    match (a.is_nan(), b.is_nan()) {
        (false, false) if descending => b.total_cmp(&a),
        (false, false) => a.total_cmp(&b),
        (a, b) => a.cmp(&b),
    }
}

/// By the value of the last step that both have; where they are the same, by labels.
fn sorted(mut series: Vec<Series>, descending: bool) -> Vec<Series> {
    let last = |s: &Series| s.points.iter().rev().flatten().next().copied().unwrap_or(f64::NAN);
    series.sort_by(|a, b| order(last(a), last(b), descending).then_with(|| a.labels.cmp(&b.labels)));
    series
}

/// At every step, the so many series of each group with the greatest values, or the least.
fn best(
    aggregation: &Aggregation,
    mut series: Vec<Series>,
    count: usize,
    greatest: bool,
    run: &Run<'_>,
) -> Result<Vec<Series>> {
    series.sort_by(|a, b| a.labels.cmp(&b.labels));
    let mut groups: BTreeMap<LabelSet, Vec<usize>> = BTreeMap::new();
    for (i, one) in series.iter().enumerate() {
        groups.entry(group_labels(&one.labels, aggregation.grouping.as_ref())).or_default().push(i);
    }
    for step in 0..run.steps.count() {
        run.cancel.check()?;
        for members in groups.values() {
            let value = |i: usize| series[i].points[step];
            let mut present: Vec<(usize, f64)> =
                members.iter().filter_map(|&i| Some((i, value(i)?))).collect();
            present.sort_by(|a, b| order(a.1, b.1, greatest));
            for (i, _) in present.drain(..).skip(count).collect::<Vec<_>>() {
                series[i].points[step] = None;
            }
        }
    }
    series.retain(|s| s.points.iter().any(Option::is_some));
    Ok(sorted(series, greatest))
}
