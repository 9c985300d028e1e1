//! Where encoders put their bytes: four streams, each compressed as suits what it holds.
//!
//! Columns are small and many, or large and few. Large ones get a chunk of their own; small ones share one,
//! a *bundle*: each of the four streams of a bundle holds one column's bytes after another's, so that a
//! compressor sees much of one kind instead of little of everything. A column knows how long its part of
//! each stream is (the directory says), and reads it front to back.
//!
//! ```text
//! bundle (one chunk):
//!   4 times  method u8        0 stored, 1 zstd, 2 zstd after the same stream of the bundle's base (`directory`),
//!                             3 what the integers of the bundle's key do not tell (`keyed`),
//!                             4 the codes of a page's text (`symbols`)
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
use super::compress::{AFTER, Zstd, expand, expand_after, expand_into};
use super::keyed::{self, Area};
use super::symbols::SymbolTable;
use super::{MAX_BLOCK_ROWS, TARGET_BLOCK_RAW_BYTES};
use crate::entry::MAX_ENTRY_BYTES;
use crate::error::Result;
use std::sync::OnceLock;

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

/// The method of a stream of integers that mostly follow from those of a key.
const KEYED: u8 = 3;

/// The method of a page's text that is codes of its column's symbols.
const SYMBOLS: u8 = 4;

/// How many bytes of a bundle may be decompressed for another, all streams together: what zstd makes in a millisecond.
pub(crate) const MAX_NEEDED_BYTES: usize = 1 << 20;

/// What is read before a bundle, if it needs others.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Before<'a> {
    pub(crate) base: Option<&'a Bundle>,
    pub(crate) key: Option<&'a Bundle>,
}

/// The four streams, being written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Streams {
    pub(crate) meta: Vec<u8>,
    pub(crate) bytes: Vec<u8>,
    pub(crate) packed: Vec<u8>,
    pub(crate) text: Vec<u8>,
    /// Whether the text is free ([`Zstd::is_free_text`]), if somebody has looked.
    pub(crate) is_free: Option<bool>,
    /// Where the most integers lie as planes.
    pub(crate) area: Area,
    /// Of a column: how many values it has, and in which slots, one bit each; nothing if in all.
    pub(crate) values: usize,
    pub(crate) slots: Vec<u64>,
}

