//! The rows while they are being sorted.
//!
//! With a limit, only so many of a partition are kept, twice as many at times. Without one, rows are sorted in runs,
//! which are merged in the end: so that a query that is cancelled need not wait for a long sort.

use super::Sort;
use crate::error::Result;
use crate::exec::Cancel;
use crate::exec::context::Run;
use crate::exec::memory::Memory;
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
    row: ResultRow,
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
    fn drain(mut self, see: &mut dyn FnMut(ResultRow) -> Result<Flow>) -> Result<()> {
        self.end_run();
        let mut runs = self.runs;
        let mut heads: BinaryHeap<Reverse<(Held, usize)>> = BinaryHeap::new();
        for (i, run) in runs.iter_mut().enumerate() {
            heads.extend(run.pop().map(|held| Reverse((held, i))));
        }
        while let Some(Reverse((held, i))) = heads.pop() {
            heads.extend(runs[i].pop().map(|held| Reverse((held, i))));
            if see(held.row)? == Flow::Stop {
                break;
            }
        }
        Ok(())
    }
}

/// Rows being sorted.
pub(crate) struct Sorter<'a> {
    sort: &'a Sort,
    memory: &'a Memory,
    cancel: &'a Cancel,
    partitions: BTreeMap<PartitionKey, Partition>,
    /// How many rows of a partition can matter at all.
    keep: usize,
}

impl<'a> Sorter<'a> {
    pub fn new(sort: &'a Sort, memory: &'a Memory, cancel: &'a Cancel) -> Self {
        let keep = sort.limit.map_or(usize::MAX, |n| n.saturating_add(sort.offset));
        Self { sort, memory, cancel, partitions: BTreeMap::new(), keep }
    }

    /// The last row that can be in the answer, once there are so many, and if there are no partitions.
    fn worst(&self) -> Option<&(Box<[Directed]>, Arrival)> {
        self.partitions.values().next()?.worst.as_ref()
    }

    /// Whether there are as many rows as can be in the answer, so that some are beyond it.
    pub fn is_full(&self) -> bool {
        self.worst().is_some()
    }

    /// Whether no row with this first key, that comes there or later, can be in the answer, if there are no partitions.
    pub fn is_beyond(&self, first: &Directed, arrival: Arrival) -> bool {
        self.worst().is_some_and(|(keys, of_worst)| match &**keys {
            [worst] => (first, arrival) > (worst, *of_worst),
            keys => keys.first().is_some_and(|worst| first > worst),
        })
    }

    /// The first rows, if there is a limit: those that the answer has, and those before its offset. In no order.
    pub fn first_rows(&mut self) -> impl Iterator<Item = (Arrival, &mut ResultRow)> {
        let (keep, memory) = (self.keep, self.memory);
        self.partitions.values_mut().flat_map(move |partition| {
            partition.prune(keep, memory);
            partition.held.iter_mut().map(|held| (held.arrival, &mut held.row))
        })
    }

    /// Gives the memory of its rows back.
    pub fn discard(self) {
        let partitions = self.partitions.into_values();
        let rows =
            partitions.flat_map(|partition| partition.runs.into_iter().flatten().chain(partition.held));
        self.memory.release(rows.map(|held| held.bytes).sum());
    }

    /// Takes the rows of another of the same sort, which were charged for.
    pub fn merge(&mut self, other: Self) {
        for (key, theirs) in other.partitions {
            let mine = self.partitions.entry(key).or_default();
            mine.runs.extend(theirs.runs);
            mine.held.extend(theirs.held);
            if self.sort.limit.is_none() {
                mine.end_run();
            } else {
                mine.prune(self.keep, self.memory);
            }
        }
    }

    /// Whether a row with these keys can be in the answer, if there are no partitions.
    pub fn wants(&self, keys: &[Directed], arrival: Arrival) -> bool {
        let one = self.partitions.values().next();
        one.map_or(self.keep > 0, |partition| partition.wants(keys, arrival, self.keep))
    }

    /// Takes a row, if there are no partitions.
    pub fn add(&mut self, keys: Box<[Directed]>, arrival: Arrival, row: ResultRow) -> Result<()> {
        self.add_to(Vec::new(), keys, arrival, row)
    }

    fn add_to(
        &mut self,
        key: PartitionKey,
        keys: Box<[Directed]>,
        arrival: Arrival,
        row: ResultRow,
    ) -> Result<()> {
        let keys_bytes: usize = keys.iter().map(|k| k.key().heap_bytes() + size_of::<Directed>()).sum();
        let bytes = row.heap_bytes() + keys_bytes + size_of::<Held>();
        self.memory.charge(bytes, "sorting")?;
        let partition = match self.partitions.get_mut(&key) {
            Some(partition) => partition,
            None => {
                let bytes: usize = key.iter().map(|(k, text)| k.heap_bytes() + text.len() + 64).sum();
                self.memory.charge(bytes + size_of::<Partition>(), "the partitions of a sort")?;
                self.partitions.entry(key).or_default()
            }
        };
        partition.held.push(Held { keys, arrival, row, bytes });
        if self.sort.limit.is_none() {
            if partition.held.len() == RUN_ROWS {
                partition.end_run();
            }
        } else if partition.held.len() > self.keep.saturating_mul(2).saturating_add(64) {
            partition.prune(self.keep, self.memory);
        }
        Ok(())
    }

    /// Takes a row that came out of another pipe.
    fn add_row(&mut self, row: &ResultRow, arrival: Arrival) -> Result<()> {
        let key = |name: &str| Sort::key(name, row.get(name).unwrap_or(""));
        let keys = self.sort.directed(self.sort.by.iter().map(|(name, _)| key(name)));
        let partition: PartitionKey =
            self.sort.partition.iter().map(|name| (key(name), row.get(name).unwrap_or("").into())).collect();
        let wanted = self
            .partitions
            .get(&partition)
            .map_or(self.keep > 0, |partition| partition.wants(&keys, arrival, self.keep));
        if wanted { self.add_to(partition, keys, arrival, row.compact()) } else { Ok(()) }
    }

    /// Gives the rows on in order, one partition after the other.
    pub fn drain(&mut self, next: &mut dyn Stage) -> Result<()> {
        let (sort, keep) = (self.sort, self.keep);
        let mut flow = Flow::Continue;
        for (_, partition) in std::mem::take(&mut self.partitions) {
            let mut place = 0usize;
            partition.drain(&mut |mut row| {
                place += 1;
                if place.is_multiple_of(1024) {
                    self.cancel.check()?;
                }
                if place > keep {
                    return Ok(Flow::Stop);
                }
                if place > sort.offset {
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
