//! Three programs append numbered lines to one store and say each number once it is acknowledged. Each is
//! killed at random moments and begins anew; one of them is the keeper, so that flushes and recoveries are cut
//! short as often as appends. Readers look on all the while.

use crate::life::Life;
use crate::numbered::{is_tidy, message, of_each_source, rows, time_ns};
use crate::plan::Plan;
use crate::sandbox::Sandbox;
use duramen::{Batch, EntryBuf, Level, Store, StoreOptions};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Programs at one time.
const WRITERS: usize = 3;
/// Small, so that segments are sealed, flushed and removed many times in a life.
const WRITE_BUFFER_BYTES: usize = 64 << 10;
/// Lines of one life, if it is left that long.
const LINES: u64 = 3_000;
/// Lines of one batch, in lives that append batches.
const BATCH: u64 = 10;
/// How long a life is left at most.
const LIFE: Duration = Duration::from_millis(120);
/// What tells this test's program that it is to be one of the writers, as `SOURCE`.
const SOURCE: &str = "DURAMEN_KILL_TEST_SOURCE";
/// And in which directory.
const STORE: &str = "DURAMEN_KILL_TEST_STORE";

/// Lives of odd numbers append batches; all of one or nothing of it is there.
fn step(source: u64) -> u64 {
    if source % 2 == 1 { BATCH } else { 1 }
}

/// Every fourth ends by itself once it has written all its lines; the others stay, idle.
fn ends_by_itself(source: u64) -> bool {
    source % 4 == 2
}

/// Is no test: what the others run in processes of its own.
#[test]
fn program_of_a_writer() {
    let (Ok(source), Some(dir)) = (std::env::var(SOURCE), std::env::var_os(STORE)) else { return };
    let source: u64 = source.parse().unwrap();
    let store = StoreOptions::new().write_buffer_size(WRITE_BUFFER_BYTES).open(dir).unwrap();
    let mut entry = EntryBuf::new(["app"]);
    let mut batch = Batch::new();
    for number in 0..LINES {
        entry.start(time_ns(number)).level(Level::Info).message(&message(source, number));
        entry.field("app", "kill").field("number", number as i64);
        let bytes = entry.finish().unwrap();
        if step(source) == 1 {
            store.append(bytes).unwrap();
        } else {
            batch.push(bytes).unwrap();
            if batch.len() as u64 == BATCH {
                store.append_batch(&mut batch, None).unwrap();
            }
        }
        if (number + 1) % step(source) == 0 {
            // Not captured, and one write each.
            std::io::stderr().write_all(format!("{}\n", number + 1).as_bytes()).unwrap();
        }
    }
    if !ends_by_itself(source) {
        // Until it is killed, or the test is over.
        let _nothing = std::io::stdin().read(&mut [0]);
    }
    let incidents = store.incidents().messages;
    assert!(incidents.is_empty(), "{incidents:?}");
    store.close().unwrap();
}

/// How many lines each life was told to be safe.
type Acknowledged = Arc<Mutex<BTreeMap<u64, Arc<AtomicU64>>>>;

fn total(acknowledged: &Acknowledged) -> u64 {
    acknowledged.lock().unwrap().values().map(|count| count.load(Ordering::SeqCst)).sum()
}

fn start(dir: &Path, source: u64, acknowledged: &Acknowledged) -> Life {
    let count = Arc::new(AtomicU64::new(0));
    acknowledged.lock().unwrap().insert(source, count.clone());
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["writers::program_of_a_writer", "--exact", "--nocapture"]);
    command.env(SOURCE, source.to_string()).env(STORE, dir);
    Life::start(&mut command, move |said| {
        said.trim_end().parse().is_ok_and(|number| {
            count.store(number, Ordering::SeqCst);
            true
        })
    })
}

#[test]
fn what_append_acknowledged_is_there_once() {
    let mut plan = Plan::of("what_append_acknowledged_is_there_once");
    let sandbox = Sandbox::new();
    let dir = sandbox.store();
    Store::open(&dir).unwrap().close().unwrap();
    let acknowledged = Acknowledged::default();
    let mut sources = 0..;
    let mut begin = || start(&dir, sources.next().unwrap(), &acknowledged);
    let over = AtomicBool::new(false);
    let mut killed = 0;
    let looks = std::thread::scope(|scope| {
        let reader = scope.spawn(|| look_on(&dir, &acknowledged, &over));
        let over_then = SetWhenDropped(&over);
        let mut lives: Vec<Option<Life>> = (0..WRITERS).map(|_| Some(begin())).collect();
        while killed < plan.kills && !reader.is_finished() {
            let slot = &mut lives[plan.below(WRITERS as u64) as usize];
            let life = slot.take().unwrap();
            // By the clock, also while it starts; or by what it has done.
            let lines = if plan.below(2) == 0 { u64::MAX } else { plan.below(LINES) };
            life.wait_for(lines, plan.duration(LIFE));
            let ended = life.kill();
            assert!(ended.success() || ended.code().is_none(), "a writer failed: {ended}");
            killed += u64::from(ended.code().is_none());
            *slot = Some(begin());
        }
        for life in lives.into_iter().flatten() {
            life.kill();
        }
        drop(over_then);
        reader.join().unwrap()
    });

    // Somebody opens it, and thereby recovers what the dead left.
    Store::open(&dir).unwrap().flush().unwrap();
    let found = of_each_source(&dir);
    let mut in_flight = 0;
    for (source, count) in &*acknowledged.lock().unwrap() {
        let (acknowledged, step) = (count.load(Ordering::SeqCst), step(*source));
        let found = found.get(source).copied().unwrap_or(0);
        assert!(found >= acknowledged, "source {source}: {acknowledged} acknowledged, {found} there");
        assert!(found <= acknowledged + step, "source {source}: {found} there, {acknowledged} acknowledged");
        assert_eq!(found % step, 0, "source {source}: a part of a batch");
        in_flight += u64::from(found > acknowledged);
    }
    is_tidy(&dir);
    assert_eq!(sandbox.count(), found.values().sum::<u64>());
    sandbox.run(["verify", "--quiet"]).expect(0);
    eprintln!(
        "{killed} killed, {} of {} lives wrote {} lines, {in_flight} unacknowledged ones made it, {looks} looks",
        found.len(),
        acknowledged.lock().unwrap().len(),
        found.values().sum::<u64>(),
    );
}

/// Ends the reader, also when a check fails.
struct SetWhenDropped<'a>(&'a AtomicBool);

impl Drop for SetWhenDropped<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Looks again and again: all that was acknowledged before is there, and never fewer lines than the last time.
fn look_on(dir: &Path, acknowledged: &Acknowledged, over: &AtomicBool) -> u64 {
    let store = Store::open_read_only(dir).unwrap();
    let (mut looks, mut last) = (0, 0);
    while !over.load(Ordering::SeqCst) {
        let safe = total(acknowledged);
        let found = rows(&store);
        assert!(found >= safe, "{safe} lines were acknowledged, and a reader finds {found}");
        assert!(found >= last, "a reader found {last} lines, and then {found}");
        (looks, last) = (looks + 1, found);
    }
    looks
}
