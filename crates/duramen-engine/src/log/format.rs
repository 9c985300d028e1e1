//! Every byte of the file `LOG`. All integers are little-endian; every checksum is CRC-32C.
//!
//! ```text
//! file    header | base frame * any number | batch and part frames * any number | mark frame, if any
//!
//! header (64 bytes)
//!  0  magic           8   "DURALOG\0"
//!  8  format version  4   1
//! 12  store id        8   random
//! 20  generation      8   one more each time the file is rewritten
//! 28  base end        8   where the base frames end: all before was on the device before the file got its name
//! 36  base seq        8   the sequence number of the last write that they stand for; 0 if there is none
//! 44  CRC             4   of bytes 0..44
//! 48  boot            8   the run of the machine that last opened the file to write; not under the CRC
//! 56  zero            8
//!
//! frame (21 bytes and the payload)
//!  0  CRC             4   of the payload, then store id and generation, then bytes 4..21 of the frame
//!  4  len             4   of the payload
//!  8  seq             8
//! 16  kind            1
//! 17  unsynced        4   how many bytes before this frame were not known to be on the device when it was
//!                         written; 0xffffffff: that many or more
//! 21  payload         len
//! ```
//!
//! | kind | payload | `seq` | |
//! |---|---|---|---|
//! | 1 batch | a batch (`kv/batch.rs`) | its first write's | visible with all parts right before it |
//! | 2 part | a batch | its first write's | waits for the batch that follows |
//! | 3 base | a batch | that up to which it says what there is | what rewriting the file has kept |
//! | 4 mark | none | the next write's | all before it is on the device; the next frame is written over it |
//!
//! The payload comes first under the CRC, so that the long part is computed before the append lock is taken. With
//! store and generation under it, what lay in the file's blocks before never passes for a frame of this one.

use crate::kv::MAX_BATCH_BYTES;
use crate::{Error, Result};
use std::path::Path;

pub(super) const VERSION: u32 = 1;
pub(super) const HEADER_BYTES: usize = 64;
pub(super) const FRAME_BYTES: usize = 21;
/// Where the word `boot` lies.
pub(super) const BOOT_AT: u64 = 48;
/// What lies behind it in the header is zero.
pub(super) const ZERO_AT: usize = 56;
/// The longest payload. A batch counts more for its writes than they take.
pub(super) const MAX_PAYLOAD_BYTES: usize = MAX_BATCH_BYTES;
/// The largest sequence number that the base frames can stand for: no log gets there.
const MAX_BASE_SEQ: u64 = u64::MAX >> 1;
/// The first bytes of a log.
pub(crate) const MAGIC: &[u8; 8] = b"DURALOG\0";

/// Which file frames belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) store_id: u64,
    pub(super) generation: u64,
}

/// What the header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) identity: Identity,
    pub(super) base_end: u64,
    pub(super) base_seq: u64,
    pub(super) boot: u64,
}

impl Header {
    pub(super) fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[0..8].copy_from_slice(MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        bytes[12..20].copy_from_slice(&self.identity.store_id.to_le_bytes());
        bytes[20..28].copy_from_slice(&self.identity.generation.to_le_bytes());
        bytes[28..36].copy_from_slice(&self.base_end.to_le_bytes());
        bytes[36..44].copy_from_slice(&self.base_seq.to_le_bytes());
        let crc = crc32c::crc32c(&bytes[0..44]);
        bytes[44..48].copy_from_slice(&crc.to_le_bytes());
        bytes[48..56].copy_from_slice(&self.boot.to_le_bytes());
        bytes
    }

