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

/// Larger ones gain little more, and a system that has run for a while has few of them.
const PIECE_BYTES: usize = 256 << 10;
/// So few zeros stay in the processor's cache: they are written again and again.
const ZEROS_BYTES: usize = 64 << 10;
/// A piece that takes more faults than this is many small ones, and nothing is gained.
const MOST_FAULTS: i64 = 8;
/// A device that is behind, or too little memory, holds back who writes: then no more is taken.
const MOST_TIME: Duration = Duration::from_millis(100);

/// Fills a file, all zeros and mapped from its start, with zeros in large pieces, if the kernel has them. Only the first is
/// mapped.
pub(super) fn fill(file: &std::fs::File, map: &MmapRaw) {
    fill_within(MOST_TIME, file, map);
}

fn fill_within(most: Duration, file: &std::fs::File, map: &MmapRaw) {
    let began = Instant::now();
    let zeros = vec![0; ZEROS_BYTES];
    let piece = [(); PIECE_BYTES / ZEROS_BYTES].map(|()| IoSlice::new(&zeros));
    for at in (0..map.len() / PIECE_BYTES).map(|nth| nth * PIECE_BYTES) {
        // What is missing is taken later, page by page.
        let written = retry_on_intr(|| pwritev(file, &piece, at as u64));
        let goes_on = written == Ok(PIECE_BYTES) && began.elapsed() < most;
        if !goes_on || at == 0 && !is_one_piece(map) {
            return;
        }
    }
}

/// Maps the first piece, and tells by the faults that took whether it is one.
fn is_one_piece(map: &MmapRaw) -> bool {
    let Some(before) = faults() else { return false };
    let mapped = super::segment::populate(map, 0, PIECE_BYTES);
    mapped.is_ok() && faults().is_some_and(|after| after - before <= MOST_FAULTS)
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
    fn pieces_within(most: Duration) -> std::io::Result<usize> {
        let file = tempfile::tempfile()?;
        file.set_len((PIECES * PIECE_BYTES) as u64)?;
        let map = MmapOptions::new().map_raw(&file)?;
        fill_within(most, &file, &map);
        Ok((file.metadata()?.blocks() as usize * 512).div_ceil(PIECE_BYTES))
    }

    #[test]
    fn a_device_that_holds_back_who_writes_gets_no_more() -> std::io::Result<()> {
        // How long the first took is known when it is written.
        assert_eq!(pieces_within(Duration::ZERO)?, 1);
        // All of it, unless the kernel has no large pieces.
        let pieces = pieces_within(Duration::MAX)?;
        assert!(pieces == PIECES || pieces == 1, "{pieces}");
        Ok(())
    }
}
