//! Where the parts of a block lie, and its rows. The bytes may be anything: nothing here trusts them.

use super::{HEADER_BYTES, RESTART_BYTES};
use crate::kv::OpKind;
use crate::memory::{SharedBytes, prefetch};
use crate::sstable::wire::{Malformed, Reader};
use std::ops::Range;

/// How much of a block is prefetched, at most: blocks of usual size have no more before their values.
const PREFETCH_BYTES: usize = 1024;

/// How many bytes of values on either side of the place where one is guessed to lie are prefetched. Among 30 rows with
/// keys at random, a guess is rarely off by more than three.
const VALUE_GUESS_BYTES: usize = 256;

/// A block in memory: bytes, or a part of them, and where its parts lie in them.
#[derive(Clone, Debug)]
pub(in super::super) struct Block {
    bytes: SharedBytes,
    /// Where it begins, where its tags, rows and values do, and where the values end. The restarts lie between header
    /// and tags. What is asked for with every row is had without a division, and all fits a slot of the block cache.
    start: u32,
    tags: u32,
    rows: u32,
    values: u32,
    end: u32,
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
    pub(in super::super) fn parse(bytes: SharedBytes, range: Range<usize>) -> Result<Self, Malformed> {
        let block = bytes.get(range.clone()).ok_or("a block outside its bytes")?;
        let short = "a block too short for its parts";
        let header = block.first_chunk::<HEADER_BYTES>().ok_or(short)?;
        let [.., n0, n1, n2, n3, r0, r1, r2, r3, i0, i1, width] = *header;
        let count = u32::from_le_bytes([n0, n1, n2, n3]);
        let interval = u16::from_le_bytes([i0, i1]);
        if count == 0 || interval == 0 || width > 8 {
            return Err("a block without rows, or whose header makes no sense");
        }
        let restarts = (count as usize).div_ceil(usize::from(interval));
        let after = |start: usize, count: usize, each: usize| {
            count.checked_mul(each).and_then(|len| start.checked_add(len)).filter(|&end| end <= block.len())
        };
        let tags = after(HEADER_BYTES, restarts, RESTART_BYTES).ok_or(short)?;
        let rows = after(tags, count as usize, usize::from(width)).ok_or(short)?;
        let values = after(rows, 1, u32::from_le_bytes([r0, r1, r2, r3]) as usize).ok_or(short)?;
        let place = |at: usize| u32::try_from(range.start + at).map_err(|_| "a block over 4 GiB");
        Ok(Self {
            start: place(0)?,
            tags: place(tags)?,
            rows: place(rows)?,
            values: place(values)?,
            end: place(block.len())?,
            interval,
            width,
            bytes,
        })
    }

    pub(in super::super) fn bytes(&self) -> &SharedBytes {
        &self.bytes
    }

    /// Asks the processor for the cache lines that a search will need, all at once: one after another, they would take
    /// most of the search's time.
    #[inline]
    pub(in super::super) fn prefetch(&self) {
        let start = self.start as usize;
        let first = self.bytes.as_ptr().wrapping_add(start);
        let bytes = (self.values as usize - start).min(PREFETCH_BYTES);
        (0..bytes).step_by(64).for_each(|at| prefetch(first.wrapping_add(at)));
    }

    /// The same for a search of a key that lies about so many 256ths into the block: its value is asked for, too, and
    /// not waited for once more when it has been found. A wrong guess costs what it asks for in vain.
    #[inline]
    pub(in super::super) fn prefetch_about(&self, part: u8) {
        self.prefetch();
        let (values, end) = (self.values as usize, self.end as usize);
        let about = values + (((end - values) * usize::from(part)) >> 8);
        let from = about.saturating_sub(VALUE_GUESS_BYTES).max(values);
        let to = end.min(about + VALUE_GUESS_BYTES);
        let first = self.bytes.as_ptr();
        (from..to).step_by(64).for_each(|at| prefetch(first.wrapping_add(at)));
    }

