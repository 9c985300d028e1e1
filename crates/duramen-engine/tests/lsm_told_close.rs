//! A listener that closes the store, and a program that closes it, too.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this is test code

use duramen_engine::kv::Engine;
use duramen_engine::lsm::{EventListener, FlushInfo, Lsm, LsmOptions};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::Duration;

/// When to begin, whom to tell that it is closed, and when to go on.
type Waits = (Receiver<()>, Sender<()>, Receiver<()>);

/// Closes at its first call, says so, and goes on when it may.
#[derive(Debug)]
struct Closes {
    store: OnceLock<Weak<Lsm>>,
    waits: Mutex<Option<Waits>>,
    heard: AtomicUsize,
}

impl EventListener for Closes {
    fn on_flush(&self, _: &FlushInfo) {
        let waits = self.waits.lock().unwrap().take();
        if let Some((begin, closed, go_on)) = waits {
            begin.recv().unwrap();
            self.store.get().unwrap().upgrade().unwrap().close().unwrap();
            closed.send(()).unwrap();
            go_on.recv().unwrap();
        }
        self.heard.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn the_second_close_waits_until_all_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let (begin, begins) = channel();
    let (closes, closed) = channel();
    let (go_on, goes_on) = channel();
    let listener = Arc::new(Closes {
        store: OnceLock::new(),
        waits: Mutex::new(Some((begins, closes, goes_on))),
        heard: AtomicUsize::new(0),
    });
    let told: Arc<dyn EventListener> = Arc::<Closes>::clone(&listener);
    let options = LsmOptions { listener: Some(told), ..LsmOptions::default() };
    let store = Arc::new(Lsm::open(dir.path(), options).unwrap());
    listener.store.set(Arc::downgrade(&store)).unwrap();
    for n in 0..3u8 {
        store.put(&[n], b"v").unwrap();
        store.flush().unwrap();
    }
    begin.send(()).unwrap();
    closed.recv().unwrap();
    let (end, ended) = channel();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            store.close().unwrap();
            end.send(listener.heard.load(Ordering::SeqCst)).unwrap();
        });
        let early = ended.recv_timeout(Duration::from_millis(200));
        go_on.send(()).unwrap();
        assert!(early.is_err(), "told when it returned: {early:?}");
        assert_eq!(ended.recv().unwrap(), 3);
    });
}
