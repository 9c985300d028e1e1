//! What a filter makes of rows before they are looked at: by their times, and by the labels of their streams.

use super::open::STREAM_ID;
use crate::filter::Filter;
use duramen::block::{BlockHandle, TableStreams, names};

/// Whether all rows match, or none; nothing where that depends on the row.
pub(super) type Verdict = Option<bool>;

/// Whether it may be known of streams whether their rows match.
pub(super) fn asks_for_streams(filter: &Filter) -> bool {
    match filter {
        Filter::Stream(_) => true,
        Filter::Field { field, .. } => **field != *names::MESSAGE,
        Filter::And(parts) | Filter::Or(parts) => parts.iter().any(asks_for_streams),
        Filter::Not(inner) => asks_for_streams(inner),
        _ => false,
    }
}

/// Whether all times of a block lie in each of the filter's time ranges, or none.
pub(super) fn of_times(filter: &Filter, handle: &dyn BlockHandle) -> Vec<Verdict> {
    fn add(filter: &Filter, (min, max): (i64, i64), times: &mut Vec<Verdict>) {
        match filter {
            Filter::Time(range) => times.push(match (range.contains(min), range.contains(max)) {
                (true, true) => Some(true),
                _ if max < range.min || range.max < min => Some(false),
                _ => None,
            }),
            Filter::And(parts) | Filter::Or(parts) => {
                parts.iter().for_each(|part| add(part, (min, max), times))
            }
            Filter::Not(inner) => add(inner, (min, max), times),
            _ => {}
        }
    }
    let mut times = Vec::new();
    add(filter, (handle.min_time(), handle.max_time()), &mut times);
    times
}

/// Whether all rows of a block match, whatever their streams. `times` are those of [`of_times`].
pub(super) fn of_block(filter: &Filter, times: &[Verdict]) -> Verdict {
    of_all(filter, &mut times.iter().copied(), None).first().copied().flatten()
}

/// Whether all rows of each stream of a table match. `times` are those of [`of_times`].
pub(super) fn of_streams(filter: &Filter, times: &[Verdict], table: &TableStreams) -> Vec<Verdict> {
    of_all(filter, &mut times.iter().copied(), Some(table))
}

/// The label of a table that tells all there is of this field.
pub(super) fn label<'t>(table: &'t TableStreams, field: &str) -> Option<&'t duramen::block::TableLabel> {
    if matches!(field, names::TIME | names::STREAM | STREAM_ID) { None } else { table.label(field) }
}

/// Of each stream; without a table, of any: one verdict. Each value of a label is tested once.
fn of_all(
    filter: &Filter,
    times: &mut dyn Iterator<Item = Verdict>,
    table: Option<&TableStreams>,
) -> Vec<Verdict> {
    let streams = table.map_or(1, TableStreams::sets);
    let alike = |verdict| vec![verdict; streams];
    match filter {
        Filter::All => alike(Some(true)),
        Filter::Time(_) => alike(times.next().flatten()),
        Filter::And(parts) => joined(parts, false, times, table, streams),
        Filter::Or(parts) => joined(parts, true, times, table, streams),
        Filter::Not(inner) => {
            let mut verdicts = of_all(inner, times, table);
            verdicts.iter_mut().flatten().for_each(|matches| *matches = !*matches);
            verdicts
        }
        Filter::Stream(selector) => match table {
            None => alike(None),
            Some(table) => {
                let matches = |set| table.with_set(set, |labels| selector.matches_labels(labels));
                (0..streams).map(|set| Some(matches(set))).collect()
            }
        },
        Filter::Field { field, test } => match table.and_then(|table| label(table, field)) {
            None => alike(None),
            Some(label) => {
                let of_values: Vec<_> = (0..label.numbers()).map(|n| test.matches(label.value(n))).collect();
                label.of_sets().iter().map(|&number| of_values.get(number as usize).copied()).collect()
            }
        },
        Filter::AnyField { .. }
        | Filter::Pair(_)
        | Filter::Storage(_)
        | Filter::Clock(_)
        | Filter::Subquery(_) => alike(None),
    }
}

/// Of parts, one of which decides if it is `deciding`. All are asked, for each takes its times.
fn joined(
    parts: &[Filter],
    deciding: bool,
    times: &mut dyn Iterator<Item = Verdict>,
    table: Option<&TableStreams>,
    streams: usize,
) -> Vec<Verdict> {
    let mut joined = vec![Some(!deciding); streams];
    for part in parts {
        for (joined, verdict) in joined.iter_mut().zip(of_all(part, times, table)) {
            match verdict {
                Some(matches) if matches == deciding => *joined = Some(deciding),
                None if *joined != Some(deciding) => *joined = None,
                _ => {}
            }
        }
    }
    joined
}
