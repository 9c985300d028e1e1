#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this is test code

use super::MOST_AGE;
use crate::store::shared::lock;
use crate::{EntryBuf, Retention, Store, StoreOptions};
use duramen_engine::io::Env;
use duramen_engine::io::sim::{OperationKind, Sim};
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

/// So many views make the last one kept.
const ENOUGH: usize = super::MANY as usize + 4;

fn options(env: Env) -> StoreOptions {
    StoreOptions::new().env(env).background(false).write_buffer_size(64 << 10)
}

fn append(store: &Store, n: u64) {
    let mut entry = EntryBuf::default();
    let text = format!("{n} {}", "x".repeat(n as usize % 9 * 400));
    store.append(entry.start(n as i64).message(&text).finish().unwrap()).unwrap();
}

fn numbers(store: &Store) -> BTreeSet<u64> {
    let mut found = BTreeSet::new();
    let scanned = store.scan(i64::MIN, i64::MAX, &mut |row| {
        let number = row.message().split(' ').next().unwrap().parse().unwrap();
        assert!(found.insert(number), "{number} twice");
        ControlFlow::Continue(())
    });
    scanned.unwrap();
    found
}

fn delete(store: &Store, wanted: &dyn Fn(i64) -> bool) {
    let mut matches = |block: &std::sync::Arc<dyn crate::block::Block>| {
        Ok(block.times()?.iter().map(|time| wanted(*time)).collect::<Vec<_>>())
    };
    store.delete(i64::MIN..=i64::MAX, &mut matches, &|| false).unwrap().unwrap();
}

fn is_kept(store: &Store) -> bool {
    lock(&store.snapshots.kept.last).view.is_some()
}

#[test]
fn many_in_a_row_look_only_for_the_pin() {
    let sim = Sim::new(1);
    let store = options(sim.env()).open("/logs").unwrap();
    append(&store, 0);
    assert_eq!(store.snapshot().unwrap().rows(), 1);
    assert!(!is_kept(&store), "who asks once keeps nothing");
    (0..ENOUGH).for_each(|_| drop(store.snapshot().unwrap()));
    assert!(is_kept(&store));
    let looks = [OperationKind::ReadDir, OperationKind::Read, OperationKind::Exists];
    let count = || looks.iter().map(|kind| sim.indices_of(*kind).len()).sum::<usize>();
    let before = count();
    for n in 1..=ENOUGH as u64 {
        append(&store, n);
        assert_eq!(store.snapshot().unwrap().rows(), n + 1);
    }
    assert_eq!(count(), before);
    sim.clock().advance(MOST_AGE + Duration::from_millis(1));
    assert_eq!(store.snapshot().unwrap().rows(), ENOUGH as u64 + 1);
    assert!(count() > before && !is_kept(&store), "it is not believed for ever");
}

/// Several processes write, flush, merge, delete and die; after each step, one that has kept a view sees what there is.
#[test]
fn whatever_any_process_does_is_seen_by_the_next() {
    for seed in 0..20 {
        let sim = Sim::new(seed);
        let mut dice = seed;
        let mut below = |end: u64| {
            dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (dice >> 33) % end
        };
        let reader = options(sim.spawn_process().env()).keeper(false).open("/logs").unwrap();
        let open = || {
            let process = sim.spawn_process();
            let store = options(process.env()).max_write_buffer_number(60).open("/logs").unwrap();
            (process, store)
        };
        let mut others = vec![open()];
        let (mut expected, mut next) = (BTreeSet::new(), 0);
        for step in 0..60 {
            let at = below(others.len() as u64) as usize;
            let what = below(9);
            match what {
                0..=3 => {
                    let many = 1 + below(if what == 0 { 80 } else { 3 });
                    for n in next..next + many {
                        append(&others[at].1, n);
                        expected.insert(n);
                    }
                    next += many;
                }
                4 => others[at].1.flush().unwrap(),
                5 => others[at].1.compact().unwrap(),
                6 if others.len() < 4 => others.push(open()),
                6 => {
                    let (process, store) = others.swap_remove(at);
                    std::mem::forget(store);
                    process.kill();
                }
                7 => {
                    // None of another process is keeper then.
                    while others.len() > 1 {
                        let (process, store) = others.remove(0);
                        std::mem::forget(store);
                        process.kill();
                    }
                    let (divisor, rest) = (3 + below(9) as i64, below(3) as i64);
                    delete(&others[0].1, &|time| time % divisor == rest);
                    expected.retain(|n| *n as i64 % divisor != rest);
                }
                _ => sim.clock().advance(Duration::from_millis(below(700))),
            }
            let context = format!("seed {seed}, step {step}, {what}");
            assert_eq!(numbers(&reader), expected, "{context}");
            (0..below(6)).for_each(|_| drop(reader.snapshot().unwrap()));
            assert_eq!(numbers(&reader), expected, "{context}, again");
        }
    }
}

