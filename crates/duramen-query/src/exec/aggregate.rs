//! Grouping log entries straight from columns, blocks side by side on several threads.
//!
//! Every thread has groups of its own; they are put together in the end. Where the fields to group by are
//! constants, dictionaries or time buckets, a row's group is found by its codes, without its texts.

use super::ahead::Ahead;
use super::derived::derive;
use super::first_last;
use super::group_keys::{Key, RowCodes, combinations, key_column};
use super::inputs::{Codes, Extremes, Input, Known, Rows, is_beaten};
use super::makers;
use super::open::Open;
use super::read::Reader;
use super::scan::CANCEL_INTERVAL_ROWS;
use super::threads::over_blocks;
use super::told::Told;
use super::verdicts;
use super::{Order as RowOrder, RunStats};
use crate::bitmap::Bitmap;
use crate::error::Result;
use crate::pipe::Pipe;
use crate::pipe::fields::NamePattern;
use crate::pipe::maker::Maker;
use crate::pipe::stats::{Aggregate, By, Function, Groups};
use duramen::block::BlockHandle;
use std::borrow::Cow;
use std::sync::Arc;

pub(crate) struct Aggregation<'a> {
    pub reader: Reader<'a>,
    /// Pipes before it that make columns of columns.
    pub pipes: &'a [Pipe],
    pub aggregate: &'a Aggregate,
    pub memory: &'a super::memory::Memory,
    pub order: RowOrder,
}

type Blocks = Vec<Arc<dyn BlockHandle>>;

/// What is read of a block before its first row is added.
struct Block<'a> {
    number: usize,
    keys: Vec<Key<'a>>,
    inputs: Vec<Input<'a>>,
    found: Bitmap,
    /// If results depend on the order of rows.
    times: Option<Arc<Vec<i64>>>,
}

