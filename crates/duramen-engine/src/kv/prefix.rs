//! Comparing keys cheaply: most pairs of keys differ in their first bytes, which compare as one number.

use std::cmp::Ordering;

/// The first 8 bytes as a number, with zeros after a shorter key: if these of two keys differ, they order the keys.
#[inline]
pub(crate) fn prefix8(key: &[u8]) -> u64 {
    if let Some(first) = key.first_chunk() {
        return u64::from_be_bytes(*first);
    }
    // Both halves overlap where the key is shorter than 8, with the same bytes.
    if let (Some(first), Some(last)) = (key.first_chunk(), key.last_chunk()) {
        let (first, last) = (u32::from_be_bytes(*first), u32::from_be_bytes(*last));
        return u64::from(first) << 32 | u64::from(last) << (8 * (8 - key.len()));
    }
    key.iter().enumerate().fold(0, |prefix, (nth, byte)| prefix | u64::from(*byte) << (56 - 8 * nth))
}

/// The first 16 bytes, likewise.
#[inline]
pub(crate) fn prefix16(key: &[u8]) -> u128 {
    if let Some(first) = key.first_chunk() {
        return u128::from_be_bytes(*first);
    }
    if let (Some(first), Some(last)) = (key.first_chunk(), key.last_chunk()) {
        let (first, last) = (u64::from_be_bytes(*first), u64::from_be_bytes(*last));
        return u128::from(first) << 64 | u128::from(last) << (8 * (16 - key.len()));
    }
    u128::from(prefix8(key)) << 64
}

/// The order of keys, without a call where the first 16 bytes of both decide.
#[inline]
pub(crate) fn cmp_keys(a: &[u8], b: &[u8]) -> Ordering {
    if let (Some(x), Some(y)) = (a.first_chunk(), b.first_chunk()) {
        let (x, y) = (u128::from_be_bytes(*x), u128::from_be_bytes(*y));
        if x != y {
            return x.cmp(&y);
        }
    }
    a.cmp(b)
}

/// Whether two keys are the same, without a call where they are 8 to 16 bytes long.
#[inline]
pub(crate) fn same_keys(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    match (ends(a), ends(b)) {
        (Some(a), Some(b)) => a == b,
        _ => a == b,
    }
}

/// The first and the last 8 bytes of a key of 8 to 16 bytes: all of it.
#[inline]
fn ends(key: &[u8]) -> Option<(u64, u64)> {
    let (first, last) = key.first_chunk().zip(key.last_chunk()).filter(|_| key.len() <= 16)?;
    Some((u64::from_le_bytes(*first), u64::from_le_bytes(*last)))
}

/// How many bytes two keys have in common at their start.
///
/// ```
/// assert_eq!(duramen_engine::kv::shared_len(b"checkout", b"checksum"), 5);
/// ```
#[inline]
pub fn shared_len(a: &[u8], b: &[u8]) -> usize {
    let (words_a, words_b) = (a.as_chunks::<8>().0, b.as_chunks::<8>().0);
    let mut at = 0;
    for (x, y) in words_a.iter().zip(words_b) {
        let differs = u64::from_le_bytes(*x) ^ u64::from_le_bytes(*y);
        if differs != 0 {
            return at + (differs.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    at + a[at..].iter().zip(&b[at..]).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn short_or_long() -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![prop::collection::vec(0..3u8, 0..6), prop::collection::vec(0..2u8, 0..40)]
    }

    proptest! {
        #[test]
        fn prefixes_that_differ_order_the_keys(a in short_or_long(), b in short_or_long()) {
            if prefix8(&a) != prefix8(&b) {
                prop_assert_eq!(prefix8(&a) < prefix8(&b), a < b);
            }
            prop_assert_eq!(cmp_keys(&a, &b), a.cmp(&b));
            prop_assert_eq!(same_keys(&a, &b), a == b);
            prop_assert_eq!(shared_len(&a, &b), a.iter().zip(&b).take_while(|(a, b)| a == b).count());
            prop_assert!(same_keys(&a, &a.clone()));
            if prefix16(&a) != prefix16(&b) {
                prop_assert_eq!(prefix16(&a) < prefix16(&b), a < b);
            }
            let mut padded = a.clone();
            padded.resize(16.max(a.len()), 0);
            prop_assert!(prefix16(&a).to_be_bytes() == padded[..16]);
            prop_assert!(prefix8(&a).to_be_bytes() == padded[..8]);
        }
    }

    #[test]
    fn keys_of_one_length_are_the_same_only_if_every_byte_is() {
        for len in 0..20_u8 {
            let key: Vec<u8> = (0..len).collect();
            assert!(same_keys(&key, &key.clone()));
            for at in 0..key.len() {
                let mut other = key.clone();
                other[at] ^= 1;
                assert!(!same_keys(&key, &other), "byte {at} of {len}");
            }
        }
    }
}
