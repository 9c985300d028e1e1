//! Comparing keys cheaply: most pairs of keys differ in their first bytes, which compare as one number, and most
//! keys are so short that a few loads remember them.

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

/// Remembers a key, to know whether the next one is the same. Keys up to 32 bytes cost a few loads and no copy.
#[derive(Debug, Default)]
pub(crate) struct LastKey {
    /// The key's length and 1; 0 while there is none.
    len_and_1: usize,
    /// All of a key up to 32 bytes: its first and last 16, as [`ends`] has them.
    ends: (u128, u128),
    /// All of a longer key.
    long: Vec<u8>,
}

impl LastKey {
    /// Whether this is the key that is remembered.
    #[inline]
    pub(crate) fn is(&self, key: &[u8]) -> bool {
        self.len_and_1 == key.len() + 1 && self.ends == ends(key) && (key.len() <= 32 || self.long == key)
    }

    /// Remembers this key; says whether it was remembered already.
    #[inline]
    pub(crate) fn replace(&mut self, key: &[u8]) -> bool {
        let (ends, len_and_1) = (ends(key), key.len() + 1);
        let same = self.len_and_1 == len_and_1 && self.ends == ends;
        self.len_and_1 = len_and_1;
        self.ends = ends;
        if key.len() > 32 { self.replace_long(key, same) } else { same }
    }

    fn replace_long(&mut self, key: &[u8], same_ends: bool) -> bool {
        let same = same_ends && self.long == key;
        if !same {
            self.long.clear();
            self.long.extend_from_slice(key);
        }
        same
    }
}

/// The first and the last 16 bytes, which overlap in a key shorter than 32; only its prefix of one shorter than 16.
#[inline]
fn ends(key: &[u8]) -> (u128, u128) {
    match (key.first_chunk(), key.last_chunk()) {
        (Some(first), Some(last)) => (u128::from_ne_bytes(*first), u128::from_ne_bytes(*last)),
        _ => (prefix16(key), 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn short_or_long() -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![
            prop::collection::vec(0..3u8, 0..6),
            prop::collection::vec(0..2u8, 0..40),
            (0..40usize, 0..3u8, 0..40usize).prop_map(|(zeros, byte, more)| {
                let mut key = vec![0; zeros];
                key.push(byte);
                key.resize(zeros + 1 + more, 0);
                key
            }),
        ]
    }

    proptest! {
        #[test]
        fn prefixes_that_differ_order_the_keys(a in short_or_long(), b in short_or_long()) {
            if prefix8(&a) != prefix8(&b) {
                prop_assert_eq!(prefix8(&a) < prefix8(&b), a < b);
            }
            if prefix16(&a) != prefix16(&b) {
                prop_assert_eq!(prefix16(&a) < prefix16(&b), a < b);
            }
            let mut padded = a.clone();
            padded.resize(16.max(a.len()), 0);
            prop_assert!(prefix16(&a).to_be_bytes() == padded[..16]);
            prop_assert!(prefix8(&a).to_be_bytes() == padded[..8]);
        }

        #[test]
        fn the_same_key_is_known_again(keys in prop::collection::vec(short_or_long(), 1..20)) {
            let mut last = LastKey::default();
            let mut before: Option<Vec<u8>> = None;
            for key in keys {
                let same = before.as_ref() == Some(&key);
                prop_assert_eq!(last.is(&key), same);
                prop_assert_eq!(last.replace(&key), same);
                prop_assert!(last.is(&key));
                prop_assert!(last.replace(&key));
                before = Some(key);
            }
        }
    }
}
