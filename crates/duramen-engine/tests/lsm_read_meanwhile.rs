//! Opening an LSM tree read-only while another writes to it, at the worst of moments.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this is test code

mod hooked;

use duramen_engine::io::Env;
use duramen_engine::io::sim::Sim;
use duramen_engine::kv::Engine;
use duramen_engine::lsm::{Lsm, LsmOptions};
use duramen_engine::wal::{Background, WalRecoveryMode};
use hooked::{Hooked, Moment};
use std::path::Path;
use std::sync::{Arc, Mutex};

const DIR: &str = "store";

fn options(env: Env) -> LsmOptions {
    LsmOptions {
        env,
        background: Background::Manual,
        write_buffer_size: 64 << 10,
        wal_recovery_mode: WalRecoveryMode::AbsoluteConsistency,
        ..LsmOptions::default()
    }
}

/// The reader opens `name`; then the writer comes to its next segment, which has been there without a header if `begun`.
fn reads_while_the_writer_goes_on(name: &'static str, begun: bool) {
    let sim = Sim::new(1);
    let fs = sim.env().fs;
    let store = Arc::new(Lsm::open(DIR, options(sim.env())).unwrap());
    store.put(b"a", b"1").unwrap();
    let first = sim.files().into_iter().find(|file| file.ends_with("00000001.wal")).unwrap();
    let next = Path::new(&first).with_file_name("00000002.wal");
    if begun {
        fs.create_segment(&next, 64 << 10).unwrap();
    }
    let (writer, on) = (Arc::clone(&store), Arc::clone(&fs));
    let then = move || {
        if begun {
            // The same file, made to its end.
            on.remove_file(&next).unwrap();
        }
        writer.put(b"b", &[7; 60_000]).unwrap();
        assert!(on.exists(&next).unwrap());
    };
    let then = Arc::new(Mutex::new(Some(then)));
    let mut env = sim.env();
    env.fs = Hooked::over(fs, {
        let then = Arc::clone(&then);
        move |moment, path| {
            let is_it = moment == Moment::HasOpenedSegment && path.ends_with(name);
            if let Some(then) = then.lock().unwrap().take_if(|_| is_it) {
                then();
            }
            Ok(())
        }
    });
    let reader = Lsm::open_read_only(DIR, options(env)).unwrap();
    assert!(then.lock().unwrap().is_none());
    assert!(reader.recovery().damage.is_empty(), "{:?}", reader.recovery());
    assert_eq!(reader.get(b"a").unwrap().unwrap(), b"1");
}

#[test]
fn a_segment_that_is_just_being_made_is_not_missed() {
    reads_while_the_writer_goes_on("00000002.wal", true);
}

#[test]
fn a_segment_that_is_made_after_the_look_is_not_missed() {
    reads_while_the_writer_goes_on("00000001.wal", false);
}
