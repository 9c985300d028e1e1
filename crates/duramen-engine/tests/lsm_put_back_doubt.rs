//! Tables in quarantine that a repair cannot read, or that may have been replaced since: it neither loses them in silence nor
//! brings back what was deleted.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this is test code

mod put_back_common;

use duramen_engine::io::sim::{Fault, Sim};
use duramen_engine::kv::{Engine, RepairOptions, RepairReport, repair};
use duramen_engine::lsm::Lsm;
use std::path::Path;

use put_back_common::*;

fn is_told(report: &RepairReport, file: &str) -> bool {
    report.lost.iter().any(|damage| damage.detail.contains(file))
}

type Case = (&'static str, fn(&Sim));
const CASES: [Case; 5] = [
    ("swapped", |sim| {
        rename(sim, OLDEST, "store/sst/x");
        rename(sim, NEWEST, OLDEST);
        rename(sim, "store/sst/x", NEWEST);
    }),
    ("in quarantine", |sim| rename(sim, OLDEST, ASIDE)),
    ("ingested, in quarantine", |sim| rename(sim, INGESTED, ASIDE)),
    ("a damaged copy in its place", |sim| {
        copy(sim, OLDEST, ASIDE);
        damage_at(sim, OLDEST, &[70]);
    }),
    ("another in its place", |sim| {
        rename(sim, OLDEST, ASIDE);
        copy(sim, NEWEST, OLDEST);
    }),
];

/// Whatever one read or one opening of a file comes to: what is gone after it was told.
#[test]
fn a_fault_while_looking_costs_nothing_in_silence() {
    for fault in [Fault::ReadError, Fault::FlipBit, Fault::TooManyFiles] {
        for (what, change) in CASES {
            let changed = || {
                let sim = Sim::new(1);
                store(&sim);
                change(&sim);
                sim
            };
            let sim = changed();
            let first = sim.operations();
            repair(&sim.env(), DIR, RepairOptions::default(), &mut |_| {}).unwrap();
            let mut told = 0;
            for index in first..sim.operations() {
                let sim = changed();
                sim.fail_at(index, fault);
                let one = repair(&sim.env(), DIR, RepairOptions::default(), &mut |_| {});
                let lost = one.is_ok_and(|report| !report.lost.is_empty());
                let again = mend(&sim);
                assert_eq!(again.lost, [], "{fault:?}, {what}, {index}");
                told += u64::from(lost);
                if !lost {
                    has_all(&sim);
                }
            }
            // Such as what could not be read of a table in its place.
            let at_most = if fault == Fault::TooManyFiles { 0 } else { 3 };
            assert!(told <= at_most, "{fault:?}, {what}: {told}");
        }
    }
}

/// The table in quarantine was made of those that are still there. If it cannot be read at once, they do not come back.
#[test]
fn a_fault_does_not_bring_back_what_was_replaced() {
    let cut = |nth: u64| {
        let sim = Sim::new(1);
        let store = Lsm::open(DIR, options(&sim)).unwrap();
        for value in [b"1", b"2"] {
            store.put(b"x", value).unwrap();
            if value == b"1" { store.put(b"k", b"old") } else { store.delete(b"k") }.unwrap();
            store.flush().unwrap();
        }
        sim.fail_at(sim.operations() + nth, Fault::Crash);
        let _cut = store.compact();
        sim.crash_process();
        drop(store);
        let one_is_left = tables(&sim) == ["store/sst/00000001.sst", "store/sst/00000003.sst"];
        one_is_left.then(|| {
            rename(&sim, "store/sst/00000003.sst", "store/quarantine/sst-00000003.sst");
            sim
        })
    };
    let nth = (0..200).find(|nth| cut(*nth).is_some()).unwrap();
    for fault in [Fault::ReadError, Fault::TooManyFiles, Fault::FlipBit] {
        let sim = cut(nth).unwrap();
        let first = sim.operations();
        repair(&sim.env(), DIR, RepairOptions::default(), &mut |_| {}).unwrap();
        for index in first..sim.operations() {
            let sim = cut(nth).unwrap();
            sim.fail_at(index, fault);
            let _may_fail = repair(&sim.env(), DIR, RepairOptions::default(), &mut |_| {});
            mend(&sim);
            let store = Lsm::open(DIR, options(&sim)).unwrap();
            assert_eq!(store.get(b"k").unwrap(), None, "{fault:?}, {index}");
            assert_eq!(store.get(b"x").unwrap().as_deref(), Some(&b"2"[..]), "{fault:?}, {index}");
        }
    }
}

/// Under a manifest that is older than what lies beside it nothing is taken out of quarantine: it may have been replaced.
#[test]
fn under_an_older_manifest_what_is_in_quarantine_stays_there() {
    for (table, opened) in [OLDEST, INGESTED, NEWEST].into_iter().flat_map(|t| [(t, false), (t, true)]) {
        let sim = Sim::new(1);
        store(&sim);
        let before = sim.read_file(Path::new("store/MANIFEST")).unwrap();
        let later = Lsm::open(DIR, options(&sim)).unwrap();
        later.put(b"later", b"value").unwrap();
        later.close().unwrap();
        write(&sim, "store/MANIFEST", &before);
        rename(&sim, table, ASIDE);
        if opened {
            // It puts aside what the manifest does not know.
            drop(Lsm::open(DIR, options(&sim)).unwrap());
            sim.crash_process();
        }
        let mended = mend(&sim);
        assert!(is_told(&mended, ASIDE), "{mended:?}");
        assert!(quarantine(&sim).iter().any(|file| file == ASIDE), "{:?}", quarantine(&sim));
        let store = Lsm::open(DIR, options(&sim)).unwrap();
        let found = store.get(b"later").unwrap();
        assert!(found.is_some() || is_told(&mended, "store/quarantine/sst-00000004.sst"), "{mended:?}");
        assert_eq!(found.is_some(), !opened);
    }
}

/// What became of a table since the manifest: the keys that it deleted are gone, whatever shows that, and it is told where it is.
#[test]
fn what_was_deleted_since_an_older_manifest_stays_deleted() {
    type Since = fn(&Lsm);
    let ways: [(&str, Since); 3] = [
        ("merged", |store| {
            store.delete(b"k").unwrap();
            store.put(b"x", b"2").unwrap();
            store.compact().unwrap();
        }),
        ("merged, and nothing newer is left", |store| {
            store.delete(b"k").unwrap();
            store.compact().unwrap();
        }),
        ("merged to nothing, then written", |store| {
            store.delete(b"k").unwrap();
            store.delete(b"a").unwrap();
            store.delete(b"x").unwrap();
            store.compact().unwrap();
            store.put(b"z", b"2").unwrap();
        }),
    ];
    for ((what, since), then) in ways.into_iter().flat_map(|way| [0, 1, 2, 3].map(|then| (way, then))) {
        let sim = Sim::new(1);
        let open = || Lsm::open(DIR, options(&sim)).unwrap();
        let store = open();
        for key in [b"a", b"x", b"k"] {
            store.put(key, b"old").unwrap();
        }
        store.close().unwrap();
        let before = sim.read_file(Path::new("store/MANIFEST")).unwrap();
        copy(&sim, OLDEST, ASIDE);
        let store = open();
        since(&store);
        store.close().unwrap();
        let left = tables(&sim);
        write(&sim, "store/MANIFEST", &before);
        if then & 1 != 0 {
            // It puts aside what the manifest does not know; and it may be used after that.
            let store = open();
            for n in 0..if then & 2 == 0 { 0 } else { 9u8 } {
                store.put(&[b'n', n], b"v").unwrap();
            }
            store.close().unwrap();
        } else if then & 2 != 0 {
            // What shows it cannot be read.
            let bytes = sim.read_file(Path::new(&left[0])).unwrap();
            damage_at(&sim, &left[0], &[bytes.len() - 5]);
        }
        let mended = mend(&sim);
        let store = open();
        assert_eq!(store.get(b"k").unwrap(), None, "{what}, {then}: {mended:?}");
        assert!(quarantine(&sim).iter().any(|file| file == ASIDE), "{what}, {then}");
        assert!(is_told(&mended, ASIDE), "{what}, {then}: {mended:?}");
    }
}
