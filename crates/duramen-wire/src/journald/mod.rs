//! systemd's journal export format, as `systemd-journal-upload` sends it: a stream without end.
//!
//! What is in it, and what becomes of it, is said where it is read: [`duramen_formats::journal`]. `_MACHINE_ID`, `_HOSTNAME` and
//! `_SYSTEMD_UNIT` make the stream.

use crate::decoded::Decoded;
use crate::error::{Error, Result};
use crate::params::Params;
use duramen::EntryBuf;
use duramen_formats::journal::{self, Next};
use duramen_formats::{NameFilter, Names};

const WHAT: &str = "systemd's journal export format";
/// The stream fields, unless others are asked for.
pub const STREAM_FIELDS: [&str; 3] = ["_MACHINE_ID", "_HOSTNAME", "_SYSTEMD_UNIT"];

/// Reads an export in pieces, keeping at most one entry. Can be sent to another thread, not shared.
#[derive(Debug)]
pub struct Export {
    entry: EntryBuf,
    left_out: NameFilter,
    names: Names,
    extra_fields: Vec<(String, String)>,
    buffer: Vec<u8>,
    /// Where in the buffer the entry begins, and where its next field does.
    start: usize,
    at: usize,
    /// How many bytes of an entry that is too long were passed over.
    over: Option<usize>,
    /// So many bytes of a field are yet to be passed over.
    skip: u64,
    /// All bytes up to the next line feed are: they are of a field of text that is too long.
    skip_line: bool,
    /// Bytes of the export before the buffer.
    before: usize,
}

impl Export {
    /// At the start of an export. Of the parameters, `_stream_fields`, `ignore_fields` and `extra_fields` count.
    pub fn new(params: &Params) -> Self {
        Self {
            entry: params.new_entry(&STREAM_FIELDS),
            left_out: params.left_out(),
            names: Names::new(),
            extra_fields: params.rules.extra_fields.clone(),
            buffer: Vec::new(),
            start: 0,
            at: 0,
            over: None,
            skip: 0,
            skip_line: false,
            before: 0,
        }
    }

    /// Takes the next bytes, and every entry that they complete.
    ///
    /// # Errors
    /// [`Error::Malformed`]: what follows cannot be understood; [`Error::Limit`] over
    /// [`crate::Limits::max_entries_bytes`].
    pub fn feed(&mut self, bytes: &[u8], now_ns: i64, out: &mut Decoded) -> Result<()> {
        let skip = self.skipped(bytes);
        self.before += skip;
        self.buffer.extend_from_slice(&bytes[skip..]);
        let outcome = self.entries(now_ns, out);
        let done = if self.over.is_some() { self.at } else { self.start };
        self.buffer.drain(..done);
        self.before += done;
        self.at -= done;
        self.start = 0;
        outcome
    }

    /// How many of the bytes are of a field that is passed over.
    fn skipped(&mut self, bytes: &[u8]) -> usize {
        if !self.skip_line {
            let skip = usize::try_from(self.skip).unwrap_or(usize::MAX).min(bytes.len());
            self.skip -= skip as u64;
            return skip;
        }
        let end = memchr::memchr(b'\n', bytes);
        self.skip_line = end.is_none();
        let skip = end.map_or(bytes.len(), |end| end + 1);
        // Its length is known only when it ends.
        self.over = self.over.map(|over| over.saturating_add(skip));
        skip
    }

    /// Ends the export: its last entry may lack the empty line.
    ///
    /// # Errors
    /// As [`Export::feed`], and if it ends amid a field.
    pub fn finish(&mut self, now_ns: i64, out: &mut Decoded) -> Result<()> {
        if self.buffer.is_empty() && self.over.is_none() && self.skip == 0 {
            return Ok(());
        }
        self.feed(
            match self.buffer.is_empty() && !self.skip_line || self.buffer.ends_with(b"\n") {
                true => b"\n",
                false => b"\n\n",
            },
            now_ns,
            out,
        )?;
        if self.buffer.is_empty() && self.over.is_none() {
            return Ok(());
        }
        Err(self.wrong("it ends amid a field"))
    }

    fn wrong(&self, detail: &str) -> Error {
        Error::malformed(WHAT, detail, self.before + self.at)
    }

    fn entries(&mut self, now_ns: i64, out: &mut Decoded) -> Result<()> {
        let max = out.limits().max_line_bytes;
        loop {
            match journal::next(&self.buffer[self.at..]).map_err(|detail| self.wrong(detail))? {
                Next::Field(len) => {
                    self.at += len;
                    match &mut self.over {
                        Some(over) => *over = over.saturating_add(len),
                        None if self.at - self.start > max => self.over = Some(self.at - self.start),
                        None => {}
                    }
                }
                Next::End => {
                    if let Some(bytes) = self.over.take() {
                        out.reject(|| format!("it has {bytes} bytes; max_line_bytes is {max}"));
                    } else if self.at > self.start {
                        self.take(now_ns, out)?;
                    }
                    self.at += 1;
                    self.start = self.at;
                }
                Next::More(at_least) => {
                    let here = self.buffer.len() - self.at;
                    let known = at_least.max(here as u64);
                    if known > (max as u64).saturating_mul(2) {
                        self.pass_over(at_least, here)?;
                    }
                    return Ok(());
                }
            }
        }
    }

    /// Gives up an entry of which a field alone is too long, without keeping the field.
    fn pass_over(&mut self, at_least: u64, here: usize) -> Result<()> {
        // A field of text may be of any length: nothing but its end tells it.
        self.skip_line = at_least == 0;
        let field = &self.buffer[self.at..];
        let is_text = || memchr::memchr2(b'=', b'\n', field).is_some_and(|at| field[at] == b'=');
        if self.skip_line && !is_text() {
            return Err(self.wrong("a line that does not end"));
        }
        let field = usize::try_from(at_least).unwrap_or(usize::MAX).max(here);
        // What stands before it is counted already where the entry was over before.
        let before = if self.over.is_some() { 0 } else { self.at - self.start };
        self.over = Some(self.over.unwrap_or(0).saturating_add(field).saturating_add(before));
        self.skip = at_least.saturating_sub(here as u64);
        self.at = self.buffer.len();
        Ok(())
    }

    /// Takes the entry from `start` to `at`.
    fn take(&mut self, now_ns: i64, out: &mut Decoded) -> Result<()> {
        let Self { entry, names, .. } = self;
        entry.start(now_ns);
        // The journal may have a field several times in an entry.
        names.clear();
        journal::fill(&self.buffer[self.start..self.at], names, &self.left_out, entry);
        for (name, value) in &self.extra_fields {
            entry.field(name, value.as_str());
        }
        let _counted_in_out = out.take(entry)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
