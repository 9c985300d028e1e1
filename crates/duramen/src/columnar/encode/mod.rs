//! Rows to a block.

mod alone;
mod column;
mod copy;
mod few;
mod pages;
mod summary;
mod times;

pub use summary::{BlockSizes, EncodedBlock, FieldSummary};

use super::columnize::{Collected, Columnizer};
use super::compress::Zstd;
use super::directory::{ColumnEntry, Directory, Location, Needs};
use super::grams::Grams;
use super::references::References;
use super::streams::{MAX_STREAM_BYTES, STREAMS, Streams};
use super::table_fields::TableFieldsBuilder;
use super::table_streams::{StreamRows, TableStreamsBuilder};
use super::table_times::TableTimesBuilder;
use super::template::Templates;
use super::words::Words;
use super::{MAX_BLOCK_CELLS, Row, TARGET_BLOCK_RAW_BYTES, filter, presence, structure};
use crate::error::{Error, Result};
use alone::Earlier;
use duramen_engine::sstable::ChunkSink;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use std::collections::BTreeMap;
use summary::{BundleSizes, Told, summary};

/// How blocks are encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EncodeOptions {
    /// The zstd level, 1 to 19. Default: 3.
    ///
    /// What is compressed is what is left of the lines when templates, dictionaries and packed integers are taken out: a
    /// higher level finds less in it than in the lines, and takes as much longer. `LEVEL=15` before the example `column_sizes`
    /// tells what another level makes of a log.
    pub zstd_level: i32,
    /// Whether texts of 2 MiB and more that level 8 makes hardly smaller than level 1 are compressed at level 1: a sample
    /// tells. Default: yes.
    pub saves_time: bool,
    /// Whether a block lies with many others in a table, so that a query asks many filters: then that of words of a small block,
    /// too, is wrong once in 256 times, and takes 9 bits a word; otherwise once in 16, and 5.6. Default: no.
    pub of_many: bool,
}

impl EncodeOptions {
    /// What a flush takes, and the default.
    pub(super) const FOR_FLUSHES: Self = Self { zstd_level: 3, saves_time: true, of_many: false };
}

impl Default for EncodeOptions {
    fn default() -> Self {
        Self::FOR_FLUSHES
    }
}

/// Which parts share a chunk.
#[derive(Clone, Copy, Debug)]
struct Sharing {
    /// Parts over this size do not.
    own_bundle_bytes: usize,
    /// A shared chunk is closed beyond this size.
    shared_bundle_bytes: usize,
}

impl Sharing {
    /// What is read of a large block should be little of it; a small one is decompressed soon, and smaller the more of it is
    /// seen at once.
    fn of_block(raw_bytes: u64) -> Self {
        if raw_bytes * 4 < TARGET_BLOCK_RAW_BYTES {
            Self { own_bundle_bytes: 128 << 10, shared_bundle_bytes: 256 << 10 }
        } else {
            Self { own_bundle_bytes: 12 << 10, shared_bundle_bytes: 128 << 10 }
        }
    }
}

/// Encodes blocks, one after another, with the same buffers. Not to be shared between threads; make one each.
#[derive(Debug)]
pub struct BlockEncoder {
    zstd: Zstd,
    columnizer: Columnizer,
    words: Words,
    grams: Grams,
    templates: Templates,
    references: References,
    earlier: Earlier,
    shared: Streams,
    scratch: Streams,
    chunk: Vec<u8>,
}

/// What is known about the block so far.
struct Progress<'a> {
    sink: &'a mut dyn ChunkSink,
    bundles: Vec<BundleSizes>,
    /// Bundles that need others.
    needs: BTreeMap<usize, Needs>,
    sharing: Sharing,
    /// Which bundle the shared streams will be.
    shared: Option<usize>,
}

