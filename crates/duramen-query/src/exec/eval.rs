//! The rows of a block that match a filter, as a bitmap.
//!
//! Of `and`'s parts the cheapest goes first, and each looks only at the rows that are left. A constant is
//! tested once, a dictionary once for each of its texts; words are searched for in all texts of a column at once.

use super::open::{Open, is_few, plain_text};
use crate::bitmap::Bitmap;
use crate::filter::phrase::Phrase;
use crate::filter::storage::StorageKind;
use crate::filter::{Filter, Test};
use duramen::Result;
use duramen::block::{Needle, names};
use duramen::column::{Column, ColumnData, IntText, Order, bit};
use std::borrow::Cow;
use std::ops::RangeInclusive;

/// How many rows go by between two looks at whether to stop: some tests take microseconds.
const STOP_INTERVAL_ROWS: usize = 1024;

/// Of the `candidates`, the rows that match. If `stop` says so, it ends soon, with rows that mean nothing.
pub(crate) fn eval(
    filter: &Filter,
    open: &mut Open,
    candidates: &Bitmap,
    stop: &dyn Fn() -> bool,
) -> Result<Bitmap> {
    let rows = candidates.len();
    match filter {
        Filter::All => Ok(candidates.clone()),
        Filter::And(parts) => {
            let mut left = candidates.clone();
            for part in cheapest_first(parts) {
                if left.is_empty() {
                    break;
                }
                left = eval(part, open, &left, stop)?;
            }
            Ok(left)
        }
        Filter::Or(parts) => {
            let (mut found, mut left) = (Bitmap::none(rows), candidates.clone());
            for part in cheapest_first(parts) {
                if left.is_empty() {
                    break;
                }
                let new = eval(part, open, &left, stop)?;
                left.subtract(&new);
                found.union(&new);
            }
            Ok(found)
        }
        Filter::Not(inner) => {
            let mut left = candidates.clone();
            left.subtract(&eval(inner, open, candidates, stop)?);
            Ok(left)
        }
        Filter::Time(range) if range.contains(open.span.0) && range.contains(open.span.1) => {
            Ok(candidates.clone())
        }
        Filter::Time(range) if !open.in_order => {
            let times = open.times()?;
            let mut found = candidates.clone();
            found.retain(|row| range.contains(times[row]));
            Ok(found)
        }
        Filter::Time(range) => {
            let times = open.times()?;
            let from = times.partition_point(|&t| t < range.min);
            let to = times.partition_point(|&t| t <= range.max);
            let mut found = Bitmap::none(rows);
            found.insert_range(from, to);
            found.intersect(candidates);
            Ok(found)
        }
        Filter::Clock(clock) => {
            let times = open.times()?;
            let mut found = candidates.clone();
            found.retain(|row| clock.matches(times[row]));
            Ok(found)
        }
        Filter::AnyField { pattern, test } => {
            let mut fields = open.block.field_names()?;
            fields.retain(|name| pattern.is_any_field(name));
            let (mut found, mut left) = (Bitmap::none(rows), candidates.clone());
            for field in fields {
                if left.is_empty() {
                    break;
                }
                let passes = |text: &str| !text.is_empty() && test.matches(text);
                let new = field_rows(&field, test, &passes, open, &left, stop)?;
                left.subtract(&new);
                found.union(&new);
            }
            Ok(found)
        }
        Filter::Pair(pair) => {
            let (left, right) = (open.column(&pair.left)?, open.column(&pair.right)?);
            let mut found = candidates.clone();
            found.retain(|row| {
                super::aggregate::cell(left.as_deref(), row).with_text(|a| {
                    super::aggregate::cell(right.as_deref(), row).with_text(|b| pair.relation.holds(a, b))
                })
            });
            Ok(found)
        }
        Filter::Storage(storage) => {
            let column = open.whole_column(&storage.field)?;
            let all = column.is_some_and(|c| StorageKind::of(&c.data) == storage.kind);
            Ok(if all { candidates.clone() } else { Bitmap::none(rows) })
        }
        // Whoever runs a query has put a test in its place.
        Filter::Subquery(_) => Ok(Bitmap::none(rows)),
        Filter::Stream(selector) => {
            let column = open.column(names::STREAM)?;
            Ok(scan(column.as_deref(), candidates, &|text| selector.matches(text), &|_| None, stop))
        }
        Filter::Field { field, test } => {
            field_rows(field, test, &|text| test.matches(text), open, candidates, stop)
        }
    }
}

