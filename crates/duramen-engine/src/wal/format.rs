//! Every byte of a segment. All integers are little-endian.
//!
//! # Header: the first 4096 bytes
//!
//! ```text
//!  offset
//!       0  magic           8  "DURAWAL\0"
//!       8  format version  4  2
//!      12  kind            4  1 mapped, 2 written
//!      16  writer id       8
//!      24  number          8  as in the file's name
//!      32  capacity        8  bytes reserved for the file when it was made
//!      40  boot            8  which run of the machine it was made in; 0 if that was not known
//!      48  log's first     8  the sequence number of the writer's very first record
//!      56  behind          4  its number less that of the newest segment with records when it was made (0: none);
//!                            0 if that is not known
//!      60  CRC-32C         4  of bytes 0..60
//!     128  first seq       8  counter: 0, or the sequence number of the first record
//!     192  committed       8  counter: bytes of the file that hold finished records (mapped segments)
//!     256  sealed          8  counter: 0, or the final length
//!     320  synced          8  counter: bytes that were on the device when it was last raised
//!     384  published       8  counter: bytes handed to the kernel (written segments)
//!          zero            …
//! ```
//!
//! The identity (0..64) never changes, so one CRC covers it, and it keeps its place in every version. The
//! counters change all the time and are read by other processes: each is one aligned word, which is read and
//! written whole, on a cache line of its own, so that those who follow one do not slow those who raise
//! another. They lie outside the CRC; a recovery believes the records, and the counters only where they
//! accuse (`synced` says that bytes were there which are not; so do `committed` and `published`, as long as the
//! machine was not started anew).
//!
//! # Records: from byte 4096 on, back to back
//!
//! ```text
//!  0  checksum  4
//!  4  len       4  of the payload
//!  8  seq       8  of the first entry in it
//! 16  kind      1  0..=239 the caller's, 240.. the WAL's own
//! 17  count     3  how many sequence numbers it takes; 0 for the WAL's own
//! 20  payload   len
//! ```
//!
//! The checksum is the low half of the XXH3-64 of writer id, segment number and bytes 4..20 of the record, seeded with
//! the XXH3-64 of the payload. So the long part is computed before the writer's lock is taken, and only the
//! short rest, which nobody but the holder of the lock knows, after. With writer and segment inside, bytes that lay in
//! the blocks of the file before, or that were copied from another segment, never pass for records of this one. (A
//! CRC-32C of the same bytes took three times as long where records are some hundred bytes, as those of logs are.)
//! A record is the unit of atomicity: a batch is one record with a count, so all of it is there or nothing.
//! Sequence numbers leave no gap: a record's is that of the record before plus its count, across segments,
//! so that a lost one cannot go unnoticed. Lengths are not padded: nothing needs aligned payloads, and short
//! records are the common ones.
//!
//! # The WAL's own records
//!
//! ```text
//! 240 SYNC   number 8 | offset 8   everything before this place of that segment, and every segment before
//!                                  it, was on the device: damage there is damage, not a torn tail
//! 241 SEAL   bytes 8 | records 8   the last record: the file's final length, this record included, and how
//!                                  many of the caller's records are in it
//! 242 PREV   number 8 | bytes 8    in front of the first record, if the writer had a segment before: that one, and
//!                                  its final length. If it is neither there nor flushed, records are missing
//! ```
//!
//! A SYNC is written in front of the next record after the sync, not at once: it costs no sync of its own, and
//! what it proves only matters if something follows.

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// The first bytes of a segment.
pub const MAGIC: [u8; 8] = *b"DURAWAL\0";
/// The format version this build writes, and the newest it reads.
pub const FORMAT_VERSION: u32 = 2;
/// Where the first record lies.
pub const FIRST_RECORD: usize = 4096;
/// Length of what precedes a record's payload.
pub const RECORD_HEADER_BYTES: usize = 20;
/// The highest kind a caller may use.
pub const KIND_CALLER_MAX: u8 = 239;
/// Kind of a record that says how far a segment is on the device.
pub const KIND_SYNC: u8 = 240;
/// Kind of the last record of a sealed segment.
pub const KIND_SEAL: u8 = 241;
/// Kind of the record that says which segment came before.
pub const KIND_PREV: u8 = 242;
/// The most sequence numbers one record can take.
pub const COUNT_MAX: u32 = (1 << 24) - 1;
/// The longest segment: offsets in it fit 32 bits with room to spare.
pub const MAX_SEGMENT_BYTES: usize = 2 << 30;

