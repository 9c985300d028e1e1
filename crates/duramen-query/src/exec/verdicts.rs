//! What a filter makes of rows before they are looked at: by their times, by the labels of their streams, and by what tables
//! tell of their blocks' fields.

use super::open::STREAM_ID;
use crate::filter::{Filter, Test};
use duramen::block::{BlockHandle, FewValues, TableStreams, names};

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

/// A field, and one of its values.
pub(super) type Value<'v> = (&'v str, &'v str);

/// Whether all times of a block lie in each of the filter's time ranges, or none; and whether all values of a field pass each of
/// its tests, or none. Of one field only rows with this value are meant, if one is given.
pub(super) fn of_leaves(filter: &Filter, handle: &dyn BlockHandle, only: Option<Value<'_>>) -> Vec<Verdict> {
    fn add(filter: &Filter, handle: &dyn BlockHandle, only: Option<Value<'_>>, leaves: &mut Vec<Verdict>) {
        match filter {
            Filter::Time(range) => {
                let (min, max) = (handle.min_time(), handle.max_time());
                leaves.push(match (range.contains(min), range.contains(max)) {
                    (true, true) => Some(true),
                    _ if max < range.min || range.max < min => Some(false),
                    _ => None,
                });
            }
            // Most blocks have messages, of which little is told: it is not worth opening their tables for that.
            Filter::Field { field, .. } if **field == *names::MESSAGE => leaves.push(None),
            Filter::Field { field, test } => leaves.push(match only {
                Some((name, text)) if *name == **field => Some(test.matches(text)),
                _ => of_values(test, handle, field),
            }),
            Filter::And(parts) | Filter::Or(parts) => {
                parts.iter().for_each(|part| add(part, handle, only, leaves));
            }
            Filter::Not(inner) => add(inner, handle, only, leaves),
            _ => {}
        }
    }
    let mut leaves = Vec::new();
    add(filter, handle, only, &mut leaves);
    leaves
}

/// The first field that the filter tests, and that has several values in the block, which are told.
pub(super) fn varying<'f>(filter: &'f Filter, handle: &dyn BlockHandle) -> Option<(&'f str, FewValues)> {
    match filter {
        Filter::Field { field, .. } => {
            Some((&**field, values(handle, field))).filter(|(_, values)| values.len() > 1)
        }
        Filter::And(parts) | Filter::Or(parts) => parts.iter().find_map(|part| varying(part, handle)),
        Filter::Not(inner) => varying(inner, handle),
        _ => None,
    }
}

/// The values of a field and how many rows of a block have each, if that is known: nothing otherwise. Rows without the field
/// have the empty text.
pub(super) fn values(handle: &dyn BlockHandle, field: &str) -> FewValues {
    let Some((mut values, others)) = values_and_others(handle, field) else { return FewValues::new() };
    if others > 0 {
        values.push(("".into(), others));
    }
    values
}

/// The values of a field, how many rows of a block have each, and how many have none, if that is known.
fn values_and_others(handle: &dyn BlockHandle, field: &str) -> Option<(FewValues, u64)> {
    if matches!(field, names::TIME | names::STREAM | STREAM_ID) {
        return None;
    }
    let values = handle.values(field)?;
    let rows = values.iter().map(|(_, rows)| rows).sum();
    Some((values, (handle.rows() as u64).saturating_sub(rows)))
}

/// Whether all values of a field in a block pass a test, or none.
fn of_values(test: &Test, handle: &dyn BlockHandle, field: &str) -> Verdict {
    let (values, others) = values_and_others(handle, field)?;
    let texts = values.iter().map(|(text, _)| &**text).chain((others > 0).then_some(""));
    let mut verdicts = texts.map(|text| test.matches(text));
    let first = verdicts.next()?;
    verdicts.all(|verdict| verdict == first).then_some(first)
}

/// Whether all rows of a block match, whatever their streams. `leaves` are those of [`of_leaves`].
pub(super) fn of_block(filter: &Filter, leaves: &[Verdict]) -> Verdict {
    of_all(filter, &mut leaves.iter().copied(), None).first().copied().flatten()
}

/// Whether all rows of each stream of a table match. `leaves` are those of [`of_leaves`].
pub(super) fn of_streams(filter: &Filter, leaves: &[Verdict], table: &TableStreams) -> Vec<Verdict> {
    of_all(filter, &mut leaves.iter().copied(), Some(table))
}

/// The label of a table that tells all there is of this field.
pub(super) fn label<'t>(table: &'t TableStreams, field: &str) -> Option<&'t duramen::block::TableLabel> {
    if matches!(field, names::TIME | names::STREAM | STREAM_ID) { None } else { table.label(field) }
}

/// Of each stream; without a table, of any: one verdict. Each value of a label is tested once.
fn of_all(
    filter: &Filter,
    leaves: &mut dyn Iterator<Item = Verdict>,
    table: Option<&TableStreams>,
) -> Vec<Verdict> {
    let streams = table.map_or(1, TableStreams::sets);
    let alike = |verdict| vec![verdict; streams];
    match filter {
        Filter::All => alike(Some(true)),
        Filter::Time(_) => alike(leaves.next().flatten()),
        Filter::And(parts) => joined(parts, false, leaves, table, streams),
        Filter::Or(parts) => joined(parts, true, leaves, table, streams),
        Filter::Not(inner) => {
            let mut verdicts = of_all(inner, leaves, table);
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
        Filter::Field { field, test } => {
            let told = leaves.next().flatten();
            match table.and_then(|table| label(table, field)) {
                None => alike(told),
                Some(label) => {
                    let of_values: Vec<_> =
                        (0..label.numbers()).map(|n| test.matches(label.value(n))).collect();
                    label.of_sets().iter().map(|&number| of_values.get(number as usize).copied()).collect()
                }
            }
        }
        Filter::AnyField { .. }
        | Filter::Pair(_)
        | Filter::Storage(_)
        | Filter::Clock(_)
        | Filter::Subquery(_) => alike(None),
    }
}

/// Of parts, one of which decides if it is `deciding`. All are asked, for each takes its leaves.
fn joined(
    parts: &[Filter],
    deciding: bool,
    leaves: &mut dyn Iterator<Item = Verdict>,
    table: Option<&TableStreams>,
    streams: usize,
) -> Vec<Verdict> {
    let mut joined = vec![Some(!deciding); streams];
    for part in parts {
        for (joined, verdict) in joined.iter_mut().zip(of_all(part, leaves, table)) {
            match verdict {
                Some(matches) if matches == deciding => *joined = Some(deciding),
                None if *joined != Some(deciding) => *joined = None,
                _ => {}
            }
        }
    }
    joined
}
