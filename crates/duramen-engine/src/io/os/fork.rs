//! What a fork leaves in the child, made safe.
//!
//! The child has one thread, the parent's memory as it was at that moment, with every mutex that another thread
//! held locked for ever, and the parent's open files. Two things follow:
//!
//! - Whoever keeps threads or locks of its own asks [`fork_generation`] whether it was made in this process, and
//!   if it was not, leaves them alone.
//! - An advisory lock belongs to an open file that parent and child share, so it would outlive the parent for as
//!   long as the child lives. Files that hold locks are therefore listed here, and closed in the child before
//!   `fork` returns there, which takes nothing from the parent.
//!
//! A child made past the C library's `fork` (a bare `clone` system call) is not noticed.
#![allow(unsafe_code)] // handlers that run inside `fork`

use std::cell::UnsafeCell;
use std::fs::File;
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

static GENERATION: AtomicU64 = AtomicU64::new(0);

/// The descriptors that a child must not keep. No fork happens while it is locked.
static NOT_INHERITED: Mutex<Vec<RawFd>> = Mutex::new(Vec::new());

/// The registry's guard, while a fork is under way.
struct Forking(UnsafeCell<Option<MutexGuard<'static, Vec<RawFd>>>>);

// SAFETY: only the handlers touch it, and only between the locking of `NOT_INHERITED` and its unlocking, on the thread
// that forks.
unsafe impl Sync for Forking {}

static FORKING: Forking = Forking(UnsafeCell::new(None));

/// How many forks lie between this process and the first of its line that asked: what was made at another
/// number was made in a parent, whose threads and locks are not here.
#[inline]
pub fn fork_generation() -> u64 {
    // Only written before the child has a second thread.
    GENERATION.load(Ordering::Relaxed)
}

/// Does something short during which this process is not forked, so that no child sees it half done.
pub fn without_fork<T>(short: impl FnOnce() -> T) -> T {
    watch();
    let _held = registry();
    short()
}

fn registry() -> MutexGuard<'static, Vec<RawFd>> {
    NOT_INHERITED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sees to it that forks are noticed.
fn watch() {
    static WATCHED: Once = Once::new();
    WATCHED.call_once(|| {
        // SAFETY: the handlers are functions of this library, which run on the forking thread; what they do is
        // allowed there: `before` locks a mutex that no holder forks under, the others unlock it, and `in_child`
        // besides only stores an integer and closes descriptors.
        let _out_of_memory_is_all_that_can_fail =
            unsafe { libc::pthread_atfork(Some(before), Some(in_parent), Some(in_child)) };
    });
}

unsafe extern "C" fn before() {
    let guard = registry();
    // SAFETY: the registry is locked, so no other thread is between `before` and its counterpart.
    unsafe { *FORKING.0.get() = Some(guard) };
}

unsafe extern "C" fn in_parent() {
    // SAFETY: `before` locked the registry on this thread.
    drop(unsafe { (*FORKING.0.get()).take() });
}

unsafe extern "C" fn in_child() {
    // SAFETY: `before` locked the registry on the thread that is now this process's only one.
    let guard = unsafe { (*FORKING.0.get()).take() };
    GENERATION.fetch_add(1, Ordering::Relaxed);
    if let Some(mut descriptors) = guard {
        for &descriptor in descriptors.iter() {
            // SAFETY: each is open, and its owner knows by the generation that it is no longer its own.
            unsafe { libc::close(descriptor) };
        }
        descriptors.clear();
    }
}

/// An open file that is closed in forked children.
#[derive(Debug)]
pub(super) struct NotInherited {
    file: ManuallyDrop<File>,
    generation: u64,
}

impl NotInherited {
    /// Opens a file, and notes it before anybody can fork.
    pub(super) fn open(open: impl FnOnce() -> io::Result<File>) -> io::Result<Self> {
        watch();
        let mut descriptors = registry();
        let file = open()?;
        descriptors.push(file.as_raw_fd());
        Ok(Self { file: ManuallyDrop::new(file), generation: fork_generation() })
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }
}

impl Drop for NotInherited {
    fn drop(&mut self) {
        if self.generation != fork_generation() {
            return; // closed by the fork, and its number may be another file's by now
        }
        let mut descriptors = registry();
        descriptors.retain(|&descriptor| descriptor != self.file.as_raw_fd());
        // SAFETY: dropped once, here, and not used afterwards.
        unsafe { ManuallyDrop::drop(&mut self.file) };
    }
}

/// Calls a function when this process ends through `exit`, or by returning from `main`.
///
/// # Errors
/// `OutOfMemory` if the C library cannot remember it.
pub fn at_exit(hook: extern "C" fn()) -> io::Result<()> {
    // SAFETY: a function of this program, without arguments.
    match unsafe { libc::atexit(hook) } {
        0 => Ok(()),
        _ => Err(io::Error::from(io::ErrorKind::OutOfMemory)),
    }
}
