//! Segments of writers that the manifest has forgotten, which come back: out of a backup, or of what a check of the file system
//! had found. Their lines are in tables, and would be there twice, or again though they were deleted since.

use super::Keeper;
use crate::error::Result;
use crate::store::rows::RowSet;
use crate::store::table_facts::TableFacts;
use duramen_engine::manifest::TableMeta;
use duramen_engine::wal::RecoveredSegment;
use std::collections::BTreeSet;
use std::path::PathBuf;

impl Keeper {
    /// Those of a dead writer's segments whose lines were put into tables before. A writer is forgotten only when all of its
    /// segments were, so the tables tell, as long as one has lines of it and of that time: they say of each writer how far it
    /// had come.
    ///
    /// # Errors
    /// What the file system said.
    pub(super) fn taken_before(
        &self,
        writer: u64,
        segments: &[RecoveredSegment],
    ) -> Result<BTreeSet<PathBuf>> {
        if segments.is_empty() || self.manifest.state().writers.contains_key(&writer) {
            return Ok(BTreeSet::new());
        }
        let mut rows = RowSet::default();
        for segment in segments {
            // What cannot be read is told when the segment is put into tables.
            let _damage = rows.add(segment.reader.clone());
        }
        let frozen = rows.take();
        let mut entries = frozen.entries().iter();
        let Some((first, _)) = entries.next() else { return Ok(BTreeSet::new()) };
        let (min_time, max_time) =
            (first.time, entries.next_back().map_or(first.time, |(last, _)| last.time));
        let of_that_time = |meta: &&TableMeta| {
            let times = TableFacts::decode(&meta.user).ok().and_then(|facts| facts.time_range());
            times.is_some_and(|(min, max)| max >= min_time && min <= max_time)
        };
        let mut last = None;
        for meta in self.manifest.state().tables.values().filter(of_that_time) {
            match self.tables.origins(meta) {
                Ok(origins) => last = last.max(origins.last_of(writer)),
                // It is whole, and may be the only one that tells.
                Err(e) if e.is_out_of_descriptors() => return Err(e),
                // Of one that cannot be read others tell; what the writer left must be put into tables all the same.
                Err(_) => {}
            }
        }
        let is_taken = |first_seq: u64| last.is_some_and(|last| first_seq <= last);
        let taken = segments.iter().filter(|segment| segment.reader.first_seq().is_some_and(is_taken));
        Ok(taken.filter_map(|segment| segment.reader.path().map(Into::into)).collect())
    }
}
