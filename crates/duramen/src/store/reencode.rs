//! Blocks into a new table: as they are, or their rows, as entries again, into new blocks.

use crate::block::{Block, names};
use crate::column::{Column, IntText};
use crate::columnar::{MAX_BLOCK_ROWS, Row, TARGET_BLOCK_RAW_BYTES, TableBlock};
use crate::entry::{EntryBuf, EntryRef};
use crate::error::{Error, Result};
use crate::label_text;
use crate::store::cut::{self, BlockRows, Piece, stream_number};
use crate::store::flush::{Inherited, TableWriter};
use crate::store::table_blocks::TableBlockHandle;
use crate::value::{Level, Value, ValueKind};
use duramen_engine::manifest::TableMeta;
use std::collections::{BTreeMap, VecDeque};
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

    /// How many rows it has.
    pub(super) fn rows(&self) -> usize {
        self.times.len()
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

/// So many rows, or bytes of entries, are collected before they are cut into blocks: enough for several, so that each can
/// hold rows of one kind.
const BATCH_ROWS: usize = 4 * MAX_BLOCK_ROWS;
const BATCH_BYTES: u64 = 2 * TARGET_BLOCK_RAW_BYTES;

/// A table in the making: collects rows until they make blocks, and takes blocks as they are.
pub(super) struct Output<'a> {
    table: TableWriter<'a>,
    /// How many rows make a batch.
    batch_rows: usize,
    buf: EntryBuf,
    arena: Vec<u8>,
    rows: Vec<Place>,
    /// Blocks that begin after the first of these rows.
    waiting: VecDeque<Whole>,
}

/// A block of a table that becomes one of the new table.
pub(super) struct Whole {
    pub(super) handle: Arc<TableBlockHandle>,
    /// The time of the first row that is kept.
    pub(super) first_time: i64,
    /// Which rows are kept; `None`: all.
    pub(super) rows: Option<Vec<usize>>,
}

impl<'a> Output<'a> {
    pub(super) fn new(table: TableWriter<'a>) -> Self {
        Self {
            table,
            batch_rows: BATCH_ROWS,
            buf: EntryBuf::default(),
            arena: Vec::new(),
            rows: Vec::new(),
            waiting: VecDeque::new(),
        }
    }

    /// Makes batches of about the same size of the rows it has and of so many that will come.
    pub(super) fn share_out(&mut self, to_come: usize) {
        let rows = self.rows.len() + to_come;
        self.batch_rows = rows.div_ceil(rows.div_ceil(BATCH_ROWS).max(1)).max(1);
    }

    /// Takes a block that does not begin before the rows and blocks it has. As all that may write blocks, asks `go_on`
    /// after each, and says whether it did.
    ///
    /// # Errors
    /// What the file system said; damage in the block.
    pub(super) fn take(&mut self, block: Whole, go_on: &mut dyn FnMut() -> bool) -> Result<bool> {
        if !self.rows.is_empty() {
            // A table's blocks are in order, and more rows may belong to those that begin before this one.
            self.waiting.push_back(block);
            return Ok(true);
        }
        self.write_whole(block)?;
        Ok(go_on())
    }

    fn write_whole(&mut self, block: Whole) -> Result<()> {
        let from = block.handle.open_table_block()?;
        let rows = match block.rows {
            Some(rows) => rows,
            None if from.has_whole_filters() => return self.table.copy_block(&from, &*block.handle),
            // Its rows get other filters.
            None => (0..from.rows()).collect(),
        };
        let source = Source::open(from)?;
        let mut arena = Vec::new();
        let places = rows.iter().map(|&row| entry_into(&mut arena, &mut self.buf, &source, row));
        let places = places.collect::<Result<Vec<_>>>()?;
        self.table.add_block_again(&rows_in(&arena, &places)?)
    }

    /// Adds a row, which is not before those it has.
    ///
    /// # Errors
    /// What the file system said.
    pub(super) fn push(
        &mut self,
        source: &Source,
        row: usize,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<bool> {
        self.rows.push(entry_into(&mut self.arena, &mut self.buf, source, row)?);
        if self.arena.len() as u64 >= BATCH_BYTES || self.rows.len() >= self.batch_rows {
            return self.write_batch(go_on);
        }
        Ok(true)
    }

    /// Makes blocks of the rows it has, and takes those that wait, in order of their first rows.
    ///
    /// # Errors
    /// What the file system said; damage in a block that waits.
    pub(super) fn write_batch(&mut self, go_on: &mut dyn FnMut() -> bool) -> Result<bool> {
        let (mut arena, mut places) = (std::mem::take(&mut self.arena), std::mem::take(&mut self.rows));
        let rows = rows_in(&arena, &places)?;
        let piece = |row: &Row<'_>, (range, ..): &Place| Piece {
            stream: stream_number(row.entry.stream_bytes()),
            bytes: range.len() as u32,
        };
        let pieces: Vec<Piece> = rows.iter().zip(&places).map(|(row, place)| piece(row, place)).collect();
        let blocks = cut::in_order(cut::cut(&pieces, |row| Ok(rows[row as usize].entry))?);
        let mut blocks: VecDeque<BlockRows> = blocks.into();
        loop {
            let first_time =
                blocks.front().and_then(|block| block.first()).map(|&row| rows[row as usize].entry.time);
            let comes_first = |whole: &Whole| first_time.is_none_or(|first| whole.first_time < first);
            if self.waiting.front().is_some_and(comes_first) {
                if let Some(whole) = self.waiting.pop_front() {
                    self.write_whole(whole)?;
                }
            } else if let Some(block) = blocks.pop_front() {
                let of_block: Vec<Row<'_>> = block.iter().map(|&row| rows[row as usize]).collect();
                if !self.table.add_block(&of_block)? {
                    cut::put_back_halves(&mut blocks, block);
                }
            } else {
                break;
            }
            if !go_on() {
                return Ok(false);
            }
        }
        drop((rows, pieces));
        arena.clear();
        places.clear();
        (self.arena, self.rows) = (arena, places);
        Ok(true)
    }

    /// Makes the table durable, all of its rows being written.
    ///
    /// # Errors
    /// What the file system said.
    pub(super) fn finish(self, inherited: Inherited) -> Result<TableMeta> {
        self.table.finish(Some(inherited))
    }
}

/// Where a row's entry lies in an arena, and the row's identity.
type Place = (Range<usize>, u64, u64);

/// Appends the entry of a row.
fn entry_into(arena: &mut Vec<u8>, buf: &mut EntryBuf, source: &Source, row: usize) -> Result<Place> {
    let (writer, seq) = source.identity(row)?;
    source.entry(row, buf);
    let start = arena.len();
    arena.extend_from_slice(buf.finish()?);
    Ok((start..arena.len(), writer, seq))
}

/// The rows at these places of an arena.
fn rows_in<'b>(arena: &'b [u8], places: &[Place]) -> Result<Vec<Row<'b>>> {
    let row = |(range, writer, seq): &Place| {
        // It was encoded just now, so it need not be looked through first.
        let entry = EntryRef::decode_known(&arena[range.clone()])?;
        Ok(Row { entry, writer: *writer, seq: *seq })
    };
    places.iter().map(row).collect()
}
