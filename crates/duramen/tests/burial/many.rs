//! Many writers that are dead: what they left goes into tables together.

use super::*;
use duramen_engine::io::sim::Fault;

/// Processes that have written lines each, synced, and were killed; the first of them is at number `from`.
fn die(sim: &Sim, writers: u64, lines: u64) {
    let maker = sim.spawn_process();
    drop(options(maker.env()).open("/logs").unwrap());
    for writer in 0..writers {
        let process = sim.spawn_process();
        let store = options(process.env()).keeper(false).open("/logs").unwrap();
        (0..lines).for_each(|line| append(&store, writer * lines + line));
        store.sync().unwrap();
        process.kill();
        drop(store);
    }
}

#[test]
fn many_are_buried_with_few_syncs() {
    let sim = Sim::new(1);
    die(&sim, 200, 1);
    let from = sim.trace().len();
    let store = flushed(&sim);
    assert_eq!(numbers(&store), (0..200).collect::<Vec<_>>());
    let syncs = sim.trace().iter().skip(from).filter(|line| line.contains("sync")).count();
    assert!(syncs < 40, "{syncs} syncs");
    assert!(!sim.files().iter().any(|file| file.ends_with(".wal")), "{:?}", sim.files());
    assert_eq!(sim.files().iter().filter(|file| file.ends_with(".sst")).count(), 4);
}

/// Each holds descriptors until it is buried.
#[test]
fn they_are_buried_with_as_few_descriptors_as_a_process_may_have() {
    let (mut least, mut are_enough) = (usize::MAX, true);
    for most in (4..40).rev().step_by(3) {
        let sim = Sim::new(4);
        die(&sim, 100, 1);
        sim.set_max_open_files(Some(most));
        // That tables are merged when it is closed takes descriptors of its own.
        let buried = options(sim.env()).open("/logs").and_then(|store| store.flush());
        sim.set_max_open_files(None);
        match buried {
            Ok(()) => {
                assert!(!sim.files().iter().any(|file| file.ends_with(".wal")), "{most}: {:?}", sim.files());
                assert!(are_enough, "{most} are enough, and more were not");
                least = most;
            }
            // Then there are too few for one of them.
            Err(e) => {
                assert!(e.to_string().contains("files"), "{most}: {e}");
                are_enough = false;
            }
        }
        assert_eq!(numbers(&flushed(&sim)), (0..100).collect::<Vec<_>>(), "with {most}");
    }
    assert!(least < 16, "{least} were needed");
}

fn crash_everywhere(fault: Fault, stride: usize, end: impl Fn(&Sim)) {
    let dead = || {
        let sim = Sim::new(2);
        die(&sim, 5, 3);
        sim
    };
    let work = |sim: &Sim| -> duramen::Result<()> {
        let store = options(sim.env()).open("/logs")?;
        store.flush()?;
        store.close()
    };
    let sim = dead();
    let from = sim.operations();
    work(&sim).unwrap();
    let operations = from..sim.operations();
    assert!(operations.end > operations.start + 50);
    for index in operations.step_by(stride) {
        let sim = dead();
        sim.fail_at(index, fault);
        let ended = work(&sim);
        end(&sim);
        let store = flushed(&sim);
        let context = format!("{fault:?} at operation {index}: {:?}", ended.err());
        assert_eq!(numbers(&store), (0..15).collect::<Vec<_>>(), "{context}");
        assert!(store.verify(&mut |_| {}).unwrap().damage.is_empty(), "{context}");
        assert!(!sim.files().iter().any(|file| file.ends_with(".wal")), "{context}: {:?}", sim.files());
    }
}

#[test]
fn a_crash_while_they_are_buried_loses_and_doubles_nothing() {
    crash_everywhere(Fault::Crash, 1, Sim::crash_process);
    for keep_percent in [0, 50] {
        crash_everywhere(Fault::Crash, 1, |sim| sim.crash_power_keeping(keep_percent));
    }
}

#[test]
fn nor_does_an_error() {
    for fault in [Fault::NoSpace, Fault::SyncFailed, Fault::ReadError, Fault::TooManyFiles] {
        crash_everywhere(fault, 1, Sim::crash_process);
    }
}

/// What a writer left fills a group, and only the next one fails.
#[test]
fn those_that_are_in_tables_are_not_put_there_again_when_others_cannot_be() {
    let left = || {
        let sim = Sim::new(3);
        drop(options(sim.spawn_process().env()).open("/logs").unwrap());
        for writer in 0..3u64 {
            let process = sim.spawn_process();
            let large = options(process.env()).write_buffer_size(8 << 20).max_write_buffer_number(4);
            let store = large.keeper(false).open("/logs").unwrap();
            for line in 0..5 {
                let mut entry = EntryBuf::new(["app"]);
                let n = writer * 5 + line;
                entry.start(n as i64).message(&n.to_string()).field("text", &*"x".repeat(1_500_000));
                store.append(entry.finish().unwrap()).unwrap();
            }
            store.sync().unwrap();
            process.kill();
            drop(store);
        }
        sim
    };
    let sim = left();
    let from = sim.operations();
    drop(flushed(&sim));
    let is_table = |(_, line): &(usize, &String)| line.contains("create") && line.contains(".sst");
    let trace = sim.trace();
    let tables: Vec<_> = trace.iter().enumerate().skip(from as usize).filter(is_table).collect();
    assert_eq!(tables.len(), 2, "{tables:?}");
    for fault in [Fault::NoSpace, Fault::TooManyFiles] {
        let sim = left();
        sim.fail_at(tables[1].0 as u64, fault);
        let store = flushed(&sim);
        assert!(!sim.faults_struck().is_empty());
        assert_eq!(numbers(&store), (0..15).collect::<Vec<_>>(), "{fault:?}");
    }
}
