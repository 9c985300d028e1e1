//! Where what was there meets what comes.
//!
//! Who shows both begins to follow before taking the snapshot, so that nothing falls between them. Entries that were
//! appended between the two are in both, and are taken out here. A snapshot holds, of every writer, all entries up to
//! some sequence number; so it is enough to know the last.

use crate::block::{Block, BlockHandle};
use crate::error::Result;
use crate::store::Snapshot;
use crate::store::some_rows::SomeRows;
use std::collections::BTreeMap;
use std::sync::Arc;

impl Snapshot {
    /// Of blocks that [`crate::Tail::poll`] gave, the rows that are not in the snapshot.
    ///
    /// # Errors
    /// What the file system said; damage in a block.
    pub fn without_known(&self, came: Vec<Arc<dyn Block>>) -> Result<Vec<Arc<dyn Block>>> {
        let mut times = None;
        for block in &came {
            for &time in block.times()?.iter() {
                let (min, max) = times.get_or_insert((time, time));
                (*min, *max) = ((*min).min(time), (*max).max(time));
            }
        }
        // An entry that is in both has its time in both, so other blocks need not be looked at.
        let overlapping = times.map_or_else(Vec::new, |(min, max)| self.blocks(min, max));
        let known = last_of_each_writer(&overlapping)?;
        let mut fresh: Vec<Arc<dyn Block>> = Vec::new();
        for block in came {
            let mut rows = Vec::new();
            for row in 0..block.rows() {
                let (writer, seq) = block.identity(row)?;
                if known.get(&writer).is_none_or(|last| seq > *last) {
                    rows.push(row as u32);
                }
            }
            if rows.len() == block.rows() {
                fresh.push(block);
            } else if !rows.is_empty() {
                fresh.push(Arc::new(SomeRows::new(block, rows)));
            }
        }
        Ok(fresh)
    }
}

fn last_of_each_writer(handles: &[Arc<dyn BlockHandle>]) -> Result<BTreeMap<u64, u64>> {
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
