//! One segment, made and remembered.

use super::Inner;
use super::state::FIRST_PREFAULT_BYTES;
use crate::io::Segment;
use crate::wal::anonymous::AnonymousSegment;
use crate::wal::arena::Tail;
use crate::wal::format::{FIRST_RECORD, IDENTITY_BYTES, Identity, SegmentId, SegmentKind};
use crate::wal::names::segment_path;
use crate::wal::options::{Durability, WalKind};
use crate::wal::reader::SegmentReader;
use crate::{Error, Result};
use std::io::ErrorKind;
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

/// Where every record is synced, segments are zeros on the device before they are used: then a sync has no
/// metadata to write. Of a writer's first segment only so much is, for somebody waits for that.
const FIRST_ZEROS_BYTES: usize = 4 << 20;

impl Inner {
    /// Makes a segment of `bytes`, ready for its first record. All the work is here, so that making it active
    /// is none. If it fails, nothing is left of it.
    /// `at_once`: its memory is taken at once, for it will be filled soon.
    pub(super) fn make_segment(
        &self,
        number: u64,
        bytes: usize,
        at_once: bool,
    ) -> Result<(Arc<Handle>, Tail)> {
        let path = self.dir.as_deref().map(|dir| segment_path(dir, number));
        let made = self.try_make_segment(number, bytes, path.as_deref(), at_once);
        if let (Err(_), Some(path)) = (&made, &path) {
            let _best_effort = self.env.fs.remove_file(path);
        }
        made
    }

    fn try_make_segment(
        &self,
        number: u64,
        bytes: usize,
        path: Option<&Path>,
        at_once: bool,
    ) -> Result<(Arc<Handle>, Tail)> {
        let segment = match path {
            None => Arc::new(AnonymousSegment::new(bytes).map_err(Error::io("allocate", "a WAL segment"))?),
            Some(path) => self.create_file(path, bytes)?,
        };
        let id = SegmentId { writer_id: self.writer_id, number };
        let kind = if segment.is_mapped() { SegmentKind::Mapped } else { SegmentKind::Written };
        if let (Some(path), Durability::Sync) = (path, self.options.durability) {
            let len = if number == 1 { bytes.min(FIRST_ZEROS_BYTES) } else { bytes };
            segment.sync_zeros(len).map_err(Error::io("sync", path))?;
        }
        if at_once {
            segment.fill();
        }
        segment.prefault(0, FIRST_PREFAULT_BYTES);
        let boot_id = self.env.clock.boot_id();
        let identity =
            Identity { id, kind, capacity: bytes as u64, boot_id, log_first_seq: self.options.first_seq };
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
        Ok((Arc::new(handle), tail))
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
