use crate::lines::{PERIOD_NS, append, delete, number, numbers, options, rows, text};
use duramen::block::Block;
use duramen::{Durability, Error, Store, StoreOptions};
use duramen_engine::io::sim::{Fault, Sim};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Whether some file of the store holds the text as it is.
fn is_in_a_file(sim: &Sim, text: &str) -> bool {
    let holds = |file: &String| {
        let bytes = sim.read_file(Path::new(file)).unwrap();
        bytes.windows(text.len()).any(|window| window == text.as_bytes())
    };
    sim.files().iter().any(holds)
}

#[test]
fn the_bytes_are_gone() {
    let sim = Sim::new(1);
    let store = options(sim.env()).open("/logs").unwrap();
    for n in 0..60 {
        append(&store, n).unwrap();
        if n == 40 {
            store.flush().unwrap();
        }
    }
    let needle = text(50);
    assert!(is_in_a_file(&sim, &needle), "in the WAL it can be read");
    let before = sim.files();
    // One that is in the WAL, and one in each table.
    let report = delete(&store, &|n| matches!(n, 50 | 0 | 1 | 2)).unwrap();
    assert_eq!(
        (report.lines, report.tables, report.files_to_go, report.unsealed_lines),
        (4, 4, 0, 0),
        "{report:?}"
    );
    for n in [50, 0, 1, 2] {
        assert!(!is_in_a_file(&sim, &text(n)), "{n}");
    }
    // Tables are compressed: none that had such a line is there any more, and none that is has one.
    let old: Vec<_> = before.iter().filter(|file| file.ends_with(".sst")).collect();
    assert!(old.len() == 3 && old.iter().all(|file| !sim.files().contains(file)), "{old:?}");
    assert_eq!(numbers(&store), (3..60).filter(|n| *n != 50).collect::<Vec<_>>());
    store.close().unwrap();
    assert_eq!(numbers(&options(sim.env()).open("/logs").unwrap()).len(), 56);
}

#[test]
fn an_open_snapshot_reads_on_and_its_files_go_after_it() {
    let sim = Sim::new(2);
    let store = options(sim.env()).open("/logs").unwrap();
    (0..30).for_each(|n| append(&store, n).unwrap());
    store.flush().unwrap();
    let reader = options(sim.spawn_process().env()).keeper(false).open("/logs").unwrap();
    let snapshot = reader.snapshot().unwrap();
    let report = delete(&store, &|n| n < 10).unwrap();
    assert_eq!((report.lines, report.files_to_go), (10, 3));
    let read = |snapshot: &duramen::Snapshot| -> usize {
        snapshot.blocks(i64::MIN, i64::MAX).iter().map(|b| b.open().unwrap().times().unwrap().len()).sum()
    };
    assert_eq!((read(&snapshot), read(&reader.snapshot().unwrap())), (30, 20));
    let tables = || sim.files().iter().filter(|file| file.ends_with(".sst")).count();
    assert_eq!(tables(), 6);
    drop(snapshot);
    store.flush().unwrap();
    assert_eq!(tables(), 3);
}

#[test]
fn a_tail_is_not_shown_again_what_stays() {
    let sim = Sim::new(3);
    let store = options(sim.env()).open("/logs").unwrap();
    (0..12).for_each(|n| append(&store, n).unwrap());
    store.flush().unwrap();
    let mut tail = store.tail().unwrap();
    (12..18).for_each(|n| append(&store, n).unwrap());
    let mut seen = |expected: &[u64]| {
        let mut found = Vec::new();
        for block in tail.poll(Duration::ZERO).unwrap() {
            let column = block.column("_msg").unwrap().unwrap();
            let mut digits = duramen::column::IntText::default();
            found.extend((0..block.rows()).map(|row| number(column.text(row, &mut digits).unwrap())));
        }
        found.sort_unstable();
        assert_eq!(found, expected);
    };
    seen(&[12, 13, 14, 15, 16, 17]);
    (18..21).for_each(|n| append(&store, n).unwrap());
    delete(&store, &|n| n % 5 == 0).unwrap();
    seen(&[18, 19]);
}

