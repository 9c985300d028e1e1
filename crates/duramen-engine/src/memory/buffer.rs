//! Large buffers in huge pages.
//!
//! Who decompresses megabytes into fresh memory pays for a fault of each of its pages, mostly of 4 KiB: under a hypervisor
//! up to half as much as for decompressing. Pages of 2 MiB take a few faults. Where the operating system has none, nothing
//! else changes.
#![allow(unsafe_code)] // advice about memory

/// From this size on huge pages are asked for: below it a buffer may have no whole one.
const LEAST_BYTES: usize = 4 << 20;

/// An empty buffer with room for so many bytes.
pub fn room(bytes: usize) -> Vec<u8> {
    let mut buffer = Vec::with_capacity(bytes);
    in_huge_pages(&mut buffer);
    buffer
}

/// So many zeros.
pub fn zeros(bytes: usize) -> Vec<u8> {
    // Not written: the allocator has large ones from the operating system, which are zeros and take no memory yet.
    let mut buffer = vec![0; bytes];
    in_huge_pages(&mut buffer);
    buffer
}

/// Asks for huge pages for the memory of a buffer, if that is much.
fn in_huge_pages(buffer: &mut Vec<u8>) {
    #[cfg(all(target_os = "linux", not(miri)))]
    if buffer.capacity() >= LEAST_BYTES {
        const PAGE_BYTES: usize = 4 << 10;
        let skipped = buffer.as_ptr().addr().wrapping_neg() % PAGE_BYTES;
        let bytes = (buffer.capacity() - skipped) / PAGE_BYTES * PAGE_BYTES;
        // SAFETY: whole pages of the buffer's own memory, and the advice changes no content. Without it, it is only slower.
        let _slower = unsafe {
            let start = buffer.as_mut_ptr().add(skipped).cast();
            rustix::mm::madvise(start, bytes, rustix::mm::Advice::LinuxHugepage)
        };
    }
    #[cfg(not(all(target_os = "linux", not(miri))))]
    let _as_it_is = (buffer, LEAST_BYTES);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_have_what_was_asked_for() {
        for bytes in [0, 1, LEAST_BYTES - 1, LEAST_BYTES, 3 * LEAST_BYTES + 1] {
            let mut buffer = room(bytes);
            assert!(buffer.is_empty() && buffer.capacity() >= bytes);
            buffer.resize(bytes, 7);
            assert!(buffer.iter().all(|&byte| byte == 7));
            let zeros = zeros(bytes);
            assert!(zeros.len() == bytes && zeros.iter().all(|&byte| byte == 0));
        }
    }
}
