//! The rows while they are being sorted.
//!
//! With a limit, only so many of a partition are kept, some more at times. Without one, rows are sorted in runs,
//! which are merged in the end: so that a query that is cancelled need not wait for a long sort.

use super::Sort;
use crate::error::Result;
use crate::exec::Cancel;
use crate::exec::context::Run;
use crate::exec::memory::Memory;
use crate::exec::scan::CANCEL_INTERVAL_ROWS;
use crate::held_row::{HeldRow, Holder, allocated_bytes};
use crate::number::Number;
use crate::order::SortKey;
use crate::pipe::{Flow, Stage};
use crate::row::ResultRow;
use duramen::ValueKind;
use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BinaryHeap};

/// How many rows are sorted at a time.
const RUN_ROWS: usize = 16_384;

/// A sort key that knows whether the greatest comes first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Directed {
    Ascending(SortKey),
    Descending(Reverse<SortKey>),
}

impl Directed {
    pub fn new(key: SortKey, desc: bool) -> Self {
        if desc { Self::Descending(Reverse(key)) } else { Self::Ascending(key) }
    }

    /// The number that it is, if it is one.
    pub fn number(&self) -> Option<Number> {
        match self.key() {
            SortKey::Number(n) => Some(*n),
            SortKey::Empty | SortKey::Text(_) | SortKey::Time(_) => None,
        }
    }

    fn key(&self) -> &SortKey {
        match self {
            Self::Ascending(key) | Self::Descending(Reverse(key)) => key,
        }
    }
}

/// What breaks ties: rows that are equal stay in the order they came in, in which their numbers ascend.
pub(crate) type Arrival = [i64; 3];

struct Held {
    keys: Box<[Directed]>,
    arrival: Arrival,
    row: HeldRow,
    bytes: usize,
}

impl PartialEq for Held {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Held {}

impl PartialOrd for Held {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Held {
    fn cmp(&self, other: &Self) -> Ordering {
        (&self.keys, self.arrival).cmp(&(&other.keys, other.arrival))
    }
}

/// The values of a row that choose its partition: those of the same text are one, and they come in order.
type PartitionKey = Vec<(SortKey, Box<str>)>;

/// The rows of one partition.
#[derive(Default)]
struct Partition {
    held: Vec<Held>,
    /// Sorted, the last row first.
    runs: Vec<Vec<Held>>,
    /// The last of the best, once as many were seen as are kept.
    worst: Option<(Box<[Directed]>, Arrival)>,
}

impl Partition {
    fn wants(&self, keys: &[Directed], arrival: Arrival, keep: usize) -> bool {
        keep > 0 && self.worst.as_ref().is_none_or(|(k, a)| (keys, arrival) < (k, *a))
    }

    fn prune(&mut self, keep: usize, memory: &Memory) {
        self.held.sort_unstable();
        for dropped in self.held.drain(keep.min(self.held.len())..) {
            memory.release(dropped.bytes);
        }
        if self.held.len() == keep {
            self.worst = self.held.last().map(|h| (h.keys.clone(), h.arrival));
        }
    }

    fn end_run(&mut self) {
        self.held.sort_unstable_by(|a, b| b.cmp(a));
        self.runs.push(std::mem::take(&mut self.held));
    }

    /// Calls `see` with the rows in order, until it says stop.
    fn drain(mut self, see: &mut dyn FnMut(&HeldRow) -> Result<Flow>) -> Result<()> {
        self.end_run();
        let mut runs = self.runs;
        let mut heads: BinaryHeap<Reverse<(Held, usize)>> = BinaryHeap::new();
        for (i, run) in runs.iter_mut().enumerate() {
            heads.extend(run.pop().map(|held| Reverse((held, i))));
        }
        while let Some(Reverse((held, i))) = heads.pop() {
            heads.extend(runs[i].pop().map(|held| Reverse((held, i))));
            if see(&held.row)? == Flow::Stop {
                break;
            }
        }
        Ok(())
    }
}

/// How many rows beyond twice those that are kept a partition may hold, if it is the only one, and if there may be many.
const SPARE_ROWS: usize = 64;
const SPARE_ROWS_OF_MANY: usize = 6;

/// Rows being sorted.
pub(crate) struct Sorter<'a> {
    sort: &'a Sort,
    memory: &'a Memory,
    cancel: &'a Cancel,
    /// In the order in which they came. Without fields to choose one by, there is one.
    partitions: Vec<Partition>,
    /// Their numbers, in order.
    numbers: BTreeMap<PartitionKey, usize>,
    /// How many rows of a partition can matter at all.
    keep: usize,
    /// How many it holds before others are dropped.
    most: usize,
    holder: Holder,
}

/// The number of the partition that has all rows, if there are no fields to choose one by.
pub(crate) const ALL: usize = 0;

impl<'a> Sorter<'a> {
    pub fn new(sort: &'a Sort, memory: &'a Memory, cancel: &'a Cancel) -> Self {
        let keep = sort.limit.map_or(usize::MAX, |n| n.saturating_add(sort.offset));
        let is_one = sort.partition.is_empty();
        let spare = if is_one { SPARE_ROWS } else { SPARE_ROWS_OF_MANY };
        let mut sorter = Self {
            sort,
            memory,
            cancel,
            partitions: Vec::new(),
            numbers: BTreeMap::new(),
            keep,
            most: keep.saturating_mul(2).saturating_add(spare),
            holder: Holder::default(),
        };
        if is_one {
            sorter.add_partition(PartitionKey::new());
        }
        sorter
    }

