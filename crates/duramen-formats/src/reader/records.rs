//! Files that are one JSON document with all records in an array, mostly in one line, as CloudTrail delivers them.
//!
//! ```text
//! {"Records":[{"eventVersion":"1.08","eventTime":"2024-06-01T10:00:00Z",…},{…}]}
//! ```

use crate::lines::{Line, char_boundary};

/// How such a document begins; white space may stand between its marks.
const BEGINNING: [&[u8]; 4] = [b"{", b"\"Records\"", b":", b"["];

/// The longest beginning, in bytes.
const MAX_BEGINNING_BYTES: usize = 1 << 10;

/// What stands where a record, or another document, begins.
enum Start {
    /// So many bytes before the first record.
    Document(usize),
    Record,
    /// Not enough bytes to tell.
    More,
}

/// Cuts chunks of any size into records. What is not yet one is kept.
#[derive(Debug)]
pub(crate) struct RecordSplitter {
    buffer: Vec<u8>,
    /// How many bytes of the input are before the buffer.
    offset: u64,
    /// Up to where the buffer was looked at.
    at: usize,
    /// Where the record begins that is being looked at or was found whole, and where it ends.
    record: Option<(usize, Option<usize>)>,
    /// In a record: how many objects and arrays are open, and whether a string is.
    depth: usize,
    in_string: bool,
    /// The most bytes of a record, and whether pieces of it are given out.
    max_bytes: usize,
    is_cut: bool,
    /// Whether a record was given out though it was not known what stands behind it, now or by who read the input up to here.
    rested: bool,
}

/// What follows is no document of records: its bytes, and where in the input they begin.
pub(crate) struct Others {
    pub bytes: Vec<u8>,
    pub offset: u64,
}

impl RecordSplitter {
    /// Begins at `offset` of an input, where a document or a record does, or what stands between them.
    pub fn new(offset: u64, max_bytes: usize) -> Self {
        Self {
            buffer: Vec::new(),
            offset,
            at: 0,
            record: None,
            depth: 0,
            in_string: false,
            max_bytes,
            is_cut: false,
            rested: offset > 0,
        }
    }

    /// Whether an input is such a document, by its first bytes.
    pub fn is_one(head: &[u8]) -> bool {
        let head = head.trim_ascii_start();
        let Start::Document(len) = start(head) else { return false };
        let behind = head.get(len..).unwrap_or_default().trim_ascii_start();
        matches!(behind.first(), Some(b'{' | b']')) && !are_objects(head)
    }

