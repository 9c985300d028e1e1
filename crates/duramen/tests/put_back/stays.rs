//! What does not come back.

use crate::lost_end::*;
use duramen::Retention;
use duramen_engine::io::sim::{Fault, Sim};
use std::path::Path;
use std::time::Duration;

const ALL: std::ops::RangeInclusive<i64> = i64::MIN..=i64::MAX;

fn with_aside(seed: u64) -> (Sim, duramen::Store) {
    let sim = Sim::new(seed);
    lose_end(&sim, |store| append_and_flush(store, 110..130));
    let store = open(&sim);
    (sim, store)
}

#[test]
fn what_may_have_been_deleted_since_stays() {
    // Of lines that are in use, and of such that were nowhere else.
    let each: [&dyn Fn(u64) -> bool; 2] = [&|n| n < 2, &|n| n == 115];
    for is_wrong in each {
        let (_sim, store) = with_aside(1);
        delete(&store, ALL, is_wrong);
        stays(&store, "may have been deleted");
        assert!(!numbers(&store).contains(&115));
    }
    let (sim, store) = with_aside(2);
    delete(&store, DAY_NS + 129..=DAY_NS + 129, &|_| true);
    sim.crash_process();
    drop(store);
    stays(&open(&sim), "may have been deleted");
    // Of other times, it has nothing of what was deleted.
    let (_sim, store) = with_aside(3);
    assert_eq!(delete(&store, 0..=DAY_NS + 109, &|n| n == 3), 1);
    delete(&store, DAY_NS + 130..=i64::MAX, &|_| true);
    assert_eq!(put_back(&store), [Ok(20)]);
}

#[test]
fn what_has_expired_stays() {
    let (sim, store) = with_aside(4);
    let two_days = Some(Duration::from_secs(2 * 86_400));
    store.set_retention(&Retention { max_age: two_days, ..Retention::default() }).unwrap();
    // The first of its lines, and the last.
    for (now, expired) in [(111, 1), (120, 10), (130, 20)] {
        sim.clock().set(3 * DAY_NS + now);
        stays(&store, &format!("{expired} of its lines are older"));
    }
    sim.clock().set(3 * DAY_NS + 110);
    assert_eq!(put_back(&store), [Ok(20)]);
}

/// As lines that were in use then do, it stays when the policy allows more again.
#[test]
fn so_does_what_had_expired_by_a_policy_that_was() {
    let (sim, store) = with_aside(4);
    let two_days = Some(Duration::from_secs(2 * 86_400));
    store.set_retention(&Retention { max_age: two_days, ..Retention::default() }).unwrap();
    sim.clock().set(3 * DAY_NS + 130);
    store.set_retention(&Retention::default()).unwrap();
    stays(&store, "may have been deleted");
}

#[test]
fn what_would_have_gone_for_want_of_room_stays() {
    let policy = |max_bytes| Retention { max_bytes: Some(max_bytes), ..Retention::default() };
    let bytes = |store: &duramen::Store| -> u64 {
        store.stats().unwrap().days.values().map(|day| day.stored_bytes).sum()
    };
    let full = || {
        let (sim, store) = with_aside(5);
        sim.clock().set(30 * DAY_NS);
        (2..8).for_each(|day| append_and_flush(&store, day * 100..day * 100 + 1));
        (sim, store)
    };
    // Tables that are older went, and then one that is newer.
    for (gone, comes) in [(1, true), (2, false)] {
        let (_sim, store) = full();
        let each: Vec<u64> = store.stats().unwrap().days.values().map(|day| day.stored_bytes).collect();
        store.set_retention(&policy(each[gone..].iter().sum())).unwrap();
        store.flush().unwrap();
        assert_eq!(store.stats().unwrap().removed.over_size.lines, 9 + gone as u64);
        store.set_retention(&Retention::default()).unwrap();
        if comes {
            assert_eq!(put_back(&store), [Ok(20)]);
        } else {
            stays(&store, "may have been deleted");
        }
    }
    // None went, but it would.
    let (_sim, store) = full();
    delete(&store, 0..=20, &|_| true);
    store.set_retention(&policy(bytes(&store))).unwrap();
    stays(&store, "no room");
}

