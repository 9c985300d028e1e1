//! The blocks of tables, from what the manifest says of them to a block that is open.

use crate::block::{Block, BlockHandle, BlockStreams, Looks, ValueWords};
use crate::columnar::{FewValues, TableBlock, TimeCounts};
use crate::error::{Error, Result};
use crate::store::known_words::may_have_words;
use crate::store::pin::Pin;
use crate::store::ranges_ahead::{filters_ahead, has_filter_behind, ranges_ahead};
use crate::store::reading::Reading;
use crate::store::table_facts::{BlockFacts, KnownTable};
use crate::store::tables::{OpenTable, TableCache};
use duramen_engine::manifest::{State, TableMeta};
use duramen_engine::sstable::{BlockMeta, Table};
use std::ops::Range;
use std::sync::Arc;

/// So many bytes at the end of a block are fetched before it is opened, if it is not known how long its filters are: its
/// directory lies there, and before it, in tables of earlier versions, they do.
const AHEAD_BYTES: u64 = 96 << 10;
/// The filters of so many blocks of a table are fetched at once, where they lie side by side.
const FILTERS_AHEAD: usize = 32;
/// Unless that would be more than so many bytes: some of it may be for blocks that nobody looks at.
const MOST_FILTER_BYTES_AHEAD: u64 = 1 << 20;

/// The blocks of all tables of a snapshot.
#[derive(Clone, Debug)]
pub(crate) struct TableBlocks {
    cache: Arc<TableCache>,
    /// Their files must stay.
    pin: Pin,
    /// In the order in which they were written: the latest last.
    tables: Vec<Arc<KnownTable>>,
}

impl TableBlocks {
    /// # Errors
    /// [`Error::Decode`] if the manifest's facts make no sense.
    pub(crate) fn of(cache: &Arc<TableCache>, state: &State, pin: &Pin) -> Result<Self> {
        let tables = state.tables.values().map(|meta| cache.known(meta)).collect::<Result<_>>()?;
        Ok(Self { cache: cache.clone(), pin: pin.clone(), tables })
    }

    /// Those that may hold rows from `min_time` to `max_time`, both included.
    pub(crate) fn between(&self, min_time: i64, max_time: i64) -> Vec<Arc<TableBlockHandle>> {
        let overlaps = |(min, max)| max >= min_time && min <= max_time;
        let tables = self.tables.iter().filter(|table| overlaps(table.times)).cloned().collect();
        let reading = Arc::new(Reading::new(&self.cache, &self.pin, tables));
        let handles = reading.tables().iter().flat_map(|table| TableBlockHandle::all(&reading, table));
        handles.filter(|handle| overlaps((handle.min_time(), handle.max_time()))).map(Arc::new).collect()
    }

    pub(crate) fn rows(&self) -> u64 {
        // Each may say anything, if the manifest is damaged.
        self.tables
            .iter()
            .flat_map(|table| &table.blocks)
            .fold(0, |sum: u64, block| sum.saturating_add(block.rows))
    }
}

/// A block of a table, not yet read.
#[derive(Debug)]
pub(crate) struct TableBlockHandle {
    table: Arc<KnownTable>,
    /// There is such a block.
    index: usize,
    reading: Arc<Reading>,
}

impl TableBlockHandle {
    /// The blocks of a table, as the manifest knows them.
    ///
    /// # Errors
    /// [`Error::Decode`] if the manifest's facts make no sense.
    pub(crate) fn of(cache: &Arc<TableCache>, meta: &TableMeta, pin: &Pin) -> Result<Vec<Arc<Self>>> {
        let table = cache.known(meta)?;
        let reading = Arc::new(Reading::new(cache, pin, vec![table.clone()]));
        Ok(Self::all(&reading, &table).map(Arc::new).collect())
    }

    fn all(reading: &Arc<Reading>, table: &Arc<KnownTable>) -> impl Iterator<Item = Self> {
        (0..table.blocks.len()).map(|index| Self { reading: reading.clone(), table: table.clone(), index })
    }

    fn facts(&self) -> &BlockFacts {
        &self.table.blocks[self.index]
    }
}

impl TableBlockHandle {
    fn open_table(&self) -> Result<Arc<OpenTable>> {
        self.reading.open(&self.table)
    }

