//! Where a process may have few files open, what living writers have written goes into tables, and tables are merged, all the same:
//! fewer together.

use super::*;
use duramen_engine::io::sim::{Fault, SimProcess};

/// Tables with a line of early and one of late each, so that all are open when they are merged. Closing would merge them.
fn many_tables(sim: &Sim, tables: u64) {
    let process = sim.spawn_process();
    let store = options(process.env()).open("/logs").unwrap();
    for n in 0..tables {
        append(&store, n);
        append(&store, tables + n);
        store.flush().unwrap();
    }
    process.kill();
}

fn tables(sim: &Sim) -> usize {
    sim.files().iter().filter(|file| file.ends_with(".sst")).count()
}

/// The least of so many files that are enough for it, which more are then, too.
fn least_for(work: impl Fn(usize) -> duramen::Result<()>) -> usize {
    let (mut least, mut are_enough) = (usize::MAX, true);
    for most in (4..70).rev().step_by(3) {
        match work(most) {
            Ok(()) => {
                assert!(are_enough, "{most} are enough, and more were not");
                least = most;
            }
            Err(e) => {
                assert!(e.to_string().contains("files"), "{most}: {e}");
                are_enough = false;
            }
        }
    }
    least
}

#[test]
fn tables_are_merged() {
    let least = least_for(|most| {
        let sim = Sim::new(1);
        many_tables(&sim, 70);
        sim.set_max_open_files(Some(most));
        let merged = options(sim.env()).open("/logs").and_then(|store| store.compact());
        sim.set_max_open_files(None);
        assert_eq!(numbers(&flushed(&sim)), (0..140).collect::<Vec<_>>(), "with {most}");
        assert!(merged.is_err() || tables(&sim) < 8, "{most}: {} tables", tables(&sim));
        merged
    });
    assert!(least < 16, "{least} were needed");
}

/// What did not fit is not tried again each time.
#[test]
fn hardly_a_merge_is_begun_in_vain() {
    let sim = Sim::new(1);
    many_tables(&sim, 70);
    sim.set_max_open_files(Some(20));
    let from = sim.operations() as usize;
    options(sim.env()).open("/logs").unwrap().compact().unwrap();
    let count = |what: &str| {
        let is_it = |line: &&String| line.starts_with(what) && line.contains(".sst");
        sim.trace().iter().skip(from).filter(is_it).count()
    };
    let (begun, ended) = (count("create "), count("rename "));
    assert!(ended > 4 && begun > ended && begun <= ended + 3, "{begun} begun, {ended} ended");
}

/// A store of 40 lines, each in a segment of its own, none of which is in a table; and who has written them.
fn many_segments(sim: &Sim) -> (SimProcess, Store) {
    drop(options(sim.spawn_process().env()).open("/logs").unwrap());
    let writer = sim.spawn_process();
    let writes = options(writer.env()).keeper(false).max_write_buffer_number(64).open("/logs").unwrap();
    for n in 0..40u64 {
        let mut entry = EntryBuf::new(["app"]);
        entry.start(n as i64).message(&n.to_string()).field("text", &*"x".repeat(40 << 10));
        writes.append(entry.finish().unwrap()).unwrap();
    }
    assert!(segments(sim) > 20, "{}", segments(sim));
    (writer, writes)
}

fn segments(sim: &Sim) -> usize {
    sim.files().iter().filter(|file| file.contains("/wal/") && file.ends_with(".wal")).count()
}

/// Segments are mapped, or else read, where a file system cannot do that.
fn both_ways(work: impl Fn(&Sim, usize) -> duramen::Result<()>) {
    for refuse_mapping in [false, true] {
        let least = least_for(|most| {
            let sim = Sim::new(2);
            sim.refuse_mapping(refuse_mapping);
            work(&sim, most)
        });
        assert!(least < 16, "{least} were needed");
    }
}

#[test]
fn a_living_writers_segments_are_flushed() {
    both_ways(|sim, most| {
        let (_writer, writes) = many_segments(sim);
        sim.set_max_open_files(Some(most));
        let flushed_now = options(sim.env()).open("/logs").and_then(|store| store.flush());
        sim.set_max_open_files(None);
        if flushed_now.is_ok() {
            assert!(segments(sim) < 5, "{most}: {}", segments(sim));
        }
        drop(writes);
        assert_eq!(numbers(&flushed(sim)), (0..40).collect::<Vec<_>>(), "with {most}");
        flushed_now
    });
}

#[test]
fn so_are_a_dead_writers() {
    both_ways(|sim, most| {
        let (writer, writes) = many_segments(sim);
        writer.kill();
        drop(writes);
        sim.set_max_open_files(Some(most));
        let flushed_now = options(sim.env()).open("/logs").and_then(|store| store.flush());
        sim.set_max_open_files(None);
        if flushed_now.is_ok() {
            assert_eq!(segments(sim), 0, "{most}");
        }
        assert_eq!(numbers(&flushed(sim)), (0..40).collect::<Vec<_>>(), "with {most}");
        flushed_now
    });
}

/// Who reads takes none for them either.
#[test]
fn and_both_are_read() {
    let least = least_for(|most| {
        let sim = Sim::new(2);
        let (writer, writes) = many_segments(&sim);
        let read = || {
            sim.set_max_open_files(Some(most));
            let mut found = 0;
            let mut add = |_: &duramen::store::ScanRow<'_>| {
                found += 1;
                ControlFlow::Continue(())
            };
            let store = options(sim.env()).keeper(false).open_read_only("/logs");
            let scanned = store.and_then(|store| store.scan(i64::MIN, i64::MAX, &mut add));
            sim.set_max_open_files(None);
            scanned.map(|_| assert_eq!(found, 40))
        };
        read()?;
        writer.kill();
        drop(writes);
        read()
    });
    assert!(least < 16, "{least} were needed");
}

/// Whatever fails or ends while they are: each line is there, once.
#[test]
fn a_dead_writers_are_at_every_operation_that_fails() {
    let dead = |refuse_mapping| {
        let sim = Sim::new(7);
        sim.refuse_mapping(refuse_mapping);
        let (writer, writes) = many_segments(&sim);
        writes.sync().unwrap();
        writer.kill();
        drop(writes);
        sim.set_max_open_files(Some(16));
        sim
    };
    let work = |sim: &Sim| options(sim.env()).open("/logs").and_then(|store| store.flush());
    let faults = [Fault::Crash, Fault::TooManyFiles, Fault::NoSpace, Fault::SyncFailed, Fault::ReadError];
    for (refuse_mapping, fault) in faults.into_iter().flat_map(|fault| [(false, fault), (true, fault)]) {
        let sim = dead(refuse_mapping);
        let from = sim.operations();
        work(&sim).unwrap();
        for index in (from + fault as u64..sim.operations()).step_by(9) {
            let sim = dead(refuse_mapping);
            sim.fail_at(index, fault);
            let ended = work(&sim);
            let context = format!("{fault:?} at operation {index}: {:?}", ended.as_ref().err());
            if fault == Fault::Crash {
                if index % 2 == 0 { sim.crash_process() } else { sim.crash_power_keeping(50) }
            } else if ended.is_err() {
                work(&sim).unwrap_or_else(|e| panic!("{context}: again: {e}"));
            }
            sim.set_max_open_files(None);
            let store = flushed(&sim);
            assert!(store.verify(&mut |_| {}).unwrap().damage.is_empty(), "{context}");
            assert_eq!(numbers(&store), (0..40).collect::<Vec<_>>(), "{context}");
            assert_eq!(segments(&sim), 0, "{context}");
        }
    }
}
