//! The rows of a block that match a filter, as a bitmap.
//!
//! Of `and`'s parts the cheapest goes first, and each looks only at the rows that are left. A constant is
//! tested once, a dictionary once for each of its texts; words are searched for in all texts of a column at once.

use super::among::{Among, STOP_INTERVAL_ROWS, range_of_few};
use super::open::{Open, STREAM_ID, is_few, plain_text};
use crate::bitmap::Bitmap;
use crate::filter::phrase::Phrase;
use crate::filter::storage::StorageKind;
use crate::filter::{Filter, Test};
use crate::number::Number;
use duramen::Result;
use duramen::block::{LengthUnit, Needle, Word, names};
use duramen::column::{Column, ColumnData, IntText, Order, bit};
use std::borrow::Cow;

/// Only longer words are looked for before texts other than messages are put together.
const SHORT_WORD_BYTES: usize = 3;

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
            for part in cheapest_first(parts, open) {
                if left.is_empty() {
                    break;
                }
                left = eval(part, open, &left, stop)?;
            }
            Ok(left)
        }
        Filter::Or(parts) => {
            let parts = cheapest_first(parts, open);
            any_of(parts, candidates, |part, left| eval(part, open, left, stop))
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
            let passes = |text: &str| !text.is_empty() && test.matches(text);
            any_of(fields, candidates, |field, left| {
                field_rows((&field, false), test, &passes, open, left, stop)
            })
        }
        Filter::Pair(pair) => {
            let (left, right) = (open.column(&pair.left)?, open.column(&pair.right)?);
            let mut found = candidates.clone();
            found.retain(|row| {
                super::cells::cell(left.as_deref(), row).with_text(|a| {
                    super::cells::cell(right.as_deref(), row).with_text(|b| pair.relation.holds(a, b))
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
            let told = open.block.rows_of_streams(selector)?;
            if let Some(words) = told {
                return Ok(among(candidates, words));
            }
            let column = open.column(names::STREAM)?;
            Ok(scan(column.as_deref(), candidates, &|text| selector.matches(text), None, stop))
        }
        Filter::Field { field, test } => {
            field_rows((field, true), test, &|text| test.matches(text), open, candidates, stop)
        }
    }
}

/// The candidates that one of several tells, each asked for those that are left.
fn any_of<T>(
    several: impl IntoIterator<Item = T>,
    candidates: &Bitmap,
    mut tell: impl FnMut(T, &Bitmap) -> Result<Bitmap>,
) -> Result<Bitmap> {
    let (mut found, mut left) = (Bitmap::none(candidates.len()), candidates.clone());
    for one in several {
        if left.is_empty() {
            break;
        }
        let new = tell(one, &left)?;
        left.subtract(&new);
        found.union(&new);
    }
    Ok(found)
}

/// The candidates whose value in the field `passes`, which is the test or the test and more. `is_one`: no other field is asked
/// for the same.
fn field_rows(
    (field, is_one): (&str, bool),
    test: &Test,
    passes: &dyn Fn(&str) -> bool,
    open: &mut Open,
    candidates: &Bitmap,
    stop: &dyn Fn() -> bool,
) -> Result<Bitmap> {
    if !matches!(field, names::TIME | STREAM_ID)
        && let Some(words) = open.block.rows_of_label(field, &|text| !stop() && passes(text))?
    {
        return Ok(among(candidates, words));
    }
    if let Some(any) = test.asks_for_any()
        && !matches!(field, names::TIME | STREAM_ID)
        && let Some(words) = open.block.rows_having(field)?
    {
        let having = among(candidates, words);
        let mut found = if any { having.clone() } else { Bitmap::none(candidates.len()) };
        if passes("") {
            let mut others = candidates.clone();
            others.subtract(&having);
            found.union(&others);
        }
        return Ok(found);
    }
    // A field other than the message is soon decoded, once for all queries, and short words are in most of its parts.
    let are_sought = |words: &[Word<'_>]| {
        let may_be_short = !is_one || field == names::MESSAGE;
        !words.is_empty() && (may_be_short || words.iter().any(|word| word.text.len() > SHORT_WORD_BYTES))
    };
    if let Test::Contains(contains) = test
        && let Some(phrases) = contains.few_alternatives()
        && phrases.iter().all(|phrase| are_sought(&phrase.sought_words()))
    {
        return any_of(phrases, candidates, |phrase, left| {
            let phrase = Test::Phrase(phrase.clone());
            let passes = |text: &str| phrase.matches(text) && passes(text);
            field_rows((field, is_one), &phrase, &passes, open, left, stop)
        });
    }
    if let Test::Length(length) = test
        && !is_few(candidates)
        && let Some(chars) = open.lengths(field, LengthUnit::Chars)?
        && let ColumnData::Int { values, .. } = &chars.data
    {
        let passes = |slot| match values.get(slot) {
            // Of one that is not there, or is empty, there may be more to say.
            0 => passes(""),
            chars => length.allows(chars as u64),
        };
        return Ok(Among { candidates, order: &chars.order, stop }.one_by_one(passes));
    }
    let mut certain = None;
    let mut left = Cow::Borrowed(candidates);
    let words = test.sought_words();
    if are_sought(&words) {
        let needle = Needle {
            words: &words,
            certain: &|text| test.passes_by_part(text),
            reaches: &|text| test.reaches_beyond(text),
            run: test.run(),
        };
        if let Some((found, possible)) = open.search(field, &needle)? {
            certain = Some(found);
            left.to_mut().intersect(&possible);
        }
    }
    let mut found = if left.is_empty() {
        Bitmap::none(left.len())
    } else if !passes("")
        && let Some(found) = look_through(field, passes, open, &left, stop)?
    {
        found
    } else {
        let column = open.column_for(field, &left)?;
        if let (Test::Phrase(phrase), Some(column)) = (test, &column)
            && let ColumnData::Text { text, ends, present } = &column.data
            && !is_few(&left)
        {
            search(phrase, (text.as_bytes(), ends, present.as_deref()), column, &left, stop)
        } else {
            scan(column.as_deref(), &left, passes, Some(test), stop)
        }
    };
    if let Some(mut certain) = certain {
        certain.intersect(candidates);
        found.union(&certain);
    }
    Ok(found)
}

/// The candidates whose value passes, if values are better looked through than kept. Rows without one do not pass.
fn look_through(
    field: &str,
    passes: &dyn Fn(&str) -> bool,
    open: &mut Open,
    candidates: &Bitmap,
    stop: &dyn Fn() -> bool,
) -> Result<Option<Bitmap>> {
    let (mut slots, mut seen, mut is_stopped) = (Bitmap::none(candidates.len()), 0, false);
    let mut see = |slot: usize, text: &str| {
        seen += 1;
        is_stopped |= seen % STOP_INTERVAL_ROWS == 0 && stop();
        if !is_stopped && passes(text) {
            slots.insert(slot);
        }
    };
    let order = open.look_through(field, candidates, "", &mut see)?;
    Ok(order.map(|order| rows_of(slots, &order, candidates)))
}

/// The candidates whose slots these are.
fn rows_of(slots: Bitmap, order: &Order, candidates: &Bitmap) -> Bitmap {
    let mut found = match order {
        Order::Rows => slots,
        order => Bitmap::from_fn(candidates.len(), |row| slots.contains(order.slot(row))),
    };
    found.intersect(candidates);
    found
}

/// The candidates among these rows.
fn among(candidates: &Bitmap, words: Vec<u64>) -> Bitmap {
    let mut found = Bitmap::from_words(words, candidates.len());
    found.intersect(candidates);
    found
}

/// What is told by streams goes before what is told by values.
fn cheapest_first<'f>(parts: &'f [Filter], open: &Open) -> Vec<&'f Filter> {
    fn cost(part: &Filter, open: &Open) -> u32 {
        match part {
            Filter::Field { field, .. } if open.block.is_label(field) => Filter::STREAM_COST,
            Filter::Not(inner) => cost(inner, open),
            _ => part.cost(),
        }
    }
    let mut parts: Vec<&Filter> = parts.iter().collect();
    parts.sort_by_cached_key(|part| cost(part, open));
    parts
}