/// The candidates whose value in the field `passes`, which is the test or the test and more.
fn field_rows(
    field: &str,
    test: &Test,
    passes: &dyn Fn(&str) -> bool,
    open: &mut Open,
    candidates: &Bitmap,
    stop: &dyn Fn() -> bool,
) -> Result<Bitmap> {
    let mut certain = None;
    let mut left = Cow::Borrowed(candidates);
    let words = test.whole_words();
    if !words.is_empty() {
        let needle = Needle {
            words: &words,
            certain: &|text| test.passes_by_part(text),
            reaches: &|text| test.reaches_beyond(text),
        };
        if let Some((found, possible)) = open.search(field, &needle)? {
            certain = Some(found);
            left.to_mut().intersect(&possible);
        }
    }
    let mut found = if left.is_empty() {
        Bitmap::none(left.len())
    } else {
        let column = open.column_for(field, &left)?;
        if let (Test::Phrase(phrase), Some(column)) = (test, &column)
            && let ColumnData::Text { bytes, ends, .. } = &column.data
            && !is_few(&left)
        {
            search(phrase, bytes, ends, column, &left)
        } else {
            scan(column.as_deref(), &left, passes, &|n| test.matches_int(n), stop)
        }
    };
    if let Some(mut certain) = certain {
        certain.intersect(candidates);
        found.union(&certain);
    }
    Ok(found)
}

fn cheapest_first(parts: &[Filter]) -> Vec<&Filter> {
    let mut parts: Vec<&Filter> = parts.iter().collect();
    parts.sort_by_key(|p| p.cost());
    parts
}

/// Tests values one by one, each distinct one once where the column knows them.
fn scan(
    column: Option<&Column>,
    candidates: &Bitmap,
    test: &dyn Fn(&str) -> bool,
    test_int: &dyn Fn(i64) -> Option<bool>,
    stop: &dyn Fn() -> bool,
) -> Bitmap {
    let all_or_none = |all: bool| if all { candidates.clone() } else { Bitmap::none(candidates.len()) };
    let Some(column) = column else { return all_or_none(test("")) };
    match &column.data {
        ColumnData::Const(text) => all_or_none(test(text)),
        ColumnData::Dict { values, codes } => {
            let go_on = |i: usize| i % STOP_INTERVAL_ROWS != STOP_INTERVAL_ROWS - 1 || !stop();
            let values = values.iter().enumerate().take_while(|(i, _)| go_on(*i));
            let matching: Vec<bool> = values.map(|(_, v)| test(v)).collect();
            let absent = test("");
            let matches = |slot: usize| matching.get(codes[slot] as usize).copied().unwrap_or(absent);
            keep_by_table(candidates, column, stop, matches)
        }
        ColumnData::Int { values, present } => {
            let absent = test("");
            let mut digits = IntText::default();
            let mut test = |n| test_int(n).unwrap_or_else(|| test(digits.format(n)));
            let is_absent = |slot| present.as_ref().is_some_and(|p| !bit(p, slot));
            match range_of_few(values, candidates.count()) {
                Some(range) => {
                    let start = *range.start();
                    let passes: Vec<bool> = range.map(&mut test).collect();
                    let passes = |slot: usize| passes[values[slot].wrapping_sub(start) as usize];
                    match present {
                        None => keep_by_table(candidates, column, stop, passes),
                        Some(present) => keep_present(candidates, column, present, absent, stop, passes),
                    }
                }
                None => {
                    let matches = |slot| if is_absent(slot) { absent } else { test(values[slot]) };
                    keep(candidates, column, stop, matches)
                }
            }
        }
        ColumnData::Text { .. } => {
            keep(candidates, column, stop, |slot| test(plain_text(column, slot).unwrap_or("")))
        }
    }
}

/// Those candidates whose slots match, of those looked at before `stop` says so.
fn keep(
    candidates: &Bitmap,
    column: &Column,
    stop: &dyn Fn() -> bool,
    matches: impl FnMut(usize) -> bool,
) -> Bitmap {
    // The order is found out once, and not for each row.
    match &column.order {
        Order::Rows => keep_by(candidates, |row| row, stop, matches),
        Order::Slots(order) => keep_by(candidates, |row| order[row] as usize, stop, matches),
        Order::Few(_) => keep_by(candidates, |row| column.slot(row), stop, matches),
    }
}

/// The same for a test that is a look into a table. Where slots are rows, it is cheaper to make it of 64 rows at a time,
/// without a jump, than to go from one candidate to the next.
fn keep_by_table(
    candidates: &Bitmap,
    column: &Column,
    stop: &dyn Fn() -> bool,
    matches: impl Fn(usize) -> bool,
) -> Bitmap {
    if !matches!(column.order, Order::Rows) || is_few(candidates) {
        return keep(candidates, column, stop, matches);
    }
    let rows = candidates.len();
    let mut words = Vec::with_capacity(rows.div_ceil(64));
    for (start, &of) in (0..rows).step_by(64).zip(candidates.words()) {
        if start % STOP_INTERVAL_ROWS == 0 && stop() {
            break;
        }
        let pass =
            (start..rows.min(start + 64)).rev().fold(0, |word, row| word << 1 | u64::from(matches(row)));
        words.push(pass & of);
    }
    Bitmap::from_words(words, rows)
}

