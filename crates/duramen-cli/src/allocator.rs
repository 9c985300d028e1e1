//! Giving memory back to the system.
#![allow(unsafe_code)] // the C library's settings of its own allocator

/// Allocations from this size on are given back as soon as they are freed. By default glibc raises its limit with each
/// large one that is freed, up to 32 MiB, and then keeps what buffers and decoded columns took: a server that had
/// answered a few queries held twice the memory, and no query was faster for it.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const RETURNED_BYTES: i32 = 1 << 20;

/// Makes the allocator give back what it does not need. Call it first.
pub(crate) fn give_back_early() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: mallopt takes two integers, and no other thread runs yet. What it refuses stays as it was.
    let _as_it_was = unsafe {
        (
            libc::mallopt(libc::M_MMAP_THRESHOLD, RETURNED_BYTES),
            libc::mallopt(libc::M_TRIM_THRESHOLD, RETURNED_BYTES),
        )
    };
}
