//! Making a directory whole: what is somebody else's stays.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this is test code

mod hooked;

use duramen_engine::Error;
use duramen_engine::io::sim::Sim;
use duramen_engine::io::{InTheMaking, OpenMode};
use hooked::{Hooked, Moment};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

#[test]
fn a_file_that_comes_into_an_empty_directory_is_not_removed() {
    let sim = Sim::new(1);
    let mut env = sim.env();
    env.fs.create_dir_all(Path::new("copy.tmp")).unwrap();
    // Somebody puts a file into the directory just before the mark is made in it, once.
    let (fs, armed) = (Arc::clone(&env.fs), AtomicBool::new(true));
    env.fs = Hooked::over(env.fs, move |moment, path| {
        let is_made = moment == Moment::Opens(OpenMode::CreateNew) && path.ends_with("MARK");
        if is_made && armed.swap(false, Ordering::Relaxed) {
            fs.open(&path.with_file_name("precious"), OpenMode::CreateNew)?.write_all_at(b"mine", 0)?;
        }
        Ok(())
    });
    let making = InTheMaking { what: "copy", mark: "MARK", opened: "OPENED" };
    let make = || making.make(&env, Path::new("copy"), |_| Ok::<_, Error>(()));
    assert!(matches!(make(), Err(Error::Locked { .. })));
    for _ in 0..2 {
        let refused = make().unwrap_err().to_string();
        assert!(refused.contains("with `precious` in it"), "{refused}");
    }
    assert_eq!(sim.read_file(Path::new("copy.tmp/precious")).unwrap(), b"mine");
}
