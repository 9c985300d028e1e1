//! A listener that calls the store of which it is told.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this is test code

use duramen_engine::Error;
use duramen_engine::io::sim::{Fault, Sim};
use duramen_engine::kv::{Engine, ReadOptions};
use duramen_engine::lsm::{
    BackgroundWork, CompactionInfo, EventListener, FlushInfo, Lsm, LsmOptions, StallCondition, StallInfo,
};
use duramen_engine::wal::Background;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::Duration;

/// Long enough for whatever does not wait for ever.
const LONG: Duration = Duration::from_secs(60);

type Call = fn(&Lsm, usize);

/// Calls the store, whatever it is told.
#[derive(Debug)]
struct Calls {
    store: OnceLock<Weak<Lsm>>,
    /// Held while it is told: nothing is told within.
    heard: Mutex<Vec<String>>,
    calls: Call,
}

impl Calls {
    fn new(calls: Call) -> Arc<Self> {
        Arc::new(Self { store: OnceLock::new(), heard: Mutex::default(), calls })
    }

    fn call(&self, what: String) {
        let mut heard = self.heard.try_lock().expect("two are told at the same time");
        heard.push(what);
        let nth = heard.len();
        // Each would be told of what it does itself.
        if let Some(store) = self.store.get().and_then(Weak::upgrade).filter(|_| nth < 30) {
            (self.calls)(&store, nth);
        }
    }

    fn has_heard(&self, what: &str) -> bool {
        self.heard.lock().unwrap().iter().any(|heard| heard.contains(what))
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
    }
}

/// Where nothing can be made.
const COPY: &str = "/dev/null/copy";

/// All that a store can do.
fn everything(store: &Lsm, nth: usize) {
    let options = ReadOptions { snapshot: Some(store.snapshot()), ..ReadOptions::default() };
    let _read = store.get_with(b"key", &options);
    let _may_fail = store.put(format!("told {nth}").as_bytes(), b"value");
    let _may_fail = store.flush();
    let _may_fail = store.compact();
    let _may_fail =
        store.ingest(&mut [Ok((format!("told {nth}, ingested").into_bytes(), vec![7; 100]))].into_iter());
    let _may_fail = store.checkpoint(COPY.as_ref());
    let _may_fail = store.background_step();
}

fn options(sim: &Sim) -> LsmOptions {
    LsmOptions {
        env: sim.env(),
        background: Background::Manual,
        level0_file_num_compaction_trigger: 4,
        level0_slowdown_writes_trigger: 4,
        target_file_size_base: 4 << 10,
        ..LsmOptions::default()
    }
}

fn open(options: LsmOptions, dir: &str, calls: &Arc<Calls>) -> Arc<Lsm> {
    let listener = Some(Arc::clone(calls) as Arc<dyn EventListener>);
    let store = Arc::new(Lsm::open(dir, LsmOptions { listener, ..options }).unwrap());
    calls.store.set(Arc::downgrade(&store)).unwrap();
    store
}

/// Fails if `work` waits for what only it could do.
fn in_time<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (end, ended) = channel();
    let worker = std::thread::spawn(move || {
        let done = work();
        let _nobody_waits_any_more = end.send(());
        done
    });
    if let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(LONG) {
        panic!("somebody waits for ever");
    }
    worker.join().unwrap()
}

fn ingest(store: &Lsm) -> duramen_engine::Result<u64> {
    store.ingest(&mut [Ok((b"ingested".to_vec(), b"value".to_vec()))].into_iter())
}

#[test]
fn it_may_call_whatever_it_likes_whatever_it_is_told() {
    in_time(|| {
        let calls = Calls::new(everything);
        let store = open(options(&Sim::new(1)), "/db", &calls);
        for n in 0..6u8 {
            store.put(&[n], &[n; 10_000]).unwrap();
            store.flush().unwrap();
        }
        ingest(&store).unwrap();
        while store.background_step().unwrap() {}
        store.compact().unwrap();
        for what in ["flush", "compaction", "Delayed", "Normal"] {
            assert!(calls.has_heard(what), "{what}: {calls:?}");
        }
        assert_eq!(store.get(b"told 1").unwrap().as_deref(), Some(&b"value"[..]));
        store.close().unwrap();
    });
}

/// Writes until the flush, of which it is told, has been waited for more than once.
fn writes_much(store: &Lsm, nth: usize) {
    for n in 0..40u8 {
        let _may_be_closed = store.put(&[nth as u8, n], &[7; 10_000]);
    }
    everything(store, nth);
}

#[test]
fn it_may_wait_for_the_stores_threads() {
    in_time(|| {
        let dir = tempfile::tempdir().unwrap();
        let calls = Calls::new(writes_much);
        let small = LsmOptions {
            write_buffer_size: 64 << 10,
            level0_slowdown_writes_trigger: 8,
            level0_stop_writes_trigger: 12,
            ..LsmOptions::default()
        };
        let store = open(small, dir.path().to_str().unwrap(), &calls);
        for n in 0..200u8 {
            store.put(&[b'k', n], &[n; 10_000]).unwrap();
        }
        ingest(&store).unwrap();
        store.close().unwrap();
        assert!(calls.has_heard("flush"));
        let told = calls.heard.lock().unwrap().len();
        drop(store);
        assert_eq!(calls.heard.lock().unwrap().len(), told, "closed before all was told");
    });
}

