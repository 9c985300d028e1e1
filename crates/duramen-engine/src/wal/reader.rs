//! Following a segment: one's own or another process's, alive, sealed or recovered.
//!
//! How far may be read? A writer's own reader, and one of a mapped segment, read up to the counter `committed`,
//! which the writer raises after each record. A written segment's memory is not the file, so there the counter
//! `published` tells, which the writer writes to the file after the records; and because a reader may see the
//! kernel copying, a record that does not verify there is one that has not arrived yet. Nothing above the
//! counter is ever touched: the owner cuts the file there when it seals it, and a mapping without a file behind
//! it ends in a SIGBUS. Where the file system cannot map, the bytes below the counter are read into memory first.

use super::arena::settled;
use super::format::{
    COMMITTED, FIRST_RECORD, FIRST_SEQ, IDENTITY_BYTES, Identity, IdentityError, KIND_CALLER_MAX, KIND_PREV,
    KIND_SEAL, OWN_RECORD_BYTES, PUBLISHED, SEALED, SegmentId, SegmentKind, decode_own, decode_record,
};
use super::loaded::LoadedSegment;
use super::names::{parse_segment_name, parse_writer_dir};
use crate::io::{Env, KeptSegment, Segment};
use crate::{Error, Result};
use std::io::ErrorKind;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A record in a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// Sequence number of the first entry.
    pub seq: u64,
    /// How many sequence numbers it takes.
    pub count: u32,
    /// What it is: the caller's 0..=239.
    pub kind: u8,
    /// What the caller appended.
    pub payload: &'a [u8],
    /// Where the record begins, in bytes from the start of the file.
    pub offset: u64,
    /// Where its payload begins, in bytes from the start of the file.
    pub payload_offset: u32,
}

/// Reads a segment: one's own, another process's, alive or sealed. Share it in an `Arc`: the payloads it
/// gives out live as long as it does, even when the file is removed. All methods may be called from any
/// number of threads.
#[derive(Debug)]
pub struct SegmentReader {
    segment: KeptSegment,
    id: SegmentId,
    path: Option<PathBuf>,
    source: Source,
    from_another_boot: bool,
}

/// What tells how far may be read.
#[derive(Clone, Debug)]
enum Source {
    /// `committed`.
    Memory,
    /// `published`.
    File,
    /// The counter at this offset, in the file, which cannot be mapped.
    Loaded(Arc<LoadedSegment>, usize),
    /// The writer is dead, and a recovery has found out where records are that it offers.
    Recovered(Box<[Range<usize>]>),
}

impl SegmentReader {
    /// Opens a segment by its file. `None` if nothing was ever in it: its writer has not come to the header
    /// yet, or lost power before the header was on the device. A segment from before the machine was started
    /// anew is read up to the first record that does not verify; what is missing between the segments of a
    /// writer, only [`recover`](super::recover) can tell.
    ///
    /// # Errors
    /// [`Error::Corruption`] if its header is not one, or its name is not what the header says;
    /// [`Error::TooNew`]; [`Error::Io`] (see [`Error::is_not_found`]: it may have been flushed meanwhile).
    pub fn open(env: &Env, path: &Path) -> Result<Option<Self>> {
        let mut loaded = None;
        let segment = match env.fs.open_segment(path) {
            Err(e) if e.kind() == ErrorKind::UnexpectedEof => return Ok(None),
            Err(e) if e.kind() == ErrorKind::Unsupported => match LoadedSegment::open(env, path) {
                Err(e) if e.kind() == ErrorKind::UnexpectedEof => return Ok(None),
                other => {
                    let segment = Arc::new(other.map_err(Error::io("read", path))?);
                    loaded = Some(Arc::clone(&segment));
                    segment
                }
            },
            other => other.map_err(Error::io("open", path))?,
        };
        let identity = match read_identity(&*segment, path)? {
            Header::Zeros => return Ok(None),
            Header::Damaged(detail) => return Err(Error::corruption(path, 0, detail)),
            Header::Good(identity) => identity,
        };
        let source = match (&loaded, identity.kind) {
            (Some(loaded), SegmentKind::Mapped) => Source::Loaded(Arc::clone(loaded), COMMITTED),
            (Some(loaded), SegmentKind::Written) => Source::Loaded(Arc::clone(loaded), PUBLISHED),
            (None, SegmentKind::Mapped) => Source::Memory,
            (None, SegmentKind::Written) => Source::File,
        };
        let mut reader = Self {
            segment: KeptSegment::new(segment),
            id: identity.id,
            path: Some(path.to_path_buf()),
            source,
            from_another_boot: false,
        };
        let boot_id = env.clock.boot_id();
        if identity.boot_id != 0 && boot_id != 0 && identity.boot_id != boot_id {
            loaded.map_or(Ok(()), |loaded| loaded.load_all()).map_err(Error::io("read", path))?;
            let records = FIRST_RECORD..reader.end_by_checksums();
            reader.from_another_boot = true;
            reader.source = Source::Recovered(std::iter::once(records).collect());
        }
        Ok(Some(reader))
    }

