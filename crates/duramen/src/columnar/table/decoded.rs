//! What was decoded of a block, and when it was last of use: when memory is short, a cache has the block forget some of it.

use super::{TableBlock, get_or_make};
use crate::error::Result;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

/// Time as a cache counts it, in queries that leave no room: what is decoded remembers when it was last used. Those who share it
/// share its count.
#[derive(Clone, Debug, Default)]
pub(crate) struct QueryClock(Arc<AtomicU32>);

impl QueryClock {
    /// One query more for which there was not enough room.
    pub(crate) fn tick(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether there was no room for all that is decoded, once.
    fn was_ever_pressed(&self) -> bool {
        self.now() > 0
    }

    pub(crate) fn now(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A value that is decoded when it is first asked for.
pub(super) struct Decoded<T> {
    value: OnceLock<T>,
    used: AtomicU32,
    /// Whether somebody asked who would do without.
    was_spared: AtomicBool,
}

impl<T> Default for Decoded<T> {
    fn default() -> Self {
        Self { value: OnceLock::new(), used: AtomicU32::new(0), was_spared: AtomicBool::new(false) }
    }
}

impl<T: fmt::Debug> fmt::Debug for Decoded<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

impl<T> Decoded<T> {
    /// So many that nobody has decoded.
    pub(super) fn none(count: usize) -> Vec<Self> {
        std::iter::repeat_with(Self::default).take(count).collect()
    }

    fn touch(&self, clock: &QueryClock) {
        let now = clock.now();
        // Mostly the same query as before: what several threads read is not written.
        if self.used.load(Ordering::Relaxed) != now {
            self.used.store(now, Ordering::Relaxed);
        }
    }

    /// The value, for one who uses it.
    pub(super) fn get(&self, clock: &QueryClock) -> Option<&T> {
        let value = self.value.get()?;
        self.touch(clock);
        Some(value)
    }

    /// Whether one who can do without the value should: it is not there, and this is the first who asks, for a second may never come;
    /// or there was no room for all, once. Remembers that somebody asked.
    pub(super) fn spare(&self, clock: &QueryClock) -> bool {
        let is_missing = self.value.get().is_none();
        is_missing && (!self.was_spared.swap(true, Ordering::Relaxed) || clock.was_ever_pressed())
    }

    /// The value, for one who only looks whether it is there.
    pub(super) fn peek(&self) -> Option<&T> {
        self.value.get()
    }

    pub(super) fn get_or_init(&self, clock: &QueryClock, make: impl FnOnce() -> T) -> &T {
        self.touch(clock);
        self.value.get_or_init(make)
    }

    /// As [`get_or_make`].
    pub(super) fn get_or_make(&self, clock: &QueryClock, make: impl FnOnce() -> Result<T>) -> Result<&T> {
        self.touch(clock);
        get_or_make(&self.value, make)
    }
}

/// Something that a block may forget, as [`TableBlock::parts`] tells of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PartId {
    Times,
    Identities,
    Grams,
    Column(usize),
    Bundle(usize),
    Map(usize),
    Outline(usize),
    Filter(usize),
}

/// A part that is there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DecodedPart {
    pub(crate) id: PartId,
    pub(crate) bytes: usize,
    /// The [`QueryClock`]'s time when it was last used.
    pub(crate) used: u32,
}

/// What was forgotten, to be freed when it is convenient.
pub(crate) type Forgotten = Box<dyn Send + Sync>;

impl TableBlock {
    /// What was decoded and can be decoded again.
    pub(crate) fn parts(&self) -> impl Iterator<Item = DecodedPart> {
        fn part<T>(cell: &Decoded<T>, id: PartId, bytes: impl Fn(&T) -> usize) -> Option<DecodedPart> {
            let bytes = bytes(cell.value.get()?);
            Some(DecodedPart { id, bytes, used: cell.used.load(Ordering::Relaxed) })
        }
        fn all<T>(
            cells: &[Decoded<T>],
            id: impl Fn(usize) -> PartId,
            bytes: impl Fn(&T) -> usize,
        ) -> impl Iterator<Item = DecodedPart> {
            cells.iter().enumerate().filter_map(move |(i, cell)| part(cell, id(i), &bytes))
        }
        let rows = self.directory.rows;
        part(&self.times, PartId::Times, |_| rows * 8)
            .into_iter()
            .chain(part(&self.identities, PartId::Identities, |_| rows * 16))
            .chain(part(&self.grams, PartId::Grams, |grams| grams.bytes()))
            .chain(all(&self.columns, PartId::Column, |column| column.bytes()))
            .chain(all(&self.bundles, PartId::Bundle, |bundle| bundle.bytes()))
            .chain(all(&self.maps, PartId::Map, |map| map.len() * 8))
            .chain(all(&self.outlines, PartId::Outline, |outline| outline.bytes()))
            .chain(all(&self.filter, PartId::Filter, |filter| filter.bytes()))
    }

