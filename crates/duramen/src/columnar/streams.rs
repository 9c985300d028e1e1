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
use super::{MAX_BLOCK_ROWS, TARGET_BLOCK_RAW_BYTES};
use crate::entry::MAX_ENTRY_BYTES;
use crate::error::{Error, Result};
use duramen_engine::memory;
use std::cell::RefCell;

/// How many streams there are.
pub(crate) const STREAMS: usize = 4;

/// The most bytes that a stream of a bundle may have before compression, and the decoded texts of a column:
/// 96 MiB. Blocks that stop at [`MAX_BLOCK_ROWS`] and [`TARGET_BLOCK_RAW_BYTES`] stay below it even if their
/// last entry is of the largest size there is, and no decoder allocates more for bytes that only claim so.
pub(crate) const MAX_STREAM_BYTES: usize = 96 << 20;

/// The longest text of a number that takes fewer bytes in an entry: 5e-324 in full, with its sign.
const LONGEST_NUMBER_BYTES: usize = 327;

const _: () = assert!(
    TARGET_BLOCK_RAW_BYTES as usize + MAX_ENTRY_BYTES + MAX_BLOCK_ROWS * LONGEST_NUMBER_BYTES
        <= MAX_STREAM_BYTES
);
const _: () = assert!(MAX_STREAM_BYTES <= u32::MAX as usize);

/// The most bytes that decoding one part may make on its way. A value takes at most 24 bytes beside its text
/// (an integer, a code, two ends), its text is there at most twice (with and without an affix), and there are at
/// most 8 Mi values (those of templates) besides the rows: 3.6 times [`MAX_STREAM_BYTES`].
const MAX_DECODED_BYTES: usize = 4 * MAX_STREAM_BYTES;

/// The most that a byte of a zstd frame can stand for: a block of 128 KiB may be 4 bytes, header and one to repeat.
const ZSTD_MAX_RATIO: usize = (128 << 10) / 4;

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

    /// Compresses with another level from now on.
    pub(crate) fn set_level(&mut self, level: i32) -> Result<()> {
        self.compressor.set_compression_level(level).map_err(zstd_error)
    }

    /// `method u8, plain_len varint, bytes`: for what is kept beside the blocks.
    pub(crate) fn packed(&mut self, plain: &[u8]) -> Result<Vec<u8>> {
        let mut body = Vec::new();
        let method = self.append(plain, &mut body)?;
        let mut out = vec![method];
        put_varint(&mut out, plain.len() as u64);
        out.extend_from_slice(if method == 0 { plain } else { &body });
        Ok(out)
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

thread_local! {
    /// Making a decompressor costs as much as decompressing a block's directory.
    static DECOMPRESSOR: RefCell<Option<zstd::bulk::Decompressor<'static>>> = const { RefCell::new(None) };
}

fn decompress(stored: &[u8], plain_len: usize) -> Result<Vec<u8>> {
    DECOMPRESSOR.with_borrow_mut(|kept| {
        let decompressor = match kept {
            Some(decompressor) => decompressor,
            None => kept.insert(zstd::bulk::Decompressor::new().map_err(zstd_error)?),
        };
        let mut plain = memory::room(plain_len);
        let done = decompressor.decompress_to_buffer(stored, &mut plain);
        done.map(|_| plain).map_err(|_| bad("compressed bytes do not decompress"))
    })
}

/// Undoes [`Zstd::append`]. Allocates no more than so many compressed bytes can stand for.
pub(crate) fn expand(method: u8, stored: &[u8], plain_len: usize) -> Result<Vec<u8>> {
    match method {
        0 if stored.len() == plain_len => Ok(stored.to_vec()),
        1 if plain_len > MAX_STREAM_BYTES.min(stored.len().saturating_mul(ZSTD_MAX_RATIO)) => {
            Err(bad("compressed bytes claim to be more than they can be"))
        }
        1 => {
            let plain = decompress(stored, plain_len)?;
            if plain.len() == plain_len { Ok(plain) } else { Err(bad("decompressed bytes are too few")) }
        }
        _ => Err(bad("a compression method is unknown")),
    }
}

/// Undoes [`Zstd::packed`], of at most so many bytes.
pub(crate) fn unpacked(packed: &[u8], most_bytes: usize) -> Result<Vec<u8>> {
    let mut r = Reader::new(packed);
    let method = r.u8()?;
    let plain_len = r.count(most_bytes)?;
    expand(method, r.rest(), plain_len)
}

/// A bundle that was read.
#[derive(Debug)]
pub(crate) struct Bundle {
    streams: [Vec<u8>; STREAMS],
}

/// Of each stream: method, length before compression, stored length.
fn read_heads(r: &mut Reader<'_>, chunk_len: usize) -> Result<[(u8, usize, usize); STREAMS]> {
    let mut heads = [(0u8, 0usize, 0usize); STREAMS];
    for head in &mut heads {
        *head = (r.u8()?, r.count(MAX_STREAM_BYTES)?, r.count(chunk_len)?);
    }
    Ok(heads)
}

impl Bundle {
    pub(crate) fn read(chunk: &[u8]) -> Result<Self> {
        let mut r = Reader::new(chunk);
        let heads = read_heads(&mut r, chunk.len())?;
        let mut streams: [Vec<u8>; STREAMS] = Default::default();
        for (stream, (method, plain_len, stored_len)) in streams.iter_mut().zip(heads) {
            *stream = expand(method, r.take(stored_len)?, plain_len)?;
        }
        Ok(Self { streams })
    }

    /// How many bytes each stream of a chunk has, before compression and as it is stored.
    pub(crate) fn sizes(chunk: &[u8]) -> Result<([usize; STREAMS], [usize; STREAMS])> {
        let heads = read_heads(&mut Reader::new(chunk), chunk.len())?;
        Ok((heads.map(|(_, plain, _)| plain), heads.map(|(.., stored)| stored)))
    }

    /// How many bytes it takes in memory.
    pub(crate) fn bytes(&self) -> usize {
        self.streams.iter().map(Vec::len).sum()
    }

    /// The text of all parts.
    pub(crate) fn text(&self) -> &[u8] {
        let [.., text] = &self.streams;
        text
    }

    /// As [`Bundle::text`].
    pub(crate) fn into_text(self) -> Vec<u8> {
        let [.., text] = self.streams;
        text
    }

    /// The part of each stream that starts at `starts` and is `lens` long.
    pub(crate) fn part(&self, starts: &[usize; STREAMS], lens: &[usize; STREAMS]) -> Result<Part<'_>> {
        let slice = |i: usize| -> Result<Reader<'_>> {
            let end = starts[i].checked_add(lens[i]).ok_or_else(|| bad("a part is out of range"))?;
            let part = self.streams[i].get(starts[i]..end);
            Ok(Reader::new(part.ok_or_else(|| bad("a part lies outside its bundle"))?))
        };
        let budget = MAX_DECODED_BYTES;
        Ok(Part { meta: slice(0)?, bytes: slice(1)?, packed: slice(2)?, text: slice(3)?, budget })
    }
}

