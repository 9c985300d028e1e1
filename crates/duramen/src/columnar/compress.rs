//! zstd, and how much of its time a text is worth.
//!
//! A high level pays by finding what comes again, and logs have much of that: each large text of the real logs we have becomes
//! 24 to 41 % smaller by level 8 than by level 1. Text of words and numbers in no order has only its letters' frequencies to be
//! compressed by, which each level finds. There level 8 takes eight times as long, and its bytes twice as long to decompress,
//! for 2 % fewer of them. A sample of a large text tells which of the two it is, but for what comes again from afar: that is
//! looked for in all of it.

use super::bytes::{Reader, bad, put_varint};
use super::encode::EncodeOptions;
use super::repeats;
use super::streams::MAX_STREAM_BYTES;
use crate::error::{Error, Result};
use duramen_engine::memory;
use std::cell::RefCell;
use zstd::bulk::Decompressor;
use zstd::zstd_safe::{CCtx, CParameter, DCtx, get_error_name};

/// The most that a byte of a zstd frame can stand for: a block of 128 KiB may be 4 bytes, header and one to repeat.
const ZSTD_MAX_RATIO: usize = (128 << 10) / 4;

/// What is compressed where more time gains little.
const QUICK_LEVEL: i32 = 1;
/// What the quick level is compared with, whatever the level that is asked for: lower ones do not find all that comes again,
/// higher ones gain by counting better.
const COMPARED_LEVEL: i32 = 8;
/// Of texts so large a sample is compressed first.
const SAMPLED_BYTES: usize = 2 << 20;
/// How large the sample is, which is taken from so many places. zstd has other settings for up to 256 KiB, which say nothing
/// about the whole.
const SAMPLE_BYTES: usize = 264 << 10;
const SAMPLE_PLACES: usize = 3;
/// A sample that the quick level makes so many times smaller repeats itself, and the rest of the text repeats it: of that the
/// sample shows little, and all levels are quick there.
const REPETITIVE_RATIO: usize = 4;
/// One in so many bytes that the quick level leaves is the least that the other level must take from a sample. It is more than
/// what it takes from the whole: being new to the text costs the quick level more.
const LEAST_GAIN: usize = 16;

/// The method of what is compressed with something else before it.
pub(crate) const AFTER: u8 = 2;

/// A compressor and its room, kept from block to block.
pub(crate) struct Zstd {
    compressor: zstd::bulk::Compressor<'static>,
    options: EncodeOptions,
    /// The compressor's level now.
    level: i32,
    /// For who puts several compressed parts together.
    pub(super) body: Vec<u8>,
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

/// What one of zstd's codes says.
fn code_error(code: usize) -> Error {
    zstd_error(get_error_name(code))
}

impl Zstd {
    pub(crate) fn new(options: EncodeOptions) -> Result<Self> {
        let mut compressor = zstd::bulk::Compressor::new(options.zstd_level).map_err(zstd_error)?;
        compressor.include_contentsize(false).map_err(zstd_error)?;
        compressor.include_dictid(false).map_err(zstd_error)?;
        compressor.include_checksum(false).map_err(zstd_error)?;
        Ok(Self { compressor, options, level: options.zstd_level, body: Vec::new() })
    }

    /// Compresses otherwise from now on.
    pub(crate) fn set_options(&mut self, options: EncodeOptions) -> Result<()> {
        self.options = options;
        self.set_level(options.zstd_level)
    }

    /// How it compresses.
    pub(crate) fn options(&self) -> EncodeOptions {
        self.options
    }

    fn set_level(&mut self, level: i32) -> Result<()> {
        self.compressor.set_compression_level(level).map_err(zstd_error)?;
        self.level = level;
        Ok(())
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
        let is_free = self.saves_time() && self.is_free_text(plain)?;
        self.append_known(plain, is_free, out)
    }

    /// The same of what is known to be free text, or not to be.
    pub(crate) fn append_known(&mut self, plain: &[u8], is_free: bool, out: &mut Vec<u8>) -> Result<u8> {
        if is_free { self.as_free_text(|zstd| zstd.compress(plain, out)) } else { self.compress(plain, out) }
    }

