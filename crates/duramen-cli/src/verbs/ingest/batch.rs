//! Entries of one source on their way into the store: gathered, and appended together with how far the
//! source has been read, so that both are in the store or neither.

use crate::input::tracker::Tracker;
use duramen::store::MAX_BATCH_BYTES;
use duramen::{Batch, EntryRef, Level, SourcePosition, Store};
use duramen_formats::Sink;
use std::time::Duration;

/// A batch with so many bytes is appended.
const BATCH_BYTES: usize = 256 << 10;
/// A batch with so many entries is appended.
const BATCH_ENTRIES: usize = 4096;
/// How long a full disk is waited for: what was appended before takes its room until it is in tables, and somebody may make some.
const WAITS_FOR_ROOM: Duration = Duration::from_secs(10);

/// How far a source has been read.
pub(super) struct Progressed {
    /// The hash of what has been read.
    pub(super) tracker: Tracker,
    /// What the store will know; kept up to date.
    pub(super) position: SourcePosition,
}

/// Gathers entries and appends them to a store.
pub(super) struct Batcher<'s> {
    store: &'s Store,
    batch: Batch,
    /// Where in the source the last entry of the batch ends.
    end_offset: u64,
    /// Whether the last entry's lines lie among those of the next: with it alone the source cannot be left.
    goes_on: bool,
    /// `None` for a source that cannot be read again.
    source: Option<Progressed>,
    appended: u64,
    times: Option<(i64, i64)>,
}

impl<'s> Batcher<'s> {
    /// For one source, whose position is recorded if there is one.
    pub(super) fn new(store: &'s Store, source: Option<Progressed>) -> Self {
        let end_offset = source.as_ref().map_or(0, |source| source.position.read_bytes);
        Self { store, batch: Batch::new(), end_offset, goes_on: false, source, appended: 0, times: None }
    }

    /// Takes note of the source's next bytes, before the entries in them come.
    pub(super) fn read(&mut self, bytes: &[u8]) {
        if let Some(source) = &mut self.source {
            source.tracker.push(bytes);
        }
    }

    /// Appends what is gathered. Nothing is lost if it fails, but the store takes no more.
    ///
    /// # Errors
    /// As [`Store::append_batch_patiently`].
    pub(super) fn append(&mut self) -> duramen::Result<()> {
        if self.batch.is_empty() {
            return Ok(());
        }
        let entries = self.batch.len() as u64;
        let position = self.source.as_mut().map(|source| {
            source.tracker.consume_to(self.end_offset);
            source.position.read_bytes = source.tracker.consumed_bytes();
            source.position.read_hash = source.tracker.digest();
            source.position.entries += entries;
            &source.position
        });
        self.store.append_batch_patiently(&mut self.batch, position, WAITS_FOR_ROOM)?;
        self.appended += entries;
        Ok(())
    }

    /// Whether entries wait to be appended.
    pub(super) fn is_empty(&self) -> bool {
        self.batch.is_empty()
    }

    /// How many entries have been appended.
    pub(super) fn appended(&self) -> u64 {
        self.appended
    }

    /// The earliest and latest time of an entry, ns since the epoch.
    pub(super) fn times(&self) -> Option<(i64, i64)> {
        self.times
    }

    /// How far the source is in the store.
    pub(super) fn position(&self) -> Option<&SourcePosition> {
        self.source.as_ref().map(|source| &source.position)
    }
}

impl Sink for Batcher<'_> {
    type Error = duramen::Error;

    fn entry(&mut self, entry: &[u8], _level: Level, end_offset: u64) -> duramen::Result<()> {
        let max = if self.goes_on { MAX_BATCH_BYTES } else { BATCH_BYTES };
        if self.batch.bytes() + entry.len() > max {
            self.append()?;
        }
        self.batch.push_unchecked(entry)?;
        self.goes_on = end_offset == self.end_offset;
        self.end_offset = end_offset;
        let time = EntryRef::peek_time(entry)?;
        self.times = Some(self.times.map_or((time, time), |(min, max)| (min.min(time), max.max(time))));
        if self.batch.len() >= BATCH_ENTRIES && !self.goes_on { self.append() } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use duramen::{EntryBuf, StoreOptions};

    #[test]
    fn entries_whose_lines_lie_among_each_other_are_in_the_store_together() {
        let dir = tempfile::tempdir().unwrap();
        let store = StoreOptions::new().open(dir.path()).unwrap();
        let position = SourcePosition {
            name: "x".into(),
            head_bytes: 0,
            head_hash: 0,
            read_bytes: 0,
            read_hash: 0,
            entries: 0,
        };
        let mut batcher = Batcher::new(&store, Some(Progressed { tracker: Tracker::new(), position }));
        batcher.read(&[b'x'; 100]);
        let mut buf = EntryBuf::default();
        let entry = buf.start(7).message(&"x".repeat(BATCH_BYTES / 2)).finish().unwrap().to_vec();
        let entry = |batcher: &mut Batcher<'_>, end| batcher.entry(&entry, Level::Info, end).unwrap();
        entry(&mut batcher, 10);
        // Four whose lines end at 50 and begin at 10: what is before them may go alone.
        for _ in 0..3 {
            entry(&mut batcher, 10);
            assert!(batcher.appended() <= 1);
        }
        entry(&mut batcher, 50);
        assert_eq!(batcher.position().unwrap().read_bytes, 10);
        entry(&mut batcher, 60);
        assert_eq!((batcher.appended(), batcher.position().unwrap().read_bytes), (5, 50));
        drop(batcher);
        store.close().unwrap();
    }
}