#[test]
fn only_the_time_that_was_meant_is_looked_at() {
    let sim = Sim::new(4);
    let store = options(sim.env()).open("/logs").unwrap();
    (0..30).for_each(|n| append(&store, n).unwrap());
    store.flush().unwrap();
    let mut asked = 0;
    let second = PERIOD_NS..=2 * PERIOD_NS - 1;
    let report = store.delete(
        second,
        &mut |block| {
            asked += 1;
            rows(block, &|_| true)
        },
        &|| false,
    );
    assert_eq!((report.unwrap().unwrap().lines, asked), (10, 1));
    assert!(numbers(&store).iter().all(|n| n % 3 != 1));
}

#[test]
fn what_lies_beside_the_time_that_was_meant_in_the_same_block_stays() {
    let sim = Sim::new(7);
    let store = options(sim.env()).open("/logs").unwrap();
    for n in 0..30 {
        append(&store, n).unwrap();
        if n == 20 {
            store.flush().unwrap();
        }
    }
    // Of the first period: one line in a table, one in the WAL, each with others before or behind it.
    let report = store.delete(18..=21, &mut |block| rows(block, &|_| true), &|| false).unwrap().unwrap();
    assert_eq!((report.lines, report.unsealed_lines), (2, 0));
    assert_eq!(numbers(&store), (0..30).filter(|n| !matches!(n, 18 | 21)).collect::<Vec<_>>());
}

#[test]
fn a_table_that_is_gone_is_told_and_costs_nothing_else() {
    let sim = Sim::new(8);
    let store = options(sim.env()).open("/logs").unwrap();
    (0..30).for_each(|n| append(&store, n).unwrap());
    store.close().unwrap();
    let table = sim.files().into_iter().find(|file| file.ends_with(".sst")).unwrap();
    sim.env().fs.remove_file(Path::new(&table)).unwrap();
    let store = options(sim.env()).open("/logs").unwrap();
    let report = delete(&store, &|_| true).unwrap();
    assert_eq!((report.lines, report.damaged.len()), (20, 1), "{report:?}");
    assert!(report.damaged[0].contains("it is missing"), "{report:?}");
}

#[test]
fn what_lies_behind_damage_in_a_dead_writers_segment_goes_too() {
    let sim = Sim::new(9);
    let process = sim.spawn_process();
    let store = options(process.env()).durability(Durability::Sync).open("/logs").unwrap();
    (0..30).for_each(|n| append(&store, n).unwrap());
    process.kill();
    drop(store);
    let segment = sim.files().into_iter().find(|file| file.ends_with("1.wal")).unwrap();
    let bytes = sim.read_file(Path::new(&segment)).unwrap();
    let needle = text(15);
    let at = bytes.windows(needle.len()).position(|window| window == needle.as_bytes()).unwrap();
    sim.flip_bit(Path::new(&segment), at as u64 * 8).unwrap();
    // Who opens it has not flushed what the dead left when it deletes.
    let store = options(sim.env()).open("/logs").unwrap();
    let report = delete(&store, &|n| n >= 25).unwrap();
    assert_eq!((report.lines, report.quarantined.len()), (5, 1), "{report:?}");
    store.flush().unwrap();
    assert_eq!(numbers(&store), (0..25).filter(|n| *n != 15).collect::<Vec<_>>());
}

