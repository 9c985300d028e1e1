//! Killed at random moments, every acknowledged line is there once.

use crate::server::{Server, store};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// How often it is killed; `DURAMEN_SERVE_KILLS=100` makes it a long test.
fn kills() -> u64 {
    std::env::var("DURAMEN_SERVE_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(5)
}

#[test]
fn every_acknowledged_line_is_there_once() {
    const CLIENTS: u64 = 4;
    let (_dir, store) = store();
    let acknowledged = Mutex::new(BTreeMap::<u64, u64>::new());
    let next = AtomicU64::new(0);
    for round in 0..kills() {
        let mut server = Server::start(&store);
        let stop = AtomicBool::new(false);
        let wanted = acknowledged.lock().unwrap().len() + 50 + 97 * round as usize % 200;
        std::thread::scope(|scope| {
            for client in 0..CLIENTS {
                let (stop, next, acknowledged) = (&stop, &next, &acknowledged);
                let url = server.url(if client % 2 == 0 { "/api/v1/ingest" } else { "/insert/jsonline" });
                scope.spawn(move || {
                    let agent = Server::agent();
                    while !stop.load(Ordering::Relaxed) {
                        let lines: Vec<u64> = (0..5).map(|_| next.fetch_add(1, Ordering::Relaxed)).collect();
                        let body: String =
                            lines.iter().map(|n| format!("{{\"_msg\":\"line\",\"n\":{n}}}\n")).collect();
                        match agent.post(&url).send(body) {
                            Ok(answer) if answer.status().is_success() => {
                                acknowledged.lock().unwrap().extend(lines.into_iter().map(|n| (n, round)));
                            }
                            Ok(answer) => panic!("refused: {answer:?}"),
                            Err(_) => return, // it was killed
                        }
                    }
                });
            }
            while acknowledged.lock().unwrap().len() < wanted {
                std::thread::yield_now();
            }
            server.child.kill().unwrap();
            server.child.wait().unwrap();
            stop.store(true, Ordering::Relaxed);
        });
    }
    let server = Server::start(&store);
    let mut found = BTreeMap::<u64, u64>::new();
    for row in server.query("*") {
        *found.entry(row["n"].as_str().unwrap().parse().unwrap()).or_default() += 1;
    }
    for (n, round) in acknowledged.lock().unwrap().iter() {
        assert_eq!(found.get(n), Some(&1), "line {n}, acknowledged in round {round}");
    }
    assert!(found.values().all(|times| *times == 1), "none is there twice, acknowledged or not");
}