impl Streams {
    pub(crate) fn clear(&mut self) {
        self.is_free = None;
        self.area = Area::default();
        self.values = 0;
        self.slots.clear();
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

    pub(crate) fn all(&self) -> [&Vec<u8>; STREAMS] {
        [&self.meta, &self.bytes, &self.packed, &self.text]
    }

    /// Appends all four of another.
    pub(crate) fn append(&mut self, other: &Self) {
        self.meta.extend_from_slice(&other.meta);
        self.bytes.extend_from_slice(&other.bytes);
        self.packed.extend_from_slice(&other.packed);
        self.text.extend_from_slice(&other.text);
    }

    /// Says where integers lie.
    pub(crate) fn note_area(&mut self, area: Area) {
        if area.count > self.area.count {
            self.area = area;
        }
    }

    /// Compresses into `out`, which is cleared first. Says how many bytes each stream takes.
    pub(crate) fn write(&self, zstd: &mut Zstd, out: &mut Vec<u8>) -> Result<[usize; STREAMS]> {
        self.write_after(&Self::default(), None, zstd, out)
    }

    /// The same, of what `base` is read before; and if others tell most of its integers, with what takes the place of `bytes`.
    pub(crate) fn write_after(
        &self,
        base: &Self,
        keyed: Option<&[u8]>,
        zstd: &mut Zstd,
        out: &mut Vec<u8>,
    ) -> Result<[usize; STREAMS]> {
        out.clear();
        let mut body = std::mem::take(&mut zstd.body);
        body.clear();
        let mut stored = [0; STREAMS];
        for (i, (plain, before)) in self.all().into_iter().zip(base.all()).enumerate() {
            let start = body.len();
            // Packed bits are random to a compressor: trying costs time and gives nothing.
            let method = match (i, self.is_free) {
                (1, _) if let Some(keyed) = keyed => {
                    body.extend_from_slice(keyed);
                    KEYED
                }
                _ if !before.is_empty() => zstd.append_after(before, plain, &mut body)?,
                (2, _) => 0,
                (3, Some(is_free)) => zstd.append_known(plain, is_free, &mut body)?,
                _ => zstd.append(plain, &mut body)?,
            };
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

/// Of a bundle of text alone, so many bytes: the method, and what is stored.
fn text_of(chunk: &[u8], len: usize) -> Result<(u8, &[u8])> {
    let mut r = Reader::new(chunk);
    let [rest @ .., (method, plain_len, stored_len)] = read_heads(&mut r, chunk.len())?;
    if plain_len != len || rest != [(0, 0, 0); STREAMS - 1] {
        return Err(bad("a page has other bytes than its text"));
    }
    Ok((method, r.take(stored_len)?))
}

/// Reads a bundle of text alone, that is as long as `text`, and may be codes of these symbols.
pub(crate) fn read_text_into(chunk: &[u8], symbols: Option<&SymbolTable>, text: &mut [u8]) -> Result<()> {
    match (text_of(chunk, text.len())?, symbols) {
        ((SYMBOLS, codes), Some(symbols)) => symbols.decode(codes, text),
        ((method, stored), _) => expand_into(method, stored, text),
    }
}

/// The same of at least the first `enough` bytes; those of `text` behind them mean nothing.
pub(crate) fn read_start_of_text_into(
    chunk: &[u8],
    symbols: Option<&SymbolTable>,
    enough: usize,
    text: &mut [u8],
) -> Result<()> {
    match (text_of(chunk, text.len())?, symbols) {
        ((SYMBOLS, codes), Some(symbols)) => symbols.decode_start(codes, enough, text),
        ((method, stored), _) => expand_into(method, stored, text),
    }
}

/// Writes a bundle of text alone, so many bytes, of which there are the codes. Says how many bytes each stream takes.
pub(crate) fn write_codes(text_len: usize, codes: &[u8], out: &mut Vec<u8>) -> [usize; STREAMS] {
    out.clear();
    out.extend_from_slice(&[0; 3 * (STREAMS - 1)]);
    out.push(SYMBOLS);
    put_varint(out, text_len as u64);
    put_varint(out, codes.len() as u64);
    out.extend_from_slice(codes);
    [0, 0, 0, codes.len()]
}

/// A bundle that was read, or some streams of it.
#[derive(Debug, Default)]
pub(crate) struct Bundle {
    streams: [OnceLock<Vec<u8>>; STREAMS],
}

/// All streams of a bundle.
pub(crate) const ALL: &[usize] = &[0, 1, 2, 3];
/// Meta and text, the streams that letters are in.
pub(crate) const LETTERS: &[usize] = &[0, 3];
/// The stream of integers as bytes, which those of other bundles may follow from.
pub(crate) const INTEGERS: &[usize] = &[1];

/// Of each stream: method, length before compression, stored length.
fn read_heads(r: &mut Reader<'_>, chunk_len: usize) -> Result<[(u8, usize, usize); STREAMS]> {
    let mut heads = [(0u8, 0usize, 0usize); STREAMS];
    for head in &mut heads {
        *head = (r.u8()?, r.count(MAX_STREAM_BYTES)?, r.count(chunk_len)?);
    }
    Ok(heads)
}

impl Bundle {
    /// Reads these of its streams, having read the same of what it needs.
    pub(crate) fn read_more(&self, chunk: &[u8], before: Before<'_>, streams: &[usize]) -> Result<()> {
        let mut r = Reader::new(chunk);
        let heads = read_heads(&mut r, chunk.len())?;
        for (i, (method, plain_len, stored_len)) in heads.into_iter().enumerate() {
            let stored = r.take(stored_len)?;
            if !streams.contains(&i) {
                continue;
            }
            let plain = match (method, before) {
                (AFTER, Before { base: Some(base), .. }) => {
                    expand_after(base.read_stream(i)?, stored, plain_len)?
                }
                (KEYED, Before { key: Some(key), .. }) if i == 1 => {
                    keyed::decode(key.read_stream(1)?, stored, plain_len)?
                }
                _ => expand(method, stored, plain_len)?,
            };
            // If somebody else was sooner, it is the same.
            let _theirs = self.streams[i].set(plain);
        }
        Ok(())
    }

    /// Whether these were read.
    pub(crate) fn has(&self, streams: &[usize]) -> bool {
        streams.iter().all(|&i| self.streams[i].get().is_some())
    }

    /// A stream that was read.
    fn read_stream(&self, i: usize) -> Result<&[u8]> {
        self.streams[i].get().map(Vec::as_slice).ok_or_else(|| bad("what a bundle needs was not read"))
    }

    /// A stream; nothing if it was not read.
    fn stream(&self, i: usize) -> &[u8] {
        self.streams[i].get().map_or(&[], Vec::as_slice)
    }

    /// Reads one of so much text, and nothing else, which may be codes of these symbols.
    pub(crate) fn read_text(chunk: &[u8], symbols: Option<&SymbolTable>, len: usize) -> Result<Self> {
        let text = match (text_of(chunk, len)?, symbols) {
            ((SYMBOLS, codes), Some(symbols)) => symbols.text(codes, len)?,
            ((method, stored), _) => expand(method, stored, len)?,
        };
        Ok(Self { streams: [Vec::new(), Vec::new(), Vec::new(), text].map(OnceLock::from) })
    }

    /// How many bytes each stream of a chunk has, before compression and as it is stored.
    pub(crate) fn sizes(chunk: &[u8]) -> Result<([usize; STREAMS], [usize; STREAMS])> {
        let heads = read_heads(&mut Reader::new(chunk), chunk.len())?;
        Ok((heads.map(|(_, plain, _)| plain), heads.map(|(.., stored)| stored)))
    }

    /// How many bytes it takes in memory.
    pub(crate) fn bytes(&self) -> usize {
        (0..STREAMS).map(|i| self.stream(i).len()).sum()
    }

    /// The text of all parts.
    pub(crate) fn text(&self) -> &[u8] {
        self.stream(3)
    }

    /// As [`Bundle::text`].
    pub(crate) fn into_text(self) -> Vec<u8> {
        let [.., text] = self.streams;
        text.into_inner().unwrap_or_default()
    }

    /// The part of each stream that starts at `starts` and is `lens` long.
    pub(crate) fn part(&self, starts: &[usize; STREAMS], lens: &[usize; STREAMS]) -> Result<Part<'_>> {
        let slice = |i: usize| -> Result<Reader<'_>> {
            let end = starts[i].checked_add(lens[i]).ok_or_else(|| bad("a part is out of range"))?;
            let part = self.stream(i).get(starts[i]..end);
            Ok(Reader::new(part.ok_or_else(|| bad("a part lies outside its bundle"))?))
        };
        let budget = MAX_DECODED_BYTES;
        Ok(Part { meta: slice(0)?, bytes: slice(1)?, packed: slice(2)?, text: slice(3)?, budget })
    }

    /// The same without integers.
    pub(crate) fn letters(&self, starts: &[usize; STREAMS], lens: &[usize; STREAMS]) -> Result<Part<'_>> {
        let only = |of: &[usize; STREAMS]| [of[0], 0, 0, of[3]];
        self.part(&only(starts), &only(lens))
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
        self.write(&mut Zstd::of_level(1), &mut chunk).unwrap();
        Bundle::read(&chunk, Before::default()).unwrap()
    }
}

#[cfg(test)]
impl Bundle {
    /// Reads a bundle, having read what it needs.
    pub(crate) fn read(chunk: &[u8], before: Before<'_>) -> Result<Self> {
        let bundle = Self::default();
        bundle.read_more(chunk, before, ALL)?;
        Ok(bundle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bundle_that_claims_to_be_huge_is_refused() {
        let mut chunk = Vec::new();
        for len in [1u64 << 40, 0, 0, 0] {
            chunk.push(1);
            put_varint(&mut chunk, len);
            put_varint(&mut chunk, 0);
        }
        assert!(Bundle::read(&chunk, Before::default()).unwrap_err().is_corruption());
    }

    #[test]
    fn letters_are_read_first_and_integers_when_they_are_needed() {
        let of = |fill: u8| Streams {
            meta: vec![fill; 30],
            bytes: (0..200).map(|i: u8| i.wrapping_mul(91) ^ fill).collect(),
            packed: vec![fill + 2; 50],
            text: vec![fill + 3; 60],
            ..Streams::default()
        };
        let (base, own) = (of(10), of(10));
        let mut chunk = Vec::new();
        own.write_after(&base, None, &mut Zstd::of_level(1), &mut chunk).unwrap();
        let letters_of_base = Bundle::default();
        let mut base_chunk = Vec::new();
        base.write(&mut Zstd::of_level(1), &mut base_chunk).unwrap();
        letters_of_base.read_more(&base_chunk, Before::default(), LETTERS).unwrap();
        let bundle = Bundle::default();
        let before = |base| Before { base: Some(base), key: None };
        assert!(bundle.read_more(&chunk, before(&letters_of_base), ALL).is_err(), "the base is needed");
        let bundle = Bundle::default();
        bundle.read_more(&chunk, before(&letters_of_base), LETTERS).unwrap();
        assert!(bundle.has(LETTERS) && !bundle.has(INTEGERS) && !bundle.has(ALL));
        let (starts, lens) = ([10; STREAMS], [20; STREAMS]);
        let part = bundle.letters(&starts, &lens).unwrap();
        assert_eq!((part.meta.rest(), part.text.rest()), (&[10; 20][..], &[13; 20][..]));
        assert_eq!((part.bytes.remaining(), part.packed.remaining()), (0, 0));
        assert!(bundle.part(&starts, &lens).unwrap_err().is_corruption(), "they are not there yet");
        bundle.read_more(&chunk, before(&base.reread()), ALL).unwrap();
        let part = bundle.part(&starts, &lens).unwrap();
        assert_eq!((part.bytes.rest(), part.packed.rest()), (&own.bytes[10..30], &[12; 20][..]));
        assert_eq!(bundle.bytes(), own.total());
    }

    #[test]
    fn codes_without_their_symbols_are_refused() {
        let table = SymbolTable::read(&[1, 2, b'a', b'b']).unwrap();
        let mut chunk = Vec::new();
        let codes = [0x00, 0x11, 0x06];
        assert_eq!(write_codes(3, &codes, &mut chunk), [0, 0, 0, 3]);
        let mut text = [0; 3];
        read_text_into(&chunk, Some(&table), &mut text).unwrap();
        assert_eq!(&text, b"aba");
        assert_eq!(Bundle::read_text(&chunk, Some(&table), 3).unwrap().text(), b"aba");
        let other = SymbolTable::read(&[0]).unwrap();
        for symbols in [None, Some(&other)] {
            assert!(read_text_into(&chunk, symbols, &mut text).unwrap_err().is_corruption());
            assert!(Bundle::read_text(&chunk, symbols, 3).unwrap_err().is_corruption());
        }
        assert!(Bundle::read(&chunk, Before::default()).unwrap_err().is_corruption(), "no page");
    }
}
