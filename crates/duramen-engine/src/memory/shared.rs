//! Bytes that many may hold.
//!
//! As an `Arc<[u8]>`, whose memory may also be that of a [`Pool`]. The count lies right before the bytes: whoever reads
//! the first of them has it in the processor's cache.
#![allow(unsafe_code)] // counts who holds it

use super::pool::{MOST_BYTES, Pool, Region};
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes that do not change while several hold them. They are freed with the last holder.
pub(crate) struct SharedBytes {
    /// The first byte; the header lies before it.
    data: NonNull<u8>,
    len: usize,
}

#[repr(C, align(16))]
struct Header {
    holders: AtomicUsize,
    /// From [`Arc::into_raw`]; null for bytes from the heap.
    region: *const Region,
}

const HEADER_BYTES: usize = size_of::<Header>();

// SAFETY: the bytes are only read while they are shared, and the count is atomic.
unsafe impl Send for SharedBytes {}
// SAFETY: as above.
unsafe impl Sync for SharedBytes {}

impl SharedBytes {
    /// So many bytes, as `fill` makes them of zeros: from the pool, if there is one and they are not too many for it.
    ///
    /// # Errors
    /// What `fill` says.
    pub(crate) fn new<E>(
        len: usize,
        pool: Option<&Arc<Pool>>,
        fill: impl FnOnce(&mut [u8]) -> Result<(), E>,
    ) -> Result<Self, E> {
        let bytes = HEADER_BYTES.saturating_add(len);
        let from_pool = pool.filter(|_| bytes <= MOST_BYTES).and_then(|pool| pool.take(bytes));
        let (start, region) = match from_pool {
            Some((start, region)) => (start, Arc::into_raw(region)),
            None => {
                let layout = heap_layout(len);
                // SAFETY: the layout is not empty: it has a header.
                let start = NonNull::new(unsafe { alloc(layout) });
                (start.unwrap_or_else(|| handle_alloc_error(layout)), std::ptr::null())
            }
        };
        let header = Header { holders: AtomicUsize::new(1), region };
        // SAFETY: header and bytes fit what was just allocated, for nobody else, aligned to 16 bytes at least.
        let this = unsafe {
            start.cast::<Header>().write(header);
            let data = start.add(HEADER_BYTES);
            data.write_bytes(0, len);
            Self { data, len }
        };
        // SAFETY: the bytes are initialized, and nobody else has them yet.
        fill(unsafe { std::slice::from_raw_parts_mut(this.data.as_ptr(), len) })?;
        Ok(this)
    }

    #[inline]
    fn header(&self) -> &Header {
        // SAFETY: `new` has put it there, and it lives as long as there are holders.
        unsafe { self.data.sub(HEADER_BYTES).cast::<Header>().as_ref() }
    }

    /// Gives back the memory of so many bytes, and is not told where the holder is: so that need not be in memory.
    ///
    /// # Safety
    /// They are those of the last holder, which uses them no more.
    #[cold]
    unsafe fn free(data: NonNull<u8>, len: usize) {
        // SAFETY: as `new` allocated it, header and all.
        unsafe {
            let start = data.sub(HEADER_BYTES);
            let region = start.cast::<Header>().as_ref().region;
            if region.is_null() {
                dealloc(start.as_ptr(), heap_layout(len));
            } else {
                // Dropped when it has its bytes back: perhaps they were its last.
                let region = Arc::from_raw(region);
                region.give(start, HEADER_BYTES + len);
            }
        }
    }
}

fn heap_layout(len: usize) -> Layout {
    let layout =
        HEADER_BYTES.checked_add(len).map(|bytes| Layout::from_size_align(bytes, align_of::<Header>()));
    match layout {
        Some(Ok(layout)) => layout,
        // More than the address space has.
        _ => handle_alloc_error(Layout::new::<Header>()),
    }
}

impl Deref for SharedBytes {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: initialized by `new`, and not changed since.
        unsafe { std::slice::from_raw_parts(self.data.as_ptr(), self.len) }
    }
}

impl Clone for SharedBytes {
    #[inline]
    fn clone(&self) -> Self {
        // A holder is there while this goes on, so that the count cannot reach 0 meanwhile. It cannot overflow: each
        // holder takes 16 bytes.
        self.header().holders.fetch_add(1, Ordering::Relaxed);
        Self { data: self.data, len: self.len }
    }
}