/// Counter: 0, or the sequence number of the first record.
pub(super) const FIRST_SEQ: usize = 128;
/// Counter: bytes of the file that hold finished records, in a mapped segment.
pub(super) const COMMITTED: usize = 192;
/// Counter: 0, or the final length.
pub(super) const SEALED: usize = 256;
/// Counter: bytes that were on the device.
pub(super) const SYNCED: usize = 320;
/// Counter: bytes handed to the kernel, in a written segment.
pub(super) const PUBLISHED: usize = 384;

/// Length of the part of the header that its CRC covers, the CRC included.
pub(super) const IDENTITY_BYTES: usize = 64;
/// Payload length of both of the WAL's own records.
pub(super) const OWN_PAYLOAD_BYTES: usize = 16;
/// Length of either of the WAL's own records.
pub(super) const OWN_RECORD_BYTES: usize = RECORD_HEADER_BYTES + OWN_PAYLOAD_BYTES;
/// Room that a segment keeps for the WAL's own: a PREV and a SYNC before the record, the SEAL after it.
pub(super) const RESERVED_BYTES: usize = 3 * OWN_RECORD_BYTES;

/// Whose segment it is, and which: what every record's checksum is bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentId {
    /// The writer.
    pub writer_id: u64,
    /// The segment's number, from 1.
    pub number: u64,
}

/// Whether other processes see a writer's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SegmentKind {
    /// The writer's memory is the file.
    Mapped,
    /// The writer writes its memory to the file.
    Written,
}

/// The part of the header that never changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Whose and which.
    pub id: SegmentId,
    /// Mapped or written.
    pub kind: SegmentKind,
    /// Bytes reserved for the file when it was made.
    pub capacity: u64,
    /// Which run of the machine it was made in ([`Clock::boot_id`](crate::io::Clock::boot_id)): in a later
    /// one its counters tell nothing.
    pub boot_id: u64,
    /// The sequence number of the writer's very first record, so that its loss can be noticed.
    pub log_first_seq: u64,
    /// How far its number is behind that of the newest segment with records when it was made, 0 standing for none: the
    /// segments between took nothing. 0 if that is not known, as an earlier version wrote.
    pub behind: u32,
}

/// Why bytes are not an [`Identity`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IdentityError {
    /// They are something else, or damaged.
    Damaged(&'static str),
    /// A newer version wrote them.
    TooNew(u32),
}

impl Identity {
    /// Its bytes.
    pub fn encode(&self) -> [u8; IDENTITY_BYTES] {
        let mut out = [0u8; IDENTITY_BYTES];
        let kind: u32 = match self.kind {
            SegmentKind::Mapped => 1,
            SegmentKind::Written => 2,
        };
        out[0..8].copy_from_slice(&MAGIC);
        out[8..12].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
        out[12..16].copy_from_slice(&kind.to_le_bytes());
        out[16..24].copy_from_slice(&self.id.writer_id.to_le_bytes());
        out[24..32].copy_from_slice(&self.id.number.to_le_bytes());
        out[32..40].copy_from_slice(&self.capacity.to_le_bytes());
        out[40..48].copy_from_slice(&self.boot_id.to_le_bytes());
        out[48..56].copy_from_slice(&self.log_first_seq.to_le_bytes());
        out[56..60].copy_from_slice(&self.behind.to_le_bytes());
        let crc = crc32c::crc32c(&out[..60]);
        out[60..64].copy_from_slice(&crc.to_le_bytes());
        out
    }

    /// Reads them back.
    ///
    /// # Errors
    /// [`IdentityError`], for any bytes but those that [`Identity::encode`] makes.
    pub fn decode(bytes: &[u8]) -> Result<Self, IdentityError> {
        let damaged = |what| Err(IdentityError::Damaged(what));
        let Some(bytes) = bytes.first_chunk::<IDENTITY_BYTES>() else {
            return damaged("the header is cut short");
        };
        if bytes[..8] != MAGIC {
            return damaged("this is not a WAL segment: the magic number is wrong");
        }
        if crc32c::crc32c(&bytes[..60]) != u32_at(bytes, 60) {
            return damaged("the header's checksum is wrong");
        }
        let version = u32_at(bytes, 8);
        if version > FORMAT_VERSION {
            return Err(IdentityError::TooNew(version));
        }
        if version != FORMAT_VERSION {
            return damaged("the segment has an older format: read it with the build that wrote it");
        }
        let kind = match u32_at(bytes, 12) {
            1 => SegmentKind::Mapped,
            2 => SegmentKind::Written,
            _ => return damaged("the header names an unknown kind of segment"),
        };
        Ok(Self {
            id: SegmentId { writer_id: u64_at(bytes, 16), number: u64_at(bytes, 24) },
            kind,
            capacity: u64_at(bytes, 32),
            boot_id: u64_at(bytes, 40),
            log_first_seq: u64_at(bytes, 48),
            behind: u32_at(bytes, 56),
        })
    }

