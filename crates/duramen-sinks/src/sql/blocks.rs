//! The table as blocks.

use super::Reader;
use super::narrow::{Narrow, Param};
use crate::error::{Error, Result};
use crate::line::{Decoder, Stored};
use duramen::block::{Block, BlockHandle};
use duramen::column::Column;
use duramen::columnar::{MemoryBlock, Row};
use duramen::{EntryBuf, EntryRef};
use duramen_query::Query;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// About how many bytes of rows make a block.
const BLOCK_BYTES: u64 = 8 << 20;
/// The fewest rows of a block, but for the last.
const MIN_BLOCK_ROWS: u64 = 16;
/// The most rows of a block.
const MAX_BLOCK_ROWS: u64 = 16_384;

/// The logs in a database, as they were when it was opened, to run a query over. May be shared between threads;
/// they take turns at the connection.
#[derive(Clone, Debug)]
pub struct SqlLogs {
    reader: Arc<Mutex<Box<dyn Reader>>>,
    stream_fields: Arc<[String]>,
}

impl SqlLogs {
    pub(crate) fn new(reader: Box<dyn Reader>) -> Self {
        Self { reader: Arc::new(Mutex::new(reader)), stream_fields: Arc::new([]) }
    }

    /// Which fields tell one stream of entries from another. Default none.
    pub fn stream_fields(mut self, names: &[String]) -> Self {
        self.stream_fields = names.into();
        self
    }

    /// The blocks that a query must look at, for [`Query::run`]: only rows that may match are in them.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub fn blocks(&self, query: &Query) -> Result<Vec<Arc<dyn BlockHandle>>> {
        let (min_time, max_time) = query.time_range();
        if min_time > max_time {
            return Ok(Vec::new());
        }
        let cuts = self.cuts(min_time, max_time)?;
        let dialect = self.lock().dialect();
        let mut narrow = Narrow::new(dialect);
        let between = format!(
            "(time_ns, id) >= ({}, {}) AND (time_ns, id) <= ({}, {})",
            narrow.int(0),
            narrow.int(0),
            narrow.int(0),
            narrow.int(0)
        );
        let may_match = if query.looks_beyond_filter() { None } else { narrow.filter(query.filter()) };
        let sql: Arc<str> = format!(
            "SELECT {} FROM duramen_logs WHERE {between}{}{} ORDER BY time_ns, id",
            dialect.our_row(),
            if may_match.is_some() { " AND " } else { "" },
            may_match.as_deref().unwrap_or_default(),
        )
        .into();
        let params: Arc<[Param]> = narrow.params.into();
        let handle = |cut| {
            let handle = SqlBlockHandle { logs: self.clone(), sql: sql.clone(), params: params.clone(), cut };
            Arc::new(handle) as Arc<dyn BlockHandle>
        };
        Ok(cuts.into_iter().map(handle).collect())
    }

    /// Cuts the rows of a time range into blocks.
    fn cuts(&self, min_time: i64, max_time: i64) -> Result<Vec<Cut>> {
        let mut reader = self.lock();
        let all = reader.integers("SELECT count(*) FROM duramen_logs", &[])?;
        let all = all.first().and_then(|row| row.first()).map_or(0, |n| n.unsigned_abs());
        let row_bytes = (reader.table_bytes()? / all.max(1)).max(1);
        let block_rows = (BLOCK_BYTES / row_bytes).clamp(MIN_BLOCK_ROWS, MAX_BLOCK_ROWS);
        drop(reader);
        // From each block's first row, as many further as it has: the index is walked, and no row is numbered.
        let mut cuts: Vec<Cut> = Vec::new();
        let mut first = self.edges(min_time, max_time, None, "ORDER BY time_ns, id LIMIT 1")?.pop();
        while let Some(from) = first.take() {
            let so_many = format!("ORDER BY time_ns, id LIMIT 2 OFFSET {}", block_rows - 1);
            match *self.edges(min_time, max_time, Some(from), &so_many)? {
                [last, ref next @ ..] => {
                    cuts.push(Cut {
                        first: from,
                        last,
                        rows: usize::try_from(block_rows).unwrap_or(usize::MAX),
                    });
                    first = next.first().copied();
                }
                [] => cuts.extend(self.rest(min_time, max_time, from)?),
            }
        }
        Ok(cuts)
    }

    /// The last block, which is not full.
    fn rest(&self, min_time: i64, max_time: i64, first: (i64, i64)) -> Result<Option<Cut>> {
        let last =
            self.edges(min_time, max_time, Some(first), "ORDER BY time_ns DESC, id DESC LIMIT 1")?.pop();
        let rows = self.ask("count(*), count(*)", min_time, max_time, Some(first), "")?.pop();
        let rows = rows.map_or(0, |(rows, _)| usize::try_from(rows).unwrap_or_default());
        Ok(last.map(|last| Cut { first, last, rows }))
    }

    /// Times and ids of rows in a range, from one of them on.
    fn edges(&self, min: i64, max: i64, from: Option<(i64, i64)>, which: &str) -> Result<Vec<(i64, i64)>> {
        self.ask("time_ns, id", min, max, from, which)
    }

    fn ask(
        &self,
        what: &str,
        min: i64,
        max: i64,
        from: Option<(i64, i64)>,
        which: &str,
    ) -> Result<Vec<(i64, i64)>> {
        let mut reader = self.lock();
        let mut range = Narrow::new(reader.dialect());
        let mut sql = format!(
            "SELECT {what} FROM duramen_logs WHERE time_ns BETWEEN {} AND {}",
            // SQLite does not see that the pair bounds the time, and would walk from the range's beginning.
            range.int(from.map_or(min, |(time, _)| time)),
            range.int(max)
        );
        if let Some((time, id)) = from {
            sql.push_str(&format!(" AND (time_ns, id) >= ({}, {})", range.int(time), range.int(id)));
        }
        let rows = reader.integers(&format!("{sql} {which}"), &range.params)?;
        let pair = |row: Vec<i64>| row.first().copied().zip(row.get(1).copied());
        Ok(rows.into_iter().filter_map(pair).collect())
    }

    fn lock(&self) -> MutexGuard<'_, Box<dyn Reader>> {
        self.reader.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Rows that follow each other by time and id.
