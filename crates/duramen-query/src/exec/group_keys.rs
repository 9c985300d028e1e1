//! The fields that rows are grouped by: where they are constants, dictionaries, integers of a short range or time buckets, a
//! row's group is found by a code, without its texts.

use super::among::range_of_few;
use super::cells::cell;
use super::open::{Open, is_few};
use crate::bitmap::Bitmap;
use crate::parse::time::format_time as time_text;
use crate::pipe::stats::{By, Cell};
use duramen::block::names;
use duramen::column::{Column, ColumnData, Narrow, Order, bit};
use std::borrow::Cow;
use std::sync::Arc;

/// The most combinations of codes for which groups are remembered by code.
const MAX_COMBINATIONS: usize = 1 << 16;

/// How many combinations of codes there are, if these tell groups apart.
pub(super) fn combinations(keys: &[Key<'_>]) -> Option<usize> {
    let combinations = keys.iter().try_fold(1usize, |n, key| n.checked_mul(key.codes?));
    combinations.filter(|&n| n <= MAX_COMBINATIONS)
}

/// A field to group by.
pub(super) struct Key<'a> {
    by: &'a By,
    column: Option<Arc<Column>>,
    /// How many codes there are, if there are any.
    pub(super) codes: Option<usize>,
    /// For time buckets, how each is called, and before which row it ends: they follow one another, as times do.
    buckets: Vec<(String, u32)>,
    /// For integers, the one of code 0; those after it follow.
    first: i64,
}

/// What a block has of a field to group by.
pub(super) fn key_column<'a>(by: &'a By, open: &mut Open) -> duramen::Result<Key<'a>> {
    if *by.field == *names::TIME && by.bucket.is_some() {
        if let Some(text) = common_time_bucket(by, open.span) {
            let buckets = vec![(text, open.block.rows() as u32)];
            return Ok(Key { by, column: None, codes: Some(1), buckets, first: 0 });
        }
        // Rows are in order of time, so that each bucket is one run of them.
        let times = open.times()?;
        let (mut buckets, mut row) = (Vec::new(), 0);
        while let Some(&time) = times.get(row) {
            let start = by.time_bucket(time);
            let end = by.time_bucket_end(start);
            row += 1 + count_below(&times[row + 1..], end);
            buckets.push((time_text(start), row as u32));
        }
        return Ok(Key { by, column: None, codes: Some(buckets.len()), buckets, first: 0 });
    }
    let mut first = 0;
    let column = open.column(&by.field)?;
    let codes = match column.as_ref().map(|c| &c.data) {
        None | Some(ColumnData::Const(_)) => Some(1),
        // Rows without the field have the last code.
        Some(ColumnData::Dict { values, .. }) => Some(values.len() + 1),
        // Integers of a short range: a status, a port.
        Some(ColumnData::Int { values, .. }) => range_of_few(values, values.len()).map(|range| {
            first = *range.start();
            range.count() + 1
        }),
        Some(ColumnData::Decimal { .. } | ColumnData::Text { .. }) => None,
    };
    Ok(Key { by, column, codes, buckets: Vec::new(), first })
}

/// How many times at the beginning are before `end`; found the sooner the fewer they are.
fn count_below(times: &[i64], end: i64) -> usize {
    let mut reach = 1;
    while times.get(reach - 1).is_some_and(|&time| time < end) {
        reach *= 2;
    }
    let (from, to) = (reach / 2, reach.min(times.len()));
    from + times[from..to].partition_point(|&time| time < end)
}

/// Whether rows between these times are all in one bucket of each of these that groups by time.
pub(super) fn are_in_one_bucket(by: &[By], (min_time, max_time): (i64, i64)) -> bool {
    let is_one = |by: &By| by.bucket.is_some() && by.time_bucket(min_time) == by.time_bucket(max_time);
    by.iter().filter(|by| *by.field == *names::TIME).all(is_one)
}

/// What steps of time that follow one another have in common, and how many of them; each is given by its first and last time.
/// Nothing if one lies in several buckets.
pub(super) fn time_buckets(by: &By, steps: impl Iterator<Item = (i64, i64)>) -> Option<Vec<(String, usize)>> {
    let (mut buckets, mut current) = (Vec::<(String, usize)>::new(), None);
    for (first, last) in steps {
        let (start, end) = match current {
            Some((start, end)) if first < end => (start, end),
            _ => {
                let start = by.time_bucket(first);
                (start, by.time_bucket_end(start))
            }
        };
        if last >= end && by.time_bucket(last) != start {
            return None;
        }
        match buckets.last_mut().filter(|_| current.is_some_and(|(before, _)| before == start)) {
            Some((_, steps)) => *steps += 1,
            None => buckets.push((time_text(start), 1)),
        }
        current = Some((start, end));
    }
    Some(buckets)
}

/// The group of the block's rows, if they are all in one bucket of time.
pub(super) fn common_time_bucket(by: &By, (min_time, max_time): (i64, i64)) -> Option<String> {
    if *by.field != *names::TIME || by.bucket.is_none() {
        return None;
    }
    let start = by.time_bucket(min_time);
    (start == by.time_bucket(max_time)).then(|| time_text(start))
}