    fn saves_time(&self) -> bool {
        self.options.saves_time && self.options.zstd_level > QUICK_LEVEL
    }

    /// Calls `f` with a compressor that spends no more time on the text it is given than such of words in no order is worth.
    pub(crate) fn as_free_text<T>(&mut self, f: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.saves_time() { self.at_level(QUICK_LEVEL, f) } else { f(self) }
    }

    fn at_level<T>(&mut self, level: i32, f: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let before = self.level;
        self.set_level(level)?;
        let made = f(self);
        self.set_level(before)?;
        made
    }

    /// Whether a large text becomes hardly larger if it is compressed quickly, and if it is compressed in parts.
    pub(crate) fn is_free_text(&mut self, plain: &[u8]) -> Result<bool> {
        if plain.len() < SAMPLED_BYTES {
            return Ok(false);
        }
        let sample = &sample(plain);
        let quick = self.quickly_compressed_len(sample)?;
        let well = self.at_level(COMPARED_LEVEL, |zstd| zstd.compressed_len(sample))?;
        let is_free = quick * REPETITIVE_RATIO >= SAMPLE_BYTES && (quick - quick / LEAST_GAIN) < well;
        Ok(is_free && !repeats::comes_again_far(plain))
    }

    /// How many bytes the quick level leaves.
    pub(crate) fn quickly_compressed_len(&mut self, plain: &[u8]) -> Result<usize> {
        self.at_level(QUICK_LEVEL, |zstd| zstd.compressed_len(plain))
    }

    fn compressed_len(&mut self, plain: &[u8]) -> Result<usize> {
        let mut out = Vec::new();
        let method = self.compress(plain, &mut out)?;
        Ok(if method == 0 { plain.len() } else { out.len() })
    }

    /// Appends `plain` as it is compressed by who has read `before`, and says [`AFTER`]; or appends nothing and says 0 if that
    /// gains nothing.
    pub(crate) fn append_after(&mut self, before: &[u8], plain: &[u8], out: &mut Vec<u8>) -> Result<u8> {
        let mut context = CCtx::try_create().ok_or_else(|| zstd_error("no memory"))?;
        let parameters = [
            CParameter::CompressionLevel(self.level),
            CParameter::ContentSizeFlag(false),
            CParameter::DictIdFlag(false),
            CParameter::ChecksumFlag(false),
        ];
        for parameter in parameters {
            context.set_parameter(parameter).map_err(code_error)?;
        }
        context.ref_prefix(before).map_err(code_error)?;
        let method = append_if_less(plain, out, |out| context.compress2(out, plain).map_err(code_error))?;
        Ok(method * AFTER)
    }

