//! `duramen ingest -` is killed while it reads a pipe. What another process has seen of it stays.

use crate::life::Life;
use crate::numbered::{is_tidy, line, of_each_source, rows};
use crate::plan::Plan;
use crate::sandbox::{Sandbox, until};
use duramen::Store;
use std::collections::BTreeMap;
use std::io::Write;

/// Lines that a reader must see before the kill, at most; and at most as many are written besides.
const SEEN: u64 = 5_000;
/// Lines written at a time.
const GULP: u64 = 50;

#[test]
fn what_a_reader_saw_of_a_pipe_stays() {
    let mut plan = Plan::of("what_a_reader_saw_of_a_pipe_stays");
    let sandbox = Sandbox::new();
    Store::open(sandbox.store()).unwrap().close().unwrap();
    let reader = Store::open_read_only(sandbox.store()).unwrap();
    let mut seen = BTreeMap::new();
    for source in 0..plan.kills {
        let before = rows(&reader);
        let mut life = Life::start(&mut sandbox.command(["ingest", "--quiet", "-"]), |_| false);
        let mut stdin = life.stdin();
        let wanted = 1 + plan.below(SEEN);
        let written = wanted + plan.below(SEEN);
        let feeding = std::thread::spawn(move || {
            for first in (0..written).step_by(GULP as usize) {
                let gulp = first..(first + GULP).min(written);
                let text: String = gulp.map(|number| line(source, number)).collect();
                if stdin.write_all(text.as_bytes()).is_err() {
                    break;
                }
            }
            // The pipe stays open until it is killed.
            stdin
        });
        let mut visible = 0;
        until("lines of a pipe", || {
            visible = rows(&reader) - before;
            visible >= wanted
        });
        assert_eq!(life.kill().code(), None);
        drop(feeding.join().unwrap());
        seen.insert(source, visible);
        assert!(rows(&reader) >= before + visible);
    }
    Store::open(sandbox.store()).unwrap().flush().unwrap();
    let found = of_each_source(&sandbox.store());
    for (source, seen) in &seen {
        assert!(found[source] >= *seen, "source {source}: {seen} were seen, {} are there", found[source]);
    }
    is_tidy(&sandbox.store());
    sandbox.run(["verify", "--quiet"]).expect(0);
    eprintln!("{} killed; {} lines were seen", plan.kills, seen.values().sum::<u64>());
}
