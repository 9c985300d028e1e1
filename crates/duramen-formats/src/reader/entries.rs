//! An export of systemd's journal, cut into its entries.

use crate::journal::{self, Next};
use crate::lines::char_boundary;
use memchr::memchr;

/// The most bytes of an entry; a longer one is cut between its fields, or where a field alone is as long, within it.
const MAX_ENTRY_BYTES: usize = 4 << 20;

/// A piece of an export.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame<'a> {
    /// Fields, or a line that is none, or a piece of a field that is too long, without its line end.
    pub bytes: &'a [u8],
    pub is_fields: bool,
    /// How many bytes of the input it takes, and how many there are up to its end.
    pub raw_len: usize,
    pub end_offset: u64,
    /// Whether it begins an entry, and whether it ends one.
    pub is_first: bool,
    pub is_last: bool,
}

/// Cuts chunks of any size into entries. What is not yet one is kept.
#[derive(Debug)]
pub(super) struct EntrySplitter {
    buffer: Vec<u8>,
    /// Where in the buffer the next field begins.
    at: usize,
    /// How many bytes of the input are before the buffer.
    offset: u64,
    /// The longest piece of a field that is too long.
    max_piece_bytes: usize,
    /// What is left of such a field: so many bytes, or up to the next line feed.
    passing: Option<Passing>,
    /// Whether the entry has begun in a frame before.
    goes_on: bool,
}

#[derive(Clone, Copy, Debug)]
enum Passing {
    Bytes(u64),
    Line,
    /// A line that is no field.
    Other,
}

impl EntrySplitter {
    /// Begins at `offset` of an input, where an entry does.
    pub fn new(offset: u64, max_piece_bytes: usize) -> Self {
        Self { buffer: Vec::new(), at: 0, offset, max_piece_bytes, passing: None, goes_on: false }
    }

