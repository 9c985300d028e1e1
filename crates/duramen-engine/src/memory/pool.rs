//! Memory in huge pages.
//!
//! A block cache is read at random, and it is larger than what the processor knows of the address space: with pages of
//! 4 KiB, every block that is looked at costs a walk through the page tables besides waiting for memory, as long again
//! (measured, under a hypervisor: 361 ns for a place of 384 MB, 209 ns in huge pages; 4.0 and 2.4 ns for a cache line
//! in sequence). So blocks lie in *regions* that the operating system is asked to map by huge pages. Where it does not,
//! nothing else changes.
//!
//! A region is mapped when there is no room in any other, and unmapped when nothing lies in it any more. What comes first
//! by address is filled first: blocks of a cache go in another order than they came, and so holes are used again, and the
//! last regions run empty.
#![allow(unsafe_code)] // memory of its own

use super::room::Room;
use std::alloc::{Layout, alloc, dealloc};
use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// A huge page on most processors.
const HUGE_PAGE_BYTES: usize = 2 << 20;
const REGION_BYTES: usize = 4 * HUGE_PAGE_BYTES;
/// A cache line: nothing shares one with a neighbour.
const UNIT_BYTES: usize = 64;

/// The most bytes that [`Pool::take`] gives at once.
pub(super) const MOST_BYTES: usize = 64 << 10;

/// Memory for things of some kilobytes. Any thread may use it.
#[derive(Debug, Default)]
pub(crate) struct Pool(Mutex<Regions>);

/// By address.
type Regions = BTreeMap<usize, Entry>;

#[derive(Debug)]
struct Entry {
    region: Weak<Region>,
    room: Room,
}

/// Memory that lives as long as something lies in it.
#[derive(Debug)]
pub(super) struct Region {
    start: NonNull<u8>,
    pool: Arc<Pool>,
}

// SAFETY: a region only says where memory is; who may access which part of it, the pool's lock decides.
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Sync for Region {}

const LAYOUT: Layout = match Layout::from_size_align(REGION_BYTES, HUGE_PAGE_BYTES) {
    Ok(layout) => layout,
    Err(_) => unreachable!(),
};

impl Pool {
    /// So many bytes, up to [`MOST_BYTES`], of no particular content, aligned to a cache line, and nobody else's until
    /// they are given back to the region. `None` where the system gives no more memory.
    pub(super) fn take(self: &Arc<Self>, bytes: usize) -> Option<(NonNull<u8>, Arc<Region>)> {
        let units = units(bytes);
        let mut regions = self.lock();
        let found = regions.values_mut().find_map(|Entry { region, room }| {
            let at = room.take(units)?;
            // One whose last content is just going leaves with all its room.
            Some((at, region.upgrade()?))
        });
        if let Some((at, region)) = found {
            return Some((region.place(at), region));
        }
        let mut room = Room::new((REGION_BYTES / UNIT_BYTES) as u32);
        let at = room.take(units)?;
        let region = Region::map(self)?;
        let entry = Entry { region: Arc::downgrade(&region), room };
        regions.insert(region.start.as_ptr().addr(), entry);
        Some((region.place(at), region))
    }

    /// How many regions there are.
    #[cfg(test)]
    pub(super) fn regions(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> MutexGuard<'_, Regions> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Region {
    fn map(pool: &Arc<Pool>) -> Option<Arc<Self>> {
        // SAFETY: the layout has a size.
        let start = NonNull::new(unsafe { alloc(LAYOUT) })?;
        #[cfg(all(target_os = "linux", not(miri)))]
        {
            // SAFETY: all of it was just allocated, and the advice changes no content. Without it, it is only slower.
            let _slower = unsafe {
                rustix::mm::madvise(start.as_ptr().cast(), REGION_BYTES, rustix::mm::Advice::LinuxHugepage)
            };
        }
        Some(Arc::new(Self { start, pool: Arc::clone(pool) }))
    }

    fn place(&self, at: u32) -> NonNull<u8> {
        // SAFETY: units end where the region does.
        unsafe { self.start.add(at as usize * UNIT_BYTES) }
    }

    /// Takes back what [`Pool::take`] gave: these bytes of this region. They must not be used any more.
    pub(super) fn give(&self, place: NonNull<u8>, bytes: usize) {
        let address = self.start.as_ptr().addr();
        let at = (place.as_ptr().addr() - address) / UNIT_BYTES;
        if let Some(entry) = self.pool.lock().get_mut(&address) {
            entry.room.give(at as u32, units(bytes));
        }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        let mut regions = self.pool.lock();
        regions.remove(&self.start.as_ptr().addr());
        // Within the lock: what is mapped next may have the same address.
        // SAFETY: allocated with this layout, and nothing in it is used any more: that would keep the region.
        unsafe { dealloc(self.start.as_ptr(), LAYOUT) };
    }
}

fn units(bytes: usize) -> u32 {
    bytes.clamp(1, MOST_BYTES).div_ceil(UNIT_BYTES) as u32
}
