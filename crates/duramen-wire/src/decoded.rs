//! What comes out of a decoder: entries in batches, and what was wrong with the rows that are not among them.

use crate::error::{Error, Result};
use crate::treatment::Treatment;
use duramen::{Batch, EntryBuf, EntryRef};

/// How many rejected rows are described; the others are counted.
pub const REJECTIONS_KEPT: usize = 16;

/// The most bytes of memory that are kept for the next body.
const SPARE_BYTES: usize = 4 << 20;

/// The same, while nothing comes.
const RESTING_BYTES: usize = 16 << 10;

/// The limits of decoders. The server keeps that of a body's size, after decompression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most bytes of a line, or of a record as it is sent; a longer one is rejected, and nothing is cut.
    /// Default 256 KiB; the most a store takes is [`duramen::entry::MAX_ENTRY_BYTES`].
    pub max_line_bytes: usize,
    /// The most bytes that the entries of one body may take together. Labels are sent once and are in each entry, so
    /// that a small body can mean a lot. Default 128 MiB.
    pub max_entries_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_line_bytes: 256 << 10, max_entries_bytes: 128 << 20 }
    }
}

/// What comes out of a decoder. Make one, give it to decoders, append its batches, [`clear`](Self::clear) it: its
/// memory is kept. After an error of a decoder its batches hold some of the body's entries; forget them, too.
#[derive(Debug, Default)]
pub struct Decoded {
    batches: Vec<Batch>,
    spare: Vec<Batch>,
    limits: Limits,
    accepted: u64,
    entries_bytes: usize,
    rejected: Rejected,
    treatment: Treatment,
    /// The entry without colours.
    plain: EntryBuf,
}

/// The rows of a body that made no entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rejected {
    /// How many.
    pub count: u64,
    /// The first [`REJECTIONS_KEPT`] of them.
    pub first: Vec<Rejection>,
}

/// A row that made no entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// Which row of the body, from 0, as its protocol counts them.
    pub index: u64,
    /// What is wrong with it.
    pub reason: String,
}

impl std::fmt::Display for Rejected {
    /// `row 3: not a JSON object: …; row 7: …; and 5 more`, for replies. Empty if there are none.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (i, Rejection { index, reason }) in self.first.iter().enumerate() {
            write!(f, "{}row {index}: {reason}", if i == 0 { "" } else { "; " })?;
        }
        match self.count.saturating_sub(self.first.len() as u64) {
            0 => Ok(()),
            more => write!(f, "; and {more} more"),
        }
    }
}

