//! Grouping log entries straight from columns, blocks side by side on several threads.
//!
//! Every thread has groups of its own; they are put together in the end. Where the fields to group by are
//! constants, dictionaries or time buckets, a row's group is found by its codes, without its texts.

use super::ahead::Ahead;
use super::group_keys::{Key, MAX_COMBINATIONS, RowCodes, common_time_bucket, key_column};
use super::numbers::Numbers;
use super::open::{Open, plain_text};
use super::read::Reader;
use super::scan::CANCEL_INTERVAL_ROWS;
use super::threads::over_blocks;
use super::{Order as RowOrder, RunStats, skip};
use crate::bitmap::Bitmap;
use crate::error::Result;
use crate::pipe::fields::NamePattern;
use crate::pipe::stats::kind::Kind;
use crate::pipe::stats::{Aggregate, Cell, Function, Groups, Named};
use duramen::ValueKind;
use duramen::block::{BlockHandle, names};
use duramen::column::{Column, ColumnData, Kinds, bit};
use hashbrown::HashMap;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

pub(crate) struct Aggregation<'a> {
    pub reader: Reader<'a>,
    pub aggregate: &'a Aggregate,
    pub memory: &'a super::memory::Memory,
    pub order: RowOrder,
}

/// What a function that sees rows needs of a block, and the rows that meet its condition.
struct Input {
    function: usize,
    values: Values,
    condition: Option<Bitmap>,
}

/// What a function looks at.
enum Values {
    /// Its columns by name.
    Columns(Vec<(String, Option<Arc<Column>>)>),
    /// The numbers of its columns.
    Numbers(Vec<Rc<Numbers>>),
    /// The numbers of the column of which it wants the least or the greatest value, which may be something else.
    Extreme(Rc<Numbers>),
    /// The times of all rows, of which it wants the first or the last: only one of each group's is put into text.
    Times(Arc<Vec<i64>>),
}

/// Whether it is the first or the last time.
fn is_of_time(function: &Function) -> bool {
    let is_time = |field: &NamePattern| !field.prefix && *field.name == *names::TIME;
    matches!(function.kind, Kind::Min | Kind::Max)
        && matches!(&function.fields[..], [field] if is_time(field))
}

/// What is read of a block before its first row is added.
struct Block<'a> {
    number: usize,
    keys: Vec<Key<'a>>,
    inputs: Vec<Input>,
    found: Bitmap,
    /// If results depend on the order of rows.
    times: Option<Arc<Vec<i64>>>,
}

