//! Writing a block.

use super::{HEADER_BYTES, RESTART_BYTES, tag_of};
use crate::kv::OpKind;
use crate::sstable::wire::put_varint;

/// Takes the rows of one block after another.
#[derive(Debug)]
pub(in super::super) struct BlockEncoder {
    interval: usize,
    rows: Vec<u8>,
    values: Vec<u8>,
    /// `seq * 2 + kind` of each row.
    tags: Vec<u64>,
    restarts: Vec<(u32, u32)>,
    smallest_tag: u64,
    largest_tag: u64,
}

impl BlockEncoder {
    /// With a restart every `interval` rows: at least 1.
    pub(in super::super) fn new(interval: u16) -> Self {
        Self {
            interval: usize::from(interval.max(1)),
            rows: Vec::new(),
            values: Vec::new(),
            tags: Vec::new(),
            restarts: Vec::new(),
            smallest_tag: u64::MAX,
            largest_tag: 0,
        }
    }

    #[inline]
    pub(in super::super) fn is_empty(&self) -> bool {
        self.tags.is_empty()
    }

    /// How many bytes the block would have if it ended now.
    #[inline]
    pub(in super::super) fn len(&self) -> usize {
        let fixed = HEADER_BYTES + self.restarts.len() * RESTART_BYTES;
        fixed + self.values.len() + self.rows.len() + self.tags.len() * self.width()
    }

    /// Adds a row whose key shares its first `shared` bytes with that of the row before it. Sequence numbers up to
    /// `MAX_SEQ`; what comes together in a block stays far below 4 GiB.
    #[inline]
    pub(in super::super) fn add(
        &mut self,
        (key, shared): (&[u8], usize),
        (seq, kind): (u64, OpKind),
        value: &[u8],
    ) {
        let mut shared = shared;
        if self.tags.len().is_multiple_of(self.interval) {
            self.restarts.push((self.rows.len() as u32, self.values.len() as u32));
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
        self.values.extend_from_slice(value);
        let tag = tag_of(seq, kind);
        self.tags.push(tag);
        self.smallest_tag = self.smallest_tag.min(tag);
        self.largest_tag = self.largest_tag.max(tag);
    }

    /// Appends the block to `out`, and begins the next.
    pub(in super::super) fn finish(&mut self, out: &mut Vec<u8>) {
        let width = self.width();
        let base = self.smallest_tag >> 1;
        out.reserve(self.len() + 8);
        out.extend_from_slice(&base.to_le_bytes());
        out.extend_from_slice(&(self.tags.len() as u32).to_le_bytes());
        out.extend_from_slice(&(self.rows.len() as u32).to_le_bytes());
        out.extend_from_slice(&(self.interval as u16).to_le_bytes());
        out.push(width as u8);
        for (row, value) in &self.restarts {
            out.extend_from_slice(&row.to_le_bytes());
            out.extend_from_slice(&value.to_le_bytes());
        }
        // Each tag is written with eight bytes, of which the next one overwrites what is too much.
        let mut at = out.len();
        out.resize(at + self.tags.len() * width + 8, 0);
        for tag in &self.tags {
            if let Some(place) = out.get_mut(at..at + 8) {
                place.copy_from_slice(&(tag - (base << 1)).to_le_bytes());
            }
            at += width;
        }
        out.truncate(at);
        out.extend_from_slice(&self.rows);
        out.extend_from_slice(&self.values);
        self.rows.clear();
        self.values.clear();
        self.tags.clear();
        self.restarts.clear();
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