    /// Of a file that begins with `bytes`. A log gets its name once it is synced, so its header is never half
    /// written.
    pub(super) fn decode(path: &Path, bytes: &[u8]) -> Result<Self> {
        let Some(header) = bytes.get(..HEADER_BYTES) else {
            let detail = format!("it is {} bytes long, too short for a log", bytes.len());
            return Err(Error::corruption(path, 0, detail));
        };
        if !header.starts_with(MAGIC) {
            let detail = "it does not begin with a log's magic: not a log, or overwritten";
            return Err(Error::corruption(path, 0, detail));
        }
        if crc32c::crc32c(&header[0..44]) != u32_at(header, 44) {
            return Err(Error::corruption(path, 0, "the checksum of the header does not match"));
        }
        match u32_at(header, 8) {
            VERSION => {}
            0 => return Err(Error::corruption(path, 8, "the header has format version 0, which never was")),
            found => {
                return Err(Error::TooNew { path: path.to_path_buf(), found, supported: VERSION });
            }
        }
        let base_end = u64_at(header, 28);
        if base_end < HEADER_BYTES as u64 {
            return Err(Error::corruption(path, 28, format!("the base frames end at byte {base_end}")));
        }
        if u64_at(header, 36) > MAX_BASE_SEQ {
            return Err(Error::corruption(path, 36, "the sequence number leaves none for the next write"));
        }
        if u64_at(header, 20) == u64::MAX {
            return Err(Error::corruption(path, 20, "the generation leaves none for the next"));
        }
        Ok(Self {
            identity: Identity { store_id: u64_at(header, 12), generation: u64_at(header, 20) },
            base_end,
            base_seq: u64_at(header, 36),
            boot: u64_at(header, 48),
        })
    }
}

/// What a frame is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    Batch = 1,
    Part = 2,
    Base = 3,
    Mark = 4,
}

impl Kind {
    fn from_u8(byte: u8) -> Option<Self> {
        match byte {
            1 => Some(Self::Batch),
            2 => Some(Self::Part),
            3 => Some(Self::Base),
            4 => Some(Self::Mark),
            _ => None,
        }
    }
}

/// What precedes a payload, the CRC aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FrameHeader {
    pub(super) len: usize,
    pub(super) seq: u64,
    pub(super) kind: Kind,
    pub(super) unsynced: u32,
}

impl FrameHeader {
    /// With what is known at `at`, of a file that is synced up to `synced`.
    pub(super) fn new(kind: Kind, seq: u64, len: usize, at: u64, synced: u64) -> Self {
        let unsynced = u32::try_from(at.saturating_sub(synced)).unwrap_or(u32::MAX);
        Self { len, seq, kind, unsynced }
    }

    /// Writes it into the first [`FRAME_BYTES`] of `frame`, of which the rest is the payload.
    pub(super) fn put(&self, frame: &mut [u8], payload_crc: u32, identity: Identity) {
        frame[4..8].copy_from_slice(&(self.len as u32).to_le_bytes());
        frame[8..16].copy_from_slice(&self.seq.to_le_bytes());
        frame[16] = self.kind as u8;
        frame[17..21].copy_from_slice(&self.unsynced.to_le_bytes());
        let crc = seal(payload_crc, identity, &frame[4..FRAME_BYTES]);
        frame[0..4].copy_from_slice(&crc.to_le_bytes());
    }

    /// What the bytes say, unchecked: only that they could be a frame's.
    pub(super) fn peek(bytes: &[u8]) -> Option<Self> {
        let bytes = bytes.get(..FRAME_BYTES)?;
        let (len, kind) = (u32_at(bytes, 4) as usize, Kind::from_u8(bytes[16])?);
        let fits = if kind == Kind::Mark { len == 0 } else { len <= MAX_PAYLOAD_BYTES };
        fits.then(|| Self { len, seq: u64_at(bytes, 8), kind, unsynced: u32_at(bytes, 17) })
    }

    /// Up to where the file was on the device when the frame at `at` was written.
    pub(super) fn synced_through(&self, at: u64) -> u64 {
        if self.unsynced == u32::MAX { 0 } else { at.saturating_sub(u64::from(self.unsynced)) }
    }
}

