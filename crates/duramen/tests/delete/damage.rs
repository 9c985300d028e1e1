//! Lines of a table of which a block is damaged.

use duramen::{DeleteReport, EntryBuf, Store, StoreOptions};
use duramen_engine::io::sim::Sim;
use duramen_engine::sstable::{Damage, Part, Table};
use std::ops::ControlFlow;
use std::path::Path;

/// So many lines of one kind have a block of their own.
const OF_KIND: u64 = 5000;

fn open(sim: &Sim) -> Store {
    StoreOptions::new().env(sim.env()).background(false).flush_threads(1).open("/logs").unwrap()
}

/// What no other line has.
fn secret(n: u64) -> String {
    format!("{:016x}", (n + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15))
}

/// A store with one table of two blocks: of pages, and of queries some time after them.
fn filled(sim: &Sim) -> String {
    let store = open(sim);
    for n in 0..2 * OF_KIND {
        let mut entry = EntryBuf::new(["app"]);
        let (app, message) = if n < OF_KIND {
            ("web", format!("get page {n} {}", secret(n)))
        } else {
            ("db", format!("query number {n} took {} ms {}", n % 7, secret(n)))
        };
        entry.start(n as i64).message(&message).field("app", app);
        store.append(entry.finish().unwrap()).unwrap();
    }
    store.close().unwrap();
    let tables: Vec<_> = sim.files().into_iter().filter(|file| file.ends_with(".sst")).collect();
    assert_eq!(tables.len(), 1);
    assert_eq!(open(sim).snapshot().unwrap().blocks(i64::MIN, i64::MAX).len(), 2);
    tables.into_iter().next().unwrap()
}

/// Deletes the lines of these times.
fn delete(store: &Store, times: std::ops::RangeInclusive<i64>) -> DeleteReport {
    store.delete(times, &mut |block| Ok(vec![true; block.rows()]), &|| false).unwrap().unwrap()
}

fn times(store: &Store) -> Vec<u64> {
    let mut found = Vec::new();
    let mut add = |row: &duramen::store::ScanRow<'_>| {
        found.push(row.time() as u64);
        ControlFlow::Continue(())
    };
    store.scan(i64::MIN, i64::MAX, &mut add).unwrap();
    found
}

#[test]
fn lines_of_whole_blocks_go_and_the_damaged_block_is_kept_apart() {
    let sim = Sim::new(21);
    let table = filled(&sim);
    let block = sim.read_file(Path::new(&table)).unwrap();
    sim.flip_bit(Path::new(&table), 40 * 8).unwrap();
    let store = open(&sim);
    // One line of each block.
    let first = OF_KIND as i64 - 1;
    let report = delete(&store, first..=first + 1);
    assert_eq!((report.lines, report.tables, report.files_to_go), (1, 1, 0), "{report:?}");
    assert_eq!((report.damaged.len(), report.quarantined.len()), (1, 1), "{report:?}");
    assert!(
        report.damaged[0].contains("block 0") && report.damaged[0].contains("its 5000 lines"),
        "{report:?}"
    );
    assert!(store.incidents().messages.iter().any(|told| told.contains("moved to quarantine")));
    assert_eq!(times(&store), (OF_KIND + 1..2 * OF_KIND).collect::<Vec<_>>());
    assert!(store.verify(&mut |_| {}).unwrap().damage.is_empty());
    assert!(!sim.files().contains(&table));
    // Of the table nothing else is left.
    let kept = sim.read_file(&Path::new("/logs/quarantine").join(&report.quarantined[0])).unwrap();
    assert!(
        kept.len() < block.len() * 3 / 4 && kept.len() > block.len() / 4,
        "{} of {}",
        kept.len(),
        block.len()
    );
}

#[test]
fn damage_in_a_block_that_nobody_had_to_look_into_keeps_no_line() {
    let sim = Sim::new(22);
    let table = filled(&sim);
    sim.flip_bit(Path::new(&table), 40 * 8).unwrap();
    let store = open(&sim);
    let last = 2 * OF_KIND as i64 - 1;
    let report = delete(&store, last..=last);
    assert_eq!((report.lines, report.damaged.len(), report.quarantined.len()), (1, 1, 1), "{report:?}");
    assert_eq!(times(&store), (OF_KIND..2 * OF_KIND - 1).collect::<Vec<_>>());
}

#[test]
fn where_no_line_is_found_nothing_changes() {
    let sim = Sim::new(23);
    let table = filled(&sim);
    sim.flip_bit(Path::new(&table), 40 * 8).unwrap();
    let store = open(&sim);
    let report = delete(&store, 7..=7);
    assert_eq!((report.lines, report.damaged.len(), report.quarantined.len()), (0, 1, 0), "{report:?}");
    assert!(report.damaged[0].contains("block 0"), "{report:?}");
    assert!(sim.files().contains(&table));
}

#[test]
fn a_block_of_which_only_a_filter_is_damaged_stays() {
    let sim = Sim::new(24);
    let table = filled(&sim);
    let path = Path::new(&table);
    let len = sim.read_file(path).unwrap().len();
    // From the end, where filters lie, to the first place that is one's.
    let of_filter = (0..len).rev().step_by(48).find_map(|at| {
        sim.flip_bit(path, at as u64 * 8).unwrap();
        let damage = Table::verify(&sim.env(), path).map(|report| report.damage).unwrap_or_default();
        if let [Damage { part: Part::Filter, block: Some(block), .. }] = &damage[..] {
            return Some(*block);
        }
        sim.flip_bit(path, at as u64 * 8).unwrap();
        None
    });
    let in_other = if of_filter.unwrap() == 0 { 2 * OF_KIND - 1 } else { 0 };
    let store = open(&sim);
    let report = delete(&store, in_other as i64..=in_other as i64);
    assert_eq!((report.lines, report.damaged.len(), report.quarantined.len()), (1, 0, 0), "{report:?}");
    assert_eq!(times(&store), (0..2 * OF_KIND).filter(|n| *n != in_other).collect::<Vec<_>>());
    assert!(store.verify(&mut |_| {}).unwrap().damage.is_empty());
}
