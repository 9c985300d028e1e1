//! A list that grows under its readers.

use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// 64-bit words in chunks that never move, so that readers need no lock. One caller appends at a time; if several
/// did, words would be lost, and nothing worse. Whoever has seen a length sees every word below it.
pub(super) struct AppendList {
    chunks: Box<[OnceLock<Chunk>]>,
    shift: u32,
    len: AtomicUsize,
    bytes: AtomicUsize,
}

type Chunk = Box<[AtomicU64]>;

impl AppendList {
    /// An empty one with room for `most` words. The chunks have the square root of that, so that neither they
    /// nor the directory of them takes much while little is in them.
    pub(super) fn new(most: usize) -> Self {
        let shift = most.isqrt().max(64).next_power_of_two().trailing_zeros();
        let chunks: Box<[_]> = (0..(most >> shift) + 1).map(|_| OnceLock::new()).collect();
        let bytes = AtomicUsize::new(size_of_val(&*chunks));
        Self { chunks, shift, len: AtomicUsize::new(0), bytes }
    }

    /// How many words there are.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len.load(Ordering::Acquire)
    }

    /// How many bytes of memory they take.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// The word at `at`, which is below a length that the caller has seen, or was told of by who appended it; 0 if
    /// it is not.
    #[inline]
    pub(super) fn get(&self, at: usize) -> u64 {
        let word = self.chunks.get(at >> self.shift).and_then(OnceLock::get);
        let word = word.and_then(|chunk| chunk.get(at & (chunk.len() - 1)));
        word.map_or(0, |word| word.load(Ordering::Relaxed))
    }

    /// Changes a word that was appended. For the caller that appends.
    #[inline]
    pub(super) fn set(&self, at: usize, word: u64) {
        let place = self.chunks.get(at >> self.shift).and_then(OnceLock::get);
        if let Some(place) = place.and_then(|chunk| chunk.get(at & (chunk.len() - 1))) {
            place.store(word, Ordering::Relaxed);
        }
    }

    /// Appends a word. Beyond what there is room for, it is dropped.
    #[inline]
    pub(super) fn push(&self, word: u64) {
        let at = self.len.load(Ordering::Relaxed);
        let Some(chunk) = self.chunks.get(at >> self.shift) else {
            debug_assert!(false, "more than there was to be room for");
            return;
        };
        let chunk = match chunk.get() {
            Some(chunk) => chunk,
            None => self.begin(chunk),
        };
        if let Some(place) = chunk.get(at & (chunk.len() - 1)) {
            place.store(word, Ordering::Relaxed);
        }
        self.len.store(at + 1, Ordering::Release);
    }

    #[cold]
    fn begin<'a>(&self, chunk: &'a OnceLock<Chunk>) -> &'a Chunk {
        chunk.get_or_init(|| {
            self.bytes.fetch_add(8 << self.shift, Ordering::Relaxed);
            (0..1usize << self.shift).map(|_| AtomicU64::new(0)).collect()
        })
    }
}

impl fmt::Debug for AppendList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AppendList").field("len", &self.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_appended_is_there() {
        for most in [0, 1, 63, 64, 65, 5000] {
            let list = AppendList::new(most);
            for word in 0..most as u64 {
                assert_eq!(list.len() as u64, word);
                list.push(word * 3 + 1);
            }
            assert!((0..most).all(|at| list.get(at) == at as u64 * 3 + 1));
            assert_eq!(list.get(most + 10_000), 0);
            assert!(list.bytes() >= most * 8 && list.bytes() < most * 9 + 3000, "{most}: {}", list.bytes());
        }
    }
}
