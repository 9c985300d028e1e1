//! Protocol Buffers, read in place.
//!
//! ```text
//! message   (tag varint = number << 3 | type, value) *
//! type 0    varint          1  8 bytes, little-endian
//!      2    length varint, so many bytes: a text, bytes, or a message       5  4 bytes, little-endian
//! ```
//!
//! The libraries that there are build a tree of messages first, in which two bytes (an empty record) take hundreds:
//! a body of a few megabytes could take all memory. Here a message is walked over, as often as needed.

use crate::error::{Error, Result};
use crate::varint;

/// A value, pointing into the body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Wire<'a> {
    Varint(u64),
    Fixed64(u64),
    Fixed32(u32),
    Bytes(Message<'a>),
}

/// The bytes of a message (or of a text), and where in the body they begin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Message<'a> {
    pub bytes: &'a [u8],
    pub at: usize,
    what: &'static str,
}

impl<'a> Message<'a> {
    /// A whole body. `what` it should be, errors say.
    pub fn body(what: &'static str, bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, what }
    }

    /// Its fields, in order.
    pub fn fields(self) -> Fields<'a> {
        Fields { rest: self.bytes, message: self }
    }

    /// The last field of this number that is a message; an empty one if there is none.
    ///
    /// # Errors
    /// [`Error::Malformed`].
    pub fn message(self, number: u32) -> Result<Self> {
        let mut found = Self { bytes: &[], ..self };
        self.each(number, |message| {
            found = message;
            Ok(())
        })?;
        Ok(found)
    }

    /// Calls `f` with each message that is in a field of this number.
    ///
    /// # Errors
    /// [`Error::Malformed`], and what `f` returns.
    pub fn each(self, number: u32, mut f: impl FnMut(Self) -> Result<()>) -> Result<()> {
        for field in self.fields() {
            if let (n, Wire::Bytes(message)) = field?
                && n == number
            {
                f(message)?;
            }
        }
        Ok(())
    }

    /// It as text.
    ///
    /// # Errors
    /// [`Error::Malformed`] if it is not UTF-8.
    pub fn text(self) -> Result<&'a str> {
        std::str::from_utf8(self.bytes)
            .map_err(|e| Error::malformed(self.what, "a text is not UTF-8", self.at + e.valid_up_to()))
    }

    fn wrong(self, detail: &str, rest: &[u8]) -> Error {
        Error::malformed(self.what, detail, self.at + self.bytes.len() - rest.len())
    }
}

/// Iterates the fields of a message: number and value. After an error it ends.
#[derive(Clone, Debug)]
pub(crate) struct Fields<'a> {
    rest: &'a [u8],
    message: Message<'a>,
}

impl<'a> Fields<'a> {
    fn field(&mut self) -> Result<(u32, Wire<'a>)> {
        let tag = self.varint()?;
        let number = u32::try_from(tag >> 3).ok().filter(|n| *n > 0);
        let number = number.ok_or_else(|| self.message.wrong("a field has no number", self.rest))?;
        let value = match tag & 7 {
            0 => Wire::Varint(self.varint()?),
            1 => Wire::Fixed64(u64::from_le_bytes(*self.chunk()?)),
            2 => {
                let len = self.varint()?;
                let at = self.message.at + self.message.bytes.len() - self.rest.len();
                let (bytes, rest) = usize::try_from(len)
                    .ok()
                    .and_then(|len| self.rest.split_at_checked(len))
                    .ok_or_else(|| self.message.wrong("a field is longer than its message", self.rest))?;
                self.rest = rest;
                Wire::Bytes(Message { bytes, at, ..self.message })
            }
            5 => Wire::Fixed32(u32::from_le_bytes(*self.chunk()?)),
            _ => return Err(self.message.wrong("a field of a type that is not in use", self.rest)),
        };
        Ok((number, value))
    }

    fn varint(&mut self) -> Result<u64> {
        let split = varint::split(self.rest);
        let (value, rest) =
            split.ok_or_else(|| self.message.wrong("a number that does not end", self.rest))?;
        self.rest = rest;
        Ok(value)
    }

