//! Which streams a table's blocks have, and how many rows of each: kept with the table, so that no block need be opened to
//! be passed over, or only to be counted.
//!
//! ```text
//! property:   method u8 (0 stored, 1 zstd), plain_len varint, bytes
//! plain:
//!   sets      count varint, then each: labels varint, then per label, by name: name (counted), value (counted)
//!   mixed     count varint, then each name (counted): labels that are fields and no labels in other rows of the table
//!   blocks    count varint, then each: streams varint, then per stream, in the order in which the block stores
//!             them: number of its set zigzag (from the one before, plus 1), rows varint
//! ```

use super::bytes::{Reader, bad, put_bytes, put_varint, put_zigzag};
use super::compress::{Zstd, unpacked};
use super::labels::LabelSet;
use crate::block::StreamLabels;
use crate::error::Result;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use std::collections::BTreeSet;
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
    /// By the bytes of a set.
    numbers: HashMap<Vec<u8>, u64, FixedState>,
    names: BTreeSet<Box<str>>,
    sets: Vec<u8>,
    blocks: Vec<u8>,
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
        if self.is_too_much() {
            return;
        }
        put_varint(&mut self.blocks, streams.rows.len() as u64);
        let (mut bytes, mut expected) = (Vec::new(), 0i64);
        for (set, &rows) in streams.sets.iter().zip(&streams.rows) {
            bytes.clear();
            put_varint(&mut bytes, set.len() as u64);
            for label in set {
                put_bytes(&mut bytes, label.name.as_bytes());
                put_bytes(&mut bytes, label.value.as_bytes());
            }
            let number = match self.numbers.get(&bytes) {
                Some(&number) => number as i64,
                None => {
                    let number = self.numbers.len() as u64;
                    self.sets.extend_from_slice(&bytes);
                    self.names.extend(set.iter().map(|label| label.name.clone()));
                    self.numbers.insert(bytes.clone(), number);
                    number as i64
                }
            };
            put_zigzag(&mut self.blocks, number - expected);
            put_varint(&mut self.blocks, u64::from(rows));
            expected = number + 1;
            if self.is_too_much() {
                return;
            }
        }
    }

    fn is_too_much(&self) -> bool {
        self.sets.len() + self.blocks.len() > MAX_TABLE_STREAMS_BYTES
    }

    /// The property, if the streams are known, and not too many. `is_field`: whether it is the name of a field, that is no label, in
    /// some row.
    ///
    /// # Errors
    /// What zstd says, which is a fault of the program.
    pub(crate) fn finish(&self, is_field: &dyn Fn(&str) -> bool, zstd: &mut Zstd) -> Result<Option<Vec<u8>>> {
        let mut plain = Vec::new();
        put_varint(&mut plain, self.numbers.len() as u64);
        plain.extend_from_slice(&self.sets);
        let mixed: Vec<_> = self.names.iter().filter(|name| is_field(name)).collect();
        put_varint(&mut plain, mixed.len() as u64);
        mixed.iter().for_each(|name| put_bytes(&mut plain, name.as_bytes()));
        put_varint(&mut plain, self.count);
        plain.extend_from_slice(&self.blocks);
        if self.is_unknown || self.is_too_much() || plain.len() > MAX_TABLE_STREAMS_BYTES {
            return Ok(None);
        }
        zstd.packed(&plain).map(Some)
    }
}

/// The streams of a table. Those of its blocks stay as they are stored, but for the compression; labels, which each query
/// may look at, are texts.
#[derive(Debug)]
pub struct TableStreams {
    sets: Sets,
    /// The names of labels that no row of the table has but as labels.
    labels: BTreeSet<Box<str>>,
    /// The streams of all blocks.
    pairs: Vec<u8>,
    /// Where in `pairs` the streams of each block lie, and how many rows they have together.
    blocks: Vec<(Range<u32>, u64)>,
    /// How many rows each stream has in all blocks.
    rows: OnceLock<Vec<u64>>,
}