impl<'a> Aggregation<'a> {
    pub fn run(&self, blocks: &[Arc<dyn BlockHandle>], stats: &mut RunStats) -> Result<Groups<'a>> {
        let is_opened = |handle: &dyn BlockHandle| self.counted_whole(handle).is_none();
        let ahead = Ahead { reader: self.reader, blocks, is_opened: &is_opened };
        let threads = over_blocks(ahead, |shared| {
            let mut groups = Groups::new(self.aggregate, self.memory);
            let mut stats = RunStats::default();
            while let Some((number, handle)) = shared.take() {
                self.block(number, handle, &mut groups, &mut stats)?;
            }
            Ok((groups, stats))
        })?;
        let groups = threads.into_iter().map(|(groups, part)| {
            stats.add(part);
            groups
        });
        Groups::of_threads(self.aggregate, self.memory, groups)
    }

    /// The group of all rows of a block, if all that is asked of it is how many it has.
    fn counted_whole(&self, handle: &dyn BlockHandle) -> Option<Vec<String>> {
        let times = (handle.min_time(), handle.max_time());
        if !self.counts_only() || !skip::matches_all(self.reader.filter, times) {
            return None;
        }
        self.aggregate.by.iter().map(|by| common_time_bucket(by, times)).collect()
    }

    fn block(
        &self,
        number: usize,
        handle: &dyn BlockHandle,
        groups: &mut Groups<'a>,
        stats: &mut RunStats,
    ) -> Result<()> {
        self.reader.cancel.check()?;
        if let Some(key) = self.counted_whole(handle) {
            let group = groups.group(key.iter().map(String::as_str))?;
            groups.add_rows(group, handle.rows() as u64);
            stats.rows_matched += handle.rows() as u64;
            return Ok(());
        }
        let Some((mut open, found)) = self.reader.open(handle, stats)? else { return Ok(()) };
        // All columns are read before the first row is added, so that a damaged block counts whole or not.
        let read = self.read(number, &mut open, found, groups);
        stats.bytes_read += open.bytes_since_last();
        self.reader.cancel.check()?;
        match read {
            Ok(block) => self.rows(&block, groups),
            Err(e) => {
                stats.failed(e);
                Ok(())
            }
        }
    }

    fn read(
        &self,
        number: usize,
        open: &mut Open,
        found: Bitmap,
        groups: &Groups<'a>,
    ) -> duramen::Result<Block<'a>> {
        let keys = self.aggregate.by.iter().map(|by| key_column(by, open));
        let keys = keys.collect::<duramen::Result<Vec<_>>>()?;
        let (mut inputs, mut known) = (Vec::new(), BTreeMap::new());
        let stop = || self.reader.cancel.check().is_err();
        for (i, function) in self.aggregate.functions.iter().enumerate().filter(|(i, _)| groups.sees_rows(*i))
        {
            let values = Self::values(function, open, &found, &mut known)?;
            let condition = function.condition.as_ref();
            let condition =
                condition.map(|filter| super::eval::eval(filter, open, &found, &stop)).transpose()?;
            inputs.push(Input { function: i, values, condition });
        }
        let times = if self.aggregate.is_ordered() { Some(open.times()?) } else { None };
        Ok(Block { number, keys, inputs, found, times })
    }

    /// What a function looks at. Numbers of a column that were read are `known`.
    fn values(
        function: &'a Function,
        open: &mut Open,
        found: &Bitmap,
        known: &mut BTreeMap<&'a str, Rc<Numbers>>,
    ) -> duramen::Result<Values> {
        if is_of_time(function) {
            return open.times().map(Values::Times);
        }
        let mut numbers = |name: &'a str, open: &mut Open| -> duramen::Result<Rc<Numbers>> {
            Ok(match known.get(name) {
                Some(numbers) => numbers.clone(),
                None => {
                    let numbers = Rc::new(Numbers::new(open.column(name)?, found));
                    known.insert(name, numbers.clone());
                    numbers
                }
            })
        };
        if function.kind.is_of_numbers() && function.fields.iter().all(|pattern| !pattern.prefix) {
            let fields = function.fields.iter().map(|pattern| numbers(&pattern.name, open));
            return fields.collect::<duramen::Result<_>>().map(Values::Numbers);
        }
        if let (Kind::Min | Kind::Max, [field]) = (function.kind, &function.fields[..])
            && !field.prefix
        {
            return numbers(&field.name, open).map(Values::Extreme);
        }
        let mut columns = Vec::new();
        for (name, _) in &function.sort {
            columns.push((name.to_string(), open.column(name)?));
        }
        for pattern in &function.fields {
            if pattern.prefix {
                let named = open.matching(pattern)?;
                columns.extend(named.into_iter().map(|(name, column)| (name, Some(column))));
            } else {
                columns.push((pattern.name.to_string(), open.column(&pattern.name)?));
            }
        }
        Ok(Values::Columns(columns))
    }

    /// Whether rows need only be counted.
    fn counts_only(&self) -> bool {
        let is_plain_count =
            |f: &Function| f.kind == Kind::Count && f.fields.is_empty() && f.condition.is_none();
        self.aggregate.functions.iter().all(is_plain_count)
    }

    fn rows(&self, block: &Block<'_>, groups: &mut Groups<'a>) -> Result<()> {
        let keys = &*block.keys;
        let combinations = keys.iter().try_fold(1usize, |n, k| n.checked_mul(k.texts.as_ref()?.len()));
        let combinations = combinations.filter(|&n| n <= MAX_COMBINATIONS);
        if let Some(combinations) = combinations
            && self.counts_only()
        {
            return self.count(block, combinations, groups);
        }
        let mut known = combinations.map(|n| (vec![u32::MAX; n], RowCodes::new(keys, &block.found)));
        let mut generation = groups.generation();
        let mut extremes = Extremes::default();
        let (mut rows, mut some) = (block.found.iter(), Vec::with_capacity(CANCEL_INTERVAL_ROWS));
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
                return Ok(());
            }
            self.reader.cancel.check()?;
            for input in &block.inputs {
                self.add(block, input, &some, groups, &mut extremes)?;
            }
            extremes.give(groups)?;
            groups.tidy();
            if generation != groups.generation() {
                generation = groups.generation();
                known.iter_mut().for_each(|(known, _)| known.fill(u32::MAX));
            }
        }
    }

    /// Gives a function what some rows of these groups have for it.
    fn add(
        &self,
        block: &Block<'_>,
        input: &Input,
        rows: &[(usize, usize)],
        groups: &mut Groups<'a>,
        extremes: &mut Extremes,
    ) -> Result<()> {
        let function = input.function;
        let is_met = |row| input.condition.as_ref().is_none_or(|rows| rows.contains(row));
        let rows = rows.iter().copied().filter(|(row, _)| is_met(*row));
        match &input.values {
            Values::Times(times) => {
                let is_min = self.aggregate.functions[function].kind == Kind::Min;
                rows.for_each(|(row, group)| extremes.add(group, function, times[row], is_min));
            }
            Values::Numbers(columns) => {
                for numbers in columns {
                    let found = rows.clone().filter_map(|(row, group)| Some((group, numbers.get(row)?)));
                    groups.add_numbers(function, found)?;
                }
            }
            Values::Extreme(numbers) => {
                for (row, group) in rows {
                    groups.offer(group, function, numbers.get(row), cell(numbers.column(), row));
                }
            }
            Values::Columns(columns) => {
                let mut cells = Vec::new();
                for (row, group) in rows {
                    let arrival = block
                        .times
                        .as_ref()
                        .map_or([0; 3], |times| self.order.arrival(times[row], block.number, row));
                    cells.clear();
                    cells.extend(columns.iter().map(|(name, column)| named(name, column.as_deref(), row)));
                    groups.add(group, function, &cells, arrival)?;
                }
            }
        }
        Ok(())
    }

    /// Counts the rows of each combination of codes, and then adds each to its group.
    fn count(&self, block: &Block<'_>, combinations: usize, groups: &mut Groups<'a>) -> Result<()> {
        if combinations == 1 {
            // All are of one group: there are no keys, or those of one stream's block.
            let Some(row) = block.found.iter().next() else { return Ok(()) };
            let group = Self::group(&block.keys, row, groups)?;
            groups.add_rows(group, block.found.count() as u64);
            return Ok(());
        }
        if let [key] = &*block.keys
            && let Some(runs) = key.runs()
            && block.found.count() == block.found.len()
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
        let codes = RowCodes::new(&block.keys, &block.found);
        for (i, row) in block.found.iter().enumerate() {
            if i % CANCEL_INTERVAL_ROWS == CANCEL_INTERVAL_ROWS - 1 {
                self.reader.cancel.check()?;
            }
            let (count, one) = &mut counts[codes.of(row)];
            *count += 1;
            *one = row as u32;
        }
        for (i, (count, row)) in counts.into_iter().filter(|(count, _)| *count > 0).enumerate() {
            let group = Self::group(&block.keys, row as usize, groups)?;
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
            [key] => groups.group_of_one(&key.text(row)),
            keys => {
                let texts: Vec<Cow<'_, str>> = keys.iter().map(|k| k.text(row)).collect();
                groups.group(texts.iter().map(|t| &**t))
            }
        }
    }
}

