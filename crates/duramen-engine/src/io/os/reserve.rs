//! Room for a segment: a file that has it, and how much that is worth.
//!
//! Where a file system copies on write (btrfs, ZFS, bcachefs), what is written over goes elsewhere, and needs new room in spite of a
//! reservation. A call is told so; a write through a mapping ends the process. So nothing is mapped for writing there. btrfs
//! writes a file in place that asks for it while it is empty: then a reservation holds what it promises, unless somebody takes
//! a snapshot of it.
#![allow(clippy::disallowed_methods)] // the io layer is where files are touched

use super::file_size;
use rustix::io::Errno;
use std::fs::OpenOptions;
use std::io;
use std::path::Path;

/// Why a file is not mapped for writing, though it could be: its file system copies on write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the file system copies on write: a reservation holds no room for mapped writes")]
pub struct CopiesOnWrite;

impl From<CopiesOnWrite> for io::Error {
    fn from(why: CopiesOnWrite) -> Self {
        Self::new(io::ErrorKind::Unsupported, why)
    }
}

/// Gives the file, which is empty, `len` bytes of zeros, with space for all of them on the device, be they written through a
/// mapping.
pub(super) fn reserve_for_mapping(file: &std::fs::File, len: u64) -> io::Result<()> {
    let place = Place::of(file);
    if place == Place::CopiesOnWrite {
        return Err(CopiesOnWrite.into());
    }
    reserve(file, len)?;
    if place == Place::Overlay && holds_less(file, len)? { Err(CopiesOnWrite.into()) } else { Ok(()) }
}

/// The same for a file that is written by calls, as far as the file system goes along. Whether a call that finds no room leaves
/// all as it was that others have written.
pub(super) fn reserve_for_calls(file: &std::fs::File, len: u64) -> io::Result<bool> {
    let place = Place::of(file);
    match reserve(file, len) {
        Err(e) if e.kind() == io::ErrorKind::Unsupported => file.set_len(len)?,
        other => other?,
    }
    Ok(place == Place::CopiesOnWrite || place == Place::Overlay && holds_less(file, len)?)
}

/// Whether the file has less on the device than its length, all of which was reserved: the file system only looked whether there
/// is so much.
fn holds_less(file: &std::fs::File, len: u64) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    Ok(file.metadata()?.blocks().saturating_mul(512) < len)
}

/// What a file lies on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// btrfs, ZFS or bcachefs; or an overlay (the layer of a container, say) of which the upper one is btrfs.
    CopiesOnWrite,
    /// Any other overlay: it does not say what lies below.
    Overlay,
    /// Anything else.
    Other,
}

impl Place {
    /// What this file, which is empty, lies on. From here on it is written in place, if that can be had.
    #[cfg(target_os = "linux")]
    fn of(file: &std::fs::File) -> Self {
        const BTRFS: i128 = 0x9123_683e;
        const OVERLAY: i128 = 0x794c_7630;
        const OTHERS: [i128; 2] = [0x2fc1_2fc1, 0xca45_1a4e];
        let Ok(found) = rustix::fs::fstatfs(file) else { return Self::Other };
        // Signed and of 32 bits on some machines.
        match i128::from(found.f_type) & 0xffff_ffff {
            BTRFS => {
                let _room_may_be_missed_later = write_in_place(file);
                Self::CopiesOnWrite
            }
            // Only btrfs can do otherwise, too.
            OVERLAY if write_in_place(file).is_ok() => Self::CopiesOnWrite,
            OVERLAY => Self::Overlay,
            other if OTHERS.contains(&other) => Self::CopiesOnWrite,
            _ => Self::Other,
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn of(_file: &std::fs::File) -> Self {
        Self::Other
    }
}

/// Asks that what is written over stays where it is. What is compressed does not.
#[cfg(target_os = "linux")]
fn write_in_place(file: &std::fs::File) -> rustix::io::Result<()> {
    use rustix::fs::{IFlags, ioctl_getflags, ioctl_setflags};
    let flags = ioctl_getflags(file)?;
    ioctl_setflags(file, flags.difference(IFlags::COMPRESSED) | IFlags::NOCOW)
}

/// A new file for a segment of `len` bytes.
pub(super) fn create_file(path: &Path, len: usize) -> io::Result<std::fs::File> {
    if len == 0 {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "a segment needs at least one byte"));
    }
    file_size::look();
    file_size::check(len as u64)?;
    OpenOptions::new().read(true).write(true).create_new(true).open(path)
}

/// Removes the file of a segment that could not be made: nobody knows it yet, and recovery should not
/// have to explain it.
pub(super) fn forget_file(path: &Path) {
    let _best_effort = std::fs::remove_file(path);
}

/// Gives the file `len` bytes of zeros, with space for all of them on the device.
#[cfg(not(any(target_os = "netbsd", target_os = "openbsd", target_os = "dragonfly")))]
fn reserve(file: &std::fs::File, len: u64) -> io::Result<()> {
    // A signal can interrupt a long reservation, and what it has done by then need not be done again.
    let flags = rustix::fs::FallocateFlags::empty();
    let reserved = rustix::io::retry_on_intr(|| rustix::fs::fallocate(file, flags, 0, len));
    reserved.map_err(|e| or_unsupported(e.into()))
}

#[cfg(any(target_os = "netbsd", target_os = "openbsd", target_os = "dragonfly"))]
fn reserve(_file: &std::fs::File, _len: u64) -> io::Result<()> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "this system cannot reserve space"))
}

/// Names alike the ways in which file systems say that they cannot reserve or map: there are many, and
/// callers have one answer to all. Our arguments are right, so `EINVAL` is the file system's way too.
pub(super) fn or_unsupported(error: io::Error) -> io::Error {
    let cannot = [Errno::OPNOTSUPP, Errno::NOTSUP, Errno::NOSYS, Errno::INVAL, Errno::NODEV];
    match error.raw_os_error() {
        Some(code) if cannot.iter().any(|errno| errno.raw_os_error() == code) => {
            io::Error::new(io::ErrorKind::Unsupported, error)
        }
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_systems_that_cannot_reserve_are_unsupported_and_full_ones_are_not() {
        for errno in [Errno::OPNOTSUPP, Errno::NOSYS, Errno::INVAL, Errno::NODEV] {
            assert_eq!(or_unsupported(errno.into()).kind(), io::ErrorKind::Unsupported, "{errno}");
        }
        assert_eq!(or_unsupported(Errno::NOSPC.into()).kind(), io::ErrorKind::StorageFull);
        assert_eq!(or_unsupported(Errno::MFILE.into()).raw_os_error(), Some(Errno::MFILE.raw_os_error()));
    }
}