/// Tests values one by one, each distinct one once where the column knows them. What `of_numbers` can tell of numbers without
/// their texts, it is asked for.
fn scan(
    column: Option<&Column>,
    candidates: &Bitmap,
    test: &dyn Fn(&str) -> bool,
    of_numbers: Option<&Test>,
    stop: &dyn Fn() -> bool,
) -> Bitmap {
    let all_or_none = |all: bool| if all { candidates.clone() } else { Bitmap::none(candidates.len()) };
    let Some(column) = column else { return all_or_none(test("")) };
    let among = Among { candidates, order: &column.order, stop };
    match &column.data {
        ColumnData::Const(text) => all_or_none(test(text)),
        ColumnData::Dict { values, codes } if values.len() > candidates.count() => {
            among.one_by_one(|slot| test(values.get(codes.get(slot) as usize).unwrap_or_default()))
        }
        ColumnData::Dict { values, codes } => {
            let go_on = |i: usize| i % STOP_INTERVAL_ROWS != STOP_INTERVAL_ROWS - 1 || !stop();
            let values = values.iter().enumerate().take_while(|(i, _)| go_on(*i));
            let matching: Vec<bool> = values.map(|(_, text)| test(text)).collect();
            let absent = test("");
            let table: Vec<bool> = std::iter::once(absent).chain(matching).collect();
            // Of those that were not tested, for want of time, nobody asks.
            among.by_numbers(codes.numbers(), &table, None, absent)
        }
        ColumnData::Int { values, present } => {
            let absent = test("");
            let mut digits = IntText::default();
            let told = |n| of_numbers.and_then(|test| test.matches_int(n));
            let mut test = |n| told(n).unwrap_or_else(|| test(digits.format(n)));
            let is_absent = |slot| present.as_ref().is_some_and(|p| !bit(p, slot));
            match range_of_few(values, candidates.count()).zip(values.above()) {
                Some((range, above)) => {
                    let table: Vec<bool> = range.map(&mut test).collect();
                    among.by_numbers(above, &table, present.as_deref(), absent)
                }
                None => {
                    let matches = |slot| if is_absent(slot) { absent } else { test(values.get(slot)) };
                    among.one_by_one(matches)
                }
            }
        }
        ColumnData::Decimal { values, scale, present } => {
            let absent = test("");
            let mut digits = IntText::default();
            let told = |n| of_numbers.and_then(|test| test.matches_decimal(Number::of_decimal(n, *scale)));
            let mut test = |n| told(n).unwrap_or_else(|| test(digits.format_decimal(n, *scale)));
            let is_absent = |slot| present.as_ref().is_some_and(|p| !bit(p, slot));
            among.one_by_one(|slot| if is_absent(slot) { absent } else { test(values.get(slot)) })
        }
        ColumnData::Text { .. } => among.one_by_one(|slot| test(plain_text(column, slot).unwrap_or(""))),
    }
}