    /// Takes the next bytes and calls `f` with each record that they end. What does not belong to such a document is given back, with all
    /// that follows.
    pub fn feed<E>(
        &mut self,
        chunk: &[u8],
        mut f: impl FnMut(Line<'_>) -> Result<(), E>,
    ) -> Result<Option<Others>, E> {
        self.buffer.extend_from_slice(chunk);
        let buffer = std::mem::take(&mut self.buffer);
        let mut begin = 0;
        let is_one = self.cut(&buffer, &mut begin, &mut f)?;
        self.buffer = buffer;
        self.buffer.drain(..begin);
        self.at -= begin;
        if let Some((from, to)) = &mut self.record {
            *from -= begin;
            *to = to.map(|to| to - begin);
        }
        if is_one {
            return Ok(None);
        }
        self.give_out(&mut f)?;
        let others = Others { bytes: std::mem::take(&mut self.buffer), offset: self.offset };
        Ok(Some(others))
    }

    /// Gives out a record that is whole, though it is not known where the next begins.
    pub fn rest<E>(&mut self, mut f: impl FnMut(Line<'_>) -> Result<(), E>) -> Result<(), E> {
        self.rested = true;
        self.give_out(&mut f)
    }

    /// Whether a record has begun of which nothing was given out, or it is not known yet what has: a record, or another document.
    pub fn lacks_end(&self) -> bool {
        let has_begun = match self.record {
            Some((_, None)) => true,
            _ => self.at < self.buffer.len() || self.buffer.trim_ascii_end().ends_with(b"["),
        };
        has_begun && !self.is_cut
    }

    fn give_out<E>(&mut self, f: &mut impl FnMut(Line<'_>) -> Result<(), E>) -> Result<(), E> {
        let Some((from, Some(to))) = self.record else { return Ok(()) };
        let buffer = std::mem::take(&mut self.buffer);
        self.record = None;
        let outcome = self.emit(&buffer, (0, from, to, self.at), true, f);
        self.buffer = buffer;
        self.buffer.drain(..self.at);
        self.at = 0;
        outcome
    }

    /// Ends the input: a record that lacks its end is given out as it is.
    pub fn finish<E>(&mut self, mut f: impl FnMut(Line<'_>) -> Result<(), E>) -> Result<(), E> {
        self.give_out(&mut f)?;
        let buffer = std::mem::take(&mut self.buffer);
        let from = self.record.take().map_or(0, |(from, _)| from);
        (self.at, self.depth, self.in_string) = (0, 0, false);
        // What is left then of what stands between records and behind them tells nothing.
        let is_between = |b: &u8| matches!(b, b']' | b'}' | b',') || b.is_ascii_whitespace();
        if buffer.is_empty() || (self.rested && !self.is_cut && buffer.iter().all(is_between)) {
            self.offset += buffer.len() as u64;
            return Ok(());
        }
        let to = buffer.trim_ascii_end().len().max(from);
        self.emit(&buffer, (0, from, to, buffer.len()), true, &mut f)
    }

    /// Cuts what is there, and says whether it is of such documents; `begin` is where what is left begins.
    fn cut<E>(
        &mut self,
        buffer: &[u8],
        begin: &mut usize,
        f: &mut impl FnMut(Line<'_>) -> Result<(), E>,
    ) -> Result<bool, E> {
        loop {
            if let Some((mut from, None)) = self.record {
                let end = self.end(buffer, from);
                if end.is_none() && buffer.get(self.at) == Some(&b'\n') {
                    return Ok(false);
                }
                while end.unwrap_or(buffer.len()) - from > self.max_bytes {
                    let to = from + char_boundary(&buffer[from..], self.max_bytes);
                    self.emit(buffer, (*begin, from, to, to), false, f)?;
                    (*begin, from) = (to, to);
                }
                self.record = Some((from, end));
                if end.is_none() {
                    return Ok(true);
                }
            }
            // White space without end, too, takes no more memory than a record.
            match self.record {
                Some((from, Some(to))) if self.at - to > self.max_bytes => {
                    self.record = None;
                    self.emit(buffer, (*begin, from, to, self.at), true, f)?;
                    *begin = self.at;
                }
                None if self.at - *begin > self.max_bytes => return Ok(false),
                _ => {}
            }
            let Some(byte) = buffer.get(self.at) else { return Ok(true) };
            match byte {
                b'{' => match start(&buffer[self.at..]) {
                    Start::More => return Ok(true),
                    start => {
                        if let Some((from, Some(to))) = self.record.take() {
                            self.emit(buffer, (*begin, from, to, self.at), true, f)?;
                            *begin = self.at;
                        }
                        match start {
                            Start::Document(len) => self.at += len,
                            _ => self.record = Some((self.at, None)),
                        }
                    }
                },
                b']' | b'}' | b',' => self.at += 1,
                byte if byte.is_ascii_whitespace() => self.at += 1,
                _ => return Ok(false),
            }
        }
    }

    /// Looks for the end of the record, which began at a place; up to a line's end in a string, where there is none: what began there
    /// was cut, and would take all lines that follow with it.
    fn end(&mut self, buffer: &[u8], from: usize) -> Option<usize> {
        while let Some(byte) = buffer.get(self.at) {
            match byte {
                b'"' if self.in_string => self.in_string = false,
                b'\\' if self.in_string => {
                    // What is escaped ends no string; it may not have come yet.
                    if self.at + 1 >= buffer.len() {
                        return None;
                    }
                    self.at += 1;
                }
                b'\n' if self.in_string && !self.is_cut && self.at - from <= self.max_bytes => return None,
                _ if self.in_string => {}
                b'"' => self.in_string = true,
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        self.at += 1;
                        return Some(self.at);
                    }
                }
                _ => {}
            }
            self.at += 1;
        }
        None
    }

    /// Gives out what lies from a place of the buffer to another, and before and behind it what takes the input.
    fn emit<E>(
        &mut self,
        buffer: &[u8],
        (begin, from, to, end): (usize, usize, usize, usize),
        is_last: bool,
        f: &mut impl FnMut(Line<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let raw_len = end - begin;
        self.offset += raw_len as u64;
        let is_first = !std::mem::replace(&mut self.is_cut, !is_last);
        f(Line { bytes: &buffer[from..to], raw_len, end_offset: self.offset, is_first, is_last })
    }
}

/// Whether it is an object a line, of which the first happens to have records.
fn are_objects(head: &[u8]) -> bool {
    let Some(end) = memchr::memchr(b'\n', head) else { return false };
    let (line, next) = (head[..end].trim_ascii_end(), head[end..].trim_ascii_start());
    let has_others = !line.ends_with(b"]}");
    match next.first() {
        Some(b'{') => line.ends_with(b"}") && (has_others || matches!(start(next), Start::Record)),
        None => line.ends_with(b"}") && has_others,
        _ => false,
    }
}

/// Tells what begins here, with a brace.
fn start(bytes: &[u8]) -> Start {
    let bytes = bytes.get(..MAX_BEGINNING_BYTES).unwrap_or(bytes);
    let mut at = 0;
    for mark in BEGINNING {
        let rest = bytes.get(at..).unwrap_or_default().trim_ascii_start();
        if bytes.len() < MAX_BEGINNING_BYTES && rest.len() < mark.len() && mark.starts_with(rest) {
            return Start::More;
        }
        if !rest.starts_with(mark) {
            return Start::Record;
        }
        at = bytes.len() - rest.len() + mark.len();
    }
    Start::Document(at)
}
