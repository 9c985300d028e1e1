//! A listener that calls the store of which it is told.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this is test code

use duramen_engine::Error;
use duramen_engine::io::sim::{Fault, Sim};
use duramen_engine::kv::{Engine, ReadOptions};
use duramen_engine::lsm::{
    BackgroundWork, CompactionInfo, EventListener, FlushInfo, Lsm, LsmOptions, StallInfo,
};
use duramen_engine::wal::Background;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::Duration;

/// Long enough for whatever does not wait for ever.
const LONG: Duration = Duration::from_secs(60);

/// Does all that a store can do, whatever it is told.
#[derive(Debug, Default)]
struct Calls {
    store: OnceLock<Weak<Lsm>>,
    heard: Mutex<Vec<String>>,
    /// Closes it when it is told of a failure.
    closes: bool,
}

impl Calls {
    fn call(&self, what: String) {
        let nth = {
            let mut heard = self.heard.lock().unwrap();
            heard.push(what);
            heard.len()
        };
        let Some(store) = self.store.get().and_then(Weak::upgrade) else { return };
        // Each would be told of what it does itself.
        if nth > 20 {
            return;
        }
        let snapshot = store.snapshot();
        let _read =
            store.get_with(b"key", &ReadOptions { snapshot: Some(snapshot), ..ReadOptions::default() });
        let _may_fail = store.put(format!("told {nth}").as_bytes(), b"value");
        let _may_fail = store.flush();
    }
}

impl EventListener for Calls {
    fn on_flush(&self, _: &FlushInfo) {
        self.call("flush".into());
    }

    fn on_compaction(&self, _: &CompactionInfo) {
        self.call("compaction".into());
    }

    fn on_stall(&self, info: &StallInfo) {
        self.call(format!("{:?}", info.condition));
    }

    fn on_background_error(&self, _: BackgroundWork, error: &Error) {
        self.call(error.to_string());
        if let Some(store) = self.store.get().and_then(Weak::upgrade).filter(|_| self.closes) {
            let _fails = store.close();
        }
    }
}

fn open(sim: &Sim, calls: &Arc<Calls>) -> Arc<Lsm> {
    let options = LsmOptions {
        env: sim.env(),
        background: Background::Manual,
        level0_file_num_compaction_trigger: 4,
        level0_slowdown_writes_trigger: 4,
        listener: Some(Arc::clone(calls) as Arc<dyn EventListener>),
        ..LsmOptions::default()
    };
    let store = Arc::new(Lsm::open("/db", options).unwrap());
    calls.store.set(Arc::downgrade(&store)).unwrap();
    store
}

/// Fails if `work` waits for what only it could do.
fn in_time(work: impl FnOnce() + Send + 'static) {
    let (end, ended) = channel();
    let worker = std::thread::spawn(move || {
        work();
        let _nobody_waits_any_more = end.send(());
    });
    if let Err(std::sync::mpsc::RecvTimeoutError::Timeout) = ended.recv_timeout(LONG) {
        panic!("the listener waits for its own thread");
    }
    worker.join().unwrap();
}

#[test]
fn it_may_write_and_flush_whatever_it_is_told() {
    in_time(|| {
        let calls = Arc::new(Calls::default());
        let store = open(&Sim::new(1), &calls);
        for n in 0..6u8 {
            store.put(&[n], b"value").unwrap();
            store.flush().unwrap();
        }
        store.ingest(&mut [Ok((b"ingested".to_vec(), b"value".to_vec()))].into_iter()).unwrap();
        while store.background_step().unwrap() {}
        let heard = calls.heard.lock().unwrap().clone();
        for what in ["flush", "compaction", "Delayed", "Normal"] {
            assert!(heard.iter().any(|heard| heard == what), "{what}: {heard:?}");
        }
        assert_eq!(store.get(b"told 1").unwrap().as_deref(), Some(&b"value"[..]));
        store.close().unwrap();
    });
}

#[test]
fn it_may_close_a_store_that_fails() {
    in_time(|| {
        let sim = Sim::new(1);
        let calls = Arc::new(Calls { closes: true, ..Calls::default() });
        let store = open(&sim, &calls);
        store.put(b"key", b"value").unwrap();
        for at in sim.operations()..sim.operations() + 20 {
            sim.fail_at(at, Fault::SyncFailed);
        }
        store.flush().unwrap_err();
        assert!(store.poisoned().is_some());
        assert!(!calls.heard.lock().unwrap().is_empty());
        assert!(store.put(b"key", b"again").is_err());
        // It has given the directory back.
        let options = LsmOptions { env: sim.env(), background: Background::Manual, ..LsmOptions::default() };
        let next = Lsm::open("/db", options).unwrap();
        assert_eq!(next.get(b"key").unwrap().as_deref(), Some(&b"value"[..]));
    });
}
