//! Compaction: many small tables of a day become one.
//!
//! Size-tiered: a merge takes the smallest tables of a day, at least [`MIN_MERGE_WIDTH`] of them, as long as
//! each is no larger than all the smaller ones together. So a row is written again only when what it lies in
//! has grown by a factor, and large tables are left alone for good.

use crate::block::{Block, BlockHandle, names};
use crate::column::{Column, IntText};
use crate::columnar::{Row, TARGET_BLOCK_RAW_BYTES, TableBlock};
use crate::entry::{EntryBuf, EntryRef};
use crate::error::{Error, Result};
use crate::store::flush::{Flusher, Inherited, TableWriter};
use crate::store::table_facts::TableFacts;
use crate::store::tables::{TableBlockHandle, TableCache};
use crate::value::{Level, Value, ValueKind};
use duramen_engine::manifest::{State, TableMeta};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::sync::Arc;

/// The fewest tables that are merged.
pub const MIN_MERGE_WIDTH: usize = 8;
/// The most tables that are merged at once: of each, a block may be in memory. Large ones have large blocks.
const MAX_MERGE_WIDTH: usize = 64;
const MAX_MERGE_WIDTH_OF_LARGE: usize = 16;
/// Tables over this many bytes are large.
const LARGE_TABLE_BYTES: u64 = 256 << 10;
/// Tables whose lines had more bytes than this are not merged any more.
pub const MAX_MERGE_INPUT_RAW_BYTES: u64 = 512 << 20;
/// When a store is closed only tables whose lines had at most so many bytes are merged: a program that ends
/// should not have to write again what it has just written.
pub const MAX_MERGE_INPUT_AT_CLOSE_RAW_BYTES: u64 = 2 << 20;

/// The tables of one day to merge next, if there is anything to merge; none of those in `not`.
pub(crate) fn pick<'s>(
    state: &'s State,
    not: &BTreeSet<u64>,
    max_raw_bytes: u64,
) -> Option<Vec<&'s TableMeta>> {
    let mut days: BTreeMap<&str, Vec<&TableMeta>> = BTreeMap::new();
    let small =
        |meta: &&TableMeta| TableFacts::decode(&meta.user).is_ok_and(|f| f.raw_bytes <= max_raw_bytes);
    for meta in state.tables.values().filter(|meta| !not.contains(&meta.number)).filter(small) {
        let day = meta.path.rsplit_once('/').map_or("", |(dir, _)| dir);
        days.entry(day).or_default().push(meta);
    }
    days.into_values().find_map(pick_of_day)
}

fn pick_of_day(mut tables: Vec<&TableMeta>) -> Option<Vec<&TableMeta>> {
    tables.sort_by_key(|meta| meta.file_bytes);
    let mut total = 0;
    let mut width = 0;
    for (i, meta) in tables.iter().enumerate() {
        let fits = i < MIN_MERGE_WIDTH || meta.file_bytes <= total;
        let most =
            if meta.file_bytes > LARGE_TABLE_BYTES { MAX_MERGE_WIDTH_OF_LARGE } else { MAX_MERGE_WIDTH };
        if !fits || i >= most {
            break;
        }
        total += meta.file_bytes;
        width = i + 1;
    }
    tables.truncate(width);
    (width >= MIN_MERGE_WIDTH).then_some(tables)
}

/// Merges tables of one day into one new table, which no manifest names yet. `go_on` is asked after each block;
/// if it says no, nothing is left of the table, and there is none.
///
/// # Errors
/// What the file system said; damage in an input: then all of them stay as they are.
pub(crate) fn merge(
    flusher: &mut Flusher,
    cache: &Arc<TableCache>,
    inputs: &[&TableMeta],
    number: u64,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<Option<TableMeta>> {
    let mut handles = Vec::new();
    let mut inherited = Inherited::default();
    for meta in inputs {
        handles.extend(TableBlockHandle::of(cache, meta, &None)?);
        inherited.raw_bytes += TableFacts::decode(&meta.user)?.raw_bytes;
        inherited.origins.add(cache.origins(meta)?);
    }
    handles.sort_by_key(|h| Reverse(h.min_time()));
    let first = handles.last().map_or(0, |h| h.min_time());
    let mut out = Output::new(flusher.start_table(first, number)?);
    let mut open: BTreeMap<usize, Source> = BTreeMap::new();
    let mut heap = BinaryHeap::new();
    let mut opened = 0;
    loop {
        while let Some(handle) = handles.last()
            && heap.peek().is_none_or(|Reverse(next): &Reverse<NextRow>| handle.min_time() <= next.time)
        {
            let source = Source::open(handle)?;
            handles.pop();
            heap.push(Reverse(source.row(0, opened)?));
            open.insert(opened, source);
            opened += 1;
        }
        let Some(Reverse(next)) = heap.pop() else { break };
        let Some(source) = open.get(&next.source) else { break };
        if out.push(source, &next)? && !go_on() {
            return Ok(None);
        }
        if next.row + 1 < source.times.len() {
            heap.push(Reverse(source.row(next.row + 1, next.source)?));
        } else {
            open.remove(&next.source);
        }
    }
    out.finish(inherited).map(Some)
}

/// The next row of an open block, ordered as rows are.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct NextRow {
    time: i64,
    writer: u64,
    seq: u64,
    source: usize,
    row: usize,
}

/// A block that rows are read from.
struct Source {
    block: TableBlock,
    times: Arc<Vec<i64>>,
    columns: Vec<(String, Arc<Column>)>,
    levels: Vec<Level>,
    /// Each row's label set, and the names in each of the block's label sets.
    stream: Arc<Column>,
    stream_fields: BTreeMap<String, Vec<String>>,
}

