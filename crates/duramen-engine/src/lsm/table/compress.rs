//! The last byte of a data chunk: whether the block before it is compressed.
//!
//! ```text
//! chunk    block | 0                                              as it is
//!          compressed | length of the block u32 | 1 or 2          LZ4 block, Zstandard frame
//! ```

use super::block::Block;
use crate::lsm::Compression;
use crate::memory::{Pool, SharedBytes};
use crate::sstable::wire::Malformed;
use crate::{Error, Result};
use std::cell::RefCell;
use std::ops::Range;
use std::sync::Arc;

const PLAIN: u8 = 0;
const LZ4: u8 = 1;
const ZSTD: u8 = 2;

/// The longest block that is believed of a compressed chunk: a key, a value, and twice the largest `block_size`.
const MAX_BLOCK_BYTES: usize = crate::kv::MAX_VALUE_BYTES + crate::kv::MAX_KEY_BYTES + (2 << 20);

/// So many blocks are not tried, at most, after one that was not worth it: where nothing can be saved, one of 32 is tried;
/// where something can again, that is found out after no more.
const MOST_UNTRIED: u32 = 31;

/// Compresses the blocks of a table that are worth it.
#[derive(Debug)]
pub(super) struct Compressor {
    method: Method,
    /// How many of the next blocks are not tried.
    untried: u32,
    /// How many were not to be tried after the last that was not worth it; 0 if the last that was tried was.
    pause: u32,
}

enum Method {
    Lz4(Box<lz4_flex::block::CompressTable>),
    Zstd(zstd::bulk::Compressor<'static>),
}

impl std::fmt::Debug for Method {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Lz4(_) => "Lz4",
            Self::Zstd(_) => "Zstd",
        })
    }
}

impl Compressor {
    /// `None` for no compression.
    pub(super) fn new(compression: Compression) -> Result<Option<Self>> {
        let method = match compression {
            Compression::None => return Ok(None),
            Compression::Lz4 => Method::Lz4(Box::default()),
            Compression::Zstd(level) => {
                let refused = |e| Error::InvalidArgument(format!("zstd level {level}: {e}"));
                Method::Zstd(zstd::bulk::Compressor::new(level).map_err(refused)?)
            }
        };
        Ok(Some(Self { method, untried: 0, pause: 0 }))
    }

    /// Whether the next block is to stay as it is, since those before it did not become smaller.
    pub(super) fn passes_over(&mut self) -> bool {
        let untried = self.untried.checked_sub(1);
        self.untried = untried.unwrap_or_default();
        untried.is_some()
    }

    /// Appends a chunk's payload: the block compressed, or as it is where an eighth is not saved.
    pub(super) fn append(&mut self, block: &[u8], out: &mut Vec<u8>) {
        if self.try_append(block, out) {
            self.pause = 0;
            return;
        } else {
            self.pause = (2 * self.pause + 1).min(MOST_UNTRIED);
            self.untried = self.pause;
        }
        out.extend_from_slice(block);
        end_plain(out);
    }

    /// Appends the block compressed, if that saves an eighth.
    fn try_append(&mut self, block: &[u8], out: &mut Vec<u8>) -> bool {
        let start = out.len();
        out.resize(start + lz4_flex::block::get_maximum_output_size(block.len()), 0);
        let place = out.get_mut(start..).unwrap_or_default();
        let done = match &mut self.method {
            Method::Lz4(table) => {
                lz4_flex::block::compress_into_with_table(block, place, table).ok().map(|n| (n, LZ4))
            }
            Method::Zstd(zstd) => zstd.compress_to_buffer(block, place).ok().map(|n| (n, ZSTD)),
        };
        let worth_it = done.filter(|(len, _)| *len <= block.len() - block.len() / 8);
        match (worth_it, u32::try_from(block.len())) {
            (Some((len, kind)), Ok(block_len)) => {
                out.truncate(start + len);
                out.extend_from_slice(&block_len.to_le_bytes());
                out.push(kind);
                true
            }
            _ => {
                out.truncate(start);
                false
            }
        }
    }
}

/// Ends the payload of a chunk whose block is not compressed.
pub(super) fn end_plain(out: &mut Vec<u8>) {
    out.push(PLAIN);
}

/// The block of a chunk whose payload is `range` of `bytes`. Not compressed, it stays where it is; else it is unpacked
/// into memory of `pool`, if there is one.
pub(super) fn open(
    bytes: SharedBytes,
    range: Range<usize>,
    pool: Option<&Arc<Pool>>,
) -> Result<Block, Malformed> {
    let payload = bytes.get(range.clone()).ok_or("a block outside its bytes")?;
    let (&kind, body) = payload.split_last().ok_or("a chunk without a byte")?;
    if kind == PLAIN {
        return Block::parse(bytes, range.start..range.end - 1);
    }
    let (body, len) = body.split_last_chunk::<4>().ok_or("a compressed block without its length")?;
    let len = u32::from_le_bytes(*len) as usize;
    if len > MAX_BLOCK_BYTES {
        return Err("a compressed block that says it is longer than any");
    }
    let block = SharedBytes::new(len, pool, |place| {
        let found = match kind {
            LZ4 => lz4_flex::block::decompress_into(body, place).map_err(|_| "LZ4 that makes no sense")?,
            ZSTD => unzstd(body, place)?,
            _ => return Err("an unknown kind of compression"),
        };
        if found == len { Ok(()) } else { Err("a compressed block that is shorter than it says") }
    })?;
    Block::parse(block, 0..len)
}

