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
use crate::lsm::memtable::held::Held;
use crate::lsm::memtable::order::{Item, behind, goes_on, window};
use std::cmp::Ordering;
use std::sync::Arc;

/// How many items ahead in a run memory is asked for.
const AHEAD: usize = 8;

pub(super) struct VecCursor {
    memtable: Arc<VecMemtable>,
    held: Held,
    /// How many bytes all keys have in common: the windows show what is behind.
    skip: usize,
    common: Option<Arc<[u8]>>,
    runs: Vec<Run>,
    /// Entries from this number on are not for this cursor.
    visible: u32,
    /// How many cache lines an op has.
    lines: usize,
    /// While it is at a version.
    here: Here,
}

/// A sorted run, and how many of its items precede the cut.
struct Run {
    items: Arc<Vec<Item>>,
    cut: usize,
}

#[derive(Clone, Copy)]
struct Here {
    /// The version's run.
    run: usize,
    /// Whether the cut is before it.
    going_on: bool,
    number: u32,
}

impl VecCursor {
    pub(super) fn new(memtable: Arc<VecMemtable>, view: View, visible: u32) -> Self {
        let held = Held::new(Arc::clone(memtable.segment()));
        let lines = held.arena().lines_per_op(memtable.len());
        let skip = view.skip();
        let runs = view.runs.into_iter().map(|items| Run { items, cut: 0 }).collect();
        let here = Here { run: 0, going_on: true, number: 0 };
        Self { memtable, held, skip, common: view.common, runs, visible, lines, here }
    }

    /// To the least visible item behind the cuts.
    #[inline]
    fn go_on(&mut self) {
        let arena = self.held.arena();
        let mut least: Option<(usize, &Item)> = None;
        for (nth, run) in self.runs.iter_mut().enumerate() {
            while run.items.get(run.cut).is_some_and(|item| item.number >= self.visible) {
                run.cut += 1;
            }
            if let Some(item) = run.items.get(run.cut)
                && least.is_none_or(|(_, least)| item.compare(least, self.skip, arena).is_lt())
            {
                least = Some((nth, item));
            }
        }
        let least = least.map(|(run, item)| (run, *item));
        self.arrive(least, true);
    }

    /// To the greatest visible item before the cuts.
    #[inline]
    fn go_back(&mut self) {
        let arena = self.held.arena();
        let mut greatest: Option<(usize, &Item)> = None;
        for (nth, run) in self.runs.iter_mut().enumerate() {
            let items = &run.items;
            let before = |cut: usize| cut.checked_sub(1).and_then(|at| items.get(at));
            while before(run.cut).is_some_and(|item| item.number >= self.visible) {
                run.cut -= 1;
            }
            if let Some(item) = before(run.cut)
                && greatest.is_none_or(|(_, greatest)| item.compare(greatest, self.skip, arena).is_gt())
            {
                greatest = Some((nth, item));
            }
        }
        let greatest = greatest.map(|(run, item)| (run, *item));
        self.arrive(greatest, false);
    }

    #[inline]
    fn arrive(&mut self, found: Option<(usize, Item)>, going_on: bool) {
        self.held.go_to(found.map(|(_, item)| item.offset));
        if let Some((run, item)) = found {
            self.here = Here { run, going_on, number: item.number };
        }
    }

    /// Cuts the runs before the first version of `key` that is not newer than `seq`.
    fn cut(&mut self, key: &[u8], seq: u64) {
        let arena = self.held.arena();
        let count = self.memtable.count_through(seq);
        let skip = self.skip;
        let start = &key[..skip.min(key.len())];
        let common = start.cmp(self.common.as_deref().unwrap_or_default());
        let sought = window(key, skip);
        let precedes = |item: &Item| {
            let keys = item.window.cmp(&sought).then_with(|| {
                if !goes_on(sought) {
                    return Ordering::Equal;
                }
                behind(arena.key(item.offset), skip).cmp(behind(key, skip))
            });
            keys.is_lt() || keys.is_eq() && item.number >= count
        };
        for run in &mut self.runs {
            run.cut = match common {
                Ordering::Less => 0,
                Ordering::Greater => run.items.len(),
                Ordering::Equal => run.items.partition_point(precedes),
            };
        }
    }

    /// Moves the cut of the present version's run over that version, if it is on the side that one goes to, and asks
    /// for memory of what comes there.
    #[inline]
    fn pass(&mut self, going_on: bool) {
        if self.here.going_on != going_on {
            return;
        }
        let Some(run) = self.runs.get_mut(self.here.run) else { return };
        let ahead = if going_on {
            run.cut += 1;
            run.cut + AHEAD
        } else {
            run.cut -= 1;
            run.cut.wrapping_sub(1 + AHEAD)
        };
        if let Some(item) = run.items.get(ahead) {
            self.held.arena().ask_for(item.offset, self.lines);
        }
    }
}

impl Cursor for VecCursor {
    fn seek_to_first(&mut self) -> Result<()> {
        self.runs.iter_mut().for_each(|run| run.cut = 0);
        self.go_on();
        Ok(())
    }

    fn seek_to_last(&mut self) -> Result<()> {
        self.runs.iter_mut().for_each(|run| run.cut = run.items.len());
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

    #[inline]
    fn next(&mut self) -> Result<()> {
        if self.held.valid() {
            self.pass(true);
            self.go_on();
        }
        Ok(())
    }

    #[inline]
    fn prev(&mut self) -> Result<()> {
        if self.held.valid() {
            self.pass(false);
            self.go_back();
        }
        Ok(())
    }

    #[inline]
    fn valid(&self) -> bool {
        self.held.valid()
    }

    #[inline]
    fn key(&self) -> &[u8] {
        self.held.key()
    }

    #[inline]
    fn seq(&self) -> u64 {
        self.memtable.seq_of(self.here.number)
    }

    #[inline]
    fn kind(&self) -> OpKind {
        self.held.kind()
    }

    #[inline]
    fn value(&self) -> &[u8] {
        self.held.value()
    }
}
