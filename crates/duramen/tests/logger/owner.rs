//! Another user's store, and directories that one may not write to: as the kernel sees it, not the simulator.

use crate::messages;
use crate::program::{Program, tell};
use duramen::{Level, Logger, Store};
use std::fs::{Permissions, set_permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// A user that owns nothing: `nobody`, as it usually is.
const NOBODY: u32 = 65_534;

/// What somebody says who tries to log into a store that is another user's, and then to read it.
pub fn stranger(dir: &Path) {
    tell(match Logger::builder(dir).open() {
        Ok(_) => "it was let in".to_owned(),
        Err(e) => e.to_string(),
    });
    tell(match Store::open_read_only(dir).map(|store| messages(&store)) {
        Ok(found) => found.join(","),
        Err(e) => e.to_string(),
    });
}

/// A directory that others may look into; `None`, and says so, if we cannot become one of them.
fn shown_directory() -> Option<tempfile::TempDir> {
    let dir = tempfile::tempdir().unwrap();
    if dir.path().metadata().unwrap().uid() != 0 {
        eprintln!("skipped: only root can become another user");
        return None;
    }
    set_permissions(dir.path(), Permissions::from_mode(0o755)).unwrap();
    Some(dir)
}

/// Everything in a directory: names, lengths.
fn content(dir: &Path) -> Vec<(PathBuf, u64)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        match entry.file_type().unwrap().is_dir() {
            true => found.extend(content(&entry.path())),
            false => found.push((entry.path(), entry.metadata().unwrap().len())),
        }
    }
    found.sort();
    found
}

#[test]
fn another_users_store_is_read_and_not_written_to() {
    let Some(dir) = shown_directory() else { return };
    let program = shown_directory().unwrap();
    let store = dir.path().join("logs");
    let logger = Logger::builder(&store).open().unwrap();
    logger.log(Level::Info, "ours", &[]).unwrap();
    let before = content(&store);
    // A living store, a closed one, and one that others may not even look into.
    let mut stranger = Program::start_as(NOBODY, program.path(), "stranger", &store);
    let told = stranger.report().unwrap();
    assert!(told.contains("KEEPER") && told.to_lowercase().contains("permission denied"), "{told}");
    stranger.expect("ours");
    assert_eq!(content(&store), before);

    logger.close().unwrap();
    let mut stranger = Program::start_as(NOBODY, program.path(), "stranger", &store);
    assert!(stranger.report().unwrap().to_lowercase().contains("permission denied"));
    stranger.expect("ours");

    set_permissions(&store, Permissions::from_mode(0o700)).unwrap();
    let mut stranger = Program::start_as(NOBODY, program.path(), "stranger", &store);
    for _ in 0..2 {
        let told = stranger.report().unwrap();
        assert!(told.contains("logs") && told.to_lowercase().contains("permission denied"), "{told}");
    }
}

#[test]
fn a_store_is_not_made_where_one_may_not_write() {
    let Some(dir) = shown_directory() else { return };
    let program = shown_directory().unwrap();
    for store in [dir.path().to_path_buf(), dir.path().join("logs")] {
        let mut stranger = Program::start_as(NOBODY, program.path(), "stranger", &store);
        assert!(stranger.report().unwrap().to_lowercase().contains("permission denied"));
        assert!(stranger.report().unwrap().contains("no store"));
    }
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}