    /// Asks for the parts of the filter of words, with those of the blocks beside it where they lie behind all and are not too
    /// much. What is kept is not asked for.
    fn will_look_in(&self, table: &Table, looks: Looks) {
        let (blocks, group) = (table.blocks(), self.index / FILTERS_AHEAD);
        let Some(meta) = blocks.get(self.index).filter(|_| looks.at_words != 0) else { return };
        let kept = self.reading.word_filters();
        let of_blocks = |first: usize, blocks: &[BlockMeta]| {
            let is_kept = |at, part| kept.get((self.table.number, first + at, part)).is_some();
            filters_ahead(blocks, looks.at_words, &is_kept)
        };
        let ask = |ranges: Vec<Range<u64>>| ranges.into_iter().for_each(|range| table.will_read_range(range));
        let of_group = || {
            let of_group = blocks.chunks(FILTERS_AHEAD).nth(group).unwrap_or_default();
            let all = of_blocks(group * FILTERS_AHEAD, of_group);
            let bytes: u64 = all.iter().map(|range| range.end - range.start).sum();
            let is_little = bytes <= MOST_FILTER_BYTES_AHEAD;
            if is_little {
                ask(all);
            }
            is_little
        };
        let key = (self.table.number, group, looks.at_words);
        if !(has_filter_behind(meta) && self.reading.asked_for_filters(key, of_group)) {
            ask(of_blocks(self.index, std::slice::from_ref(meta)));
        }
    }

    /// Opens the block as what it is, for those who need more of it than a query does.
    ///
    /// # Errors
    /// As [`BlockHandle::open`].
    pub(crate) fn open_table_block(&self) -> Result<TableBlock> {
        let open = self.open_table()?;
        let table = &open.table;
        let meta = table.blocks().get(self.index).ok_or_else(|| {
            Error::decode("a table's index", format!("{} has no block {}", self.table.path, self.index))
        })?;
        let block = TableBlock::open(table.clone(), meta.directory, &meta.filters)?;
        if block.rows() as u64 != self.facts().rows {
            let detail = format!(
                "block {} of {} has {} rows, the manifest says {}",
                self.index,
                self.table.path,
                block.rows(),
                self.facts().rows
            );
            return Err(Error::decode("a block", detail));
        }
        Ok(block)
    }
}

impl BlockHandle for TableBlockHandle {
    fn rows(&self) -> usize {
        self.facts().rows as usize
    }

    fn min_time(&self) -> i64 {
        self.facts().min_time
    }

    fn max_time(&self) -> i64 {
        self.facts().max_time
    }

    fn open(&self) -> Result<Arc<dyn Block>> {
        let blocks = self.reading.blocks();
        let open = || Ok(self.open_table_block()?.of_table(self.streams()));
        Ok(blocks.get(self.table.number, self.index, true, self.reading.since, open)?)
    }

    fn open_unordered(&self) -> Result<Arc<dyn Block>> {
        let blocks = self.reading.blocks();
        let open = || Ok(self.open_table_block()?.of_table(self.streams()).unordered());
        Ok(blocks.get(self.table.number, self.index, false, self.reading.since, open)?)
    }

    fn will_look(&self, looks: Looks) {
        if let Ok(open) = self.open_table() {
            self.will_look_in(&open.table, looks);
        }
    }

    fn will_open(&self, looks: Looks) {
        if self.is_open() {
            return;
        }
        // What cannot be opened now cannot be later, and is told then.
        if let Ok(open) = self.open_table() {
            let table = &open.table;
            self.will_look_in(table, looks);
            let ranges =
                table.blocks().get(self.index).map(|meta| ranges_ahead(meta, looks)).unwrap_or_default();
            if ranges.is_empty() {
                table.will_read_end_of(self.index, AHEAD_BYTES);
            }
            ranges.into_iter().for_each(|range| table.will_read_range(range));
        }
    }

    fn streams(&self) -> Option<BlockStreams> {
        // What cannot be opened is told when the block is.
        self.open_table().ok()?.streams()?.of_block(self.index, self.facts().rows)
    }

    fn values(&self, name: &str) -> Option<FewValues> {
        // What cannot be opened is told when the block is.
        self.open_table().ok()?.fields()?.of_block(name, self.index, self.facts().rows)
    }

    fn may_have_words(&self, words: &ValueWords<'_>, reads: bool) -> bool {
        // What cannot be opened is told when the block is.
        let Ok(open) = self.open_table() else { return true };
        may_have_words(&open, (self.table.number, self.index), words, &self.reading, reads)
    }

    fn time_counts(&self) -> Option<TimeCounts> {
        self.open_table().ok()?.times()?.of_block(self.index, self.facts().rows)
    }

    fn is_there(&self) -> bool {
        self.reading.is_there(&self.table)
    }

