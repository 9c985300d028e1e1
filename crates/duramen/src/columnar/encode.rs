//! Rows to a block.

use super::bytes::{put_bytes, put_varint};
use super::columnize::{Collected, Columnizer, Form as Held, MESSAGE};
use super::directory::{ColumnEntry, Directory, Form, Location};
use super::labels::StreamTable;
use super::leaf::{self, Spans, spans_of};
use super::references::References;
use super::streams::{Streams, Zstd};
use super::template::{Hit, Templates};
use super::words::Words;
use super::{Row, filter, ints, presence};
use crate::block::names;
use crate::column::bit;
use crate::error::Result;
use crate::value::{Level, ValueKind};
use duramen_engine::sstable::{ChunkHandle, ChunkSink};
use foldhash::fast::FixedState;
use hashbrown::HashMap;

/// How blocks are encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EncodeOptions {
    /// The zstd level, 1 to 19. Default: 3.
    pub zstd_level: i32,
}

impl Default for EncodeOptions {
    fn default() -> Self {
        Self { zstd_level: 3 }
    }
}

/// What became of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncodedBlock {
    /// Where its directory is: what [`super::TableBlock::open`] needs.
    pub directory: ChunkHandle,
    /// How many rows it has.
    pub rows: usize,
    /// The earliest time stamp, ns since the epoch.
    pub min_time: i64,
    /// The latest.
    pub max_time: i64,
    /// The bytes of the lines its rows were read from; of rows that never were lines, what they would have
    /// as NDJSON (escapes not counted).
    pub raw_bytes: u64,
    /// Its fields, `_msg` and `level` among them if any row has them; stream fields are not.
    pub fields: Vec<FieldSummary>,
    /// Where its bytes are.
    pub sizes: BlockSizes,
    /// How many chunks it has, the directory included.
    pub chunks: usize,
}

/// One field of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldSummary {
    /// Its name.
    pub name: String,
    /// How many rows have it.
    pub rows: usize,
    /// The kind of its values; [`ValueKind::String`] where they differ.
    pub kind: ValueKind,
    /// The bytes its values take; those in shared chunks in proportion, names not counted.
    pub stored_bytes: u64,
}

/// The stored bytes of a block by what they hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockSizes {
    /// Times, identities, streams, levels, and which rows have which fields.
    pub structure_bytes: u64,
    /// The columns.
    pub column_bytes: u64,
    /// The word filter.
    pub filter_bytes: u64,
    /// The directory.
    pub directory_bytes: u64,
}

/// Parts over this size do not share a chunk.
pub(crate) const OWN_BUNDLE_BYTES: usize = 48 << 10;
/// A shared chunk is closed beyond this size.
const SHARED_BUNDLE_BYTES: usize = 128 << 10;
/// Constants up to this size are kept in the directory.
const MAX_CONSTANT_BYTES: usize = 1024;

/// Encodes blocks, one after another, with the same buffers. Not to be shared between threads; make one each.
#[derive(Debug)]
pub struct BlockEncoder {
    zstd: Zstd,
    columnizer: Columnizer,
    words: Words,
    templates: Templates,
    references: References,
    shared: Streams,
    scratch: Streams,
    chunk: Vec<u8>,
}

/// A bundle that is in the making or written.
#[derive(Clone, Copy, Debug, Default)]
struct BundleSizes {
    handle: Option<ChunkHandle>,
    plain: [usize; 4],
    stored: [usize; 4],
}

/// What is known about the block so far.
struct Progress<'a> {
    sink: &'a mut dyn ChunkSink,
    bundles: Vec<BundleSizes>,
    /// Which bundle the shared streams will be.
    shared: Option<usize>,
}

impl BlockEncoder {
    /// An encoder.
    ///
    /// # Errors
    /// [`crate::Error::Invalid`] if zstd does not take the level.
    pub fn new(options: EncodeOptions) -> Result<Self> {
        Ok(Self {
            zstd: Zstd::new(options.zstd_level)?,
            columnizer: Columnizer::default(),
            words: Words::default(),
            templates: Templates::default(),
            references: References::default(),
            shared: Streams::default(),
            scratch: Streams::default(),
            chunk: Vec::new(),
        })
    }

