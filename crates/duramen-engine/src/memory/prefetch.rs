//! Asking the processor for memory ahead of time: a walk through a segment in the order of keys jumps, and each
//! jump would wait for memory, where a dozen can be under way at once.
#![allow(unsafe_code)] // the instruction is only reachable through an intrinsic

/// Asks for the cache line at `address`. Any address will do: it is a hint, which can neither fault nor change
/// anything. Does nothing on processors that this was not tried on.
#[inline(always)]
pub(crate) fn prefetch(address: *const u8) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a prefetch accesses no memory that the program can observe, so the address need not be valid.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast::<i8>());
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _unused = address;
}
