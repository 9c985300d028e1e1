//! Reading row blocks.

use crate::sstable::format::u32_at;
use crate::sstable::wire::{Malformed, Reader};
use crate::sstable::{ChunkHandle, ChunkSource};
use crate::{Error, Result};
use std::ops::Range;
use std::sync::Arc;

/// A row block in memory. Threads may share one.
#[derive(Clone, Debug)]
pub struct RowBlock {
    bytes: Vec<u8>,
    /// Where the rows end and the restarts begin.
    rows_end: usize,
    restarts: usize,
    /// Where the bytes came from, to say so when a row makes no sense.
    source: Arc<dyn ChunkSource>,
    handle: ChunkHandle,
}

impl RowBlock {
    /// Reads a block. What can be checked without reading each row is checked here; a row that
    /// makes no sense is an error when a cursor comes to it.
    pub(super) fn read(source: Arc<dyn ChunkSource>, handle: ChunkHandle) -> Result<Self> {
        let bytes = source.read_chunk(handle)?;
        match check(&bytes) {
            Ok((rows_end, restarts)) => Ok(Self { bytes, rows_end, restarts, source, handle }),
            Err(detail) => Err(source.corruption(handle, &detail)),
        }
    }

    /// The value of a key.
    ///
    /// # Errors
    /// [`Error::Corruption`] if a row on the way makes no sense.
    pub fn get(&self, key: &[u8]) -> Result<Option<&[u8]>> {
        let mut cursor = self.seek(key)?;
        Ok(if cursor.advance()? && cursor.key() == key { Some(cursor.value()) } else { None })
    }

    /// A cursor before the first row.
    pub fn iter(&self) -> RowCursor<'_> {
        RowCursor { block: self, next: 0, key: Vec::new(), value: 0..0, ahead: false }
    }

    /// A cursor before the first row whose key is `key` or above.
    ///
    /// # Errors
    /// [`Error::Corruption`] if a row on the way makes no sense.
    pub fn seek(&self, key: &[u8]) -> Result<RowCursor<'_>> {
        // The last restart below the key; all restarts before `low` are.
        let (mut low, mut high) = (0, self.restarts);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.restart_key(middle)? < key {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let mut cursor = self.iter();
        cursor.next = self.restart(low.saturating_sub(1));
        while cursor.advance()? {
            if cursor.key() >= key {
                cursor.ahead = true;
                break;
            }
        }
        Ok(cursor)
    }

    fn restart(&self, i: usize) -> usize {
        u32_at(&self.bytes, self.rows_end + 4 * i) as usize
    }

    fn restart_key(&self, i: usize) -> Result<&[u8]> {
        let at = self.restart(i);
        match self.row(at) {
            Ok(row) if row.shared == 0 => Ok(&self.bytes[row.key]),
            Ok(_) => Err(self.corruption(at, "a restart that shares bytes with the row before it")),
            Err(detail) => Err(self.corruption(at, detail)),
        }
    }

    /// The row at an offset.
    fn row(&self, at: usize) -> Result<Row, Malformed> {
        let rows = self.bytes.get(at..self.rows_end).ok_or("an offset past the rows")?;
        let mut reader = Reader::new(rows);
        let shared = usize::try_from(reader.varint()?).map_err(|_| "a length over the address space")?;
        let (key_len, value_len) = (reader.varint()?, reader.varint()?);
        let key = self.rows_end - reader.rest().len();
        reader.take(key_len)?;
        let value = self.rows_end - reader.rest().len();
        reader.take(value_len)?;
        let end = self.rows_end - reader.rest().len();
        Ok(Row { shared, key: key..value, value: value..end })
    }

    fn corruption(&self, at: usize, detail: &str) -> Error {
        self.source.corruption(self.handle, &format!("the row block has {detail} at its byte {at}"))
    }
}

/// Checks a block's restarts; returns where the rows end, and how many restarts there are.
fn check(bytes: &[u8]) -> Result<(usize, usize), Malformed> {
    let count_at = bytes.len().checked_sub(4).ok_or("a row block without its number of restarts")?;
    let restarts = u32_at(bytes, count_at) as usize;
    let rows_end = restarts.checked_mul(4).and_then(|len| count_at.checked_sub(len));
    let rows_end = rows_end.ok_or("a row block with more restarts than bytes")?;
    let mut below = None;
    for at in (rows_end..count_at).step_by(4) {
        let restart = u32_at(bytes, at) as usize;
        if below.map_or(restart != 0, |below| restart <= below) || restart >= rows_end {
            return Err("a row block with restarts outside its rows or out of order");
        }
        below = Some(restart);
    }
    if restarts == 0 { Err("a row block without rows") } else { Ok((rows_end, restarts)) }
}

/// Where a row's parts lie in the block.
struct Row {
    shared: usize,
    key: Range<usize>,
    value: Range<usize>,
}

/// Goes through a block's rows in order of their keys. [`RowCursor::advance`] first, then look.
#[derive(Clone, Debug)]
pub struct RowCursor<'a> {
    block: &'a RowBlock,
    /// Where the row after the present one starts.
    next: usize,
    key: Vec<u8>,
    value: Range<usize>,
    /// Whether a seek has read the first row already.
    ahead: bool,
}

impl<'a> RowCursor<'a> {
    /// Goes to the next row; `false` at the end.
    ///
    /// # Errors
    /// [`Error::Corruption`] if the row makes no sense. The cursor stays where it is.
    pub fn advance(&mut self) -> Result<bool> {
        if std::mem::take(&mut self.ahead) {
            return Ok(true);
        }
        if self.next >= self.block.rows_end {
            return Ok(false);
        }
        let row = self.block.row(self.next).map_err(|detail| self.block.corruption(self.next, detail))?;
        if row.shared > self.key.len() {
            return Err(self
                .block
                .corruption(self.next, "a key shares more bytes than the key before it has"));
        }
        self.key.truncate(row.shared);
        self.key.extend_from_slice(&self.block.bytes[row.key]);
        self.next = row.value.end;
        self.value = row.value;
        Ok(true)
    }

    /// The present row's key; empty before the first.
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// The present row's value; empty before the first.
    pub fn value(&self) -> &'a [u8] {
        &self.block.bytes[self.value.clone()]
    }
}
