//! Chunks to lines.

use std::borrow::Cow;
use std::fmt::Write;

/// A line's text: its bytes, each that is not of UTF-8 as `\xNN`, so that a line in Latin-1 can still be read, and
/// nothing of it is lost.
pub fn text_of(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.into(),
        Err(_) => {
            let mut text = String::with_capacity(bytes.len() + 16);
            escape_into(&mut text, bytes, "\\x");
            text.into()
        }
    }
}

/// The bytes without the mark of UTF-8 that some programs begin a file with.
pub fn without_bom(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
}

/// Puts bytes into `out`, those that are not UTF-8 as two hexadecimal digits after `mark`.
pub(crate) fn escape_into(out: &mut String, bytes: &[u8], mark: &str) {
    out.clear();
    for chunk in bytes.utf8_chunks() {
        out.push_str(chunk.valid());
        for byte in chunk.invalid() {
            // Writing to a String cannot fail.
            let _infallible = write!(out, "{mark}{byte:02X}");
        }
    }
}

/// A line, or a piece of one that is too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// Its bytes, without `\n` or `\r\n`.
    pub bytes: &'a [u8],
    /// How many bytes of the input it takes, line end included.
    pub raw_len: usize,
    /// How many bytes of the input there are up to its end.
    pub end_offset: u64,
    /// Whether it begins a line; false for the pieces after the first.
    pub is_first: bool,
    /// Whether it ends a line.
    pub is_last: bool,
}

/// Cuts chunks of any size into lines. What is not yet a line is kept for the next chunk; a line within one
/// chunk is not copied.
#[derive(Debug)]
pub struct LineSplitter {
    carry: Vec<u8>,
    offset: u64,
    max_line_bytes: usize,
    in_line: bool,
}

/// The longest line end. A line over the limit by no more than this may be only its end, so it is not cut.
const LINE_END_BYTES: usize = 2;

impl LineSplitter {
    /// Begins at `offset` of an input, which must be the start of a line or where a piece of one ended.
    /// Lines longer than `max_line_bytes` are cut into pieces of that many bytes, or up to 3 fewer so that
    /// no character is cut.
    pub fn new(offset: u64, max_line_bytes: usize) -> Self {
        Self { carry: Vec::new(), offset, max_line_bytes: max_line_bytes.max(8), in_line: false }
    }

    /// Takes the next bytes and calls `f` with each line that they end.
    ///
    /// # Errors
    /// Whatever `f` returns; the rest of the chunk is then not taken.
    pub fn feed<E>(
        &mut self,
        mut chunk: &[u8],
        mut f: impl FnMut(Line<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        while let Some(end) = memchr::memchr(b'\n', chunk) {
            let (line, rest) = chunk.split_at(end + 1);
            chunk = rest;
            if self.carry.is_empty() && line.len() <= self.max_line_bytes + LINE_END_BYTES {
                self.emit(line, true, &mut f)?;
            } else {
                self.carry.extend_from_slice(line);
                self.cut(&mut f)?;
                let line = std::mem::take(&mut self.carry);
                let result = self.emit(&line, true, &mut f);
                self.carry = line;
                self.carry.clear();
                result?;
            }
        }
        self.carry.extend_from_slice(chunk);
        self.cut(&mut f)
    }

    /// What is left, as the input's last line; `None` if nothing is.
    pub(crate) fn unfinished(&self) -> Option<Line<'_>> {
        let raw_len = self.carry.len();
        let end_offset = self.offset + raw_len as u64;
        let line = Line { bytes: &self.carry, raw_len, end_offset, is_first: !self.in_line, is_last: true };
        (raw_len > 0).then_some(line)
    }

