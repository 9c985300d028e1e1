//! Which streams a table's blocks have, and how many rows of each: kept with the table, so that no block need be opened to
//! be passed over, or only to be counted.
//!
//! ```text
//! property:   method u8 (0 stored, 1 zstd), plain_len varint, bytes
//! plain:
//!   sets      count varint
//!   labels    count varint, then each, by name: name (counted), mixed u8 (1 if a row of the table has a field of this name that
//!             is no label), values: count varint, then each (counted); then for each set the number of its value, from 1,
//!             varint, or 0 if it has no such label
//!   blocks    count varint, then each: rows varint, how many bytes its streams take, varint
//!   streams   of each block, in the order in which it stores them: number of the set zigzag (from the one before, plus
//!             1), rows varint
//! ```
//!
//! A query looks at few blocks of most tables: so each can be found, and is read, by itself.

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing;
mod labels;

use super::bytes::{Reader, bad, put_varint, put_zigzag};
use super::compress::{Zstd, unpacked};
use super::labels::LabelSet;
use crate::block::StreamLabels;
use crate::error::Result;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
pub use labels::TableLabel;
use labels::{Labels, LabelsBuilder};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// The most bytes of streams that a table remembers, before compression; of a table with more, blocks tell theirs when they
/// are opened.
pub const MAX_TABLE_STREAMS_BYTES: usize = 128 << 10;

/// The streams of a block, in the order in which it stores them, and how many rows each has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StreamRows {
    pub(crate) sets: Arc<Vec<LabelSet>>,
    pub(crate) rows: Vec<u32>,
}

impl StreamRows {
    /// Of streams whose rows end at these places.
    pub(crate) fn new(sets: Arc<Vec<LabelSet>>, ends: &[u32]) -> Self {
        let starts = std::iter::once(0).chain(ends.iter().copied());
        let rows = ends.iter().zip(starts).map(|(end, start)| end.saturating_sub(start)).collect();
        Self { sets, rows }
    }
}

/// Collects the streams of a table while its blocks are written.
#[derive(Debug, Default)]
pub(crate) struct TableStreamsBuilder {
    /// Of sets, by their labels.
    numbers: HashMap<LabelSet, usize, FixedState>,
    labels: LabelsBuilder,
    blocks: Vec<u8>,
    streams: Vec<u8>,
    count: u64,
    /// Whether those of some block are not known.
    is_unknown: bool,
}

impl TableStreamsBuilder {
    /// Adds the next block, if its streams are known.
    pub(crate) fn add_block(&mut self, streams: Option<&StreamRows>) {
        self.count += 1;
        let Some(streams) = streams else {
            self.is_unknown = true;
            return;
        };
        let (start, mut expected, mut all_rows) = (self.streams.len(), 0i64, 0u64);
        for (set, &rows) in streams.sets.iter().zip(&streams.rows) {
            if self.is_unknown || self.is_too_much() {
                return;
            }
            let number = match self.numbers.get(set) {
                Some(&number) => number,
                None => {
                    let number = self.labels.sets();
                    self.is_unknown |= !self.labels.add(set);
                    self.numbers.insert(set.clone(), number);
                    number
                }
            };
            put_zigzag(&mut self.streams, number as i64 - expected);
            put_varint(&mut self.streams, rows.into());
            expected = number as i64 + 1;
            all_rows += u64::from(rows);
        }
        put_varint(&mut self.blocks, all_rows);
        put_varint(&mut self.blocks, (self.streams.len() - start) as u64);
    }

    fn is_too_much(&self) -> bool {
        self.labels.bytes() + self.blocks.len() + self.streams.len() > MAX_TABLE_STREAMS_BYTES
    }

    /// The property, if the streams are known, and not too many. `is_field`: whether it is the name of a field, that is no label, in
    /// some row.
    ///
    /// # Errors
    /// What zstd says, which is a fault of the program.
    pub(crate) fn finish(&self, is_field: &dyn Fn(&str) -> bool, zstd: &mut Zstd) -> Result<Option<Vec<u8>>> {
        if self.is_unknown || self.is_too_much() {
            return Ok(None);
        }
        let mut plain = Vec::new();
        self.labels.write(is_field, &mut plain);
        put_varint(&mut plain, self.count);
        plain.extend_from_slice(&self.blocks);
        plain.extend_from_slice(&self.streams);
        if plain.len() > MAX_TABLE_STREAMS_BYTES {
            return Ok(None);
        }
        zstd.packed(&plain).map(Some)
    }
}

/// The streams of a table. Those of its blocks stay as they are stored, but for the compression, until they are asked for.
#[derive(Debug)]
pub struct TableStreams {
    labels: Labels,
    /// The streams of all blocks.
    streams: Vec<u8>,
    blocks: Vec<OfBlock>,
    /// How many rows each stream has in all blocks.
    rows: OnceLock<Vec<u64>>,
}