#[test]
fn it_may_be_told_of_failures_of_an_ingestion() {
    let run = |at: Option<u64>| {
        in_time(move || {
            let sim = Sim::new(1);
            let calls = Calls::new(|store, nth| {
                if nth < 4 {
                    everything(store, nth)
                }
            });
            let small = LsmOptions { write_buffer_size: 256 << 10, ..options(&sim) };
            let store = open(small, "/db", &calls);
            // One memtable waits for its flush, and the active one is nearly full.
            for n in 0..46u32 {
                store.put(&n.to_le_bytes(), &[7; 10_000]).unwrap();
            }
            let first = sim.operations();
            if let Some(at) = at {
                sim.fail_at(at, Fault::NoSpace);
            }
            let _may_fail = ingest(&store);
            (first, sim.operations(), calls.has_heard("no space") || calls.has_heard("No space"))
        })
    };
    let (first, last, _) = run(None);
    let told = (first..last).filter(|at| run(Some(*at)).2).count();
    assert!(told > 0, "no failure was told");
}

fn closes(store: &Lsm, _: usize) {
    let _may_fail = store.close();
}

#[test]
fn it_may_close_a_store_that_fails() {
    in_time(|| {
        let sim = Sim::new(1);
        let calls = Calls::new(|store, nth| {
            everything(store, nth);
            if store.poisoned().is_some() {
                closes(store, nth);
            }
        });
        let store = open(options(&sim), "/db", &calls);
        store.put(b"key", b"value").unwrap();
        for at in sim.operations()..sim.operations() + 20 {
            sim.fail_at(at, Fault::SyncFailed);
        }
        store.flush().unwrap_err();
        assert!(store.poisoned().is_some());
        assert!(!calls.heard.lock().unwrap().is_empty());
        assert!(store.put(b"key", b"again").is_err());
        // It has given the directory back.
        let next = Lsm::open("/db", options(&sim)).unwrap();
        assert_eq!(next.get(b"key").unwrap().as_deref(), Some(&b"value"[..]));
    });
}

#[test]
fn it_may_close_the_store_on_the_thread_that_tells() {
    for calls_close in [true, false] {
        in_time(move || {
            let dir = tempfile::tempdir().unwrap();
            // The other waits for no more than what it is told of.
            let calls = Calls::new(if calls_close { closes } else { |_, _| {} });
            let store = open(LsmOptions::default(), dir.path().to_str().unwrap(), &calls);
            store.put(b"key", b"value").unwrap();
            let _may_be_closed = store.flush();
            let _may_be_closed = store.put(b"later", b"value").and_then(|()| store.flush());
            store.close().unwrap();
            drop(store);
            let next = Lsm::open(dir.path(), LsmOptions::default());
            if !calls_close {
                assert_eq!(next.unwrap().get(b"key").unwrap().as_deref(), Some(&b"value"[..]));
            }
        });
    }
}

/// Has the last reference to the store, and gives it up.
#[derive(Debug, Default)]
struct Last {
    store: Mutex<Option<Arc<Lsm>>>,
    has: Mutex<Option<std::sync::mpsc::Receiver<()>>>,
    heard: Mutex<usize>,
}

impl EventListener for Last {
    fn on_flush(&self, _: &FlushInfo) {
        if let Some(has) = self.has.lock().unwrap().take() {
            has.recv().unwrap();
        }
        *self.heard.lock().unwrap() += 1;
        let last = self.store.lock().unwrap().take();
        drop(last);
    }
}

#[test]
fn it_may_drop_the_last_reference() {
    in_time(|| {
        let dir = tempfile::tempdir().unwrap();
        let (begin, has) = channel();
        let listener = Arc::new(Last { has: Mutex::new(Some(has)), ..Last::default() });
        let told = Arc::clone(&listener) as Arc<dyn EventListener>;
        let options = LsmOptions { listener: Some(told), ..LsmOptions::default() };
        let store = Lsm::open(dir.path(), options).unwrap();
        for n in 0..2u8 {
            store.put(&[n], b"value").unwrap();
            store.flush().unwrap();
        }
        *listener.store.lock().unwrap() = Some(Arc::new(store));
        begin.send(()).unwrap();
        // The thread has what is left of the store until it has told both.
        let next = loop {
            match Lsm::open(dir.path(), LsmOptions::default()) {
                Err(Error::Locked { .. }) => std::thread::yield_now(),
                opened => break opened.unwrap(),
            }
        };
        assert_eq!(*listener.heard.lock().unwrap(), 2);
        assert_eq!(next.get(b"\x01").unwrap().as_deref(), Some(&b"value"[..]));
    });
}

