//! Which keys have nothing older elsewhere, so that deleting them has done its work.

use crate::lsm::version::TableFile;
use std::sync::Arc;

/// Asked about keys in ascending order, it goes through the older tables once.
#[derive(Debug)]
pub(super) struct BaseLevel<'a> {
    /// Each level's tables that are not behind the last key. Level 0, whose tables overlap, has one for each table.
    levels: Vec<&'a [Arc<TableFile>]>,
}

impl<'a> BaseLevel<'a> {
    /// Of the tables, by level, that are older than a job's inputs and none of them.
    pub(super) fn new(older: &'a [(usize, Vec<Arc<TableFile>>)]) -> Self {
        let levels = older.iter().flat_map(|(level, tables)| match level {
            0 => tables.chunks(1),
            _ => tables.chunks(usize::MAX),
        });
        Self { levels: levels.collect() }
    }

    /// Whether no older table reaches over the key.
    pub(super) fn is_base_for(&mut self, key: &[u8]) -> bool {
        self.levels.iter_mut().all(|tables| {
            while let Some((first, rest)) = tables.split_first()
                && first.max_key() < key
            {
                *tables = rest;
            }
            tables.first().is_none_or(|table| key < table.min_key())
        })
    }
}
