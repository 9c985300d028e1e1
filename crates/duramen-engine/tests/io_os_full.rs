//! A full disk, shown on a memory file system: it says at once that a reservation is too large.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this is test code
#![allow(clippy::disallowed_methods)] // the image of a file system is no file of a store

use duramen_engine::io::Env;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const TMPFS_MAGIC: i128 = 0x0102_1994;

#[test]
fn a_segment_that_finds_no_space_says_so_and_leaves_no_file() {
    let place = Path::new("/dev/shm");
    let Ok(size) = rustix::fs::statfs(place) else { return eprintln!("skipped: no /dev/shm") };
    if i128::from(size.f_type) != TMPFS_MAGIC || size.f_blocks == 0 {
        return eprintln!("skipped: /dev/shm is not a tmpfs with a limit");
    }
    let Ok(dir) = tempfile::tempdir_in(place) else { return eprintln!("skipped: /dev/shm is not writable") };
    let path = dir.path().join("segment");
    let too_much = (size.f_blocks + 1) * size.f_bsize as u64;
    let full = Env::os().fs.create_segment(&path, too_much as usize).unwrap_err();
    assert_eq!(full.kind(), ErrorKind::StorageFull);
    assert!(!path.exists());
}

/// A small btrfs, while it lives.
struct Btrfs(PathBuf);

impl Btrfs {
    /// `None` where none can be made.
    fn mount(dir: &Path) -> Option<Self> {
        let (image, at) = (dir.join("image"), dir.join("mounted"));
        std::fs::create_dir(&at).unwrap();
        std::fs::File::create(&image).unwrap().set_len(128 << 20).unwrap();
        let run = |command: &mut Command| {
            command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
        };
        let mounted = run(Command::new("mkfs.btrfs").arg(&image))
            && run(Command::new("mount").args(["-o", "loop"]).args([&image, &at]));
        mounted.then_some(Self(at))
    }
}

impl Drop for Btrfs {
    fn drop(&mut self) {
        let _it_may_have_gone = Command::new("umount").arg(&self.0).status();
    }
}

/// Where a mapped write may end the process for want of room, nothing is mapped.
#[test]
fn a_segment_is_not_mapped_for_writing_where_its_reservation_holds_no_room() {
    let dir = tempfile::tempdir().unwrap();
    let Some(place) = Btrfs::mount(dir.path()) else { return eprintln!("skipped: no btrfs can be mounted") };
    let path = place.0.join("segment");
    let refused = Env::os().fs.create_segment(&path, 1 << 20).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Unsupported, "{refused}");
    assert!(!path.exists());
    Env::os().fs.create_unmapped_segment(&path, 1 << 20).unwrap();
}