    /// Whether no row can be in the answer.
    pub fn takes_none(&self) -> bool {
        self.keep == 0
    }

    /// Whether there are as many rows as can be in the answer, so that some are beyond it, and no partitions, which may be more.
    pub fn is_full(&self) -> bool {
        self.sort.partition.is_empty() && self.partitions[ALL].worst.is_some()
    }

    /// Whether no row of a partition with this first key, that comes there or later, can be in the answer.
    pub fn is_beyond(&self, partition: usize, first: &Directed, arrival: Arrival) -> bool {
        self.partitions[partition].worst.as_ref().is_some_and(|(keys, of_worst)| match &**keys {
            [worst] => (first, arrival) > (worst, *of_worst),
            keys => keys.first().is_some_and(|worst| first > worst),
        })
    }

    /// The first rows, if there is a limit: those that the answer has, and those before its offset. In no order.
    pub fn first_rows(&mut self) -> impl Iterator<Item = (Arrival, &mut HeldRow)> {
        let (keep, memory) = (self.keep, self.memory);
        self.partitions.iter_mut().flat_map(move |partition| {
            partition.prune(keep, memory);
            partition.held.iter_mut().map(|held| (held.arrival, &mut held.row))
        })
    }

    /// Gives the memory of its rows and partitions back.
    pub fn discard(self) {
        let rows =
            self.partitions.into_iter().flat_map(|part| part.runs.into_iter().flatten().chain(part.held));
        let rows_bytes: usize = rows.map(|held| held.bytes).sum();
        self.memory.release(rows_bytes + self.numbers.keys().map(bytes_of).sum::<usize>());
    }

    /// Takes the rows of another of the same sort, which were charged for.
    pub fn merge(&mut self, mut other: Self) -> Result<()> {
        for (i, (key, theirs)) in other.numbers.into_iter().enumerate() {
            if i % CANCEL_INTERVAL_ROWS == CANCEL_INTERVAL_ROWS - 1 {
                self.cancel.check()?;
            }
            let theirs = std::mem::take(&mut other.partitions[theirs]);
            let number = match self.numbers.get(&key) {
                Some(&number) => {
                    self.memory.release(bytes_of(&key));
                    number
                }
                None => self.add_partition(key),
            };
            let mine = &mut self.partitions[number];
            mine.runs.extend(theirs.runs);
            mine.held.extend(theirs.held);
            if self.sort.limit.is_none() {
                mine.end_run();
            } else {
                mine.prune(self.keep, self.memory);
            }
        }
        Ok(())
    }

    fn add_partition(&mut self, key: PartitionKey) -> usize {
        self.numbers.insert(key, self.partitions.len());
        self.partitions.push(Partition::default());
        self.partitions.len() - 1
    }

    /// The number of the partition of the rows that have these texts in the fields that choose one; it is there then.
    pub fn partition<'t>(&mut self, texts: impl Iterator<Item = &'t str>) -> Result<usize> {
        let names = self.sort.partition.iter().zip(texts);
        let key: PartitionKey = names.map(|(name, text)| (Sort::key(name, text), text.into())).collect();
        match self.numbers.get(&key) {
            Some(&number) => Ok(number),
            None => {
                self.memory.charge(bytes_of(&key), "the partitions of a sort")?;
                Ok(self.add_partition(key))
            }
        }
    }

    /// Whether a row of a partition with these keys can be in the answer.
    pub fn wants(&self, partition: usize, keys: &[Directed], arrival: Arrival) -> bool {
        self.partitions[partition].wants(keys, arrival, self.keep)
    }

