//! Any single operation fails, once: nothing panics, no answer is wrong, no write succeeds after one that left the file
//! in doubt, and when the store is opened again everything acknowledged is there. And a disk that is full for a while, and
//! a process without file descriptors.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this is test code

mod kv_common;

use duramen_engine::Error;
use duramen_engine::io::sim::Fault;
use duramen_engine::kv::{Durability, EngineKind};
use kv_common::dice::Dice;
use kv_common::driver::Driver;
use kv_common::history::Write;
use kv_common::script::{run, stop};
use kv_common::{Setup, setups, some_of};

/// The operations that can suffer a fault.
fn suffers(fault: Fault, word: &str) -> bool {
    let opens = ["open", "open_write", "create", "create_segment", "create_unmapped_segment", "open_segment"];
    let listed: &[&str] = match fault {
        Fault::NoSpace => &[
            "create",
            "create_segment",
            "create_unmapped_segment",
            "create_dir_all",
            "rename",
            "link",
            "write",
            "set_len",
            "publish",
        ],
        Fault::TooManyFiles => {
            return opens.contains(&word) || ["read_dir", "sync_dir", "lock", "lock_shared"].contains(&word);
        }
        Fault::SyncFailed => &["sync", "sync_dir"],
        Fault::ReadError => &["read", "read_dir"],
        Fault::FlipBit => &["read"],
        _ => &["write"],
    };
    listed.contains(&word)
}

/// Goes on after an error that a fault explains.
fn go_on(d: &mut Driver, error: Error) -> duramen_engine::Result<()> {
    let context = format!("{}: {error}", d.context);
    let struck = d.sim.faults_struck();
    assert!(!struck.is_empty(), "{context}, before the fault");
    match error {
        Error::Io { .. } | Error::Poisoned { .. } | Error::FlushFails { .. } | Error::Stalled { .. } => {}
        Error::Corruption { .. } => assert!(matches!(d.armed, Some((_, Fault::FlipBit))), "{context}"),
        _ => panic!("{context}"),
    }
    // Whatever it was, what can be read is right: the fault is over.
    if d.store.is_some() {
        d.read().unwrap_or_else(|e| panic!("{context}: then: {e}"));
    }
    Ok(())
}

fn fail_everywhere(fault: Fault, durability: Durability) {
    for (nth, setup) in setups().into_iter().enumerate() {
        let words: Vec<String> = {
            let mut d = Driver::new(0, &setup, durability);
            run(&mut d, &mut stop).unwrap();
            d.sim.trace().iter().map(|line| line.split(' ').next().unwrap().to_owned()).collect()
        };
        let all = 0..words.len() as u64;
        let suffering: Vec<u64> = all.filter(|index| suffers(fault, &words[*index as usize])).collect();
        assert!(suffering.len() > 10, "{fault:?}: {suffering:?}");
        for index in some_of(suffering.len() as u64, 120, nth).map(|nth| suffering[nth as usize]) {
            let mut d = Driver::new(0, &setup, durability);
            d.context = format!("{}, {durability:?}, {fault:?} at operation {index}", setup.name());
            d.arm(index, fault);
            run(&mut d, &mut go_on).unwrap();
            assert!(!d.sim.faults_struck().is_empty(), "{}: nothing happened", d.context);
            d.lose_power(Some(0));
            d.verify(true);
        }
    }
}

#[test]
fn no_space() {
    fail_everywhere(Fault::NoSpace, Durability::Sync);
    fail_everywhere(Fault::NoSpace, Durability::Process);
}

/// What is full for a moment is no reason to open a store anew, whatever there was no room for.
#[test]
fn a_disk_that_is_full_for_a_moment_stops_no_lsm_for_good() {
    // Segments have their space before they are written to: nothing fails there.
    let is_meant = |s: &Setup| s.kind() == EngineKind::Lsm && s.survives_process(Durability::None);
    for setup in setups().into_iter().filter(is_meant) {
        let mut struck = 0;
        for nth in 0.. {
            let mut d = Driver::new(0, &setup, Durability::Process);
            d.context = format!("{}, no space at operation {nth}", setup.name());
            d.open(false).unwrap();
            for table in 0..3 {
                write_all(&mut d, (0..20).map(|n| put(n + table, 500))).unwrap();
                d.flush().unwrap();
            }
            write_all(&mut d, (0..20).map(|n| put(n, 300))).unwrap();
            let sim = d.sim.clone();
            let strikes_at = sim.operations() + nth;
            sim.fail_at(strikes_at, Fault::NoSpace);
            let store = d.store();
            let run = || [Ok((b"zz".to_vec(), b"z".to_vec()))].into_iter();
            let first = store.flush().and_then(|()| store.compact()).and_then(|()| store.ingest(&mut run()));
            if sim.operations() <= strikes_at {
                break;
            }
            struck += sim.faults_struck().len();
            if first.is_err() {
                store.flush().unwrap_or_else(|e| panic!("{}: {e}", d.context));
                store.compact().unwrap_or_else(|e| panic!("{}: {e}", d.context));
                store.ingest(&mut run()).unwrap_or_else(|e| panic!("{}: {e}", d.context));
            }
            assert_eq!(store.get(b"zz").unwrap().as_deref(), Some(&b"z"[..]), "{}", d.context);
            // Nothing lies there that nobody names.
            store.compact().unwrap();
            store.close().unwrap();
            let tables = sim.files().iter().filter(|file| file.contains("/sst/")).count();
            drop(d.store.take());
            let _opened = d.setup.open(sim.env(), "stores/main").unwrap();
            let named = sim.files().iter().filter(|file| file.contains("/sst/")).count();
            assert_eq!(tables, named, "{}", d.context);
        }
        assert!(struck > 10, "{}: {struck}", setup.name());
    }
}

