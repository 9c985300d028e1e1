//! The limit of a file's size. One test to this process, as it lowers a limit of it; and the process would end if the kernel
//! had to say that it is passed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this is test code

use duramen_engine::io::{Env, OpenMode};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io::ErrorKind;

const LIMIT: usize = 1 << 20;

#[test]
fn what_would_be_too_large_a_file_is_refused_and_ends_nobody() {
    let dir = tempfile::tempdir().unwrap();
    let fs = Env::os().fs;
    let earlier = fs.open(&dir.path().join("earlier"), OpenMode::CreateNew).unwrap();
    earlier.set_len(3 * LIMIT as u64).unwrap();
    let limit = Rlimit { current: Some(LIMIT as u64), ..getrlimit(Resource::Fsize) };
    setrlimit(Resource::Fsize, limit).unwrap();

    let path = dir.path().join("segment");
    for refused in [fs.create_segment(&path, 2 * LIMIT), fs.create_unmapped_segment(&path, 2 * LIMIT)] {
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::FileTooLarge);
        assert!(!fs.exists(&path).unwrap());
    }
    fs.create_segment(&path, LIMIT).unwrap();

    let file = fs.open(&dir.path().join("table"), OpenMode::CreateNew).unwrap();
    file.write_all_at(&[7; LIMIT], 0).unwrap();
    assert_eq!(file.write_all_at(&[7; 2], LIMIT as u64 - 1).unwrap_err().kind(), ErrorKind::FileTooLarge);
    assert_eq!(file.set_len(LIMIT as u64 + 1).unwrap_err().kind(), ErrorKind::FileTooLarge);
    assert_eq!(file.len().unwrap(), LIMIT as u64);
    // What is larger already may become smaller.
    earlier.set_len(2 * LIMIT as u64).unwrap();
}
