//! Where what was there meets what comes.
//!
//! Following begins before the snapshot is taken, so that nothing falls between them. Entries that were
//! appended between the two are in both, and are taken out here. A snapshot holds, of every writer, all
//! entries up to some sequence number; so it is enough to know the last.

use duramen::Snapshot;
use duramen::block::{Block, BlockHandle};
use duramen::column::{Column, ColumnData};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Of blocks that came, the rows that are not in the snapshot.
pub(super) fn after(snapshot: &Snapshot, came: Vec<Arc<dyn Block>>) -> duramen::Result<Vec<Arc<dyn Block>>> {
    let mut times = None;
    for block in &came {
        for &time in block.times()?.iter() {
            let (min, max) = times.get_or_insert((time, time));
            (*min, *max) = ((*min).min(time), (*max).max(time));
        }
    }
    // An entry that is in both has its time in both, so other blocks need not be looked at.
    let overlapping = times.map_or_else(Vec::new, |(min, max)| snapshot.blocks(min, max));
    let known = last_of_each_writer(&overlapping)?;
    let mut fresh: Vec<Arc<dyn Block>> = Vec::new();
    for block in came {
        let mut rows = Vec::new();
        for row in 0..block.rows() {
            let (writer, seq) = block.identity(row)?;
            if known.get(&writer).is_none_or(|last| seq > *last) {
                rows.push(row);
            }
        }
        if rows.len() == block.rows() {
            fresh.push(block);
        } else if !rows.is_empty() {
            fresh.push(Arc::new(SomeRows { block, rows }));
        }
    }
    Ok(fresh)
}

fn last_of_each_writer(handles: &[Arc<dyn BlockHandle>]) -> duramen::Result<BTreeMap<u64, u64>> {
    let mut last = BTreeMap::new();
    for handle in handles {
        let block = handle.open()?;
        for row in 0..block.rows() {
            let (writer, seq) = block.identity(row)?;
            let known = last.entry(writer).or_insert(seq);
            *known = seq.max(*known);
        }
    }
    Ok(last)
}

/// Some rows of a block, at least one, ascending.
#[derive(Debug)]
struct SomeRows {
    block: Arc<dyn Block>,
    rows: Vec<usize>,
}

impl Block for SomeRows {
    fn rows(&self) -> usize {
        self.rows.len()
    }

    fn times(&self) -> duramen::Result<Arc<Vec<i64>>> {
        let times = self.block.times()?;
        Ok(Arc::new(self.rows.iter().map(|&row| times[row]).collect()))
    }

    fn field_names(&self) -> duramen::Result<Vec<String>> {
        self.block.field_names()
    }

    fn column(&self, name: &str) -> duramen::Result<Option<Arc<Column>>> {
        let Some(whole) = self.block.column(name)? else { return Ok(None) };
        let order = match whole.data {
            ColumnData::Const(_) => None,
            // Slots are counted in 32 bits, so row numbers fit.
            _ => Some(Arc::new(self.rows.iter().map(|&row| whole.slot(row) as u32).collect())),
        };
        Ok(Some(Arc::new(Column { order, rows: self.rows.len(), ..(*whole).clone() })))
    }

    fn may_contain_words(&self, name: &str, words: &[u64]) -> duramen::Result<bool> {
        self.block.may_contain_words(name, words)
    }

    fn int_range(&self, name: &str) -> duramen::Result<Option<(i64, i64)>> {
        self.block.int_range(name)
    }

    fn identity(&self, row: usize) -> duramen::Result<(u64, u64)> {
        self.block.identity(self.rows[row])
    }
}