    fn is_open(&self) -> bool {
        self.reading.blocks().has(self.table.number, self.index)
    }

    fn is_worth_opening_ahead(&self) -> bool {
        self.reading.blocks().keeps_any() && !self.is_open()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::{StreamLabels, StreamTest, TableStreams};
    use crate::column::IntText;
    use crate::{EntryBuf, Store, StoreOptions};
    use std::path::Path;

    fn open(dir: &Path) -> Store {
        StoreOptions::new().background(false).open(dir.join("logs")).unwrap()
    }

    /// Lines of several streams, flushed.
    fn fill(store: &Store) {
        let append = |streams: &[&str], time: i64, fields: &[(&str, String)]| {
            let mut entry = EntryBuf::new(streams.iter().copied());
            entry.start(time).message("line");
            for (name, value) in fields {
                entry.field(name, value.as_str());
            }
            store.append(entry.finish().unwrap()).unwrap();
        };
        for i in 0..400 {
            let (app, pod) = (format!("app-{}", i * 7 % 3), format!("pod-{}", i % 11));
            match i % 8 {
                // A label here is a field there.
                0 => append(&["app"], 1_000 - i, &[("app", app), ("pod", pod)]),
                1 => append(&[], 1_000 - i, &[("user", app)]),
                _ => append(&["app", "pod"], 1_000 - i, &[("app", app), ("pod", pod)]),
            }
        }
        store.flush().unwrap();
    }

    /// Makes of a table's property `table_streams` one that is called `streams`, as earlier builds wrote it. The file stays as long as
    /// it was.
    fn make_old(path: &Path) {
        let mut file = std::fs::read(path).unwrap();
        let footer = file.len() - 56;
        let at = u64::from_le_bytes(file[footer + 12..footer + 20].try_into().unwrap()) as usize;
        let properties = &file[at..footer];
        // The last of them by name; its value would be a varint of two bytes behind the name.
        let name = properties.windows(13).rposition(|name| name == b"table_streams").unwrap();
        let value = &properties[name + 13..];
        let len = usize::from(value[0] & 0x7f) | usize::from(value[1]) << 7;
        assert!((1 << 7..1 << 14).contains(&(len + 6)) && len + 2 == value.len(), "{len}");
        let mut old = properties[..name - 1].to_vec();
        old.push(7);
        old.extend_from_slice(b"streams");
        old.extend_from_slice(&[(len + 6) as u8 | 0x80, ((len + 6) >> 7) as u8]);
        old.extend_from_slice(&value[2..]);
        old.extend_from_slice(&[0; 6]);
        file[at..footer].copy_from_slice(&old);
        let crc = crc32c::crc32c(&[&file[at - 8..at - 4], &old[..]].concat());
        file[at - 4..at].copy_from_slice(&crc.to_le_bytes());
        std::fs::write(path, file).unwrap();
    }

    /// A test that knows all of a table's streams, and is not to be asked for one.
    struct KnowsTables;

    fn is_app_1(labels: &StreamLabels<'_>) -> bool {
        labels.contains(&("app", "app-1"))
    }

    impl StreamTest for KnowsTables {
        fn wants(&self, labels: &StreamLabels<'_>) -> bool {
            panic!("it was asked for {labels:?}")
        }

        fn wanted_of(&self, table: &Arc<TableStreams>) -> Option<Arc<[bool]>> {
            Some((0..table.sets()).map(|set| table.with_set(set, is_app_1)).collect())
        }
    }

    #[test]
    fn who_knows_the_streams_of_a_table_is_not_asked_for_each_of_a_block() {
        let dir = tempfile::tempdir().unwrap();
        let store = open(dir.path());
        fill(&store);
        let snapshot = store.snapshot().unwrap();
        for handle in snapshot.blocks(i64::MIN, i64::MAX) {
            let block = handle.open().unwrap();
            let rows = block.rows_of_streams(&KnowsTables).unwrap().unwrap();
            assert!(rows.iter().any(|word| *word != 0));
            assert_eq!(Some(rows), block.rows_of_streams(&is_app_1).unwrap());
            assert_eq!(block.has_stream(&KnowsTables).unwrap(), Some(true));
        }
    }

    #[test]
    fn how_many_rows_have_each_field_is_told_of_fields_and_of_labels() {
        let dir = tempfile::tempdir().unwrap();
        let store = open(dir.path());
        fill(&store);
        let mut of_label = 0;
        for handle in store.snapshot().unwrap().blocks(i64::MIN, i64::MAX) {
            assert!(handle.streams().is_some());
            let block = handle.open().unwrap();
            let mut told = Vec::new();
            block.rows_with_each(&mut |name, with| told.push((name.into_owned(), with))).unwrap();
            let mut names = block.field_names().unwrap();
            names.push("_stream".to_owned());
            told.sort();
            names.sort();
            assert_eq!(told.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>(), names);
            for (name, with) in told.iter().filter_map(|(name, with)| Some((name, (*with)?))) {
                let (column, mut digits) = (block.column(name).unwrap().unwrap(), IntText::default());
                let has = |row: &usize| column.text(*row, &mut digits).is_some_and(|text| !text.is_empty());
                assert_eq!(with, (0..block.rows()).filter(has).count(), "{name}");
                of_label += usize::from(block.is_label(name));
            }
        }
        assert!(of_label > 0);
    }

    #[test]
    fn of_a_table_with_the_property_of_earlier_builds_blocks_tell_their_streams() {
        let dir = tempfile::tempdir().unwrap();
        let store = open(dir.path());
        fill(&store);
        let told = |store: &Store| {
            let snapshot = store.snapshot().unwrap();
            let mut told = Vec::new();
            for handle in snapshot.blocks(i64::MIN, i64::MAX) {
                let block = handle.open().unwrap();
                let is_wanted = |labels: &StreamLabels<'_>| labels.contains(&("app", "app-1"));
                let rows = block.rows_of_streams(&is_wanted).unwrap();
                let of_label =
                    ["app", "pod"].map(|name| block.rows_of_label(name, &|text| text == "pod-4").unwrap());
                told.push((rows, of_label, block.has_stream(&is_wanted).unwrap()));
            }
            (
                told,
                snapshot
                    .blocks(i64::MIN, i64::MAX)
                    .iter()
                    .filter(|handle| handle.streams().is_some())
                    .count(),
            )
        };
        let (new, all) = told(&store);
        assert!(all > 0 && all == new.len());
        let tables: Vec<_> = {
            let view = store.snapshots.view().unwrap();
            view.state.tables.values().map(|meta| dir.path().join("logs").join(&meta.path)).collect()
        };
        drop(store);
        tables.iter().for_each(|path| make_old(path));
        let store = open(dir.path());
        assert_eq!(told(&store), (new.clone(), 0));
        let found = store.verify(&mut |_| {}).unwrap();
        assert!(found.damage.is_empty(), "{found:?}");
    }

    #[test]
    fn few_short_values_are_told() {
        let dir = tempfile::tempdir().unwrap();
        let store = open(dir.path());
        for i in 0..64_i64 {
            let mut entry = EntryBuf::new(["app"]);
            entry.start(i).message("line").field("app", "a");
            for (name, count) in [("16", 16), ("17", 17)] {
                entry.field(name, format!("{}", i % count).as_str());
                entry.field(&format!("{name} numbers"), i % count - 3);
            }
            entry.field("64 bytes", "x".repeat(64).as_str()).field("65 bytes", "x".repeat(65).as_str());
            entry.field("seldom", "old");
            if i % 8 == 0 {
                entry.field("seldom", true);
                entry.field("number", 2.5);
            }
            store.append(entry.finish().unwrap()).unwrap();
        }
        store.flush().unwrap();
        let handles = store.snapshot().unwrap().blocks(i64::MIN, i64::MAX);
        let [handle] = &handles[..] else { panic!("{} blocks", handles.len()) };
        let few = |name: &str| {
            let few = handle.values(name)?;
            Some(few.iter().map(|(text, rows)| format!("{text}={rows}")).collect::<Vec<_>>().join(","))
        };
        assert_eq!(handle.values("16").unwrap().len(), 16);
        assert!(few("16 numbers").unwrap().starts_with("-3=4,-2=4,"));
        assert_eq!([few("17"), few("17 numbers"), few("65 bytes"), few("app")], [const { None }; 4]);
        assert_eq!(few("64 bytes").unwrap(), format!("{}=64", "x".repeat(64)));
        assert_eq!(few("seldom").unwrap(), "old=56,true=8");
        assert_eq!((few("number").unwrap(), few("_msg").unwrap()), ("2.5=8".into(), "line=64".into()));
        assert_eq!(few("none").unwrap(), "");
    }

    #[test]
    fn rows_of_steps_of_time_are_told_by_level() {
        use crate::{Level, Value};
        let told = |labels: &[&str], level: &dyn Fn(i64, &mut EntryBuf)| {
            let dir = tempfile::tempdir().unwrap();
            let store = open(dir.path());
            for i in 0..320 {
                let mut entry = EntryBuf::new(labels.iter().copied());
                // From before the epoch on, of two programs by turns: slots are in another order than rows.
                entry.start((i - 40) * 250_000_000).message("line");
                entry.field("app", if i % 2 == 0 { "a" } else { "b" });
                level(i, &mut entry);
                store.append(entry.finish().unwrap()).unwrap();
            }
            store.flush().unwrap();
            let handles = store.snapshot().unwrap().blocks(i64::MIN, i64::MAX);
            let of_block = |handle: &Arc<dyn BlockHandle>| {
                let counts = handle.time_counts().unwrap();
                let levels = counts.rows.iter().map(|(level, rows)| {
                    let level = level.as_deref().unwrap_or("*");
                    format!("{level}={}", rows.iter().map(u64::to_string).collect::<Vec<_>>().join("+"))
                });
                format!("{}s from {}: {}", counts.step_s, counts.first, levels.collect::<Vec<_>>().join(" "))
            };
            handles.iter().map(of_block).collect::<Vec<_>>().join(", ")
        };
        let all = "1s from -10: *=4+4+4+4+4+4+4+4+4+4, 10s from 0: *=40+40+40+40+40+40+40";
        assert_eq!(told(&["app"], &|_, _| ()), all.replace('*', ""), "no row has a level");
        let some = |i: i64, entry: &mut EntryBuf| {
            if i % 4 < 2 {
                entry.field("level", if i < 40 { "error" } else { "info" });
            }
        };
        let expected =
            "10s from -1: error=20 =20, 10s from 0: info=20+20+20+20+20+20+20 =20+20+20+20+20+20+20";
        assert_eq!(told(&["app"], &some), expected);
        let known = |_: i64, entry: &mut EntryBuf| {
            let _entry = entry.level(Level::Warn);
        };
        assert_eq!(told(&["app"], &known), all.replace('*', "warn"));
        for (name, level) in [("a label", "level"), ("integers", "app")] {
            let number = |i: i64, entry: &mut EntryBuf| {
                let _entry = entry.field("level", Value::Int(i % 2));
            };
            assert_eq!(told(&[level], &number), all, "{name}");
        }
        let many = |i: i64, entry: &mut EntryBuf| {
            let _entry = entry.field("level", format!("level-{}", i % 17).as_str());
        };
        assert_eq!(told(&["app"], &many), all);
    }

    #[test]
    fn what_a_table_tells_of_streams_is_what_its_blocks_say() {
        let dir = tempfile::tempdir().unwrap();
        let store = open(dir.path());
        fill(&store);
        let view = store.snapshots.view().unwrap();
        let tables = TableBlocks::of(store.snapshots.tables(), &view.state, &view.pin).unwrap();
        let handles = tables.between(i64::MIN, i64::MAX);
        assert!(!handles.is_empty());
        for handle in handles {
            let told = handle.streams();
            assert!(told.is_some());
            for unordered in [false, true] {
                let open = |told| {
                    let block = handle.open_table_block().unwrap().of_table(told);
                    if unordered { block.unordered() } else { block }
                };
                let (with, without) = (open(told.clone()), open(None));
                assert_eq!(with.times().unwrap(), without.times().unwrap());
                for name in ["app", "pod", "user", "none"] {
                    let texts = |block: &TableBlock| {
                        let column = block.column(name).unwrap();
                        let text =
                            |row| Some(column.as_ref()?.text(row, &mut Default::default())?.to_owned());
                        (0..block.rows()).map(text).collect::<Vec<_>>()
                    };
                    assert_eq!(texts(&with), texts(&without));
                    assert_eq!(with.is_label(name), without.is_label(name));
                    for wanted in ["", "app-1", "pod-4", "nothing"] {
                        let rows_of =
                            |block: &TableBlock| block.rows_of_label(name, &|text| text == wanted).unwrap();
                        assert_eq!(rows_of(&with), rows_of(&without), "{name}={wanted}");
                    }
                }
                for wanted in ["", "app-1", "pod-4", "nothing"] {
                    let is_wanted = |labels: &StreamLabels<'_>| match labels {
                        [] => wanted.is_empty(),
                        labels => labels.iter().any(|(_, value)| *value == wanted),
                    };
                    assert_eq!(
                        with.rows_of_streams(&is_wanted).unwrap(),
                        without.rows_of_streams(&is_wanted).unwrap()
                    );
                    assert_eq!(with.has_stream(&is_wanted).unwrap(), without.has_stream(&is_wanted).unwrap());
                }
            }
        }
    }
}
