//! Rows of WAL segments into tables: one or more a UTC day and retention class (days with little share one), none of them
//! live before the manifest says so.

use crate::block::BlockHandle;
use crate::columnar::{
    BlockEncoder, EncodeOptions, EncodedBlock, Row, TableBlock, TableFieldsBuilder, TableStreamsBuilder,
    TableTimesBuilder, is_small,
};
use crate::error::{Error, Result};
use crate::store::cut::{self, BlockRows, Piece};
use crate::store::field_counts::{FieldCounts, MAX_COUNTED_FIELDS};
use crate::store::layout::{Layout, SPARSE_BYTES, day_name, day_of, window_of};
use crate::store::origins::{ORIGINS_PROPERTY, Origins};
use crate::store::retention::Sorted;
use crate::store::rows::{Arenas, RowPlace};
use crate::store::shared::lock;
use crate::store::table_facts::{BlockFacts, ClassPart, Classes, TableFacts, time_key};
use duramen_engine::io::Env;
use duramen_engine::manifest::TableMeta;
use duramen_engine::sstable::{BlockMeta, ChunkHandle, TableBuilder};
use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;
use std::sync::Mutex;
use std::thread::Builder;

/// The number, in a table's header, of the codec that writes column blocks.
pub(crate) const COLUMN_CODEC_ID: u32 = 0x6c6f_6731; // "log1"

/// Name of the table property that holds eight random bytes, which the manifest knows, too: so no other file passes for it.
pub(crate) const ID_PROPERTY: &str = "id";
/// Name of the table property that holds its [`FieldCounts`].
pub(crate) const FIELDS_PROPERTY: &str = "fields";
/// Name of the table property that holds its [`TableStreams`](crate::columnar::TableStreams), if they are not too many.
pub(crate) const STREAMS_PROPERTY: &str = "table_streams";

/// What the index says of a block besides: how long its filter of grams is, which lies before the directory, 0 if it has none;
/// and whether that of words has all words of messages. Nothing if neither.
fn user_facts(grams: Option<ChunkHandle>, has_words_of_messages: bool) -> Vec<u8> {
    let mut user = grams.map_or(0, |grams| grams.len).to_le_bytes().to_vec();
    if has_words_of_messages {
        user.push(1);
    }
    if grams.is_some() || has_words_of_messages { user } else { Vec::new() }
}

/// How long the filter of grams is, as the index says it; 0 if it has none, or an older version wrote it.
pub(crate) fn grams_len(user: &[u8]) -> u64 {
    user.first_chunk().map_or(0, |len| u64::from(u32::from_le_bytes(*len)))
}

/// Whether the filter of words has all words of messages, as the index says it.
pub(crate) fn has_words_of_messages(user: &[u8]) -> bool {
    user.get(4) == Some(&1)
}

/// Name of the table property that holds its [`TableFields`](crate::columnar::TableFields), if they are not too many.
pub(crate) const BLOCK_FIELDS_PROPERTY: &str = "block_fields";
/// Name of the table property that holds its [`TableTimes`](crate::columnar::TableTimes).
pub(crate) const BLOCK_TIMES_PROPERTY: &str = "block_times";

/// How rows are encoded that are merged, or written again without some: in the background, and to stay. And those of a table
/// that has little: it takes no time, and what they have in common with others is not there to compress them by.
const TO_STAY: EncodeOptions = EncodeOptions { zstd_level: 15, saves_time: false, of_many: false };

/// Turns rows into tables. Keep one: its buffers are reused.
#[derive(Debug)]
pub(crate) struct Flusher {
    env: Env,
    layout: Layout,
    /// One for each thread that may encode at once; at least one.
    encoders: Vec<BlockEncoder>,
    /// The days whose directories have durable names.
    named_days: BTreeSet<i64>,
}

/// Rows of one class, and of one day or a few with little, that become a table.
struct Job<'a> {
    rows: &'a [RowPlace],
    /// Which of them become which block, in the order of the blocks' first rows.
    blocks: Vec<BlockRows>,
    class: Option<(u64, u32)>,
    /// Whether all blocks that were cut with these, whoever writes them, have rows enough.
    is_well_cut: bool,
    number: u64,
}

impl Flusher {
    pub(crate) fn new(env: Env, layout: Layout, threads: usize) -> Result<Self> {
        let encoder = |_| BlockEncoder::new(EncodeOptions::default());
        let encoders = (0..threads.max(1)).map(encoder).collect::<Result<_>>()?;
        Ok(Self { env, layout, encoders, named_days: BTreeSet::new() })
    }