/// How many bytes are compared with a long phrase between two looks at whether to stop.
const STOP_INTERVAL_BYTES: usize = 16 << 20;

/// Searches all texts in one pass; each place found is then looked at in its own text. They are given as bytes, the end
/// of each, and which slots have one: where others have none, there may be bytes all the same.
fn search(
    phrase: &Phrase,
    (bytes, ends, present): (&[u8], &[u32], Option<&[u64]>),
    column: &Column,
    candidates: &Bitmap,
    stop: &dyn Fn() -> bool,
) -> Bitmap {
    let mut slots = Bitmap::none(ends.len());
    let (mut from, mut slot, len) = (0, 0, phrase.text().len());
    let mut compared = 0;
    while let Some(at) = phrase.find_raw(bytes, from) {
        compared += len + 1;
        if compared >= STOP_INTERVAL_BYTES {
            compared = 0;
            if stop() {
                break;
            }
        }
        slot += ends[slot..].partition_point(|&end| (end as usize) <= at);
        let Some(&end) = ends.get(slot) else { break };
        let end = end as usize;
        let start = if slot == 0 { 0 } else { ends[slot - 1] as usize };
        if at + len <= end && phrase.bounded(&bytes[start..end], at - start) {
            slots.insert(slot);
            from = end;
        } else {
            from = phrase.next_after(&bytes[..end], at).max(at + 1);
        }
    }
    if let Some(present) = present {
        slots.intersect(&Bitmap::from_words(present.to_vec(), ends.len()));
    }
    rows_of(slots, &column.order, candidates)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::compare::{Bound, Range};
    use duramen::column::{Ints, Kinds};
    use std::sync::Arc;

    #[test]
    fn labels_are_asked_before_values_in_whatever_order_a_query_has_them() {
        let dir = tempfile::tempdir().unwrap();
        let store = duramen::Store::open(dir.path().join("logs")).unwrap();
        for (time, app) in [(0, "shop"), (1, "mail")] {
            let mut entry = duramen::EntryBuf::new(["app"]);
            entry.start(time).message("it happened").field("status", 500).field("app", app);
            store.append(entry.finish().unwrap()).unwrap();
        }
        store.flush().unwrap();
        let block = store.snapshot().unwrap().blocks(i64::MIN, i64::MAX).remove(0);
        let open = Open::of(&*block, true).unwrap();
        for other in ["level:error", "status:=500", "status:>400", "status:in(500)", "status:*", "happened"] {
            for text in [format!("{other} app:~sho"), format!("app:~sho {other}")] {
                let query = crate::Query::parse(&text, &crate::ParseOptions::default()).unwrap();
                let Filter::And(parts) = query.filter() else { panic!("{text}") };
                let first = cheapest_first(parts, &open)[0];
                assert!(matches!(first, Filter::Field { field, .. } if &**field == "app"), "{text}: {first}");
            }
        }
    }

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
            let data = ColumnData::Int { values: Ints::new(numbers), present: Some(present) };
            let as_stored = Column { data, kinds: Kinds::All(duramen::ValueKind::default()), order: Order::Rows, rows };
            let slots = Arc::new((0..rows as u32).collect());
            let by_slots = Column { order: Order::Slots(slots), ..as_stored.clone() };
            let passes = |n: Option<i64>| n.map_or(absent, |n| n >= limit);
            let expected = Bitmap::from_fn(rows, |row| chosen[row] && passes(values[row]));
            let text = |text: &str| if text.is_empty() { absent } else { text.parse().is_ok_and(|n: i64| n >= limit) };
            let test = Test::Compare(Range::Numbers(Bound::Included(Number::Int(limit)), Bound::Open));
            for column in [as_stored, by_slots] {
                let found = scan(Some(&column), &candidates, &text, Some(&test), &|| false);
                assert_eq!(found, expected);
            }
        }
    }
}
