//! `duramen ingest -` is killed while it reads a pipe. What another process has seen of it stays.

use crate::life::Life;
use crate::numbered::{is_tidy, line, of_each_source, rows};
use crate::plan::Plan;
use crate::sandbox::{Sandbox, until};
use duramen::Store;
use std::collections::BTreeMap;
use std::io::Write;

/// Lines that a reader sees before the kill, at most.
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
        let mut life = Life::start(&mut sandbox.command(["ingest", "--quiet", "-"]), |said| panic!("{said}"));
        let mut stdin = life.stdin();
        let feeding = std::thread::spawn(move || {
            let gulps = (0..).step_by(GULP as usize);
            let mut gulps =
                gulps.map(|first| (first..first + GULP).map(|n| line(source, n)).collect::<String>());
            // Until nobody reads it any more.
            gulps.find(|gulp| stdin.write_all(gulp.as_bytes()).is_err());
        });
        let wanted = 1 + plan.below(SEEN);
        let mut visible = 0;
        until("lines of a pipe", || {
            visible = rows(&reader) - before;
            visible >= wanted
        });
        assert_eq!(life.kill().code(), None);
        feeding.join().unwrap();
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