impl Decoded {
    /// Nothing yet.
    pub fn new(limits: Limits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// Has this done with each entry from now on, whatever body it is of.
    pub fn treat(&mut self, treatment: Treatment) {
        self.treatment = treatment;
    }

    /// The limits that decoders keep.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The entries, in order: one batch, or more if they are more than one takes. Append each with
    /// [`duramen::Store::append_batch`]; what is not appended is gone with the next [`clear`](Self::clear).
    pub fn batches(&mut self) -> &mut [Batch] {
        &mut self.batches
    }

    /// How many entries there are.
    pub fn accepted(&self) -> u64 {
        self.accepted
    }

    /// The rows that made no entry.
    pub fn rejected(&self) -> &Rejected {
        &self.rejected
    }

    /// How many bytes the entries take.
    pub fn entries_bytes(&self) -> usize {
        self.entries_bytes
    }

    /// Forgets everything and keeps some of the memory: that of one batch, 4 MiB at most.
    pub fn clear(&mut self) {
        // One batch is the usual case; the memory of a giant is given back.
        self.spare.extend(self.batches.drain(..).take(1));
        self.spare.retain(|batch| batch.capacity_bytes() <= SPARE_BYTES);
        self.spare.truncate(1);
        for batch in &mut self.spare {
            batch.clear();
        }
        self.accepted = 0;
        self.entries_bytes = 0;
        self.rejected.count = 0;
        self.rejected.first.clear();
    }

    /// Gives memory back that it only keeps for bodies to come, but for what small ones take.
    pub fn rest(&mut self) {
        self.spare.retain(|batch| batch.capacity_bytes() <= RESTING_BYTES);
    }

    /// The index of the row that is being read.
    pub(crate) fn row(&self) -> u64 {
        self.accepted + self.rejected.count
    }

    /// Rejects a row of so many bytes for its length.
    pub fn reject_too_long(&mut self, bytes: usize) {
        let max_line_bytes = self.limits.max_line_bytes;
        self.reject(|| TooLong { bytes, max_line_bytes }.to_string());
    }

    /// Why a row of so many bytes is too long, if it is.
    pub(crate) fn check_line(&self, bytes: usize) -> Result<(), TooLong> {
        let max_line_bytes = self.limits.max_line_bytes;
        if bytes > max_line_bytes { Err(TooLong { bytes, max_line_bytes }) } else { Ok(()) }
    }

    /// Takes the entry that `entry` holds, or rejects it if it is over a limit of the store; says which.
    ///
    /// # Errors
    /// [`Error::Limit`] if all entries together are over [`Limits::max_entries_bytes`].
    pub(crate) fn take(&mut self, entry: &mut EntryBuf) -> Result<Result<(), String>> {
        let bytes = match entry.finish() {
            Ok(bytes) => bytes,
            Err(e) => {
                let reason = e.to_string();
                self.reject(|| reason.clone());
                return Ok(Err(reason));
            }
        };
        let bytes = match self.treatment.decolorize(bytes, &mut self.plain) {
            true => self.plain.finish().unwrap_or(bytes),
            false => bytes,
        };
        self.entries_bytes += bytes.len();
        if self.entries_bytes > self.limits.max_entries_bytes {
            return Err(Error::Limit {
                name: "max_entries_bytes",
                limit: self.limits.max_entries_bytes,
                detail: "the entries that the body means take more bytes; send fewer at a time".into(),
            });
        }
        if let Some(show) = self.treatment.shown_to {
            if let Ok(entry) = EntryRef::decode(bytes) {
                show(&entry);
            }
            self.accepted += 1;
            return Ok(Ok(()));
        }
        if self.batches.last_mut().is_none_or(|batch| batch.push_unchecked(bytes).is_err()) {
            let mut batch = self.spare.pop().unwrap_or_default();
            if let Err(e) = batch.push_unchecked(bytes) {
                let reason = e.to_string();
                self.reject(|| reason.clone());
                return Ok(Err(reason));
            }
            self.batches.push(batch);
        }
        self.accepted += 1;
        Ok(Ok(()))
    }

    /// Counts a row as rejected: for decoders, and for whoever cuts rows out of a stream and finds one wrong.
    pub fn reject(&mut self, reason: impl FnOnce() -> String) {
        if self.rejected.first.len() < REJECTIONS_KEPT {
            self.rejected.first.push(Rejection { index: self.row(), reason: reason() });
        }
        self.rejected.count += 1;
    }
}

/// A row over [`Limits::max_line_bytes`].
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("it has {bytes} bytes; max_line_bytes is {max_line_bytes}")]
pub(crate) struct TooLong {
    bytes: usize,
    max_line_bytes: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_over_a_batch_begins_another_and_what_is_over_the_limit_is_an_error() {
        let mut out = Decoded::new(Limits { max_entries_bytes: 50 << 20, ..Limits::default() });
        let (mut entry, text) = (EntryBuf::default(), "x".repeat(12 << 20));
        for row in 0..4 {
            assert_eq!(out.take(entry.start(row).message(&text)), Ok(Ok(())));
        }
        assert_eq!(out.batches().iter().map(Batch::len).collect::<Vec<_>>(), [2, 2]);
        assert!(matches!(out.take(&mut entry), Err(Error::Limit { name: "max_entries_bytes", .. })));
        out.clear();
        assert_eq!((out.accepted(), out.batches().len(), out.entries_bytes()), (0, 0, 0));
        assert!(out.spare.is_empty(), "a large batch is not kept");
        assert_eq!(out.take(entry.start(1).message("x")), Ok(Ok(())));
        out.clear();
        assert_eq!(out.spare.len(), 1, "a small one is");
        assert_eq!(out.take(entry.start(1).message("y")), Ok(Ok(())));
        assert_eq!((out.accepted(), out.batches().len()), (1, 1));
        out.clear();
        for (len, kept) in [(10, 1), (100_000, 0)] {
            assert_eq!(out.take(entry.start(1).message(&text[..len])), Ok(Ok(())));
            out.clear();
            out.rest();
            assert_eq!(out.spare.len(), kept);
        }
    }

    #[test]
    fn rejections_are_told_and_counted() {
        let mut out = Decoded::default();
        let mut entry = EntryBuf::default();
        out.take(entry.start(0)).unwrap().unwrap();
        for i in 0..20 {
            out.reject(|| format!("r{i}"));
        }
        let long = "n".repeat(2_000);
        assert!(out.take(entry.start(0).field(&long, 1)).unwrap().is_err());
        assert_eq!(
            (out.accepted(), out.rejected().count, out.rejected().first.len()),
            (1, 21, REJECTIONS_KEPT)
        );
        let told = out.rejected().to_string();
        assert!(told.starts_with("row 1: r0; row 2: r1; ") && told.ends_with("r15; and 5 more"), "{told}");
    }
}
