//! A sorted list of keys to search, kept so that a search touches few cache lines.
//!
//! All keys lie in one buffer; beside it, the eight bytes of each that follow what all have in common, as numbers: the
//! *heads*. A search is binary over every sixteenth head, which lie together too, then looks at sixteen neighbours; at
//! the keys themselves it looks only where heads are equal.

use super::block::order;
use crate::kv::shared_len;
use crate::sstable::wire::Malformed;

/// In the end of a key: the eight bytes before it are not the key's but a sequence number.
const HAS_SEQ: u32 = 1 << 31;

/// Two cache lines of heads.
const SAMPLE: usize = 16;

/// Places in the order of versions, ascending: each a key with a sequence number, which mostly is 0, so that the place
/// is after all versions of the key.
#[derive(Debug, Default)]
pub(super) struct KeyIndex {
    heads: Box<[u64]>,
    /// Every `SAMPLE`-th head.
    samples: Box<[u64]>,
    ends: Box<[u32]>,
    bytes: Box<[u8]>,
    /// How many bytes all keys have in common at their start.
    common: usize,
}

/// What a [`KeyIndex`] is made of, as it is collected.
#[derive(Debug, Default)]
pub(super) struct Keys {
    ends: Vec<u32>,
    bytes: Vec<u8>,
}

impl Keys {
    /// Adds a place. Whoever calls keeps the bytes of all below 2 GiB.
    pub(super) fn push(&mut self, key: &[u8], seq: u64) {
        self.bytes.extend_from_slice(key);
        if seq != 0 {
            self.bytes.extend_from_slice(&seq.to_le_bytes());
        }
        self.ends.push(self.bytes.len() as u32 | if seq == 0 { 0 } else { HAS_SEQ });
    }

    /// The bytes, and where each key ends in them, as [`KeyIndex::new`] takes them.
    pub(super) fn parts(&self) -> (&[u8], &[u32]) {
        (&self.bytes, &self.ends)
    }

    pub(super) fn clear(&mut self) {
        self.ends.clear();
        self.bytes.clear();
    }

    pub(super) fn into_index(self) -> Result<KeyIndex, Malformed> {
        KeyIndex::new(self.ends.into(), self.bytes.into())
    }
}

