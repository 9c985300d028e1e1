//! Where encoders put their bytes: four streams, each compressed as suits what it holds.
//!
//! Columns are small and many, or large and few. Large ones get a chunk of their own; small ones share one,
//! a *bundle*: each of the four streams of a bundle holds one column's bytes after another's, so that a
//! compressor sees much of one kind instead of little of everything. A column knows how long its part of
//! each stream is (the directory says), and reads it front to back.
//!
//! ```text
//! bundle (one chunk):
//!   4 times  method u8        0 stored, 1 zstd
//!            plain_len varint
//!            stored_len varint
//!   4 times  stored bytes
//!
//! stream 0  meta    how the rest is encoded: tags, counts, dictionaries of integers
//! stream 1  bytes   integers as bytes, for the compressor to look at
//! stream 2  packed  bits that no compressor would make fewer
//! stream 3  text    characters
//! ```

use super::bytes::{Reader, bad, put_varint};
use crate::error::{Error, Result};

/// How many streams there are.
pub(crate) const STREAMS: usize = 4;

/// The most bytes that a stream of one block may have before compression.
pub(crate) const MAX_STREAM_BYTES: usize = 512 << 20;

/// The four streams, being written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Streams {
    pub(crate) meta: Vec<u8>,
    pub(crate) bytes: Vec<u8>,
    pub(crate) packed: Vec<u8>,
    pub(crate) text: Vec<u8>,
}

impl Streams {
    pub(crate) fn clear(&mut self) {
        self.meta.clear();
        self.bytes.clear();
        self.packed.clear();
        self.text.clear();
    }

    pub(crate) fn lens(&self) -> [usize; STREAMS] {
        self.all().map(Vec::len)
    }

    pub(crate) fn total(&self) -> usize {
        self.lens().iter().sum()
    }

    fn all(&self) -> [&Vec<u8>; STREAMS] {
        [&self.meta, &self.bytes, &self.packed, &self.text]
    }

    /// Appends all four of another.
    pub(crate) fn append(&mut self, other: &Self) {
        self.meta.extend_from_slice(&other.meta);
        self.bytes.extend_from_slice(&other.bytes);
        self.packed.extend_from_slice(&other.packed);
        self.text.extend_from_slice(&other.text);
    }

    /// Compresses into `out`, which is cleared first. Says how many bytes each stream takes.
    pub(crate) fn write(&self, zstd: &mut Zstd, out: &mut Vec<u8>) -> Result<[usize; STREAMS]> {
        out.clear();
        let mut body = std::mem::take(&mut zstd.body);
        body.clear();
        let mut stored = [0; STREAMS];
        for (i, plain) in self.all().into_iter().enumerate() {
            let start = body.len();
            // Packed bits are random to a compressor: trying costs time and gives nothing.
            let method = if i == 2 { 0 } else { zstd.append(plain, &mut body)? };
            if method == 0 {
                body.extend_from_slice(plain);
            }
            stored[i] = body.len() - start;
            out.push(method);
            put_varint(out, plain.len() as u64);
            put_varint(out, stored[i] as u64);
        }
        out.extend_from_slice(&body);
        zstd.body = body;
        Ok(stored)
    }
}

/// A compressor and its room, kept from block to block.
pub(crate) struct Zstd {
    compressor: zstd::bulk::Compressor<'static>,
    body: Vec<u8>,
}

impl std::fmt::Debug for Zstd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Zstd").finish_non_exhaustive()
    }
}

/// What the compressor says about its own state is a fault of the program.
fn zstd_error(e: impl std::fmt::Display) -> Error {
    Error::Invalid(format!("zstd: {e}"))
}

impl Zstd {
    pub(crate) fn new(level: i32) -> Result<Self> {
        let mut compressor = zstd::bulk::Compressor::new(level).map_err(zstd_error)?;
        compressor.include_contentsize(false).map_err(zstd_error)?;
        compressor.include_dictid(false).map_err(zstd_error)?;
        compressor.include_checksum(false).map_err(zstd_error)?;
        Ok(Self { compressor, body: Vec::new() })
    }

    /// Appends `plain` compressed and says 1, or appends nothing and says 0 if that gains nothing.
    pub(crate) fn append(&mut self, plain: &[u8], out: &mut Vec<u8>) -> Result<u8> {
        if plain.len() < 24 {
            return Ok(0);
        }
        let start = out.len();
        let room = zstd::zstd_safe::compress_bound(plain.len());
        out.resize(start + room, 0);
        let n = self.compressor.compress_to_buffer(plain, &mut out[start..]).map_err(zstd_error)?;
        if n >= plain.len() {
            out.truncate(start);
            return Ok(0);
        }
        out.truncate(start + n);
        Ok(1)
    }
}

/// Undoes [`Zstd::append`].
pub(crate) fn expand(method: u8, stored: &[u8], plain_len: usize) -> Result<Vec<u8>> {
    match method {
        0 if stored.len() == plain_len => Ok(stored.to_vec()),
        1 if plain_len <= MAX_STREAM_BYTES => {
            let plain = zstd::bulk::decompress(stored, plain_len)
                .map_err(|_| bad("compressed bytes do not decompress"))?;
            if plain.len() == plain_len { Ok(plain) } else { Err(bad("decompressed bytes are too few")) }
        }
        _ => Err(bad("a compression method is unknown")),
    }
}

/// A bundle that was read.
#[derive(Debug)]
pub(crate) struct Bundle {
    streams: [Vec<u8>; STREAMS],
}

impl Bundle {
    pub(crate) fn read(chunk: &[u8]) -> Result<Self> {
        let mut r = Reader::new(chunk);
        let mut heads = [(0u8, 0usize, 0usize); STREAMS];
        for head in &mut heads {
            *head = (r.u8()?, r.count(MAX_STREAM_BYTES)?, r.count(chunk.len())?);
        }
        let mut streams: [Vec<u8>; STREAMS] = Default::default();
        for (stream, (method, plain_len, stored_len)) in streams.iter_mut().zip(heads) {
            *stream = expand(method, r.take(stored_len)?, plain_len)?;
        }
        Ok(Self { streams })
    }

    /// The part of each stream that starts at `starts` and is `lens` long.
    pub(crate) fn part(&self, starts: &[usize; STREAMS], lens: &[usize; STREAMS]) -> Result<Part<'_>> {
        let slice = |i: usize| -> Result<Reader<'_>> {
            let end = starts[i].checked_add(lens[i]).ok_or_else(|| bad("a part is out of range"))?;
            let part = self.streams[i].get(starts[i]..end);
            Ok(Reader::new(part.ok_or_else(|| bad("a part lies outside its bundle"))?))
        };
        Ok(Part { meta: slice(0)?, bytes: slice(1)?, packed: slice(2)?, text: slice(3)? })
    }
}

/// One column's part of the four streams, being read front to back.
#[derive(Clone, Debug)]
pub(crate) struct Part<'a> {
    pub(crate) meta: Reader<'a>,
    pub(crate) bytes: Reader<'a>,
    pub(crate) packed: Reader<'a>,
    pub(crate) text: Reader<'a>,
}
