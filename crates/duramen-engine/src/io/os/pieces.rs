//! Memory of a file in large pieces.
//!
//! The kernel caches a file in the pieces in which it was written, and newer ones map a piece as a whole: one fault instead of
//! one for each 4 KiB, neighbours that the processor finds together, and one thing to give back when the file is removed.
//! Memory that is first touched through a mapping comes in small pages.
#![allow(unsafe_code, clippy::disallowed_methods)] // asks the operating system what a mapping cost, and how long it took

use memmap2::MmapRaw;
use rustix::io::{pwritev, retry_on_intr};
use std::io::IoSlice;
use std::time::{Duration, Instant};

/// So few zeros stay in the processor's cache: they are written again and again.
const ZEROS_BYTES: usize = 32 << 10;
/// A piece that takes a fault for each so many bytes, or more, is many small ones, and nothing is gained.
const SMALL_BYTES: usize = 16 << 10;
/// A device that is behind, or too little memory, holds back who writes: then no more is taken.
const MOST_TIME: Duration = Duration::from_millis(100);

/// Fills the first `len` bytes of a file, all zeros and mapped from its start, with zeros in pieces of `piece_bytes`, if the
/// kernel has them. Only the first is mapped.
pub(super) fn fill(file: &std::fs::File, map: &MmapRaw, len: usize, piece_bytes: usize) {
    fill_within(MOST_TIME, file, map, len, piece_bytes);
}

fn fill_within(most: Duration, file: &std::fs::File, map: &MmapRaw, len: usize, piece_bytes: usize) {
    let began = Instant::now();
    let zeros = vec![0; ZEROS_BYTES.min(piece_bytes)];
    // All of it, or nearly.
    let piece = vec![IoSlice::new(&zeros); piece_bytes / zeros.len().max(1)];
    let piece_bytes = piece.len() * zeros.len();
    for at in (0..len.checked_div(piece_bytes).unwrap_or(0)).map(|nth| nth * piece_bytes) {
        // What is missing is taken later, page by page.
        let written = retry_on_intr(|| pwritev(file, &piece, at as u64));
        let goes_on = written == Ok(piece_bytes) && began.elapsed() < most;
        if !goes_on || at == 0 && !is_one_piece(map, piece_bytes) {
            return;
        }
    }
}

/// Maps the first piece, and tells by the faults that took whether it is one.
fn is_one_piece(map: &MmapRaw, piece_bytes: usize) -> bool {
    let Some(before) = faults() else { return false };
    let mapped = super::segment::populate(map, 0, piece_bytes);
    mapped.is_ok() && faults().is_some_and(|after| ((after - before) as usize) < piece_bytes / SMALL_BYTES)
}

/// How many page faults this thread has taken that needed no device.
fn faults() -> Option<i64> {
    #[cfg(target_os = "linux")]
    {
        let mut usage = std::mem::MaybeUninit::<libc::rusage>::uninit();
        // SAFETY: the call fills all of `usage`, if it succeeds.
        unsafe {
            let done = libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()) == 0;
            done.then(|| usage.assume_init().ru_minflt)
        }
    }
    #[cfg(not(target_os = "linux"))]
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use memmap2::MmapOptions;
    use std::os::unix::fs::MetadataExt;

    const PIECES: usize = 8;

    /// How many pieces of a file without any are written within that time.
    fn pieces_within(most: Duration, piece_bytes: usize) -> std::io::Result<usize> {
        let file = tempfile::tempfile()?;
        file.set_len((PIECES * piece_bytes) as u64)?;
        let map = MmapOptions::new().map_raw(&file)?;
        fill_within(most, &file, &map, map.len(), piece_bytes);
        Ok((file.metadata()?.blocks() as usize * 512).div_ceil(piece_bytes))
    }

    #[test]
    fn a_device_that_holds_back_who_writes_gets_no_more() -> std::io::Result<()> {
        for piece_bytes in [32 << 10, 256 << 10] {
            // How long the first took is known when it is written.
            assert_eq!(pieces_within(Duration::ZERO, piece_bytes)?, 1);
            // All of it, unless the kernel has no large pieces.
            let pieces = pieces_within(Duration::MAX, piece_bytes)?;
            assert!(pieces == PIECES || pieces == 1, "{pieces}");
        }
        Ok(())
    }
}
