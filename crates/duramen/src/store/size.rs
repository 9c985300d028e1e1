//! How much a store holds, for those who ask often: what the manifest and the headers of segments say.

use crate::error::Result;
use crate::store::live::LiveSegment;
use crate::store::shared::lock;
use crate::store::snapshot::{Snapshots, View};
use std::collections::BTreeMap;
use std::sync::Mutex;

/// How much a store holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreSize {
    /// Lines in tables.
    pub table_lines: u64,
    /// Table files.
    pub tables: u64,
    /// Their bytes.
    pub table_bytes: u64,
    /// Acknowledged lines that no table has yet, those of damaged segments included.
    pub wal_lines: u64,
    /// Bytes in use in the segments that have them.
    pub wal_bytes: u64,
}

/// How far the newest segment of each writer has been counted, by writer and number.
#[derive(Debug, Default)]
pub(crate) struct Counted(Mutex<BTreeMap<(u64, u64), Count>>);

#[derive(Clone, Copy, Debug)]
struct Count {
    next_offset: u64,
    lines: u64,
}

impl Counted {
    /// The lines of a segment, of which those are read that came since the last time. Damage ends it.
    fn count(&self, segment: &LiveSegment, kept: &mut BTreeMap<(u64, u64), Count>) -> u64 {
        let key = (segment.writer, segment.number);
        let known = lock(&self.0).get(&key).copied();
        let mut count = known.unwrap_or(Count { next_offset: segment.reader.start(), lines: 0 });
        while let Ok(Some((record, after))) = segment.reader.next_record(count.next_offset) {
            count = Count { next_offset: after, lines: count.lines + u64::from(record.count) };
        }
        kept.insert(key, count);
        count.lines
    }
}

impl Snapshots {
    pub(crate) fn size(&self) -> Result<StoreSize> {
        let View { state, live, .. } = self.view()?;
        let mut size = StoreSize { tables: state.tables.len() as u64, ..StoreSize::default() };
        for meta in state.tables.values() {
            size.table_lines += meta.entries;
            size.table_bytes += meta.file_bytes;
        }
        let mut kept = BTreeMap::new();
        for (i, segment) in live.segments.iter().enumerate() {
            size.wal_bytes += segment.reader.committed();
            // Sequence numbers have no gaps, so the next segment of its writer tells how many there are.
            let next = live.segments.get(i + 1).filter(|next| next.writer == segment.writer);
            let next = next.and_then(|next| next.reader.first_seq());
            size.wal_lines += match (next, segment.reader.first_seq()) {
                (Some(next), Some(first)) => next.saturating_sub(first),
                (None, Some(_)) => self.counted().count(segment, &mut kept),
                (_, None) => 0,
            };
        }
        *lock(&self.counted().0) = kept;
        Ok(size)
    }
}
