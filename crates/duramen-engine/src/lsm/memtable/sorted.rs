//! All of a memtable in order, for the flush.

use super::arena::Arena;
use super::order::Item;
use super::{Memtable, SkiplistMemtable, VecMemtable};
use crate::kv::OpKind;
use std::sync::Arc;

/// How many entries ahead memory is asked for: far enough for it to arrive, and few enough for the processor to
/// have them all under way.
const AHEAD: usize = 12;

/// All versions in a memtable, by key, then the newest first; deleted ranges are not among them. It keeps the
/// memtable alive. May be shared by threads.
#[derive(Clone, Debug)]
pub(in crate::lsm) struct Sorted(Order);

#[derive(Clone, Debug)]
enum Order {
    /// They were inserted in order.
    AsInserted(Arc<VecMemtable>),
    /// Entries of a `VecMemtable`.
    Numbered(Arc<VecMemtable>, Arc<Vec<Item>>),
    /// Sequence numbers and offsets of another.
    Listed(Arc<SkiplistMemtable>, Vec<(u64, u32)>),
}

/// A version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::lsm) struct SortedEntry<'a> {
    pub(in crate::lsm) key: &'a [u8],
    pub(in crate::lsm) seq: u64,
    /// Put or Delete.
    pub(in crate::lsm) kind: OpKind,
    pub(in crate::lsm) value: &'a [u8],
}

impl Sorted {
    pub(super) fn as_inserted(memtable: Arc<VecMemtable>) -> Self {
        Self(Order::AsInserted(memtable))
    }

    pub(super) fn numbered(memtable: Arc<VecMemtable>, items: Arc<Vec<Item>>) -> Self {
        Self(Order::Numbered(memtable, items))
    }

    pub(super) fn listed(memtable: Arc<SkiplistMemtable>, entries: Vec<(u64, u32)>) -> Self {
        Self(Order::Listed(memtable, entries))
    }

    /// Goes through them in order. Their memory is asked for ahead of time.
    pub(in crate::lsm) fn iter(&self) -> SortedIter<'_> {
        let (segment, places) = match &self.0 {
            Order::AsInserted(memtable) => (memtable.segment(), memtable.len()),
            Order::Numbered(memtable, items) => (memtable.segment(), items.len()),
            Order::Listed(memtable, entries) => (memtable.segment(), entries.len()),
        };
        let arena = Arena::of(segment);
        let iter = SortedIter { order: &self.0, arena, at: 0, places, lines: arena.lines_per_op(places) };
        (0..AHEAD).for_each(|at| iter.prepare(at));
        iter
    }
}

/// Goes through all versions in a memtable in order.
#[derive(Clone, Debug)]
pub(in crate::lsm) struct SortedIter<'a> {
    order: &'a Order,
    arena: Arena<'a>,
    at: usize,
    places: usize,
    lines: usize,
}

impl SortedIter<'_> {
    #[inline]
    fn prepare(&self, at: usize) {
        let offset = match self.order {
            // The processor notices by itself that memory is read from front to end.
            Order::AsInserted(_) => return,
            Order::Numbered(_, items) => items.get(at).map(|item| item.offset),
            Order::Listed(_, entries) => entries.get(at).map(|(_, offset)| *offset),
        };
        if let Some(offset) = offset {
            self.arena.ask_for(offset, self.lines);
        }
    }
}

impl<'a> Iterator for SortedIter<'a> {
    type Item = SortedEntry<'a>;

    #[inline]
    fn next(&mut self) -> Option<SortedEntry<'a>> {
        while self.at < self.places {
            self.prepare(self.at + AHEAD);
            let (seq, offset) = match self.order {
                Order::AsInserted(memtable) => memtable.place(self.at as u32),
                Order::Numbered(memtable, items) => {
                    items.get(self.at).map(|item| (memtable.seq_of(item.number), item.offset))
                }
                Order::Listed(_, entries) => entries.get(self.at).copied(),
            }?;
            self.at += 1;
            let op = self.arena.op(offset).op;
            if op.kind != OpKind::DeleteRange {
                return Some(SortedEntry { key: op.key, seq, kind: op.kind, value: op.value });
            }
        }
        None
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.places - self.at))
    }
}
