//! What is in a log's file, whatever of it is damaged: for verification and repair.
//!
//! Where a frame is damaged, the next one is searched for: first where its own length leads, then byte by byte. What
//! is found carries the store's identity and a sequence number that may follow, under its checksum.

use super::format::{FRAME_BYTES, FrameHeader, HEADER_BYTES, Header, Identity, Kind, ZERO_AT, verifies};
use super::frames::{Frame, Frames, Step, each_op};
use super::whose::of_frames;
use crate::io::File;
use crate::kv::{Damage, Op, Progress};
use crate::{Error, Result};
use std::ops::Range;
use std::path::Path;

/// How many times its length a search may checksum. Only bytes made to look like frames come near.
pub(super) const SEARCH_BUDGET: u64 = 16;
/// How much a search reads at once.
pub(super) const WINDOW_BYTES: usize = 256 << 10;

/// What is in a file.
#[derive(Debug)]
pub(super) struct Survey {
    /// What the header says, or one that does the same to every frame's checksum.
    pub(super) identity: Identity,
    /// Whether the header is whole, and says so.
    pub(super) is_said: bool,
    pub(super) damage: Vec<Damage>,
    /// Frames that do not count: parts without the batch that would make them visible.
    pub(super) hidden: Vec<Range<u64>>,
    /// Stretches of whole frames.
    pub(super) whole: Vec<Range<u64>>,
    /// How many writes can be read.
    pub(super) writes: u64,
    /// The last write's sequence number.
    pub(super) last_seq: u64,
    /// How many bytes at the end are an unfinished write.
    pub(super) torn_bytes: u64,
    pub(super) file_len: u64,
}

/// Goes through a file. Damage is no error.
///
/// # Errors
/// [`Error::TooNew`]; [`Error::Io`]; [`Error::Corruption`] if the header is so damaged that nothing can be believed.
pub(super) fn survey(file: &dyn File, path: &Path, progress: &mut dyn FnMut(Progress)) -> Result<Survey> {
    let file_len = file.len().map_err(Error::io("measure", path))?;
    let mut bytes = [0; HEADER_BYTES];
    let bytes = &mut bytes[..file_len.min(HEADER_BYTES as u64) as usize];
    file.read_exact_at(bytes, 0).map_err(Error::io("read", path))?;
    let mut damage = Vec::new();
    let (identity, base) = match Header::decode(path, bytes) {
        Ok(header) => {
            damage.extend(not_zero(path, bytes));
            (header.identity, Some((header.base_end, header.base_seq)))
        }
        Err(error) if error.is_corruption() => {
            let identity = guess_identity(file, path, bytes, file_len)?.ok_or_else(|| error_of(&error))?;
            damage.push(Damage { entries: Some(0), ..Damage::of_error(path, &error) });
            (identity, None)
        }
        Err(error) => return Err(error),
    };
    let mut walk = Walk {
        file,
        path,
        found: Survey {
            identity,
            is_said: base.is_some(),
            damage,
            hidden: Vec::new(),
            whole: Vec::new(),
            writes: 0,
            last_seq: base.map_or(0, |(_, seq)| seq),
            torn_bytes: 0,
            file_len,
        },
        base_end: base.map_or(0, |(end, _)| end),
        next_seq: base.map(|(_, seq)| seq.saturating_add(1)),
        parts: Vec::new(),
        waiting: 0,
    };
    walk.run(progress)?;
    Ok(walk.found)
}

/// The end of the header, if anything is there.
fn not_zero(path: &Path, header: &[u8]) -> Option<Damage> {
    let rest = header.get(ZERO_AT..).filter(|rest| rest.iter().any(|byte| *byte != 0))?;
    let detail = "the header ends in zeros, and here something else is".to_owned();
    let (offset, bytes) = (Some(ZERO_AT as u64), Some(rest.len() as u64));
    Some(Damage { path: path.to_path_buf(), offset, bytes, keys: None, entries: Some(0), detail })
}

fn error_of(error: &Error) -> Error {
    match error {
        Error::Corruption { path, offset, detail } => Error::corruption(path, *offset, detail),
        other => Error::InvalidArgument(other.to_string()),
    }
}