    fn compress(&mut self, plain: &[u8], out: &mut Vec<u8>) -> Result<u8> {
        append_if_less(plain, out, |out| self.compressor.compress_to_buffer(plain, out).map_err(zstd_error))
    }
}

/// Appends what `compress` writes, and says 1; or nothing, and says 0, if it is no less.
fn append_if_less(
    plain: &[u8],
    out: &mut Vec<u8>,
    compress: impl FnOnce(&mut [u8]) -> Result<usize>,
) -> Result<u8> {
    if plain.len() < 24 {
        return Ok(0);
    }
    let start = out.len();
    let room = zstd::zstd_safe::compress_bound(plain.len());
    out.resize(start + room, 0);
    let n = compress(&mut out[start..])?;
    if n >= plain.len() {
        out.truncate(start);
        return Ok(0);
    }
    out.truncate(start + n);
    Ok(1)
}

/// Parts of a text of at least [`SAMPLED_BYTES`], as far from each other as from its ends.
pub(super) fn sample(plain: &[u8]) -> Vec<u8> {
    const PART_BYTES: usize = SAMPLE_BYTES / SAMPLE_PLACES;
    let gap = plain.len().saturating_sub(SAMPLE_BYTES) / (SAMPLE_PLACES + 1);
    let parts = (0..SAMPLE_PLACES).map(|nth| gap + nth * (gap + PART_BYTES));
    parts.flat_map(|start| plain.iter().skip(start).take(PART_BYTES)).copied().collect()
}

thread_local! {
    /// Making a decompressor costs as much as decompressing a block's directory.
    static DECOMPRESSOR: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
}

fn with_decompressor<T>(f: impl FnOnce(&mut Decompressor<'static>) -> std::io::Result<T>) -> Result<T> {
    DECOMPRESSOR.with_borrow_mut(|kept| {
        let decompressor = match kept {
            Some(decompressor) => decompressor,
            None => kept.insert(Decompressor::new().map_err(zstd_error)?),
        };
        f(decompressor).map_err(|_| bad("compressed bytes do not decompress"))
    })
}

fn decompress(stored: &[u8], plain_len: usize) -> Result<Vec<u8>> {
    let mut plain = memory::room(plain_len);
    with_decompressor(|zstd| zstd.decompress_to_buffer(stored, &mut plain)).map(|_len| plain)
}

/// Whether so many compressed bytes can stand for so many.
fn check_claim(stored: &[u8], plain_len: usize) -> Result<()> {
    if plain_len > MAX_STREAM_BYTES.min(stored.len().saturating_mul(ZSTD_MAX_RATIO)) {
        return Err(bad("compressed bytes claim to be more than they can be"));
    }
    Ok(())
}

/// Undoes [`Zstd::append`]. Allocates no more than so many compressed bytes can stand for.
pub(crate) fn expand(method: u8, stored: &[u8], plain_len: usize) -> Result<Vec<u8>> {
    match method {
        0 if stored.len() == plain_len => Ok(stored.to_vec()),
        1 => {
            check_claim(stored, plain_len)?;
            let plain = decompress(stored, plain_len)?;
            if plain.len() == plain_len { Ok(plain) } else { Err(bad("decompressed bytes are too few")) }
        }
        _ => Err(bad("a compression method is unknown")),
    }
}

/// Undoes [`Zstd::append_after`]. Allocates no more than so many compressed bytes can stand for.
pub(crate) fn expand_after(before: &[u8], stored: &[u8], plain_len: usize) -> Result<Vec<u8>> {
    check_claim(stored, plain_len)?;
    let mut context = DCtx::try_create().ok_or_else(|| zstd_error("no memory"))?;
    context.ref_prefix(before).map_err(code_error)?;
    let mut plain = memory::room(plain_len);
    let damaged = |_code| bad("compressed bytes do not decompress");
    context.decompress(&mut plain, stored).map_err(damaged)?;
    if plain.len() == plain_len { Ok(plain) } else { Err(bad("decompressed bytes are too few")) }
}

/// Undoes [`Zstd::append`], of a text that is as long as `plain`, where it is wanted.
pub(crate) fn expand_into(method: u8, stored: &[u8], plain: &mut [u8]) -> Result<()> {
    let len = match method {
        0 if stored.len() == plain.len() => {
            plain.copy_from_slice(stored);
            stored.len()
        }
        1 => with_decompressor(|zstd| zstd.decompress_to_buffer(stored, plain))?,
        _ => return expand(method, stored, plain.len()).map(drop),
    };
    if len == plain.len() { Ok(()) } else { Err(bad("decompressed bytes are too few")) }
}

/// Undoes [`Zstd::packed`], of at most so many bytes.
pub(crate) fn unpacked(packed: &[u8], most_bytes: usize) -> Result<Vec<u8>> {
    let mut r = Reader::new(packed);
    let method = r.u8()?;
    let plain_len = r.count(most_bytes)?;
    expand(method, r.rest(), plain_len)
}

#[cfg(test)]
impl Zstd {
    pub(crate) fn of_level(zstd_level: i32) -> Self {
        Self::new(EncodeOptions { zstd_level, saves_time: false, ..EncodeOptions::default() }).unwrap()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write as _;

    /// Words and numbers in no order.
    fn free_text(bytes: usize) -> String {
        let mut state = 1u64;
        let mut below = |n: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 32) % n
        };
        let mut word =
            |letters: u64| -> String { (0..letters).map(|_| (b'a' + below(26) as u8) as char).collect() };
        let words: Vec<String> = (0..32).map(|i| word(4 + i % 7)).collect();
        let mut text = String::new();
        while text.len() < bytes {
            match below(6) {
                0 => write!(text, "{} ", below(100_000)).unwrap(),
                1 => write!(text, "{:08x} ", below(1 << 32)).unwrap(),
                _ => write!(text, "{} ", words[below(32) as usize]).unwrap(),
            }
        }
        text.truncate(bytes);
        text
    }

    /// What each line of a log has, with numbers in it.
    fn lines(bytes: usize) -> String {
        let mut text = String::new();
        let ids = free_text(1 << 20);
        for (n, id) in ids.split(' ').cycle().enumerate() {
            writeln!(text, "GET /shop/{id}/item?number={} HTTP/1.1 200 {}", n * 7919 % 9973, n % 17).unwrap();
            if text.len() >= bytes {
                break;
            }
        }
        text
    }

    fn compressed(options: EncodeOptions, plain: &str) -> Vec<u8> {
        let mut zstd = Zstd::new(options).unwrap();
        let mut stored = b"before".to_vec();
        assert_eq!(zstd.append(plain.as_bytes(), &mut stored).unwrap(), 1);
        let small = &plain[..100_000];
        let end = stored.len();
        zstd.append(small.as_bytes(), &mut stored).unwrap();
        let level = options.zstd_level;
        let mut at_level = Vec::new();
        Zstd::of_level(level).append(small.as_bytes(), &mut at_level).unwrap();
        assert!(stored[end..] == at_level, "the level is as before");
        assert!(stored.starts_with(b"before"));
        assert!(expand(1, &stored[6..end], plain.len()).unwrap() == plain.as_bytes());
        stored[6..end].to_vec()
    }

    #[test]
    fn large_texts_that_a_high_level_makes_hardly_smaller_are_compressed_quickly() {
        let at =
            |zstd_level, saves_time| EncodeOptions { zstd_level, saves_time, ..EncodeOptions::default() };
        let usual = EncodeOptions::default().zstd_level;
        let free = free_text(2 << 20);
        let quick = compressed(at(1, false), &free);
        assert!(compressed(EncodeOptions::default(), &free) == quick);
        assert!(compressed(at(usual, false), &free) != quick);
        let lines = lines(2 << 20);
        let well = compressed(at(usual, false), &lines);
        assert!(compressed(EncodeOptions::default(), &lines) == well);
        assert!(compressed(at(1, false), &lines) != well);
        // Too little to be worth a sample.
        let less = &free[..SAMPLED_BYTES - 1];
        assert!(compressed(EncodeOptions::default(), less) == compressed(at(usual, false), less));
    }

    #[test]
    fn what_was_before_is_needed_to_read_what_came_after() {
        let before = free_text(100_000);
        let plain = format!("{}!{}", &before[60_000..], &before[..50_000]);
        let mut stored = b"x".to_vec();
        let method =
            Zstd::of_level(8).append_after(before.as_bytes(), plain.as_bytes(), &mut stored).unwrap();
        assert_eq!(method, AFTER);
        let stored = &stored[1..];
        assert!(stored.len() < 100, "{}", stored.len());
        assert_eq!(expand_after(before.as_bytes(), stored, plain.len()).unwrap(), plain.as_bytes());
        for (before, stored, len) in [
            (&before[..], &stored[..stored.len() - 1], plain.len()),
            (&before, stored, plain.len() - 1),
            (&before, stored, plain.len() + 1),
            (&before, stored, usize::MAX),
            (&before[..40_000], stored, plain.len()),
            ("", stored, plain.len()),
        ] {
            assert!(expand_after(before.as_bytes(), stored, len).unwrap_err().is_corruption());
        }
        assert!(expand(AFTER, stored, plain.len()).unwrap_err().is_corruption());
        // What gains nothing is not written.
        let mut nothing = Vec::new();
        assert_eq!(Zstd::of_level(8).append_after(before.as_bytes(), b"too short", &mut nothing).unwrap(), 0);
        assert!(nothing.is_empty());
    }

    #[test]
    fn no_more_is_allocated_than_the_stored_bytes_can_stand_for() {
        let plain = vec![7u8; 40 << 20];
        let mut stored = Vec::new();
        assert_eq!(Zstd::of_level(3).append(&plain, &mut stored).unwrap(), 1);
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
}
