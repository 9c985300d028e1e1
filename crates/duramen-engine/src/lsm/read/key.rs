//! The key before: most keys are so short that a few loads remember them.

use crate::kv::prefix16;

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