    /// Writes the rows, which are in order, into tables numbered from `next_table`: one a day and class, one for several
    /// days that have little, and as many as there are threads for a day that is worth it.
    ///
    /// # Errors
    /// What the file system said. Tables already written are files that no manifest names: the next keeper
    /// removes them.
    pub(crate) fn write(
        &mut self,
        arenas: &Arenas,
        rows: &Sorted<'_>,
        next_table: u64,
    ) -> Result<Vec<TableMeta>> {
        let jobs = self.jobs(arenas, rows, next_table)?;
        for job in &jobs {
            self.make_day_directory(day_of(job.first_time()))?;
        }
        let Self { env, layout, encoders, .. } = self;
        let share = jobs.len().div_ceil(encoders.len()).max(1);
        let shares: Vec<_> = jobs.chunks(share).zip(encoders).collect();
        let others = shares.len().saturating_sub(1);
        let shares = Mutex::new(shares);
        let work = || {
            let (jobs, encoder) = lock(&shares).pop()?;
            Some(write_jobs(env, layout, encoder, arenas, jobs))
        };
        let written: Vec<Result<Vec<TableMeta>>> = std::thread::scope(|scope| {
            let start = |_| Builder::new().spawn_scoped(scope, work).ok();
            let others: Vec<_> = (0..others).map_while(start).collect();
            // One of them, and those for which the system had no thread.
            let mut written: Vec<_> = std::iter::from_fn(work).collect();
            let panicked = || Some(Err(Error::decode("rows", "the thread that encoded them panicked")));
            written.extend(others.into_iter().filter_map(|t| t.join().unwrap_or_else(|_| panicked())));
            written
        });
        written.into_iter().try_fold(Vec::new(), |mut all, tables| {
            all.extend(tables?);
            Ok(all)
        })
    }

    /// Cuts the rows by class, by day or days, and by stream, and what has many blocks for the threads to share.
    fn jobs<'a>(&self, arenas: &Arenas, sorted: &'a Sorted<'_>, next_table: u64) -> Result<Vec<Job<'a>>> {
        let mut jobs = Vec::new();
        for pile in &sorted.piles {
            for period in periods(&pile.rows, sorted.today) {
                let rows = &pile.rows[period];
                let piece = |(key, at): &RowPlace| Piece { stream: key.stream, bytes: at.len };
                let pieces: Vec<Piece> = rows.iter().map(piece).collect();
                let entry = |row: u32| Ok(arenas.row(&rows[row as usize])?.entry);
                let bytes = pieces.iter().map(|piece| u64::from(piece.bytes)).sum();
                let is_well_cut = cut::are_enough(rows.len() as u64, bytes);
                for blocks in cut::share_out(&pieces, cut::cut(&pieces, entry)?, self.encoders.len()) {
                    let number = next_table + jobs.len() as u64;
                    jobs.push(Job {
                        rows,
                        blocks: cut::in_order(blocks),
                        class: pile.class,
                        is_well_cut,
                        number,
                    });
                }
            }
        }
        Ok(jobs)
    }

    /// Starts a table for the day that `time` (ns since the epoch) lies in.
    ///
    /// # Errors
    /// What the file system said.
    pub(crate) fn start_table(&mut self, time: i64, number: u64) -> Result<TableWriter<'_>> {
        self.make_day_directory(day_of(time))?;
        self.encoders[0].set_options(EncodeOptions { of_many: true, ..TO_STAY })?;
        TableWriter::start(&self.env, &self.layout, &mut self.encoders[0], time, number)
    }

    /// The day's directory, and its name in `tables/`, must be durable before a table in it is. Who made a directory that is
    /// there may have died before its name was.
    pub(crate) fn make_day_directory(&mut self, day: i64) -> Result<()> {
        let tables = self.layout.tables();
        let dir = tables.join(day_name(day));
        let is_there = self.env.fs.exists(&dir).map_err(duramen_engine::Error::io("look for", &dir))?;
        if !is_there {
            // Whoever copied the store may have left out `tables/`, which was empty.
            let had = self.env.fs.exists(&tables).map_err(duramen_engine::Error::io("look for", &tables))?;
            self.env.fs.create_dir_all(&dir).map_err(duramen_engine::Error::io("create", &dir))?;
            if !had {
                let root = self.layout.root();
                self.env.fs.sync_dir(root).map_err(duramen_engine::Error::io("sync", root))?;
            }
        }
        if !is_there || !self.named_days.contains(&day) {
            self.env.fs.sync_dir(&tables).map_err(duramen_engine::Error::io("sync", &tables))?;
            self.named_days.insert(day);
        }
        Ok(())
    }
}

