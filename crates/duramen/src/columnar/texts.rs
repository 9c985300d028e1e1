//! Many texts in one buffer.

use super::bytes::bad;
use super::streams::MAX_STREAM_BYTES;
use crate::entry::plain_integer;
use crate::error::Result;

/// The integer that a text plainly is.
pub(crate) fn integer_in(text: &[u8]) -> Option<i64> {
    plain_integer(std::str::from_utf8(text).ok()?)
}

/// Texts one after another, and where each ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Texts {
    pub(crate) bytes: Vec<u8>,
    pub(crate) ends: Vec<u32>,
}

impl Texts {
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn push(&mut self, text: &[u8]) {
        self.bytes.extend_from_slice(text);
        self.ends.push(self.bytes.len() as u32);
    }

    /// Tells whether a decoder has made more of it than an encoder writes.
    ///
    /// # Errors
    /// [`crate::Error::Decode`] if so.
    pub(crate) fn check(&self) -> Result<()> {
        if self.bytes.len() > MAX_STREAM_BYTES { Err(bad("a text is too long")) } else { Ok(()) }
    }

    pub(crate) fn pop(&mut self) {
        self.ends.pop();
        self.bytes.truncate(self.ends.last().map_or(0, |&end| end as usize));
    }

    /// Where a text begins.
    fn start(&self, i: usize) -> usize {
        if i == 0 { 0 } else { self.ends[i - 1] as usize }
    }

    pub(crate) fn get(&self, i: usize) -> &[u8] {
        &self.bytes[self.start(i)..self.ends[i] as usize]
    }
}
