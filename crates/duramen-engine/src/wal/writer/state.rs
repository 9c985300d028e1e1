//! What the writer's lock guards.

use super::WalMetrics;
use super::background::FULL_AGAIN;
use super::handle::{Handle, LITTLE_BYTES};
use crate::Error;
use crate::wal::arena::Tail;
use crate::wal::format::{KIND_SEAL, OWN_RECORD_BYTES, RecordHeader, SegmentId, encode_own, payload_hash};
use crate::wal::group::Position;
use crate::wal::index::Kept;
use crate::wal::options::{WalOptions, segment_bytes_for};
use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// What the writer's lock guards.
#[derive(Debug)]
pub(super) struct State {
    /// Where records are appended; `None` once closed.
    pub(super) active: Option<Active>,
    /// What becomes active next.
    pub(super) prepared: Option<Prepared>,
    /// Full segments whose records are not in tables yet, oldest first.
    pub(super) immutable: VecDeque<Immutable>,
    /// Files of segments that were never used.
    pub(super) discarded: Vec<PathBuf>,
    /// The next record's sequence number.
    pub(super) next_seq: u64,
    /// Where the last record ends.
    pub(super) end: Position,
    /// How long the prepared segment must be; 0 if none is wanted.
    pub(super) wanted_bytes: usize,
    /// A sync reached this far, and no record says so yet.
    pub(super) mark: Option<Position>,
    /// Whether the last sync was of one record.
    pub(super) syncs_singly: bool,
    /// How many records there were at that.
    synced_records: u64,
    /// The segment before the active one and its length, and no record says so yet.
    pub(super) previous: Option<Position>,
    /// When the records are to be synced, by the monotonic clock.
    pub(super) sync_due: Option<Duration>,
    /// How many appends wait for room.
    pub(super) waiting: usize,
    /// Why the last segment could not be prepared.
    pub(super) prepare_error: Option<PrepareError>,
    /// Why whoever flushes cannot, if so.
    pub(super) flush_error: Option<String>,
    /// Memory that is to be made ready.
    pub(super) prefault: Option<Prefault>,
    /// Records wait for room in their file, and no more are taken before.
    pub(super) held: bool,
    /// No segment can be sealed for the moment, for the same reason.
    pub(super) seals_later: bool,
    /// No more appends.
    pub(super) closed: bool,
    /// The threads are to end.
    pub(super) stop: bool,
    pub(super) metrics: WalMetrics,
    next_number: u64,
    next_bytes: usize,
    most_bytes: usize,
}

/// A segment that no record has gone to yet.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) handle: Arc<Handle>,
    /// The newest segment with records when it was made, which its header says; 0 for none.
    pub(super) follows: u64,
    pub(super) tail: Tail,
    /// How far its memory was asked for.
    pub(super) prefaulted: usize,
}

/// A part of a segment's memory.
#[derive(Debug)]
pub(super) struct Prefault {
    pub(super) handle: Arc<Handle>,
    pub(super) range: Range<usize>,
    /// What records have gone to before: it is written, and need not count as used any more.
    pub(super) behind: Option<Range<usize>>,
}

/// The segment that records go to.
#[derive(Debug)]
pub(super) struct Active {
    pub(super) handle: Arc<Handle>,
    pub(super) tail: Tail,
    /// How many of the caller's records are in it.
    pub(super) records: u64,
    /// Where the next segment is asked for: soon enough to have it in time, and so late that a short-lived writer
    /// never makes a second.
    pub(super) prepare_at: usize,
    /// How much of the buffer its owner's index takes.
    pub(super) charged: usize,
    /// What its owner keeps beside it.
    pub(super) kept: Kept,
    /// When it became active, by the monotonic clock.
    pub(super) since: Duration,
    /// How far its memory was asked for.
    prefaulted: usize,
}

/// A segment that takes no more.
#[derive(Debug)]
pub(super) struct Immutable {
    pub(super) handle: Arc<Handle>,
    /// Its final length.
    pub(super) len: usize,
    /// Whether everything is done that sealing takes.
    pub(super) sealed: bool,
    /// Whether its buffer counts as free: its records can be read elsewhere, but are not durable there yet.
    pub(super) unloaded: bool,
}

/// A refusal of the operating system that several appends may have to be told.
#[derive(Debug)]
pub(super) struct PrepareError {
    os_code: Option<i32>,
    kind: io::ErrorKind,
    text: String,
    path: PathBuf,
}