/// A context is large: each thread keeps one.
fn unzstd(body: &[u8], place: &mut [u8]) -> Result<usize, Malformed> {
    thread_local! {
        static CONTEXT: RefCell<Option<zstd::bulk::Decompressor<'static>>> = const { RefCell::new(None) };
    }
    CONTEXT.with_borrow_mut(|context| {
        let context = match context {
            Some(context) => context,
            None => {
                let fresh =
                    zstd::bulk::Decompressor::new().map_err(|_| "no memory for a Zstandard context")?;
                context.insert(fresh)
            }
        };
        context.decompress_to_buffer(body, place).map_err(|_| "Zstandard that makes no sense")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kv::OpKind;
    use crate::lsm::table::block::BlockEncoder;
    use proptest::prelude::*;

    fn payload(compression: Compression, value: &[u8]) -> Vec<u8> {
        let mut encoder = BlockEncoder::new(16);
        encoder.add((b"key", 0), (7, OpKind::Put), value);
        let (mut block, mut out) = (Vec::new(), Vec::new());
        encoder.finish(&mut block);
        match Compressor::new(compression).unwrap() {
            Some(mut compressor) => compressor.append(&block, &mut out),
            None => {
                out.append(&mut block);
                end_plain(&mut out);
            }
        }
        out
    }

    const ALL: [Compression; 3] = [Compression::None, Compression::Lz4, Compression::Zstd(1)];

    #[test]
    fn what_saves_nothing_is_left_as_it_is() {
        let noise: Vec<u8> =
            (0..500u64).map(|i| xxhash_rust::xxh3::xxh3_64(&i.to_le_bytes()) as u8).collect();
        for (compression, kind) in ALL.into_iter().zip([PLAIN, LZ4, ZSTD]) {
            assert_eq!(*payload(compression, &[7; 500]).last().unwrap(), kind);
            assert_eq!(*payload(compression, &noise).last().unwrap(), PLAIN);
        }
    }

    #[test]
    fn noise_is_seldom_tried_and_text_behind_it_is_found() {
        let noise: Vec<u8> =
            (0..500u64).map(|i| xxhash_rust::xxh3::xxh3_64(&i.to_le_bytes()) as u8).collect();
        for compression in [Compression::Lz4, Compression::Zstd(1)] {
            let mut compressor = Compressor::new(compression).unwrap().unwrap();
            let mut compresses = |block: &[u8]| {
                if compressor.passes_over() {
                    return false;
                }
                let mut out = Vec::new();
                compressor.append(block, &mut out);
                *out.last().unwrap() != PLAIN
            };
            assert!(!compresses(&noise));
            // The first one is no reason to give up for long.
            assert_eq!([(); 3].map(|()| compresses(&[7; 500])), [false, true, true]);
            for _ in 0..200 {
                assert!(!compresses(&noise));
            }
            let untried = (0..100).position(|_| compresses(&[7; 500])).unwrap();
            assert!(untried <= MOST_UNTRIED as usize, "{untried}");
            assert_eq!([(); 3].map(|()| compresses(&[7; 500])), [true; 3]);
        }
    }

    #[test]
    fn a_length_no_block_has_is_not_believed() {
        let mut bytes = payload(Compression::Lz4, &[7; 500]);
        let at = bytes.len() - 5;
        bytes[at..at + 4].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(open(bytes.as_slice().into(), 0..bytes.len(), None).unwrap_err().contains("longer than any"));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]
        #[test]
        fn damage_is_no_panic(
            which in 0usize..3, at in any::<prop::sample::Index>(), flip in 1u8..,
            mut random in prop::collection::vec(any::<u8>(), 0..60), kind in 0u8..4,
        ) {
            let mut bytes = payload(ALL[which], &[7; 300]);
            let block = open(bytes.as_slice().into(), 0..bytes.len(), None).unwrap();
            prop_assert_eq!(block.find(b"key", 9).unwrap().unwrap().position.value.len(), 300);
            let at = at.index(bytes.len());
            bytes[at] ^= flip;
            random.extend([60, 0, 0, 0, kind]);
            for bytes in [bytes, random] {
                if let Ok(block) = open(bytes.as_slice().into(), 0..bytes.len(), None) {
                    let _ = block.find(b"key", 9);
                }
            }
        }
    }
}