#[test]
fn no_file_descriptor() {
    fail_everywhere(Fault::TooManyFiles, Durability::Process);
}

#[test]
fn a_sync_fails() {
    fail_everywhere(Fault::SyncFailed, Durability::Sync);
    fail_everywhere(Fault::SyncFailed, Durability::IntervalMs(50));
    fail_everywhere(Fault::SyncFailed, Durability::Process);
}

#[test]
fn a_read_fails() {
    fail_everywhere(Fault::ReadError, Durability::Process);
}

#[test]
fn a_read_gives_a_wrong_bit() {
    fail_everywhere(Fault::FlipBit, Durability::Sync);
}

#[test]
fn a_write_takes_only_a_part() {
    fail_everywhere(Fault::ShortWrite, Durability::Process);
}

/// Puts what no compression makes smaller.
fn put(n: usize, len: usize) -> Write {
    let mut dice = Dice(n as u64);
    Write::Put(format!("key {n:03}").into_bytes(), (0..len).map(|_| dice.next() as u8).collect())
}

/// Writes, reopening as often as it takes, until `writes` have succeeded one after the other; gives up after 50 failures.
fn write_all(d: &mut Driver, writes: impl Iterator<Item = Write>) -> Result<(), Error> {
    for write in writes {
        if let Err(error) = d.write(&[write], None) {
            d.read().unwrap();
            return Err(error);
        }
        let _told_to_writes = d.background();
    }
    Ok(())
}

fn on_a_full_disk(setup: &Setup, durability: Durability) {
    let mut d = Driver::new(1, setup, durability);
    d.open(false).unwrap();
    write_all(&mut d, (0..10).map(|n| put(n, 1000))).unwrap();
    d.flush().unwrap();
    // Room for some more, and then none.
    d.sim.set_capacity_bytes(Some(d.sim.used_bytes() + (300 << 10)));
    let full = (0..1000).find_map(|n| write_all(&mut d, std::iter::once(put(n, 3000))).err());
    assert!(full.is_some(), "{}: the disk never fills", d.context);
    for _ in 0..3 {
        let _fails = d.write(&[put(1, 50_000)], None);
        d.read().unwrap();
    }
    let _fails = d.close();
    // Opened while it is full, it either says so, or it can be read.
    match d.open(false) {
        Ok(()) => {
            d.read().unwrap();
            let _may_fail = d.write(&[put(2, 10)], None);
            d.read().unwrap();
            let _may_fail = d.close();
            drop(d.store.take());
        }
        Err(Error::Io { source, .. }) => assert_eq!(source.kind(), std::io::ErrorKind::StorageFull),
        Err(e) => panic!("{}: {e}", d.context),
    }
    d.sim.set_capacity_bytes(None);
    d.open(false).unwrap();
    write_all(&mut d, (0..30).map(|n| put(n, 2000))).unwrap();
    d.store().compact().unwrap();
    d.lose_power(Some(0));
    d.verify(true);
}

#[test]
fn a_full_disk_stops_writes_until_there_is_space() {
    for setup in setups() {
        for durability in [Durability::Process, Durability::Sync] {
            on_a_full_disk(&setup, durability);
        }
    }
}

#[test]
fn compaction_gives_space_back_to_a_disk_that_is_almost_full() {
    for setup in setups() {
        let mut d = Driver::new(1, &setup, Durability::Process);
        d.open(false).unwrap();
        for round in 0..20 {
            write_all(&mut d, (0..20).map(|n| put(n, 1000 + round))).unwrap();
        }
        d.flush().unwrap();
        d.write(&[Write::DeleteRange(b"key 005".into(), b"key 9".into())], None).unwrap();
        d.store().compact().unwrap();
        d.background().unwrap();
        let used = d.sim.used_bytes();
        // A few buffers of 64 KiB and a table or two.
        assert!(used < 600 << 10, "{}: {used} bytes for 5 entries", d.context);
        d.lose_power(None);
        d.verify(true);
    }
}

#[test]
fn without_file_descriptors_it_says_so_and_goes_on_later() {
    for setup in setups() {
        let mut d = Driver::new(1, &setup, Durability::Process);
        d.open(false).unwrap();
        write_all(&mut d, (0..10).map(|n| put(n, 1000))).unwrap();
        d.sim.set_max_open_files(Some(d.sim.open_files()));
        for n in 0..100 {
            match write_all(&mut d, std::iter::once(put(n, 3000))) {
                Ok(()) => {}
                Err(
                    Error::Io { .. }
                    | Error::FlushFails { .. }
                    | Error::Stalled { .. }
                    | Error::Poisoned { .. },
                ) => break,
                Err(e) => panic!("{}: {e}", d.context),
            }
        }
        assert!(d.store().checkpoint("stores/copy".as_ref()).is_err());
        d.read().unwrap();
        d.sim.set_max_open_files(None);
        if d.write(&[put(3, 10)], None).is_err() {
            drop(d.store.take());
            d.open(false).unwrap();
        }
        write_all(&mut d, (0..30).map(|n| put(n, 2000))).unwrap();
        d.close().unwrap();
        d.verify(false);
    }
}