/// Whether the checksum of a whole frame holds.
pub(super) fn verifies(frame: &[u8], identity: Identity) -> bool {
    let Some((header, payload)) = frame.split_at_checked(FRAME_BYTES) else { return false };
    seal(crc32c::crc32c(payload), identity, &header[4..]) == u32_at(header, 0)
}

/// The checksum that a frame carries.
pub(super) fn checksum_of(frame: &[u8]) -> Option<u32> {
    frame.first_chunk().map(|word| u32::from_le_bytes(*word))
}

/// A frame's checksum, of what `header` is without it.
pub(super) fn seal(payload_crc: u32, identity: Identity, header: &[u8]) -> u32 {
    let crc = crc32c::crc32c_append(payload_crc, &identity.store_id.to_le_bytes());
    let crc = crc32c::crc32c_append(crc, &identity.generation.to_le_bytes());
    crc32c::crc32c_append(crc, header)
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|b| b.try_into().ok()).map_or(0, u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).and_then(|b| b.try_into().ok()).map_or(0, u64::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ID: Identity = Identity { store_id: 7, generation: 3 };

    fn frame(header: FrameHeader, payload: &[u8]) -> Vec<u8> {
        let mut frame = vec![0; FRAME_BYTES];
        frame.extend_from_slice(payload);
        header.put(&mut frame, crc32c::crc32c(payload), ID);
        frame
    }

    #[test]
    fn a_header_comes_back_and_any_wrong_byte_is_noticed() {
        let header = Header { identity: ID, base_end: 100, base_seq: 9, boot: 5 };
        let path = Path::new("LOG");
        let bytes = header.encode();
        assert_eq!(Header::decode(path, &bytes).unwrap(), header);
        for at in 0..48 {
            let mut wrong = bytes;
            wrong[at] ^= 1;
            assert!(Header::decode(path, &wrong).unwrap_err().is_corruption(), "byte {at}");
        }
        let mut newer = bytes;
        newer[8] = 2;
        let crc = crc32c::crc32c(&newer[0..44]);
        newer[44..48].copy_from_slice(&crc.to_le_bytes());
        assert!(matches!(Header::decode(path, &newer), Err(Error::TooNew { found: 2, .. })));
        let last = Header { identity: Identity { generation: u64::MAX, ..ID }, ..header };
        let error = Header::decode(path, &last.encode()).unwrap_err();
        assert!(error.is_corruption() && error.to_string().contains("generation"), "{error}");
        let last = Header { base_seq: u64::MAX - 1, ..header };
        let error = Header::decode(path, &last.encode()).unwrap_err();
        assert!(error.is_corruption() && error.to_string().contains("sequence number"), "{error}");
    }

    proptest! {
        #[test]
        fn a_frame_comes_back_and_any_wrong_bit_is_noticed(payload: Vec<u8>, seq: u64, unsynced: u32, bit: prop::sample::Index) {
            let header = FrameHeader { len: payload.len(), seq, kind: Kind::Part, unsynced };
            let mut bytes = frame(header, &payload);
            prop_assert_eq!(FrameHeader::peek(&bytes), Some(header));
            prop_assert!(verifies(&bytes, ID));
            let another = Identity { generation: 4, ..ID };
            prop_assert!(!verifies(&bytes, another));
            let bit = bit.index(bytes.len() * 8);
            bytes[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(!verifies(&bytes, ID));
        }

        #[test]
        fn any_bytes_are_decoded_without_panic(bytes: Vec<u8>) {
            let _any = (FrameHeader::peek(&bytes), verifies(&bytes, ID), Header::decode(Path::new("LOG"), &bytes));
        }
    }

    #[test]
    fn what_was_synced_is_never_overstated() {
        let near = FrameHeader::new(Kind::Batch, 1, 0, 1000, 900);
        assert_eq!(near.synced_through(1000), 900);
        let far = FrameHeader::new(Kind::Batch, 1, 0, 1 << 40, 900);
        assert_eq!(far.synced_through(1 << 40), 0);
        assert_eq!(near.synced_through(10), 0);
    }
}
