//! What the log store puts into WAL records.
//!
//! ```text
//! kind 1, ENTRY   count 1   one entry (see `entry`)
//! kind 2, BATCH   count n   n times (length u32, entry), then CBOR's null or the position of the source
//!                           they were read from: one record, so that all of it survives or nothing
//! ```

use crate::entry::EntryRef;
use crate::error::{Error, Result};
use crate::store::source::SourcePosition;
use std::ops::Range;

/// One entry.
pub(crate) const ENTRY: u8 = 1;
/// Several entries and a source position.
pub(crate) const BATCH: u8 = 2;

/// CBOR's null: a batch without a source.
const NO_SOURCE: u8 = 0xf6;

/// The most bytes of entries that one batch takes.
pub const MAX_BATCH_BYTES: usize = crate::entry::MAX_ENTRY_BYTES;
/// The most entries that one batch takes: the WAL counts them in 24 bits.
pub const MAX_BATCH_ENTRIES: u32 = (1 << 24) - 1;

/// Entries that are appended together: all of them survive a crash, or none.
///
/// ```
/// # let mut entry = duramen::EntryBuf::new([""; 0]);
/// let mut batch = duramen::Batch::new();
/// batch.push(entry.start(1).message("one").finish()?)?;
/// batch.push(entry.start(2).message("two").finish()?)?;
/// assert_eq!(batch.len(), 2);
/// # Ok::<(), duramen::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Batch {
    bytes: Vec<u8>,
    count: u32,
}

impl Batch {
    /// An empty batch.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an entry, as [`crate::EntryBuf::finish`] gives it.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the batch is full ([`MAX_BATCH_BYTES`], [`MAX_BATCH_ENTRIES`]): append it first;
    /// [`Error::Decode`] if the bytes are no entry.
    pub fn push(&mut self, entry: &[u8]) -> Result<()> {
        EntryRef::decode(entry)?;
        self.push_unchecked(entry)
    }

    /// As [`Batch::push`], for bytes that come straight from [`crate::EntryBuf::finish`] and need no second
    /// look. Others are found out only when they are flushed: then they are counted, told, and set aside.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the batch is full.
    pub fn push_unchecked(&mut self, entry: &[u8]) -> Result<()> {
        if self.count > 0 && self.bytes.len() + entry.len() > MAX_BATCH_BYTES
            || self.count == MAX_BATCH_ENTRIES
        {
            return Err(Error::Invalid(format!(
                "a batch of {} entries, {} bytes, takes no more: append it first",
                self.count,
                self.bytes.len()
            )));
        }
        let len = u32::try_from(entry.len()).map_err(|_| Error::Invalid("an entry over 4 GiB".into()))?;
        self.bytes.extend_from_slice(&len.to_le_bytes());
        self.bytes.extend_from_slice(entry);
        self.count += 1;
        Ok(())
    }

    /// How many entries it has.
    pub fn len(&self) -> usize {
        self.count as usize
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// How many bytes its entries take.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// How many bytes of memory it holds, though it be empty.
    pub fn capacity_bytes(&self) -> usize {
        self.bytes.capacity()
    }

    /// Its entries, in order, as they were pushed.
    pub fn entries(&self) -> impl Iterator<Item = &[u8]> {
        let ranges = EntryRanges { payload: &self.bytes, at: 0, left: self.count, framed: true };
        ranges.map_while(|range| self.bytes.get(range.ok()?))
    }

    /// Forgets its entries and keeps its memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.count = 0;
    }

    /// The number of entries and the record's payload, for as long as `write` looks at it.
    pub(crate) fn with_payload<T>(
        &mut self,
        source: Option<&SourcePosition>,
        write: impl FnOnce(u32, &[u8]) -> Result<T>,
    ) -> Result<T> {
        let entries_end = self.bytes.len();
        match source {
            Some(source) => source.encode(&mut self.bytes),
            None => self.bytes.push(NO_SOURCE),
        }
        let outcome = write(self.count, &self.bytes);
        self.bytes.truncate(entries_end);
        outcome
    }
}

