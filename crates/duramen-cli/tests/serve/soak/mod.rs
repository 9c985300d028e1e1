//! Mixed load, a server that is killed at intervals, and in the end every acknowledged line is there once.
//!
//! Each of five clients speaks another protocol and keeps to a pace. One asks, over and over, and must find what was
//! acknowledged before it asked; one follows, and must see it. When the server is killed, requests are cut: their lines
//! may be there or not, but never more often than they were sent. One client sends them again, as shippers do.
//!
//! | module | what it knows |
//! |---|---|
//! | [`ledger`] | how often each line was sent and acknowledged |
//! | [`protocol`] | a body of each protocol, and what acknowledges it |

mod ledger;
mod protocol;

use crate::server::{Server, duramen, eventually, store};
use ledger::Ledger;
use protocol::PROTOCOLS;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const LINES_PER_REQUEST: u64 = 20;

/// A number from the environment: how the test in `make test` becomes one of two hours.
fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

/// `DURAMEN_SOAK_SECONDS=7200` soaks for two hours and kills every minute; `DURAMEN_SOAK_LINES_PER_S` is the load of all
/// clients together.
#[test]
fn every_acknowledged_line_is_there_once() {
    let seconds = setting("DURAMEN_SOAK_SECONDS", 20);
    let pace = setting("DURAMEN_SOAK_LINES_PER_S", 2000).max(1);
    let every = Duration::from_millis((seconds * 1000 / 8).clamp(500, 60_000));
    let (_dir, store) = store();
    let ledger = Ledger::default();
    let cut = Mutex::new(Vec::new());
    let until = Instant::now() + Duration::from_secs(seconds);
    let mut round = 0;
    while Instant::now() < until {
        let server = Server::start_with(&store, &["--query-timeout-ms", "600000"]);
        if let Some(before) = u64::checked_sub(round, 1) {
            ledger.check(before, &found_in(&server, before));
        }
        let killed = AtomicBool::new(false);
        let shown = Mutex::new(BTreeMap::new());
        std::thread::scope(|scope| {
            let (killed, ledger, cut, shown) = (&killed, &ledger, &cut, &shown);
            let server = Doomed { server, killed };
            let url = |path: &str| server.server.url(path);
            let tail = Server::agent_for(Duration::from_secs(3600))
                .get(url(&format!("/select/logsql/tail?query=round:={round}")))
                .call()
                .unwrap();
            scope.spawn(move || follow(tail, shown));
            for (client, protocol) in PROTOCOLS.iter().enumerate() {
                let url = url(protocol.path);
                let pause =
                    Duration::from_secs(LINES_PER_REQUEST * PROTOCOLS.len() as u64).div_f64(pace as f64);
                scope.spawn(move || {
                    let agent = Server::agent();
                    let mut next = Instant::now() + pause.mul_f64(client as f64 / PROTOCOLS.len() as f64);
                    while !killed.load(Ordering::Acquire) {
                        std::thread::park_timeout(next.saturating_duration_since(Instant::now()));
                        next += pause;
                        let again = if client == 0 { cut.lock().unwrap().pop() } else { None };
                        let lines = again.unwrap_or_else(|| ledger.new_lines(round, LINES_PER_REQUEST));
                        ledger.sent(&lines);
                        if protocol.send(&agent, &url, &lines) {
                            ledger.acknowledged(&lines);
                        } else if client == 0 {
                            cut.lock().unwrap().push(lines);
                        }
                    }
                });
            }
            let asked = url("/select/logsql/query");
            scope.spawn(move || ask(&asked, round, ledger, killed));
            let kill_at = Instant::now() + every;
            while Instant::now() < kill_at {
                std::thread::park_timeout(kill_at - Instant::now());
            }
            let wanted = ledger.acknowledged_in(round);
            eventually("all that was acknowledged was followed", || {
                let shown = shown.lock().unwrap();
                wanted.iter().all(|n| shown.contains_key(n))
            });
            // The others are at work: what they have under way is cut.
            drop(server);
        });
        ledger.followed(&shown.into_inner().unwrap());
        round += 1;
    }
    let server = Server::start_with(&store, &["--query-timeout-ms", "600000"]);
    for round in 0..round {
        ledger.check(round, &found_in(&server, round));
    }
    let lines = ledger.acknowledged_lines();
    assert!(round > 1 && lines > 100, "{lines} lines in {round} rounds are no load");
    assert_eq!(server.stop().0, Some(0));
    assert!(duramen(&store).arg("verify").output().unwrap().status.success(), "every byte is whole");
    println!("{lines} lines acknowledged, {round} times killed");
}

/// A server that is killed when this goes, also because something failed: who waits for it ends then.
struct Doomed<'a> {
    server: Server,
    killed: &'a AtomicBool,
}

impl Drop for Doomed<'_> {
    fn drop(&mut self) {
        let _dead = self.server.child.kill();
        let _reaped = self.server.child.wait();
        self.killed.store(true, Ordering::Release);
    }
}

/// The lines of a round, each with how often it is there.
fn found_in(server: &Server, round: u64) -> BTreeMap<u64, u64> {
    let mut found = BTreeMap::new();
    for row in server.query(&format!("round:={round} | fields n")) {
        *found.entry(number(&row)).or_default() += 1;
    }
    found
}

fn number(row: &Value) -> u64 {
    row["n"].as_str().and_then(|n| n.parse().ok()).unwrap_or_else(|| panic!("no number: {row}"))
}

/// Counts, again and again: what was acknowledged before is there.
fn ask(url: &str, round: u64, ledger: &Ledger, killed: &AtomicBool) {
    let agent = Server::agent();
    let query = format!("query=round:={round}|stats count() n");
    while !killed.load(Ordering::Acquire) {
        let least = ledger.acknowledged_in(round).len() as u64;
        let request = agent.post(url).header("content-type", "application/x-www-form-urlencoded");
        let Ok(mut answer) = request.send(&query) else { continue };
        let Ok(text) = answer.body_mut().read_to_string() else { continue };
        assert_eq!(answer.status(), 200, "{text}");
        let found = number(&serde_json::from_str(&text).unwrap());
        assert!(found >= least, "{found} lines found in round {round}, {least} were acknowledged before");
        std::thread::park_timeout(Duration::from_millis(50));
    }
}

/// Follows until the server is killed.
fn follow(tail: ureq::http::Response<ureq::Body>, shown: &Mutex<BTreeMap<u64, u64>>) {
    assert_eq!(tail.status(), 200);
    let mut rows = BufReader::new(tail.into_body().into_reader());
    let mut row = Vec::new();
    // A row without its end was cut.
    while rows.read_until(b'\n', &mut row).is_ok() && row.ends_with(b"\n") {
        if row.len() > 1 {
            *shown.lock().unwrap().entry(number(&serde_json::from_slice(&row).unwrap())).or_default() += 1;
        }
        row.clear();
    }
}