#[derive(Debug)]
struct OfBlock {
    /// Where its streams lie among those of all.
    place: Range<u32>,
    rows: u64,
    /// Whether its streams are there, and have so many rows: found out when it is first asked for.
    is_sound: OnceLock<bool>,
}

/// The streams of a block: the number of each's set, and its rows.
struct Streams<'p> {
    r: Reader<'p>,
    expected: i64,
    sets: usize,
}

impl Streams<'_> {
    fn read(&mut self) -> Result<(usize, u32)> {
        let number = self.expected.wrapping_add(self.r.zigzag()?);
        self.expected = number.wrapping_add(1);
        let set = usize::try_from(number).ok().filter(|&set| set < self.sets);
        let rows = u32::try_from(self.r.varint()?).map_err(|_| bad("a stream has too many rows"))?;
        Ok((set.ok_or_else(|| bad("there is no such stream"))?, rows))
    }
}

impl Iterator for Streams<'_> {
    type Item = (usize, u32);

    fn next(&mut self) -> Option<Self::Item> {
        // Of a block that is sound, all can be read.
        if self.r.remaining() == 0 { None } else { self.read().ok() }
    }
}

impl TableStreams {
    /// Reads the property.
    ///
    /// # Errors
    /// [`crate::Error::Decode`] if it makes no sense. Streams of blocks are read when they are asked for; of a block whose streams make
    /// none, none are known.
    pub(crate) fn decode(property: &[u8]) -> Result<Self> {
        let mut plain = unpacked(property, MAX_TABLE_STREAMS_BYTES)?;
        let mut r = Reader::new(&plain);
        let labels = Labels::read(&mut r)?;
        let (mut blocks, mut end) = (Vec::new(), 0);
        for _ in 0..r.count(r.remaining())? {
            let (rows, start) = (r.varint()?, end);
            end += r.count(plain.len() - end)?;
            blocks.push(OfBlock { place: start as u32..end as u32, rows, is_sound: OnceLock::new() });
        }
        if r.remaining() != end {
            return Err(bad("there is more than its streams, or less"));
        }
        let streams = plain.split_off(plain.len() - end);
        Ok(Self { labels, streams, blocks, rows: OnceLock::new() })
    }

    /// About how many bytes it takes in memory.
    pub fn bytes(&self) -> usize {
        self.streams.len() + self.labels.bytes() + self.sets() * size_of::<u64>() + size_of_val(&*self.blocks)
    }

    fn streams_of(&self, block: &OfBlock) -> Streams<'_> {
        let place = block.place.start as usize..block.place.end as usize;
        let r = Reader::new(self.streams.get(place).unwrap_or_default());
        Streams { r, expected: 0, sets: self.sets() }
    }

    /// How many sets of labels there are, which have numbers from 0.
    pub fn sets(&self) -> usize {
        self.labels.sets()
    }

    /// Calls `see` with the labels of a set.
    pub fn with_set<T>(&self, number: usize, see: impl FnOnce(&StreamLabels<'_>) -> T) -> T {
        self.labels.with_set(number, see)
    }

    /// Whether a set has any labels.
    pub(crate) fn has_labels(&self, number: usize) -> bool {
        self.labels.has_any(number)
    }

    /// Whether some rows of the table have a label of this name.
    pub(crate) fn has_label(&self, name: &str) -> bool {
        self.labels.has(name)
    }

    /// The label of this name, if some rows of the table have it, and none as a field that is no label.
    pub fn label(&self, name: &str) -> Option<&TableLabel> {
        self.labels.label(name)
    }

    /// How many blocks the table has.
    pub fn blocks(&self) -> usize {
        self.blocks.len()
    }

    /// How many rows each stream has in all blocks, by the number of its set of labels.
    pub fn rows(&self) -> &[u64] {
        self.rows.get_or_init(|| {
            let mut all = vec![0u64; self.sets()];
            for (set, rows) in self.blocks.iter().flat_map(|block| self.streams_of(block)) {
                if let Some(of_set) = all.get_mut(set) {
                    *of_set = of_set.saturating_add(rows.into());
                }
            }
            all
        })
    }

    /// Whether each set is there, and all have as many rows as the block.
    fn is_sound(&self, block: &OfBlock) -> bool {
        *block.is_sound.get_or_init(|| {
            let (mut streams, mut all_rows) = (self.streams_of(block), 0u64);
            while streams.r.remaining() > 0 {
                let Ok((_, rows)) = streams.read() else { return false };
                all_rows = all_rows.saturating_add(rows.into());
            }
            all_rows == block.rows
        })
    }

    /// Those of a block with so many rows.
    pub(crate) fn of_block(self: &Arc<Self>, block: usize, rows: u64) -> Option<BlockStreams> {
        let of_block = self.blocks.get(block)?;
        (of_block.rows == rows && self.is_sound(of_block))
            .then(|| BlockStreams { table: self.clone(), block })
    }
}

