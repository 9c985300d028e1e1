//! One segment, made and remembered.

use super::Inner;
use super::state::Prepared;
use crate::io::Segment;
use crate::wal::anonymous::AnonymousSegment;
use crate::wal::arena::Tail;
use crate::wal::format::{FIRST_RECORD, IDENTITY_BYTES, Identity, SegmentId, SegmentKind};
use crate::wal::names::segment_path;
use crate::wal::options::{Durability, WalKind};
use crate::wal::reader::SegmentReader;
use crate::{Error, Result};
use std::io::ErrorKind;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// A segment as its writer knows it.
#[derive(Debug)]
pub(super) struct Handle {
    pub(super) id: SegmentId,
    pub(super) number: u64,
    pub(super) segment: Arc<dyn Segment>,
    /// Whether its memory is the file.
    pub(super) mapped: bool,
    /// `None` if it has no file.
    pub(super) path: Option<PathBuf>,
    pub(super) reader: Arc<SegmentReader>,
    /// Whether its name survives a loss of power.
    pub(super) name_synced: AtomicBool,
    /// How many bytes of it are on the device. Moved by who leads a sync.
    pub(super) synced: AtomicU64,
    /// How many bytes of it the kernel has. Moved by who leads a publication.
    pub(super) published: AtomicU64,
}

impl Handle {
    /// Gives memory back, of what the file has.
    pub(super) fn unload(&self, range: Range<usize>) {
        let (mut start, mut end) = (range.start, range.end);
        if !self.mapped {
            // The counters in front of the records change even when it is sealed.
            start = start.max(FIRST_RECORD);
            end = end.min(self.published.load(Ordering::Acquire) as usize);
        }
        if start < end {
            self.segment.unload(start, end - start);
        }
    }
}

/// Where every record is synced, segments are zeros on the device before they are used: then a sync has no
/// metadata to write. Of a writer's first segment only so much is, for somebody waits for that.
const FIRST_ZEROS_BYTES: usize = 4 << 20;

/// How much memory a segment takes from the system when it is made. What is taken then costs a fifth of what is taken
/// later, page by page, but is written to the device, be it used or not, if nothing is done with it for long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Takes {
    /// All of it: it will be full within seconds, and nobody syncs single records.
    All,
    /// What a program writes when it starts, or all that a short-lived one does.
    Start,
    /// Little, for it may be long until more is needed.
    Little,
}

impl Takes {
    /// How much of a segment is ready for its first record when it is made; the rest is made ready ahead of the records.
    fn ready_bytes(self) -> usize {
        match self {
            Self::Start => START_BYTES,
            Self::All | Self::Little => LITTLE_BYTES,
        }
    }
}

/// What a writer's first segment has ready: taking it is half a millisecond.
pub(super) const START_BYTES: usize = 2 << 20;

/// What each later one has ready when it is made, for an append may wait for it.
pub(super) const LITTLE_BYTES: usize = 256 << 10;

/// Larger pieces gain little more, and a system that has run for a while has few of them.
const LARGE_PIECE_BYTES: usize = 256 << 10;

/// Where records may be synced, for a sync writes all of the piece that a record lies in: no slower than a page.
const SMALL_PIECE_BYTES: usize = 32 << 10;

impl Inner {
    /// Makes a segment of `bytes`, ready for its first record. All the work is here, so that making it active
    /// is none. If it fails, nothing is left of it.
    /// `follows` is the newest segment with records, 0 for none.
    pub(super) fn make_segment(
        &self,
        number: u64,
        follows: u64,
        bytes: usize,
        takes: Takes,
    ) -> Result<Prepared> {
        let path = self.dir.as_deref().map(|dir| segment_path(dir, number));
        let made = self.try_make_segment(number, follows, bytes, path.as_deref(), takes);
        if let (Err(_), Some(path)) = (&made, &path) {
            let _best_effort = self.env.fs.remove_file(path);
        }
        made
    }

    fn try_make_segment(
        &self,
        number: u64,
        follows: u64,
        bytes: usize,
        path: Option<&Path>,
        takes: Takes,
    ) -> Result<Prepared> {
        let segment = match path {
            None => Arc::new(AnonymousSegment::new(bytes).map_err(Error::io("allocate", "a WAL segment"))?),
            Some(path) => self.create_file(path, bytes)?,
        };
        let id = SegmentId { writer_id: self.writer_id, number };
        let kind = if segment.is_mapped() { SegmentKind::Mapped } else { SegmentKind::Written };
        match (path, self.options.durability) {
            (Some(path), Durability::Sync) => {
                let len = if number == 1 { bytes.min(FIRST_ZEROS_BYTES) } else { bytes };
                segment.sync_zeros(len).map_err(Error::io("sync", path))?;
            }
            _ => match takes {
                Takes::All => segment.fill(bytes, LARGE_PIECE_BYTES),
                Takes::Start | Takes::Little => segment.fill(takes.ready_bytes(), SMALL_PIECE_BYTES),
            },
        }
        segment.prefault(0, takes.ready_bytes());
        let boot_id = self.env.clock.boot_id();
        let identity = Identity {
            id,
            kind,
            capacity: bytes as u64,
            boot_id,
            log_first_seq: self.options.first_seq,
            behind: u32::try_from(number.saturating_sub(follows)).unwrap_or(0),
        };
        let tail = Tail::start(Arc::clone(&segment), &identity.encode());
        let mut named = path.is_none();
        if let (Some(path), Some(dir)) = (path, &self.dir) {
            segment.publish(0, IDENTITY_BYTES).map_err(Error::io("write header of", path))?;
            if self.wants_sync_early() {
                // Records will have to be durable soon: spare them the wait for what can be done now.
                segment.sync(0, FIRST_RECORD).map_err(Error::io("sync", path))?;
                self.sync_parents(dir)?;
                self.env.fs.sync_dir(dir).map_err(Error::io("sync directory", dir))?;
                named = true;
            }
        }
        let path = path.map(Path::to_path_buf);
        let reader = Arc::new(SegmentReader::own(Arc::clone(&segment), id, path.clone()));
        let handle = Handle {
            id,
            number,
            mapped: segment.is_mapped(),
            segment,
            path,
            reader,
            name_synced: AtomicBool::new(named),
            synced: AtomicU64::new(0),
            published: AtomicU64::new(0),
        };
        Ok(Prepared { handle: Arc::new(handle), follows, tail, prefaulted: takes.ready_bytes() })
    }

    fn create_file(&self, path: &Path, bytes: usize) -> Result<Arc<dyn Segment>> {
        let fs = &self.env.fs;
        if self.options.wal_kind == WalKind::Mmap && !self.unmapped.load(Ordering::Relaxed) {
            match fs.create_segment(path, bytes) {
                Err(e) if e.kind() == ErrorKind::Unsupported => {
                    // This file system will not learn it: write from now on.
                    self.unmapped.store(true, Ordering::Relaxed);
                    let _best_effort = fs.remove_file(path);
                }
                other => return other.map_err(Error::io("create", path)),
            }
        }
        fs.create_unmapped_segment(path, bytes).map_err(Error::io("create", path))
    }
}
