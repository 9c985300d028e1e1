//! Looking at the first bytes of a stream without taking them.

use std::io::{self, Read};

/// A stream whose first bytes can be looked at. An error met while looking comes out where it belongs: after
/// the bytes before it have been read.
pub(crate) struct Peek<R> {
    inner: R,
    seen: Vec<u8>,
    taken: usize,
    error: Option<io::Error>,
    ended: bool,
}

impl<R: Read> Peek<R> {
    /// Nothing is read yet.
    pub(crate) fn new(inner: R) -> Self {
        Self { inner, seen: Vec::new(), taken: 0, error: None, ended: false }
    }

    /// The first bytes: `limit` of them, or as many as there are. Only before anything is read.
    pub(crate) fn fill(&mut self, limit: usize) -> &[u8] {
        self.fill_while(limit, |_| true)
    }

    /// Reads on, up to `limit` bytes, as long as what is there makes `more` true. May show more than the
    /// limit: what the last read gave.
    pub(crate) fn fill_while(&mut self, limit: usize, more: impl Fn(&[u8]) -> bool) -> &[u8] {
        while self.seen.len() < limit && !self.ended && self.error.is_none() && more(&self.seen) {
            let start = self.seen.len();
            self.seen.resize(limit.max(4096), 0);
            let outcome = self.inner.read(&mut self.seen[start..]);
            self.seen.truncate(start + *outcome.as_ref().unwrap_or(&0));
            match outcome {
                Ok(0) => self.ended = true,
                Ok(_) => {}
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => self.error = Some(e),
            }
        }
        &self.seen
    }
}

impl<R: Read> Read for Peek<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let waiting = self.seen.get(self.taken..).unwrap_or_default();
        if !waiting.is_empty() {
            let n = waiting.len().min(buf.len());
            buf[..n].copy_from_slice(&waiting[..n]);
            self.taken += n;
            return Ok(n);
        }
        if self.taken > 0 {
            // The looked-at bytes have gone their way.
            self.seen = Vec::new();
            self.taken = 0;
        }
        match self.error.take() {
            Some(error) => {
                self.ended = true;
                Err(error)
            }
            None if self.ended => Ok(0),
            None => self.inner.read(buf),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives one byte a read, then an error.
    struct Failing<'a>(&'a [u8]);

    impl Read for Failing<'_> {
        fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
            let (first, rest) = self.0.split_first().ok_or_else(|| io::Error::other("cut"))?;
            buf[0] = *first;
            self.0 = rest;
            Ok(1)
        }
    }

    #[test]
    fn what_was_looked_at_is_read_again_and_the_error_comes_after_it() {
        let mut peek = Peek::new(Failing(b"abc"));
        assert_eq!(peek.fill(2), b"ab");
        assert_eq!(peek.fill(100), b"abc");
        let mut out = Vec::new();
        assert_eq!(peek.read_to_end(&mut out).unwrap_err().to_string(), "cut");
        assert_eq!(out, b"abc");
        assert_eq!(peek.read(&mut [0; 4]).unwrap(), 0);
    }

    #[test]
    fn looking_stops_when_enough_is_known() {
        let mut peek = Peek::new(Failing(b"abc"));
        assert_eq!(peek.fill_while(10, |seen| seen != b"a"), b"a");
        let mut peek = Peek::new(&b"hello"[..]);
        assert_eq!(peek.fill(3), b"hello");
        let mut text = String::new();
        peek.read_to_string(&mut text).unwrap();
        assert_eq!(text, "hello");
    }
}