/// The streams of a block's rows, and how many rows each has.
#[derive(Clone, Debug)]
pub struct BlockStreams {
    /// Those of the whole table.
    pub table: Arc<TableStreams>,
    block: usize,
}

impl BlockStreams {
    /// The number of each stream's set of labels in the table, and how many rows it has, in the order in which the block stores
    /// them. The numbers are less than [`TableStreams::sets`].
    pub fn rows(&self) -> impl Iterator<Item = (usize, u32)> {
        self.table.blocks.get(self.block).into_iter().flat_map(|block| self.table.streams_of(block))
    }
}

#[cfg(test)]
mod tests {
    use super::super::labels::Label;
    use super::*;

    fn set(labels: &[(&str, &str)]) -> LabelSet {
        labels
            .iter()
            .map(|&(name, value)| Label { name: name.into(), value: value.into(), kind: 0 })
            .collect()
    }

    fn streams(of: Vec<(LabelSet, u32)>) -> StreamRows {
        let (sets, rows) = of.into_iter().unzip();
        StreamRows { sets: Arc::new(sets), rows }
    }

    fn property(blocks: &[StreamRows], is_field: &dyn Fn(&str) -> bool) -> Option<Vec<u8>> {
        let mut builder = TableStreamsBuilder::default();
        blocks.iter().for_each(|block| builder.add_block(Some(block)));
        builder.finish(is_field, &mut Zstd::of_level(3)).unwrap()
    }

    #[test]
    fn streams_come_back_and_what_is_not_told_is_not() {
        let (a, b) = (set(&[("app", "a"), ("host", "1")]), set(&[("app", "b")]));
        let blocks =
            [streams(vec![(b.clone(), 3), (a, 70_000)]), streams(vec![]), streams(vec![(b, 2), (vec![], 1)])];
        let is_field = |name: &str| name == "host" || name == "other";
        let table = Arc::new(TableStreams::decode(&property(&blocks, &is_field).unwrap()).unwrap());
        let labels = |labels: &StreamLabels<'_>| {
            labels.iter().map(|(n, v)| format!("{n}={v}")).collect::<Vec<_>>().join(",")
        };
        let sets: Vec<_> = (0..table.sets()).map(|set| table.with_set(set, labels)).collect();
        assert_eq!(sets, ["app=b", "app=a,host=1", ""]);
        let app = table.label("app").unwrap();
        assert_eq!(app.of_sets(), [1, 2, 0]);
        assert_eq!((0..app.numbers()).map(|n| app.value(n)).collect::<Vec<_>>(), ["", "b", "a"]);
        assert!(table.label("host").is_none() && table.label("other").is_none());
        let of = |block, rows| Some(table.of_block(block, rows)?.rows().collect::<Vec<_>>());
        assert_eq!(of(0, 70_003).unwrap(), [(0, 3), (1, 70_000)]);
        assert_eq!(of(1, 0).unwrap(), []);
        assert_eq!(of(2, 3).unwrap(), [(0, 2), (2, 1)]);
        assert_eq!(of(0, 70_004), None, "the manifest says another number of rows");
        assert_eq!(of(3, 0), None);
        assert_eq!((table.blocks(), table.rows()), (3, &[5, 70_000, 1][..]));
    }

    #[test]
    fn a_table_with_a_block_whose_streams_are_not_known_tells_none() {
        let mut builder = TableStreamsBuilder::default();
        builder.add_block(Some(&streams(vec![(set(&[("app", "a")]), 3)])));
        builder.add_block(None);
        assert_eq!(builder.finish(&|_| false, &mut Zstd::of_level(3)).unwrap(), None);
    }

    #[test]
    fn a_table_of_too_many_streams_does_not_tell_them() {
        let name = |n: usize| set(&[("pod", &format!("{n:040}"))]);
        let per_block = 500;
        let block = |i: usize| streams((0..per_block).map(|n| (name(i * per_block + n), 1)).collect());
        let few: Vec<_> = (0..2).map(block).collect();
        assert!(property(&few, &|_| false).is_some());
        let many: Vec<_> = (0..MAX_TABLE_STREAMS_BYTES / 40 / per_block + 1).map(block).collect();
        assert!(property(&many, &|_| false).is_none());
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(
            bytes in proptest::collection::vec(0u8..5, 0..60), flip: (usize, u8),
        ) {
            let mut plain = vec![0];
            put_varint(&mut plain, bytes.len() as u64);
            plain.extend_from_slice(&bytes);
            let mut whole = property(&[streams(vec![(set(&[("a", "b")]), 3)]), streams(vec![])], &|_| false).unwrap();
            let at = flip.0 % whole.len();
            whole[at] ^= flip.1;
            [plain, whole].iter().for_each(|property| fuzzing::look_at_all(property));
        }
    }
}
