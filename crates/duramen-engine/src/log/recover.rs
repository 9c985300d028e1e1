//! What a file holds that somebody left, however they left it.
//!
//! Frames are believed by their checksums and their sequence numbers, which leave no gap. The first place where there
//! is no frame to go on with is the end of the log, if nothing speaks against it:
//!
//! - Nothing but an unfinished frame follows, or parts without their batch: a write was cut off. That is the end.
//! - A frame follows, and it, or one after it, says that the bad place was on the device before it was written; or
//!   power was never lost since the file was last opened to write: then something **damaged** the file, which is an
//!   error, and nothing is changed.
//! - A frame follows, and nothing says so: power was lost before anything there was synced, and the device had
//!   written in any order. What is before the hole is a state that once was; it ends there.

use super::format::{FRAME_BYTES, FrameHeader, HEADER_BYTES, Header, Kind, verifies};
use super::frames::{Frame, Frames, Step, each_op};
use crate::io::File;
use crate::{Error, Result};
use std::path::Path;

/// How many times its length a search may checksum. Only bytes made to look like frames come near.
const SEARCH_BUDGET: u64 = 16;
/// How much a search reads at once.
const WINDOW_BYTES: usize = 256 << 10;

/// A log as it was found.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) header: Header,
    /// Where the last visible frame ends.
    pub(super) end: u64,
    /// The next write's sequence number.
    pub(super) next_seq: u64,
    /// Everything before here is known to be on the device.
    pub(super) proven: u64,
    /// Whether a mark follows that is the end of the file: nothing is left to be done.
    pub(super) marked: bool,
    /// The file's length.
    pub(super) file_len: u64,
}

/// Goes through the whole file. `boot` is the present run of the machine. Only reads.
pub(super) fn find(file: &dyn File, path: &Path, boot: u64) -> Result<Found> {
    let file_len = file.len().map_err(Error::io("measure", path))?;
    let mut bytes = [0; HEADER_BYTES];
    let bytes = &mut bytes[..file_len.min(HEADER_BYTES as u64) as usize];
    file.read_exact_at(bytes, 0).map_err(Error::io("read", path))?;
    let header = Header::decode(path, bytes)?;
    if header.base_end > file_len {
        let detail = format!("the file ends here, and its base frames at byte {}", header.base_end);
        return Err(Error::corruption(path, file_len, detail));
    }
    let mut walk = Walk {
        path,
        header,
        end: HEADER_BYTES as u64,
        next_seq: header.base_seq.saturating_add(1),
        parts: 0,
        proven: header.base_end,
        base_seq: 0,
    };
    let mut frames = Frames::new(file, path, header.identity, walk.end, file_len);
    let bad = loop {
        let at = frames.position();
        let went_on = match frames.step()? {
            Step::End => break None,
            Step::Frame(frame) => walk.take(&frame)?,
            Step::Bad(why) => {
                // Read once more: it may have been read wrongly, or while another process wrote it.
                match frames.step()? {
                    Step::Frame(frame) => walk.take(&frame)?,
                    _ if at < header.base_end => return Err(Error::corruption(path, at, why)),
                    _ => break Some((at, why)),
                }
            }
        };
        if !went_on {
            break Some((at, "the log ends here"));
        }
    };
    let marked = walk.proven == walk.end
        && bad.is_some_and(|(at, _)| at == walk.end)
        && frames.position() == file_len
        && file_len == walk.end + FRAME_BYTES as u64;
    if let Some((at, why)) = bad.filter(|_| !marked) {
        let unbroken = header.boot != 0 && header.boot == boot;
        Search { file, path, walk: &walk, bad_at: at, why, unbroken }.refuse_damage(file_len)?;
    }
    Ok(Found { header, end: walk.end, next_seq: walk.next_seq, proven: walk.proven, marked, file_len })
}

/// How far the frames make sense.
#[derive(Debug)]
struct Walk<'a> {
    path: &'a Path,
    header: Header,
    end: u64,
    next_seq: u64,
    /// How many writes wait, in parts, for the batch that makes them visible.
    parts: u64,
    proven: u64,
    base_seq: u64,
}