/// Sets of labels.
#[derive(Debug, Default)]
struct Sets {
    /// The name and the value of each label, one behind another.
    text: String,
    /// Where in `text` the name and the value of each label end.
    ends: Vec<(u32, u32)>,
    /// How many labels there are up to the end of each set.
    labels: Vec<u32>,
}

impl Sets {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let mut sets = Self::default();
        for _ in 0..r.count(MAX_TABLE_STREAMS_BYTES)? {
            for _ in 0..r.count(crate::entry::MAX_FIELDS)? {
                sets.text.push_str(r.str()?);
                let name_end = sets.text.len() as u32;
                sets.text.push_str(r.str()?);
                sets.ends.push((name_end, sets.text.len() as u32));
            }
            sets.labels.push(sets.ends.len() as u32);
        }
        Ok(sets)
    }

    fn len(&self) -> usize {
        self.labels.len()
    }

    fn bytes(&self) -> usize {
        self.text.len() + size_of_val(&*self.ends) + size_of_val(&*self.labels)
    }

    /// Calls `see` with the labels of each.
    fn each<'s>(&'s self, see: &mut dyn FnMut(&StreamLabels<'s>)) {
        let (mut labels, mut start, mut first) = (Vec::new(), 0, 0);
        for &last in &self.labels {
            labels.clear();
            for &(name_end, value_end) in &self.ends[first..last as usize] {
                let (name_end, value_end) = (name_end as usize, value_end as usize);
                labels.push((&self.text[start..name_end], &self.text[name_end..value_end]));
                start = value_end;
            }
            first = last as usize;
            see(&labels);
        }
    }
}

/// The streams of a block: the number of each's set, and its rows.
struct Pairs<'p> {
    r: Reader<'p>,
    expected: i64,
}

impl<'p> Pairs<'p> {
    fn new(r: Reader<'p>) -> Self {
        Self { r, expected: 0 }
    }

    fn read(&mut self) -> Result<(usize, u32)> {
        let number = self.expected.wrapping_add(self.r.zigzag()?);
        self.expected = number.wrapping_add(1);
        let rows = u32::try_from(self.r.varint()?).map_err(|_| bad("a stream has too many rows"))?;
        Ok((usize::try_from(number).map_err(|_| bad("there is no such stream"))?, rows))
    }
}

impl Iterator for Pairs<'_> {
    type Item = (usize, u32);

    fn next(&mut self) -> Option<Self::Item> {
        // All of them were read when the property was.
        if self.r.remaining() == 0 { None } else { self.read().ok() }
    }
}

impl TableStreams {
    /// Reads the property.
    ///
    /// # Errors
    /// [`crate::Error::Decode`] if it makes no sense.
    pub(crate) fn decode(property: &[u8]) -> Result<Self> {
        let mut plain = unpacked(property, MAX_TABLE_STREAMS_BYTES)?;
        let plain_len = plain.len();
        let mut r = Reader::new(&plain);
        let sets = Sets::read(&mut r)?;
        let mut labels = BTreeSet::<Box<str>>::new();
        sets.each(&mut |set| {
            for (name, _) in set {
                if !labels.contains(*name) {
                    labels.insert((*name).into());
                }
            }
        });
        for _ in 0..r.count(plain_len)? {
            labels.remove(r.str()?);
        }
        let count = r.count(plain_len)?;
        let pairs_at = plain_len - r.remaining();
        let at = |r: &Reader<'_>| (plain_len - pairs_at - r.remaining()) as u32;
        let mut blocks = Vec::new();
        for _ in 0..count {
            let streams = r.count(plain_len)?;
            let (start, mut rows) = (at(&r), 0u64);
            let mut pairs = Pairs::new(r);
            for _ in 0..streams {
                let (set, more) = pairs.read()?;
                if set >= sets.len() {
                    return Err(bad("there is no such stream"));
                }
                rows += u64::from(more);
            }
            r = pairs.r;
            blocks.push((start..at(&r), rows));
        }
        if r.remaining() > 0 {
            return Err(bad("there is more than its streams"));
        }
        let pairs = plain.split_off(pairs_at);
        Ok(Self { sets, labels, pairs, blocks, rows: OnceLock::new() })
    }