#[test]
fn what_retention_takes_is_seen_at_once() {
    let sim = Sim::new(2);
    let keeper = options(sim.spawn_process().env()).open("/logs").unwrap();
    let reader = options(sim.env()).keeper(false).open("/logs").unwrap();
    append(&keeper, 0);
    keeper.flush().unwrap();
    (0..ENOUGH).for_each(|_| assert_eq!(reader.snapshot().unwrap().rows(), 1));
    assert!(is_kept(&reader));
    sim.clock().set(i64::MAX / 2);
    (0..ENOUGH).for_each(|_| assert_eq!(reader.snapshot().unwrap().rows(), 1));
    let max_age = Some(Duration::from_secs(60));
    keeper.set_retention(&Retention { max_age, ..Retention::default() }).unwrap();
    crate::store::background::retain(&keeper.shared, &keeper.keeper, &|| false).unwrap();
    assert_eq!(reader.snapshot().unwrap().rows(), 0);
}

/// A file that has its name and no header yet: who writes that changes no name.
#[test]
fn a_segment_that_gets_its_header_later_is_seen_then() {
    let sim = Sim::new(3);
    let other = options(sim.spawn_process().env()).open("/other").unwrap();
    append(&other, 7);
    let of_other = sim.files().into_iter().find(|file| file.ends_with("00000001.wal")).unwrap();
    let bytes = sim.read_file(Path::new(&of_other)).unwrap();
    let store = options(sim.env()).open("/logs").unwrap();
    append(&store, 0);
    let path = Path::new("/").join(of_other.trim_start_matches('/').replace("other/", "logs/"));
    let fs = sim.env().fs;
    fs.create_dir_all(path.parent().unwrap()).unwrap();
    let segment = fs.create_segment(&path, bytes.len()).unwrap();
    (0..ENOUGH).for_each(|_| assert_eq!(store.snapshot().unwrap().rows(), 1));
    assert!(!is_kept(&store));
    segment.write_by_call(0, &bytes).unwrap();
    assert_eq!(numbers(&store), [0, 7].into());
}

/// On the operating system's files, where it is told by the kernel.
#[test]
fn on_real_files_too() {
    let dir = tempfile::tempdir().unwrap();
    let open = |keeper: bool| options(Env::os()).keeper(keeper).open(dir.path().join("logs")).unwrap();
    let (keeper, reader) = (open(true), open(false));
    let mut expected = BTreeSet::new();
    let mut writers = vec![open(false)];
    for n in 0..600 {
        append(&writers[n as usize % writers.len()], n);
        expected.insert(n);
        assert_eq!(numbers(&reader), expected);
        match n % 60 {
            17 => writers.push(open(false)),
            29 => keeper.flush().unwrap(),
            41 => drop(writers.remove(0)),
            53 => {
                // They have no threads to seal what they wrote when they are asked to.
                writers = vec![open(false)];
                delete(&keeper, &|time| time % 5 == 0);
                expected.retain(|n| n % 5 != 0);
            }
            _ => {}
        }
        assert_eq!(numbers(&reader), expected);
    }
}

/// No directory of the store moves: one above does, or a link leads elsewhere.
#[test]
#[allow(clippy::disallowed_methods)] // what is done to the store's directory from outside
fn another_store_in_its_place_is_told_at_once() {
    use std::fs::rename;
    use std::os::unix::fs::symlink;
    for is_link in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        for (name, rows) in [("a", 3), ("b", 5)] {
            let store = options(Env::os()).open(at(name).join("logs")).unwrap();
            (0..rows).for_each(|n| append(&store, n));
            store.flush().unwrap();
        }
        if is_link { symlink(at("a"), at("now")) } else { rename(at("a"), at("now")) }.unwrap();
        let reader = options(Env::os()).open_read_only(at("now/logs")).unwrap();
        (0..ENOUGH).for_each(|_| assert_eq!(reader.snapshot().unwrap().rows(), 3));
        if is_link {
            symlink(at("b"), at("next")).unwrap();
            rename(at("next"), at("now")).unwrap();
        } else {
            rename(at("now"), at("former")).unwrap();
            rename(at("b"), at("now")).unwrap();
        }
        let told = reader.snapshot().unwrap_err().to_string();
        assert!(told.contains("another store"), "{told}");
    }
}
