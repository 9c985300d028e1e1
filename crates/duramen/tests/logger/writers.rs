//! Eight programs log numbered lines into one store, are killed one after another, the keeper first, and begin
//! anew, while a reader counts: what was acknowledged is there, once and whole, and counts only grow.

use crate::program::{Program, tell};
use crate::rows;
use duramen::{Level, Logger, OnFull, Store, Value};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const WRITERS: usize = 8;
const KILLS: usize = 16;
/// Lines of one life, if it is left that long.
const LINES: u64 = 1_500;
/// Lines that all of them together log between two kills, at least.
const LINES_BETWEEN_KILLS: u64 = 400;

fn message(life: usize, n: u64) -> String {
    format!("{life} {n} {}", "abcdefghij".repeat((n % 20) as usize))
}

/// One life, whose number is the role's.
pub fn program(dir: &Path, life: &str) {
    let life: usize = life.parse().unwrap();
    // However long a machine that does other things takes for the flush.
    let on_full = OnFull::Block { timeout: Duration::from_secs(300) };
    let logger = Logger::builder(dir).write_buffer_size(64 << 10).on_full(on_full).open().unwrap();
    for n in 0..LINES {
        let level = if n % 100 == 99 { Level::Error } else { Level::Info };
        logger.log(level, &message(life, n), &[("life", Value::Int(life as i64))]).unwrap();
        tell(n + 1);
    }
    // Until it is killed, or the test is over; meanwhile it may be the keeper.
    let _nothing = std::io::stdin().read(&mut [0]);
    logger.close().unwrap();
}

/// A life, and how many of its lines it was told are safe.
struct Life {
    acknowledged: Arc<AtomicU64>,
    pid: u32,
    stdin: Option<std::process::ChildStdin>,
    heard: std::thread::JoinHandle<Program>,
}

impl Life {
    fn start(dir: &Path, number: usize) -> Self {
        let mut program = Program::start(&format!("writer {number}"), dir);
        let acknowledged = Arc::new(AtomicU64::new(0));
        let (pid, stdin, counter) = (program.child.id(), program.child.stdin.take(), acknowledged.clone());
        let heard = std::thread::spawn(move || {
            while let Some(report) = program.report() {
                counter.store(report.parse().unwrap(), Ordering::SeqCst);
            }
            program
        });
        Self { acknowledged, pid, stdin, heard }
    }

    /// Kills it, and says how many lines it had acknowledged.
    fn kill(self) -> u64 {
        crate::fork::kill(self.pid);
        let mut program = self.heard.join().unwrap();
        program.child.wait().unwrap();
        self.acknowledged.load(Ordering::SeqCst)
    }

    /// Lets it end.
    fn end(mut self) -> u64 {
        drop(self.stdin.take());
        let mut program = self.heard.join().unwrap();
        assert!(program.child.wait().unwrap().success());
        self.acknowledged.load(Ordering::SeqCst)
    }
}

/// The lines of each life, in order of their numbers; every one of them whole.
fn lines(store: &Store) -> BTreeMap<usize, Vec<u64>> {
    let mut found: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
    rows(store, |row| {
        let mut words = row.message().split(' ');
        let life: usize = words.next().unwrap().parse().unwrap();
        let n: u64 = words.next().unwrap().parse().unwrap();
        assert_eq!(row.message(), message(life, n));
        found.entry(life).or_default().push(n);
    });
    found.values_mut().for_each(|numbers| numbers.sort_unstable());
    found
}

/// Looks again and again: nothing that was once seen is ever missing.
fn watch(dir: &Path, over: &AtomicBool) -> u64 {
    let store = Store::open_read_only(dir).unwrap();
    let (mut before, mut looks) = (BTreeMap::new(), 0);
    while !over.load(Ordering::SeqCst) {
        let now: BTreeMap<usize, usize> = lines(&store).iter().map(|(life, n)| (*life, n.len())).collect();
        for (life, count) in &before {
            assert!(now.get(life) >= Some(count), "life {life} had {count} lines, now {:?}", now.get(life));
        }
        before = now;
        looks += 1;
    }
    looks
}

#[test]
fn nothing_acknowledged_is_lost_doubled_or_torn_and_counts_only_grow() {
    let dir = tempfile::tempdir().unwrap();
    drop(Logger::builder(dir.path()).open().unwrap());
    let mut lives: Vec<(usize, Life)> = (0..WRITERS).map(|n| (n, Life::start(dir.path(), n))).collect();
    let acknowledged = Mutex::new(BTreeMap::new());
    let over = AtomicBool::new(false);
    std::thread::scope(|s| {
        let watching = s.spawn(|| watch(dir.path(), &over));
        let mut seed = 0x9E37_79B9_7F4A_7C15_u64;
        for killed in 0..KILLS {
            let heard = |lives: &[(usize, Life)]| {
                lives.iter().map(|(_, life)| life.acknowledged.load(Ordering::SeqCst)).sum::<u64>()
            };
            let most = LINES * WRITERS as u64;
            let enough = (heard(&lives) + LINES_BETWEEN_KILLS).min(most);
            while heard(&lives) < enough {
                std::thread::park_timeout(Duration::from_millis(1));
            }
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            // The first to start is the keeper.
            let victim = if killed == 0 { 0 } else { (seed >> 33) as usize % WRITERS };
            let next = WRITERS + killed;
            let (number, life) = std::mem::replace(&mut lives[victim], (next, Life::start(dir.path(), next)));
            acknowledged.lock().unwrap().insert(number, life.kill());
        }
        for (number, life) in lives.drain(..) {
            acknowledged.lock().unwrap().insert(number, life.end());
        }
        over.store(true, Ordering::SeqCst);
        assert!(watching.join().unwrap() > 0);
    });

    let store = Store::open(dir.path()).unwrap();
    store.flush().unwrap();
    let found = lines(&store);
    for (life, acknowledged) in acknowledged.into_inner().unwrap() {
        let numbers = found.get(&life).cloned().unwrap_or_default();
        // One more may be there, which it was killed before it could tell of.
        assert!((acknowledged..=acknowledged + 1).contains(&(numbers.len() as u64)), "life {life}");
        assert_eq!(numbers, (0..numbers.len() as u64).collect::<Vec<_>>(), "life {life}");
    }
    assert_eq!(store.incidents().messages, [""; 0]);
}