    /// Which bundles nobody needs while the column stays that was decoded from them.
    pub(crate) fn spare_bundles(&self) -> Vec<bool> {
        let mut are_spare = vec![false; self.bundles.len()];
        let decoded =
            self.columns.iter().zip(&self.directory.columns).filter(|(cell, _)| cell.peek().is_some());
        for at in decoded.flat_map(|(_, column)| column.form.locations()) {
            if let (Some(is_spare), Some(false)) =
                (are_spare.get_mut(at.bundle), self.are_shared.get(at.bundle))
            {
                *is_spare = true;
            }
        }
        are_spare
    }

    /// Forgets a part: who asks for it has it decoded again.
    pub(crate) fn forget(&mut self, part: PartId) -> Option<Forgotten> {
        fn take<T: Send + Sync + 'static>(cell: Option<&mut Decoded<T>>) -> Option<Forgotten> {
            Some(Box::new(cell?.value.take()?))
        }
        match part {
            PartId::Times => take(Some(&mut self.times)),
            PartId::Identities => take(Some(&mut self.identities)),
            PartId::Grams => take(Some(&mut self.grams)),
            PartId::Column(i) => take(self.columns.get_mut(i)),
            PartId::Bundle(i) => take(self.bundles.get_mut(i)),
            PartId::Map(i) => take(self.maps.get_mut(i)),
            PartId::Outline(i) => take(self.outlines.get_mut(i)),
            PartId::Filter(i) => take(self.filter.get_mut(i)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::bundles::tests::block_of;
    use super::*;
    use crate::EntryBuf;
    use crate::block::{Block, Needle, Word, names};

    /// What all readers are told of a block.
    fn told(block: &TableBlock) -> Vec<String> {
        let mut told = vec![format!("{:?}", block.times().unwrap())];
        told.extend((0..block.rows()).map(|row| format!("{:?}", block.identity(row).unwrap())));
        let words = [Word { text: "of", is_whole: true, any_case: false }];
        let certain = |text: &str| text.contains("of");
        let needle = Needle { words: &words, certain: &certain, reaches: &certain, run: None };
        // Before its column is there.
        let found = block.search(names::MESSAGE, &needle).unwrap();
        let found = found.map(|found| [found.certain, found.possible].concat().iter().any(|&word| word != 0));
        assert_ne!(found, Some(false));
        for name in block.field_names().unwrap() {
            told.push(format!("{name} {:?}", block.rows_having(&name).unwrap()));
            told.push(format!("{:?}", block.may_contain_words(&name, &[7]).unwrap()));
            let column = block.column(&name).unwrap().unwrap();
            told.extend(
                (0..block.rows()).map(|row| format!("{:?}", column.text(row, &mut Default::default()))),
            );
        }
        told
    }

    #[test]
    fn what_is_forgotten_is_decoded_again() {
        let mut buf = EntryBuf::new(["app"]);
        let entry = |n: i64| {
            buf.start(n * 1_000_003).message(&format!(
                "number {n} of user {} took {} ms",
                n % 37,
                n * 7 % 101
            ));
            buf.field("app", if n % 3 == 0 { "a" } else { "b" }).field("n", n * n);
            if n % 5 < 2 {
                buf.field("agent", format!("{:x} and {n}", n * 0x9e37_79b9).as_str());
            }
            buf.finish().unwrap().to_vec()
        };
        let entries: Vec<Vec<u8>> = (0..3_000).map(entry).collect();
        let clock = QueryClock::default();
        let mut block = block_of(&entries).timed(clock.clone());
        let before = block.memory_bytes();
        let expected = told(&block);
        let parts: Vec<DecodedPart> = block.parts().collect();
        assert!(parts.iter().any(|part| part.id == PartId::Times && part.bytes == 3_000 * 8));
        let kinds = |is_kind: &dyn Fn(PartId) -> bool| parts.iter().any(|part| is_kind(part.id));
        assert!(kinds(&|id| matches!(id, PartId::Column(_))) && kinds(&|id| matches!(id, PartId::Bundle(_))));
        assert!(kinds(&|id| matches!(id, PartId::Outline(_))) && kinds(&|id| matches!(id, PartId::Map(_))));
        clock.tick();
        for part in &parts {
            let all = block.memory_bytes();
            assert!(block.forget(part.id).is_some());
            assert_eq!(block.memory_bytes(), all - part.bytes, "{:?}", part.id);
            assert!(block.forget(part.id).is_none(), "it is not there any more");
            assert_eq!(told(&block), expected, "without {:?}", part.id);
            assert!(block.parts().any(
                |again| again.id == part.id || matches!(part.id, PartId::Bundle(_) | PartId::Outline(_))
            ));
        }
        parts.iter().for_each(|part| drop(block.forget(part.id)));
        let own = block.memory_bytes();
        assert!((before..before + 20_000).contains(&own), "{before}, then {own} bytes");
        assert_eq!(told(&block), expected);
        assert!(block.parts().all(|part| part.used == 1), "the second query used all");
        assert_eq!([PartId::Column(99), PartId::Filter(99)].map(|id| block.forget(id).is_some()), [false; 2]);
    }
}
