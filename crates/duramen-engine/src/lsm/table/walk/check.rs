//! Whether bytes are a block, and every row of it.

use super::{Item, WholeBlock};
use crate::Result;
use crate::lsm::table::block::{Block, Position, order};
use crate::sstable::filter::FuseFilter;
use std::ops::Range;
use xxhash_rust::xxh3::xxh3_64;

/// The last row that was given.
#[derive(Debug, Default)]
pub(super) struct LastRow {
    key: Vec<u8>,
    seq: u64,
    any: bool,
}

/// A block of which every row was read.
pub(super) struct Checked {
    block: Block,
    rows: usize,
    first_key: Vec<u8>,
    last: LastRow,
}

impl Checked {
    /// Reads every row: all come after `before`, each after the one before it.
    pub(super) fn of(block: Block, before: &LastRow) -> Result<Self, &'static str> {
        let mut first_key = None;
        let mut last = LastRow { key: before.key.clone(), seq: before.seq, any: before.any };
        let (mut rows, mut in_order) = (0, true);
        rows_of(&block, |key, row| {
            in_order &= !last.any || order((&last.key, last.seq), (key, row.seq)).is_lt();
            first_key.get_or_insert_with(|| key.to_vec());
            last.key.clear();
            last.key.extend_from_slice(key);
            (last.seq, last.any) = (row.seq, true);
            rows += 1;
            in_order
        })?;
        if !in_order {
            return Err("rows that are not in order");
        }
        Ok(Self { block, rows, first_key: first_key.unwrap_or_default(), last })
    }

    /// The filter must not deny any of the keys.
    pub(super) fn are_in(&self, filter: Option<&FuseFilter>) -> Result<(), String> {
        let Some(filter) = filter else { return Ok(()) };
        let mut denied = None;
        rows_of(&self.block, |key, _| {
            if !filter.contains(xxh3_64(key)) {
                denied = Some(key.escape_ascii().to_string());
            }
            denied.is_none()
        })?;
        denied.map_or(Ok(()), |key| Err(format!("a key that the partition's filter denies: \"{key}\"")))
    }

    pub(super) fn give(
        self,
        partition: Option<usize>,
        range: Range<u64>,
        last: &mut LastRow,
        visit: &mut dyn FnMut(Item<'_>) -> Result<()>,
    ) -> Result<()> {
        let Self { block, rows, first_key, last: own } = self;
        *last = own;
        let (first_key, last_key) = (&first_key[..], &last.key[..]);
        visit(Item::Block(WholeBlock { partition, range, rows, first_key, last_key, block: &block }))
    }
}

/// Reads every row of a block, from the first on, for as long as `row` says so. Each restart must lead to its row.
pub(super) fn rows_of(
    block: &Block,
    mut row: impl FnMut(&[u8], &Position) -> bool,
) -> Result<(), &'static str> {
    let mut key = Vec::new();
    let mut at = block.read_restart(0, &mut key)?;
    loop {
        if !row(&key, &at) || at.n + 1 == block.count() {
            return Ok(());
        }
        let next = block.read_row(at.n + 1, at.next_row, at.value.end, &mut key)?;
        if next.n % block.interval() == 0 {
            let mut restart_key = Vec::new();
            if block.read_restart(next.n / block.interval(), &mut restart_key)? != next || restart_key != key
            {
                return Err("a restart that does not lead to its row");
            }
        }
        at = next;
    }
}