    /// The newest segment with records when it was made, 0 for none, if that is known.
    pub(super) fn follows(&self) -> Option<u64> {
        self.id.number.checked_sub(u64::from(self.behind)).filter(|_| self.behind != 0)
    }
}

/// What precedes a record's payload, without the checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordHeader {
    /// Length of the payload in bytes.
    pub len: u32,
    /// Sequence number of the first entry.
    pub seq: u64,
    /// What it is.
    pub kind: u8,
    /// How many sequence numbers it takes; at most [`COUNT_MAX`].
    pub count: u32,
}

impl RecordHeader {
    /// Its bytes, and the checksum before them. `payload_hash` is the [`payload_hash`] of the payload.
    #[inline]
    pub fn encode(&self, id: SegmentId, payload_hash: u64) -> [u8; RECORD_HEADER_BYTES] {
        // Put together in registers: words that are read across the ends of what was just stored are waited for.
        let last = u32::from(self.kind) | self.count << 8;
        let fields = [u64::from(self.len) | self.seq << 32, self.seq >> 32 | u64::from(last) << 32];
        let mut out = [0u8; RECORD_HEADER_BYTES];
        out[..4].copy_from_slice(&checksum(id, payload_hash, fields).to_le_bytes());
        out[4..12].copy_from_slice(&fields[0].to_le_bytes());
        out[12..].copy_from_slice(&fields[1].to_le_bytes());
        out
    }

    /// Reads the fields at the start of `bytes`, unverified; `None` if there are fewer than a header takes.
    #[inline]
    pub fn peek(bytes: &[u8]) -> Option<Self> {
        let bytes = bytes.first_chunk::<RECORD_HEADER_BYTES>()?;
        let tail = u32_at(bytes, 16);
        Some(Self { len: u32_at(bytes, 4), seq: u64_at(bytes, 8), kind: tail as u8, count: tail >> 8 })
    }

    /// Length of the record, header included.
    pub fn record_len(&self) -> usize {
        RECORD_HEADER_BYTES + self.len as usize
    }

    /// The sequence number of what follows; `None` if there is none left.
    pub fn next_seq(&self) -> Option<u64> {
        self.seq.checked_add(u64::from(self.count))
    }
}

/// The record at the start of `bytes`: its header and payload, if all of it is there and its checksum holds.
#[inline]
pub fn decode_record(id: SegmentId, bytes: &[u8]) -> Option<(RecordHeader, &[u8])> {
    let header_bytes = bytes.first_chunk::<RECORD_HEADER_BYTES>()?;
    let header = RecordHeader::peek(bytes)?;
    let payload = bytes.get(RECORD_HEADER_BYTES..header.record_len())?;
    let fields = [u64_at(header_bytes, 4), u64_at(header_bytes, 12)];
    let checksum = checksum(id, payload_hash(payload), fields);
    (checksum == u32_at(header_bytes, 0)).then_some((header, payload))
}

/// What a record's checksum says of its payload: the XXH3-64.
#[inline]
pub fn payload_hash(payload: &[u8]) -> u64 {
    xxh3_64(payload)
}

/// Binds the hash of a payload to its record, segment and writer. `fields` are the header's bytes behind the checksum.
#[inline]
fn checksum(id: SegmentId, payload_hash: u64, fields: [u64; 2]) -> u32 {
    let mut bound = [0; 32];
    bound[..8].copy_from_slice(&id.writer_id.to_le_bytes());
    bound[8..16].copy_from_slice(&id.number.to_le_bytes());
    bound[16..24].copy_from_slice(&fields[0].to_le_bytes());
    bound[24..].copy_from_slice(&fields[1].to_le_bytes());
    xxh3_64_with_seed(&bound, payload_hash) as u32
}

/// The payload of a SYNC or a SEAL: two numbers.
pub(super) fn encode_own(a: u64, b: u64) -> [u8; OWN_PAYLOAD_BYTES] {
    let mut out = [0u8; OWN_PAYLOAD_BYTES];
    out[..8].copy_from_slice(&a.to_le_bytes());
    out[8..].copy_from_slice(&b.to_le_bytes());
    out
}