    fn chunk<const N: usize>(&mut self) -> Result<&'a [u8; N]> {
        let (chunk, rest) =
            self.rest.split_first_chunk().ok_or_else(|| self.message.wrong("it ends too soon", self.rest))?;
        self.rest = rest;
        Ok(chunk)
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u32, Wire<'a>)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.rest = &[];
        }
        Some(field)
    }
}

/// Writes messages: what is sent back, and what is read anew from JSON.
#[derive(Debug, Default)]
pub(crate) struct Writer {
    pub out: Vec<u8>,
}

impl Writer {
    pub fn varint(&mut self, number: u32, value: u64) {
        self.tag(number, 0);
        self.number(value);
    }

    pub fn fixed64(&mut self, number: u32, value: u64) {
        self.tag(number, 1);
        self.out.extend_from_slice(&value.to_le_bytes());
    }

    pub fn fixed32(&mut self, number: u32, value: u32) {
        self.tag(number, 5);
        self.out.extend_from_slice(&value.to_le_bytes());
    }

    pub fn bytes(&mut self, number: u32, bytes: &[u8]) {
        self.tag(number, 2);
        self.number(bytes.len() as u64);
        self.out.extend_from_slice(bytes);
    }

    /// Begins a message, whose length [`Self::end`] puts in; a length of up to 32 GiB fits into the place.
    pub fn begin(&mut self, number: u32) -> usize {
        self.tag(number, 2);
        self.out.extend_from_slice(&[0x80, 0x80, 0x80, 0x80, 0]);
        self.out.len()
    }

    /// Ends the message that [`Self::begin`] began there.
    pub fn end(&mut self, began: usize) {
        let len = self.out.len() - began;
        for (i, byte) in self.out[began - 5..began].iter_mut().enumerate() {
            *byte |= (len >> (7 * i)) as u8 & 0x7f;
        }
    }

    fn tag(&mut self, number: u32, kind: u64) {
        self.number(u64::from(number) << 3 | kind);
    }

    fn number(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.out.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.out.push(value as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let mut w = Writer::default();
        w.varint(1, 300);
        w.fixed64(2, 7);
        w.fixed32(3, 9);
        let inner = w.begin(200);
        w.bytes(5, "é".as_bytes());
        w.end(inner);
        assert_eq!(w.out[..3], [8, 0xac, 2]);
        let message = Message::body("test", &w.out);
        let fields: Vec<_> = message.fields().map(Result::unwrap).collect();
        assert_eq!(fields[..3], [(1, Wire::Varint(300)), (2, Wire::Fixed64(7)), (3, Wire::Fixed32(9))]);
        let inner = message.message(200).unwrap();
        assert_eq!(inner.message(5).unwrap().text(), Ok("é"));
        assert_eq!(message.message(9).unwrap().bytes, b"");
    }

    #[test]
    fn errors_say_where() {
        for (bytes, detail) in [
            (&[8][..], "a number that does not end, at byte 1"),
            (&[8, 1, 8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1], "not end, at byte 3"),
            (&[0, 1], "a field has no number, at byte 1"),
            (&[11, 1], "a field of a type that is not in use, at byte 1"),
            (&[10, 2, 1], "a field is longer than its message, at byte 2"),
            (&[10, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1], "a field is longer than"),
            (&[9, 1], "it ends too soon, at byte 1"),
        ] {
            let error = Message::body("a test", bytes).message(1).unwrap_err().to_string();
            assert!(error.starts_with("not a test: ") && error.contains(detail), "{error}");
        }
        let body = [18, 4, 10, 2, b'a', 0xff];
        let text = Message::body("a test", &body).message(2).unwrap().message(1).unwrap().text();
        assert_eq!(text.unwrap_err().to_string(), "not a test: a text is not UTF-8, at byte 5");
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>) {
            let _refused_or_not = Message::body("a test", &bytes).each(1, |m| m.each(2, |m| m.text().map(drop)));
        }
    }
}
