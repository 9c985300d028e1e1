//! gzip as `gzip -d` reads it: members one behind the other, and zeros behind the last, as tapes and preallocated files have
//! them.

use flate2::bufread::GzDecoder;
use std::io::{self, BufRead, Read};

/// The first byte of every member.
const MAGIC: u8 = 0x1f;

/// The bytes of all members.
#[derive(Debug)]
pub(crate) struct Members<R> {
    /// The one that is read; `None` behind the last.
    member: Option<GzDecoder<R>>,
}

impl<R: BufRead> Members<R> {
    pub(crate) fn new(raw: R) -> Self {
        Self { member: Some(GzDecoder::new(raw)) }
    }

    /// Goes on with the member behind the one that has ended, if there is one.
    fn next_member(&mut self, mut raw: R) -> io::Result<()> {
        loop {
            match raw.fill_buf() {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                other => _ = other?,
            }
            let waiting = raw.fill_buf()?; // what is there already
            match waiting.iter().take_while(|byte| **byte == 0).count() {
                0 if waiting.is_empty() => return Ok(()),
                0 if waiting.first() == Some(&MAGIC) => {
                    self.member = Some(GzDecoder::new(raw));
                    return Ok(());
                }
                // To have it told as what it is: its beginning may be too short for a member's.
                0 => return Err(io::Error::new(io::ErrorKind::InvalidData, "something else follows")),
                zeros => raw.consume(zeros),
            }
        }
    }
}

impl<R: BufRead> Read for Members<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if buf.is_empty() {
            return Ok(0);
        }
        while let Some(member) = &mut self.member {
            let n = member.read(buf)?;
            if n > 0 {
                return Ok(n);
            }
            if let Some(ended) = self.member.take() {
                self.next_member(ended.into_inner())?;
            }
        }
        Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write;

    fn member(text: &str) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    }

    /// What is read of these bytes, a few at a time, and what went wrong.
    fn read(parts: &[&[u8]]) -> (String, Option<io::ErrorKind>) {
        let raw = parts.concat();
        let (mut text, mut members) = (Vec::new(), Members::new(io::BufReader::with_capacity(7, &*raw)));
        let error = members.read_to_end(&mut text).err();
        (String::from_utf8(text).unwrap(), error.map(|e| e.kind()))
    }

    #[test]
    fn what_gzip_reads_is_read() {
        let (one, none, two) = (member("one\n"), member(""), member("two\n"));
        assert_eq!(read(&[&one, &none, &two]), ("one\ntwo\n".into(), None));
        assert_eq!(read(&[&one, &[0; 512], &two, &[0; 3]]), ("one\ntwo\n".into(), None));
        let (cut, early) = (&two[..4], Some(io::ErrorKind::UnexpectedEof));
        assert_eq!(read(&[&one, cut]), ("one\n".into(), early));
        assert_eq!(read(&[&one[..one.len() - 1]]).1, early);
        for other in [&b"x"[..], b"and more"] {
            assert_eq!(read(&[&one, other]), ("one\n".into(), Some(io::ErrorKind::InvalidData)));
        }
    }
}