impl Progress<'_> {
    /// Writes a bundle of one part.
    fn add(&mut self, part: &Streams, zstd: &mut Zstd, chunk: &mut Vec<u8>) -> Result<Location> {
        let stored = part.write(zstd, chunk)?;
        self.add_chunk(chunk, part.lens(), stored, Needs::default())
    }

    /// Writes a bundle of one part, compressed.
    fn add_chunk(
        &mut self,
        chunk: &[u8],
        plain: [usize; STREAMS],
        stored: [usize; STREAMS],
        needs: Needs,
    ) -> Result<Location> {
        let bundle = self.bundles.len();
        let handle = Some(self.sink.add_chunk(chunk)?);
        self.bundles.push(BundleSizes { handle, plain, stored });
        if needs != Needs::default() {
            self.needs.insert(bundle, needs);
        }
        Ok(Location { bundle, starts: [0; STREAMS], lens: plain })
    }
}

impl BlockEncoder {
    /// An encoder.
    ///
    /// # Errors
    /// [`crate::Error::Invalid`] if zstd does not take the level.
    pub fn new(options: EncodeOptions) -> Result<Self> {
        Ok(Self {
            zstd: Zstd::new(options)?,
            columnizer: Columnizer::default(),
            words: Words::default(),
            grams: Grams::default(),
            templates: Templates::default(),
            references: References::default(),
            earlier: Earlier::default(),
            shared: Streams::default(),
            scratch: Streams::default(),
            chunk: Vec::new(),
        })
    }

    /// Encodes otherwise from now on.
    ///
    /// # Errors
    /// [`crate::Error::Invalid`] if zstd does not take the level.
    pub fn set_options(&mut self, options: EncodeOptions) -> Result<()> {
        self.zstd.set_options(options)
    }