impl Drop for SharedBytes {
    #[inline]
    fn drop(&mut self) {
        if self.header().holders.fetch_sub(1, Ordering::Release) == 1 {
            // What other holders read, they read before. A fence would do, but the thread sanitizer knows of none.
            let _no_holder = self.header().holders.load(Ordering::Acquire);
            // SAFETY: this was the last.
            unsafe { Self::free(self.data, self.len) };
        }
    }
}

impl From<&[u8]> for SharedBytes {
    fn from(bytes: &[u8]) -> Self {
        let filled = Self::new(bytes.len(), None, |place| {
            place.copy_from_slice(bytes);
            Ok::<(), std::convert::Infallible>(())
        });
        match filled {
            Ok(filled) => filled,
            Err(never) => match never {},
        }
    }
}

impl std::fmt::Debug for SharedBytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes", self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many bytes, where each is watched.
    const MOST: usize = if cfg!(miri) { 300 } else { 100_000 };

    fn filled(pool: &Arc<Pool>, len: usize, with: u8) -> SharedBytes {
        SharedBytes::new(len, Some(pool), |bytes| {
            assert!(bytes.iter().all(|&byte| byte == 0));
            bytes.fill(with);
            Ok::<(), ()>(())
        })
        .unwrap()
    }

    #[test]
    fn bytes_stay_what_they_are_and_their_memory_comes_back() {
        let pool = Arc::new(Pool::default());
        let mut held = Vec::new();
        // Fewer where each byte is watched.
        let rounds = if cfg!(miri) { 30 } else { 2000 };
        for round in 0..rounds {
            let len = [0, 1, 47, 48, 49, 4100, 4200, 30_000, 70_000][round % 9].min(MOST);
            held.push((filled(&pool, len, round as u8), len, round as u8));
            if round % 3 == 0 {
                let (bytes, ..) = held.swap_remove(held.len() / 2);
                let again = bytes.clone();
                drop(bytes);
                assert!(again.iter().all(|byte| *byte == again[0]));
            }
        }
        for (bytes, len, with) in &held {
            assert_eq!((bytes.len(), bytes.iter().all(|byte| byte == with)), (*len, true));
        }
        let regions = pool.regions();
        assert!((1..=2).contains(&regions), "{regions} regions for some 8 MB");
        held.truncate(1);
        held.clear();
        assert_eq!(pool.regions(), 0);
        assert_eq!(*filled(&pool, 3, 9), [9, 9, 9]);
    }

    #[test]
    fn memory_that_comes_back_in_any_order_is_used_again() {
        let pool = Arc::new(Pool::default());
        // 48 MB, as of a cache whose blocks go in another order than they came.
        let (blocks, replaced) = if cfg!(miri) { (20, 40) } else { (3_000, 5_000) };
        let mut random = 88_172_645_463_325_252_u64;
        let mut below = |limit: usize| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            (random % limit as u64) as usize
        };
        let block = |len| SharedBytes::new(len, Some(&pool), |_| Ok::<(), ()>(())).unwrap();
        let mut held: Vec<SharedBytes> = (0..blocks).map(|_| block(12_000 + below(8_000))).collect();
        for _ in 0..replaced {
            let which = below(blocks);
            held[which] = block(12_000 + below(8_000));
        }
        let regions = pool.regions();
        assert!(regions <= 8, "{regions} regions of 8 MiB for {blocks} blocks of 16 KB");
    }

    #[test]
    fn who_fails_to_fill_them_leaves_nothing() {
        let pool = Arc::new(Pool::default());
        assert_eq!(SharedBytes::new(100, Some(&pool), |_| Err("no")).unwrap_err(), "no");
        assert_eq!(pool.regions(), 0);
        assert_eq!(*SharedBytes::from(&b"abc"[..]), *b"abc");
    }

    #[test]
    fn threads_share_and_free() {
        let pool = Arc::new(Pool::default());
        std::thread::scope(|scope| {
            for thread in 0..4u8 {
                let pool = &pool;
                scope.spawn(move || {
                    let mut held = Vec::new();
                    for round in 0..if cfg!(miri) { 4 } else { 200u8 } {
                        held.push(filled(pool, 4100.min(MOST), thread ^ round));
                        let last = held.last().unwrap().clone();
                        scope.spawn(move || assert!(last.iter().all(|&byte| byte == thread ^ round)));
                        if round % 2 == 0 {
                            held.swap_remove(usize::from(round) / 4);
                        }
                    }
                });
            }
        });
        assert_eq!(pool.regions(), 0);
    }
}
