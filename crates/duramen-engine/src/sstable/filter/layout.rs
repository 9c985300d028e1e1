//! Where a hash's three positions lie, and how that is written.
//!
//! ```text
//! filter    kind u8 | layout | fingerprints, to the end
//! kind 0    nothing more: the empty set
//! kind 1    three blocks   seed u8 | slots in a block, varint              fingerprints: 3 * that
//! kind 2    binary fuse    seed u8 | log2 of slots in a segment u8 | segments a hash may start in, varint
//!                                                                   fingerprints: (segments + 2) << log2
//! ```

use crate::sstable::wire::{Malformed, Reader, put_varint};

/// The largest segment: 2^18 slots, as in the paper; larger ones gain nothing and miss the cache.
pub(super) const MAX_SEGMENT_LOG2: u8 = 18;

/// Where positions lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// No keys, no slots.
    Empty,
    /// Three blocks of `slots` each, one position in each.
    Blocks { slots: u32 },
    /// `segments + 2` segments of `1 << log2` slots, positions in three neighbours.
    Fuse { log2: u8, segments: u32 },
}

impl Layout {
    /// How many slots there are.
    pub(super) fn len(self) -> u64 {
        match self {
            Self::Empty => 0,
            Self::Blocks { slots } => 3 * u64::from(slots),
            Self::Fuse { log2, segments } => (u64::from(segments) + 2) << log2,
        }
    }

    /// The three positions of a mixed hash: different, and below [`Layout::len`] (all 0 if that is 0).
    #[inline]
    pub(super) fn positions(self, hash: u64) -> [usize; 3] {
        match self {
            Self::Empty => [0; 3],
            Self::Blocks { slots } => {
                let slots = u64::from(slots);
                let third = |bits: u32| (u64::from(bits) * slots) >> 32;
                let a = third(hash as u32);
                let b = third(hash.rotate_left(21) as u32) + slots;
                let c = third(hash.rotate_left(42) as u32) + 2 * slots;
                [a as usize, b as usize, c as usize]
            }
            Self::Fuse { log2, segments } => {
                let starts = u64::from(segments) << log2;
                let (len, mask) = (1u64 << log2, (1u64 << log2) - 1);
                let a = ((u128::from(hash) * u128::from(starts)) >> 64) as u64;
                let b = (a + len) ^ ((hash >> 18) & mask);
                let c = (a + 2 * len) ^ (hash & mask);
                [a as usize, b as usize, c as usize]
            }
        }
    }

    pub(super) fn encode(self, seed: u8, out: &mut Vec<u8>) {
        match self {
            Self::Empty => out.push(0),
            Self::Blocks { slots } => {
                out.extend([1, seed]);
                put_varint(out, u64::from(slots));
            }
            Self::Fuse { log2, segments } => {
                out.extend([2, seed, log2]);
                put_varint(out, u64::from(segments));
            }
        }
    }

    pub(super) fn decode(reader: &mut Reader<'_>) -> Result<(Self, u8), Malformed> {
        match reader.u8()? {
            0 => Ok((Self::Empty, 0)),
            1 => match (reader.u8()?, reader.varint_u32()?) {
                (_, 0) => Err("a filter without slots"),
                (seed, slots) => Ok((Self::Blocks { slots }, seed)),
            },
            2 => match (reader.u8()?, reader.u8()?, reader.varint_u32()?) {
                (_, _, 0) => Err("a filter without segments"),
                (_, log2, _) if log2 > MAX_SEGMENT_LOG2 => Err("a filter with segments over the limit"),
                (seed, log2, segments) => Ok((Self::Fuse { log2, segments }, seed)),
            },
            _ => Err("a filter of an unknown kind"),
        }
    }
}

/// Makes other positions of the same hash for each seed: a bijection, so that different hashes stay so.
/// The multiplication and shifts are MurmurHash3's 64-bit finaliser.
#[inline]
pub(super) fn mix(hash: u64, seed: u8) -> u64 {
    let mut h = hash.wrapping_add(u64::from(seed).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    h = (h ^ (h >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    h = (h ^ (h >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    h ^ (h >> 33)
}

/// The eight bits that tell one key from another at the same positions.
#[inline]
pub(super) fn fingerprint(mixed: u64) -> u8 {
    (mixed ^ (mixed >> 32)) as u8
}