/// A table in the making.
pub(crate) struct TableWriter<'a> {
    encoder: &'a mut BlockEncoder,
    builder: TableBuilder,
    number: u64,
    path: String,
    facts: TableFacts,
    fields: FieldCounts,
    streams: TableStreamsBuilder,
    block_fields: TableFieldsBuilder,
    block_times: TableTimesBuilder,
    origins: Origins,
    /// By which retention rules, and which of them fits all of its rows.
    class: Option<(u64, u32)>,
}

impl Job<'_> {
    /// How many rows it has, and how many bytes their entries have.
    fn size(&self) -> (usize, u64) {
        let rows = self.blocks.iter().flatten();
        let bytes =
            rows.filter_map(|&row| self.rows.get(row as usize)).map(|(_, at)| u64::from(at.len)).sum();
        (self.blocks.iter().map(Vec::len).sum(), bytes)
    }

    /// The time of its first row.
    fn first_time(&self) -> i64 {
        let row =
            self.blocks.first().and_then(|block| block.first()).and_then(|&row| self.rows.get(row as usize));
        row.map_or(0, |row| row.0.time)
    }
}

fn write_jobs(
    env: &Env,
    layout: &Layout,
    encoder: &mut BlockEncoder,
    arenas: &Arenas,
    jobs: &[Job<'_>],
) -> Result<Vec<TableMeta>> {
    let mut tables = Vec::new();
    for job in jobs {
        let (rows, bytes) = job.size();
        let has_little = is_small(rows, bytes);
        let with_others = EncodeOptions { of_many: true, ..EncodeOptions::default() };
        encoder.set_options(if has_little { TO_STAY } else { with_others })?;
        let mut table = TableWriter::start(env, layout, encoder, job.first_time(), job.number)?;
        table.class = job.class;
        table.facts.is_well_cut = job.is_well_cut.then_some(true);
        let mut to_come: VecDeque<BlockRows> = job.blocks.clone().into();
        while let Some(block) = to_come.pop_front() {
            let place = |&row: &u32| arenas.row(&job.rows[row as usize]);
            let rows = block.iter().map(place).collect::<Result<Vec<_>>>()?;
            if !table.add_block(&rows)? {
                cut::put_back_halves(&mut to_come, block);
            }
        }
        tables.push(table.finish(None)?);
    }
    Ok(tables)
}

/// What a merged table takes over from those it was made of.
#[derive(Debug, Default)]
pub(crate) struct Inherited {
    /// Bytes of the lines that became its rows.
    pub(crate) raw_bytes: u64,
    /// Where its rows come from.
    pub(crate) origins: Origins,
    /// Of which retention classes they are.
    pub(crate) classes: Option<Classes>,
}

impl<'a> TableWriter<'a> {
    /// Starts the file. The day's directory must be there.
    fn start(
        env: &Env,
        layout: &Layout,
        encoder: &'a mut BlockEncoder,
        time: i64,
        number: u64,
    ) -> Result<Self> {
        let path = Layout::table_path(&day_name(day_of(time)), number);
        let builder = TableBuilder::create(env, layout.resolve(&path), COLUMN_CODEC_ID)?;
        Ok(Self {
            encoder,
            builder,
            number,
            path,
            facts: TableFacts { id: Some(env.random.next_u64()), ..TableFacts::default() },
            fields: FieldCounts::default(),
            streams: TableStreamsBuilder::default(),
            block_fields: TableFieldsBuilder::default(),
            block_times: TableTimesBuilder::default(),
            origins: Origins::default(),
            class: None,
        })
    }

    /// Adds a block of rows, which are in order and not before those of the last block. If they have more columns than a block
    /// may have, it says no: whoever asks adds fewer of them.
    ///
    /// # Errors
    /// What the file system said.
    pub(crate) fn add_block(&mut self, rows: &[Row<'_>]) -> Result<bool> {
        let Some(encoded) = self.encoder.encode_narrow(rows, &mut self.builder)? else { return Ok(false) };
        self.end_rows(encoded, rows)?;
        Ok(true)
    }

    /// Adds a block of rows that were a block before, or part of one, however many columns they have.
    ///
    /// # Errors
    /// What the file system said.
    pub(crate) fn add_block_again(&mut self, rows: &[Row<'_>]) -> Result<()> {
        let encoded = self.encoder.encode(rows, &mut self.builder)?;
        self.end_rows(encoded, rows)
    }

    fn end_rows(&mut self, encoded: EncodedBlock, rows: &[Row<'_>]) -> Result<()> {
        self.end_block(encoded)?;
        rows.iter().for_each(|row| self.origins.add_row(self.number, row.writer, row.seq));
        Ok(())
    }

    /// Adds a block of another table as it is, which must not begin before the last one. Where its rows come from is
    /// what the table inherits; `told` is asked what is known of it.
    ///
    /// # Errors
    /// What the file system said; damage in the block.
    pub(crate) fn copy_block(&mut self, block: &TableBlock, told: &dyn BlockHandle) -> Result<()> {
        let encoded = self.encoder.copy(block, told, &mut self.builder)?;
        self.end_block(encoded)
    }

    fn end_block(&mut self, encoded: EncodedBlock) -> Result<()> {
        let facts =
            BlockFacts { rows: encoded.rows as u64, min_time: encoded.min_time, max_time: encoded.max_time };
        let meta = BlockMeta {
            min_key: time_key(facts.min_time),
            max_key: time_key(facts.max_time),
            entries: facts.rows,
            directory: encoded.directory,
            filters: Vec::new(),
            user: user_facts(encoded.grams, encoded.has_words_of_messages),
        };
        self.builder.add_block_with_filters(meta, encoded.filter)?;
        self.facts.raw_bytes += encoded.raw_bytes;
        self.facts.blocks.push(facts);
        self.fields.add_block(&encoded.fields);
        self.streams.add_block(encoded.streams.as_ref());
        self.block_fields.add_block(&encoded.fields, &encoded.label_names);
        self.block_times.add_block(encoded.times.as_ref());
        Ok(())
    }

    /// Writes index and footer, and makes it all durable. A merged table says what it has `inherited`.
    ///
    /// # Errors
    /// What the file system said.
    pub(crate) fn finish(mut self, inherited: Option<Inherited>) -> Result<TableMeta> {
        if let Some(inherited) = inherited {
            self.facts.raw_bytes = inherited.raw_bytes;
            self.origins = inherited.origins;
            self.facts.classes = inherited.classes;
        }
        if let Some((id, class)) = self.class {
            self.facts.classes = Some(Classes { id, parts: vec![ClassPart { class, rows: 0, max_time: 0 }] });
        }
        let (rows, time_range) = (self.facts.rows(), self.facts.time_range());
        if let (Some(Classes { parts, .. }), Some((_, max_time))) = (&mut self.facts.classes, time_range)
            && let [only] = &mut parts[..]
        {
            // Of those that it takes over, some rows may not have come along.
            *only = ClassPart { rows, max_time, ..*only };
        }
        self.builder.set_property(FIELDS_PROPERTY, self.encoder.packed(&self.fields.encode())?);
        self.builder.set_property(ORIGINS_PROPERTY, self.origins.encode());
        if let Some(id) = self.facts.id {
            self.builder.set_property(ID_PROPERTY, id.to_le_bytes().to_vec());
        }
        // Of very many fields, not all are counted: what is not may be any.
        let fields = &self.fields.fields;
        let is_field = |name: &str| fields.len() >= MAX_COUNTED_FIELDS || fields.contains_key(name);
        if let Some(streams) = self.encoder.table_streams(&self.streams, &is_field)? {
            self.builder.set_property(STREAMS_PROPERTY, streams);
        }
        if let Some(fields) = self.encoder.table_fields(&mut self.block_fields, self.facts.raw_bytes)? {
            self.builder.set_property(BLOCK_FIELDS_PROPERTY, fields);
        }
        if let Some(times) = self.encoder.table_times(&self.block_times)? {
            self.builder.set_property(BLOCK_TIMES_PROPERTY, times);
        }
        let info = self.builder.finish()?;
        Ok(TableMeta {
            number: self.number,
            path: self.path,
            file_bytes: info.file_bytes,
            entries: info.entries,
            blocks: info.blocks,
            min_key: info.min_key,
            max_key: info.max_key,
            user: self.facts.encode(),
        })
    }
}

/// Cuts rows into days; days that have little are put together, but for days that are to come with others: lines with a wrong
/// time would keep those from what takes whole tables by age or size.
fn periods(rows: &[RowPlace], today: i64) -> Vec<Range<usize>> {
    let mut periods: Vec<Range<usize>> = Vec::new();
    let (mut last, mut last_bytes) = (None, 0u64);
    let mut start = 0;
    while let Some(first) = rows.get(start) {
        let day = day_of(first.0.time);
        let end = start + rows[start..].partition_point(|row| day_of(row.0.time) == day);
        let bytes = rows[start..end].iter().map(|(_, location)| location.len as u64).sum();
        let kind = Some((window_of(day), day > today));
        match periods.last_mut() {
            Some(period) if kind == last && last_bytes + bytes <= SPARSE_BYTES => {
                period.end = end;
                last_bytes += bytes;
            }
            _ => {
                periods.push(start..end);
                (last, last_bytes) = (kind, bytes);
            }
        }
        start = end;
    }
    periods
}
