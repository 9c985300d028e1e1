//! The bytes of a table file. All numbers are little-endian; every checksum is CRC-32C.
//!
//! ```text
//! file   header | chunk frames of block 0 | of block 1 | ... | filters, and chunks of no block | index frame
//!        | properties frame | footer
//!
//! header (20 bytes)          its form never changes, so that any version can tell which one wrote a file
//!  0      8         12        16       20
//!  +------+---------+---------+--------+
//!  | magic| version | codec id| crc32c |   magic "DURA\rSST"; crc of bytes 0..16
//!  +------+---------+---------+--------+
//!
//! frame
//!  0      4         8
//!  +------+---------+----------------
//!  | len  | crc32c  | payload: len bytes      crc of the four bytes of len and the payload
//!  +------+---------+----------------
//!
//! footer (56 bytes)
//!  0              8            12                  20                 24        32       36        44       48     56
//!  +--------------+------------+-------------------+------------------+---------+--------+---------+--------+------+
//!  | index offset | index len  | properties offset | properties len   | entries | blocks | zero    | crc32c | magic|
//!  +--------------+------------+-------------------+------------------+---------+--------+---------+--------+------+
//!                 offsets and lengths of payloads, without frames;  crc of bytes 0..44;  magic "TSSARUD\n"
//! ```
//!
//! The index frame starts where the chunks end, the properties frame where the index ends, and the footer
//! where the properties end: a file that lost or gained bytes does not fit.

use super::ChunkHandle;
use crate::{Error, Result};
use std::path::Path;

/// The most bytes a chunk may have: 1 GiB. Codecs stay far below it, for a chunk is read at once.
pub const MAX_CHUNK_BYTES: usize = 1 << 30;

pub(super) const VERSION: u32 = 3;
/// Where the filters of a block lie in it, and all else is as it is now.
const VERSION_OF_FILTERS_INSIDE: u32 = 2;
/// Where a block has one filter at most, and all else is as in the version after it.
const VERSION_BEFORE_FILTERS: u32 = 1;
pub(crate) const HEADER_BYTES: usize = 20;
/// How many bytes precede the payload of a chunk: its length and checksum.
pub const FRAME_BYTES: usize = 8;
pub(crate) const FOOTER_BYTES: usize = 56;
/// The first bytes of a table.
pub(crate) const HEADER_MAGIC: &[u8; 8] = b"DURA\rSST";
const FOOTER_MAGIC: &[u8; 8] = b"TSSARUD\n";

/// The header of a table in the present version.
pub(super) fn encode_header(codec_id: u32) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    header[0..8].copy_from_slice(HEADER_MAGIC);
    header[8..12].copy_from_slice(&VERSION.to_le_bytes());
    header[12..16].copy_from_slice(&codec_id.to_le_bytes());
    let crc = crc32c::crc32c(&header[0..16]);
    header[16..20].copy_from_slice(&crc.to_le_bytes());
    header
}

/// Checks a header and returns the codec id.
pub(super) fn decode_header(path: &Path, header: &[u8; HEADER_BYTES]) -> Result<u32> {
    if &header[0..8] != HEADER_MAGIC {
        return Err(Error::corruption(
            path,
            0,
            "it does not begin with a table's magic: not a table, or overwritten",
        ));
    }
    if crc32c::crc32c(&header[0..16]) != u32_at(header, 16) {
        return Err(Error::corruption(path, 0, "the checksum of the header does not match"));
    }
    match u32_at(header, 8) {
        VERSION | VERSION_OF_FILTERS_INSIDE | VERSION_BEFORE_FILTERS => Ok(u32_at(header, 12)),
        0 => Err(Error::corruption(path, 8, "the header has format version 0, which never was")),
        found => Err(Error::TooNew { path: path.to_path_buf(), found, supported: VERSION }),
    }
}

/// The checksum of a frame.
pub(super) fn frame_crc(payload: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&(payload.len() as u32).to_le_bytes()), payload)
}

/// The eight bytes before a payload.
pub(super) fn encode_frame(payload: &[u8]) -> [u8; FRAME_BYTES] {
    let mut frame = [0; FRAME_BYTES];
    frame[0..4].copy_from_slice(&(payload.len() as u32).to_le_bytes());
    frame[4..8].copy_from_slice(&frame_crc(payload).to_le_bytes());
    frame
}

/// Whether bytes are a footer, perhaps a damaged one: its magic or its checksum is right.
pub(crate) fn could_be_footer(bytes: &[u8]) -> bool {
    let sound = |bytes: &[u8; FOOTER_BYTES]| {
        bytes.ends_with(FOOTER_MAGIC) || crc32c::crc32c(&bytes[0..44]) == u32_at(bytes, 44)
    };
    bytes.try_into().is_ok_and(sound)
}

/// What the footer says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Footer {
    pub(super) index: ChunkHandle,
    pub(super) properties: ChunkHandle,
    pub(super) entries: u64,
    pub(super) blocks: u32,
}

