//! Writes that level 0 holds back: they wait no longer than they were told to, nothing of one that failed is there, and
//! once compaction has caught up they go on.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this is test code

mod kv_common;

use duramen_engine::Error;
use duramen_engine::io::{Clock, Env};
use duramen_engine::kv::{Engine, ReadOptions, WriteOptions};
use duramen_engine::lsm::{EventListener, Lsm, LsmOptions, StallCondition, StallInfo};
use kv_common::contents;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

/// A clock that tells who compacts no time until the gate's other end is dropped: none is begun.
#[derive(Debug)]
struct Gate {
    clock: Arc<dyn Clock>,
    held: Mutex<Receiver<()>>,
}

impl Clock for Gate {
    fn now_unix_ns(&self) -> i64 {
        if std::thread::current().name() == Some("duramen-compact") {
            assert!(self.held.lock().unwrap().recv().is_err(), "nobody sends");
        }
        self.clock.now_unix_ns()
    }

    fn monotonic(&self) -> Duration {
        self.clock.monotonic()
    }

    fn boot_id(&self) -> u64 {
        self.clock.boot_id()
    }
}

fn gate() -> (Env, Sender<()>) {
    let (open, held) = channel();
    let env = Env::os();
    let clock = Arc::new(Gate { clock: Arc::clone(&env.clock), held: Mutex::new(held) });
    (Env { clock, ..env }, open)
}

/// What was heard of the pace.
#[derive(Debug, Default)]
struct Heard {
    conditions: Mutex<Vec<StallCondition>>,
    more: Condvar,
}

impl EventListener for Heard {
    fn on_stall(&self, info: &StallInfo) {
        self.conditions.lock().unwrap().push(info.condition);
        self.more.notify_all();
    }
}

impl Heard {
    /// Waits until this is the last that is heard.
    fn wait_for(&self, condition: StallCondition) {
        let heard = self.conditions.lock().unwrap();
        let most = Duration::from_secs(60);
        let (heard, waited) =
            self.more.wait_timeout_while(heard, most, |heard| heard.last() != Some(&condition)).unwrap();
        assert!(!waited.timed_out(), "{heard:?}");
    }
}

fn most(ms: u64) -> WriteOptions {
    WriteOptions { stall_timeout: Some(Duration::from_millis(ms)), ..WriteOptions::default() }
}

/// Fills level 0, a table a write, until a write that may wait for `ms` fails, and says with what.
fn fill(store: &Lsm, ms: u64, value: &[u8]) -> (usize, Error) {
    for n in 0..100 {
        loop {
            match store.put_with(format!("{n:03}").as_bytes(), value, most(ms)) {
                Ok(()) => break,
                // A machine that is busy may take so long for the next segment.
                Err(Error::Stalled { reason }) if reason.contains("write buffers") => {}
                Err(e) => return (n, e),
            }
        }
        store.flush().unwrap();
    }
    panic!("level 0 takes 100 tables without a compaction");
}

#[test]
fn a_write_waits_for_level_0_no_longer_than_it_was_told() {
    let dir = tempfile::tempdir().unwrap();
    let (env, open) = gate();
    let heard = Arc::new(Heard::default());
    let options = LsmOptions {
        env,
        level0_file_num_compaction_trigger: 2,
        level0_slowdown_writes_trigger: 6,
        level0_stop_writes_trigger: 6,
        listener: Some(Arc::clone(&heard) as Arc<dyn EventListener>),
        ..LsmOptions::default()
    };
    let store = Lsm::open(dir.path(), options).unwrap();
    let (stopped_at, error) = fill(&store, 30, b"x");
    assert!(
        matches!(&error, Error::Stalled { reason } if reason.contains("level 0 has 6 tables")),
        "{error}"
    );

    let clock = Env::os().clock;
    let began = clock.monotonic();
    let again = store.put_with(b"late", b"x", most(30)).unwrap_err();
    assert!(matches!(again, Error::Stalled { .. }), "{again}");
    assert!(clock.monotonic() - began >= Duration::from_millis(30));
    assert!(store.metrics().stalls_level0_stop >= 2);
    heard.wait_for(StallCondition::Stopped);

    drop(open);
    store.put(b"after", b"y").unwrap();
    assert_eq!(store.get(b"after").unwrap().as_deref(), Some(&b"y"[..]));
    assert_eq!(store.get(b"late").unwrap(), None);
    assert_eq!(contents(&store, &ReadOptions::default()).unwrap().len(), stopped_at + 1);
    store.close().unwrap();
    assert!(heard.conditions.lock().unwrap().contains(&StallCondition::Normal), "closed before all was told");
}

#[test]
fn a_write_that_would_be_slowed_down_for_longer_fails_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let (env, open) = gate();
    let options = LsmOptions {
        env,
        level0_file_num_compaction_trigger: 2,
        level0_slowdown_writes_trigger: 4,
        level0_stop_writes_trigger: 100,
        delayed_write_rate: 1 << 10,
        ..LsmOptions::default()
    };
    let store = Lsm::open(dir.path(), options).unwrap();
    // At this rate each owes four seconds.
    let (slowed_at, error) = fill(&store, 100, &[0; 4096]);
    assert!(
        matches!(&error, Error::Stalled { reason } if reason.contains("level 0 has 4 tables")),
        "{error}"
    );
    assert!(slowed_at >= 4);
    assert!(store.metrics().stall_ns < 1_000_000_000);
    // Those that failed owe nothing: a small one goes through.
    store.put_with(b"small", b"x", most(100)).unwrap();
    drop(open);
    store.close().unwrap();
}
