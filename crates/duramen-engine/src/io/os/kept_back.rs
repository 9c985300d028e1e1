//! A descriptor that is kept back for what must not fail for want of one: a directory is opened to be synced, and after a sync
//! that failed nobody knows what is on the device.
#![allow(clippy::disallowed_methods)] // the io layer is where files are touched

use super::fork::without_fork;
use super::is_out_of_descriptors;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Of the root directory, so that it keeps nothing from being unmounted. None before a first was opened, and where another has
/// taken its place.
static KEPT_BACK: Mutex<Option<File>> = Mutex::new(None);

/// Opens a file and does something with it. If no descriptor is left, the one that is kept back is given for it; then whoever
/// needs it, too, waits.
pub(super) fn with_one<T>(
    open: impl Fn() -> io::Result<File>,
    then: impl FnOnce(&File) -> io::Result<T>,
) -> io::Result<T> {
    match open() {
        Ok(file) => {
            let done = then(&file);
            // Not waited for: this is no hurry. A child must not find it locked by a thread that it has not.
            without_fork(|| KEPT_BACK.try_lock().map(|mut kept| keep(&mut kept))).ok();
            done
        }
        Err(e) if is_out_of_descriptors(&e) => without_fork(|| {
            let mut kept = KEPT_BACK.lock().unwrap_or_else(PoisonError::into_inner);
            give(&mut kept);
            let done = open().and_then(|file| then(&file));
            keep(&mut kept);
            done
        }),
        Err(e) => Err(e),
    }
}

/// Closes it, unless the program has closed all its descriptors, as daemons do, and something else has its number now.
fn give(kept: &mut MutexGuard<'_, Option<File>>) {
    let Some(file) = kept.take() else { return };
    let identity = |of: fs::Metadata| (of.dev(), of.ino());
    match (file.metadata().map(identity), fs::metadata("/").map(identity)) {
        (Ok(own), Ok(root)) if own == root => drop(file),
        _ => std::mem::forget(file),
    }
}

fn keep(kept: &mut MutexGuard<'_, Option<File>>) {
    if kept.is_none() {
        **kept = File::open("/").ok();
    }
}
