//! Closing an LSM tree while other threads are at work in it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this is test code

use duramen_engine::io::sim::Sim;
use duramen_engine::kv::{self, Engine};
use duramen_engine::lsm::{CompactionInfo, EventListener, Lsm, LsmOptions};
use duramen_engine::wal::Background;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::Duration;

/// For as long as this nothing may happen that must not: a test that passes waits it out.
const WHILE: Duration = Duration::from_millis(200);

fn open(sim: &Sim, listener: Option<Arc<dyn EventListener>>) -> duramen_engine::Result<Lsm> {
    let options = LsmOptions {
        env: sim.env(),
        background: Background::Manual,
        target_file_size_base: 4 << 10,
        listener,
        ..LsmOptions::default()
    };
    Lsm::open("/db", options)
}

/// Closes the store beside `work`, which says `begun` when it is inside and goes on when told.
fn close_beside(store: &Lsm, begun: &Receiver<()>, go_on: &Sender<()>, work: impl FnOnce() + Send) {
    std::thread::scope(|scope| {
        let worker = scope.spawn(work);
        begun.recv().unwrap();
        let (closed, is_closed) = channel();
        scope.spawn(move || closed.send(store.close()));
        let too_early = is_closed.recv_timeout(WHILE);
        go_on.send(()).unwrap();
        worker.join().unwrap();
        assert!(too_early.is_err(), "closed, while somebody is at work in its directory");
        is_closed.recv().unwrap().unwrap();
    });
}

#[test]
fn closing_waits_for_an_ingestion_which_gives_up() {
    let sim = Sim::new(1);
    let opened = open(&sim, None).unwrap();
    let store = &opened;
    store.put(b"before", b"1").unwrap();
    let (begin, begun) = channel();
    let (go_on, told) = channel::<()>();
    close_beside(store, &begun, &go_on, move || {
        let mut run = (0..1000u32).map(|n| {
            if n == 500 {
                // Tables were finished by now.
                begin.send(()).unwrap();
                told.recv().unwrap();
            }
            Ok((format!("key{n:04}").into_bytes(), vec![7; 100]))
        });
        let given_up = store.ingest(&mut run).unwrap_err();
        assert!(given_up.to_string().contains("closed"), "{given_up}");
    });
    // The next opening has the same numbers for its tables.
    let next = open(&sim, None).unwrap();
    next.put(b"after", b"2").unwrap();
    next.flush().unwrap();
    next.close().unwrap();
    let report = kv::verify(&sim.env(), "/db", &mut |_| ()).unwrap();
    assert!(report.damage.is_empty() && report.notes.is_empty(), "{report:?}");
    let next = open(&sim, None).unwrap();
    for (key, value) in [(b"before".as_slice(), b"1"), (b"after", b"2")] {
        assert_eq!(next.get(key).unwrap().as_deref(), Some(value.as_slice()));
    }
    assert!(next.get(b"key0000").unwrap().is_none());
}

/// Stands still when it is told of a compaction, until it may go on.
#[derive(Debug)]
struct StandsStill {
    begin: Sender<()>,
    told: Mutex<Receiver<()>>,
}

impl EventListener for StandsStill {
    fn on_compaction(&self, _: &CompactionInfo) {
        self.begin.send(()).unwrap();
        self.told.lock().unwrap().recv().unwrap();
    }
}

#[test]
fn closing_waits_for_a_compaction_on_another_thread() {
    let sim = Sim::new(1);
    let (begin, begun) = channel();
    let (go_on, told) = channel();
    let store = open(&sim, Some(Arc::new(StandsStill { begin, told: Mutex::new(told) }))).unwrap();
    store.put(b"key", b"value").unwrap();
    close_beside(&store, &begun, &go_on, || store.compact().unwrap());
    // Whoever comes late is told.
    for done in [store.compact(), store.flush(), store.checkpoint("/copy".as_ref())] {
        let closed = done.unwrap_err();
        assert!(closed.to_string().contains("closed"), "{closed}");
    }
    let next = open(&sim, None).unwrap();
    assert_eq!(next.get(b"key").unwrap().as_deref(), Some(b"value".as_slice()));
}

/// Closes the store when it is told of a compaction, and opens it again: whether that went.
#[derive(Debug)]
struct Closes {
    sim: Sim,
    store: OnceLock<Weak<Lsm>>,
    reopened: OnceLock<bool>,
}

impl EventListener for Closes {
    fn on_compaction(&self, _: &CompactionInfo) {
        let store = self.store.get().and_then(Weak::upgrade).unwrap();
        store.close().unwrap();
        self.reopened.set(open(&self.sim, None).is_ok()).unwrap();
    }
}

#[test]
fn who_closes_within_a_compaction_gives_the_directory_back_at_its_end() {
    let sim = Sim::new(1);
    let listener = Arc::new(Closes { sim: sim.clone(), store: OnceLock::new(), reopened: OnceLock::new() });
    let store = Arc::new(open(&sim, Some(listener.clone())).unwrap());
    listener.store.set(Arc::downgrade(&store)).unwrap();
    store.put(b"key", b"value").unwrap();
    store.compact().unwrap();
    assert_eq!(listener.reopened.get(), Some(&false), "it is still at work there");
    let next = open(&sim, None).unwrap();
    assert_eq!(next.get(b"key").unwrap().as_deref(), Some(b"value".as_slice()));
}
