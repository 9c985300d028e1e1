//! One segment of a dead writer, as its file is.

use super::scan::{Scan, scan};
use crate::io::{Env, Segment};
use crate::wal::arena::settled;
use crate::wal::format::{
    COMMITTED, FIRST_RECORD, FIRST_SEQ, IDENTITY_BYTES, PUBLISHED, SEALED, SYNCED, SegmentId, SegmentKind,
};
use crate::wal::loaded::LoadedSegment;
use crate::wal::names::SegmentFile;
use crate::wal::reader::{Header, SegmentReader, read_identity};
use crate::{Error, Result};
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// One segment of a dead writer, as its file is.
pub(super) struct Loaded {
    pub(super) file: SegmentFile,
    pub(super) id: SegmentId,
    segment: Option<Arc<dyn Segment>>,
    pub(super) scan: Scan,
    /// What is wrong with the header.
    pub(super) bad_header: Option<String>,
    /// How many bytes were on the device, as far as the header tells.
    pub(super) synced: u64,
    /// Up to where the writer had finished records, if that proves that they were there: 0 after the machine was started
    /// anew. Until then whatever a process has put into a mapping or handed to the kernel outlives it.
    pub(super) finished: u64,
    /// The sequence number of the writer's very first record, if the header can be read.
    pub(super) log_first_seq: Option<u64>,
    /// The newest segment with records when it was made, if the header says so.
    pub(super) follows: Option<u64>,
}

impl Loaded {
    /// Reads the file. `None` if it is gone.
    pub(super) fn load(env: &Env, writer_id: u64, file: SegmentFile) -> Result<Option<Self>> {
        let id = SegmentId { writer_id, number: file.number };
        let segment = match open(env, &file.path) {
            Ok(segment) => Some(segment),
            Err(e) if e.kind() == ErrorKind::UnexpectedEof => None,
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(Error::io("open", &file.path)(e)),
        };
        let mut loaded = Self {
            file,
            id,
            segment: None,
            scan: Scan { content_end: FIRST_RECORD, ..Scan::default() },
            bad_header: None,
            synced: 0,
            finished: 0,
            log_first_seq: None,
            follows: None,
        };
        let Some(segment) = segment else { return Ok(Some(loaded)) };
        let memory = segment.memory();
        match read_identity(&*segment, &loaded.file.path)? {
            Header::Zeros => {}
            Header::Damaged(detail) => loaded.bad_header = Some(detail),
            Header::Good(identity) => {
                loaded.synced = memory.counter(SYNCED).load(Ordering::Acquire);
                let boot = env.clock.boot_id();
                if boot != 0 && identity.boot_id == boot {
                    let counter = match identity.kind {
                        SegmentKind::Mapped => COMMITTED,
                        SegmentKind::Written => PUBLISHED,
                    };
                    loaded.finished = memory.counter(counter).load(Ordering::Acquire);
                }
                loaded.log_first_seq = Some(identity.log_first_seq);
                loaded.follows = identity.follows();
            }
        }
        let bytes = settled(memory, 0..memory.len(), memory.len()).unwrap_or_default();
        if loaded.log_first_seq.is_some() && !is_zero_between_counters(bytes) {
            loaded.bad_header = Some("the header has something else where zeros belong".into());
        }
        loaded.scan = scan(id, bytes);
        loaded.segment = Some(segment);
        Ok(Some(loaded))
    }

    /// Whether anything was ever written behind the header.
    pub(super) fn has_content(&self) -> bool {
        self.scan.content_end > FIRST_RECORD
    }

    /// A reader of the records in `ranges`.
    pub(super) fn reader(&self, ranges: Vec<Range<usize>>) -> Option<Arc<SegmentReader>> {
        let segment = Arc::clone(self.segment.as_ref()?);
        Some(Arc::new(SegmentReader::recovered(segment, self.id, self.file.path.clone(), ranges)))
    }
}

/// Whether there is nothing in the header but what belongs there. Whatever wrote there may have hit the counters, too, which
/// no checksum covers.
fn is_zero_between_counters(segment: &[u8]) -> bool {
    let counters = [FIRST_SEQ, COMMITTED, SEALED, SYNCED, PUBLISHED];
    let is_counter = |at: usize| counters.iter().any(|counter| (*counter..*counter + 8).contains(&at));
    let header = segment.iter().enumerate().take(FIRST_RECORD).skip(IDENTITY_BYTES);
    header.filter(|(_, byte)| **byte != 0).all(|(at, _)| is_counter(at))
}

/// The segment, mapped where the file system can, and otherwise read.
fn open(env: &Env, path: &Path) -> io::Result<Arc<dyn Segment>> {
    match env.fs.open_segment(path) {
        Err(e) if e.kind() == ErrorKind::Unsupported => {
            let segment = LoadedSegment::open(env, path)?;
            segment.load_all()?;
            Ok(Arc::new(segment))
        }
        other => other,
    }
}