#[test]
fn a_writer_that_cannot_be_flushed_keeps_no_line_of_a_table() {
    let sim = Sim::new(10);
    let process = sim.spawn_process();
    let other = options(process.env()).keeper(false);
    let store = options(sim.env()).open("/logs").unwrap();
    (0..30).for_each(|n| append(&store, n).unwrap());
    store.flush().unwrap();
    let before = sim.files();
    let other = other.open("/logs").unwrap();
    append(&other, 100).unwrap();
    let segment =
        sim.files().into_iter().find(|file| file.ends_with("1.wal") && !before.contains(file)).unwrap();
    sim.flip_bit(Path::new(&segment), 3).unwrap();
    // The processes are both there, and the header of what one writes is damaged.
    let report = delete(&store, &|n| n < 5).unwrap();
    assert_eq!((report.lines, report.unsealed_lines), (5, 0), "{report:?}");
    assert!(report.damaged.iter().any(|told| told.contains(".wal")), "{report:?}");
    assert!(store.is_keeper());
    // Own lines go, too, though they are in no table yet.
    append(&store, 31).unwrap();
    let report = delete(&store, &|n| n == 31).unwrap();
    assert_eq!((report.lines, report.unsealed_lines), (1, 0), "{report:?}");
    assert_eq!(numbers(&store), (5..30).collect::<Vec<_>>());
}

#[test]
fn damage_is_told_and_costs_nothing_else() {
    let sim = Sim::new(5);
    let store = options(sim.env()).open("/logs").unwrap();
    (0..30).for_each(|n| append(&store, n).unwrap());
    store.close().unwrap();
    let table = sim.files().into_iter().find(|file| file.ends_with(".sst")).unwrap();
    sim.flip_bit(Path::new(&table), 40 * 8).unwrap();
    let store = options(sim.env()).open("/logs").unwrap();
    let report = delete(&store, &|_| true).unwrap();
    assert_eq!((report.lines, report.damaged.len()), (20, 1), "{report:?}");
    assert!(table.ends_with(report.damaged[0].split(':').next().unwrap()), "{report:?}");
    assert_eq!(sim.files().iter().filter(|file| file.ends_with(".sst")).count(), 1);
}

#[test]
fn what_is_stopped_or_fails_changes_nothing() {
    let sim = Sim::new(6);
    let store = options(sim.env()).open("/logs").unwrap();
    (0..30).for_each(|n| append(&store, n).unwrap());
    store.flush().unwrap();
    let files = sim.files();
    let all = i64::MIN..=i64::MAX;
    // After two of three tables.
    let asked = std::cell::Cell::new(0);
    let stop = || {
        asked.set(asked.get() + 1);
        asked.get() > 4
    };
    let stopped = store.delete(all.clone(), &mut |block| rows(block, &|n| n % 2 == 0), &stop).unwrap();
    assert_eq!(stopped, None);
    let failed = store.delete(all.clone(), &mut |_| Err(Error::Invalid("cannot tell".into())), &|| false);
    assert_eq!(failed.unwrap_err().to_string(), "cannot tell");
    let short = store.delete(all.clone(), &mut |_| Ok(vec![true]), &|| false);
    assert!(short.unwrap_err().to_string().contains("cannot be told"));
    store.flush().unwrap();
    assert_eq!(numbers(&store).len(), 30);
    let tables =
        |files: &[String]| files.iter().filter(|f| f.contains("/tables/")).cloned().collect::<Vec<_>>();
    assert_eq!(tables(&sim.files()), tables(&files), "nothing is left lying about");
    let reader = Store::open_read_only("/nowhere");
    assert!(reader.is_err());
}

#[test]
fn lines_that_do_not_get_into_tables_are_waited_for_ten_seconds_however_long_each_look_takes() {
    let sim = Sim::new(11);
    let process = sim.spawn_process();
    let store = options(sim.env()).open("/logs").unwrap();
    (0..30).for_each(|n| append(&store, n).unwrap());
    store.flush().unwrap();
    // Without a thread in the background, it does not seal what it is asked to.
    let other = options(process.env()).keeper(false).open("/logs").unwrap();
    append(&other, 100).unwrap();
    let mut looks = 0;
    let all = i64::MIN..=i64::MAX;
    let mut matches = |block: &Arc<dyn Block>| {
        looks += 1;
        sim.clock().advance(Duration::from_secs(1));
        rows(block, &|n| n == 3 || n == 100)
    };
    let report = store.delete(all, &mut matches, &|| false).unwrap().unwrap();
    assert_eq!((report.lines, report.unsealed_lines), (1, 1), "{report:?}");
    assert!(looks < 30, "{looks}");
}

