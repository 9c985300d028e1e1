//! How the operating system's limits come through. One test to this process, as it lowers a limit of it.

use duramen_engine::io::{Env, OpenMode};
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

#[test]
fn running_out_of_descriptors_is_an_error_that_heals_and_leaves_no_file() {
    let dir = tempfile::tempdir().unwrap();
    let fs = Env::os().fs;
    let limit = Rlimit { current: Some(64), ..getrlimit(Resource::Nofile) };
    setrlimit(Resource::Nofile, limit).unwrap();
    let mut open = Vec::new();
    let error = loop {
        match fs.open(&dir.path().join(open.len().to_string()), OpenMode::CreateNew) {
            Ok(file) => open.push(file),
            Err(e) => break e,
        }
    };
    assert_eq!(error.raw_os_error(), Some(Errno::MFILE.raw_os_error()));
    let path = dir.path().join("segment");
    for refused in [fs.create_segment(&path, 4096), fs.create_unmapped_segment(&path, 4096)] {
        assert_eq!(refused.unwrap_err().raw_os_error(), Some(Errno::MFILE.raw_os_error()));
    }
    assert!(!fs.exists(&path).unwrap());
    open.pop();
    fs.create_segment(&path, 4096).unwrap();
}