/// Reads it back.
pub(super) fn decode_own(payload: &[u8]) -> Option<(u64, u64)> {
    let bytes: &[u8; OWN_PAYLOAD_BYTES] = payload.try_into().ok()?;
    Some((u64_at(bytes, 0), u64_at(bytes, 8)))
}

#[inline]
fn u32_at<const N: usize>(bytes: &[u8; N], at: usize) -> u32 {
    let mut word = [0u8; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(word)
}

#[inline]
fn u64_at<const N: usize>(bytes: &[u8; N], at: usize) -> u64 {
    let mut word = [0u8; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ID: SegmentId = SegmentId { writer_id: 0x0123_4567_89AB_CDEF, number: 42 };

    fn record(kind: u8, count: u32, seq: u64, payload: &[u8]) -> Vec<u8> {
        let header = RecordHeader { len: payload.len() as u32, seq, kind, count };
        let mut out = header.encode(ID, payload_hash(payload)).to_vec();
        out.extend_from_slice(payload);
        out
    }

    proptest! {
        #[test]
        fn a_record_comes_back(kind: u8, count in 0..=COUNT_MAX, seq: u64, payload: Vec<u8>) {
            let bytes = record(kind, count, seq, &payload);
            let (header, found) = decode_record(ID, &bytes).unwrap();
            prop_assert_eq!(header, RecordHeader { len: payload.len() as u32, seq, kind, count });
            prop_assert_eq!(found, &payload[..]);
        }

        #[test]
        fn a_flipped_bit_anywhere_is_noticed(seq: u64, payload: Vec<u8>, bit: prop::sample::Index) {
            let mut bytes = record(1, 1, seq, &payload);
            let bit = bit.index(bytes.len() * 8);
            bytes[bit / 8] ^= 1 << (bit % 8);
            prop_assert_eq!(decode_record(ID, &bytes), None);
        }

        #[test]
        fn another_segment_s_record_is_refused(writer_id: u64, number: u64, payload: Vec<u8>) {
            let other = SegmentId { writer_id, number };
            prop_assume!(other != ID);
            let bytes = record(1, 1, 1, &payload);
            prop_assert_eq!(decode_record(other, &bytes), None);
        }

        #[test]
        fn any_bytes_are_decoded_without_panic(bytes: Vec<u8>) {
            let _any = (decode_record(ID, &bytes), Identity::decode(&bytes), decode_own(&bytes));
        }

        #[test]
        fn a_header_comes_back(writer_id: u64, number: u64, capacity: u64, boot_id: u64, log_first_seq: u64, behind: u32, mapped: bool) {
            let kind = if mapped { SegmentKind::Mapped } else { SegmentKind::Written };
            let id = SegmentId { writer_id, number };
            let identity = Identity { id, kind, capacity, boot_id, log_first_seq, behind };
            prop_assert_eq!(Identity::decode(&identity.encode()), Ok(identity));
        }
    }

    #[test]
    fn zeros_are_no_record() {
        assert_eq!(decode_record(ID, &[0; 4096]), None);
    }

    #[test]
    fn a_newer_header_says_its_version() {
        let kind = SegmentKind::Mapped;
        let identity = Identity { id: ID, kind, capacity: 0, boot_id: 0, log_first_seq: 1, behind: 1 };
        let mut bytes = identity.encode();
        bytes[8] = 9;
        let crc = crc32c::crc32c(&bytes[..60]);
        bytes[60..].copy_from_slice(&crc.to_le_bytes());
        assert_eq!(Identity::decode(&bytes), Err(IdentityError::TooNew(9)));
    }

    #[test]
    fn the_bytes_are_as_drawn() {
        let bytes = record(7, 3, 0x1122_3344_5566_7788, b"ab");
        assert_eq!(bytes[4..8], [2, 0, 0, 0]);
        assert_eq!(bytes[8..16], [0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11]);
        assert_eq!(bytes[16..20], [7, 3, 0, 0]);
        let mut covered = ID.writer_id.to_le_bytes().to_vec();
        covered.extend_from_slice(&ID.number.to_le_bytes());
        covered.extend_from_slice(&bytes[4..20]);
        assert_eq!(bytes[..4], xxh3_64_with_seed(&covered, xxh3_64(b"ab")).to_le_bytes()[..4]);
    }
}
