//! Rows of blocks, as entries again, into blocks of a new table.

use crate::block::{Block, names};
use crate::column::{Column, IntText};
use crate::columnar::{MAX_BLOCK_ROWS, Row, TARGET_BLOCK_RAW_BYTES, TableBlock};
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
    columns: Vec<(String, Arc<Column>)>,
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
        let mut columns = Vec::new();
        for name in block.field_names()? {
            if let Some(column) = block.column(&name)? {
                columns.push((name, column));
            }
        }
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
        Ok(Self { block, times, columns, levels, stream, stream_fields })
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
        let message = self.columns.iter().find(|(name, _)| name == names::MESSAGE);
        let mut message_digits = IntText::default();
        let message = message.and_then(|(_, c)| c.text(row, &mut message_digits)).unwrap_or_default();
        buf.message(message);
        for (name, column) in &self.columns {
            let slot = column.slot(row);
            let Some(text) = column.text_at(slot, &mut digits) else { continue };
            if name == names::MESSAGE || (name == names::LEVEL && text == level.name()) {
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

/// A table in the making: collects rows until they make a block.
pub(super) struct Output<'a> {
    table: TableWriter<'a>,
    buf: EntryBuf,
    arena: Vec<u8>,
    rows: Vec<(Range<usize>, u64, u64)>,
}

impl<'a> Output<'a> {
    pub(super) fn new(table: TableWriter<'a>) -> Self {
        Self { table, buf: EntryBuf::default(), arena: Vec::new(), rows: Vec::new() }
    }

    /// Adds a row, which is not before those it has; whether that made a block full.
    ///
    /// # Errors
    /// What the file system said.
    pub(super) fn push(&mut self, source: &Source, row: usize) -> Result<bool> {
        let (writer, seq) = source.identity(row)?;
        source.entry(row, &mut self.buf);
        let start = self.arena.len();
        self.arena.extend_from_slice(self.buf.finish()?);
        self.rows.push((start..self.arena.len(), writer, seq));
        if self.arena.len() as u64 >= TARGET_BLOCK_RAW_BYTES || self.rows.len() >= MAX_BLOCK_ROWS {
            self.write_block()?;
            return Ok(true);
        }
        Ok(false)
    }

    fn write_block(&mut self) -> Result<()> {
        let row = |(range, writer, seq): &(Range<usize>, u64, u64)| {
            Ok(Row { entry: EntryRef::decode(&self.arena[range.clone()])?, writer: *writer, seq: *seq })
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
        if !self.rows.is_empty() {
            self.write_block()?;
        }
        self.table.finish(Some(inherited))
    }
}
