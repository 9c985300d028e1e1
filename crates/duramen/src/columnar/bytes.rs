//! Reading and writing of small things: single bytes, variable-length integers, counted byte strings.
//!
//! A *varint* is LEB128: seven bits a byte, least significant first, the top bit set on all but the last.
//! A *zigzag* is a varint of `(n << 1) ^ (n >> 63)`, so that small negative numbers stay small.

use crate::error::{Error, Result};

/// What the decoders of this folder say they were decoding.
pub(crate) const WHAT: &str = "a column block";

/// A decode error with this detail.
pub(crate) fn bad(detail: &'static str) -> Error {
    Error::decode(WHAT, detail)
}

pub(crate) fn put_varint(out: &mut Vec<u8>, mut n: u64) {
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

pub(crate) fn put_zigzag(out: &mut Vec<u8>, n: i64) {
    put_varint(out, ((n << 1) ^ (n >> 63)) as u64);
}

pub(crate) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Reads front to back; every read past the end is an error.
#[derive(Clone, Debug)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// What is left.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// How many bytes are left.
    pub(crate) fn remaining(&self) -> usize {
        self.rest.len()
    }

    /// The same, with only the last `n` bytes left.
    pub(crate) fn last(&self, n: usize) -> Result<Self> {
        let start = self.rest.len().checked_sub(n).ok_or_else(|| bad("it ends too early"))?;
        Ok(Self { rest: &self.rest[start..] })
    }

    /// The next `n` bytes.
    pub(crate) fn take(&mut self, n: usize) -> Result<&'a [u8]> {
        let (head, rest) = self.rest.split_at_checked(n).ok_or_else(|| bad("it ends too early"))?;
        self.rest = rest;
        Ok(head)
    }

    pub(crate) fn u8(&mut self) -> Result<u8> {
        self.take(1).map(|b| b[0])
    }

    #[inline]
    pub(crate) fn varint(&mut self) -> Result<u64> {
        // Most are small.
        match self.rest {
            [byte, rest @ ..] if *byte < 0x80 => {
                self.rest = rest;
                Ok(u64::from(*byte))
            }
            _ => self.long_varint(),
        }
    }

    fn long_varint(&mut self) -> Result<u64> {
        let mut n = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.u8()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                break;
            }
            n |= bits << shift;
            if byte < 0x80 {
                return Ok(n);
            }
        }
        Err(bad("an integer is too long"))
    }

    pub(crate) fn zigzag(&mut self) -> Result<i64> {
        let n = self.varint()?;
        Ok((n >> 1) as i64 ^ -((n & 1) as i64))
    }

    /// A count or length that must be at most `max`.
    pub(crate) fn count(&mut self, max: usize) -> Result<usize> {
        let n = self.varint()?;
        usize::try_from(n).ok().filter(|&n| n <= max).ok_or_else(|| bad("a count is out of range"))
    }

    /// A counted byte string.
    pub(crate) fn bytes(&mut self) -> Result<&'a [u8]> {
        let n = self.count(self.rest.len())?;
        self.take(n)
    }

    /// A counted UTF-8 string.
    pub(crate) fn str(&mut self) -> Result<&'a str> {
        std::str::from_utf8(self.bytes()?).map_err(|_| bad("a text is not UTF-8"))
    }
}
