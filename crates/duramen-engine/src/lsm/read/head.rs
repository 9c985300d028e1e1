//! What has to be known of a version to order it and to judge it, in a few words: asked for once a version, it
//! spares many calls through `dyn Cursor`.

use crate::kv::{OpKind, prefix16};
use std::cmp::Ordering;

/// A version without the whole of its key and without its value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    /// The key's first 16 bytes as a number, with zeros after a shorter one.
    pub(crate) prefix: u128,
    /// The key's length.
    pub(crate) key_len: usize,
    pub(crate) seq: u64,
    pub(crate) kind: OpKind,
}

impl Head {
    /// Of nothing: an empty key's version 0.
    pub(crate) const NONE: Self = Self { prefix: 0, key_len: 0, seq: 0, kind: OpKind::Delete };

    #[inline]
    pub(crate) fn set(&mut self, key: &[u8], seq: u64, kind: OpKind) {
        self.prefix = prefix16(key);
        self.key_len = key.len();
        self.seq = seq;
        self.kind = kind;
    }

    /// Whether all of the key is known.
    #[inline]
    pub(crate) fn has_whole_key(&self) -> bool {
        self.key_len <= 16
    }

    /// The order of the keys, as far as it is known: `None` if both have more than is known and begin alike.
    #[inline]
    pub(crate) fn cmp_keys(&self, other: &Self) -> Option<Ordering> {
        if self.prefix != other.prefix {
            return Some(self.prefix.cmp(&other.prefix));
        }
        // Alike but for zeros at the end of the shorter one, which thus is the start of the longer one.
        (self.has_whole_key() || other.has_whole_key()).then(|| self.key_len.cmp(&other.key_len))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_known_of_keys_orders_them(
            a in prop::collection::vec(0..2u8, 0..20),
            more in prop::collection::vec(0..2u8, 0..20),
            b in prop_oneof![Just(None), prop::collection::vec(0..2u8, 0..20).prop_map(Some)],
        ) {
            let b = b.unwrap_or_else(|| [a.clone(), more].concat());
            let head = |key: &[u8]| {
                let mut head = Head::NONE;
                head.set(key, 1, OpKind::Put);
                head
            };
            match head(&a).cmp_keys(&head(&b)) {
                Some(order) => prop_assert_eq!(order, a.cmp(&b)),
                None => prop_assert!(a.len() > 16 && b.len() > 16 && a[..16] == b[..16]),
            }
        }
    }
}
