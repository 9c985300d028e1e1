//! Tables that are whole and not where the manifest says: a repair puts them back.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this is test code

mod put_back_common;

use duramen_engine::io::sim::{Fault, Sim};
use duramen_engine::kv::{Engine, RepairOptions, repair};
use duramen_engine::lsm::Lsm;
use std::path::Path;

use put_back_common::*;

/// Damages the first block; which table it is can be read.
fn damage(sim: &Sim, path: &str) {
    damage_at(sim, path, &[70]);
}

/// What can have become of the tables, and how many files a repair keeps.
type Case = (&'static str, fn(&Sim), usize);
const CASES: [Case; 8] = [
    (
        "swapped",
        |sim| {
            rename(sim, OLDEST, "store/sst/x");
            rename(sim, NEWEST, OLDEST);
            rename(sim, "store/sst/x", NEWEST);
        },
        0,
    ),
    ("in quarantine", |sim| rename(sim, OLDEST, ASIDE), 0),
    ("ingested, in quarantine", |sim| rename(sim, INGESTED, ASIDE), 0),
    (
        "both in quarantine",
        |sim| {
            rename(sim, OLDEST, ASIDE);
            rename(sim, NEWEST, "store/quarantine/another.sst.7");
        },
        0,
    ),
    (
        "a damaged copy in its place",
        |sim| {
            copy(sim, OLDEST, ASIDE);
            damage(sim, OLDEST);
        },
        1,
    ),
    (
        "a damaged copy comes first",
        |sim| {
            rename(sim, OLDEST, ASIDE);
            copy(sim, ASIDE, "store/quarantine/a.sst");
            damage(sim, "store/quarantine/a.sst");
        },
        0,
    ),
    (
        "another in its place",
        |sim| {
            rename(sim, OLDEST, ASIDE);
            copy(sim, NEWEST, OLDEST);
        },
        1,
    ),
    ("by a name that is free", |sim| rename(sim, OLDEST, "store/sst/00000077.sst"), 0),
];

#[test]
fn what_is_whole_is_put_back_at_its_level() {
    for (what, change, kept) in CASES {
        let sim = Sim::new(1);
        store(&sim);
        change(&sim);
        let mended = mend(&sim);
        assert_eq!(mended.lost, [], "{what}");
        assert_eq!(mended.quarantined.len(), kept, "{what}: {mended:?}");
        assert_eq!(levels(&sim), LEVELS, "{what}");
        has_all(&sim);
        let damaged = usize::from(what == "a damaged copy comes first");
        assert_eq!(quarantine(&sim).len(), kept + damaged, "{what}: {:?}", quarantine(&sim));
        assert_eq!(mend(&sim).actions, [""; 0], "{what}");
    }
}

#[test]
fn what_puts_it_back_may_be_cut_off_anywhere() {
    for (what, change, _) in CASES {
        let changed = || {
            let sim = Sim::new(1);
            store(&sim);
            change(&sim);
            sim
        };
        let sim = changed();
        let first = sim.operations();
        repair(&sim.env(), DIR, RepairOptions::default(), &mut |_| {}).unwrap();
        let last = sim.operations();
        // Whether the power fails, and whether it is opened in between.
        let ways = |index: u64| if index.is_multiple_of(2) { [0, 3] } else { [1, 2] };
        for (index, how) in (first..last).flat_map(|index| ways(index).map(|how| (index, how))) {
            let sim = changed();
            sim.fail_at(index, Fault::Crash);
            let _cut = repair(&sim.env(), DIR, RepairOptions::default(), &mut |_| {});
            if how & 1 == 0 {
                sim.crash_process();
            } else {
                sim.crash_power();
            }
            let opened = how & 2 != 0;
            if opened {
                // It reads of no table.
                drop(Lsm::open(DIR, options(&sim)).unwrap());
                sim.crash_process();
            }
            let again = mend(&sim);
            assert_eq!(again.lost, [], "{what}, {index}, {how}");
            assert!(
                !again.actions.iter().any(|did| did.contains("anew")),
                "{what}, {index}, {how}: {again:?}"
            );
            assert_eq!(levels(&sim), LEVELS, "{what}, {index}, {how}");
            has_all(&sim);
            assert_eq!(mend(&sim).actions, [""; 0], "{what}, {index}, {how}");
        }
    }
}

/// The table that is in quarantine was made of one that is still there: what was deleted does not come back of that.
#[test]
fn what_it_replaced_does_not_come_back() {
    let mut seen = 0;
    for nth in 0.. {
        let sim = Sim::new(1);
        let store = Lsm::open(DIR, options(&sim)).unwrap();
        for value in [b"1", b"2"] {
            store.put(b"x", value).unwrap();
            if value == b"1" { store.put(b"k", b"old") } else { store.delete(b"k") }.unwrap();
            store.flush().unwrap();
        }
        let at = sim.operations() + nth;
        sim.fail_at(at, Fault::Crash);
        let _cut = store.compact();
        let ended = sim.operations() <= at;
        sim.crash_process();
        drop(store);
        let merged = "store/sst/00000003.sst";
        if tables(&sim).iter().any(|table| table == merged) {
            let known = Lsm::open_read_only(DIR, options(&sim)).unwrap().metrics().levels;
            if known.last().is_some_and(|level| level.tables == 1) {
                seen += 1;
                rename(&sim, merged, "store/quarantine/sst-00000003.sst");
                let mended = mend(&sim);
                assert_eq!(mended.lost, [], "{nth}");
                let store = Lsm::open(DIR, options(&sim)).unwrap();
                assert_eq!(store.get(b"k").unwrap(), None, "{nth}");
                assert_eq!(store.get(b"x").unwrap().as_deref(), Some(&b"2"[..]), "{nth}");
            }
        }
        if ended {
            break;
        }
    }
    assert!(seen > 2, "{seen}");
}

/// Of several that are damaged, that is taken of which most can be read.
#[test]
fn of_damaged_copies_the_best_is_taken() {
    let sim = Sim::new(1);
    store(&sim);
    const BEST: &str = "store/quarantine/b.sst";
    for (path, places) in [(ASIDE, &[70, 300][..]), (BEST, &[70]), (OLDEST, &[70, 300])] {
        if path != OLDEST {
            copy(&sim, OLDEST, path);
        }
        damage_at(&sim, path, places);
    }
    let mended = mend(&sim);
    let lost: Vec<_> = mended.lost.iter().map(|damage| damage.path.as_path()).collect();
    assert_eq!(lost, [Path::new(BEST)], "{mended:?}");
    // The damaged one is kept, beside those that are.
    assert_eq!((mended.quarantined.len(), quarantine(&sim).len()), (1, 3));
    assert_eq!(levels(&sim), LEVELS);
    let store = Lsm::open(DIR, options(&sim)).unwrap();
    assert_eq!(store.get(&[b'k', 3]).unwrap().as_deref(), Some(&b"new"[..]));
    assert_eq!(store.get(&[b'k', 13]).unwrap().as_deref(), Some(&b"ingested"[..]));
    assert_eq!(store.get(&[b'k', 39]).unwrap().as_deref(), Some(&b"old"[..]));
}