/// Panics when it is told for the first time.
#[derive(Debug, Default)]
struct Panics(Mutex<usize>);

impl EventListener for Panics {
    fn on_flush(&self, _: &FlushInfo) {
        let nth = {
            let mut told = self.0.lock().unwrap();
            *told += 1;
            *told
        };
        assert!(nth > 1, "this is what it is to do");
    }
}

#[test]
fn one_that_panics_ends_nothing_but_itself() {
    in_time(|| {
        let dir = tempfile::tempdir().unwrap();
        let listener = Arc::new(Panics::default());
        let told = Arc::clone(&listener) as Arc<dyn EventListener>;
        let options =
            LsmOptions { listener: Some(told), write_buffer_size: 64 << 10, ..LsmOptions::default() };
        let store = Lsm::open(dir.path(), options.clone()).unwrap();
        for n in 0..100u8 {
            store.put(&[n], &[n; 10_000]).unwrap();
        }
        store.close().unwrap();
        assert!(*listener.0.lock().unwrap() > 2);

        // Without threads, it is whoever calls who is told.
        *listener.0.lock().unwrap() = 0;
        let store = Lsm::open(dir.path(), LsmOptions { background: Background::Manual, ..options }).unwrap();
        store.put(b"key", b"value").unwrap();
        let flush = std::panic::AssertUnwindSafe(|| store.flush());
        assert!(std::panic::catch_unwind(flush).is_err());
        store.put(b"key", b"later").unwrap();
        store.flush().unwrap();
        assert_eq!(*listener.0.lock().unwrap(), 2);
        store.close().unwrap();
    });
}

#[test]
fn an_opening_that_fails_tells_why() {
    let sim = Sim::new(1);
    let store = Lsm::open("/db", options(&sim)).unwrap();
    store.put(b"key", b"value").unwrap();
    sim.crash_process();
    drop(store);
    let before = sim.operations();
    Lsm::open("/db", options(&sim)).unwrap();
    let last = sim.operations();
    let mut told = 0;
    for at in 0..last - before {
        let sim = Sim::new(1);
        let store = Lsm::open("/db", options(&sim)).unwrap();
        store.put(b"key", b"value").unwrap();
        sim.crash_process();
        drop(store);
        sim.fail_at(sim.operations() + at, Fault::SyncFailed);
        let calls = Calls::new(|_, _| ());
        let listener = Some(Arc::clone(&calls) as Arc<dyn EventListener>);
        let opened = Lsm::open("/db", LsmOptions { listener, ..options(&sim) });
        if let Err(e) = opened {
            told += usize::from(calls.has_heard(&e.to_string()));
        }
    }
    assert!(told > 0, "nobody was told why it failed");
}

/// What was heard of the pace: how it was, and how it is.
#[derive(Debug, Default)]
struct Paces(Mutex<Vec<(StallCondition, StallCondition)>>);

impl EventListener for Paces {
    fn on_stall(&self, info: &StallInfo) {
        self.0.lock().unwrap().push((info.previous, info.condition));
    }
}

/// Without threads nobody waits for what another thread is at.
fn again(call: impl Fn() -> duramen_engine::Result<()>) {
    loop {
        match call() {
            Err(Error::Stalled { .. }) => std::thread::yield_now(),
            done => break done.unwrap(),
        }
    }
}

#[test]
fn whoever_works_at_the_same_time_each_change_follows_the_one_before_and_the_last_is_how_it_is() {
    for background in [Background::Thread, Background::Manual] {
        in_time(move || {
            let dir = tempfile::tempdir().unwrap();
            let paces = Arc::new(Paces::default());
            let options = LsmOptions {
                background,
                write_buffer_size: 64 << 10,
                level0_file_num_compaction_trigger: 2,
                level0_slowdown_writes_trigger: 2,
                level0_stop_writes_trigger: 4,
                listener: Some(Arc::clone(&paces) as Arc<dyn EventListener>),
                ..LsmOptions::default()
            };
            let store = Lsm::open(dir.path(), options).unwrap();
            std::thread::scope(|scope| {
                for thread in 0..3u8 {
                    let store = &store;
                    scope.spawn(move || {
                        for n in 0..60u8 {
                            again(|| store.put(&[thread, n], &[n; 4000]));
                            match n % 20 {
                                5 => again(|| store.flush()),
                                10 => again(|| ingest(store).map(drop)),
                                15 => again(|| store.compact()),
                                _ => {}
                            }
                        }
                    });
                }
            });
            store.close().unwrap();
            let now = match store.metrics().levels[0].tables {
                ..2 => StallCondition::Normal,
                2..4 => StallCondition::Delayed,
                _ => StallCondition::Stopped,
            };
            let paces = paces.0.lock().unwrap();
            let mut last = StallCondition::Normal;
            for (before, after) in &*paces {
                assert!(*before == last && after != before, "{paces:?}");
                last = *after;
            }
            assert!(last == now && !paces.is_empty(), "{now:?}: {paces:?}");
        });
    }
}