    /// Whether it was made before this machine was started, or by another machine: its counters are not
    /// believed.
    pub fn is_from_another_boot(&self) -> bool {
        self.from_another_boot
    }

    /// Where the records end, told by their checksums: the machine was started anew, so the writer is dead,
    /// and its counters may be older than its records or newer.
    fn end_by_checksums(&self) -> usize {
        let memory = self.segment.memory();
        let len = memory.len();
        let mut at = FIRST_RECORD.min(len);
        while let Some(bytes) = settled(memory, at..len, len)
            && let Some((header, _)) = decode_record(self.id, bytes)
        {
            at += header.record_len();
            if header.kind == KIND_SEAL {
                break;
            }
        }
        at
    }

    /// For the writer itself.
    pub(super) fn own(segment: Arc<dyn Segment>, id: SegmentId, path: Option<PathBuf>) -> Self {
        Self {
            segment: KeptSegment::new(segment),
            id,
            path,
            source: Source::Memory,
            from_another_boot: false,
        }
    }

    /// For a recovery that knows where the records are, in rising order.
    pub(super) fn recovered(
        segment: Arc<dyn Segment>,
        id: SegmentId,
        path: PathBuf,
        ranges: Vec<Range<usize>>,
    ) -> Self {
        let source = Source::Recovered(ranges.into());
        Self { segment: KeptSegment::new(segment), id, path: Some(path), source, from_another_boot: false }
    }

    /// Whose segment it is.
    pub fn writer_id(&self) -> u64 {
        self.id.writer_id
    }

    /// Its number.
    pub fn number(&self) -> u64 {
        self.id.number
    }

    /// Its file; `None` if the WAL keeps none.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// The sequence number of its first record; `None` while there is none.
    pub fn first_seq(&self) -> Option<u64> {
        let _next_record_tells = self.look();
        if matches!(self.source, Source::Recovered(_)) {
            // The counter may not have survived; the record did.
            return self.next_any(self.start()).ok().flatten().map(|(record, _)| record.seq);
        }
        match self.counter(FIRST_SEQ) {
            0 => None,
            seq => Some(seq),
        }
    }

    /// The number of the segment that the writer had before, if it says so: the records of that one precede these.
    pub fn previous(&self) -> Option<u64> {
        let (record, _) = self.next_any(self.start()).ok().flatten()?;
        let (number, _bytes) = decode_own(record.payload).filter(|_| record.kind == KIND_PREV)?;
        Some(number)
    }

    /// How many bytes of it hold finished records: what may be read. Only grows.
    pub fn committed(&self) -> u64 {
        let _next_record_tells = self.look();
        self.limit() as u64
    }