    /// Takes the next bytes and calls `f` with each frame that they end.
    pub fn feed<E>(&mut self, chunk: &[u8], mut f: impl FnMut(Frame<'_>) -> Result<(), E>) -> Result<(), E> {
        self.buffer.extend_from_slice(chunk);
        let buffer = std::mem::take(&mut self.buffer);
        let mut start = 0;
        let outcome = self.cut(&buffer, &mut start, &mut f);
        self.buffer = buffer;
        self.buffer.drain(..start);
        self.at -= start;
        outcome
    }

    /// Ends the input: what is left are the last entry's fields, and a field that lacks its end.
    pub fn finish<E>(&mut self, mut f: impl FnMut(Frame<'_>) -> Result<(), E>) -> Result<(), E> {
        let buffer = std::mem::take(&mut self.buffer);
        let mut at = std::mem::take(&mut self.at);
        let left = &buffer[at..];
        let is_text = memchr(b'=', left).is_some() && memchr(b'\n', left).is_none();
        // A time that was cut off is none.
        let is_field = is_text && journal::has_name(left) && !left.starts_with(b"__");
        if self.passing.take().is_none() && is_field {
            at = buffer.len();
        }
        if at > 0 {
            self.emit(&buffer, (0, at, at), true, at == buffer.len(), &mut f)?;
        }
        if at < buffer.len() {
            let end = buffer.len() - usize::from(buffer.ends_with(b"\n"));
            self.emit(&buffer, (at, end.max(at), buffer.len()), false, true, &mut f)?;
        }
        self.goes_on = false;
        Ok(())
    }

    /// Cuts what is there; `start` is where what is left begins.
    fn cut<E>(
        &mut self,
        buffer: &[u8],
        start: &mut usize,
        f: &mut impl FnMut(Frame<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        loop {
            if let Some(passing) = self.passing {
                let rest = &buffer[*start..];
                let (len, ends) = match passing {
                    Passing::Bytes(left) => {
                        let left = usize::try_from(left).unwrap_or(usize::MAX);
                        (left.min(rest.len()), left <= rest.len())
                    }
                    Passing::Line | Passing::Other => {
                        memchr(b'\n', rest).map_or((rest.len(), false), |end| (end + 1, true))
                    }
                };
                let max = self.max_piece_bytes;
                if !ends && rest.len() <= max {
                    return Ok(());
                }
                let piece = if len > max { char_boundary(rest, max) } else { len };
                let is_end = ends && piece == len;
                self.passing = match passing {
                    _ if is_end => None,
                    Passing::Bytes(left) => Some(Passing::Bytes(left - piece as u64)),
                    passing => Some(passing),
                };
                let end = *start + piece;
                let text_end = end - usize::from(is_end);
                let from = std::mem::replace(start, end);
                self.at = end;
                let is_last = is_end && matches!(passing, Passing::Other);
                self.emit(buffer, (from, text_end, end), false, is_last, f)?;
                continue;
            }
            let field = &buffer[self.at..];
            let next = match journal::next(field) {
                Ok(Next::Field(_) | Next::More(_)) if has_other_name(field) => Err("it has another name"),
                next => next,
            };
            match next {
                Ok(Next::Field(len)) => {
                    if self.at + len - *start > MAX_ENTRY_BYTES && self.at > *start {
                        let from = std::mem::replace(start, self.at);
                        self.emit(buffer, (from, *start, *start), true, false, f)?;
                    }
                    self.at += len;
                    if self.at - *start > MAX_ENTRY_BYTES {
                        self.at = *start;
                        self.passing = Some(Passing::Bytes(len as u64));
                    }
                }
                Ok(Next::End) => {
                    let (from, end) = (*start, self.at);
                    self.at += 1;
                    *start = self.at;
                    self.emit(buffer, (from, end, end + 1), end > from, true, f)?;
                }
                Ok(Next::More(at_least)) => {
                    let max = MAX_ENTRY_BYTES as u64;
                    if at_least.max(field.len() as u64) <= max {
                        return Ok(());
                    }
                    let from = std::mem::replace(start, self.at);
                    self.passing = Some(if at_least > 0 { Passing::Bytes(at_least) } else { Passing::Line });
                    if *start > from {
                        self.emit(buffer, (from, *start, *start), true, false, f)?;
                    }
                }
                // A line that is no field is kept as it is; what follows begins an entry.
                Err(_) => {
                    let line = memchr(b'\n', field);
                    // Nothing but its end tells it.
                    if line.is_none() && field.len() <= MAX_ENTRY_BYTES {
                        return Ok(());
                    }
                    let Some(line) = line.filter(|line| *line <= self.max_piece_bytes) else {
                        let from = std::mem::replace(start, self.at);
                        self.passing = Some(Passing::Other);
                        if *start > from {
                            self.emit(buffer, (from, *start, *start), true, true, f)?;
                        }
                        self.goes_on = false;
                        continue;
                    };
                    let (from, at) = (*start, self.at);
                    self.at += line + 1;
                    *start = self.at;
                    if at > from {
                        self.emit(buffer, (from, at, at), true, true, f)?;
                    }
                    self.goes_on = false;
                    self.emit(buffer, (at, at + line, at + line + 1), false, true, f)?;
                }
            }
        }
    }

    /// Gives out what lies from a place of the buffer to another, and up to where it takes the input.
    fn emit<E>(
        &mut self,
        buffer: &[u8],
        (from, to, end): (usize, usize, usize),
        is_fields: bool,
        is_last: bool,
        f: &mut impl FnMut(Frame<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let raw_len = end - from;
        self.offset += raw_len as u64;
        let is_first = !std::mem::replace(&mut self.goes_on, !is_last);
        let bytes = &buffer[from..to];
        f(Frame { bytes, is_fields, raw_len, end_offset: self.offset, is_first, is_last })
    }
}

/// Whether what begins here has a name as no field of the journal has, as far as it has come.
fn has_other_name(field: &[u8]) -> bool {
    let name = field.iter().position(|b| matches!(b, b'=' | b'\n'));
    match name {
        Some(_) => !journal::has_name(field),
        None => field.len() > 64 || !(field.is_empty() || journal::has_name(field)),
    }
}