impl<'a> Aggregation<'a> {
    pub fn run(&self, blocks: &[Arc<dyn BlockHandle>], stats: &mut RunStats) -> Result<Groups<'a>> {
        // Where all that is asked is how many rows there are, which values of a field, or which times are first or last, some
        // blocks need not be opened.
        if !self.pipes.is_empty() || self.reader.sample.is_some() {
            return self.of_blocks(blocks, stats);
        }
        if let Some(groups) = first_last::groups(self, blocks, stats)? {
            return Ok(groups);
        }
        let (by, countable, mut others) = match self.counted_by() {
            Some(by) => (by, Cow::Borrowed(blocks), Vec::new()),
            None => {
                let (countable, others) = self.countable(blocks)?;
                (Cow::Borrowed(&*self.aggregate.by), Cow::Owned(countable), others)
            }
        };
        let mut counted = Groups::new(self.aggregate, self.memory);
        let told = Told::of(self.reader.told.filter(), &by);
        others.extend(told.counts(&countable, self.reader.cancel, &mut |key, rows| {
            let group = counted.group(&mut key.take(self.aggregate.by.len()))?;
            counted.add_rows(group, rows);
            if let (Some(value), Some(by)) = (key.next(), by.get(self.aggregate.by.len())) {
                counted.add_value(group, &by.field, value)?;
            }
            counted.tidy();
            stats.rows_matched += rows;
            Ok(())
        })?);
        let mut groups = self.of_blocks(&others, stats)?;
        groups.merge(counted)?;
        Ok(groups)
    }

    /// The groups of these blocks' rows.
    pub(super) fn of_blocks(
        &self,
        blocks: &[Arc<dyn BlockHandle>],
        stats: &mut RunStats,
    ) -> Result<Groups<'a>> {
        let threads = over_blocks(Ahead::new(self.reader, blocks), |shared| {
            let mut groups = Groups::new(self.aggregate, self.memory);
            let mut stats = RunStats::default();
            let mut makers = makers::of(self.pipes, self.aggregate).unwrap_or_default();
            while let Some((number, handle)) = shared.take() {
                self.block(number, handle, &mut makers, &mut groups, &mut stats)?;
            }
            Ok((groups, stats))
        })?;
        let groups = threads.into_iter().map(|(groups, part)| {
            stats.add(part);
            groups
        });
        Groups::of_threads(self.aggregate, self.memory, groups)
    }

    fn block(
        &self,
        number: usize,
        handle: &dyn BlockHandle,
        makers: &mut [Maker<'a>],
        groups: &mut Groups<'a>,
        stats: &mut RunStats,
    ) -> Result<()> {
        self.reader.cancel.check()?;
        if let Some(opened) = self.reader.open(handle, stats)? {
            self.opened(number, opened, makers, groups, stats)?;
        }
        Ok(())
    }

    /// Adds the rows that were found in a block, or nothing if only rows, one by one, can tell what becomes of them. Says whether
    /// it was done.
    pub(super) fn opened(
        &self,
        number: usize,
        (mut open, found): (Open, Bitmap),
        makers: &mut [Maker<'a>],
        groups: &mut Groups<'a>,
        stats: &mut RunStats,
    ) -> Result<bool> {
        let stop = || self.reader.cancel.check().is_err();
        let (mut charged, mut known) = (0, Known::new());
        for maker in makers {
            match derive(maker, &mut open, &found, &mut known, self.memory, &stop)? {
                Ok(Some(bytes)) => charged += bytes,
                told => {
                    self.memory.release(charged);
                    stats.bytes_read += open.bytes_since_last();
                    return Ok(told.map_err(|e| stats.failed(e)).is_err());
                }
            }
        }
        // All columns are read before the first row is added, so that a damaged block counts whole or not.
        let read = self.read(number, &mut open, found, &mut known, groups);
        stats.bytes_read += open.bytes_since_last();
        self.reader.cancel.check()?;
        match read {
            Ok(mut block) => self.rows(&mut block, groups)?,
            Err(e) => stats.failed(e),
        }
        self.memory.release(charged);
        Ok(true)
    }

    fn read(
        &self,
        number: usize,
        open: &mut Open,
        found: Bitmap,
        known: &mut Known<'a>,
        groups: &Groups<'a>,
    ) -> duramen::Result<Block<'a>> {
        let keys = self.aggregate.by.iter().map(|by| key_column(by, open));
        let keys = keys.collect::<duramen::Result<Vec<_>>>()?;
        let codes = combinations(&keys).filter(|_| open.in_order).map(|count| {
            let takes_one_row = |function: &Function| function.kind.takes_rows() && function.limit == Some(1);
            let is_worth_it = (2..=found.count() / 4).contains(&count)
                && self.aggregate.functions.iter().any(takes_one_row);
            (count, is_worth_it.then(|| RowCodes::new(&keys, &found)))
        });
        let codes = codes.as_ref().filter(|(count, codes)| *count == 1 || codes.is_some());
        let codes = codes.map(|(count, codes)| Codes { count: *count, of_rows: codes.as_ref() });
        let mut inputs = Vec::new();
        let stop = || self.reader.cancel.check().is_err();
        for (i, function) in self.aggregate.functions.iter().enumerate().filter(|(i, _)| groups.sees_rows(*i))
        {
            let to_beat = groups.to_beat(i);
            if is_beaten(function, open, known, to_beat)? {
                continue;
            }
            let rows = Rows { found: &found, codes, to_beat, order: self.order };
            let input = Input::read(i, function, open, &rows, known, &stop)?;
            if !input.is_void() {
                inputs.push(input);
            }
        }
        let times =
            if self.aggregate.is_ordered() && !inputs.is_empty() { Some(open.times()?) } else { None };
        Ok(Block { number, keys, inputs, found, times })
    }

    /// Whether rows need only be counted.
    fn counts_only(&self) -> bool {
        self.aggregate.functions.iter().all(Function::is_plain_count)
    }

    /// By which fields rows need only be counted: those that make groups, and behind them the one of which the functions want to
    /// know which values there are, if any does. Nothing, if they want to know more.
    fn counted_by(&self) -> Option<Cow<'a, [By]>> {
        let mut of_values = self.aggregate.functions.iter().filter(|f| !f.is_plain_count());
        let Some(first) = of_values.next() else { return Some(Cow::Borrowed(&self.aggregate.by)) };
        let field = first.distinct_of()?;
        let is_same = of_values.all(|f| f.distinct_of() == Some(field));
        let mut by = self.aggregate.by.clone();
        by.push(By { field: field.into(), bucket: None });
        is_same.then_some(Cow::Owned(by))
    }

    /// The blocks of which no row has anything for the functions besides being there, as far as that is known before they are
    /// opened; and the others.
    fn countable(&self, blocks: &[Arc<dyn BlockHandle>]) -> Result<(Blocks, Blocks)> {
        let functions = &self.aggregate.functions;
        let (mut countable, mut others) = (Vec::new(), Vec::new());
        if !functions.iter().all(|function| function.is_plain_count() || function.needs_values()) {
            return Ok((countable, blocks.to_vec()));
        }
        for handle in blocks {
            self.reader.cancel.check()?;
            let is_absent = |field: &NamePattern| {
                let values = verdicts::values(&**handle, &field.name);
                !field.prefix && matches!(&values[..], [(text, _)] if text.is_empty())
            };
            let mut fields = functions.iter().flat_map(|function| &function.fields);
            let is_countable = self.reader.is_in_time(&**handle) && fields.all(is_absent);
            if is_countable { &mut countable } else { &mut others }.push(handle.clone());
        }
        Ok((countable, others))
    }

    fn rows(&self, block: &mut Block<'_>, groups: &mut Groups<'a>) -> Result<()> {
        let Block { number, keys, inputs, found, times } = block;
        let keys = &**keys;
        let combinations = combinations(keys);
        if let Some(combinations) = combinations
            && self.counts_only()
        {
            return self.count(keys, found, combinations, groups);
        }
        if inputs.is_empty()
            && combinations == Some(1)
            && let Some(row) = found.iter().next()
        {
            // All that matters is that the group is there.
            Self::group(keys, row, groups)?;
            groups.tidy();
            return Ok(());
        }
        let mut known = combinations.map(|n| (vec![u32::MAX; n], RowCodes::new(keys, found)));
        let mut generation = groups.generation();
        let mut extremes = Extremes::default();
        let arrival =
            |row: usize| times.as_ref().map_or([0; 3], |times| self.order.arrival(times[row], *number, row));
        let (mut rows, mut some) = (found.iter(), Vec::with_capacity(CANCEL_INTERVAL_ROWS));
        loop {
            some.clear();
            for row in rows.by_ref().take(CANCEL_INTERVAL_ROWS) {
                let group = match &mut known {
                    None => Self::group(keys, row, groups)?,
                    Some((known, codes)) => match &mut known[codes.of(row)] {
                        group if *group < u32::MAX => *group as usize,
                        group => {
                            let number = Self::group(keys, row, groups)?;
                            *group = number as u32;
                            number
                        }
                    },
                };
                some.push((row, group));
            }
            if some.is_empty() {
                return extremes.give(groups);
            }
            self.reader.cancel.check()?;
            let one = some.first().map(|(_, group)| *group);
            let one = one.filter(|one| some.iter().all(|(_, group)| group == one));
            for input in &mut *inputs {
                input.add(&some, one, &arrival, groups, &mut extremes)?;
            }
            if self.aggregate.keep.is_some() {
                extremes.give(groups)?;
            }
            groups.tidy();
            if generation != groups.generation() {
                generation = groups.generation();
                known.iter_mut().for_each(|(known, _)| known.fill(u32::MAX));
                inputs.iter_mut().for_each(Input::groups_moved);
            }
        }
    }

    /// Counts the rows of each combination of codes, and then adds each to its group.
    fn count(
        &self,
        keys: &[Key<'_>],
        found: &Bitmap,
        combinations: usize,
        groups: &mut Groups<'a>,
    ) -> Result<()> {
        if combinations == 1 {
            // All are of one group: there are no keys, or those of one stream's block.
            let Some(row) = found.iter().next() else { return Ok(()) };
            let group = Self::group(keys, row, groups)?;
            groups.add_rows(group, found.count() as u64);
            groups.tidy();
            return Ok(());
        }
        if let [key] = keys
            && let Some(runs) = key.runs()
            && found.count() == found.len()
        {
            for (count, text) in runs {
                let group = groups.group(std::iter::once(text))?;
                groups.add_rows(group, count);
            }
            groups.tidy();
            return Ok(());
        }
        // How many, and one of them.
        let mut counts = vec![(0u32, 0u32); combinations];
        let codes = RowCodes::new(keys, found);
        let mut add = |row: usize, code: usize| {
            let (count, one) = &mut counts[code];
            *count += 1;
            *one = row as u32;
        };
        if let RowCodes::All(all) = &codes
            && found.count() == found.len()
        {
            self.reader.cancel.check()?;
            all.iter().enumerate().for_each(|(row, &code)| add(row, code as usize));
        } else {
            for (i, row) in found.iter().enumerate() {
                if i % CANCEL_INTERVAL_ROWS == CANCEL_INTERVAL_ROWS - 1 {
                    self.reader.cancel.check()?;
                }
                add(row, codes.of(row));
            }
        }
        for (i, (count, row)) in counts.into_iter().filter(|(count, _)| *count > 0).enumerate() {
            let group = Self::group(keys, row as usize, groups)?;
            groups.add_rows(group, u64::from(count));
            if i % CANCEL_INTERVAL_ROWS == CANCEL_INTERVAL_ROWS - 1 {
                groups.tidy();
            }
        }
        groups.tidy();
        Ok(())
    }

    fn group(keys: &[Key<'_>], row: usize, groups: &mut Groups<'a>) -> Result<usize> {
        match keys {
            [key] => key.with_text(row, |text| groups.group_of_one(text)),
            keys => {
                let texts: Vec<Cow<'_, str>> = keys.iter().map(|k| k.text(row)).collect();
                groups.group(texts.iter().map(|t| &**t))
            }
        }
    }
}
