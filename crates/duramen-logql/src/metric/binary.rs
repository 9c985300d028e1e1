//! Arithmetic, comparisons and sets, of numbers and of series that match by their labels.

use super::{LabelSet, Run, Series, Value};
use crate::ast::{Binary, Matching, Operator};
use crate::error::{Error, Result};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

pub(super) fn apply(binary: &Binary, left: Value, right: Value, run: &Run<'_>) -> Result<Value> {
    Ok(match (left, right) {
        (Value::Number(a), Value::Number(b)) => {
            let holds = |c: crate::ast::Comparison| f64::from(u8::from(c.holds(a, b)));
            Value::Number(match binary.operator {
                Operator::Compare(comparison) => holds(comparison),
                operator => arithmetic(operator, a, b),
            })
        }
        (Value::Series(series), Value::Number(n)) => {
            Value::Series(each(series, |value| point(binary, value, n, value)))
        }
        (Value::Number(n), Value::Series(series)) => {
            Value::Series(each(series, |value| point(binary, n, value, value)))
        }
        (Value::Series(left), Value::Series(right)) => Value::Series(match binary.operator {
            Operator::And | Operator::Or | Operator::Unless => sets(binary, left, right, run)?,
            _ => matched(binary, left, right, run)?,
        }),
    })
}

fn arithmetic(operator: Operator, a: f64, b: f64) -> f64 {
    match operator {
        Operator::Add => a + b,
        Operator::Sub => a - b,
        Operator::Mul => a * b,
        // Nothing can be divided by zero, not even to infinity.
        Operator::Div | Operator::Mod if b == 0.0 => f64::NAN,
        Operator::Div => a / b,
        Operator::Mod => a % b,
        Operator::Pow => a.powf(b),
        _ => f64::NAN,
    }
}

/// The result for two values; a comparison that holds gives `kept`.
fn point(binary: &Binary, a: f64, b: f64, kept: f64) -> Option<f64> {
    match binary.operator {
        Operator::Compare(comparison) if binary.bool_result => {
            Some(f64::from(u8::from(comparison.holds(a, b))))
        }
        Operator::Compare(comparison) => comparison.holds(a, b).then_some(kept),
        operator => Some(arithmetic(operator, a, b)),
    }
}

fn each(mut series: Vec<Series>, change: impl Fn(f64) -> Option<f64>) -> Vec<Series> {
    for point in series.iter_mut().flat_map(|s| &mut s.points) {
        *point = point.and_then(&change);
    }
    series
}

/// The labels by which series match.
fn signature(labels: &LabelSet, matching: Option<&Matching>) -> LabelSet {
    let Some(matching) = matching else { return labels.clone() };
    let keep = |name: &str| matching.labels.iter().any(|l| **l == *name) == matching.on;
    labels.iter().filter(|(name, _)| keep(name)).cloned().collect()
}

fn sets(
    binary: &Binary,
    mut left: Vec<Series>,
    mut right: Vec<Series>,
    run: &Run<'_>,
) -> Result<Vec<Series>> {
    let steps = run.steps.count();
    let present = |series: &[Series]| {
        let mut present: BTreeMap<LabelSet, Vec<bool>> = BTreeMap::new();
        for one in series {
            let at = present.entry(signature(&one.labels, binary.matching.as_ref())).or_default();
            at.resize(steps, false);
            at.iter_mut().zip(&one.points).for_each(|(at, point)| *at |= point.is_some());
        }
        present
    };
    // Keeps the points where the other side has a match, or has none.
    let keep = |series: &mut Vec<Series>, other: &BTreeMap<LabelSet, Vec<bool>>, matching: bool| {
        for one in series.iter_mut() {
            let at = other.get(&signature(&one.labels, binary.matching.as_ref()));
            for (step, point) in one.points.iter_mut().enumerate() {
                if at.is_some_and(|at| at[step]) != matching {
                    *point = None;
                }
            }
        }
        series.retain(|s| s.points.iter().any(Option::is_some));
    };
    match binary.operator {
        Operator::And => keep(&mut left, &present(&right), true),
        Operator::Unless => keep(&mut left, &present(&right), false),
        _ => {
            keep(&mut right, &present(&left), false);
            for one in right {
                match left.iter_mut().find(|s| s.labels == one.labels) {
                    // Where one has a point the other has none.
                    Some(same) => same.points.iter_mut().zip(one.points).for_each(|(a, b)| *a = a.or(b)),
                    None => left.push(one),
                }
            }
        }
    }
    Ok(left)
}

/// A result on its way: a comparison that does not hold gives no value, and has had its match all the same.
struct Matched {
    series: Series,
    /// At which steps there was a match.
    at: Vec<bool>,
}

/// Refuses series of which several have a value at a step and match by the same labels.
fn unique(series: &[&Series], side: &str) -> Result<()> {
    let (Some(first), true) = (series.first(), series.len() > 1) else { return Ok(()) };
    let twice = |step: usize| series.iter().filter(|s| s.points[step].is_some()).nth(1).is_some();
    match (0..first.points.len()).any(twice) {
        false => Ok(()),
        true => Err(Error::Matching(format!(
            "found duplicate series on the {side} hand-side: labels that match must be unique on one side"
        ))),
    }
}

/// Arithmetic of series: of one side, several may match one of the other only if the query says so.
fn matched(binary: &Binary, left: Vec<Series>, right: Vec<Series>, run: &Run<'_>) -> Result<Vec<Series>> {
    let matching = binary.matching.as_ref();
    let group = matching.and_then(|m| m.group.as_ref());
    let swapped = group.is_some_and(|group| !group.left);
    let (many, one) = if swapped { (right, left) } else { (left, right) };
    let mut ones: BTreeMap<LabelSet, Vec<&Series>> = BTreeMap::new();
    for series in &one {
        ones.entry(signature(&series.labels, matching)).or_default().push(series);
    }
    for series in ones.values() {
        unique(series, if swapped { "left" } else { "right" })?;
    }
    let mut results: BTreeMap<LabelSet, Matched> = BTreeMap::new();
    for series in &many {
        run.cancel.check()?;
        let signature = signature(&series.labels, matching);
        for other in ones.get(&signature).into_iter().flatten() {
            let labels = match group {
                None => signature.clone(),
                Some(group) => {
                    let mut labels = series.labels.clone();
                    for name in &group.include {
                        labels.retain(|(n, _)| n != name);
                        labels.extend(other.labels.iter().find(|(n, _)| n == name).cloned());
                    }
                    labels.sort_unstable();
                    labels
                }
            };
            let result = match results.entry(labels) {
                Entry::Occupied(entry) => entry.into_mut(),
                Entry::Vacant(entry) => {
                    let series = run.empty_series(entry.key().clone())?;
                    let at = vec![false; series.points.len()];
                    run.memory.charge(at.len(), "series")?;
                    entry.insert(Matched { series, at })
                }
            };
            for (step, (a, b)) in series.points.iter().zip(&other.points).enumerate() {
                let (Some(a), Some(b)) = (*a, *b) else { continue };
                if std::mem::replace(&mut result.at[step], true) {
                    return Err(Error::Matching(
                        match group {
                            None => {
                                "multiple matches for labels: many-to-one matching must be explicit \
                                 (group_left/group_right)"
                            }
                            Some(_) => {
                                "multiple matches for labels: grouping labels must ensure unique matches"
                            }
                        }
                        .into(),
                    ));
                }
                let (a, b) = if swapped { (b, a) } else { (a, b) };
                result.series.points[step] = point(binary, a, b, a);
            }
        }
    }
    Ok(results.into_values().map(|result| result.series).collect())
}