impl KeyIndex {
    /// Of places that end in `bytes` where `ends` says.
    pub(super) fn new(ends: Box<[u32]>, bytes: Box<[u8]>) -> Result<Self, Malformed> {
        let mut index = Self { heads: Box::default(), samples: Box::default(), ends, bytes, common: 0 };
        let mut start = 0;
        for i in 0..index.len() {
            let end = index.end(i);
            let long_enough = if index.ends[i] & HAS_SEQ == 0 { start <= end } else { start + 8 <= end };
            if !long_enough || end > index.bytes.len() {
                return Err("a key that ends before it begins, or past the keys");
            }
            if i > 0 && order(index.get(i - 1), index.get(i)).is_gt() {
                return Err("keys that are not in order");
            }
            start = end;
        }
        if start != index.bytes.len() {
            return Err("bytes after the last key");
        }
        if let Some(last) = index.len().checked_sub(1) {
            index.common = shared_len(index.get(0).0, index.get(last).0);
        }
        index.heads = (0..index.len()).map(|i| head(index.get(i).0, index.common)).collect();
        index.samples = index.heads.iter().step_by(SAMPLE).copied().collect();
        Ok(index)
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The first place at or after `key` in its version `seq`; [`KeyIndex::len`] if all are before.
    #[inline]
    pub(super) fn find(&self, key: &[u8], seq: u64) -> usize {
        self.find_near(key, seq, |_| {})
    }

    /// The same, and tells `near` beforehand about where that may be: as far between two samples as the key's head is.
    #[inline]
    pub(super) fn find_near(&self, key: &[u8], seq: u64, near: impl FnOnce(usize)) -> usize {
        if self.common > 0 {
            let common = self.bytes.get(..self.common).unwrap_or_default();
            match key.get(..self.common) {
                Some(start) if start == common => {}
                // Shorter than what all have in common, or different there: before all or after all.
                _ => return if key < common { 0 } else { self.len() },
            }
        }
        let head = head(key, self.common);
        // The first head that is not below lies after the last sample that is, and not after the next.
        let Some(sample) = self.samples.partition_point(|&h| h < head).checked_sub(1) else {
            return self.find_equal(0, head, key, seq);
        };
        let after = sample * SAMPLE + 1;
        let (low, high) = (self.samples.get(sample), self.samples.get(sample + 1).unwrap_or(&u64::MAX));
        let low = low.copied().unwrap_or(0);
        near(after + ((head - low) / (high.saturating_sub(low) / SAMPLE as u64 + 1)) as usize);
        let window = self.heads.get(after..self.heads.len().min(after + SAMPLE - 1)).unwrap_or_default();
        let low = after + window.iter().map(|&h| usize::from(h < head)).sum::<usize>();
        self.find_equal(low, head, key, seq)
    }

    /// About how far between the place before the `i`-th and the `i`-th a key lies, in 256ths, by their heads.
    #[inline]
    pub(super) fn part(&self, i: usize, key: &[u8]) -> u8 {
        let low = i.checked_sub(1).and_then(|before| self.heads.get(before)).copied().unwrap_or(0);
        let high = self.heads.get(i).copied().unwrap_or(u64::MAX);
        let far = head(key, self.common).saturating_sub(low);
        (far / (high.saturating_sub(low) / 256 + 1)).min(255) as u8
    }

    /// The same, of which is known that `low` is the first place whose head is not below that of the key.
    #[inline]
    fn find_equal(&self, low: usize, head: u64, key: &[u8], seq: u64) -> usize {
        if self.heads.get(low) != Some(&head) {
            return low;
        }
        let equal = self.heads.get(low..).unwrap_or_default().partition_point(|&h| h == head);
        let (mut low, mut high) = (low, low + equal);
        while low < high {
            let middle = low + (high - low) / 2;
            if order(self.get(middle), (key, seq)).is_lt() {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// The `i`-th place.
    pub(super) fn get(&self, i: usize) -> (&[u8], u64) {
        let start = if i == 0 { 0 } else { self.end(i - 1) };
        let bytes = self.bytes.get(start..self.end(i)).unwrap_or_default();
        match bytes.split_last_chunk::<8>() {
            Some((key, seq)) if self.ends.get(i).is_some_and(|end| end & HAS_SEQ != 0) => {
                (key, u64::from_le_bytes(*seq))
            }
            _ => (bytes, 0),
        }
    }

    fn end(&self, i: usize) -> usize {
        self.ends.get(i).map_or(0, |end| (end & !HAS_SEQ) as usize)
    }

    /// How much memory it takes, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        (self.heads.len() + self.samples.len()) * 8 + self.ends.len() * 4 + self.bytes.len()
    }
}

/// The eight bytes after the first `skip`, as a number that compares as they do; zeros where there are none.
#[inline]
fn head(key: &[u8], skip: usize) -> u64 {
    let rest = key.get(skip..).unwrap_or_default();
    match rest.first_chunk::<8>() {
        Some(bytes) => u64::from_be_bytes(*bytes),
        None => {
            let mut bytes = [0; 8];
            bytes[..rest.len()].copy_from_slice(rest);
            u64::from_be_bytes(bytes)
        }
    }
}

/// A short key that is at or after `last` and before `next`, where `last` is before `next`.
pub(super) fn separator<'a>(last: &'a [u8], next: &[u8], scratch: &'a mut Vec<u8>) -> &'a [u8] {
    let shared = shared_len(last, next);
    // `last` and one byte more than both share is enough if that byte can be raised and stay below `next`.
    if let (Some(&low), Some(&high)) = (last.get(shared), next.get(shared))
        && last.len() > shared + 1
        && low + 1 < high
    {
        scratch.clear();
        scratch.extend_from_slice(&last[..=shared]);
        scratch[shared] += 1;
        return scratch;
    }
    // Where it cannot, a longer piece of `last` with one byte raised does, unless the rest is all 0xff.
    if last.get(shared).is_some()
        && let Some(more) = last.get(shared + 1..).and_then(|rest| rest.iter().position(|&b| b != 0xff))
        && last.len() > shared + 2 + more
    {
        let at = shared + 1 + more;
        scratch.clear();
        scratch.extend_from_slice(&last[..=at]);
        scratch[at] += 1;
        return scratch;
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn key() -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![
            prop::collection::vec(prop_oneof![Just(0u8), Just(1), Just(0xff)], 0..12),
            (0u32..200).prop_map(|n| format!("prefix/{n:04}").into_bytes()),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]
        #[test]
        fn the_first_place_not_before_is_found(
            places in prop::collection::btree_set((key(), 0u64..3), 0..90), probes in prop::collection::vec((key(), 0u64..4), 20),
        ) {
            let mut places: Vec<_> = places.into_iter().collect();
            places.sort_by(|a, b| order((&a.0, a.1), (&b.0, b.1)));
            let mut keys = Keys::default();
            for (key, seq) in &places {
                keys.push(key, *seq);
            }
            let index = keys.into_index().unwrap();
            for (key, seq) in probes.iter().chain(&places) {
                let expected = places.partition_point(|p| order((&p.0, p.1), (key, *seq)).is_lt());
                let mut about = None;
                prop_assert_eq!(index.find_near(key, *seq, |near| about = Some(near)), expected);
                prop_assert!(about.is_none_or(|about| about <= places.len() + SAMPLE));
            }
            // Of others it is known at once that they are before all or after all.
            let within = probes.iter().filter(|(key, _)| key.starts_with(&index.bytes[..index.common]));
            let mut sorted: Vec<_> = within.map(|(key, seq)| (index.find(key, *seq), key)).collect();
            sorted.sort();
            for pair in sorted.windows(2) {
                let [a, b] = [pair[0], pair[1]].map(|(place, key)| (place, index.part(place, key)));
                prop_assert!(a <= b, "{pair:?}");
            }
        }

        #[test]
        fn a_separator_separates(a in key(), b in key()) {
            let (last, next) = if a < b { (a, b) } else { (b, a) };
            prop_assume!(last < next);
            let mut scratch = Vec::new();
            let between = separator(&last, &next, &mut scratch);
            prop_assert!(between >= last.as_slice() && between < next.as_slice());
            prop_assert!(between.len() <= last.len());
        }

        #[test]
        fn any_bytes_can_be_an_index(
            ends in prop::collection::vec(prop_oneof![0u32..40, HAS_SEQ..HAS_SEQ + 40, any::<u32>()], 0..6),
            bytes in prop::collection::vec(any::<u8>(), 0..40), probe in key(),
        ) {
            if let Ok(index) = KeyIndex::new(ends.into(), bytes.into()) {
                prop_assert!(index.find(&probe, 5) <= index.len());
            }
        }
    }
}
