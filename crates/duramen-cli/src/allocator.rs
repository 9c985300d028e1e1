//! When freed memory is given back to the system.
#![allow(unsafe_code)] // the C library's settings of its own allocator

#[cfg(all(target_os = "linux", target_env = "gnu"))]
use std::num::NonZero;

/// Allocations from this size on are given back as soon as they are freed. By default glibc raises its limit with each
/// large one that is freed, up to 32 MiB, and then keeps what buffers and decoded columns took: a server that took lines
/// in held half as much again, and took in none faster.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const RETURNED_BYTES: i32 = 1 << 20;

/// The same while queries run, which decode one block after another into buffers of some megabytes: the system would zero each
/// page anew.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const RETURNED_BY_QUERIES_BYTES: i32 = 16 << 20;

/// Makes the allocator give back what it does not need. Call it first.
///
/// Threads have as many arenas as there are processors, at least two, where glibc would give them eight times as many: each
/// keeps some of what its threads freed (a load of 5 million lines on two processors: 113 MB at most with sixteen, 108 with
/// two, in the same time). Who has told glibc otherwise by the environment has that.
pub(crate) fn give_back_early() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
        let arenas = i32::try_from(processors).unwrap_or(i32::MAX).max(2);
        let is_told = std::env::var_os("MALLOC_ARENA_MAX").is_some()
            || std::env::var_os("GLIBC_TUNABLES")
                .is_some_and(|told| told.to_string_lossy().contains("arena"));
        set_returned(RETURNED_BYTES);
        if !is_told {
            set(libc::M_ARENA_MAX, arenas);
        }
    }
}

/// Has what is freed kept for what comes next, while queries run; or given back again as soon as it is freed.
pub(crate) fn keep_for_queries(is_kept: bool) {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    set_returned(if is_kept { RETURNED_BY_QUERIES_BYTES } else { RETURNED_BYTES });
    #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
    let _others_know_themselves = is_kept;
}

/// Gives back what was kept, but for what the heaps of threads end with: that goes when the next buffer there is freed.
#[cfg(feature = "server")]
pub(crate) fn trim() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        // SAFETY: malloc_trim gives back pages that nothing allocated is in, and takes the lock of each heap for it.
        let _whether_any_was = unsafe { libc::malloc_trim(0) };
    }
}

/// From which size on allocations are given back at once, and so much free memory at the end of a heap.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn set_returned(bytes: i32) {
    set(libc::M_MMAP_THRESHOLD, bytes);
    set(libc::M_TRIM_THRESHOLD, bytes);
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn set(what: i32, to: i32) {
    // SAFETY: mallopt takes two integers. It stores a limit as `free` itself does when it raises one by default: as an aligned
    // integer, which other threads may read at any time; whatever its value, what was allocated is freed as it was allocated.
    // What it refuses stays as it was.
    let _as_it_was = unsafe { libc::mallopt(what, to) };
}
