//! What comes back, and how.

use crate::lost_end::*;
use duramen::store::Aside;
use duramen_engine::io::sim::{Fault, Sim};
use std::path::Path;
use std::time::Duration;

#[test]
fn a_table_that_the_manifest_has_forgotten_comes_back_once_with_all_its_lines() {
    let sim = Sim::new(1);
    lose_end(&sim, |store| append_and_flush(store, 10..30));
    let store = open(&sim);
    assert_eq!(numbers(&store), (0..10).collect::<Vec<_>>());
    append_and_flush(&store, 30..40);
    let mut tail = store.tail().unwrap();

    let aside = quarantine(&sim);
    let files = || sim.files().into_iter().filter(|file| !file.ends_with("KEEPER.next")).collect::<Vec<_>>();
    let (before, manifest) = (files(), manifest_len(&sim));
    let would = store.put_back(true).unwrap();
    assert_eq!(would.files, [(aside[0].clone(), Aside::PutBack { lines: 20 })]);
    assert_eq!(
        (files(), manifest_len(&sim), numbers(&store).len()),
        (before, manifest, 20),
        "it only looked"
    );

    assert_eq!(store.put_back(false).unwrap(), would);
    assert_eq!(numbers(&store), (0..40).collect::<Vec<_>>());
    assert_eq!(quarantine(&sim), [""; 0]);
    assert!(tail.poll(Duration::ZERO).unwrap().is_empty(), "these are no news");
    assert!(store.verify(&mut |_| {}).unwrap().damage.is_empty());
    assert_eq!(put_back(&store), []);
    append_and_flush(&store, 40..41);
    store.close().unwrap();
    let store = open(&sim);
    assert_eq!(numbers(&store), (0..41).collect::<Vec<_>>());
    assert_eq!(store.stats().unwrap().days["19700101"].lines, 41);
    // It is a table as any other: merged with them, deleted from.
    (41..50).for_each(|n| append_and_flush(&store, n..n + 1));
    store.compact().unwrap();
    assert_eq!(numbers(&store), (0..50).collect::<Vec<_>>());
    assert_eq!(delete(&store, i64::MIN..=i64::MAX, &|n| n == 15), 1);
    assert_eq!(numbers(&store).len(), 49);
}

/// As the manifest says again what it has said, a second time.
#[test]
fn so_do_several_and_those_that_are_forgotten_again() {
    let sim = Sim::new(2);
    lose_end(&sim, |store| {
        append_and_flush(store, 10..20);
        append_and_flush(store, 20..30);
        // Too late for its day's table, and in one of its own.
        append_and_flush(store, 500..510);
    });
    let store = open(&sim);
    let older = manifest_len(&sim);
    assert_eq!(put_back(&store), [Ok(10), Ok(10), Ok(10)]);
    let all: Vec<u64> = (0..30).chain(500..510).collect();
    assert_eq!(numbers(&store), all);
    sim.crash_process();
    drop(store);
    cut_manifest(&sim, older);
    let store = open(&sim);
    let came = put_back(&store);
    assert_eq!(numbers(&store).len(), 10 + came.iter().filter(|came| came.is_ok()).count() * 10, "{came:?}");
}

#[test]
fn what_a_disk_reads_wrong_once_is_read_again() {
    let lost = |seed| {
        let sim = Sim::new(seed);
        lose_end(&sim, |store| append_and_flush(store, 10..30));
        let store = open(&sim);
        (sim, store)
    };
    let (sim, store) = lost(3);
    let from = sim.operations();
    assert_eq!(put_back(&store), [Ok(20)]);
    let reads = sim.trace();
    let of_aside = |(index, line): (usize, &String)| {
        (index as u64 >= from && line.contains("read") && line.contains("quarantine/"))
            .then_some(index as u64)
    };
    let reads: Vec<u64> = reads.iter().enumerate().filter_map(of_aside).collect();
    assert!(reads.len() > 5, "{reads:?}");
    for at in reads {
        for fault in [Fault::FlipBit, Fault::ReadError] {
            let (sim, store) = lost(3);
            sim.fail_at(at, fault);
            assert_eq!(put_back(&store), [Ok(20)], "{fault:?} at {at}: {:?}", sim.trace().get(at as usize));
            assert_eq!(numbers(&store), (0..30).collect::<Vec<_>>());
        }
    }
}

#[test]
fn a_table_comes_back_beside_another_process_that_writes() {
    let sim = Sim::new(4);
    lose_end(&sim, |store| append_and_flush(store, 10..30));
    let other = sim.spawn_process();
    let writes = options(other.env()).keeper(false).open("/logs").unwrap();
    append(&writes, 30..35).unwrap();
    let store = open(&sim);
    assert_eq!(put_back(&store), [Ok(20)]);
    append(&writes, 35..40).unwrap();
    assert_eq!(numbers(&store), (0..40).collect::<Vec<_>>());
    assert_eq!(numbers(&writes), (0..40).collect::<Vec<_>>());
}

#[test]
fn a_directory_with_a_tables_name_keeps_none_from_coming_back() {
    let sim = Sim::new(15);
    lose_end(&sim, |store| append_and_flush(store, 110..130));
    let store = open(&sim);
    sim.env().fs.create_dir_all(Path::new("/logs/quarantine/tables-19700102-99999999.sst")).unwrap();
    let came = put_back(&store);
    assert!(matches!(&came[..], [Err(why), Ok(20)] if why.contains("no file")), "{came:?}");
    assert_eq!(numbers(&store).len(), 30);
}