#[test]
fn other_writers_have_time_to_seal_though_the_first_look_takes_ten_seconds() {
    let sim = Sim::new(12);
    let process = sim.spawn_process();
    let store = options(sim.env()).open("/logs").unwrap();
    (0..30).for_each(|n| append(&store, n).unwrap());
    store.flush().unwrap();
    let other = options(process.env()).keeper(false).open("/logs").unwrap();
    append(&other, 100).unwrap();
    let other = std::cell::Cell::new(Some(other));
    let mut matches = |block: &Arc<dyn Block>| {
        sim.clock().advance(Duration::from_secs(11));
        rows(block, &|n| n == 3 || n == 100)
    };
    let asked = std::cell::Cell::new(0);
    let stop = || {
        asked.set(asked.get() + 1);
        if asked.get() == 2 {
            other.take().map(Store::close).unwrap().unwrap();
        }
        false
    };
    let report = store.delete(i64::MIN..=i64::MAX, &mut matches, &stop).unwrap().unwrap();
    assert_eq!((report.lines, report.unsealed_lines), (2, 0), "{report:?}");
}

#[test]
fn lines_of_tables_go_though_no_room_is_left_to_ask_other_writers_for_theirs() {
    let run = |fault_at: Option<u64>| {
        let sim = Sim::new(12);
        let process = sim.spawn_process();
        let store = options(sim.env()).open("/logs").unwrap();
        (0..30).for_each(|n| append(&store, n).unwrap());
        store.flush().unwrap();
        let other = options(process.env()).keeper(false).open("/logs").unwrap();
        append(&other, 100).unwrap();
        fault_at.iter().for_each(|at| sim.fail_at(*at, Fault::NoSpace));
        (delete(&store, &|n| n == 3 || n == 100), sim.trace(), numbers(&store))
    };
    let (_, trace, _) = run(None);
    let asking = trace.iter().position(|op| op.starts_with("write") && op.contains("KEEPER.next")).unwrap();
    let (report, _, left) = run(Some(asking as u64));
    let report = report.unwrap();
    assert_eq!((report.lines, report.unsealed_lines), (1, 1), "{report:?}");
    assert!(report.damaged.iter().any(|told| told.contains("KEEPER.next")), "{report:?}");
    assert!(!left.contains(&3) && left.contains(&100), "{left:?}");
}

/// With real threads: another process is keeper and writes, and its last lines are in its WAL only.
#[test]
fn lines_of_a_running_program_go_while_it_writes() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().join("logs");
    let program = Store::open(&dir).unwrap();
    assert!(program.is_keeper());
    (0..20).for_each(|n| append(&program, n).unwrap());
    let other = StoreOptions::new().keeper(false).open(&dir).unwrap();
    let report = std::thread::scope(|scope| {
        let writing = scope.spawn(|| (20..200).for_each(|n| append(&program, n).unwrap()));
        let report = delete(&other, &|n| n < 10).unwrap();
        writing.join().unwrap();
        report
    });
    assert_eq!((report.lines, report.unsealed_lines), (10, 0), "{report:?}");
    assert_eq!(numbers(&program), (10..200).collect::<Vec<_>>());
    // A second time, too: what was asked once is asked anew.
    assert_eq!(delete(&other, &|n| n >= 150).unwrap().lines, 50);
    assert_eq!(numbers(&program), (10..150).collect::<Vec<_>>());
    let needle = text(5);
    for entry in walk(&dir) {
        let bytes = std::fs::read(&entry).unwrap();
        assert!(!bytes.windows(needle.len()).any(|w| w == needle.as_bytes()), "{}", entry.display());
    }
}

fn walk(dir: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(walk(&path)) } else { found.push(path) }
    }
    found
}