/// The identity that the first frame confirms: the header's, or that with one bit turned; or what frames agree on.
fn guess_identity(file: &dyn File, path: &Path, header: &[u8], file_len: u64) -> Result<Option<Identity>> {
    let u64_at = |at: usize| header.get(at..at + 8).and_then(|b| b.try_into().ok()).map(u64::from_le_bytes);
    let (Some(store_id), Some(generation)) = (u64_at(12), u64_at(20)) else { return Ok(None) };
    let Some(frame) = raw_frame(file, path, HEADER_BYTES as u64, file_len)? else {
        return of_frames(file, path, file_len);
    };
    let turned = (0..64).flat_map(|bit| {
        [
            Identity { store_id: store_id ^ (1 << bit), generation },
            Identity { store_id, generation: generation ^ (1 << bit) },
        ]
    });
    let mut candidates = std::iter::once(Identity { store_id, generation }).chain(turned);
    match candidates.find(|identity| verifies(&frame, *identity)) {
        None => of_frames(file, path, file_len),
        found => Ok(found),
    }
}

/// The bytes of what may be a frame, unverified.
pub(super) fn raw_frame(file: &dyn File, path: &Path, at: u64, file_len: u64) -> Result<Option<Vec<u8>>> {
    let mut head = [0; FRAME_BYTES];
    if at + FRAME_BYTES as u64 > file_len {
        return Ok(None);
    }
    file.read_exact_at(&mut head, at).map_err(Error::io("read", path))?;
    let Some(header) = FrameHeader::peek(&head) else { return Ok(None) };
    if at + (FRAME_BYTES + header.len) as u64 > file_len {
        return Ok(None);
    }
    let mut frame = vec![0; FRAME_BYTES + header.len];
    file.read_exact_at(&mut frame, at).map_err(Error::io("read", path))?;
    Ok(Some(frame))
}

struct Walk<'a> {
    file: &'a dyn File,
    path: &'a Path,
    found: Survey,
    /// 0 if that is not known.
    base_end: u64,
    /// The next write's sequence number, if it is known.
    next_seq: Option<u64>,
    /// Parts that wait for their batch, and how many writes they hold.
    parts: Vec<Range<u64>>,
    waiting: u64,
}