    /// Reads what the writer has added, where no mapping shows it.
    #[inline]
    fn look(&self) -> Result<()> {
        match &self.source {
            Source::Loaded(segment, limit) => {
                let path = self.path.as_deref().unwrap_or(Path::new("(memory)"));
                segment.follow(*limit).map_err(Error::io("read", path))
            }
            _ => Ok(()),
        }
    }

    /// Whether it has its final length: nothing will be added.
    pub fn is_sealed(&self) -> bool {
        let _next_record_tells = self.look();
        self.seen_sealed()
    }

    #[inline]
    fn seen_sealed(&self) -> bool {
        matches!(self.source, Source::Recovered(_)) || self.counter(SEALED) != 0
    }

    /// The newest segment with records when it was made, 0 for none, if its header says so.
    pub(super) fn follows(&self) -> Option<u64> {
        let memory = self.segment.memory();
        let bytes = settled(memory, 0..IDENTITY_BYTES, memory.len())?;
        Identity::decode(bytes).ok()?.follows()
    }

    /// Whether what is committed ends in a SEAL: then another segment took what came next.
    pub(super) fn ends_in_seal(&self) -> bool {
        let end = self.limit();
        let Some(at) = end.checked_sub(OWN_RECORD_BYTES).filter(|at| *at >= FIRST_RECORD) else {
            return false;
        };
        let last = settled(self.segment.memory(), at..end, end);
        let last = last.and_then(|last| decode_record(self.id, last));
        last.is_some_and(|(header, payload)| {
            header.kind == KIND_SEAL && decode_own(payload).is_some_and(|(bytes, _)| bytes == end as u64)
        })
    }

    /// Where the first record lies: the offset to start [`SegmentReader::next_record`] with.
    pub fn start(&self) -> u64 {
        FIRST_RECORD as u64
    }

    /// The caller's record at or after `offset` (which is [`SegmentReader::start`] or what the call before
    /// returned) and the offset of what follows; `None` if there is none yet, or no more.
    ///
    /// # Errors
    /// [`Error::Corruption`] if the bytes there are not a record, or a sealed segment ends without saying so;
    /// [`Error::Io`] where the segment cannot be mapped, if it cannot be read either.
    pub fn next_record(&self, mut offset: u64) -> Result<Option<(Record<'_>, u64)>> {
        loop {
            match self.next_any(offset)? {
                None => return Ok(None),
                Some((record, next)) if record.kind <= KIND_CALLER_MAX => return Ok(Some((record, next))),
                Some((record, _)) if record.kind == KIND_SEAL => return Ok(None),
                Some((_, next)) => offset = next,
            }
        }
    }

    /// As [`SegmentReader::next_record`], the WAL's own records included.
    pub(super) fn next_any(&self, offset: u64) -> Result<Option<(Record<'_>, u64)>> {
        let mut at = usize::try_from(offset).unwrap_or(usize::MAX);
        // Reading is slow: only for what is not here yet.
        if at >= self.limit() {
            self.look()?;
        }
        // In this order: a segment seen sealed has its final limit.
        let sealed = self.seen_sealed();
        let limit = self.limit();
        if at < FIRST_RECORD {
            return Err(Error::InvalidArgument(format!("no record begins at byte {offset} of a segment")));
        }
        if let Source::Recovered(ranges) = &self.source {
            // Over what is not offered.
            let Some(range) = ranges.iter().find(|range| range.end > at) else { return Ok(None) };
            at = at.max(range.start);
        }
        if at >= limit {
            return match self.source {
                // A sealed segment's reader stops at the SEAL, so it comes here only if that is missing.
                Source::Memory | Source::File | Source::Loaded(..) if sealed => {
                    Err(self.damaged(limit, "sealed, but its end is missing"))
                }
                _ => Ok(None),
            };
        }
        let Some(bytes) = settled(self.segment.memory(), at..limit, limit) else { return Ok(None) };
        let Some((header, payload)) = decode_record(self.id, bytes) else {
            return match self.source {
                Source::File if !sealed => Ok(None),
                _ => Err(self.damaged(at, "the record's checksum is wrong")),
            };
        };
        let record = Record {
            seq: header.seq,
            count: header.count,
            kind: header.kind,
            payload,
            offset: at as u64,
            payload_offset: u32::try_from(at + header.record_len() - payload.len()).unwrap_or(u32::MAX),
        };
        Ok(Some((record, (at + header.record_len()) as u64)))
    }