impl PrepareError {
    pub(super) fn remember(error: &Error) -> Self {
        match error {
            Error::Io { source, path, .. } => Self {
                os_code: source.raw_os_error(),
                kind: source.kind(),
                text: source.to_string(),
                path: path.clone(),
            },
            other => Self {
                os_code: None,
                kind: io::ErrorKind::Other,
                text: other.to_string(),
                path: PathBuf::new(),
            },
        }
    }

    pub(super) fn tell(&self) -> Error {
        let source = match self.os_code {
            Some(code) => io::Error::from_raw_os_error(code),
            None => io::Error::new(self.kind, self.text.clone()),
        };
        Error::io("prepare WAL segment", &self.path)(source)
    }
}

impl Prefault {
    /// The part that follows on `prefaulted`.
    fn next(handle: &Arc<Handle>, prefaulted: &mut usize) -> Self {
        let start = *prefaulted;
        *prefaulted += PREFAULT_BYTES;
        // Of the part before, half is still to be written; the very first one has the segment's head, which always is.
        let behind = start.checked_sub(2 * PREFAULT_BYTES).filter(|&start| start >= LITTLE_BYTES);
        let behind = behind.map(|start| start..start + PREFAULT_BYTES);
        Self { handle: Arc::clone(handle), range: start..*prefaulted, behind }
    }
}

impl Active {
    pub(super) fn new(Prepared { handle, tail, prefaulted, .. }: Prepared, since: Duration) -> Self {
        let prepare_at = tail.end() + tail.room() / 4;
        Self { handle, tail, records: 0, prepare_at, charged: 0, kept: None, since, prefaulted }
    }

    /// Whether the records have come close to memory that is not ready.
    #[inline]
    pub(super) fn prefault_due(&self) -> bool {
        self.prefaulted < self.tail.end() + PREFAULT_BYTES / 2
    }

    /// Appends a record, which must fit.
    #[inline]
    pub(super) fn put(&mut self, id: SegmentId, header: RecordHeader, payload_hash: u64, payload: &[u8]) {
        self.tail.put(header.seq, &header.encode(id, payload_hash), payload);
    }

    /// Appends one of the WAL's own records.
    pub(super) fn put_own(&mut self, id: SegmentId, kind: u8, seq: u64, a: u64, b: u64) {
        let payload = encode_own(a, b);
        let header = RecordHeader { len: payload.len() as u32, seq, kind, count: 0 };
        self.put(id, header, payload_hash(&payload), &payload);
    }
}

/// How much of a segment's memory is made ready at a time: much more would count as used long before it is.
const PREFAULT_BYTES: usize = 2 << 20;

/// How much of that without a look at what else there is to do.
pub(super) const PREFAULT_STEP_BYTES: usize = 512 << 10;

/// How many segments may wait for the flush where they are so small that their number says little.
const MAX_SMALL_IMMUTABLE: usize = 16;

impl State {
    /// Whether there is a free write buffer to go on in. A writer's first segments are small, and a buffer is
    /// counted by what it holds: `max_write_buffer_number` of them are full when they hold that many times
    /// `write_buffer_size`, the active one included.
    pub(super) fn may_retire(&self, active: &Active, options: &WalOptions) -> bool {
        let full = || self.immutable.iter().filter(|segment| !segment.unloaded);
        let number = full().count();
        if number + 1 < options.max_write_buffer_number {
            return true;
        }
        let held: usize = full().map(|segment| segment.len).sum();
        let budget = options.write_buffer_size.saturating_mul(options.max_write_buffer_number - 1);
        number < MAX_SMALL_IMMUTABLE && held.saturating_add(active.tail.end()) <= budget
    }

    pub(super) fn new(options: &WalOptions) -> Self {
        Self {
            active: None,
            prepared: None,
            immutable: VecDeque::with_capacity(options.max_write_buffer_number.max(MAX_SMALL_IMMUTABLE)),
            discarded: Vec::new(),
            next_seq: options.first_seq,
            end: Position::default(),
            wanted_bytes: 0,
            mark: None,
            syncs_singly: false,
            synced_records: 0,
            previous: None,
            sync_due: None,
            waiting: 0,
            prepare_error: None,
            flush_error: None,
            prefault: None,
            held: false,
            seals_later: false,
            closed: false,
            stop: false,
            metrics: WalMetrics::default(),
            next_number: 1,
            next_bytes: options.first_segment_bytes,
            most_bytes: options.write_buffer_size,
        }
    }

