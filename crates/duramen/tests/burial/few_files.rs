//! Where a process may have few files open, what living writers have written goes into tables, and tables are merged, all the same:
//! fewer together.

use super::*;

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

/// Each of its segments takes a descriptor until it is in a table.
#[test]
fn a_living_writers_segments_are_flushed() {
    let least = least_for(|most| {
        let sim = Sim::new(2);
        let other = sim.spawn_process();
        drop(options(sim.env()).open("/logs").unwrap());
        let writes = options(other.env()).keeper(false).max_write_buffer_number(64).open("/logs").unwrap();
        for n in 0..40u64 {
            let mut entry = EntryBuf::new(["app"]);
            entry.start(n as i64).message(&n.to_string()).field("text", &*"x".repeat(40 << 10));
            writes.append(entry.finish().unwrap()).unwrap();
        }
        let segments = || sim.files().iter().filter(|file| file.ends_with(".wal")).count();
        assert!(segments() > 20, "{}", segments());
        sim.set_max_open_files(Some(most));
        let flushed_now = options(sim.env()).open("/logs").and_then(|store| store.flush());
        sim.set_max_open_files(None);
        if flushed_now.is_ok() {
            assert!(segments() < 5, "{most}: {}", segments());
        }
        drop(writes);
        assert_eq!(numbers(&flushed(&sim)), (0..40).collect::<Vec<_>>(), "with {most}");
        flushed_now
    });
    assert!(least < 16, "{least} were needed");
}