impl Walk<'_> {
    /// Takes the next frame; `false` if it is the last.
    fn take(&mut self, frame: &Frame<'_>) -> Result<bool> {
        let Frame { at, header, payload } = *frame;
        let after = at + (FRAME_BYTES + payload.len()) as u64;
        let expected = self.next_seq.saturating_add(self.parts);
        let fits = match header.kind {
            Kind::Base => {
                let in_order = (self.base_seq..=self.header.base_seq).contains(&header.seq);
                self.base_seq = header.seq;
                in_order && after <= self.header.base_end
            }
            Kind::Batch | Kind::Part => at >= self.header.base_end && header.seq == expected,
            Kind::Mark => at >= self.header.base_end && header.seq == expected && self.parts == 0,
        };
        if !fits {
            let Header { base_end, base_seq, .. } = self.header;
            let detail = format!(
                "a {:?} frame with sequence number {} cannot follow here: the next is {expected}, base frames end at byte {base_end} with {base_seq}",
                header.kind, header.seq
            );
            return Err(Error::corruption(self.path, at, detail));
        }
        let count = each_op(self.path, frame, |_| Ok(()))?;
        self.proven = self.proven.max(header.synced_through(at));
        match header.kind {
            Kind::Base => self.end = after,
            Kind::Part => self.parts += count,
            Kind::Batch => {
                self.next_seq = expected.saturating_add(count);
                self.parts = 0;
                self.end = after;
            }
            Kind::Mark => self.proven = at,
        }
        Ok(header.kind != Kind::Mark)
    }
}

/// Looks behind a bad place.
struct Search<'a> {
    file: &'a dyn File,
    path: &'a Path,
    walk: &'a Walk<'a>,
    bad_at: u64,
    why: &'static str,
    /// Whether everything that was written must be there, in order.
    unbroken: bool,
}

impl Search<'_> {
    /// Fails if a frame up to `file_len` shows that the bad place was good once.
    fn refuse_damage(&self, file_len: u64) -> Result<()> {
        let mut budget = (file_len - self.bad_at).saturating_mul(SEARCH_BUDGET);
        let mut window = Vec::new();
        let mut at = self.bad_at + 1;
        while at + FRAME_BYTES as u64 <= file_len {
            let len = (file_len - at).min(WINDOW_BYTES as u64) as usize;
            window.resize(len, 0);
            self.file.read_exact_at(&mut window, at).map_err(Error::io("read", self.path))?;
            let candidates = len + 1 - FRAME_BYTES;
            for nth in 0..candidates {
                if let Some(header) = FrameHeader::peek(&window[nth..]) {
                    self.accuses(at + nth as u64, header, file_len, &mut budget)?;
                }
            }
            at += candidates as u64;
        }
        Ok(())
    }

    fn accuses(&self, at: u64, header: FrameHeader, file_len: u64, budget: &mut u64) -> Result<()> {
        let len = (FRAME_BYTES + header.len) as u64;
        // So many writes may lie between; hardly any random bytes are in that range.
        let may_follow = header.kind != Kind::Base
            && header.seq >= self.walk.next_seq
            && header.seq - self.walk.next_seq <= at - self.walk.end;
        let proves = self.unbroken || header.synced_through(at) > self.bad_at;
        if !may_follow || !proves || at + len > file_len || *budget < len {
            return Ok(());
        }
        *budget -= len;
        let mut frame = vec![0; len as usize];
        self.file.read_exact_at(&mut frame, at).map_err(Error::io("read", self.path))?;
        if !verifies(&frame, self.walk.header.identity) {
            return Ok(());
        }
        let detail = format!("{}, but the frame at byte {at} was written after it was whole", self.why);
        Err(Error::corruption(self.path, self.bad_at, detail))
    }
}

/// Makes what was found durable, and the rest of the file go, so that writing can go on behind it.
pub(super) fn settle(file: &dyn File, path: &Path, found: &Found, boot: u64) -> Result<()> {
    if !found.marked {
        if found.file_len > found.end {
            file.set_len(found.end).map_err(Error::io("truncate", path))?;
        }
        // What is not proven may be in the kernel's memory only, and if syncing it has failed before, syncing it
        // again proves nothing (the kernel counts the pages as clean). So it is written once more, as it is.
        let mut chunk = Vec::new();
        let mut at = found.proven;
        while at < found.end {
            chunk.resize((found.end - at).min(WINDOW_BYTES as u64) as usize, 0);
            file.read_exact_at(&mut chunk, at).map_err(Error::io("read", path))?;
            file.write_all_at(&chunk, at).map_err(Error::io("write", path))?;
            at += chunk.len() as u64;
        }
        file.sync_data().map_err(Error::io("sync", path))?;
    }
    // Only now: a hole that a loss of power left is cut, and this run of the machine makes none.
    if found.header.boot != boot {
        let at = super::format::BOOT_AT;
        file.write_all_at(&boot.to_le_bytes(), at).map_err(Error::io("write", path))?;
    }
    Ok(())
}