    /// How many rows there are: at least 1.
    #[inline]
    pub(in super::super) fn count(&self) -> usize {
        // `parse` has seen the header.
        let header = self.bytes.get(self.start as usize + 8..).and_then(|rest| rest.first_chunk::<4>());
        header.map_or(0, |count| u32::from_le_bytes(*count) as usize)
    }

    /// How many rows a restart serves.
    #[inline]
    pub(in super::super) fn interval(&self) -> usize {
        usize::from(self.interval)
    }

    #[inline]
    pub(super) fn restarts(&self) -> usize {
        (self.tags as usize - self.restarts_at()) / RESTART_BYTES
    }

    #[inline]
    fn restarts_at(&self) -> usize {
        self.start as usize + HEADER_BYTES
    }

    /// Where the row and the value of a restart begin.
    #[inline]
    pub(super) fn restart(&self, i: usize) -> Result<(usize, usize), Malformed> {
        let at = self.restarts_at() + i * RESTART_BYTES;
        let restart = self.bytes.get(at..).and_then(|b| b.first_chunk::<RESTART_BYTES>());
        let [r0, r1, r2, r3, v0, v1, v2, v3] = *restart.ok_or("fewer restarts than it says")?;
        let row = self.rows as usize + u32::from_le_bytes([r0, r1, r2, r3]) as usize;
        let value = self.values as usize + u32::from_le_bytes([v0, v1, v2, v3]) as usize;
        Ok((row, value))
    }

    /// The row that begins at `at`.
    #[inline]
    pub(super) fn row(&self, at: usize) -> Result<Row, Malformed> {
        // Near the end of the rows this may read bytes of the values; the check below finds out.
        let row = match self.bytes.get(at..).and_then(|rest| rest.first_chunk::<4>()) {
            Some(&[shared, unshared, value_len, _]) if (shared | unshared | value_len) < 0x80 => {
                let key = at + 3;
                let (shared, value_len) = (usize::from(shared), usize::from(value_len));
                Row { shared, key, end: key + usize::from(unshared), value_len }
            }
            _ => self.long_row(at)?,
        };
        if row.end <= self.values as usize { Ok(row) } else { Err("a row that reaches past the rows") }
    }

    #[cold]
    fn long_row(&self, at: usize) -> Result<Row, Malformed> {
        let rows_end = self.values as usize;
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

    /// The sixteen bytes from `at` on, if there are as many.
    #[inline]
    pub(super) fn sixteen(&self, at: usize) -> Option<&[u8; 16]> {
        self.bytes.get(at..).and_then(|rest| rest.first_chunk())
    }

    /// Where a value lies in the bytes.
    #[inline]
    pub(super) fn value(&self, at: usize, len: usize) -> Result<Range<usize>, Malformed> {
        let end = at + len;
        if end <= self.end as usize { Ok(at..end) } else { Err("a value that reaches past the values") }
    }

    /// The sequence number and kind of the `n`-th row.
    #[inline]
    pub(super) fn tag(&self, n: usize) -> (u64, OpKind) {
        let width = usize::from(self.width);
        let at = self.tags as usize + n * width;
        let base = u64::from_le_bytes(self.eight(self.start as usize));
        // What is too much is cut off.
        let tag = u64::from_le_bytes(self.eight(at));
        let tag = if width == 8 { tag } else { tag & ((1 << (8 * width)) - 1) };
        let kind = if tag & 1 == 1 { OpKind::Put } else { OpKind::Delete };
        (base.wrapping_add(tag >> 1), kind)
    }

    /// Eight bytes from `at`; zeros past the end.
    #[inline]
    fn eight(&self, at: usize) -> [u8; 8] {
        let rest = self.bytes.get(at..).unwrap_or_default();
        match rest.first_chunk::<8>() {
            Some(bytes) => *bytes,
            None => {
                let mut bytes = [0; 8];
                bytes[..rest.len()].copy_from_slice(rest);
                bytes
            }
        }
    }
}
