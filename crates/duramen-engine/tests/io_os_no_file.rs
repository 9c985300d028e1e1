//! What has the name of a file and is none: whoever opens it hears so at once.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this is test code
#![allow(clippy::disallowed_methods)] // it makes what the io layer does not

use duramen_engine::io::{DirEntry, Env, OpenMode};
use std::io::ErrorKind;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;

fn make_all(dir: &Path) {
    std::fs::create_dir(dir.join("dir")).unwrap();
    assert!(Command::new("mkfifo").arg(dir.join("pipe")).status().unwrap().success());
    let _listener = UnixListener::bind(dir.join("socket")).unwrap();
    symlink(dir.join("dir"), dir.join("link to a dir")).unwrap();
    symlink(dir.join("pipe"), dir.join("link to a pipe")).unwrap();
    symlink("/dev/zero", dir.join("link to a device")).unwrap();
    symlink("link to itself", dir.join("link to itself")).unwrap();
}

#[test]
fn nothing_but_a_file_is_opened() {
    let dir = tempfile::tempdir().unwrap();
    make_all(dir.path());
    let fs = Env::os().fs;
    for DirEntry { name, is_file, .. } in fs.read_dir(dir.path()).unwrap() {
        let path = dir.path().join(&name);
        let refused = [
            fs.open(&path, OpenMode::Read).err(),
            fs.open(&path, OpenMode::ReadWrite).err(),
            fs.open_segment(&path).err(),
            fs.try_lock_shared(&path).err(),
            fs.try_lock(&path).err(),
        ];
        assert!(!is_file, "{name}");
        for error in refused {
            assert_eq!(error.map(|e| e.kind()), Some(ErrorKind::IsADirectory), "{name}");
        }
    }
}

#[test]
fn a_link_to_a_file_is_one() {
    let dir = tempfile::tempdir().unwrap();
    let fs = Env::os().fs;
    let (file, link, nowhere) =
        (dir.path().join("file"), dir.path().join("link"), dir.path().join("nowhere"));
    fs.open(&file, OpenMode::CreateNew).unwrap().write_all_at(b"12345", 0).unwrap();
    symlink(&file, &link).unwrap();
    symlink(dir.path().join("not there"), &nowhere).unwrap();
    let mut entries = fs.read_dir(dir.path()).unwrap();
    entries.sort_by(|one, other| one.name.cmp(&other.name));
    let shown: Vec<_> = entries.iter().map(|e| (e.name.as_str(), e.is_dir, e.is_file, e.len)).collect();
    assert_eq!(shown, [("file", false, true, 5), ("link", false, true, 5), ("nowhere", false, false, 0)]);
    assert_eq!(fs.open(&link, OpenMode::Read).unwrap().len().unwrap(), 5);
    assert_eq!(fs.open_segment(&link).unwrap().memory().len(), 5);
    assert!(fs.try_lock_shared(&link).unwrap().is_some());
    assert_eq!(fs.open(&nowhere, OpenMode::Read).unwrap_err().kind(), ErrorKind::NotFound);
}