#[derive(Clone, Copy, Debug)]
struct Cut {
    first: (i64, i64),
    last: (i64, i64),
    rows: usize,
}

#[derive(Debug)]
struct SqlBlockHandle {
    logs: SqlLogs,
    sql: Arc<str>,
    /// Those of the cut first.
    params: Arc<[Param]>,
    cut: Cut,
}

impl BlockHandle for SqlBlockHandle {
    fn rows(&self) -> usize {
        self.cut.rows
    }

    fn min_time(&self) -> i64 {
        self.cut.first.0
    }

    fn max_time(&self) -> i64 {
        self.cut.last.0
    }

    fn open(&self) -> duramen::Result<Arc<dyn Block>> {
        let mut params = self.params.to_vec();
        let Cut { first, last, .. } = self.cut;
        for (param, bound) in params.iter_mut().zip([first.0, first.1, last.0, last.1]) {
            *param = Param::Int(bound);
        }
        let mut rows = Entries::new(&self.logs.stream_fields);
        self.logs.lock().lines(&self.sql, &params, &mut |row| rows.push(&row)).map_err(unreadable)?;
        rows.block()
    }
}

fn unreadable(error: Error) -> duramen::Error {
    duramen::Error::Invalid(format!("the database: {error}"))
}

/// Rows as entries, one after another.
struct Entries {
    decoder: Decoder,
    entry: EntryBuf,
    bytes: Vec<u8>,
    /// Where each ends, and its row's id.
    ends: Vec<(usize, i64)>,
}

impl Entries {
    fn new(stream_fields: &[String]) -> Self {
        let entry = EntryBuf::new(stream_fields.iter().map(String::as_str));
        Self { decoder: Decoder::default(), entry, bytes: Vec::new(), ends: Vec::new() }
    }

    fn push(&mut self, row: &Stored<'_>) -> Result<()> {
        let _kept_whole = self.decoder.fill(row, &mut self.entry);
        let entry =
            self.entry.finish().map_err(|e| Error::Database(format!("row {} is no entry: {e}", row.id)))?;
        self.bytes.extend_from_slice(entry);
        self.ends.push((self.bytes.len(), row.id));
        Ok(())
    }

    fn block(&self) -> duramen::Result<Arc<dyn Block>> {
        if self.ends.is_empty() {
            return Ok(Arc::new(NoRows));
        }
        let starts = [0].into_iter().chain(self.ends.iter().map(|(end, _)| *end));
        let row = |(start, &(end, id)): (usize, &(usize, i64))| {
            let entry = EntryRef::decode(&self.bytes[start..end])?;
            Ok(Row { entry, writer: 0, seq: ordered(id) })
        };
        let rows = starts.zip(&self.ends).map(row).collect::<duramen::Result<Vec<_>>>()?;
        Ok(Arc::new(MemoryBlock::build(&rows)?))
    }
}

/// An id as a number without a sign, in the same order.
pub(crate) fn ordered(id: i64) -> u64 {
    (id as u64) ^ 1 << 63
}

/// A block of which no row may match.
#[derive(Debug)]
struct NoRows;

impl Block for NoRows {
    fn rows(&self) -> usize {
        0
    }

    fn times(&self) -> duramen::Result<Arc<Vec<i64>>> {
        Ok(Arc::default())
    }

    fn field_names(&self) -> duramen::Result<Vec<String>> {
        Ok(Vec::new())
    }

    fn column(&self, _name: &str) -> duramen::Result<Option<Arc<Column>>> {
        Ok(None)
    }

    fn may_contain_words(&self, _name: &str, _words: &[u64]) -> duramen::Result<bool> {
        Ok(false)
    }

    fn int_range(&self, _name: &str) -> duramen::Result<Option<(i64, i64)>> {
        Ok(None)
    }

    fn identity(&self, row: usize) -> duramen::Result<(u64, u64)> {
        Err(duramen::Error::Invalid(format!("no row {row} in a block without rows")))
    }
}
