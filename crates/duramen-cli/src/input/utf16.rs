//! UTF-16, as programs on Windows write it, to UTF-8.

use std::io::{self, Read};

/// How much is read at once, in bytes.
const READ_BYTES: usize = 64 << 10;

/// In which order the two bytes of a unit stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ByteOrder {
    LittleEndian,
    BigEndian,
}

/// The text of a stream in UTF-16, without the mark at its start. Halves of pairs that stand alone become U+FFFD; what is no whole
/// character where the stream ends is taken for one that has not been written yet, and left out.
#[derive(Debug)]
pub(crate) struct Utf16<R> {
    inner: R,
    order: ByteOrder,
    /// What was read, and is no character yet.
    units: Vec<u8>,
    text: String,
    taken: usize,
    is_begun: bool,
}

impl<R: Read> Utf16<R> {
    pub(crate) fn new(inner: R, order: ByteOrder) -> Self {
        Self { inner, order, units: Vec::new(), text: String::new(), taken: 0, is_begun: false }
    }

    /// Reads on; `false` at the end.
    fn more(&mut self) -> io::Result<bool> {
        let waiting = self.units.len();
        self.units.resize(waiting + READ_BYTES, 0);
        let read = self.inner.read(self.units.get_mut(waiting..).unwrap_or_default());
        self.units.truncate(waiting + *read.as_ref().unwrap_or(&0));
        if read? == 0 {
            return Ok(false);
        }
        let order = self.order;
        let unit = |pair: &[u8]| match (order, pair) {
            (ByteOrder::LittleEndian, &[low, high]) | (ByteOrder::BigEndian, &[high, low]) => {
                u16::from_be_bytes([high, low])
            }
            _ => 0,
        };
        let mut whole = self.units.len() & !1;
        // The first half of a pair waits for the other.
        let last = self.units.get(whole.saturating_sub(2)..whole).map(unit);
        if last.is_some_and(|last| (0xd800..0xdc00).contains(&last)) {
            whole -= 2;
        }
        (self.taken, self.is_begun) = (0, self.is_begun || whole > 0);
        self.text.clear();
        let units = self.units.get(..whole).unwrap_or_default().chunks_exact(2).map(unit);
        self.text.extend(char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)));
        self.units.drain(..whole);
        Ok(true)
    }
}

impl<R: Read> Read for Utf16<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        loop {
            let waiting = self.text.as_bytes().get(self.taken..).unwrap_or_default();
            if !waiting.is_empty() || buf.is_empty() {
                let n = waiting.len().min(buf.len());
                buf[..n].copy_from_slice(&waiting[..n]);
                self.taken += n;
                return Ok(n);
            }
            let is_first = !self.is_begun;
            if !self.more()? {
                return Ok(0);
            }
            if is_first && self.text.starts_with('\u{feff}') {
                self.taken = '\u{feff}'.len_utf8();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives so many bytes a read.
    struct Slow<'a>(&'a [u8], usize);

    impl Read for Slow<'_> {
        fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
            let n = self.1.min(self.0.len()).min(buf.len());
            buf[..n].copy_from_slice(&self.0[..n]);
            self.0 = &self.0[n..];
            Ok(n)
        }
    }

    #[test]
    fn text_comes_out_whatever_a_read_gives() {
        let text = "2024-06-01 h\u{e4}\u{1f600}\r\n\u{feff}x";
        let units: Vec<u16> = std::iter::once(0xfeff).chain(text.encode_utf16()).collect();
        let little: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
        let big: Vec<u8> = units.iter().flat_map(|unit| unit.to_be_bytes()).collect();
        for (bytes, order) in [(&little, ByteOrder::LittleEndian), (&big, ByteOrder::BigEndian)] {
            for a_read in [1, 2, 3, 1000] {
                let mut out = String::new();
                Utf16::new(Slow(bytes, a_read), order).read_to_string(&mut out).unwrap();
                assert_eq!(out, text, "{a_read}");
            }
        }
    }

    #[test]
    fn halves_alone_are_shown_and_what_is_not_whole_waits() {
        let read = |bytes: &[u8]| {
            let mut out = String::new();
            Utf16::new(bytes, ByteOrder::LittleEndian).read_to_string(&mut out).unwrap();
            out
        };
        assert_eq!(read(b"\x00\xd8a\0\x00\xdc"), "\u{fffd}a\u{fffd}");
        assert_eq!(read(b"\xff\xfea\0b"), "a");
        assert_eq!(read(b"a\0\x3d\xd8"), "a");
        assert_eq!(read(b""), "");
    }
}