impl Source {
    fn open(handle: &TableBlockHandle) -> Result<Self> {
        let block = handle.open_table_block()?;
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

    fn row(&self, row: usize, source: usize) -> Result<NextRow> {
        let (writer, seq) = self.block.identity(row)?;
        Ok(NextRow { time: self.times[row], writer, seq, source, row })
    }

    /// Builds the entry of a row again.
    fn entry(&self, time: i64, row: usize, buf: &mut EntryBuf) {
        let level = self.levels[row];
        let mut digits = IntText::default();
        let stream = self.stream.text(row, &mut digits).unwrap_or_default();
        buf.set_stream_fields(self.stream_fields.get(stream).map_or(&[], Vec::as_slice));
        buf.start(time).level(level);
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

/// The names in a label set such as `{app="x",host="y"}`, whose values may hold escaped quotes.
fn label_names(labels: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = labels.strip_prefix('{').unwrap_or_default();
    while let Some((name, value)) = rest.split_once("=\"") {
        found.push(name.to_owned());
        let mut escaped = false;
        let end = value.find(|c| match c {
            _ if escaped => {
                escaped = false;
                false
            }
            '\\' => {
                escaped = true;
                false
            }
            c => c == '"',
        });
        rest = end.map_or("", |end| value[end + 1..].trim_start_matches(','));
    }
    found
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

/// Collects rows until they make a block.
struct Output<'a> {
    table: TableWriter<'a>,
    buf: EntryBuf,
    arena: Vec<u8>,
    rows: Vec<(std::ops::Range<usize>, u64, u64)>,
}

impl<'a> Output<'a> {
    fn new(table: TableWriter<'a>) -> Self {
        Self { table, buf: EntryBuf::default(), arena: Vec::new(), rows: Vec::new() }
    }

    /// Adds a row; whether that made a block full.
    fn push(&mut self, source: &Source, next: &NextRow) -> Result<bool> {
        source.entry(next.time, next.row, &mut self.buf);
        let start = self.arena.len();
        self.arena.extend_from_slice(self.buf.finish()?);
        self.rows.push((start..self.arena.len(), next.writer, next.seq));
        if self.arena.len() as u64 >= TARGET_BLOCK_RAW_BYTES
            || self.rows.len() >= crate::columnar::MAX_BLOCK_ROWS
        {
            self.write_block()?;
            return Ok(true);
        }
        Ok(false)
    }

    fn write_block(&mut self) -> Result<()> {
        let row = |(range, writer, seq): &(std::ops::Range<usize>, u64, u64)| {
            Ok(Row { entry: EntryRef::decode(&self.arena[range.clone()])?, writer: *writer, seq: *seq })
        };
        let rows = self.rows.iter().map(row).collect::<Result<Vec<_>>>()?;
        self.table.add_block(&rows)?;
        self.arena.clear();
        self.rows.clear();
        Ok(())
    }

    fn finish(mut self, inherited: Inherited) -> Result<TableMeta> {
        if !self.rows.is_empty() {
            self.write_block()?;
        }
        self.table.finish(Some(inherited))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(sizes: &[(&str, u64)]) -> State {
        let mut state = State::default();
        for (number, (day, file_bytes)) in (0u64..).zip(sizes) {
            let path = format!("tables/{day}/{number:08}.sst");
            let file_bytes = *file_bytes;
            let user = TableFacts { raw_bytes: file_bytes * 10, blocks: Vec::new() }.encode();
            state.tables.insert(number, TableMeta { number, path, file_bytes, user, ..TableMeta::default() });
        }
        state
    }

    fn picked(sizes: &[(&str, u64)]) -> Option<Vec<u64>> {
        pick(&state(sizes), &BTreeSet::new(), MAX_MERGE_INPUT_RAW_BYTES)
            .map(|tables| tables.iter().map(|meta| meta.number).collect())
    }

    #[test]
    fn label_sets_tell_their_names() {
        assert_eq!(label_names("{}"), [""; 0]);
        assert_eq!(label_names(r#"{app="x"}"#), ["app"]);
        assert_eq!(label_names(r#"{a="=\",b=\"",host="y\\",z=""}"#), ["a", "host", "z"]);
    }

    #[test]
    fn small_tables_of_one_day_are_merged_and_large_ones_left() {
        let ten: Vec<_> = (0..10).map(|i| ("20260101", 100 + i)).collect();
        assert_eq!(picked(&ten), Some((0..10).collect()));
        assert_eq!(picked(&ten[..7]), None, "too few");
        let apart: Vec<_> = ["20260101", "20260102"].into_iter().cycle().map(|d| (d, 1)).take(14).collect();
        assert_eq!(picked(&apart), None, "seven each");
        let mut with_large = ten.clone();
        with_large.push(("20260101", 1_000_000));
        assert_eq!(picked(&with_large), Some((0..10).collect()), "the large one is not worth writing again");
        let huge = vec![("20260101", MAX_MERGE_INPUT_RAW_BYTES / 10 + 1); 20];
        assert_eq!(picked(&huge), None);
        for (bytes, most) in [(100, MAX_MERGE_WIDTH), (1 << 20, MAX_MERGE_WIDTH_OF_LARGE)] {
            let many = vec![("20260101", bytes); 1000];
            assert_eq!(picked(&many).unwrap().len(), most, "no more than fit into memory");
        }
    }
}
