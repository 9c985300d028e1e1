//! A full disk, shown on a memory file system: it says at once that a reservation is too large.
#![cfg(target_os = "linux")]

use duramen_engine::io::Env;
use std::io::ErrorKind;
use std::path::Path;

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
