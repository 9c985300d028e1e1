//! Whose frames these are, where the header no longer tells.
//!
//! Store and generation enter a frame's checksum at one place, and a CRC is linear: what they do to it is 32 bits, the same
//! in all frames of a file. So any identity that does the same to one of them verifies them all, and one frame says which
//! do. Every 21 bytes say something, whatever they are; two frames that follow each other and say the same do so by chance
//! once in 2^32.

use super::format::{FRAME_BYTES, FrameHeader, HEADER_BYTES, Identity, checksum_of, seal};
use super::survey::{SEARCH_BUDGET, WINDOW_BYTES, raw_frame};
use crate::io::File;
use crate::{Error, Result};
use std::path::Path;

/// An identity that the first two frames agree on which follow each other. It need not be the one that was written.
pub(super) fn of_frames(file: &dyn File, path: &Path, file_len: u64) -> Result<Option<Identity>> {
    let mut budget = file_len.saturating_mul(SEARCH_BUDGET);
    let mut window = Vec::new();
    let mut at = HEADER_BYTES as u64;
    while at + 2 * FRAME_BYTES as u64 <= file_len {
        let len = (file_len - at).min(WINDOW_BYTES as u64) as usize;
        window.resize(len, 0);
        file.read_exact_at(&mut window, at).map_err(Error::io("read", path))?;
        let candidates = len + 1 - FRAME_BYTES;
        for nth in 0..candidates {
            let Some(header) = FrameHeader::peek(&window[nth..]) else { continue };
            let from = at + nth as u64;
            let next = from + (FRAME_BYTES + header.len) as u64;
            if next + FRAME_BYTES as u64 > file_len || !is_followed(file, path, header, next)? {
                continue;
            }
            let (Some(frame), Some(next)) =
                (raw_frame(file, path, from, file_len)?, raw_frame(file, path, next, file_len)?)
            else {
                continue;
            };
            let Some(left) = budget.checked_sub((frame.len() + next.len()) as u64) else { return Ok(None) };
            budget = left;
            if let Some(identity) = verifying(&frame).filter(|found| verifying(&next) == Some(*found)) {
                return Ok(Some(identity));
            }
        }
        at += candidates as u64;
    }
    Ok(None)
}

/// Whether what is at `next` may be the frame after one with this header: of so many bytes, no more writes can be.
fn is_followed(file: &dyn File, path: &Path, header: FrameHeader, next: u64) -> Result<bool> {
    let mut bytes = [0; FRAME_BYTES];
    file.read_exact_at(&mut bytes, next).map_err(Error::io("read", path))?;
    let next = FrameHeader::peek(&bytes);
    Ok(next.is_some_and(|next| next.seq >= header.seq && next.seq - header.seq <= header.len as u64 + 1))
}

/// The one identity of those below 2^32, in generation 0, with which a frame's checksum holds.
fn verifying(frame: &[u8]) -> Option<Identity> {
    let (header, payload) = frame.split_at_checked(FRAME_BYTES)?;
    let payload_crc = crc32c::crc32c(payload);
    let identity = |store_id: u32| Identity { store_id: u64::from(store_id), generation: 0 };
    let with = |store_id: u32| seal(payload_crc, identity(store_id), &header[4..]);
    let without = with(0);
    // What each bit of the store's number does to the checksum, brought into a form with one leading bit each, and
    // which bits of the number do that.
    let mut steps = [(0u32, 0u32); 32];
    for bit in 0..32 {
        let (mut does, mut bits) = (with(1 << bit) ^ without, 1u32 << bit);
        while let Some(step) = leading(does).and_then(|leading| steps.get_mut(leading)) {
            if step.0 == 0 {
                *step = (does, bits);
                break;
            }
            (does, bits) = (does ^ step.0, bits ^ step.1);
        }
    }
    let (mut wanted, mut store_id) = (checksum_of(header)? ^ without, 0);
    while let Some(leading) = leading(wanted) {
        let (does, bits) = steps.get(leading).filter(|step| step.0 != 0)?;
        (wanted, store_id) = (wanted ^ does, store_id ^ bits);
    }
    Some(identity(store_id))
}

/// The place of the highest bit that is set.
fn leading(bits: u32) -> Option<usize> {
    bits.checked_ilog2().map(|leading| leading as usize)
}

#[cfg(test)]
mod tests {
    use super::super::format::{Kind, verifies};
    use super::*;
    use proptest::prelude::*;

    fn frame(seq: u64, payload: &[u8], identity: Identity) -> Vec<u8> {
        let mut frame = vec![0; FRAME_BYTES];
        frame.extend_from_slice(payload);
        let header = FrameHeader { len: payload.len(), seq, kind: Kind::Batch, unsynced: 0 };
        header.put(&mut frame, crc32c::crc32c(payload), identity);
        frame
    }

    proptest! {
        #[test]
        fn what_verifies_one_frame_verifies_all(store_id: u64, generation: u64, one: Vec<u8>, other: Vec<u8>, bit: prop::sample::Index) {
            let identity = Identity { store_id, generation };
            let found = verifying(&frame(1, &one, identity)).unwrap();
            let mut next = frame(9, &other, identity);
            prop_assert!(verifies(&next, found));
            prop_assert_eq!(verifying(&next), Some(found));
            let bit = bit.index(next.len() * 8);
            next[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(!verifies(&next, found));
        }
    }
}
