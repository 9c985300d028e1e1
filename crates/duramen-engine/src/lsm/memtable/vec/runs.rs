//! The order that scans need, made by them.
//!
//! ```text
//! entries  0 ......................... 4000 ... 4700 . 4800 | 4812   as they came
//! runs     [ 0..4000, sorted         ] [ ..4700 ] [ ..4800 ]         what scans have sorted so far
//! ```
//!
//! A scan sorts what came since the last one into a new run. A run that is not twice as large as the one behind it
//! is merged with it, so there are few, and what a memtable sorts for all scans together is a small multiple of
//! what it would sort once. Runs are immutable and shared; whoever inserts knows nothing of them.

use super::entries::Entries;
use crate::kv::shared_len;
use crate::lsm::memtable::arena::Arena;
use crate::lsm::memtable::order::{Item, sort, window};
use crate::wal::SegmentReader;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many keys are looked at to guess what all have in common.
const SAMPLE: u32 = 32;

#[derive(Debug)]
pub(super) struct Runs {
    /// Locked by readers only.
    state: Mutex<State>,
    bytes: AtomicUsize,
}

#[derive(Debug)]
struct State {
    /// How many entries are in the runs, or delete ranges.
    covered: u32,
    /// The newest last.
    view: View,
}

/// The runs at one moment.
#[derive(Clone, Debug)]
pub(super) struct View {
    /// What all keys begin with. Windows show what is behind it. `None` while there are none.
    pub(super) common: Option<Arc<[u8]>>,
    /// Each sorted; not empty.
    pub(super) runs: Vec<Arc<Vec<Item>>>,
}

impl View {
    /// How many bytes all keys have in common.
    #[inline]
    pub(super) fn skip(&self) -> usize {
        self.common.as_ref().map_or(0, |common| common.len())
    }
}

impl Runs {
    pub(super) fn new() -> Self {
        let view = View { common: None, runs: Vec::new() };
        Self { state: Mutex::new(State { covered: 0, view }), bytes: AtomicUsize::new(0) }
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs that have the entries below `count`, and perhaps some more.
    pub(super) fn view(&self, count: u32, entries: &Entries, segment: &SegmentReader) -> View {
        let mut state = self.state();
        if state.covered < count {
            // All that there are, not only those asked for: the next scan comes.
            state.extend(entries.len(), entries, Arena::of(segment));
            let items: usize = state.view.runs.iter().map(|run| run.capacity()).sum();
            self.bytes.store(items * size_of::<Item>(), Ordering::Relaxed);
        }
        state.view.clone()
    }

    /// All entries in one run. It is not kept, unless scans have made it.
    pub(super) fn all(&self, entries: &Entries, segment: &SegmentReader) -> Arc<Vec<Item>> {
        let state = self.state();
        let count = entries.len();
        if let [run] = state.view.runs.as_slice()
            && state.covered == count
        {
            return Arc::clone(run);
        }
        drop(state);
        let arena = Arena::of(segment);
        let (mut items, common) = extract(0..count, entries, arena, None);
        sort(&mut items, common.len(), arena);
        Arc::new(items)
    }
}

impl State {
    fn extend(&mut self, count: u32, entries: &Entries, arena: Arena<'_>) {
        let (mut items, common) = extract(self.covered..count, entries, arena, self.view.common.as_deref());
        self.covered = count;
        if items.is_empty() {
            return;
        }
        let skip = common.len();
        if self.view.common.is_none() || skip < self.view.skip() {
            for run in &mut self.view.runs {
                let shown_anew =
                    run.iter().map(|item| Item { window: window(arena.key(item.offset), skip), ..*item });
                *run = Arc::new(shown_anew.collect());
            }
            self.view.common = Some(Arc::from(common));
        }
        sort(&mut items, skip, arena);
        while let Some(last) = self.view.runs.pop_if(|last| last.len() < items.len() * 2) {
            items = merge(&last, &items, skip, arena);
        }
        self.view.runs.push(Arc::new(items));
    }
}

/// Makes items of the entries in `numbers` that do not delete ranges, and says what they and `common` begin with.
fn extract<'a>(
    numbers: Range<u32>,
    entries: &Entries,
    arena: Arena<'a>,
    common: Option<&'a [u8]>,
) -> (Vec<Item>, &'a [u8]) {
    let key = |number: u32| arena.key(entries.get(number).offset());
    let is_key = |number: &u32| !entries.get(*number).deletes_range();
    // Mostly a few keys show what all have in common, and one pass is enough.
    let step = (numbers.len() as u32 / SAMPLE).max(1) as usize;
    let mut common = common;
    let mut shorten = |number: u32| {
        let key = key(number);
        let shorter = common.map_or(key, |common| &common[..shared_len(common, key)]);
        common = Some(shorter);
        shorter
    };
    let mut shared: &[u8] = &[];
    for number in numbers.clone().step_by(step).chain(numbers.clone().last()).filter(is_key) {
        shared = shorten(number);
    }
    let mut items = Vec::with_capacity(numbers.len());
    for number in numbers.clone() {
        let entry = entries.get(number);
        if entry.deletes_range() {
            continue;
        }
        let key = arena.key(entry.offset());
        if !key.starts_with(shared) {
            // Begin anew, with what really all have in common.
            for number in numbers.clone().filter(is_key) {
                shared = shorten(number);
            }
            let items = numbers.filter(is_key).map(|number| item(number, entries, arena, shared.len()));
            return (items.collect(), shared);
        }
        items.push(Item { window: window(key, shared.len()), number, offset: entry.offset() });
    }
    (items, shared)
}

#[inline]
fn item(number: u32, entries: &Entries, arena: Arena<'_>, skip: usize) -> Item {
    let offset = entries.get(number).offset();
    Item { window: window(arena.key(offset), skip), number, offset }
}

fn merge(a: &[Item], b: &[Item], skip: usize, arena: Arena<'_>) -> Vec<Item> {
    let mut merged = Vec::with_capacity(a.len() + b.len());
    let (mut a, mut b) = (a, b);
    while let ([first_a, rest_a @ ..], [first_b, rest_b @ ..]) = (a, b) {
        if first_a.compare(first_b, skip, arena).is_lt() {
            merged.push(*first_a);
            a = rest_a;
        } else {
            merged.push(*first_b);
            b = rest_b;
        }
    }
    merged.extend_from_slice(a);
    merged.extend_from_slice(b);
    merged
}
