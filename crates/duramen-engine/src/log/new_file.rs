//! Writing a whole file under another name: it gets its own when it is complete and synced.

use super::View;
use super::format::{FRAME_BYTES, FrameHeader, HEADER_BYTES, Header, Identity, Kind};
use super::frames::Frames;
use crate::io::{Env, File, OpenMode};
use crate::kv::{Op, put_op};
use crate::{Error, Result};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Base frames are about so long: a damaged one costs no more than that, and a reader's chunk holds one.
const BASE_PAYLOAD_BYTES: usize = 32 << 10;
/// How much is written at once.
const BUFFER_BYTES: usize = 512 << 10;

/// A file that is being written. Dropped before it has its name, it is removed.
#[derive(Debug)]
pub(super) struct NewFile<'a> {
    env: &'a Env,
    path: PathBuf,
    file: Arc<dyn File>,
    identity: Identity,
    /// Where `buf` goes.
    at: u64,
    buf: Vec<u8>,
    /// A base frame's payload.
    base: Vec<u8>,
    named: bool,
}

impl<'a> NewFile<'a> {
    /// In place of whatever has this name.
    pub(super) fn create(env: &'a Env, path: PathBuf, identity: Identity) -> Result<Self> {
        remove_if_there(env, &path)?;
        let file = env.fs.open(&path, OpenMode::CreateNew).map_err(Error::io("create", &path))?;
        let buf = vec![0; HEADER_BYTES];
        Ok(Self { env, path, file, identity, at: 0, buf, base: Vec::new(), named: false })
    }

    /// Where the next frame will begin.
    pub(super) fn end(&self) -> u64 {
        self.at + self.buf.len() as u64
    }

    pub(super) fn file(&self) -> &Arc<dyn File> {
        &self.file
    }

    /// Adds an op to the base frames that say what there is up to `seq`.
    pub(super) fn base_op(&mut self, op: &Op<'_>, seq: u64) -> Result<()> {
        put_op(&mut self.base, op.kind, op.key, op.value);
        if self.base.len() >= BASE_PAYLOAD_BYTES { self.end_base(seq) } else { Ok(()) }
    }

    /// No more ops with this `seq` come.
    pub(super) fn end_base(&mut self, seq: u64) -> Result<()> {
        if self.base.is_empty() {
            return Ok(());
        }
        let payload = std::mem::take(&mut self.base);
        self.frame(Kind::Base, seq, &payload)?;
        self.base = payload;
        self.base.clear();
        Ok(())
    }

    /// Adds a frame.
    pub(super) fn frame(&mut self, kind: Kind, seq: u64, payload: &[u8]) -> Result<()> {
        let start = self.buf.len();
        // By the time that the file has its name, all of it is on the device.
        let header = FrameHeader::new(kind, seq, payload.len(), self.end(), self.end());
        self.buf.resize(start + FRAME_BYTES, 0);
        self.buf.extend_from_slice(payload);
        header.put(&mut self.buf[start..], crc32c::crc32c(payload), self.identity);
        if self.buf.len() >= BUFFER_BYTES { self.write_buffer() } else { Ok(()) }
    }

    /// Adds the frames of another file from `from` on.
    pub(super) fn copy(&mut self, view: &View, path: &Path, from: u64) -> Result<()> {
        let mut frames = Frames::new(&*view.file, path, view.identity, from, view.end);
        while let Some(frame) = frames.next()? {
            self.frame(frame.header.kind, frame.header.seq, frame.payload)?;
        }
        Ok(())
    }

    /// Hands what is there so far to the kernel.
    pub(super) fn write_buffer(&mut self) -> Result<()> {
        self.file.write_all_at(&self.buf, self.at).map_err(Error::io("write", &self.path))?;
        self.at += self.buf.len() as u64;
        self.buf.clear();
        self.buf.shrink_to(2 * BUFFER_BYTES);
        Ok(())
    }

    /// Brings what is there so far to the device, so that less is left for the end.
    pub(super) fn sync(&mut self) -> Result<()> {
        self.write_buffer()?;
        self.file.sync_data().map_err(Error::io("sync", &self.path))
    }

    /// Completes and syncs it. What it is called is the caller's to see to, see [`NewFile::keep`].
    pub(super) fn finish(&mut self, base: (u64, u64), next_seq: u64, boot: u64) -> Result<u64> {
        let end = self.end();
        self.frame(Kind::Mark, next_seq, &[])?;
        self.write_buffer()?;
        let header = Header { identity: self.identity, base_end: base.0, base_seq: base.1, boot };
        self.file.write_all_at(&header.encode(), 0).map_err(Error::io("write", &self.path))?;
        self.file.sync_data().map_err(Error::io("sync", &self.path))?;
        Ok(end)
    }

    /// It has its name now.
    pub(super) fn keep(mut self) {
        self.named = true;
    }
}

impl Drop for NewFile<'_> {
    fn drop(&mut self) {
        if !self.named {
            let _the_next_opening_removes_it = self.env.fs.remove_file(&self.path);
        }
    }
}

/// Removes a file that may not be there.
pub(super) fn remove_if_there(env: &Env, path: &Path) -> Result<()> {
    match env.fs.remove_file(path) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(Error::io("remove", path)(e)),
        _ => Ok(()),
    }
}
