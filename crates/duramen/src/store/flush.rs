//! Rows of WAL segments into tables: one or more a UTC day, none of them live before the manifest says so.

use crate::columnar::{BlockEncoder, EncodeOptions, MAX_BLOCK_ROWS, TARGET_BLOCK_RAW_BYTES};
use crate::error::Result;
use crate::store::field_counts::FieldCounts;
use crate::store::layout::{Layout, day_name, day_of};
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
            tables.push(self.write_table(arenas, &rows[start..end], day, next_table)?);
            next_table += 1;
            start = end;
        }
        Ok(tables)
    }

    fn write_table(
        &mut self,
        arenas: &Arenas,
        rows: &[RowPlace],
        day: i64,
        number: u64,
    ) -> Result<TableMeta> {
        let path = Layout::table_path(&day_name(day), number);
        let full_path = self.layout.resolve(&path);
        self.make_day_directory(day)?;
        let mut builder = TableBuilder::create(&self.env, &full_path, COLUMN_CODEC_ID)?;
        let mut facts = TableFacts::default();
        let mut fields = FieldCounts::default();
        for block in block_ranges(rows) {
            let rows = rows[block].iter().map(|place| arenas.row(place)).collect::<Result<Vec<_>>>()?;
            let encoded = self.encoder.encode(&rows, &mut builder)?;
            builder.add_block(BlockMeta {
                min_key: time_key(encoded.min_time),
                max_key: time_key(encoded.max_time),
                entries: encoded.rows as u64,
                directory: encoded.directory,
                filter: None,
                user: Vec::new(),
            })?;
            facts.raw_bytes += encoded.raw_bytes;
            facts.blocks.push(BlockFacts {
                rows: encoded.rows as u64,
                min_time: encoded.min_time,
                max_time: encoded.max_time,
            });
            fields.add_block(&encoded.fields);
        }
        builder.set_property(FIELDS_PROPERTY, fields.encode());
        let info = builder.finish()?;
        Ok(TableMeta {
            number,
            path,
            file_bytes: info.file_bytes,
            entries: info.entries,
            blocks: info.blocks,
            min_key: info.min_key,
            max_key: info.max_key,
            user: facts.encode(),
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