    /// Takes a row of a partition; without its fields, if they are filled in later.
    pub fn add(
        &mut self,
        partition: usize,
        keys: Box<[Directed]>,
        arrival: Arrival,
        row: Option<&ResultRow>,
    ) -> Result<()> {
        let of_key = |key: &Directed| allocated_bytes(key.key().heap_bytes()) + size_of::<Directed>();
        let keys_bytes = allocated_bytes(keys.iter().map(of_key).sum());
        let (row, row_bytes) = row.map(|row| self.holder.hold(row)).unwrap_or_default();
        let bytes = row_bytes + keys_bytes + size_of::<Held>();
        self.memory.charge(bytes, "sorting")?;
        let partition = &mut self.partitions[partition];
        partition.held.push(Held { keys, arrival, row, bytes });
        if self.sort.limit.is_none() {
            if partition.held.len() == RUN_ROWS {
                partition.end_run();
            }
        } else if partition.held.len() > self.most {
            partition.prune(self.keep, self.memory);
        }
        Ok(())
    }

    /// Takes a row that came out of another pipe.
    pub fn add_row(&mut self, row: &ResultRow, arrival: Arrival) -> Result<()> {
        if self.takes_none() {
            return Ok(());
        }
        let sort = self.sort;
        let text = |name: &str| row.get(name).unwrap_or("");
        let partition = if sort.partition.is_empty() {
            ALL
        } else {
            self.partition(sort.partition.iter().map(|name| text(name)))?
        };
        let keys = sort.directed(sort.by.iter().map(|(name, _)| Sort::key(name, text(name))));
        if self.wants(partition, &keys, arrival) {
            self.add(partition, keys, arrival, Some(row))?;
        }
        Ok(())
    }

    /// Gives the rows on in order, one partition after the other.
    pub fn drain(&mut self, next: &mut dyn Stage) -> Result<()> {
        let (sort, keep) = (self.sort, self.keep);
        let (mut flow, mut seen) = (Flow::Continue, 0usize);
        let mut row = ResultRow::new();
        for number in std::mem::take(&mut self.numbers).into_values() {
            let partition = std::mem::take(&mut self.partitions[number]);
            let mut place = 0usize;
            partition.drain(&mut |held| {
                place += 1;
                seen += 1;
                if seen.is_multiple_of(CANCEL_INTERVAL_ROWS) {
                    self.cancel.check()?;
                }
                if place > keep {
                    return Ok(Flow::Stop);
                }
                if place > sort.offset {
                    held.fill(&mut row);
                    if let Some(name) = &sort.rank {
                        row.set(name, &place.to_string(), ValueKind::Number);
                    }
                    flow = next.push(&mut row)?;
                }
                Ok(flow)
            })?;
            if flow == Flow::Stop {
                break;
            }
        }
        Ok(())
    }
}

/// About how many bytes a partition takes, without its rows. The only one takes none to speak of.
fn bytes_of(key: &PartitionKey) -> usize {
    let of_key = key.iter().map(|(key, text)| key.heap_bytes() + text.len() + 80 + size_of::<Partition>());
    of_key.sum()
}

/// Sorts rows that come out of another pipe.
pub(crate) struct SortStage<'a> {
    sorter: Sorter<'a>,
    arrived: i64,
    next: Box<dyn Stage + 'a>,
}

impl<'a> SortStage<'a> {
    pub fn new(sort: &'a Sort, run: &'a Run<'a>, next: Box<dyn Stage + 'a>) -> Self {
        Self { sorter: Sorter::new(sort, run.memory, run.cancel), arrived: 0, next }
    }
}

impl Stage for SortStage<'_> {
    fn push(&mut self, row: &mut ResultRow) -> Result<Flow> {
        self.arrived += 1;
        self.sorter.add_row(row, [0, 0, self.arrived])?;
        Ok(Flow::Continue)
    }

    fn finish(&mut self) -> Result<()> {
        self.sorter.drain(&mut *self.next)?;
        self.next.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_cancels_does_not_wait_for_many_partitions_to_be_put_together() {
        let sort = Sort {
            by: vec![("n".into(), false)],
            partition: vec!["n".into()],
            offset: 0,
            limit: Some(1),
            rank: None,
        };
        let (memory, cancel) = (Memory::new(1 << 30), Cancel::new());
        let of_many = || {
            let mut sorter = Sorter::new(&sort, &memory, &cancel);
            (0..3 * CANCEL_INTERVAL_ROWS).for_each(|n| {
                sorter.partition(std::iter::once(&*n.to_string())).unwrap();
            });
            sorter
        };
        let (mut all, other) = (of_many(), of_many());
        cancel.cancel();
        assert!(matches!(all.merge(other), Err(crate::Error::Cancelled)));
    }
}