/// The same where some slots have no value; `absent` says whether those match.
fn keep_present(
    candidates: &Bitmap,
    column: &Column,
    present: &[u64],
    absent: bool,
    stop: &dyn Fn() -> bool,
    matches: impl Fn(usize) -> bool,
) -> Bitmap {
    if !matches!(column.order, Order::Rows) {
        let or_absent = |slot| if bit(present, slot) { matches(slot) } else { absent };
        return keep_by_table(candidates, column, stop, or_absent);
    }
    let present = Bitmap::from_words(present.to_vec(), candidates.len());
    let mut among = candidates.clone();
    among.intersect(&present);
    let mut found = keep_by_table(&among, column, stop, matches);
    if absent {
        let mut without = candidates.clone();
        without.subtract(&present);
        found.union(&without);
    }
    found
}

fn keep_by(
    candidates: &Bitmap,
    slot: impl Fn(usize) -> usize,
    stop: &dyn Fn() -> bool,
    mut matches: impl FnMut(usize) -> bool,
) -> Bitmap {
    let mut found = Bitmap::none(candidates.len());
    for (i, row) in candidates.iter().enumerate() {
        if i % STOP_INTERVAL_ROWS == STOP_INTERVAL_ROWS - 1 && stop() {
            break;
        }
        if matches(slot(row)) {
            found.insert(row);
        }
    }
    found
}

/// From the smallest to the greatest of the values, if that is much fewer than are to be tested.
pub(super) fn range_of_few(values: &[i64], tested: usize) -> Option<RangeInclusive<i64>> {
    // Not by the iterator's `min` and `max`, which go by references, one by one.
    let (min, max) = values.iter().fold((i64::MAX, i64::MIN), |(min, max), &n| (min.min(n), max.max(n)));
    (max.checked_sub(min).filter(|_| min <= max)? < (tested / 8) as i64).then_some(min..=max)
}

/// Searches all texts in one pass; each place found is then looked at in its own text.
fn search(phrase: &Phrase, bytes: &[u8], ends: &[u32], column: &Column, candidates: &Bitmap) -> Bitmap {
    let mut slots = Bitmap::none(ends.len());
    let (mut from, mut slot, len) = (0, 0, phrase.text().len());
    while let Some(at) = phrase.find_raw(bytes, from) {
        slot += ends[slot..].partition_point(|&end| (end as usize) <= at);
        let Some(&end) = ends.get(slot) else { break };
        let end = end as usize;
        let start = if slot == 0 { 0 } else { ends[slot - 1] as usize };
        if at + len <= end && phrase.bounded(&bytes[start..end], at - start) {
            slots.insert(slot);
            from = end;
        } else {
            from = at + 1;
        }
    }
    let mut found = match &column.order {
        Order::Rows => slots,
        order => Bitmap::from_fn(candidates.len(), |row| slots.contains(order.slot(row))),
    };
    found.intersect(candidates);
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use duramen::column::Kinds;
    use std::sync::Arc;

    proptest::proptest! {
        #[test]
        fn small_numbers_with_gaps_pass_alike_in_any_order_of_rows(
            values in proptest::collection::vec(proptest::option::weighted(0.7, -3..5i64), 1..400),
            chosen in proptest::collection::vec(proptest::bool::weighted(0.8), 400),
            limit in -4..6i64,
            absent in proptest::bool::ANY,
        ) {
            let rows = values.len();
            let present = Bitmap::from_fn(rows, |row| values[row].is_some()).words().to_vec();
            let candidates = Bitmap::from_fn(rows, |row| chosen[row]);
            let numbers = values.iter().map(|n| n.unwrap_or(0)).collect();
            let data = ColumnData::Int { values: numbers, present: Some(present) };
            let as_stored = Column { data, kinds: Kinds::All(duramen::ValueKind::default()), order: Order::Rows, rows };
            let slots = Arc::new((0..rows as u32).collect());
            let by_slots = Column { order: Order::Slots(slots), ..as_stored.clone() };
            let passes = |n: Option<i64>| n.map_or(absent, |n| n >= limit);
            let expected = Bitmap::from_fn(rows, |row| chosen[row] && passes(values[row]));
            let text = |text: &str| if text.is_empty() { absent } else { text.parse().is_ok_and(|n: i64| n >= limit) };
            for column in [as_stored, by_slots] {
                let found = scan(Some(&column), &candidates, &text, &|n| Some(n >= limit), &|| false);
                assert_eq!(found, expected);
            }
        }
    }
}
