//! A close that finds no room for its edit, while a write is still coming in.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this is test code

mod hooked;

use duramen_engine::io::sim::Sim;
use duramen_engine::kv::{Engine, WriteBatch, WriteOptions};
use duramen_engine::lsm::{Lsm, LsmOptions};
use duramen_engine::wal::Background;
use hooked::{Hooked, Moment};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// What happens at the next write into a manifest, which then finds no room.
type Then = Arc<Mutex<Option<Box<dyn FnOnce() + Send>>>>;

#[test]
fn a_write_that_comes_in_while_a_close_finds_no_room_is_kept() {
    for _ in 0..4 {
        let sim = Sim::new(1);
        let options = |env| LsmOptions {
            env,
            background: Background::Manual,
            write_buffer_size: 80 << 20,
            ..LsmOptions::default()
        };
        let then = Then::default();
        let mut env = sim.env();
        env.fs = Hooked::over(env.fs, {
            let then = Arc::clone(&then);
            move |moment, path| {
                let is_edit = moment == Moment::Writes && path.to_string_lossy().contains("MANIFEST");
                match then.lock().unwrap().take_if(|_| is_edit) {
                    None => Ok(()),
                    Some(then) => {
                        then();
                        Err(io::ErrorKind::StorageFull.into())
                    }
                }
            }
        });
        let store = Arc::new(Lsm::open("store", options(env)).unwrap());
        let mut batch = WriteBatch::new();
        for n in 0..60u32 {
            batch.put(&n.to_le_bytes(), &vec![7; 1 << 20]).unwrap();
        }
        let begun = Arc::<AtomicBool>::default();
        let writer = std::thread::spawn({
            let (store, begun) = (Arc::clone(&store), Arc::clone(&begun));
            move || {
                begun.store(true, Ordering::SeqCst);
                store.write(&batch, WriteOptions::default())
            }
        });
        let written = Arc::<Mutex<_>>::default();
        *then.lock().unwrap() = Some(Box::new({
            let written = Arc::clone(&written);
            move || *written.lock().unwrap() = Some(writer.join().unwrap())
        }));
        while !begun.load(Ordering::SeqCst) {
            std::hint::spin_loop();
        }
        let _either_way = store.close();
        drop(store);
        let written = written.lock().unwrap().take();
        sim.crash_process();
        let again = Lsm::open("store", options(sim.env())).unwrap();
        // Refused, it may be missing.
        if matches!(written, Some(Ok(_))) {
            assert!(again.get(&0u32.to_le_bytes()).unwrap().is_some(), "it was acknowledged");
        }
    }
}
