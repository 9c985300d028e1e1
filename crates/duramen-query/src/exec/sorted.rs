//! `sort` straight behind the filter: only rows that can be in the answer are read beyond their sort keys, and what chooses their
//! partitions. Blocks are read side by side on several threads, each of which keeps what is first of its own.

use super::ahead::Ahead;
use super::cells::{cell, has_value};
use super::context::Run;
use super::group_keys::{Key, RowCodes, combinations, key_column};
use super::memory::Memory;
use super::numbers::Numbers;
use super::open::Open;
use super::project::Projection;
use super::read::{InOrder, Reader};
use super::scan::CANCEL_INTERVAL_ROWS;
use super::threads::{over_blocks, side_by_side};
use super::{Order, RunStats};
use crate::bitmap::Bitmap;
use crate::error::Result;
use crate::held_row::{HeldRow, Holder};
use crate::order::SortKey;
use crate::pipe::sort::{ALL, Arrival, Directed, Sort, Sorter};
use crate::pipe::stats::By;
use crate::row::ResultRow;
use duramen::block::{BlockHandle, names};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

pub(crate) struct SortedScan<'a> {
    pub reader: Reader<'a>,
    pub sort: &'a Sort,
    pub projection: &'a Projection,
    pub order: Order,
}

/// Before all others.
const ANY_ARRIVAL: Arrival = [i64::MIN; 3];

/// What a block has of a field to sort by.
enum KeyColumn {
    Times(Arc<Vec<i64>>),
    Values(Numbers),
}

impl KeyColumn {
    fn read(name: &str, open: &mut Open, found: &Bitmap) -> duramen::Result<Self> {
        if name == names::TIME {
            return open.times().map(Self::Times);
        }
        Ok(Self::Values(Numbers::new(open.column(name)?, found)))
    }

    /// The key of a row, if it is a number.
    fn number(&self, row: usize) -> Option<SortKey> {
        match self {
            Self::Times(times) => Some(SortKey::int(times[row])),
            Self::Values(numbers) => numbers.get(row).map(SortKey::Number),
        }
    }

    /// The key of a row, if it is soon told: that of a number, or of nothing.
    fn quick(&self, row: usize) -> Option<SortKey> {
        self.number(row).or_else(|| match self {
            Self::Values(numbers) if numbers.column().is_some_and(|column| has_value(column, row)) => None,
            _ => Some(SortKey::Empty),
        })
    }

    fn key(&self, row: usize) -> SortKey {
        match (self.number(row), self) {
            (Some(key), _) => key,
            (None, Self::Values(numbers)) => cell(numbers.column(), row).with_text(SortKey::of_text),
            (None, Self::Times(_)) => SortKey::Empty,
        }
    }
}

/// What a block's rows have in the fields that choose a partition.
struct Partitions<'k> {
    keys: &'k [Key<'k>],
    /// If there are few combinations of values: that of each row, and the number of its partition, once it is known.
    known: Option<(RowCodes<'k>, Vec<Option<usize>>)>,
}

impl<'k> Partitions<'k> {
    fn new(keys: &'k [Key<'k>], found: &Bitmap) -> Self {
        Self { keys, known: combinations(keys).map(|n| (RowCodes::new(keys, found), vec![None; n])) }
    }

    /// The number of a row's partition.
    fn of(&mut self, row: usize, sorter: &mut Sorter<'_>) -> Result<usize> {
        if self.keys.is_empty() {
            return Ok(ALL);
        }
        let known = self.known.as_mut().map(|(codes, known)| &mut known[codes.of(row)]);
        if let Some(Some(number)) = known {
            return Ok(*number);
        }
        let texts: Vec<Cow<'_, str>> = self.keys.iter().map(|key| key.text(row)).collect();
        let number = sorter.partition(texts.iter().map(|text| &**text))?;
        if let Some(known) = known {
            *known = Some(number);
        }
        Ok(number)
    }
}