    /// Number and length for a segment of at least `bytes`. Numbers are not reused, even if it is never made.
    pub(super) fn next_segment(&mut self, bytes: usize) -> (u64, usize) {
        let number = self.next_number;
        self.next_number += 1;
        (number, self.next_bytes.max(bytes))
    }

    /// A segment was made: the next is twice as long as is usual now.
    pub(super) fn grow(&mut self) {
        self.next_bytes = self.next_bytes.saturating_mul(2).min(self.most_bytes);
    }

    /// The next segment is as short as an idle writer's: one that is ready and longer is not used.
    pub(super) fn start_small(&mut self, options: &WalOptions) {
        self.next_bytes = options.idle_segment_bytes;
        let longer = self.prepared.take_if(|p| p.tail.end() + p.tail.room() > options.idle_segment_bytes);
        self.discarded.extend(longer.and_then(|unused| unused.handle.path.clone()));
    }

    /// Whether a segment or memory is to be made ready, or what was made for nothing removed.
    pub(super) fn is_to_prepare(&self) -> bool {
        self.wanted_bytes != 0 || self.prefault.is_some() || !self.discarded.is_empty()
    }

    /// Asks for the memory that records will go to next: of the active segment, and at its end of the one after it. Whether
    /// that is news.
    #[cold]
    pub(super) fn ask_for_memory(&mut self) -> bool {
        let Some(active) = &mut self.active else { return false };
        if active.prefaulted < active.tail.end() + active.tail.room() {
            self.prefault = Some(Prefault::next(&active.handle, &mut active.prefaulted));
            return true;
        }
        // As soon as there is one.
        let Some(next) = &mut self.prepared else { return false };
        active.prefaulted = usize::MAX;
        self.prefault = Some(Prefault::next(&next.handle, &mut next.prefaulted));
        true
    }

    /// The memory to make ready next. That of a segment which is full, or will not be used, is not.
    pub(super) fn next_prefault(&mut self) -> Option<Prefault> {
        let mut part = self.prefault.take()?;
        let is_it = |handle: &Arc<Handle>| handle.number == part.handle.number;
        if let Some(active) = self.active.as_ref().filter(|active| is_it(&active.handle)) {
            // The records may have come further meanwhile.
            part.range.start = part.range.start.max(active.tail.end());
            return Some(part);
        }
        let is_next = self.prepared.as_ref().is_some_and(|prepared| is_it(&prepared.handle));
        is_next.then_some(part)
    }

    /// Everything appended so far is being synced.
    pub(super) fn begin_sync(&mut self) {
        // What is appended from here on is for the next interval.
        self.sync_due = None;
        self.syncs_singly = self.metrics.records == self.synced_records + 1;
        self.synced_records = self.metrics.records;
    }

    /// A sync that was due failed for want of room: it is no less due.
    pub(super) fn sync_again(&mut self, now: Duration) {
        let soon = now.saturating_add(FULL_AGAIN);
        self.sync_due = Some(self.sync_due.map_or(soon, |due| due.min(soon)));
    }

    /// No more records are taken: those that there are find no room in their file.
    pub(super) fn hold(&mut self) {
        self.held = true;
        if let Some(active) = &mut self.active {
            active.tail.hold();
        }
    }

    /// They have found it.
    pub(super) fn go_on(&mut self) {
        self.held = false;
        if let Some(active) = &mut self.active {
            active.tail.go_on();
        }
    }

    /// Asks for a prepared segment of at least `bytes`. Whether that is news.
    pub(super) fn want(&mut self, bytes: usize) -> bool {
        let news = self.wanted_bytes < bytes;
        self.wanted_bytes = self.wanted_bytes.max(bytes);
        news
    }

    /// Whether the prepared segment says that the active one took nothing: it was made while that was empty, for a record
    /// that is too long for it.
    fn passes_over(prepared: &Prepared, active: &Active) -> bool {
        prepared.follows < active.handle.number
    }

    /// A segment was prepared: if it says that the active one took nothing, the next record there, should one come, is to
    /// be noticed.
    pub(super) fn check_prepared(&mut self) {
        if let (Some(prepared), Some(active)) = (&self.prepared, &mut self.active)
            && Self::passes_over(prepared, active)
        {
            active.prepare_at = 0;
        }
    }

