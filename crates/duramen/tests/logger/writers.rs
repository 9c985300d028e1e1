//! Eight programs log numbered lines into one store, are killed one after another, the keeper first, and others go on
//! in their places, while a reader counts: what was acknowledged is there, once and whole, and counts only grow.
//!
//! `DURAMEN_KILL_LINES=200000` has each place log that many lines: the long form, for which CONTRIBUTING.md has a
//! command.

use crate::program::{Program, tell};
use crate::rows;
use duramen::{Level, Logger, OnFull, Store, Value};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

const WRITERS: usize = 8;

/// How long the test is.
struct Scale {
    /// Lines of each place, by all the lives in it together.
    lines: u64,
    kills: usize,
    write_buffer_size: usize,
}

impl Scale {
    fn asked_for() -> Self {
        match std::env::var("DURAMEN_KILL_LINES") {
            Err(_) => Self { lines: 3_000, kills: 16, write_buffer_size: 64 << 10 },
            Ok(lines) => {
                let lines: u64 = lines.parse().unwrap();
                Self { lines, kills: 16.max(lines as usize / 1_000), write_buffer_size: 256 << 10 }
            }
        }
    }

    /// Lines that all of them together log between two kills, at least: the kills are over when half is done.
    fn lines_between_kills(&self) -> u64 {
        self.lines * WRITERS as u64 / (2 * self.kills as u64)
    }
}

fn message(life: usize, n: u64) -> String {
    format!("{life} {n} {}", "abcdefghij".repeat((n % 20) as usize))
}

/// One life: the role says its number, and how many lines are its place's still to log.
pub fn program(dir: &Path, role: &str) {
    let (life, lines) = role.split_once(' ').unwrap();
    let (life, lines): (usize, u64) = (life.parse().unwrap(), lines.parse().unwrap());
    // However long a machine that does other things takes for the flush.
    let on_full = OnFull::Block { timeout: Duration::from_secs(300) };
    let write_buffer_size = Scale::asked_for().write_buffer_size;
    let logger = Logger::builder(dir).write_buffer_size(write_buffer_size).on_full(on_full).open().unwrap();
    for n in 0..lines {
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
    fn start(dir: &Path, number: usize, lines: u64) -> Self {
        let mut program = Program::start(&format!("writer {number} {lines}"), dir);
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

/// The lives that log now, one in each place.
struct Places<'a> {
    dir: &'a Path,
    lines: u64,
    lives: Vec<(usize, Life)>,
    /// What the earlier lives of each place have logged.
    before: Vec<u64>,
    /// What each life has acknowledged that is over.
    acknowledged: BTreeMap<usize, u64>,
}

impl<'a> Places<'a> {
    fn start(dir: &'a Path, lines: u64) -> Self {
        let lives = (0..WRITERS).map(|n| (n, Life::start(dir, n, lines))).collect();
        Self { dir, lines, lives, before: vec![0; WRITERS], acknowledged: BTreeMap::new() }
    }

    fn heard(&self) -> u64 {
        let now = self.lives.iter().map(|(_, life)| life.acknowledged.load(Ordering::SeqCst));
        self.before.iter().copied().chain(now).sum()
    }

    /// Kills the life in a place, while another begins there.
    fn kill(&mut self, place: usize, next: usize) {
        // What it acknowledges until it is dead will be logged again, under the other's number: no harm.
        let done = self.before[place] + self.lives[place].1.acknowledged.load(Ordering::SeqCst);
        let life = Life::start(self.dir, next, self.lines - done);
        let (number, life) = std::mem::replace(&mut self.lives[place], (next, life));
        self.before[place] = done;
        self.acknowledged.insert(number, life.kill());
    }

    /// Waits for all to have logged what was asked of them, and lets them end.
    fn end(mut self) -> BTreeMap<usize, u64> {
        for (number, life) in self.lives.drain(..) {
            self.acknowledged.insert(number, life.end());
        }
        self.acknowledged
    }
}

#[test]
fn nothing_acknowledged_is_lost_doubled_or_torn_and_counts_only_grow() {
    let dir = tempfile::tempdir().unwrap();
    let scale = Scale::asked_for();
    drop(Logger::builder(dir.path()).open().unwrap());
    let mut places = Places::start(dir.path(), scale.lines);
    let over = AtomicBool::new(false);
    let (acknowledged, looks) = std::thread::scope(|s| {
        let watching = s.spawn(|| watch(dir.path(), &over));
        let mut seed = 0x9E37_79B9_7F4A_7C15_u64;
        for killed in 0..scale.kills {
            let all = scale.lines * WRITERS as u64;
            let enough = (places.heard() + scale.lines_between_kills()).min(all);
            while places.heard() < enough {
                std::thread::park_timeout(Duration::from_millis(1));
            }
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            // The first to start is the keeper.
            let victim = if killed == 0 { 0 } else { (seed >> 33) as usize % WRITERS };
            places.kill(victim, WRITERS + killed);
        }
        let acknowledged = places.end();
        over.store(true, Ordering::SeqCst);
        (acknowledged, watching.join().unwrap())
    });
    assert!(looks > 0);

    let store = Store::open(dir.path()).unwrap();
    store.flush().unwrap();
    let found = lines(&store);
    for (&life, &acknowledged) in &acknowledged {
        let numbers = found.get(&life).cloned().unwrap_or_default();
        // One more may be there, which it was killed before it could tell of.
        assert!((acknowledged..=acknowledged + 1).contains(&(numbers.len() as u64)), "life {life}");
        assert_eq!(numbers, (0..numbers.len() as u64).collect::<Vec<_>>(), "life {life}");
    }
    assert!(found.keys().all(|life| acknowledged.contains_key(life)));
    assert_eq!(store.incidents().messages, [""; 0]);
    assert!(store.verify(&mut |_| {}).unwrap().damage.is_empty());
    let total: usize = found.values().map(Vec::len).sum();
    println!(
        "{total} lines of {} lives, {} of them killed; looked at {looks} times",
        found.len(),
        scale.kills
    );
}