impl<'a> SortedScan<'a> {
    pub fn run(&self, run: &Run<'a>, stats: &mut RunStats) -> Result<Sorter<'a>> {
        if self.sort.limit.is_some() {
            let mut of_this = RunStats::default();
            let mut sorter = self.sorted(run, None, &mut of_this)?;
            if self.fill_late(run.blocks, run.memory, &mut sorter, &mut of_this)? {
                stats.add(of_this);
                return Ok(sorter);
            }
            // Rows that cannot be read must not have taken the places of others.
            sorter.discard();
        }
        self.sorted(run, Some(self.projection), stats)
    }

    /// The rows of all blocks, with their fields if they are to be `fills`ed now.
    fn sorted(&self, run: &Run<'a>, fills: Option<&Projection>, stats: &mut RunStats) -> Result<Sorter<'a>> {
        let Run { blocks, memory, cancel, .. } = *run;
        // Most blocks have no row that can be in the answer, which their first key tells in any order of rows. Of partitions, each
        // may have one.
        let is_by_time = self.sort.by.iter().any(|(name, _)| **name == *names::TIME);
        let is_always_in_order = self.sort.limit.is_none() || is_by_time || !self.sort.partition.is_empty();
        let ordered = Reader { in_order: InOrder::All, ..self.reader };
        let reader = if is_always_in_order { ordered } else { Reader { in_order: InOrder::None, ..ordered } };
        // Of equal rows the first ones are in the answer: blocks that come behind them have none then.
        let turned: Vec<Arc<dyn BlockHandle>>;
        let (in_turn, last) = match self.is_newest_first() {
            false => (blocks, None),
            true => {
                turned = blocks.iter().rev().cloned().collect();
                (&*turned, blocks.len().checked_sub(1))
            }
        };
        let threads = over_blocks(Ahead::new(reader, in_turn), |shared| {
            let (mut sorter, mut stats) = (Sorter::new(self.sort, memory, cancel), RunStats::default());
            while let Some((turn, handle)) = shared.take() {
                let number = last.map_or(turn, |last| last - turn);
                // As long as each row can be in the answer, each is read.
                let first = if sorter.is_full() { reader } else { ordered };
                let Some((mut open, mut found)) = first.open(handle, &mut stats)? else { continue };
                if !open.in_order {
                    let earliest = self.order.earliest((handle.min_time(), handle.max_time()));
                    let told = self.is_beyond(&mut open, &found, earliest, &sorter);
                    stats.bytes_read += open.bytes_since_last();
                    let in_order = told.and_then(|is| if is { Ok(None) } else { reader.in_order(handle) });
                    cancel.check()?;
                    match in_order {
                        Ok(Some(opened)) => (open, found) = opened,
                        Ok(None) => continue,
                        Err(e) => {
                            stats.failed(e);
                            continue;
                        }
                    }
                }
                self.block((number, &mut open), &found, fills, &mut sorter, &mut stats)?;
                stats.bytes_read += open.bytes_since_last();
            }
            Ok((sorter, stats))
        })?;
        let mut all: Option<Sorter<'a>> = None;
        for (sorter, part) in threads {
            stats.add(part);
            match &mut all {
                Some(all) => all.merge(sorter)?,
                None => all = Some(sorter),
            }
        }
        Ok(all.unwrap_or_else(|| Sorter::new(self.sort, memory, cancel)))
    }

    /// Whether later rows are likely to be in the answer.
    fn is_newest_first(&self) -> bool {
        self.sort.by_time_first().unwrap_or(self.order == Order::NewestFirst)
    }

    /// Whether none of a block's rows, the `earliest` of which comes there, can be in the answer, as far as their first keys tell.
    fn is_beyond(
        &self,
        open: &mut Open,
        found: &Bitmap,
        earliest: Arrival,
        sorter: &Sorter<'_>,
    ) -> duramen::Result<bool> {
        let Some((name, desc)) = self.sort.by.first() else { return Ok(false) };
        let column = KeyColumn::read(name, open, found)?;
        let is_beyond = |row| sorter.is_beyond(ALL, &Directed::new(column.key(row), *desc), earliest);
        let is_stopped =
            |i| i % CANCEL_INTERVAL_ROWS == CANCEL_INTERVAL_ROWS - 1 && self.reader.cancel.check().is_err();
        Ok(found.iter().enumerate().all(|(i, row)| is_beyond(row) && !is_stopped(i)))
    }

    /// Gives the sorter a block's rows, with their fields if they are to be `fills`ed now.
    fn block(
        &self,
        (number, open): (usize, &mut Open),
        found: &Bitmap,
        fills: Option<&Projection>,
        sorter: &mut Sorter<'_>,
        stats: &mut RunStats,
    ) -> Result<()> {
        if sorter.takes_none() {
            return Ok(());
        }
        let fields = self.sort.partition.iter();
        let by: Vec<By> = fields.map(|field| By { field: field.clone(), bucket: None }).collect();
        let mut read = || -> duramen::Result<_> {
            let columns = self.sort.by.iter().map(|(name, _)| KeyColumn::read(name, open, found));
            let columns = columns.collect::<duramen::Result<Vec<_>>>()?;
            let keys = by.iter().map(|by| key_column(by, open)).collect::<duramen::Result<Vec<_>>>()?;
            Ok((columns, keys, open.times()?))
        };
        let (columns, keys, times) = match read() {
            Ok(read) => read,
            Err(e) => {
                stats.failed(e);
                return Ok(());
            }
        };
        let first = columns.first().zip(self.sort.by.first());
        let mut partitions = Partitions::new(&keys, found);
        let mut out = ResultRow::new();
        // Those come first that leave others no place.
        let mut rows: Vec<u32> = found.iter().map(|row| row as u32).collect();
        if self.is_newest_first() {
            rows.reverse();
        }
        for (i, row) in rows.into_iter().map(|row| row as usize).enumerate() {
            if i % CANCEL_INTERVAL_ROWS == CANCEL_INTERVAL_ROWS - 1 {
                self.reader.cancel.check()?;
            }
            let partition = partitions.of(row, sorter)?;
            // Most rows are told by the first key alone.
            let first = first.and_then(|(column, (_, desc))| Some(Directed::new(column.quick(row)?, *desc)));
            if first.is_some_and(|key| sorter.is_beyond(partition, &key, ANY_ARRIVAL)) {
                continue;
            }
            let keys = self.sort.directed(columns.iter().map(|column| column.key(row)));
            let arrival = self.order.arrival(times[row], number, row);
            if !sorter.wants(partition, &keys, arrival) {
                continue;
            }
            if let Some(projection) = fills
                && let Err(e) = open.fill(row, times[row], projection, &mut out)
            {
                stats.failed(e);
                return Ok(());
            }
            sorter.add(partition, keys, arrival, fills.map(|_| &out))?;
        }
        Ok(())
    }

    /// Fills in the rows of the answer, which are known now: block by block, on several threads. `false` if one cannot be read.
    fn fill_late(
        &self,
        blocks: &[Arc<dyn BlockHandle>],
        memory: &Memory,
        sorter: &mut Sorter<'_>,
        stats: &mut RunStats,
    ) -> Result<bool> {
        let mut by_block: BTreeMap<usize, Vec<Late<'_>>> = BTreeMap::new();
        for (i, (arrival, out)) in sorter.first_rows().enumerate() {
            if i % CANCEL_INTERVAL_ROWS == CANCEL_INTERVAL_ROWS - 1 {
                self.reader.cancel.check()?;
            }
            let (time, block, row) = self.order.place(arrival);
            by_block.entry(block).or_default().push(Late { row, time, out });
        }
        let threads = self.reader.threads.min(by_block.len());
        let next = Mutex::new(by_block.into_iter());
        let work = || -> Result<Option<RunStats>> {
            let (mut stats, mut holder) = (RunStats::default(), Holder::default());
            loop {
                let block = next.lock().unwrap_or_else(PoisonError::into_inner).next();
                let Some((number, rows)) = block else { return Ok(Some(stats)) };
                self.reader.cancel.check()?;
                let Some(handle) = blocks.get(number) else { continue };
                let Ok(bytes) = self.fill(&**handle, rows, &mut holder, &mut stats) else { return Ok(None) };
                memory.charge(bytes, "sorting")?;
            }
        };
        for part in side_by_side(threads.max(1), work) {
            let Some(part) = part? else { return Ok(false) };
            stats.add(part);
        }
        Ok(true)
    }

    /// Fills in rows of a block; says how many bytes they take.
    fn fill(
        &self,
        handle: &dyn BlockHandle,
        rows: Vec<Late<'_>>,
        holder: &mut Holder,
        stats: &mut RunStats,
    ) -> duramen::Result<usize> {
        let mut open = Open::new(handle.open()?);
        let all = open.block.rows();
        let mut wanted = Bitmap::none(all);
        rows.iter().filter(|late| late.row < all).for_each(|late| wanted.insert(late.row));
        open.only(&wanted);
        let (mut bytes, mut filled) = (0, ResultRow::new());
        for Late { row, time, out } in rows {
            open.fill(row, time, self.projection, &mut filled)?;
            let (held, more) = holder.hold(&filled);
            *out = held;
            bytes += more;
        }
        stats.bytes_read += open.bytes_since_last();
        Ok(bytes)
    }
}

/// A row of the answer that is not filled in yet.
struct Late<'r> {
    row: usize,
    time: i64,
    out: &'r mut HeldRow,
}