/// The first or the last time so far, of each group's functions that ask for that.
#[derive(Default)]
struct Extremes(HashMap<(usize, usize), i64, foldhash::fast::FixedState>);

impl Extremes {
    fn add(&mut self, group: usize, function: usize, time: i64, is_min: bool) {
        let of_group = self.0.entry((group, function)).or_insert(time);
        *of_group = if is_min { time.min(*of_group) } else { time.max(*of_group) };
    }

    /// Gives them to their groups, whose numbers hold until these are tidied up.
    fn give(&mut self, groups: &mut Groups<'_>) -> Result<()> {
        for ((group, function), time) in self.0.drain() {
            let text = crate::parse::time::format_time(time);
            let cell = Named { name: names::TIME, cell: Cell::Text(&text), kind: ValueKind::String };
            groups.add(group, function, &[cell], [0; 3])?;
        }
        Ok(())
    }
}

/// A row's value of a column.
pub(crate) fn cell(column: Option<&Column>, row: usize) -> Cell<'_> {
    let Some(column) = column else { return Cell::Text("") };
    let slot = column.slot(row);
    match &column.data {
        ColumnData::Int { values, present } if present.as_ref().is_none_or(|p| bit(p, slot)) => {
            Cell::Int(values.get(slot))
        }
        _ => Cell::Text(plain_text(column, slot).unwrap_or("")),
    }
}

/// The same with its name and kind.
fn named<'c>(name: &'c str, column: Option<&'c Column>, row: usize) -> Named<'c> {
    let kind = column.map_or(ValueKind::String, |column| match &column.kinds {
        Kinds::All(kind) => *kind,
        Kinds::PerSlot(_) => column.kind_at(column.slot(row)),
    });
    Named { name, cell: cell(column, row), kind }
}
