//! The first row at or after a place in the order of versions.

use super::layout::Block;
use super::order;
use crate::kv::{OpKind, shared_len};
use crate::sstable::wire::Malformed;
use std::cmp::Ordering;
use std::ops::Range;

/// Where a row lies, with what it takes to go on from there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct Position {
    /// Which row of the block.
    pub(in super::super) n: usize,
    pub(in super::super) seq: u64,
    pub(in super::super) kind: OpKind,
    /// Where its value lies in the block's bytes.
    pub(in super::super) value: Range<usize>,
    /// Where the next row begins.
    pub(in super::super) next_row: usize,
}

/// A row that was searched for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct FoundRow {
    pub(in super::super) position: Position,
    /// How many bytes of its key are the first ones of the key that was searched for, and where the others lie.
    pub(in super::super) shared: usize,
    pub(in super::super) unshared: Range<usize>,
    /// Whether it is a version of the key that was searched for.
    pub(in super::super) same_key: bool,
}

impl Block {
    /// The first row at or after `key` in its version `seq`; `None` if all are before.
    pub(in super::super) fn find(&self, key: &[u8], seq: u64) -> Result<Option<FoundRow>, Malformed> {
        let start = self.restart_before(key, seq)?;
        let mut n = start * self.interval();
        let (mut at, mut value_at) = self.restart(start)?;
        // How many bytes of `key` the key of the row before has. A row that shares more with it is as far before `key`
        // as it is; one that shares less is past `key`, for its first other byte is larger than there.
        let mut matched = 0;
        while n < self.count() {
            let row = self.row(at)?;
            if row.shared == 0 {
                // Perhaps a restart, which does not say how much it has in common.
                matched = 0;
            }
            let (is_after, same_key) = match row.shared.cmp(&matched) {
                Ordering::Greater => (false, false),
                Ordering::Less => (true, false),
                Ordering::Equal => {
                    let rest = key.get(matched..).unwrap_or_default();
                    let unshared = self.unshared(row);
                    let more = shared_len(unshared, rest);
                    matched += more;
                    match (unshared.get(more), rest.get(more)) {
                        (None, None) => (self.tag(n).0 <= seq, true),
                        (own, sought) => (own > sought, false),
                    }
                }
            };
            if is_after {
                let (seq, kind) = self.tag(n);
                let value = self.value(value_at, row.value_len)?;
                let position = Position { n, seq, kind, value, next_row: row.end };
                let unshared = row.key..row.end;
                return Ok(Some(FoundRow { position, shared: row.shared, unshared, same_key }));
            }
            n += 1;
            at = row.end;
            value_at += row.value_len;
        }
        Ok(None)
    }

    /// The last restart that is not after `key` in its version `seq`, or the first.
    fn restart_before(&self, key: &[u8], seq: u64) -> Result<usize, Malformed> {
        let (mut low, mut high) = (1, self.restarts());
        while low < high {
            let middle = low + (high - low) / 2;
            let (at, _) = self.restart(middle)?;
            let row = self.row(at)?;
            if row.shared != 0 {
                return Err("a restart that shares bytes with the row before it");
            }
            if order((self.unshared(row), self.tag(middle * self.interval()).0), (key, seq)).is_gt() {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        Ok(low - 1)
    }

    /// The row that begins at `at`, with its key in `key`: there, that of the row before. `value_at` is where its value
    /// begins.
    #[inline]
    pub(in super::super) fn read_row(
        &self,
        n: usize,
        at: usize,
        value_at: usize,
        key: &mut Vec<u8>,
    ) -> Result<Position, Malformed> {
        let row = self.row(at)?;
        if row.shared > key.len() {
            return Err("a key that shares more bytes than the key before it has");
        }
        key.truncate(row.shared);
        key.extend_from_slice(self.unshared(row));
        let (seq, kind) = self.tag(n);
        let value = self.value(value_at, row.value_len)?;
        Ok(Position { n, seq, kind, value, next_row: row.end })
    }

    /// The first row of a restart; its key replaces `key`.
    pub(in super::super) fn read_restart(&self, i: usize, key: &mut Vec<u8>) -> Result<Position, Malformed> {
        let (at, value_at) = self.restart(i)?;
        key.clear();
        self.read_row(i * self.interval(), at, value_at, key)
    }

    /// Which restart the `n`-th row is read from.
    pub(in super::super) fn restart_of(&self, n: usize) -> usize {
        n / self.interval()
    }
}