    /// Encodes the rows, which must be in order of (time, writer, sequence number), as one block, whatever fields they have.
    ///
    /// # Errors
    /// [`crate::Error::Invalid`] if there are no rows, more than [`super::MAX_ROWS`], too much text, or if the
    /// order is wrong; what `sink` says.
    pub fn encode(&mut self, rows: &[Row<'_>], sink: &mut dyn ChunkSink) -> Result<EncodedBlock> {
        self.columnizer.fill(rows)?;
        self.encode_filled(sink)
    }

    /// Encodes the rows as [`BlockEncoder::encode`] does, unless they are several and have more names of fields than a block of
    /// so many rows should: [`super::MAX_BLOCK_CELLS`]. Then nothing is written.
    ///
    /// # Errors
    /// As [`BlockEncoder::encode`].
    pub(crate) fn encode_narrow(
        &mut self,
        rows: &[Row<'_>],
        sink: &mut dyn ChunkSink,
    ) -> Result<Option<EncodedBlock>> {
        let most_columns = if rows.len() > 1 { MAX_BLOCK_CELLS / rows.len() } else { usize::MAX };
        if !self.columnizer.fill_narrow(rows, most_columns)? {
            return Ok(None);
        }
        self.encode_filled(sink).map(Some)
    }

    fn encode_filled(&mut self, sink: &mut dyn ChunkSink) -> Result<EncodedBlock> {
        self.words.clear();
        self.grams.clear();
        self.shared.clear();
        let columnizer = std::mem::take(&mut self.columnizer);
        let result = self.encode_columns(&columnizer, sink);
        self.earlier.end_block();
        self.columnizer = columnizer;
        result
    }

    fn encode_columns(&mut self, c: &Columnizer, sink: &mut dyn ChunkSink) -> Result<EncodedBlock> {
        let rows = c.times.len();
        self.earlier.next_block(c.columns(), rows);
        let mut progress = Progress {
            sink,
            bundles: Vec::new(),
            needs: BTreeMap::new(),
            sharing: Sharing::of_block(c.raw_bytes),
            shared: None,
        };
        self.scratch.clear();
        structure::encode(c, &mut self.scratch);
        let structure = self.place(&mut progress)?;
        self.scratch.clear();
        structure::encode_label_sets(&c.streams, &mut self.scratch);
        let label_sets = self.place(&mut progress)?;
        let (maps, map_of) = self.encode_maps(c, &mut progress)?;
        self.references.learn(c);
        let mut numbers = Vec::new();
        let mut count = 0;
        for column in c.columns() {
            numbers.push(count);
            count += u32::from(column.count > 0);
        }
        let mut columns: Vec<ColumnEntry> = Vec::new();
        let mut few_values = Vec::new();
        for (i, column) in c.columns().iter().enumerate() {
            if column.count == 0 {
                continue;
            }
            let form = self.encode_column(c, i, &numbers, &mut progress)?;
            few_values.push(few::values_of(column));
            columns.push(ColumnEntry {
                name: column.name.clone(),
                form,
                kind: column.kinds.is_empty().then_some(column.kind),
                map: map_of[i],
                count: column.count,
            });
        }
        self.flush_shared(&mut progress)?;
        // What is read most often lies nearest to the directory.
        let is_small = super::is_small(rows, c.raw_bytes);
        self.grams.write(is_small, &mut self.zstd, &mut self.chunk)?;
        let grams = if self.chunk.is_empty() { None } else { Some(progress.sink.add_chunk(&self.chunk)?) };
        let filter = filter::build(&mut self.words, is_small, self.zstd.options().of_many);
        let mut label_names: Vec<String> = c.streams.names().map(str::to_owned).collect();
        label_names.sort_unstable();
        label_names.dedup();
        let directory = Directory {
            rows,
            min_time: c.times[0],
            max_time: c.times[rows - 1],
            raw_bytes: c.raw_bytes,
            bundles: progress.bundles.iter().filter_map(|b| b.handle).collect(),
            filter: Vec::new(),
            grams,
            structure,
            label_names,
            label_sets,
            maps,
            columns,
            needs: std::mem::take(&mut progress.needs),
        };
        directory.write(&mut self.zstd, &mut self.chunk)?;
        let handle = progress.sink.add_chunk(&self.chunk)?;
        let streams = StreamRows::new(c.streams.sets.clone(), &c.streams.slot_ends);
        let told = Told { few_values, times: times::counts_of(c) };
        Ok(summary(directory, handle, filter, &progress.bundles, Some(streams), told))
    }

    /// What is kept beside the blocks, packed: [`super::unpacked`] undoes it.
    ///
    /// # Errors
    /// What zstd says, which is a fault of the program.
    pub(crate) fn packed(&mut self, plain: &[u8]) -> Result<Vec<u8>> {
        self.zstd.packed(plain)
    }

    /// What a table tells of its blocks' fields, which hold lines of so many bytes.
    ///
    /// # Errors
    /// As [`TableFieldsBuilder::finish`].
    pub(crate) fn table_fields(
        &mut self,
        fields: &mut TableFieldsBuilder,
        raw_bytes: u64,
    ) -> Result<Option<Vec<u8>>> {
        fields.finish(raw_bytes, &mut self.zstd)
    }

    /// What a table tells of its blocks' steps of time.
    ///
    /// # Errors
    /// As [`TableTimesBuilder::finish`].
    pub(crate) fn table_times(&mut self, times: &TableTimesBuilder) -> Result<Option<Vec<u8>>> {
        times.finish(&mut self.zstd)
    }

    /// What a table tells of its blocks' streams.
    ///
    /// # Errors
    /// As [`TableStreamsBuilder::finish`].
    pub(crate) fn table_streams(
        &mut self,
        streams: &TableStreamsBuilder,
        is_field: &dyn Fn(&str) -> bool,
    ) -> Result<Option<Vec<u8>>> {
        streams.finish(is_field, &mut self.zstd)
    }

    /// Moves what is in `scratch` to a bundle.
    fn place(&mut self, progress: &mut Progress<'_>) -> Result<Location> {
        let lens = self.scratch.lens();
        if let Some(len) = lens.iter().find(|&&len| len > MAX_STREAM_BYTES) {
            return Err(too_large("a part", *len));
        }
        if self.scratch.total() > progress.sharing.own_bundle_bytes {
            return self.place_alone(progress);
        }
        let bundle = *progress.shared.get_or_insert_with(|| {
            progress.bundles.push(BundleSizes::default());
            progress.bundles.len() - 1
        });
        let starts = self.shared.lens();
        self.shared.append(&self.scratch);
        if self.shared.total() > progress.sharing.shared_bundle_bytes {
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
}

/// The error for more rows than a decoder would take back.
fn too_large(what: &str, len: usize) -> Error {
    Error::Invalid(format!("{what} of a block has {len} bytes; at most {MAX_STREAM_BYTES}"))
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