/// One column's part of the four streams, being read front to back.
#[derive(Clone, Debug)]
pub(crate) struct Part<'a> {
    pub(crate) meta: Reader<'a>,
    pub(crate) bytes: Reader<'a>,
    pub(crate) packed: Reader<'a>,
    pub(crate) text: Reader<'a>,
    /// How many bytes decoding may still make.
    budget: usize,
}

/// A place in a part.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    /// How many bytes each stream still has there; none has more than [`MAX_STREAM_BYTES`].
    left: [u32; STREAMS],
}

impl Mark {
    /// Where in the text it is, if that had so many bytes to begin with.
    pub(crate) fn text_start(self, len: usize) -> usize {
        len.saturating_sub(self.left[3] as usize)
    }

    /// Where in the meta it is, if that had so many bytes to begin with.
    pub(crate) fn meta_start(self, len: usize) -> usize {
        len.saturating_sub(self.left[0] as usize)
    }

    /// So many bytes later in the text.
    pub(crate) fn later_in_text(mut self, bytes: u32) -> Self {
        self.left[3] = self.left[3].saturating_sub(bytes);
        self
    }
}

impl<'a> Part<'a> {
    /// Where it is.
    pub(crate) fn mark(&self) -> Mark {
        Mark {
            left: [&self.meta, &self.bytes, &self.packed, &self.text].map(|stream| stream.remaining() as u32),
        }
    }

    /// The same at a later place.
    ///
    /// # Errors
    /// [`Error::Decode`] if it is not as long.
    pub(crate) fn after(&self, mark: Mark) -> Result<Self> {
        let [meta, bytes, packed, text] = mark.left;
        Ok(Part {
            meta: self.meta.last(meta as usize)?,
            bytes: self.bytes.last(bytes as usize)?,
            packed: self.packed.last(packed as usize)?,
            text: self.text.last(text as usize)?,
            budget: self.budget,
        })
    }

    /// The same, with another budget.
    pub(crate) fn with_budget(&self, budget: usize) -> Self {
        Part { budget, ..self.clone() }
    }

    /// How many bytes decoding may still make.
    pub(crate) fn budget(&self) -> usize {
        self.budget
    }

    /// Accounts for bytes that a decoder makes: few bytes can stand for many (a constant a million times), and
    /// many times so in one part.
    ///
    /// # Errors
    /// [`Error::Decode`] if no encoder would have written so much.
    pub(crate) fn spend(&mut self, bytes: usize) -> Result<()> {
        self.budget = self.budget.checked_sub(bytes).ok_or_else(|| bad("it claims to hold too much"))?;
        Ok(())
    }
}

#[cfg(test)]
impl Streams {
    /// As it is after it was written and read.
    pub(crate) fn reread(&self) -> Bundle {
        let mut chunk = Vec::new();
        self.write(&mut Zstd::new(1).unwrap(), &mut chunk).unwrap();
        Bundle::read(&chunk).unwrap()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_allocated_than_the_stored_bytes_can_stand_for() {
        let plain = vec![7u8; 40 << 20];
        let mut stored = Vec::new();
        assert_eq!(Zstd::new(3).unwrap().append(&plain, &mut stored).unwrap(), 1);
        assert!(stored.len() < 8 << 10, "{}", stored.len());
        assert_eq!(expand(1, &stored, plain.len()).unwrap(), plain);
        let refused = |stored: &[u8], len: usize| {
            let error = expand(1, stored, len).unwrap_err();
            assert!(error.is_corruption());
            error.to_string().contains("more than they can be")
        };
        assert!(refused(&stored, MAX_STREAM_BYTES + 1));
        assert!(refused(&stored[..100], 90 << 20));
        assert!(!refused(&stored, plain.len() + 1));
    }

    #[test]
    fn a_bundle_that_claims_to_be_huge_is_refused() {
        let mut chunk = Vec::new();
        for len in [1u64 << 40, 0, 0, 0] {
            chunk.push(1);
            put_varint(&mut chunk, len);
            put_varint(&mut chunk, 0);
        }
        assert!(Bundle::read(&chunk).unwrap_err().is_corruption());
    }
}
