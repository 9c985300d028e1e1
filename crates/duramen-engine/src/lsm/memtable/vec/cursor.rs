//! Going through runs as if they were one.
//!
//! ```text
//! run 0   a c | g k       each run is cut at the same place in the order of versions
//! run 1   b   | d h       going on:  the least of what follows the cuts,   here d
//! run 2   e     f |       going back: the greatest of what precedes them,  here f
//! ```
//!
//! The cut is before the present version when it was reached going on, behind it when going back, so changing direction
//! moves nothing. There are few runs; they are looked at one by one.

use super::VecMemtable;
use super::runs::View;
use crate::Result;
use crate::kv::OpKind;
use crate::lsm::cursor::Cursor;
use crate::lsm::memtable::Memtable;
use crate::lsm::memtable::arena::Arena;
use crate::lsm::memtable::order::{Item, behind, goes_on, window};
use crate::lsm::memtable::prefetch::prefetch;
use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

/// How many items ahead in a run memory is asked for.
const AHEAD: usize = 8;

#[derive(Debug)]
pub(super) struct VecCursor {
    memtable: Arc<VecMemtable>,
    view: View,
    /// The cut of each run: how many items precede it.
    cuts: Vec<usize>,
    /// Entries from this number on are not for this cursor.
    visible: u32,
    here: Option<Here>,
}

#[derive(Clone, Debug)]
struct Here {
    run: usize,
    /// Whether the cut is before it.
    going_on: bool,
    item: Item,
    kind: OpKind,
    key: Range<u32>,
    value: Range<u32>,
}

impl Here {
    #[inline]
    fn new(run: usize, item: Item, going_on: bool, arena: Arena<'_>) -> Self {
        let at = arena.op(item.offset);
        Self { run, going_on, item, kind: at.op.kind, key: at.key(), value: at.value() }
    }
}

impl VecCursor {
    pub(super) fn new(memtable: Arc<VecMemtable>, view: View, visible: u32) -> Self {
        let cuts = vec![0; view.runs.len()];
        Self { memtable, view, cuts, visible, here: None }
    }

    /// To the least visible item behind the cuts.
    fn go_on(&mut self) {
        let arena = Arena::of(self.memtable.segment());
        let skip = self.view.skip();
        let mut least: Option<(usize, &Item)> = None;
        for (nth, (run, cut)) in self.view.runs.iter().zip(&mut self.cuts).enumerate() {
            while run.get(*cut).is_some_and(|item| item.number >= self.visible) {
                *cut += 1;
            }
            if let Some(item) = run.get(*cut)
                && least.is_none_or(|(_, least)| item.compare(least, skip, arena).is_lt())
            {
                least = Some((nth, item));
            }
        }
        self.here = least.map(|(run, item)| Here::new(run, *item, true, arena));
    }

    /// To the greatest visible item before the cuts.
    fn go_back(&mut self) {
        let arena = Arena::of(self.memtable.segment());
        let skip = self.view.skip();
        let mut greatest: Option<(usize, &Item)> = None;
        for (nth, (run, cut)) in self.view.runs.iter().zip(&mut self.cuts).enumerate() {
            let before = |cut: usize| cut.checked_sub(1).and_then(|at| run.get(at));
            while before(*cut).is_some_and(|item| item.number >= self.visible) {
                *cut -= 1;
            }
            if let Some(item) = before(*cut)
                && greatest.is_none_or(|(_, greatest)| item.compare(greatest, skip, arena).is_gt())
            {
                greatest = Some((nth, item));
            }
        }
        self.here = greatest.map(|(run, item)| Here::new(run, *item, false, arena));
    }

    /// Cuts the runs before the first version of `key` that is not newer than `seq`.
    fn cut(&mut self, key: &[u8], seq: u64) {
        self.here = None;
        let arena = Arena::of(self.memtable.segment());
        let count = self.memtable.count_through(seq);
        let common = self.view.common.as_deref().unwrap_or_default();
        let skip = common.len();
        let sought = window(key, skip);
        for (run, cut) in self.view.runs.iter().zip(&mut self.cuts) {
            *cut = match key[..skip.min(key.len())].cmp(common) {
                Ordering::Less => 0,
                Ordering::Greater => run.len(),
                Ordering::Equal => run.partition_point(|item| {
                    let keys = item.window.cmp(&sought).then_with(|| {
                        if !goes_on(sought) {
                            return Ordering::Equal;
                        }
                        behind(arena.key(item.offset), skip).cmp(behind(key, skip))
                    });
                    keys.then_with(|| if item.number >= count { Ordering::Less } else { Ordering::Greater })
                        .is_lt()
                }),
            };
        }
    }

    fn cut_all(&mut self, place: impl Fn(usize) -> usize) {
        self.here = None;
        for (run, cut) in self.view.runs.iter().zip(&mut self.cuts) {
            *cut = place(run.len());
        }
    }

    fn ask_for(&self, run: usize, at: usize) {
        if let Some(item) = self.view.runs.get(run).and_then(|run| run.get(at)) {
            prefetch(Arena::of(self.memtable.segment()).address(item.offset));
        }
    }

    fn bytes(&self, range: impl Fn(&Here) -> &Range<u32>) -> &[u8] {
        let Some(range) = self.here.as_ref().map(range) else { return &[] };
        self.memtable.segment().bytes(range.start, range.end - range.start).unwrap_or_default()
    }
}

impl Cursor for VecCursor {
    fn seek_to_first(&mut self) -> Result<()> {
        self.cut_all(|_| 0);
        self.go_on();
        Ok(())
    }

    fn seek_to_last(&mut self) -> Result<()> {
        self.cut_all(|len| len);
        self.go_back();
        Ok(())
    }

    fn seek(&mut self, key: &[u8], seq: u64) -> Result<()> {
        self.cut(key, seq);
        self.go_on();
        Ok(())
    }

    fn seek_before(&mut self, key: &[u8], seq: u64) -> Result<()> {
        self.cut(key, seq);
        self.go_back();
        Ok(())
    }

    fn next(&mut self) -> Result<()> {
        let Some(here) = &self.here else { return Ok(()) };
        let run = here.run;
        if here.going_on
            && let Some(cut) = self.cuts.get_mut(run)
        {
            *cut += 1;
            let ahead = *cut + AHEAD;
            self.ask_for(run, ahead);
        }
        self.go_on();
        Ok(())
    }

    fn prev(&mut self) -> Result<()> {
        let Some(here) = &self.here else { return Ok(()) };
        let run = here.run;
        if !here.going_on
            && let Some(cut) = self.cuts.get_mut(run)
        {
            *cut -= 1;
            let ahead = cut.wrapping_sub(1 + AHEAD);
            self.ask_for(run, ahead);
        }
        self.go_back();
        Ok(())
    }

    #[inline]
    fn valid(&self) -> bool {
        self.here.is_some()
    }

    #[inline]
    fn key(&self) -> &[u8] {
        self.bytes(|here| &here.key)
    }

    #[inline]
    fn seq(&self) -> u64 {
        self.here.as_ref().map_or(0, |here| self.memtable.seq_of(here.item.number))
    }

    #[inline]
    fn kind(&self) -> OpKind {
        self.here.as_ref().map_or(OpKind::Delete, |here| here.kind)
    }

    #[inline]
    fn value(&self) -> &[u8] {
        self.bytes(|here| &here.value)
    }
}
