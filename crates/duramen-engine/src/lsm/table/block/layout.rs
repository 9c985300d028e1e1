//! Where the parts of a block lie, and its rows. The bytes may be anything: nothing here trusts them.

use super::{RESTART_BYTES, TRAILER_BYTES};
use crate::kv::OpKind;
use crate::sstable::wire::{Malformed, Reader};
use std::ops::Range;
use std::sync::Arc;

/// A block in memory: bytes, or a part of them, and where its parts lie.
#[derive(Clone, Debug)]
pub(in super::super) struct Block {
    bytes: Arc<[u8]>,
    base: u64,
    /// Where values, rows, tags and restarts begin in the bytes.
    values: u32,
    rows: u32,
    tags: u32,
    restarts: u32,
    count: u32,
    interval: u16,
    width: u8,
}

/// A row, as it lies in the bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    /// How many bytes of the key before it are its own too.
    pub(super) shared: usize,
    /// Where the rest of its key begins and ends; the next row begins there.
    pub(super) key: usize,
    pub(super) end: usize,
    pub(super) value_len: usize,
}

impl Block {
    /// The block that `range` of `bytes` holds.
    pub(in super::super) fn parse(bytes: Arc<[u8]>, range: Range<usize>) -> Result<Self, Malformed> {
        let block = bytes.get(range.clone()).ok_or("a block outside its bytes")?;
        let short = "a block too short for its parts";
        let trailer_at = block.len().checked_sub(TRAILER_BYTES).ok_or(short)?;
        let trailer = block.get(trailer_at..).and_then(|t| t.first_chunk::<TRAILER_BYTES>()).ok_or(short)?;
        let [b0, b1, b2, b3, b4, b5, b6, b7, v0, v1, v2, v3, n0, n1, n2, n3, i0, i1, width] = *trailer;
        let base = u64::from_le_bytes([b0, b1, b2, b3, b4, b5, b6, b7]);
        let value_bytes = u32::from_le_bytes([v0, v1, v2, v3]) as usize;
        let count = u32::from_le_bytes([n0, n1, n2, n3]);
        let interval = u16::from_le_bytes([i0, i1]);
        if count == 0 || interval == 0 || width > 8 {
            return Err("a block without rows, or whose trailer makes no sense");
        }
        let restarts = (count as usize).div_ceil(usize::from(interval));
        let restarts_at = restarts.checked_mul(RESTART_BYTES).and_then(|len| trailer_at.checked_sub(len));
        let restarts_at = restarts_at.ok_or(short)?;
        let tags_at = (count as usize).checked_mul(usize::from(width));
        let tags_at = tags_at.and_then(|len| restarts_at.checked_sub(len)).ok_or(short)?;
        if value_bytes > tags_at {
            return Err(short);
        }
        let place = |at: usize| u32::try_from(range.start + at).map_err(|_| "a block over 4 GiB");
        Ok(Self {
            base,
            values: place(0)?,
            rows: place(value_bytes)?,
            tags: place(tags_at)?,
            restarts: place(restarts_at)?,
            count,
            interval,
            width,
            bytes,
        })
    }

    pub(in super::super) fn bytes(&self) -> &Arc<[u8]> {
        &self.bytes
    }

    pub(in super::super) fn into_bytes(self) -> Arc<[u8]> {
        self.bytes
    }

    /// How many rows there are: at least 1.
    #[inline]
    pub(in super::super) fn count(&self) -> usize {
        self.count as usize
    }

    /// How many rows a restart serves.
    #[inline]
    pub(in super::super) fn interval(&self) -> usize {
        usize::from(self.interval)
    }

    #[inline]
    pub(super) fn restarts(&self) -> usize {
        self.count().div_ceil(self.interval())
    }

    /// Where the row and the value of a restart begin.
    #[inline]
    pub(super) fn restart(&self, i: usize) -> Result<(usize, usize), Malformed> {
        let at = self.restarts as usize + i * RESTART_BYTES;
        let restart = self.bytes.get(at..).and_then(|b| b.first_chunk::<RESTART_BYTES>());
        let [r0, r1, r2, r3, v0, v1, v2, v3] = *restart.ok_or("fewer restarts than it says")?;
        let row = self.rows as usize + u32::from_le_bytes([r0, r1, r2, r3]) as usize;
        let value = self.values as usize + u32::from_le_bytes([v0, v1, v2, v3]) as usize;
        Ok((row, value))
    }

    /// The row that begins at `at`.
    #[inline]
    pub(super) fn row(&self, at: usize) -> Result<Row, Malformed> {
        // A trailer follows the rows: near their end this reads bytes of it, and the check below finds out.
        let row = match self.bytes.get(at..).and_then(|rest| rest.first_chunk::<4>()) {
            Some(&[shared, unshared, value_len, _]) if (shared | unshared | value_len) < 0x80 => {
                let key = at + 3;
                let (shared, value_len) = (usize::from(shared), usize::from(value_len));
                Row { shared, key, end: key + usize::from(unshared), value_len }
            }
            _ => self.long_row(at)?,
        };
        if row.end <= self.tags as usize { Ok(row) } else { Err("a row that reaches past the rows") }
    }

    #[cold]
    fn long_row(&self, at: usize) -> Result<Row, Malformed> {
        let rows_end = self.tags as usize;
        let rows = self.bytes.get(at..rows_end).ok_or("an offset past the rows")?;
        let mut reader = Reader::new(rows);
        let (shared, unshared, value_len) =
            (reader.varint_u32()?, reader.varint_u32()?, reader.varint_u32()?);
        let key = rows_end - reader.rest().len();
        Ok(Row { shared: shared as usize, key, end: key + unshared as usize, value_len: value_len as usize })
    }

    /// The bytes of its key that a row has itself.
    #[inline]
    pub(super) fn unshared(&self, row: Row) -> &[u8] {
        // `row` has seen that they lie in the bytes.
        self.bytes.get(row.key..row.end).unwrap_or_default()
    }

    /// Where a value lies in the bytes.
    #[inline]
    pub(super) fn value(&self, at: usize, len: usize) -> Result<Range<usize>, Malformed> {
        let end = at + len;
        if end <= self.rows as usize { Ok(at..end) } else { Err("a value that reaches past the values") }
    }

    /// The sequence number and kind of the `n`-th row.
    #[inline]
    pub(super) fn tag(&self, n: usize) -> (u64, OpKind) {
        let width = usize::from(self.width);
        let at = self.tags as usize + n * width;
        // There are always eight bytes: a trailer follows the tags.
        let tag = self.bytes.get(at..).and_then(|rest| rest.first_chunk::<8>());
        let tag = tag.map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let tag = if width == 8 { tag } else { tag & ((1 << (8 * width)) - 1) };
        let kind = if tag & 1 == 1 { OpKind::Put } else { OpKind::Delete };
        (self.base.wrapping_add(tag >> 1), kind)
    }
}