    /// Ends the input: what is left is its last line.
    ///
    /// # Errors
    /// Whatever `f` returns.
    pub fn finish<E>(&mut self, mut f: impl FnMut(Line<'_>) -> Result<(), E>) -> Result<(), E> {
        if self.carry.is_empty() {
            return Ok(());
        }
        let line = std::mem::take(&mut self.carry);
        self.emit(&line, true, &mut f)
    }

    /// Gives out what is too long to be one line's end.
    fn cut<E>(&mut self, f: &mut impl FnMut(Line<'_>) -> Result<(), E>) -> Result<(), E> {
        if self.carry.len() <= self.max_line_bytes + LINE_END_BYTES {
            return Ok(());
        }
        let carry = std::mem::take(&mut self.carry);
        let mut rest = &*carry;
        while rest.len() > self.max_line_bytes + LINE_END_BYTES {
            let (piece, after) = rest.split_at(char_boundary(rest, self.max_line_bytes));
            rest = after;
            self.emit(piece, false, f)?;
        }
        self.carry.extend_from_slice(rest);
        Ok(())
    }

    fn emit<E>(
        &mut self,
        raw: &[u8],
        is_last: bool,
        f: &mut impl FnMut(Line<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let bytes = match raw {
            [line @ .., b'\r', b'\n'] | [line @ .., b'\n'] if is_last => line,
            line => line,
        };
        self.offset += raw.len() as u64;
        let is_first = !self.in_line;
        self.in_line = !is_last;
        f(Line { bytes, raw_len: raw.len(), end_offset: self.offset, is_first, is_last })
    }
}

/// The last place at or up to 3 bytes before `at` that cuts no character of UTF-8.
pub(crate) fn char_boundary(s: &[u8], at: usize) -> usize {
    (at - 3..=at).rev().find(|&i| s.get(i).is_none_or(|b| b & 0xc0 != 0x80)).unwrap_or(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    type Got = Vec<(Vec<u8>, u64, bool, bool)>;

    fn split(input: &[u8], chunk: usize, max: usize) -> Got {
        let mut lines = LineSplitter::new(100, max);
        let mut got = Got::new();
        let mut take = |line: Line<'_>| {
            got.push((line.bytes.to_vec(), line.end_offset, line.is_first, line.is_last));
            Ok::<(), Infallible>(())
        };
        for chunk in input.chunks(chunk) {
            lines.feed(chunk, &mut take).unwrap();
        }
        lines.finish(&mut take).unwrap();
        got
    }

    #[test]
    fn lines_end_where_they_end() {
        let line = |s: &str, end| (s.as_bytes().to_vec(), end, true, true);
        let expected = [line("a", 102), line("", 103), line("b\rc", 108), line("d", 109)];
        for chunk in [1, 2, 3, 100] {
            assert_eq!(split(b"a\n\nb\rc\r\nd", chunk, 100), expected);
        }
        assert_eq!(split(b"", 1, 100), []);
        assert_eq!(split(b"\r\n", 1, 100), [line("", 102)]);
    }

    #[test]
    fn long_lines_are_cut_between_characters() {
        for chunk in [1, 7, 100] {
            let got = split("123456789äbcdefgh12345678\r\nx".as_bytes(), chunk, 10);
            let pieces: Vec<_> = got.iter().map(|(b, ..)| String::from_utf8(b.clone()).unwrap()).collect();
            assert_eq!(pieces, ["123456789", "äbcdefgh1", "2345678", "x"]);
            assert_eq!(
                got.iter().map(|g| (g.2, g.3)).collect::<Vec<_>>(),
                [(true, false), (false, false), (false, true), (true, true)]
            );
            assert_eq!(split(b"1234567890\r\n", chunk, 10).len(), 1);
        }
    }

    proptest::proptest! {
        #[test]
        fn nothing_is_lost_whatever_the_chunks(input in proptest::collection::vec(proptest::sample::select(b"ab\r\n\xc3\xa4\xff".to_vec()), 0..80), chunk in 1usize..20, max in 8usize..20) {
            let got = split(&input, chunk, max);
            proptest::prop_assert_eq!(&got, &split(&input, 1000, max));
            proptest::prop_assert_eq!(got.last().map_or(100, |g| g.1), 100 + input.len() as u64);
            let newlines = input.iter().filter(|b| **b == b'\n').count() + usize::from(!input.is_empty() && input.last() != Some(&b'\n'));
            proptest::prop_assert_eq!(got.iter().filter(|g| g.2).count(), newlines);
            proptest::prop_assert_eq!(got.iter().filter(|g| g.3).count(), newlines);
            proptest::prop_assert!(got.iter().all(|g| g.0.len() <= max + 2));
        }
    }
}
