//! A table of words that is looked into at random.
//!
//! With pages of 4 KiB, a table of some megabytes costs a walk through the page tables besides waiting for memory, and its
//! first use two faults a page: one that reads zeros, one that writes. So a large one lies in huge pages, where the
//! operating system has them.
#![allow(unsafe_code)] // words in a mapping

use memmap2::MmapMut;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

/// A huge page on most processors. Mappings of whole ones begin at one's start.
const HUGE_PAGE_BYTES: usize = 2 << 20;
/// From this size on huge pages are asked for.
const LEAST_MAPPED_BYTES: usize = HUGE_PAGE_BYTES / 4 * 3;

/// Zeros to begin with; as many as were asked for, for ever.
#[derive(Debug)]
pub(crate) enum SharedWords {
    /// From the heap.
    Heap(Box<[AtomicU64]>),
    /// In a mapping of their own.
    Mapped(MappedWords),
}

impl SharedWords {
    /// At least so many zeros: as many as the memory has that is theirs anyway.
    pub(crate) fn zeros(count: usize) -> Self {
        let mapped = MappedWords::zeros(count).map(Self::Mapped);
        mapped.unwrap_or_else(|| Self::Heap((0..count).map(|_| AtomicU64::new(0)).collect()))
    }
}

impl Deref for SharedWords {
    type Target = [AtomicU64];

    #[inline]
    fn deref(&self) -> &[AtomicU64] {
        match self {
            Self::Heap(words) => words,
            Self::Mapped(words) => words.get(),
        }
    }
}

#[derive(Debug)]
pub(crate) struct MappedWords {
    start: NonNull<AtomicU64>,
    count: usize,
    /// Kept as long as they are used; never touched otherwise.
    _map: MmapMut,
}

// SAFETY: `start` is memory of this value's own, and what is in it are atomics.
unsafe impl Send for MappedWords {}
// SAFETY: as above.
unsafe impl Sync for MappedWords {}

impl MappedWords {
    /// `None` if they are few, or the system gives no mapping.
    fn zeros(count: usize) -> Option<Self> {
        let bytes = count.checked_mul(size_of::<AtomicU64>())?;
        if bytes < LEAST_MAPPED_BYTES || cfg!(miri) {
            return None;
        }
        let mut map = MmapMut::map_anon(bytes.checked_next_multiple_of(HUGE_PAGE_BYTES)?).ok()?;
        #[cfg(target_os = "linux")]
        let _slower_without = map.advise(memmap2::Advice::HugePage);
        let start = NonNull::new(map.as_mut_ptr())?.cast();
        Some(Self { start, count: map.len() / size_of::<AtomicU64>(), _map: map })
    }

    #[inline]
    fn get(&self) -> &[AtomicU64] {
        // SAFETY: a mapping begins at a page, has `count` words, all zeros at first, which is a value of theirs; it is
        // reached through this slice alone, and lives as long as `self`, which may move without it.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.count) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    #[test]
    fn words_are_zeros_and_keep_what_is_stored() {
        for count in [0, 1, 1000, LEAST_MAPPED_BYTES / 8, LEAST_MAPPED_BYTES / 8 * 3 + 1] {
            let words = SharedWords::zeros(count);
            assert_eq!(
                matches!(words, SharedWords::Mapped(_)),
                count * 8 >= LEAST_MAPPED_BYTES && !cfg!(miri)
            );
            assert!(words.len() >= count && words.len() * 8 < count * 8 + HUGE_PAGE_BYTES);
            assert!(words.iter().all(|word| word.load(Ordering::Relaxed) == 0));
            let moved = std::thread::spawn(move || {
                words.iter().zip(1..).for_each(|(word, n)| word.store(n, Ordering::Relaxed));
                words
            });
            let words = moved.join().unwrap();
            assert!(words.iter().zip(1..).all(|(word, n)| word.load(Ordering::Relaxed) == n));
        }
    }
}
