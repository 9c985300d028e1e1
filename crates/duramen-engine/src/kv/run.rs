//! Entries of a block, decoded together: a scan that has some gives them out without asking anybody.
//!
//! Keys are put together in a buffer, one after another; values stay where they are in the block.

use super::prefix16;
use crate::memory::SharedBytes;
use std::ops::Range;

/// A run ends when its keys have this many bytes: a damaged block may claim keys that are long beyond measure.
const MOST_KEY_BYTES: usize = 64 << 10;
/// Keys up to this length are put together in a register.
pub(crate) const SHORT_KEY_BYTES: usize = 16;

/// Entries that a reader sees, in order.
#[derive(Debug, Default)]
pub(crate) struct Run {
    /// Where the values lie.
    block: Option<SharedBytes>,
    /// The keys of `rows`, up to `keys_end`; behind, whatever there was.
    keys: Vec<u8>,
    keys_end: usize,
    rows: Vec<Row>,
    next: usize,
}

/// An entry: where its key lies in the keys, and its value in the block.
#[derive(Clone, Copy, Debug)]
struct Row {
    key: (u32, u32),
    value: (u32, u32),
}

impl Run {
    /// How many entries there are, given out or not.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Goes to the next entry, and says which it is; `None` after the last.
    #[inline]
    pub(crate) fn step(&mut self) -> Option<usize> {
        let nth = self.next;
        if nth >= self.rows.len() {
            return None;
        }
        self.next = nth + 1;
        Some(nth)
    }

    /// An entry's key and value.
    #[inline]
    pub(crate) fn entry(&self, nth: usize) -> (&[u8], &[u8]) {
        let (Some(row), Some(block)) = (self.rows.get(nth), &self.block) else { return (&[], &[]) };
        let key = self.keys.get(row.key.0 as usize..row.key.1 as usize);
        let value = block.get(row.value.0 as usize..row.value.1 as usize);
        (key.unwrap_or_default(), value.unwrap_or_default())
    }

    /// Begins anew, with values in this block, and room for this many rows.
    pub(crate) fn begin(&mut self, block: &SharedBytes, rows: usize) {
        self.rows.clear();
        self.rows.reserve(rows);
        self.block = Some(block.clone());
        self.keys_end = 0;
        self.next = 0;
    }

    /// Whether no more keys should be added.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.keys_end >= MOST_KEY_BYTES
    }

    /// Adds the key that was put last, with its value.
    #[inline]
    pub(crate) fn take(&mut self, key: &RunKey, value: Range<usize>) {
        self.rows.push(Row {
            key: (key.start as u32, (key.start + key.len) as u32),
            value: (value.start as u32, value.end as u32),
        });
        self.keys_end = key.start + key.len;
    }

    /// The bytes of a key that was put, and after which none was.
    #[inline]
    pub(crate) fn key(&self, key: &RunKey) -> &[u8] {
        self.keys.get(key.start..key.start + key.len).unwrap_or_default()
    }

    /// Puts a whole key behind those that were taken.
    pub(crate) fn put(&mut self, key: &[u8]) -> RunKey {
        let start = self.keys_end;
        self.make_room(start + key.len());
        self.keys[start..start + key.len()].copy_from_slice(key);
        RunKey { start, len: key.len(), prefix: prefix16(key) }
    }

    /// Puts a key that begins as `before`, the one that was put before it, for `shared` bytes (at most all), and goes on
    /// with the `len` first bytes of `more`. Both keys have at most [`SHORT_KEY_BYTES`].
    #[inline]
    pub(crate) fn put_short(
        &mut self,
        before: &RunKey,
        shared: usize,
        more: &[u8; 16],
        len: usize,
    ) -> RunKey {
        let low = u128::from_be_bytes(*more) & mask(len);
        // No shift by all the bits: where all 16 bytes are shared, there are no more.
        let prefix = before.prefix & mask(shared) | low.wrapping_shr(8 * shared as u32);
        let start = self.keys_end;
        if self.keys.len() < start + SHORT_KEY_BYTES {
            self.make_room(start + SHORT_KEY_BYTES);
        }
        if let Some(place) = self.keys.get_mut(start..start + SHORT_KEY_BYTES) {
            place.copy_from_slice(&prefix.to_be_bytes());
        }
        RunKey { start, len: shared + len, prefix }
    }

    /// The same for keys of any length.
    pub(crate) fn put_long(&mut self, before: &RunKey, shared: usize, more: &[u8]) -> RunKey {
        let (start, len) = (self.keys_end, shared + more.len());
        self.make_room(start + len);
        self.keys.copy_within(before.start..before.start + shared, start);
        self.keys[start + shared..start + len].copy_from_slice(more);
        RunKey { start, len, prefix: prefix16(&self.keys[start..start + len]) }
    }

    #[cold]
    fn make_room(&mut self, len: usize) {
        if self.keys.len() < len {
            self.keys.resize(len + 1024, 0);
        }
    }
}

/// A key in a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunKey {
    start: usize,
    pub(crate) len: usize,
    /// Its first 16 bytes as a number, with zeros after a shorter one.
    pub(crate) prefix: u128,
}

/// Ones in the first `bytes` bytes.
#[inline]
fn mask(bytes: usize) -> u128 {
    const MASKS: [u128; 17] = {
        let mut masks = [u128::MAX; 17];
        let mut n = 0;
        while n < 16 {
            masks[n] = !(u128::MAX >> (8 * n));
            n += 1;
        }
        masks
    };
    MASKS.get(bytes).copied().unwrap_or(u128::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn keys_are_put_together(
            keys in prop::collection::vec((0usize..20, prop::collection::vec(any::<u8>(), 0..20), any::<bool>()), 1..60),
        ) {
            let mut run = Run::default();
            let block = SharedBytes::from(&(0..=255u8).collect::<Vec<u8>>()[..]);
            run.begin(&block, 1);
            let (mut whole, mut expected) = (b"first".to_vec(), vec![b"first".to_vec()]);
            let mut before = run.put(&whole);
            run.take(&before, 3..5);
            for (shared, more, take) in keys {
                let shared = shared.min(whole.len());
                let mut next = [&whole[..shared], &more].concat();
                std::mem::swap(&mut whole, &mut next);
                let short = whole.len() <= 16 && next.len() <= 16;
                before = if short {
                    let mut bytes = [0xee; 16];
                    bytes[..more.len()].copy_from_slice(&more);
                    run.put_short(&before, shared, &bytes, more.len())
                } else {
                    run.put_long(&before, shared, &more)
                };
                prop_assert_eq!(run.key(&before), &whole[..]);
                prop_assert_eq!(before.prefix, prefix16(&whole));
                if take {
                    run.take(&before, 7..9);
                    expected.push(whole.clone());
                }
            }
            prop_assert_eq!(run.len(), expected.len());
            for (nth, key) in expected.iter().enumerate() {
                prop_assert_eq!(run.step(), Some(nth));
                let value: &[u8] = if nth == 0 { &[3, 4] } else { &[7, 8] };
                prop_assert_eq!(run.entry(nth), (&key[..], value));
            }
            prop_assert_eq!(run.step(), None);
        }
    }
}
