//! Writing a block.

use super::{RESTART_BYTES, TRAILER_BYTES, tag_of};
use crate::kv::OpKind;
use crate::sstable::wire::put_varint;

/// Takes the rows of one block after another. Values go straight to where the block will be; the rest, which is small
/// and follows them, is kept until the block ends.
#[derive(Debug)]
pub(in super::super) struct BlockEncoder {
    interval: usize,
    rows: Vec<u8>,
    /// `seq * 2 + kind` of each row.
    tags: Vec<u64>,
    restarts: Vec<(u32, u32)>,
    value_bytes: usize,
    smallest_tag: u64,
    largest_tag: u64,
}

impl BlockEncoder {
    /// With a restart every `interval` rows: 1 to `u16::MAX`.
    pub(in super::super) fn new(interval: u16) -> Self {
        Self {
            interval: usize::from(interval.max(1)),
            rows: Vec::new(),
            tags: Vec::new(),
            restarts: Vec::new(),
            value_bytes: 0,
            smallest_tag: u64::MAX,
            largest_tag: 0,
        }
    }

    pub(in super::super) fn is_empty(&self) -> bool {
        self.tags.is_empty()
    }

    /// How many bytes the block would have if it ended now, at most.
    #[inline]
    pub(in super::super) fn len(&self) -> usize {
        let fixed = TRAILER_BYTES + self.restarts.len() * RESTART_BYTES;
        fixed + self.value_bytes + self.rows.len() + self.tags.len() * self.width()
    }

    /// Adds a row whose key shares its first `shared` bytes with that of the row before it. Sequence numbers up to
    /// `MAX_SEQ`; keys, values and what comes together in a block far below 4 GiB.
    #[inline]
    pub(in super::super) fn add(
        &mut self,
        values: &mut Vec<u8>,
        (key, shared): (&[u8], usize),
        (seq, kind): (u64, OpKind),
        value: &[u8],
    ) {
        let mut shared = shared;
        if self.tags.len().is_multiple_of(self.interval) {
            self.restarts.push((self.rows.len() as u32, self.value_bytes as u32));
            shared = 0;
        }
        let unshared = &key[shared..];
        if shared < 0x80 && unshared.len() < 0x80 && value.len() < 0x80 {
            self.rows.extend_from_slice(&[shared as u8, unshared.len() as u8, value.len() as u8]);
        } else {
            put_varint(&mut self.rows, shared as u64);
            put_varint(&mut self.rows, unshared.len() as u64);
            put_varint(&mut self.rows, value.len() as u64);
        }
        self.rows.extend_from_slice(unshared);
        values.extend_from_slice(value);
        self.value_bytes += value.len();
        let tag = tag_of(seq, kind);
        self.tags.push(tag);
        self.smallest_tag = self.smallest_tag.min(tag);
        self.largest_tag = self.largest_tag.max(tag);
    }

    /// Appends to the values all that follows them, and begins the next block.
    pub(in super::super) fn finish(&mut self, values: &mut Vec<u8>) {
        let width = self.width();
        let base = self.smallest_tag >> 1;
        values.extend_from_slice(&self.rows);
        let tags_at = values.len();
        // Each tag is written with eight bytes, of which the next one overwrites what is too much.
        values.resize(tags_at + self.tags.len() * width + 8, 0);
        let mut at = tags_at;
        for tag in &self.tags {
            if let Some(place) = values.get_mut(at..at + 8) {
                place.copy_from_slice(&(tag - (base << 1)).to_le_bytes());
            }
            at += width;
        }
        values.truncate(at);
        for (row, value) in &self.restarts {
            values.extend_from_slice(&row.to_le_bytes());
            values.extend_from_slice(&value.to_le_bytes());
        }
        values.extend_from_slice(&base.to_le_bytes());
        values.extend_from_slice(&(self.value_bytes as u32).to_le_bytes());
        values.extend_from_slice(&(self.tags.len() as u32).to_le_bytes());
        values.extend_from_slice(&(self.interval as u16).to_le_bytes());
        values.push(width as u8);
        self.rows.clear();
        self.tags.clear();
        self.restarts.clear();
        self.value_bytes = 0;
        self.smallest_tag = u64::MAX;
        self.largest_tag = 0;
    }

    /// How many bytes a tag takes.
    #[inline]
    fn width(&self) -> usize {
        let base = self.smallest_tag & !1;
        let largest = self.largest_tag.saturating_sub(base);
        8 - (largest.leading_zeros() / 8) as usize
    }
}