impl Footer {
    pub(super) fn encode(&self) -> [u8; FOOTER_BYTES] {
        let mut footer = [0; FOOTER_BYTES];
        footer[0..8].copy_from_slice(&self.index.offset.to_le_bytes());
        footer[8..12].copy_from_slice(&self.index.len.to_le_bytes());
        footer[12..20].copy_from_slice(&self.properties.offset.to_le_bytes());
        footer[20..24].copy_from_slice(&self.properties.len.to_le_bytes());
        footer[24..32].copy_from_slice(&self.entries.to_le_bytes());
        footer[32..36].copy_from_slice(&self.blocks.to_le_bytes());
        let crc = crc32c::crc32c(&footer[0..44]);
        footer[44..48].copy_from_slice(&crc.to_le_bytes());
        footer[48..56].copy_from_slice(FOOTER_MAGIC);
        footer
    }

    /// Checks the last bytes of a file that is `file_bytes` long.
    pub(super) fn decode(path: &Path, footer: &[u8; FOOTER_BYTES], file_bytes: u64) -> Result<Self> {
        let at = file_bytes.saturating_sub(FOOTER_BYTES as u64);
        if &footer[48..56] != FOOTER_MAGIC {
            return Err(Error::corruption(
                path,
                at,
                "it does not end with a table's footer: cut short or overwritten",
            ));
        }
        if crc32c::crc32c(&footer[0..44]) != u32_at(footer, 44) {
            return Err(Error::corruption(path, at, "the checksum of the footer does not match"));
        }
        let decoded = Self {
            index: ChunkHandle { offset: u64_at(footer, 0), len: u32_at(footer, 8) },
            properties: ChunkHandle { offset: u64_at(footer, 12), len: u32_at(footer, 20) },
            entries: u64_at(footer, 24),
            blocks: u32_at(footer, 32),
        };
        let first = (HEADER_BYTES + FRAME_BYTES) as u64;
        let after_index = decoded.index.end().and_then(|end| end.checked_add(FRAME_BYTES as u64));
        if decoded.index.offset < first
            || after_index != Some(decoded.properties.offset)
            || decoded.properties.end() != Some(at)
        {
            let detail = format!(
                "index and properties do not fill the file up to the footer: {file_bytes} bytes long"
            );
            return Err(Error::corruption(path, at, detail));
        }
        Ok(decoded)
    }

    /// Where the chunks end and the index frame begins.
    pub(super) fn chunks_end(&self) -> u64 {
        self.index.offset - FRAME_BYTES as u64
    }
}

impl ChunkHandle {
    /// Where the payload ends, if that is a number.
    pub(super) fn end(&self) -> Option<u64> {
        self.offset.checked_add(u64::from(self.len))
    }

    /// Where its frame starts.
    pub(super) fn frame_start(&self) -> Option<u64> {
        self.offset.checked_sub(FRAME_BYTES as u64)
    }
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|b| b.try_into().ok()).map_or(0, u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).and_then(|b| b.try_into().ok()).map_or(0, u64::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_newer_version_is_told_from_damage() {
        let path = Path::new("t.sst");
        let mut header = encode_header(7);
        assert_eq!(decode_header(path, &header).unwrap(), 7);
        for (version, is_read) in [(1, true), (2, true), (4, false), (0, false)] {
            header[8] = version;
            assert!(decode_header(path, &header).unwrap_err().is_corruption(), "its checksum is of another");
            let crc = crc32c::crc32c(&header[0..16]);
            header[16..20].copy_from_slice(&crc.to_le_bytes());
            assert_eq!(decode_header(path, &header).is_ok(), is_read, "{version}");
        }
        header[8] = 4;
        let crc = crc32c::crc32c(&header[0..16]);
        header[16..20].copy_from_slice(&crc.to_le_bytes());
        assert!(matches!(decode_header(path, &header), Err(Error::TooNew { found: 4, supported: 3, .. })));
    }

    proptest! {
        #[test]
        fn random_bytes_are_no_header_and_no_footer(
            bytes in prop::collection::vec(any::<u8>(), FOOTER_BYTES), len in any::<u64>(), seal in any::<bool>()
        ) {
            let mut footer: [u8; FOOTER_BYTES] = bytes[..].try_into().unwrap();
            if seal {
                let crc = crc32c::crc32c(&footer[0..44]);
                footer[44..48].copy_from_slice(&crc.to_le_bytes());
                footer[48..56].copy_from_slice(FOOTER_MAGIC);
            }
            let path = Path::new("t.sst");
            prop_assert!(Footer::decode(path, &footer, len).is_err());
            let header: [u8; HEADER_BYTES] = bytes[..HEADER_BYTES].try_into().unwrap();
            prop_assert!(decode_header(path, &header).is_err());
        }
    }
}