    /// About how many bytes it takes in memory.
    pub fn bytes(&self) -> usize {
        let of_labels = self.labels.iter().map(|label| 2 * size_of::<Box<str>>() + label.len());
        self.pairs.len()
            + self.sets.bytes()
            + self.sets.len() * size_of::<u64>()
            + self.blocks.len() * size_of::<(Range<u32>, u64)>()
            + of_labels.sum::<usize>()
    }

    fn part(&self, range: &Range<u32>) -> Reader<'_> {
        Reader::new(self.pairs.get(range.start as usize..range.end as usize).unwrap_or_default())
    }

    /// Calls `see` with the labels of each set of labels, which has its number from 0.
    pub fn each_set(&self, see: &mut dyn FnMut(&StreamLabels<'_>)) {
        self.sets.each(&mut |labels| see(labels));
    }

    /// Whether some rows of the table have this as a label, and none as a field that is no label.
    pub fn is_label(&self, name: &str) -> bool {
        self.labels.contains(name)
    }

    /// How many blocks the table has.
    pub fn blocks(&self) -> usize {
        self.blocks.len()
    }

    /// How many rows each stream has in all blocks, by the number of its set of labels.
    pub fn rows(&self) -> &[u64] {
        self.rows.get_or_init(|| {
            let mut all = vec![0u64; self.sets.len()];
            for (range, _) in &self.blocks {
                for (set, rows) in Pairs::new(self.part(range)) {
                    if let Some(of_set) = all.get_mut(set) {
                        *of_set = of_set.saturating_add(u64::from(rows));
                    }
                }
            }
            all
        })
    }

    /// Those of a block with so many rows.
    pub(crate) fn of_block(self: &Arc<Self>, block: usize, rows: u64) -> Option<BlockStreams> {
        let (_, told) = self.blocks.get(block)?;
        (*told == rows).then(|| BlockStreams { table: self.clone(), block })
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
    /// The number of each stream's set of labels in the table, and how many rows it has.
    pub fn rows(&self) -> impl Iterator<Item = (usize, u32)> {
        let range = self.table.blocks.get(self.block).map_or(0..0, |(range, _)| range.clone());
        Pairs::new(self.table.part(&range))
    }

    /// Where the rows of each stream end, if they lie one stream behind another.
    pub(crate) fn ends(&self) -> Vec<u32> {
        let mut end = 0u32;
        let ends = self.rows().map(|(_, rows)| {
            end = end.saturating_add(rows);
            end
        });
        ends.collect()
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
        let mut sets = Vec::new();
        table.each_set(&mut |labels| {
            sets.push(labels.iter().map(|(n, v)| format!("{n}={v}")).collect::<Vec<_>>().join(","));
        });
        assert_eq!(sets, ["app=b", "app=a,host=1", ""]);
        assert!(table.is_label("app"));
        assert!(!table.is_label("host") && !table.is_label("other"));
        let of = |block, rows| Some(table.of_block(block, rows)?.rows().collect::<Vec<_>>());
        assert_eq!(of(0, 70_003).unwrap(), [(0, 3), (1, 70_000)]);
        assert_eq!(of(1, 0).unwrap(), []);
        assert_eq!(of(2, 3).unwrap(), [(0, 2), (2, 1)]);
        assert_eq!(of(0, 70_004), None, "the manifest says another number of rows");
        assert_eq!(of(3, 0), None);
        assert_eq!(table.of_block(0, 70_003).unwrap().ends(), [3, 70_003]);
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
            let mut whole = property(&[streams(vec![(set(&[("a", "b")]), 3)]), streams(vec![])], &|_| true).unwrap();
            let at = flip.0 % whole.len();
            whole[at] ^= flip.1;
            for property in [plain, whole] {
                if let Ok(table) = TableStreams::decode(&property) {
                    let table = Arc::new(table);
                    table.each_set(&mut |_| {});
                    for (block, (_, rows)) in table.blocks.iter().enumerate() {
                        let sum: u64 = table.of_block(block, *rows).unwrap().rows().map(|(_, n)| u64::from(n)).sum();
                        proptest::prop_assert_eq!(sum, *rows);
                    }
                }
            }
        }
    }
}
