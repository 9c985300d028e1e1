//! Rows of WAL segments into tables: one or more a UTC day, none of them live before the manifest says so.

use crate::columnar::{BlockEncoder, EncodeOptions, MAX_BLOCK_ROWS, Row, TARGET_BLOCK_RAW_BYTES};
use crate::error::Result;
use crate::store::field_counts::FieldCounts;
use crate::store::layout::{Layout, day_name, day_of};
use crate::store::origins::{ORIGINS_PROPERTY, Origins};
use crate::store::rows::{Arenas, RowPlace};
use crate::store::table_facts::{BlockFacts, TableFacts, time_key};
use duramen_engine::io::Env;
use duramen_engine::manifest::TableMeta;
use duramen_engine::sstable::{BlockMeta, TableBuilder};
use std::ops::Range;

/// The number, in a table's header, of the codec that writes column blocks.
pub(crate) const COLUMN_CODEC_ID: u32 = 0x6c6f_6731; // "log1"

/// Name of the table property that holds its [`FieldCounts`].
pub(crate) const FIELDS_PROPERTY: &str = "fields";

/// Turns rows into tables. Keep one: its buffers are reused.
#[derive(Debug)]
pub(crate) struct Flusher {
    env: Env,
    layout: Layout,
    encoder: BlockEncoder,
}

impl Flusher {
    pub(crate) fn new(env: Env, layout: Layout) -> Result<Self> {
        Ok(Self { env, layout, encoder: BlockEncoder::new(EncodeOptions::default())? })
    }

    /// Writes the rows, which are in order, into tables numbered from `next_table`.
    ///
    /// # Errors
    /// What the file system said. Tables already written are files that no manifest names: the next keeper
    /// removes them.
    pub(crate) fn write(
        &mut self,
        arenas: &Arenas,
        rows: &[RowPlace],
        mut next_table: u64,
    ) -> Result<Vec<TableMeta>> {
        let mut tables = Vec::new();
        let mut start = 0;
        while start < rows.len() {
            let day = day_of(rows[start].0.time);
            let end = start + rows[start..].partition_point(|row| day_of(row.0.time) == day);
            tables.push(self.write_table(arenas, &rows[start..end], next_table)?);
            next_table += 1;
            start = end;
        }
        Ok(tables)
    }

    fn write_table(&mut self, arenas: &Arenas, rows: &[RowPlace], number: u64) -> Result<TableMeta> {
        let mut table = self.start_table(rows.first().map_or(0, |row| row.0.time), number)?;
        for block in block_ranges(rows) {
            let rows = rows[block].iter().map(|place| arenas.row(place)).collect::<Result<Vec<_>>>()?;
            table.add_block(&rows)?;
        }
        table.finish(None)
    }

    /// Starts a table for the day that `time` (ns since the epoch) lies in.
    ///
    /// # Errors
    /// What the file system said.
    pub(crate) fn start_table(&mut self, time: i64, number: u64) -> Result<TableWriter<'_>> {
        let day = day_of(time);
        self.make_day_directory(day)?;
        let path = Layout::table_path(&day_name(day), number);
        let builder = TableBuilder::create(&self.env, self.layout.resolve(&path), COLUMN_CODEC_ID)?;
        Ok(TableWriter {
            encoder: &mut self.encoder,
            builder,
            number,
            path,
            facts: TableFacts::default(),
            fields: FieldCounts::default(),
            origins: Origins::default(),
        })
    }

    /// The day's directory, and its name in `tables/`, must be durable before a table in it is.
    fn make_day_directory(&self, day: i64) -> Result<()> {
        let tables = self.layout.tables();
        let dir = tables.join(day_name(day));
        if !self.env.fs.exists(&dir).map_err(duramen_engine::Error::io("look for", &dir))? {
            self.env.fs.create_dir_all(&dir).map_err(duramen_engine::Error::io("create", &dir))?;
            self.env.fs.sync_dir(&tables).map_err(duramen_engine::Error::io("sync", &tables))?;
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
    origins: Origins,
}

/// What a merged table takes over from those it was made of.
#[derive(Debug, Default)]
pub(crate) struct Inherited {
    /// Bytes of the lines that became its rows.
    pub(crate) raw_bytes: u64,
    /// Where its rows come from.
    pub(crate) origins: Origins,
}

impl TableWriter<'_> {
    /// Adds a block of rows, which are in order and not before those of the last block.
    ///
    /// # Errors
    /// What the file system said.
    pub(crate) fn add_block(&mut self, rows: &[Row<'_>]) -> Result<()> {
        let encoded = self.encoder.encode(rows, &mut self.builder)?;
        let facts =
            BlockFacts { rows: encoded.rows as u64, min_time: encoded.min_time, max_time: encoded.max_time };
        self.builder.add_block(BlockMeta {
            min_key: time_key(facts.min_time),
            max_key: time_key(facts.max_time),
            entries: facts.rows,
            directory: encoded.directory,
            filter: None,
            user: Vec::new(),
        })?;
        self.facts.raw_bytes += encoded.raw_bytes;
        self.facts.blocks.push(facts);
        self.fields.add_block(&encoded.fields);
        rows.iter().for_each(|row| self.origins.add_row(self.number, row.writer, row.seq));
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
        }
        self.builder.set_property(FIELDS_PROPERTY, self.fields.encode());
        self.builder.set_property(ORIGINS_PROPERTY, self.origins.encode());
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

/// Cuts rows into blocks: by number, and by the bytes of their entries.
fn block_ranges(rows: &[RowPlace]) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let (mut start, mut bytes) = (0, 0usize);
    for (i, (_, location)) in rows.iter().enumerate() {
        if i > start && (i - start >= MAX_BLOCK_ROWS || bytes as u64 >= TARGET_BLOCK_RAW_BYTES) {
            ranges.push(start..i);
            (start, bytes) = (i, 0);
        }
        bytes += location.len as usize;
    }
    if start < rows.len() {
        ranges.push(start..rows.len());
    }
    ranges
}