    /// The active segment, which takes records, has come to where the next is asked for. Whether there is something to prepare.
    #[cold]
    pub(super) fn ask_for_next(&mut self) -> bool {
        let Some(active) = &mut self.active else { return false };
        active.prepare_at = usize::MAX;
        self.drop_prepared_that_passes_over();
        self.prepared.is_none() && self.want(segment_bytes_for(0))
    }

    /// Does without the prepared segment, if it says that the active one took nothing, though that has records. Whether it did.
    pub(super) fn drop_wrong(&mut self) -> bool {
        self.active.as_ref().is_some_and(|active| active.records > 0) && self.drop_prepared_that_passes_over()
    }

    /// It would have a recovery believe that the active one may be missing. A record may have come while it was made, and none
    /// behind that one before it is needed.
    fn drop_prepared_that_passes_over(&mut self) -> bool {
        let Some(active) = &self.active else { return false };
        let wrong = self.prepared.take_if(|prepared| Self::passes_over(prepared, active));
        let is_wrong = wrong.is_some();
        self.discarded.extend(wrong.and_then(|unused| unused.handle.path.clone()));
        is_wrong
    }

    /// Ends the active segment: with a SEAL behind its records, or, if it has none, as if it had never been.
    pub(super) fn retire_active(&mut self) -> Option<u64> {
        let mut active = self.active.take()?;
        if active.records == 0 {
            self.discarded.extend(active.handle.path.clone());
            return None;
        }
        let len = active.tail.end() + OWN_RECORD_BYTES;
        active.put_own(active.handle.id, KIND_SEAL, self.next_seq, len as u64, active.records);
        self.metrics.bytes += OWN_RECORD_BYTES as u64;
        let number = active.handle.number;
        self.end = Position { number, offset: len as u64 };
        self.previous = Some(self.end);
        self.immutable.push_back(Immutable { handle: active.handle, len, sealed: false, unloaded: false });
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    use crate::Result;
    use crate::io::sim::{Fault, Sim};
    use crate::wal::names::segment_path;
    use crate::wal::options::Background;
    use crate::wal::writer::handle::{LITTLE_BYTES, START_BYTES, Takes};
    use crate::wal::{SegmentReader, Wal, WalOptions, WriteOptions};
    use std::path::Path;

    #[test]
    fn memory_is_asked_for_ahead_of_the_records_and_in_the_next_segment_before_they_get_there() -> Result<()>
    {
        let options = WalOptions {
            background: Background::Manual,
            first_segment_bytes: 8 << 20,
            ..WalOptions::default()
        };
        let wal = Wal::create(&Sim::new(1).env(), Path::new("/wal"), options)?;
        let (mut asked, mut given_back) = (Vec::new(), Vec::new());
        for _ in 0..9 << 6 {
            wal.append(0, 1, &[7; 16 << 10], WriteOptions::default())?;
            let state = wal.inner.state();
            if let (Some(part), Some(active)) = (&state.prefault, &state.active) {
                assert!((active.handle.number, active.tail.end()) < (part.handle.number, part.range.end));
                asked.push((part.handle.number, part.range.clone()));
                if let Some(behind) = &part.behind {
                    assert_eq!(active.handle.number, part.handle.number);
                    assert!(behind.end < active.tail.end());
                    given_back.push((part.handle.number, behind.clone()));
                }
            }
            drop(state);
            wal.background_step()?;
            assert!(wal.inner.state().prefault.is_none());
        }
        let part = super::PREFAULT_BYTES;
        let parts =
            [(1, START_BYTES), (1, START_BYTES + part), (1, START_BYTES + 2 * part), (2, LITTLE_BYTES)]
                .map(|(number, start)| (number, start..start + part));
        assert_eq!(asked[..4], parts);
        assert_eq!(given_back[0], parts[0], "but for the head, which every record may change");
        assert_eq!(wal.inner.state().active.as_ref().map(|a| a.handle.number), Some(2));
        Ok(())
    }

    #[test]
    fn memory_of_a_segment_that_is_full_is_not_made_ready() -> Result<()> {
        let options = WalOptions {
            background: Background::Manual,
            first_segment_bytes: 8 << 20,
            ..WalOptions::default()
        };
        let wal = Wal::create(&Sim::new(1).env(), Path::new("/wal"), options)?;
        wal.append(0, 1, b"first", WriteOptions::default())?;
        assert!(wal.inner.state().prefault.is_none(), "what is ready when it is made lasts");
        wal.append(0, 1, &vec![7; START_BYTES / 2], WriteOptions::default())?;
        let mut state = wal.inner.state();
        let asked = state.next_prefault();
        assert!(asked.is_some());
        state.prefault = asked;
        state.retire_active();
        assert!(state.next_prefault().is_none());
        drop(state);
        wal.background_step()
    }

    #[test]
    fn a_segment_after_one_that_was_not_filled_is_short_again() -> Result<()> {
        let options = WalOptions {
            background: Background::Manual,
            first_segment_bytes: 128 << 10,
            idle_segment_bytes: 64 << 10,
            write_buffer_size: 4 << 20,
            ..WalOptions::default()
        };
        let env = Sim::new(1).env();
        let wal = Wal::create(&env, Path::new("/wal"), options)?;
        let capacity = || wal.inner.state().active.as_ref().map(|a| a.tail.end() + a.tail.room());
        for _ in 0..100 {
            wal.append(0, 1, &[7; 8 << 10], WriteOptions::default())?;
            wal.background_step()?;
        }
        assert!(capacity() >= Some(512 << 10));
        assert!(wal.inner.state().prepared.is_some());
        wal.rotate()?;
        assert_eq!(capacity(), Some(64 << 10));
        wal.background_step()?;
        // The long one that was ready is gone.
        let dir = wal.writer_dir().ok_or_else(|| crate::Error::InvalidArgument("no directory".into()))?;
        let files = env.fs.read_dir(dir).map_err(crate::Error::io("list", dir))?;
        let lengths: Vec<u64> = files.iter().map(|file| file.len).collect();
        assert!(lengths.iter().all(|&length| length < 1 << 20), "{lengths:?}");
        assert_eq!(wal.append(0, 1, b"on it goes", WriteOptions::default())?, 101);
        Ok(())
    }

    #[test]
    fn where_space_is_short_a_rotation_has_that_of_the_segment_it_does_not_use() -> Result<()> {
        let options = WalOptions {
            background: Background::Manual,
            first_segment_bytes: 128 << 10,
            idle_segment_bytes: 128 << 10,
            write_buffer_size: 4 << 20,
            ..WalOptions::default()
        };
        let sim = Sim::new(1);
        let wal = Wal::create(&sim.env(), Path::new("/wal"), options)?;
        while wal.inner.state().prepared.is_none() {
            wal.append(0, 1, &[7; 8 << 10], WriteOptions::default())?;
            wal.background_step()?;
        }
        // The device is full until something is removed.
        sim.fail_at(sim.operations(), Fault::NoSpace);
        assert!(wal.rotate()?.is_some());
        assert_eq!(wal.inner.state().metrics.prepare_failures, 0);
        assert!(wal.inner.state().discarded.is_empty());
        wal.append(0, 1, b"on it goes", WriteOptions::default())?;
        Ok(())
    }

    /// A record comes while a segment is made that is to follow an empty one, and none after it before that is needed.
    #[test]
    fn a_segment_that_passes_over_one_with_records_is_not_used() -> Result<()> {
        for long in [false, true] {
            let options = WalOptions {
                background: Background::Manual,
                first_segment_bytes: 128 << 10,
                idle_segment_bytes: 128 << 10,
                ..WalOptions::default()
            };
            let env = Sim::new(1).env();
            let wal = Wal::create(&env, Path::new("/wal"), options)?;
            let bytes = if long { 256 << 10 } else { 128 << 10 };
            // What preparing does, with the record between.
            let (number, _) = wal.inner.state().next_segment(bytes);
            let follows = wal.inner.state().end.number;
            wal.append(0, 1, b"first", WriteOptions::default())?;
            let made = wal.inner.make_segment(number, follows, bytes, Takes::Little)?;
            wal.inner.state().prepared = Some(made);
            wal.inner.state().check_prepared();
            if !long {
                wal.rotate()?;
            }
            wal.append(0, 1, &vec![7; bytes / 2], WriteOptions::default())?;
            let dir = wal.writer_dir().ok_or_else(|| crate::Error::InvalidArgument("no directory".into()))?;
            let number = wal.inner.state().active.as_ref().map_or(0, |active| active.handle.number);
            let reader = SegmentReader::open(&env, &segment_path(dir, number))?;
            assert_eq!(reader.and_then(|reader| reader.follows()), Some(1), "segment {number}");
        }
        Ok(())
    }
}
