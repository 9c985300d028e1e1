//! Rows that still lie in WAL segments: an index over their arenas, in the order of blocks.

use crate::columnar::Row;
use crate::entry::EntryRef;
use crate::error::Result;
use crate::store::cut::stream_number;
use crate::store::payload;
use crate::store::source::SourcePosition;
use duramen_engine::memtable::{Frozen, Location, VecMemtable};
use duramen_engine::wal::{Record, SegmentReader};
use std::sync::Arc;

/// The order of rows: by time, then as they were written. `segment` says where the entry lies, `stream` which stream
/// it is of, as [`stream_number`] gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RowKey {
    pub(crate) time: i64,
    pub(crate) writer: u64,
    pub(crate) seq: u64,
    segment: u32,
    pub(crate) stream: u32,
}

/// A row of a [`RowSet`]: its key and where its entry lies.
pub(crate) type RowPlace = (RowKey, Location);

/// Segments, and the rows found in them so far.
#[derive(Debug)]
pub(crate) struct RowSet {
    segments: Vec<Followed>,
    index: VecMemtable<RowKey>,
    sources: Vec<SourcePosition>,
    undecodable: u64,
    next_seq: Option<u64>,
}

/// A segment and how far it has been read.
#[derive(Debug)]
struct Followed {
    reader: Arc<SegmentReader>,
    next: u64,
}

/// The segments of a row set, for reading rows after its index was frozen.
#[derive(Clone, Debug)]
pub(crate) struct Arenas(Vec<Arc<SegmentReader>>);

impl Default for RowSet {
    fn default() -> Self {
        Self {
            segments: Vec::new(),
            index: VecMemtable::new(),
            sources: Vec::new(),
            undecodable: 0,
            next_seq: None,
        }
    }
}

impl RowSet {
    /// Adds a segment, none of its records read yet.
    pub(crate) fn follow(&mut self, reader: Arc<SegmentReader>) {
        let next = reader.start();
        self.segments.push(Followed { reader, next });
    }

    /// Reads the records that were added to the segments since the last call.
    ///
    /// # Errors
    /// Corruption in a segment: what precedes it has been read, what follows it in this segment never is.
    pub(crate) fn extend(&mut self) -> Result<()> {
        (0..self.segments.len()).try_for_each(|i| self.extend_from(i))
    }

    /// Adds a segment, and reads its records only.
    ///
    /// # Errors
    /// As [`RowSet::extend`].
    pub(crate) fn add(&mut self, reader: Arc<SegmentReader>) -> Result<()> {
        self.follow(reader);
        self.extend_from(self.segments.len() - 1)
    }

    fn extend_from(&mut self, i: usize) -> Result<()> {
        let reader = self.segments[i].reader.clone();
        while let Some((record, after)) = reader.next_record(self.segments[i].next)? {
            self.add_record(i as u32, reader.writer_id(), &record);
            self.next_seq = record.seq.checked_add(u64::from(record.count));
            self.segments[i].next = after;
        }
        Ok(())
    }

    /// An entry that does not decode has passed its checksum: a fault of the program that wrote it. It is
    /// counted, for the caller to set the segment aside, and does not keep the others from being read.
    fn add_record(&mut self, segment: u32, writer: u64, record: &Record<'_>) {
        let Ok(ranges) = payload::entry_ranges(record.kind, record.count, record.payload) else {
            self.undecodable += u64::from(record.count);
            return;
        };
        for (i, range) in ranges.enumerate() {
            let decoded =
                range.and_then(|range| Ok((EntryRef::decode(&record.payload[range.clone()])?, range)));
            let Ok((entry, range)) = decoded else {
                self.undecodable += 1;
                continue;
            };
            let stream = stream_number(entry.stream_bytes());
            let key = RowKey { time: entry.time, writer, seq: record.seq + i as u64, segment, stream };
            let offset = record.payload_offset + range.start as u32;
            self.index.push(key, Location { offset, len: range.len() as u32 });
        }
        if let Ok(Some(source)) = payload::source_of(record.kind, record.count, record.payload) {
            self.sources.push(source);
        }
    }

    /// How many bytes of the segments have not been read yet.
    pub(crate) fn unread_bytes(&self) -> u64 {
        self.segments.iter().map(|s| s.reader.committed().saturating_sub(s.next)).sum()
    }

    /// How many rows there are.
    pub(crate) fn len(&self) -> usize {
        self.index.len()
    }

    /// The sequence number after the last record's; `None` before the first.
    pub(crate) fn next_seq(&self) -> Option<u64> {
        self.next_seq
    }

    /// How many entries could not be decoded.
    pub(crate) fn undecodable(&self) -> u64 {
        self.undecodable
    }

    /// The source positions found, in the order they were written.
    pub(crate) fn sources(&self) -> &[SourcePosition] {
        &self.sources
    }

    /// The segments.
    pub(crate) fn arenas(&self) -> Arenas {
        Arenas(self.segments.iter().map(|s| s.reader.clone()).collect())
    }

    /// The rows found since the last call, in order.
    pub(crate) fn take(&mut self) -> Frozen<RowKey> {
        std::mem::replace(&mut self.index, VecMemtable::new()).freeze()
    }
}

impl Arenas {
    /// The row at a place.
    ///
    /// # Errors
    /// [`crate::Error::Decode`] if there is no entry: never, for places that a row set gave.
    pub(crate) fn row(&self, (key, location): &RowPlace) -> Result<Row<'_>> {
        let bytes = self
            .0
            .get(key.segment as usize)
            .and_then(|reader| reader.bytes(location.offset, location.len))
            .unwrap_or_default();
        Ok(Row { entry: EntryRef::decode_known(bytes)?, writer: key.writer, seq: key.seq })
    }
}
