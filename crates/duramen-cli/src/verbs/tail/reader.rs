//! Whether anybody reads on.
#![allow(unsafe_code)] // poll(2) of a descriptor that is ours

/// Whether who read our output has ended: `tail -f | head -1`, of a log in which nothing more comes, would not be told so
/// by a write.
pub(super) fn is_gone() -> bool {
    let mut stdout = libc::pollfd { fd: libc::STDOUT_FILENO, events: 0, revents: 0 };
    // SAFETY: it is given one entry, which outlives the call, and waits for nothing.
    let told = unsafe { libc::poll(&raw mut stdout, 1, 0) };
    told == 1 && stdout.revents & (libc::POLLERR | libc::POLLHUP) != 0
}
