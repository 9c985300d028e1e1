//! Reading a file's frames, from front to back, in chunks.

use super::format::{FRAME_BYTES, FrameHeader, Identity, verifies};
use crate::io::File;
use crate::kv::Op;
use crate::{Error, Result};
use std::path::Path;

/// How much is read at once. A longer frame is read whole.
const CHUNK_BYTES: u64 = 64 << 10;

/// A frame whose checksum holds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame<'a> {
    /// Where it begins in the file.
    pub(super) at: u64,
    pub(super) header: FrameHeader,
    pub(super) payload: &'a [u8],
}

/// What comes next.
#[derive(Debug)]
pub(super) enum Step<'a> {
    Frame(Frame<'a>),
    /// Nothing.
    End,
    /// Something that is no frame, and why.
    Bad(&'static str),
}

/// Goes through the frames of a stretch of a file.
#[derive(Debug)]
pub(super) struct Frames<'f> {
    file: &'f dyn File,
    path: &'f Path,
    identity: Identity,
    buf: Vec<u8>,
    /// How much of `buf` was read.
    filled: usize,
    /// Where in `buf` the next frame begins.
    next: usize,
    /// Where in the file that is.
    at: u64,
    end: u64,
}

impl<'f> Frames<'f> {
    /// From `at`, where one begins, up to `end`, which is not beyond the file's end.
    pub(super) fn new(file: &'f dyn File, path: &'f Path, identity: Identity, at: u64, end: u64) -> Self {
        Self { file, path, identity, buf: Vec::new(), filled: 0, next: 0, at, end }
    }

    /// Where the next frame begins.
    pub(super) fn position(&self) -> u64 {
        self.at
    }

    /// The next frame. After a bad one it stays where it is, and reads anew when asked again.
    pub(super) fn step(&mut self) -> Result<Step<'_>> {
        if self.at >= self.end {
            return Ok(Step::End);
        }
        match self.frame_bytes()? {
            Ok((header, len)) => {
                let (at, start) = (self.at, self.next);
                self.next += len;
                self.at += len as u64;
                let payload = &self.buf[start + FRAME_BYTES..start + len];
                Ok(Step::Frame(Frame { at, header, payload }))
            }
            Err(why) => {
                (self.filled, self.next) = (0, 0);
                Ok(Step::Bad(why))
            }
        }
    }

    /// The next frame of a stretch that is known to be whole; `None` at its end.
    #[inline]
    pub(super) fn next(&mut self) -> Result<Option<Frame<'_>>> {
        let path = self.path;
        let at = self.at;
        match self.step()? {
            Step::Frame(frame) => Ok(Some(frame)),
            Step::End => Ok(None),
            Step::Bad(why) => Err(Error::corruption(path, at, why)),
        }
    }

    fn frame_bytes(&mut self) -> Result<Result<(FrameHeader, usize), &'static str>> {
        if !self.have(FRAME_BYTES)? {
            return Ok(Err("a frame is cut short"));
        }
        let Some(header) = FrameHeader::peek(&self.buf[self.next..self.filled]) else {
            return Ok(Err("there is no frame"));
        };
        let len = FRAME_BYTES + header.len;
        if !self.have(len)? {
            return Ok(Err("a frame is longer than the file"));
        }
        if !verifies(&self.buf[self.next..self.next + len], self.identity) {
            return Ok(Err("a frame's checksum does not match"));
        }
        Ok(Ok((header, len)))
    }

    /// Reads until `len` bytes of the next frame are there, if the stretch has so many.
    fn have(&mut self, len: usize) -> Result<bool> {
        let have = self.filled - self.next;
        if have >= len {
            return Ok(true);
        }
        if (self.end - self.at) < len as u64 {
            return Ok(false);
        }
        self.buf.copy_within(self.next..self.filled, 0);
        (self.filled, self.next) = (have, 0);
        let wanted = CHUNK_BYTES.max(len as u64).min(self.end - self.at) as usize;
        if self.buf.len() < wanted {
            self.buf.resize(wanted, 0);
        }
        let read = self.file.read_exact_at(&mut self.buf[have..wanted], self.at + have as u64);
        read.map_err(Error::io("read", self.path))?;
        self.filled = wanted;
        Ok(true)
    }
}

/// An op, and where it lies in the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpAt<'a> {
    pub(super) at: u64,
    pub(super) len: u64,
    pub(super) op: Op<'a>,
}

/// The ops of a payload, one after the other. Checksums hold, so nonsense is not the disk's doing, but it must not
/// pass for less than there is. Says how many there were.
pub(super) fn each_op<'a>(
    path: &Path,
    frame: &Frame<'a>,
    mut visit: impl FnMut(&OpAt<'a>) -> Result<()>,
) -> Result<u64> {
    let mut rest = frame.payload;
    let mut at = frame.at + FRAME_BYTES as u64;
    let mut count = 0;
    while !rest.is_empty() {
        let Some((op, len)) = Op::decode(rest) else {
            return Err(Error::corruption(path, frame.at, "a frame's payload is not a batch"));
        };
        visit(&OpAt { at, len: len as u64, op })?;
        count += 1;
        at += len as u64;
        rest = &rest[len..];
    }
    Ok(count)
}