    /// Encodes the rows, which must be in order of (time, writer, sequence number), as one block.
    ///
    /// # Errors
    /// [`crate::Error::Invalid`] if there are no rows, more than [`super::MAX_ROWS`], too much text, or if the
    /// order is wrong; what `sink` says.
    pub fn encode(&mut self, rows: &[Row<'_>], sink: &mut dyn ChunkSink) -> Result<EncodedBlock> {
        self.columnizer.fill(rows)?;
        self.words.clear();
        self.shared.clear();
        let columnizer = std::mem::take(&mut self.columnizer);
        let result = self.encode_columns(&columnizer, sink);
        self.columnizer = columnizer;
        result
    }

    fn encode_columns(&mut self, c: &Columnizer, sink: &mut dyn ChunkSink) -> Result<EncodedBlock> {
        let rows = c.times.len();
        let mut progress = Progress { sink, bundles: Vec::new(), shared: None };
        self.scratch.clear();
        encode_structure(c, &mut self.scratch);
        let structure = self.place(&mut progress)?;
        let (maps, map_of) = self.encode_maps(c, &mut progress)?;
        self.references.learn(c);
        let mut numbers = Vec::new();
        let mut count = 0;
        for column in c.columns() {
            numbers.push(count);
            count += u32::from(column.count > 0);
        }
        let mut columns: Vec<ColumnEntry> = Vec::new();
        for (i, column) in c.columns().iter().enumerate() {
            if column.count == 0 {
                continue;
            }
            let form = self.encode_column(c, i, &numbers, &mut progress)?;
            columns.push(ColumnEntry {
                name: column.name.clone(),
                form,
                kind: column.kinds.is_empty().then_some(column.kind),
                map: map_of[i],
                count: column.count,
            });
        }
        self.flush_shared(&mut progress)?;
        filter::build(&self.words, &mut self.chunk);
        let filter = if self.chunk.is_empty() { None } else { Some(progress.sink.add_chunk(&self.chunk)?) };
        let directory = Directory {
            rows,
            min_time: c.times[0],
            max_time: c.times[rows - 1],
            raw_bytes: c.raw_bytes,
            bundles: progress.bundles.iter().filter_map(|b| b.handle).collect(),
            filter,
            structure,
            maps,
            columns,
        };
        directory.write(&mut self.zstd, &mut self.chunk)?;
        let handle = progress.sink.add_chunk(&self.chunk)?;
        Ok(summary(directory, handle, &progress.bundles))
    }

    /// Moves what is in `scratch` to a bundle.
    fn place(&mut self, progress: &mut Progress<'_>) -> Result<Location> {
        let lens = self.scratch.lens();
        if self.scratch.total() > OWN_BUNDLE_BYTES {
            let stored = self.scratch.write(&mut self.zstd, &mut self.chunk)?;
            let handle = progress.sink.add_chunk(&self.chunk)?;
            let bundle = progress.bundles.len();
            progress.bundles.push(BundleSizes { handle: Some(handle), plain: lens, stored });
            return Ok(Location { bundle, starts: [0; 4], lens });
        }
        let bundle = *progress.shared.get_or_insert_with(|| {
            progress.bundles.push(BundleSizes::default());
            progress.bundles.len() - 1
        });
        let starts = self.shared.lens();
        self.shared.append(&self.scratch);
        if self.shared.total() > SHARED_BUNDLE_BYTES {
            self.flush_shared(progress)?;
        }
        Ok(Location { bundle, starts, lens })
    }

    fn flush_shared(&mut self, progress: &mut Progress<'_>) -> Result<()> {
        if let Some(bundle) = progress.shared.take() {
            let plain = self.shared.lens();
            let stored = self.shared.write(&mut self.zstd, &mut self.chunk)?;
            let handle = progress.sink.add_chunk(&self.chunk)?;
            progress.bundles[bundle] = BundleSizes { handle: Some(handle), plain, stored };
            self.shared.clear();
        }
        Ok(())
    }

    /// Writes each distinct map once. Says which column has which.
    fn encode_maps(
        &mut self,
        c: &Columnizer,
        progress: &mut Progress<'_>,
    ) -> Result<(Vec<Location>, Vec<Option<usize>>)> {
        let rows = c.times.len();
        let mut index: HashMap<Vec<u64>, usize, FixedState> = HashMap::default();
        let mut locations = Vec::new();
        let mut map_of = Vec::new();
        for column in c.columns() {
            if column.is_dense(rows) || column.count == 0 {
                map_of.push(None);
                continue;
            }
            let map = full_map(column, rows);
            let known = index.get(&map).copied();
            map_of.push(Some(match known {
                Some(i) => i,
                None => {
                    self.scratch.clear();
                    presence::encode(&map, rows, &mut self.scratch);
                    locations.push(self.place(progress)?);
                    index.insert(map, locations.len() - 1);
                    locations.len() - 1
                }
            }));
        }
        Ok((locations, map_of))
    }

    fn encode_column(
        &mut self,
        c: &Columnizer,
        i: usize,
        numbers: &[u32],
        progress: &mut Progress<'_>,
    ) -> Result<Form> {
        let column = &c.columns()[i];
        self.scratch.clear();
        self.scratch.bytes.extend_from_slice(&column.kinds);
        match column.form {
            Held::Alias => return Ok(Form::Alias),
            Held::Ints => {
                let min = column.ints.iter().copied().min().unwrap_or(0);
                let max = column.ints.iter().copied().max().unwrap_or(0);
                ints::encode(&column.ints, &mut self.scratch);
                return Ok(Form::Integers { min, max, at: self.place(progress)? });
            }
            _ => {}
        }
        let spans = spans_of(&column.texts);
        let values = Spans { bytes: &column.texts.bytes, spans: &spans };
        if column.form == Held::Dictionary {
            if column.codes.iter().all(|&c| c == column.codes[0]) {
                let text = column.texts.get(column.codes[0] as usize);
                if column.kinds.is_empty() && text.len() <= MAX_CONSTANT_BYTES {
                    self.words.add(text);
                    return Ok(Form::Constant(String::from_utf8_lossy(text).into()));
                }
            }
            if let Some(ints) = plain_integers(values) {
                let ints: Vec<i64> = column.codes.iter().map(|&c| ints[c as usize]).collect();
                let min = ints.iter().copied().min().unwrap_or(0);
                let max = ints.iter().copied().max().unwrap_or(0);
                ints::encode(&ints, &mut self.scratch);
                return Ok(Form::Integers { min, max, at: self.place(progress)? });
            }
            let mut codes: Vec<i64> = column.codes.iter().map(|&c| i64::from(c)).collect();
            leaf::write_dictionary(values, &mut codes, &mut self.scratch, &mut self.words);
        } else if let Some(ints) = plain_integers(values) {
            let min = ints.iter().copied().min().unwrap_or(0);
            let max = ints.iter().copied().max().unwrap_or(0);
            ints::encode(&ints, &mut self.scratch);
            return Ok(Form::Integers { min, max, at: self.place(progress)? });
        } else {
            self.encode_texts(c, i, numbers, values);
        }
        Ok(Form::Texts { at: self.place(progress)? })
    }
}

impl BlockEncoder {
    /// Encodes the texts of column `i`, as templates if they have any.
    fn encode_texts(&mut self, c: &Columnizer, i: usize, numbers: &[u32], values: Spans<'_>) {
        let column = &c.columns()[i];
        let near = times_of(c, column);
        let references = &self.references;
        let sources = &references.sources[i];
        let slots = if sources.is_empty() { Vec::new() } else { references.slots_of(column) };
        let mut gaps = vec![usize::MAX; sources.len()];
        let hits = |text: usize, hits: &mut Vec<Hit>| {
            if !sources.is_empty() {
                let base = values.spans[text].0 as usize;
                let number = |i: usize| numbers[i];
                references.search(
                    c.columns(),
                    sources,
                    slots[text] as usize,
                    values.get(text),
                    base,
                    number,
                    &mut gaps,
                    hits,
                );
            }
        };
        if self.templates.encode(values, &near, hits, &mut self.scratch, &mut self.words) {
            references.add_words(c.columns(), i, &mut self.words);
        } else {
            leaf::encode(values, &mut self.scratch, &mut self.words);
        }
    }
}

/// The integers that all these texts plainly are.
fn plain_integers(values: Spans<'_>) -> Option<Vec<i64>> {
    values.iter().map(|v| crate::entry::plain_integer(std::str::from_utf8(v).ok()?)).collect()
}

/// The time of the row of each value.
fn times_of(c: &Columnizer, column: &Collected) -> Vec<i64> {
    let mut by_slot;
    let times = match &c.streams.order {
        None => &c.times,
        Some(order) => {
            by_slot = vec![0; c.times.len()];
            order.iter().zip(&c.times).for_each(|(&slot, &time)| by_slot[slot as usize] = time);
            &by_slot
        }
    };
    if column.present.is_empty() {
        return times[..column.count].to_vec();
    }
    let has = |slot: &usize| bit(&column.present, *slot);
    (0..times.len()).filter(has).map(|slot| times[slot]).collect()
}

/// The map of a column, one bit a slot.
fn full_map(column: &Collected, rows: usize) -> Vec<u64> {
    let mut map = column.present.clone();
    if map.is_empty() {
        map.resize(column.count / 64, u64::MAX);
        map.push((1u64 << (column.count % 64)) - 1);
    }
    map.resize(rows.div_ceil(64), 0);
    map
}

fn encode_structure(c: &Columnizer, out: &mut Streams) {
    ints::encode(&c.times, out);
    ints::encode(&c.writers, out);
    ints::encode(&c.seqs, out);
    encode_streams(&c.streams, out);
    let stream_of_row: Vec<i64> = c.stream_of_row.iter().map(|&s| i64::from(s)).collect();
    ints::encode(&stream_of_row, out);
    if levels_follow_from_text(c) {
        out.meta.push(0);
    } else {
        out.meta.push(1);
        let levels: Vec<i64> = c.levels.iter().map(|&l| i64::from(l)).collect();
        ints::encode(&levels, out);
    }
}

fn encode_streams(streams: &StreamTable, out: &mut Streams) {
    put_varint(&mut out.text, streams.sets.len() as u64);
    for set in &streams.sets {
        put_varint(&mut out.text, set.len() as u64);
        for label in set {
            put_bytes(&mut out.text, label.name.as_bytes());
            put_bytes(&mut out.text, label.value.as_bytes());
            out.text.push(label.kind);
        }
    }
}

/// Whether each entry's level is what its `level` field's text means.
fn levels_follow_from_text(c: &Columnizer) -> bool {
    if c.streams.names().any(|name| name == names::LEVEL) {
        return false;
    }
    let Some(column) = c.columns().get(MESSAGE + 1) else { return false };
    if !matches!(column.form, Held::Dictionary | Held::Empty) {
        return false;
    }
    let meaning: Vec<u8> = (0..column.texts.len())
        .map(|i| level_of(&String::from_utf8_lossy(column.texts.get(i))) as u8)
        .collect();
    let rows = c.levels.len();
    let all = column.present.is_empty();
    let mut i = 0;
    (0..rows).all(|slot| {
        let has = if all { slot < column.count } else { bit(&column.present, slot) };
        let expected = if has {
            i += 1;
            meaning[column.codes[i - 1] as usize]
        } else {
            Level::Unknown as u8
        };
        c.levels[slot] == expected
    })
}

/// What the text of a `level` field means.
pub(crate) fn level_of(text: &str) -> Level {
    Level::parse(text).unwrap_or(Level::Unknown)
}

fn summary(directory: Directory, handle: ChunkHandle, bundles: &[BundleSizes]) -> EncodedBlock {
    // What a part takes of a bundle: of each stream, in proportion.
    let share =
        |at: &Location| -> u64 {
            let b = &bundles[at.bundle];
            (0..4)
                .map(|i| {
                    if b.plain[i] == 0 {
                        0
                    } else {
                        at.lens[i] as u64 * b.stored[i] as u64 / b.plain[i] as u64
                    }
                })
                .sum()
        };
    let structure_bytes = share(&directory.structure) + directory.maps.iter().map(share).sum::<u64>();
    let bundle_bytes: u64 = directory.bundles.iter().map(|b| u64::from(b.len)).sum();
    let fields = directory
        .columns
        .iter()
        .map(|column| FieldSummary {
            name: column.name.clone(),
            rows: column.count,
            kind: column.kind.and_then(ValueKind::from_u8).unwrap_or(ValueKind::String),
            stored_bytes: match &column.form {
                Form::Integers { at, .. } | Form::Texts { at } => share(at),
                Form::Constant(_) | Form::Alias => 0,
            },
        })
        .collect();
    EncodedBlock {
        directory: handle,
        rows: directory.rows,
        min_time: directory.min_time,
        max_time: directory.max_time,
        raw_bytes: directory.raw_bytes,
        fields,
        chunks: directory.bundles.len() + 1 + usize::from(directory.filter.is_some()),
        sizes: BlockSizes {
            structure_bytes,
            column_bytes: bundle_bytes.saturating_sub(structure_bytes),
            filter_bytes: directory.filter.map_or(0, |f| u64::from(f.len)),
            directory_bytes: u64::from(handle.len),
        },
    }
}