/// Where in a record's payload its entries lie, in order.
///
/// # Errors
/// [`Error::Decode`] if the payload is not what its kind and count say.
pub(crate) fn entry_ranges(kind: u8, count: u32, payload: &[u8]) -> Result<EntryRanges<'_>> {
    match kind {
        ENTRY if count == 1 => Ok(EntryRanges { payload, at: 0, left: 1, framed: false }),
        BATCH => Ok(EntryRanges { payload, at: 0, left: count, framed: true }),
        _ => {
            Err(Error::decode("a WAL record", format!("kind {kind}, count {count} is none of this version")))
        }
    }
}

/// Iterates [`entry_ranges`].
#[derive(Debug)]
pub(crate) struct EntryRanges<'a> {
    payload: &'a [u8],
    at: usize,
    left: u32,
    framed: bool,
}

impl EntryRanges<'_> {
    fn framed_range(&mut self) -> Result<Range<usize>> {
        let cut = || Error::decode("a batch", "it ends inside an entry");
        let head = self.payload.get(self.at..).and_then(|rest| rest.first_chunk::<4>()).ok_or_else(cut)?;
        let start = self.at + 4;
        let end = start.checked_add(u32::from_le_bytes(*head) as usize).ok_or_else(cut)?;
        if end > self.payload.len() {
            return Err(cut());
        }
        self.at = end;
        Ok(start..end)
    }
}

impl Iterator for EntryRanges<'_> {
    type Item = Result<Range<usize>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        if !self.framed {
            return Some(Ok(0..self.payload.len()));
        }
        let range = self.framed_range();
        if range.is_err() {
            self.left = 0;
        }
        Some(range)
    }
}

/// The source position of a batch, if it has one.
///
/// # Errors
/// [`Error::Decode`] if the payload is not what its kind and count say.
pub(crate) fn source_of(kind: u8, count: u32, payload: &[u8]) -> Result<Option<SourcePosition>> {
    if kind != BATCH {
        return Ok(None);
    }
    let mut ranges = entry_ranges(kind, count, payload)?;
    for range in ranges.by_ref() {
        range?;
    }
    match &payload[ranges.at..] {
        [] => Err(Error::decode("a batch", "it ends before its source position")),
        [NO_SOURCE] => Ok(None),
        rest => SourcePosition::decode(rest).map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_gives_its_entries_and_its_source_back() {
        let source = SourcePosition {
            name: "/var/log/x".into(),
            head_bytes: 10,
            head_hash: 1,
            read_bytes: 99,
            read_hash: 2,
            entries: 3,
        };
        let mut batch = Batch::new();
        for text in [&b"one"[..], b"", b"three"] {
            batch.push_unchecked(text).unwrap();
        }
        for expected in [Some(&source), None] {
            batch
                .with_payload(expected, |count, payload| {
                    let texts: Vec<_> =
                        entry_ranges(BATCH, count, payload)?.map(|r| payload[r.unwrap()].to_vec()).collect();
                    assert_eq!(texts, [b"one".to_vec(), vec![], b"three".to_vec()]);
                    assert_eq!(source_of(BATCH, count, payload)?.as_ref(), expected);
                    Ok(())
                })
                .unwrap();
        }
    }

    #[test]
    fn a_full_batch_says_so() {
        let mut batch = Batch::new();
        batch.push_unchecked(&vec![0; MAX_BATCH_BYTES + 1]).unwrap();
        let error = batch.push_unchecked(b"x").unwrap_err().to_string();
        assert!(error.contains("append it first"), "{error}");
    }

    proptest::proptest! {
        #[test]
        fn no_payload_makes_it_panic(kind in 0u8..4, count in 0u32..9, payload: Vec<u8>) {
            if let Ok(ranges) = entry_ranges(kind, count, &payload) {
                for range in ranges.flatten() {
                    let _in_bounds = &payload[range];
                }
            }
            let _any = source_of(kind, count, &payload);
        }
    }
}
