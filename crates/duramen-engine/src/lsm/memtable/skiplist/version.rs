//! What the skip list compares.
#![allow(unsafe_code)] // a key is kept as a pointer and a short length, which makes it 8 bytes smaller than a slice

use crate::kv::prefix16;
use std::cmp::Ordering;
use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;

/// A version of a key. The order is that of versions: by key, then the newest first.
#[derive(Clone, Copy)]
pub(super) struct Version<'a> {
    /// The key's first 16 bytes, in two halves: they decide most comparisons without a look at the key.
    prefix: (u64, u64),
    pub(super) seq: u64,
    /// What makes it sound: only [`Version::new`] sets these two, to what a slice was that lives for `'a`.
    key: NonNull<u8>,
    key_len: u32,
    /// Where its op begins, in bytes from the start of the segment.
    pub(super) offset: u32,
    _key: PhantomData<&'a [u8]>,
}

// SAFETY: it is a slice and some numbers.
unsafe impl Send for Version<'_> {}
// SAFETY: as above.
unsafe impl Sync for Version<'_> {}

impl<'a> Version<'a> {
    #[inline]
    pub(super) fn new(key: &'a [u8], seq: u64, offset: u32) -> Self {
        // No key is longer: whoever looks for one finds none.
        let key = &key[..key.len().min(u32::MAX as usize)];
        let prefix = prefix16(key);
        Self {
            prefix: ((prefix >> 64) as u64, prefix as u64),
            seq,
            key: NonNull::from(key).cast(),
            key_len: key.len() as u32,
            offset,
            _key: PhantomData,
        }
    }

    /// To look for: what is not newer than `seq` of `key`.
    #[inline]
    pub(super) fn sought(key: &'a [u8], seq: u64) -> Self {
        Self::new(key, seq, 0)
    }

    #[inline]
    pub(super) fn key(&self) -> &'a [u8] {
        // SAFETY: it was a slice that lives for `'a`.
        unsafe { std::slice::from_raw_parts(self.key.as_ptr(), self.key_len as usize) }
    }
}

impl Ord for Version<'_> {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        let keys = self.prefix.cmp(&other.prefix).then_with(|| {
            // If one ends there, both are alike but for zeros at the end of the longer one.
            if self.key_len.min(other.key_len) <= 16 {
                return self.key_len.cmp(&other.key_len);
            }
            self.key().cmp(other.key())
        });
        keys.then_with(|| other.seq.cmp(&self.seq))
    }
}

impl PartialOrd for Version<'_> {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Version<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Version<'_> {}

impl fmt::Debug for Version<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} #{}", self.key().escape_ascii(), self.seq)
    }
}