#[test]
fn what_another_was_made_of_stays() {
    for deletes_rest in [false, true] {
        let sim = Sim::new(7);
        lose_end(&sim, |store| {
            append_and_flush(store, 110..130);
            let reader = store.snapshot().unwrap();
            delete(store, ALL, &|n| n == 115);
            assert_eq!(reader.rows(), 30);
            // A process that ends while somebody reads.
            std::mem::forget(reader);
        });
        let store = open(&sim);
        assert_eq!(quarantine(&sim).len(), 2);
        if deletes_rest {
            // Not in the forgotten part: whatever was made of it is damaged.
            let newer = format!("/logs/quarantine/{}", quarantine(&sim).pop().unwrap());
            sim.flip_bit(Path::new(&newer), 8 * 300).unwrap();
        }
        let became = put_back(&store);
        assert!(matches!(&became[1], Err(why) if why.contains("replaced")), "{became:?}");
        assert_eq!(became[0].is_ok(), !deletes_rest, "{became:?}");
        let there = numbers(&store);
        assert!(!there.contains(&115) && there.len() == if deletes_rest { 10 } else { 29 }, "{there:?}");
        let became = put_back(&store);
        assert!(became.iter().all(Result::is_err), "{became:?}");
    }
}

#[test]
fn what_was_taken_in_again_stays() {
    for flushes in [false, true] {
        let (_sim, store) = with_aside(8);
        append(&store, 115..116).unwrap();
        if flushes {
            store.flush().unwrap();
        }
        stays(&store, "1 lines that came later");
        assert_eq!(numbers(&store).len(), 11);
    }
}

#[test]
fn what_is_in_use_stays() {
    let sim = Sim::new(9);
    let store = open(&sim);
    append_and_flush(&store, 0..10);
    store.close().unwrap();
    let table = sim.files().into_iter().find(|file| file.ends_with(".sst")).unwrap();
    let fs = sim.env().fs;
    fs.create_dir_all(Path::new("/logs/quarantine")).unwrap();
    // By hand, so nothing says that it may come back; nor what a writer left.
    let names = ["tables-19700101-00000000.sst", "tables-19700101-00000000.sst.block0", "0-00000001.wal"];
    for name in names {
        fs.hard_link(Path::new(&format!("/{table}")), &Path::new("/logs/quarantine").join(name)).unwrap();
    }
    let store = open(&sim);
    let became = put_back(&store);
    assert!(became.len() == 3 && became.iter().all(Result::is_err), "{became:?}");
    assert_eq!((numbers(&store).len(), quarantine(&sim).len()), (10, 3));
}

#[test]
fn what_is_damaged_stays_until_it_is_mended() {
    let (sim, store) = with_aside(10);
    let path = format!("/logs/quarantine/{}", quarantine(&sim)[0]);
    let bits = sim.read_file(Path::new(&path)).unwrap().len() as u64 * 8;
    for bit in (0..bits).step_by(97) {
        sim.flip_bit(Path::new(&path), bit).unwrap();
        stays(&store, "");
        sim.flip_bit(Path::new(&path), bit).unwrap();
    }
    assert_eq!(put_back(&store), [Ok(20)]);
}

/// A table that could not be looked into while what it was made of was still there.
#[test]
fn what_was_made_of_segments_that_are_there_stays() {
    let written = || {
        let sim = Sim::new(11);
        let store = open(&sim);
        append_and_flush(&store, 0..10);
        append(&store, 10..30).unwrap();
        (sim, store)
    };
    let (sim, store) = written();
    let from = sim.operations();
    store.flush().unwrap();
    drop(store);
    let trace = sim.trace();
    let named =
        trace.iter().skip(from as usize).position(|op| op.contains("write") && op.contains("MANIFEST"));
    let at = from + named.unwrap() as u64;
    let cut_off = || {
        // The process ends with the table written, and not named.
        let (sim, store) = written();
        sim.fail_at(at, Fault::Crash);
        store.flush().unwrap_err();
        sim.crash_process();
        drop(store);
        sim
    };
    let sim = cut_off();
    let from = sim.operations();
    drop(open(&sim));
    let trace = sim.trace();
    let opened = trace.iter().skip(from as usize).position(|op| op.contains("open") && op.contains(".sst"));
    let sim = cut_off();
    sim.fail_at(from + opened.unwrap() as u64, Fault::TooManyFiles);
    let store = open(&sim);
    assert_eq!(quarantine(&sim).len(), 1, "{:?}", sim.files());
    stays(&store, "all of its lines are in use");
    assert_eq!(numbers(&store), (0..30).collect::<Vec<_>>());
}