    /// The `len` bytes at `offset`, unverified, for those who have seen the record before; `None` if they
    /// are not all committed.
    #[inline]
    pub fn bytes(&self, offset: u32, len: u32) -> Option<&[u8]> {
        let start = offset as usize;
        settled(self.segment.memory(), start..start.checked_add(len as usize)?, self.limit())
    }

    /// Everything that is committed from [`SegmentReader::start`] on, unverified: the arena of a memtable.
    #[inline]
    pub(crate) fn settled_records(&self) -> &[u8] {
        let limit = self.limit();
        settled(self.segment.memory(), FIRST_RECORD..limit, limit).unwrap_or_default()
    }

    /// How long the segment can get, in bytes.
    pub(crate) fn capacity(&self) -> usize {
        self.segment.memory().len()
    }

    #[inline]
    fn limit(&self) -> usize {
        let limit = match &self.source {
            Source::Memory => self.counter(COMMITTED),
            Source::File => self.counter(PUBLISHED),
            Source::Loaded(_, counter) => self.counter(*counter),
            Source::Recovered(ranges) => ranges.last().map_or(0, |last| last.end as u64),
        };
        usize::try_from(limit).unwrap_or(usize::MAX).min(self.segment.memory().len())
    }

    #[inline]
    fn counter(&self, offset: usize) -> u64 {
        let counter = self.segment.memory().counter(offset);
        let mut value = counter.load(Ordering::Acquire);
        if matches!(self.source, Source::File) {
            // The kernel copies the word into the page, byte by byte if it likes: believe what was seen twice.
            loop {
                let again = counter.load(Ordering::Acquire);
                if again == value {
                    break;
                }
                value = again;
            }
        }
        value
    }

    fn damaged(&self, offset: usize, detail: &str) -> Error {
        Error::corruption(self.path.as_deref().unwrap_or(Path::new("(memory)")), offset as u64, detail)
    }
}

/// What the first bytes of a segment's file are.
pub(super) enum Header {
    /// Nothing was written yet, or it was lost.
    Zeros,
    /// Something else.
    Damaged(String),
    /// A header, and the file's name agrees with it.
    Good(Identity),
}

/// Reads and checks the header of the segment at `path`; fails only if it is too new.
pub(super) fn read_identity(segment: &dyn Segment, path: &Path) -> Result<Header> {
    let memory = segment.memory();
    let len = memory.len();
    // The identity is written once, before anything counts; whoever sees half of it sees a wrong checksum.
    let bytes = settled(memory, 0..IDENTITY_BYTES.min(len), len).unwrap_or_default();
    if bytes.iter().all(|b| *b == 0) {
        return Ok(Header::Zeros);
    }
    let identity = match Identity::decode(bytes) {
        Ok(identity) => identity,
        Err(IdentityError::Damaged(what)) => return Ok(Header::Damaged(what.into())),
        Err(IdentityError::TooNew(found)) => {
            let supported = super::format::FORMAT_VERSION;
            return Err(Error::TooNew { path: path.to_path_buf(), found, supported });
        }
    };
    if len < FIRST_RECORD {
        return Ok(Header::Damaged("the header is cut short".into()));
    }
    let SegmentId { writer_id, number } = identity.id;
    if parse_segment_name(path) != Some(number) {
        return Ok(Header::Damaged(format!("the header says segment {number}, the file's name does not")));
    }
    match path.parent().and_then(parse_writer_dir) {
        Some(named) if named != writer_id => Ok(Header::Damaged(format!(
            "the header says writer {writer_id:016x}, the directory {named:016x}"
        ))),
        _ => Ok(Header::Good(identity)),
    }
}
