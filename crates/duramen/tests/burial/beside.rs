//! Dead writers that are buried while tables are written anew.

use super::*;
use duramen::DeleteReport;
use duramen::block::Block;
use duramen::column::IntText;
use duramen_engine::io::sim::{Fault, SimProcess};
use std::sync::Arc;
use std::time::Duration;

/// So far apart that no table holds lines of two periods.
const PERIOD_NS: i64 = 4000 * 86_400_000_000_000;

/// A store of three tables of ten lines each, and writers who have written a line each.
fn store_and_writers(sim: &Sim) -> (Store, Vec<(SimProcess, Store)>) {
    // It is time to flush between any two blocks.
    let env = Env { clock: sim.ticking_clock(Duration::from_secs(1)), ..sim.env() };
    let store = options(env).open("/logs").unwrap();
    for n in 0..30 {
        let mut entry = EntryBuf::new(["app"]);
        entry.start((n / 10) * PERIOD_NS + n).message(&n.to_string()).field("app", "x");
        store.append(entry.finish().unwrap()).unwrap();
    }
    store.flush().unwrap();
    let writer = |n| {
        let process = sim.spawn_process();
        let writes = options(process.env()).keeper(false).open("/logs").unwrap();
        append(&writes, n);
        writes.sync().unwrap();
        (process, writes)
    };
    (store, (30..34).map(writer).collect())
}

/// Deletes the first line of each table; when the second is looked through, the writers die.
fn delete_while_they_die(
    store: &Store,
    writers: Vec<(SimProcess, Store)>,
) -> duramen::Result<Option<DeleteReport>> {
    let mut writers = Some(writers);
    let mut matches = |block: &Arc<dyn Block>| {
        let (column, mut digits) = (block.column("_msg")?.unwrap(), IntText::default());
        let numbers: Vec<u64> =
            (0..block.rows()).map(|row| column.text(row, &mut digits).unwrap().parse().unwrap()).collect();
        if numbers.contains(&10) {
            for (process, store) in writers.take().into_iter().flatten() {
                process.kill();
                drop(store);
            }
        }
        Ok(numbers.into_iter().map(|n| n < 30 && n % 10 == 0).collect())
    };
    store.delete(i64::MIN..=i64::MAX, &mut matches, &|| false)
}

#[test]
fn tables_that_were_written_anew_stay_though_there_are_too_few_descriptors_for_the_dead() {
    let sim = Sim::new(7);
    let (store, writers) = store_and_writers(&sim);
    let from = sim.operations();
    assert_eq!(delete_while_they_die(&store, writers).unwrap().unwrap().lines, 3);
    let mut struck = 0;
    for at in from..sim.operations() {
        let sim = Sim::new(7);
        let (store, writers) = store_and_writers(&sim);
        sim.fail_at(at, Fault::TooManyFiles);
        let deleted = delete_while_they_die(&store, writers);
        let has_struck = sim.faults_struck().len();
        struck += has_struck;
        drop(store);
        sim.crash_process();
        let mut left = numbers(&flushed(&sim));
        left.sort_unstable();
        let context = format!("at operation {at}, {:?}: {deleted:?}", sim.trace().get(at as usize));
        let all: Vec<_> = (0..34).collect();
        let rest: Vec<_> = (0..34).filter(|n| *n >= 30 || n % 10 > 0).collect();
        assert!(left == rest || deleted.is_err() && left == all, "{context}: {left:?}");
    }
    assert!(struck > 10, "{struck}");
}

/// The new manifest has its name, and whether it has it for good is not known.
#[test]
fn nothing_is_done_to_tables_that_the_manifest_may_name() {
    let left = || {
        let sim = Sim::new(8);
        let process = sim.spawn_process();
        let store = options(process.env()).open("/logs").unwrap();
        let mut lines = 0;
        // The next edit but for a small one makes it anew.
        while sim.read_file(Path::new("/logs/MANIFEST")).unwrap().len() < (64 << 10) - 100 {
            append(&store, lines);
            store.flush().unwrap();
            lines += 1;
        }
        process.kill();
        drop(store);
        for n in lines..lines + 4 {
            let process = sim.spawn_process();
            let writes = options(process.env()).keeper(false).open("/logs").unwrap();
            append(&writes, n);
            writes.sync().unwrap();
            process.kill();
            drop(writes);
        }
        (sim, lines + 4)
    };
    let (sim, _) = left();
    let from = sim.operations() as usize;
    drop(flushed(&sim));
    let trace = sim.trace();
    let named = (from..trace.len()).find(|at| trace[*at].starts_with("rename logs/MANIFEST.tmp")).unwrap();
    assert!(trace[from..named].iter().any(|line| line.contains(".sst.tmp")), "{:?}", &trace[from..=named]);
    let (sim, lines) = left();
    sim.fail_at(named as u64 + 1, Fault::TooManyFiles);
    drop(options(sim.env()).open("/logs").and_then(|store| store.flush().map(|()| store)));
    assert_eq!(sim.faults_struck().len(), 1);
    sim.crash_process();
    assert_eq!(numbers(&flushed(&sim)), (0..lines).collect::<Vec<_>>());
}
