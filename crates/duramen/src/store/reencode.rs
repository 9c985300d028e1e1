//! Blocks into a new table: as they are, or their rows, as entries again, into new blocks.

use crate::block::{Block, names};
use crate::column::{Column, IntText};
use crate::columnar::{MAX_BLOCK_ROWS, Row, TARGET_BLOCK_RAW_BYTES, TableBlock, is_large};
use crate::entry::{EntryBuf, EntryRef};
use crate::error::{Error, Result};
use crate::label_text;
use crate::store::flush::{Inherited, TableWriter};
use crate::value::{Level, Value, ValueKind};
use duramen_engine::manifest::TableMeta;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// A block that rows are read from.
pub(super) struct Source {
    block: TableBlock,
    pub(super) times: Arc<Vec<i64>>,
    /// The column of the messages, and all others by name.
    message: Option<Arc<Column>>,
    columns: Vec<(String, Arc<Column>)>,
    /// Which of these may only say the level.
    level: Option<usize>,
    levels: Vec<Level>,
    /// Each row's label set, and the names in each of the block's label sets.
    stream: Arc<Column>,
    stream_fields: BTreeMap<String, Vec<String>>,
}

impl Source {
    /// All columns of a block.
    ///
    /// # Errors
    /// What the file system said; damage in the block.
    pub(super) fn open(block: TableBlock) -> Result<Self> {
        let times = block.times()?;
        let (mut message, mut columns) = (None, Vec::new());
        for name in block.field_names()? {
            let Some(column) = block.column(&name)? else { continue };
            if name == names::MESSAGE {
                message = Some(column);
            } else {
                columns.push((name, column));
            }
        }
        let level = columns.iter().position(|(name, _)| name == names::LEVEL);
        let levels = block.levels()?;
        let no_stream = || Error::decode("a block", "it has no streams");
        let stream = block.column(names::STREAM)?.ok_or_else(no_stream)?;
        let mut stream_fields = BTreeMap::new();
        let mut digits = IntText::default();
        for row in 0..times.len() {
            let text = stream.text(row, &mut digits).unwrap_or_default();
            if !stream_fields.contains_key(text) {
                stream_fields.insert(text.to_owned(), label_names(text));
            }
        }
        Ok(Self { block, times, message, columns, level, levels, stream, stream_fields })
    }

    /// Which writer wrote a row, and as its how-manieth.
    pub(super) fn identity(&self, row: usize) -> Result<(u64, u64)> {
        self.block.identity(row)
    }

    /// Builds the entry of a row again.
    fn entry(&self, row: usize, buf: &mut EntryBuf) {
        let level = self.levels[row];
        let mut digits = IntText::default();
        let stream = self.stream.text(row, &mut digits).unwrap_or_default();
        buf.set_stream_fields(self.stream_fields.get(stream).map_or(&[], Vec::as_slice));
        buf.start(self.times[row]).level(level);
        let mut message_digits = IntText::default();
        let message =
            self.message.as_ref().and_then(|c| c.text(row, &mut message_digits)).unwrap_or_default();
        buf.message(message);
        for (i, (name, column)) in self.columns.iter().enumerate() {
            let slot = column.slot(row);
            let Some(text) = column.text_at(slot, &mut digits) else { continue };
            if self.level == Some(i) && text == level.name() {
                continue;
            }
            let kind = column.kind_at(slot);
            if kind == ValueKind::String && text == message && !text.is_empty() {
                buf.field_same_as_message(name);
            } else {
                buf.field(name, value(text, kind));
            }
        }
    }
}

/// The names in a label set such as `{app="x",host="y"}`.
fn label_names(labels: &str) -> Vec<String> {
    label_text::parse(labels).unwrap_or_default().into_iter().map(|(name, _)| name).collect()
}

fn value(text: &str, kind: ValueKind) -> Value<'_> {
    match kind {
        ValueKind::String => Value::Str(text),
        ValueKind::Number => Value::Number(text),
        ValueKind::Bool => Value::Bool(text == "true"),
        ValueKind::Null => Value::Null,
        ValueKind::Json => Value::Json(text),
    }
}

/// A table in the making: collects rows until they make a block, and takes blocks as they are.
pub(super) struct Output<'a> {
    table: TableWriter<'a>,
    /// How many rows make a block.
    block_rows: usize,
    buf: EntryBuf,
    arena: Vec<u8>,
    rows: Vec<(Range<usize>, u64, u64)>,
}

impl<'a> Output<'a> {
    pub(super) fn new(table: TableWriter<'a>) -> Self {
        let block_rows = MAX_BLOCK_ROWS;
        Self { table, block_rows, buf: EntryBuf::default(), arena: Vec::new(), rows: Vec::new() }
    }

    /// Makes blocks of about the same size of the rows it has and of so many that will come. If all of them make a block
    /// too small, they wait for more.
    pub(super) fn share_out(&mut self, to_come: usize) {
        let rows = self.rows.len() + to_come;
        self.block_rows =
            if is_large(rows, 0) { rows.div_ceil(rows.div_ceil(MAX_BLOCK_ROWS)) } else { MAX_BLOCK_ROWS };
    }

    /// Takes a whole block over as it is, if that makes no block too small of the rows that wait before it, or if it
    /// `must`.
    ///
    /// # Errors
    /// What the file system said; damage in the block.
    pub(super) fn copy(&mut self, block: &TableBlock, must: bool) -> Result<bool> {
        if !(must || self.rows.is_empty() || is_large(self.rows.len(), self.arena.len() as u64)) {
            return Ok(false);
        }
        self.write_block()?;
        self.table.copy_block(block)?;
        Ok(true)
    }

    /// Makes a block of rows of a block, none of which is before those it has.
    ///
    /// # Errors
    /// What the file system said.
    pub(super) fn write_alone(&mut self, source: &Source, rows: &[usize]) -> Result<()> {
        self.write_block()?;
        rows.iter().try_for_each(|&row| self.add(source, row))?;
        self.write_block()
    }

    fn add(&mut self, source: &Source, row: usize) -> Result<()> {
        let (writer, seq) = source.identity(row)?;
        source.entry(row, &mut self.buf);
        let start = self.arena.len();
        self.arena.extend_from_slice(self.buf.finish()?);
        self.rows.push((start..self.arena.len(), writer, seq));
        Ok(())
    }

    /// Adds a row, which is not before those it has; whether that made a block full.
    ///
    /// # Errors
    /// What the file system said.
    pub(super) fn push(&mut self, source: &Source, row: usize) -> Result<bool> {
        self.add(source, row)?;
        if self.arena.len() as u64 >= TARGET_BLOCK_RAW_BYTES || self.rows.len() >= self.block_rows {
            self.write_block()?;
            return Ok(true);
        }
        Ok(false)
    }

    /// Makes a block of the rows it has, if there are any.
    fn write_block(&mut self) -> Result<()> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let row = |(range, writer, seq): &(Range<usize>, u64, u64)| {
            // It was encoded just now, so it need not be looked through first.
            let entry = EntryRef::decode_known(&self.arena[range.clone()])?;
            Ok(Row { entry, writer: *writer, seq: *seq })
        };
        let rows = self.rows.iter().map(row).collect::<Result<Vec<_>>>()?;
        self.table.add_block(&rows)?;
        self.arena.clear();
        self.rows.clear();
        Ok(())
    }

    /// Writes what is left, and makes the table durable.
    ///
    /// # Errors
    /// What the file system said.
    pub(super) fn finish(mut self, inherited: Inherited) -> Result<TableMeta> {
        self.write_block()?;
        self.table.finish(Some(inherited))
    }
}
