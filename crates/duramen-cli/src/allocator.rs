//! Giving memory back to the system.
#![allow(unsafe_code)] // the C library's settings of its own allocator

#[cfg(all(target_os = "linux", target_env = "gnu"))]
use std::num::NonZero;

/// Allocations from this size on are given back as soon as they are freed. By default glibc raises its limit with each
/// large one that is freed, up to 32 MiB, and then keeps what buffers and decoded columns took: a server that had
/// answered a few queries held twice the memory, and no query was faster for it.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const RETURNED_BYTES: i32 = 1 << 20;

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
        let set = |what, to| {
            // SAFETY: mallopt takes two integers, and no other thread runs yet. What it refuses stays as it was.
            let _as_it_was = unsafe { libc::mallopt(what, to) };
        };
        set(libc::M_MMAP_THRESHOLD, RETURNED_BYTES);
        set(libc::M_TRIM_THRESHOLD, RETURNED_BYTES);
        if !is_told {
            set(libc::M_ARENA_MAX, arenas);
        }
    }
}