impl Walk<'_> {
    fn run(&mut self, progress: &mut dyn FnMut(Progress)) -> Result<()> {
        let file_len = self.found.file_len;
        let mut start = HEADER_BYTES as u64;
        let mut frames = Frames::new(self.file, self.path, self.found.identity, start, file_len);
        loop {
            let at = frames.position();
            progress(Progress { done_bytes: at, total_bytes: file_len });
            let bad = match frames.step()? {
                Step::End => break self.end_of(start..at),
                Step::Frame(frame) => match self.take(&frame) {
                    Ok(()) => continue,
                    Err(why) => why,
                },
                Step::Bad(why) => why.to_owned(),
            };
            self.end_of(start..at);
            match self.search(at)? {
                Some(next) => {
                    self.lost(at..next, bad);
                    start = next;
                    frames = Frames::new(self.file, self.path, self.found.identity, next, file_len);
                }
                None if at < self.base_end => break self.lost(at..file_len, bad),
                None => break self.found.torn_bytes = file_len - at,
            }
        }
        self.drop_parts();
        progress(Progress { done_bytes: file_len, total_bytes: file_len });
        Ok(())
    }

    fn end_of(&mut self, whole: Range<u64>) {
        if whole.start < whole.end {
            self.found.whole.push(whole);
        }
    }

    fn lost(&mut self, range: Range<u64>, detail: String) {
        self.drop_parts();
        // What follows tells by its sequence number how many writes are missing.
        self.next_seq = None;
        self.found.damage.push(Damage {
            path: self.path.to_path_buf(),
            offset: Some(range.start),
            bytes: Some(range.end - range.start),
            keys: None,
            entries: None,
            detail,
        });
    }

    /// Parts whose batch did not come never counted.
    fn drop_parts(&mut self) {
        self.found.hidden.append(&mut self.parts);
        self.waiting = 0;
    }

    /// Takes the next frame, or says why it cannot be one.
    fn take(&mut self, frame: &Frame<'_>) -> Result<(), String> {
        let count = each_op(self.path, frame, |_| Ok(())).map_err(|e| e.to_string())?;
        let (at, kind, seq) = (frame.at, frame.header.kind, frame.header.seq);
        if kind == Kind::Base {
            self.found.last_seq = self.found.last_seq.max(seq);
            self.found.writes += count;
            return Ok(());
        }
        let expected = self.next_seq.map(|next| next.saturating_add(self.waiting));
        if let Some(expected) = expected.filter(|expected| seq != *expected) {
            return Err(format!("the frame begins with write {seq} where {expected} should follow"));
        }
        match kind {
            Kind::Part => {
                self.parts.push(at..at + (FRAME_BYTES + frame.payload.len()) as u64);
                self.waiting += count;
                self.next_seq = Some(seq.saturating_sub(self.waiting - count));
            }
            Kind::Batch => {
                let next = seq.saturating_add(count);
                self.found.writes += self.waiting + count;
                self.found.last_seq = next.saturating_sub(1);
                self.next_seq = Some(next);
                self.parts.clear();
                self.waiting = 0;
            }
            Kind::Mark | Kind::Base => self.next_seq = Some(seq),
        }
        Ok(())
    }

    /// Where the next frame begins that may follow what is bad at `bad`.
    fn search(&self, bad: u64) -> Result<Option<u64>> {
        let file_len = self.found.file_len;
        if let Some(frame) = raw_frame(self.file, self.path, bad, file_len)? {
            let next = bad + frame.len() as u64;
            let follows = raw_frame(self.file, self.path, next, file_len)?;
            if follows.is_some_and(|frame| verifies(&frame, self.found.identity)) {
                return Ok(Some(next));
            }
        }
        let mut budget = (file_len - bad).saturating_mul(SEARCH_BUDGET);
        let mut window = Vec::new();
        let mut at = bad + 1;
        while at + FRAME_BYTES as u64 <= file_len {
            let len = (file_len - at).min(WINDOW_BYTES as u64) as usize;
            window.resize(len, 0);
            self.file.read_exact_at(&mut window, at).map_err(Error::io("read", self.path))?;
            let candidates = len + 1 - FRAME_BYTES;
            for nth in 0..candidates {
                let Some(header) = FrameHeader::peek(&window[nth..]) else { continue };
                let (from, bytes) = (at + nth as u64, (FRAME_BYTES + header.len) as u64);
                if from + bytes > file_len || bytes > budget || !self.may_follow(header, from - bad) {
                    continue;
                }
                budget -= bytes;
                let frame = raw_frame(self.file, self.path, from, file_len)?;
                if frame.is_some_and(|frame| verifies(&frame, self.found.identity)) {
                    return Ok(Some(from));
                }
            }
            at += candidates as u64;
        }
        Ok(None)
    }

    /// So many writes may lie in between; hardly any random bytes are in that range.
    fn may_follow(&self, header: FrameHeader, distance: u64) -> bool {
        match (header.kind, self.next_seq) {
            (Kind::Base, _) | (_, None) => true,
            (_, Some(next)) => header.seq >= next && header.seq - next <= distance + self.waiting,
        }
    }
}

impl Survey {
    /// Gives every write that can be read and that counts, in order.
    ///
    /// # Errors
    /// What `visit` says; [`Error::Io`].
    pub(super) fn each_op(
        &self,
        file: &dyn File,
        path: &Path,
        mut visit: impl FnMut(&Op<'_>) -> Result<()>,
    ) -> Result<()> {
        for stretch in &self.whole {
            let mut frames = Frames::new(file, path, self.identity, stretch.start, stretch.end);
            while let Some(frame) = frames.next()? {
                if !self.hidden.iter().any(|hidden| hidden.contains(&frame.at)) {
                    each_op(path, &frame, |op| visit(&op.op))?;
                }
            }
        }
        Ok(())
    }
}
