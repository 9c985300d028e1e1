//! `sort by (a, b desc) offset 5 limit 10`: rows in another order. With a limit, only so many are held.

use super::{Flow, Stage};
use crate::error::{ParseError, Result};
use crate::exec::memory::Memory;
use crate::order::SortKey;
use crate::parse::time::parse_time;
use crate::parse::{Parser, quote};
use crate::row::ResultRow;
use duramen::block::names;
use std::cmp::Ordering;
use std::fmt;

/// What to sort by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sort {
    /// Fields, and whether the greatest comes first.
    pub by: Vec<(Box<str>, bool)>,
    /// How many rows to leave out first.
    pub offset: usize,
    /// How many to give then.
    pub limit: Option<usize>,
}

impl Sort {
    pub(super) fn parse(p: &mut Parser<'_>) -> Result<Self, ParseError> {
        let by_word = p.eat_word("by")?;
        let key = |p: &mut Parser<'_>| {
            let name = p.field_name()?;
            let desc = p.eat_word("desc")?;
            if !desc {
                p.eat_word("asc")?;
            }
            Ok((name, desc))
        };
        let mut by = if p.at_punct('(') {
            p.list(key)?
        } else if by_word {
            let mut keys = vec![key(p)?];
            while p.eat_punct(',')? {
                keys.push(key(p)?);
            }
            keys
        } else {
            return Err(p.expected("`by (field, …)`"));
        };
        if by.is_empty() {
            return Err(p.error("sort needs a field to sort by", "write sort by (_time desc)"));
        }
        if p.eat_word("desc")? {
            by.iter_mut().for_each(|(_, desc)| *desc = !*desc);
        } else {
            p.eat_word("asc")?;
        }
        let mut sort = Self { by, offset: 0, limit: None };
        loop {
            if p.eat_word("limit")? {
                sort.limit = Some(p.count("a number of rows")?);
            } else if p.eat_word("offset")? {
                sort.offset = p.count("a number of rows")?;
            } else if p.at_pipe_end() {
                return Ok(sort);
            } else {
                return Err(p.expected("`desc`, `limit N`, `offset N` or `|`"));
            }
        }
    }

    /// The sort key of one of its fields.
    pub(crate) fn key(name: &str, text: &str) -> SortKey {
        match (name == names::TIME).then(|| parse_time(text)).flatten() {
            Some(time) => SortKey::int(time),
            None => SortKey::new(text),
        }
    }
}

impl fmt::Display for Sort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("sort by (")?;
        for (i, (name, desc)) in self.by.iter().enumerate() {
            write!(
                f,
                "{}{}{}",
                if i > 0 { ", " } else { "" },
                quote(name),
                if *desc { " desc" } else { "" }
            )?;
        }
        f.write_str(")")?;
        if self.offset > 0 {
            write!(f, " offset {}", self.offset)?;
        }
        self.limit.map_or(Ok(()), |n| write!(f, " limit {n}"))
    }
}

/// What breaks ties: rows that are equal stay in the order they came in, in which their numbers ascend.
pub(crate) type Arrival = [i64; 3];

struct Held {
    keys: Box<[SortKey]>,
    arrival: Arrival,
    row: ResultRow,
    bytes: usize,
}

/// Rows being sorted.
pub(crate) struct Sorter<'a> {
    sort: &'a Sort,
    memory: &'a Memory,
    held: Vec<Held>,
    /// How many rows can matter at all.
    keep: usize,
    /// The last of the best `keep`, once so many were seen.
    worst: Option<(Box<[SortKey]>, Arrival)>,
}

impl<'a> Sorter<'a> {
    pub fn new(sort: &'a Sort, memory: &'a Memory) -> Self {
        let keep = sort.limit.map_or(usize::MAX, |n| n.saturating_add(sort.offset));
        Self { sort, memory, held: Vec::new(), keep, worst: None }
    }

    fn compare(sort: &Sort, a: (&[SortKey], Arrival), b: (&[SortKey], Arrival)) -> Ordering {
        let keys = a.0.iter().zip(b.0).zip(&sort.by).map(
            |((x, y), (_, desc))| {
                if *desc { y.cmp(x) } else { x.cmp(y) }
            },
        );
        keys.fold(Ordering::Equal, Ordering::then).then(a.1.cmp(&b.1))
    }

    /// Whether a row with these keys can be in the answer.
    pub fn wants(&self, keys: &[SortKey], arrival: Arrival) -> bool {
        self.keep > 0
            && self
                .worst
                .as_ref()
                .is_none_or(|(k, a)| Self::compare(self.sort, (keys, arrival), (k, *a)).is_lt())
    }

    pub fn add(&mut self, keys: Box<[SortKey]>, arrival: Arrival, row: ResultRow) -> Result<()> {
        let keys_bytes: usize = keys.iter().map(|k| k.heap_bytes() + std::mem::size_of::<SortKey>()).sum();
        let bytes = row.heap_bytes() + keys_bytes + std::mem::size_of::<Held>();
        self.memory.charge(bytes, "sorting")?;
        self.held.push(Held { keys, arrival, row, bytes });
        if self.held.len() > self.keep.saturating_mul(2).saturating_add(64) {
            self.prune();
        }
        Ok(())
    }

    fn prune(&mut self) {
        let sort = self.sort;
        self.held.sort_unstable_by(|a, b| Self::compare(sort, (&a.keys, a.arrival), (&b.keys, b.arrival)));
        for dropped in self.held.drain(self.keep.min(self.held.len())..) {
            self.memory.release(dropped.bytes);
        }
        if self.held.len() == self.keep {
            self.worst = self.held.last().map(|h| (h.keys.clone(), h.arrival));
        }
    }

    /// Gives the rows on in order.
    pub fn drain(&mut self, next: &mut dyn Stage) -> Result<()> {
        self.prune();
        for mut held in self.held.drain(..).skip(self.sort.offset) {
            if next.push(&mut held.row)? == Flow::Stop {
                break;
            }
        }
        Ok(())
    }
}

/// Sorts rows that come out of another pipe.
pub(super) struct SortStage<'a> {
    sorter: Sorter<'a>,
    arrived: i64,
    next: Box<dyn Stage + 'a>,
}

impl<'a> SortStage<'a> {
    pub fn new(sort: &'a Sort, memory: &'a Memory, next: Box<dyn Stage + 'a>) -> Self {
        Self { sorter: Sorter::new(sort, memory), arrived: 0, next }
    }
}

impl Stage for SortStage<'_> {
    fn push(&mut self, row: &mut ResultRow) -> Result<Flow> {
        self.arrived += 1;
        let arrival = [0, 0, self.arrived];
        let keys: Box<[SortKey]> = self
            .sorter
            .sort
            .by
            .iter()
            .map(|(name, _)| Sort::key(name, row.get(name).unwrap_or("")))
            .collect();
        if self.sorter.wants(&keys, arrival) {
            self.sorter.add(keys, arrival, row.compact())?;
        }
        Ok(Flow::Continue)
    }

    fn finish(&mut self) -> Result<()> {
        self.sorter.drain(&mut *self.next)?;
        self.next.finish()
    }
}