impl Key<'_> {
    /// For time buckets, how many rows each has, and what its group is called.
    pub(super) fn runs(&self) -> Option<impl Iterator<Item = (u64, &str)>> {
        let starts = std::iter::once(0).chain(self.buckets.iter().map(|(_, end)| *end));
        let runs = self.buckets.iter().zip(starts);
        (!self.buckets.is_empty()).then(|| runs.map(|((text, end), start)| (u64::from(end - start), &**text)))
    }

    /// Makes each row's code that of its combination with this key.
    fn add_codes(&self, all: &mut [u32]) {
        let Some(count) = self.codes else { return };
        fn add(all: &mut [u32], count: usize, codes: impl Iterator<Item = u32>) {
            all.iter_mut().zip(codes).for_each(|(all, code)| *all = *all * count as u32 + code);
        }
        fn add_numbers<T: Copy + Into<u32>>(
            all: &mut [u32],
            count: usize,
            order: &Order,
            numbers: &[T],
            code: impl Fn(u32) -> u32,
        ) {
            match order {
                Order::Slots(slots) => {
                    add(all, count, slots.iter().map(|&slot| code(numbers[slot as usize].into())));
                }
                _ => add(all, count, numbers.iter().map(|&n| code(n.into()))),
            }
        }
        match self.column.as_deref() {
            _ if !self.buckets.is_empty() => {
                let mut start = 0;
                for (code, &(_, end)) in self.buckets.iter().enumerate() {
                    let of_run = all.get_mut(start..end as usize).unwrap_or_default();
                    add(of_run, count, std::iter::repeat(code as u32));
                    start = end as usize;
                }
            }
            Some(Column { data: ColumnData::Dict { values, codes }, order, .. })
                if !matches!(order, Order::Few(_)) =>
            {
                // Rows without the field have the number 0, and the code behind all others.
                let code = |number: u32| number.wrapping_sub(1).min(values.len() as u32);
                match codes.numbers() {
                    Narrow::U8(numbers) => add_numbers(all, count, order, numbers, code),
                    Narrow::U16(numbers) => add_numbers(all, count, order, numbers, code),
                    Narrow::U32(numbers) => add_numbers(all, count, order, numbers, code),
                }
            }
            Some(Column { data: ColumnData::Dict { .. } | ColumnData::Int { .. }, rows, .. }) => {
                add(all, count, (0..*rows).map(|row| self.code(row) as u32));
            }
            _ => {}
        }
    }

    /// The number of a row's group.
    fn code(&self, row: usize) -> usize {
        if !self.buckets.is_empty() {
            return self.buckets.partition_point(|&(_, end)| end as usize <= row);
        }
        match self.column.as_deref() {
            Some(column @ Column { data: ColumnData::Dict { values, codes }, .. }) => {
                (codes.get(column.slot(row)) as usize).min(values.len())
            }
            Some(column @ Column { data: ColumnData::Int { values, present }, .. }) => {
                let slot = column.slot(row);
                let is_absent = present.as_ref().is_some_and(|present| !bit(present, slot));
                let absent = self.codes.map_or(0, |codes| codes - 1);
                if is_absent { absent } else { values.get(slot).wrapping_sub(self.first) as usize }
            }
            _ => 0,
        }
    }

    /// Calls `see` with what a row's group is called.
    pub(super) fn with_text<T>(&self, row: usize, see: impl FnOnce(&str) -> T) -> T {
        let number = match cell(self.column.as_deref(), row) {
            _ if !self.buckets.is_empty() => None,
            Cell::Text(_) => None,
            number if self.by.bucket.is_none() => Some(number),
            // Its text need not be made, and read, to find the bucket.
            number => number.number().and_then(|n| self.by.number(n)?.as_int()).map(Cell::Int),
        };
        match number {
            Some(number) => number.with_text(see),
            None => see(&self.text(row)),
        }
    }

    /// What a row's group is called.
    pub(super) fn text(&self, row: usize) -> Cow<'_, str> {
        if !self.buckets.is_empty() {
            return self.buckets[self.code(row)].0.as_str().into();
        }
        match cell(self.column.as_deref(), row) {
            Cell::Text(text) => self.by.value(text),
            number => number.with_text(|text| self.by.value(text).into_owned()).into(),
        }
    }
}

/// The numbers of rows' combinations of codes, of which there are at most [`MAX_COMBINATIONS`].
pub(super) enum RowCodes<'a> {
    /// Of each row, when they are asked for.
    Asked(&'a [Key<'a>]),
    /// Of all rows, found column by column.
    All(Vec<u32>),
}

impl<'a> RowCodes<'a> {
    pub(super) fn new(keys: &'a [Key<'a>], found: &Bitmap) -> Self {
        if is_few(found) || keys.iter().any(|key| key.codes.is_none()) {
            return Self::Asked(keys);
        }
        let mut all = vec![0; found.len()];
        keys.iter().for_each(|key| key.add_codes(&mut all));
        Self::All(all)
    }

    /// That of a row.
    pub(super) fn of(&self, row: usize) -> usize {
        match self {
            Self::All(all) => all[row] as usize,
            Self::Asked(keys) => keys.iter().fold(0, |code, k| code * k.codes.unwrap_or(1) + k.code(row)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::count_below;

    proptest::proptest! {
        #[test]
        fn times_before_an_end_are_counted(mut times in proptest::collection::vec(-9..9i64, 0..40), end in -10..10i64) {
            times.sort_unstable();
            let expected = times.iter().filter(|&&time| time < end).count();
            assert_eq!(count_below(&times, end), expected);
        }
    }
}
