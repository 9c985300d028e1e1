//! Integers of a fixed width in bits, one right after another.
//!
//! ```text
//! value i lies in bits i*width .. (i+1)*width of the byte string;
//! bit b is bit b%8 (least significant first) of byte b/8; the last byte is filled with zeros
//! ```

use super::bytes::bad;
use crate::error::Result;

/// How many bits `n` needs: 0 for 0, 64 at most.
pub(crate) fn bits(n: u64) -> u32 {
    64 - n.leading_zeros()
}

/// How many bytes `count` values of `width` bits take.
pub(crate) fn packed_len(count: usize, width: u32) -> usize {
    (count * width as usize).div_ceil(8)
}

/// Appends the low `width` bits of every value. The values must have no others.
pub(crate) fn pack(values: impl Iterator<Item = u64>, width: u32, out: &mut Vec<u8>) {
    if width == 0 {
        return;
    }
    let mut pending = 0u128;
    let mut filled = 0u32;
    for value in values {
        pending |= u128::from(value) << filled;
        filled += width;
        if filled >= 64 {
            out.extend_from_slice(&(pending as u64).to_le_bytes());
            pending >>= 64;
            filled -= 64;
        }
    }
    let tail = (pending as u64).to_le_bytes();
    out.extend_from_slice(&tail[..(filled as usize).div_ceil(8)]);
}

/// Calls `each` with `count` values of `width` bits.
///
/// `bytes` must be [`packed_len`] long; `width` at most 64.
pub(crate) fn unpack(bytes: &[u8], count: usize, width: u32, mut each: impl FnMut(u64)) -> Result<()> {
    if width > 64 || bytes.len() != packed_len(count, width) {
        return Err(bad("packed integers have the wrong length"));
    }
    if width == 0 {
        (0..count).for_each(|_| each(0));
        return Ok(());
    }
    let mask = if width == 64 { u64::MAX } else { (1 << width) - 1 };
    // All values whose 9 bytes lie inside are read directly, the last few from a padded copy.
    let direct = if width <= 56 { (bytes.len().saturating_sub(8) * 8) / width as usize } else { 0 };
    let direct = direct.min(count);
    for i in 0..direct {
        let bit = i * width as usize;
        let mut word = [0u8; 8];
        word.copy_from_slice(&bytes[bit / 8..bit / 8 + 8]);
        each(u64::from_le_bytes(word) >> (bit % 8) & mask);
    }
    for i in direct..count {
        each(bits_at(bytes, i as u64 * u64::from(width)) & mask);
    }
    Ok(())
}

/// Value `i` of those that [`unpack`] would give; 0 if the bytes end before it.
pub(crate) fn unpack_one(bytes: &[u8], i: u32, width: u32) -> u64 {
    let mask = match width {
        0 => return 0,
        64.. => u64::MAX,
        width => (1 << width) - 1,
    };
    bits_at(bytes, u64::from(i) * u64::from(width)) & mask
}

/// The 64 bits from bit `bit` on; zeros behind the end of the bytes.
pub(crate) fn bits_at(bytes: &[u8], bit: u64) -> u64 {
    let rest = usize::try_from(bit / 8).ok().and_then(|at| bytes.get(at..)).unwrap_or_default();
    let word = rest.first_chunk().copied().unwrap_or_else(|| {
        let mut word = [0u8; 16];
        word[..rest.len()].copy_from_slice(rest);
        word
    });
    (u128::from_le_bytes(word) >> (bit % 8)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn every_width_comes_back(values: Vec<u64>, width in 0u32..=64) {
            let mask = if width == 64 { u64::MAX } else { (1u64 << width) - 1 };
            let values: Vec<u64> = values.iter().map(|v| v & mask).collect();
            let mut out = Vec::new();
            pack(values.iter().copied(), width, &mut out);
            let mut back = Vec::new();
            unpack(&out, values.len(), width, |v| back.push(v)).unwrap();
            assert_eq!(back, values);
            let one_by_one = (0..values.len() as u32).map(|i| unpack_one(&out, i, width));
            assert_eq!(one_by_one.collect::<Vec<_>>(), values);
        }
    }
}
