//! A disk that is full only when records are written: nothing stops, and each record is there once.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this is test code

mod wal_common;

use duramen_engine::Error;
use duramen_engine::io::sim::{Fault, OperationKind, Sim};
use duramen_engine::wal::{
    Background, Durability, Wal, WalKind, WalOptions, WalRecoveryMode, WriteOptions, recover,
};
use std::path::Path;
use std::time::Duration;
use wal_common::{WAL, Written, nth_record, offered, only_writer, read_live, small};

fn written(durability: Durability, background: Background) -> WalOptions {
    WalOptions {
        wal_kind: WalKind::Write,
        first_segment_bytes: 32 << 10,
        max_write_buffer_number: 100,
        durability,
        background,
        ..small(WalOptions::default())
    }
}

/// Whether it says that there was no room for the record, and nothing was appended.
fn is_refused(error: &Error) -> bool {
    matches!(error, Error::Io { operation: "prepare WAL segment" | "create" | "write header of", .. })
}

fn append(wal: &Wal, record: &Written) -> duramen_engine::Result<u64> {
    wal.append(record.kind, record.count, &record.payload, WriteOptions::default())
}

/// What a recovery finds once the process is gone.
fn recovered(sim: &Sim) -> Vec<Written> {
    let env = sim.env();
    let mode = WalRecoveryMode::AbsoluteConsistency;
    offered(&recover(&env, &only_writer(&env, Path::new(WAL)), mode).unwrap())
}

#[test]
fn a_record_that_finds_no_room_waits_for_it_and_no_other_goes_before() {
    for durability in [Durability::Process, Durability::Sync, Durability::IntervalMs(1000)] {
        let sim = Sim::new(1);
        let process = sim.spawn_process();
        let options = written(durability, Background::Manual);
        let wal = Wal::create(&process.env(), Path::new(WAL), options).unwrap();
        let mut all = vec![];
        let next =
            |all: &[Written]| nth_record(all.len(), 1 + all.iter().map(|w| u64::from(w.count)).sum::<u64>());
        for _ in 0..3 {
            all.push(next(&all));
            append(&wal, all.last().unwrap()).unwrap();
        }
        sim.set_capacity_bytes(Some(sim.used_bytes()));
        let waits = loop {
            all.push(next(&all));
            if let Err(e) = append(&wal, all.last().unwrap()) {
                break e;
            }
            assert!(all.len() < 100);
        };
        assert!(waits.waits_for_room() && !is_refused(&waits), "{waits}");
        assert_eq!(wal.poisoned(), None);
        for _ in 0..10 {
            let refused = append(&wal, &next(&all)).unwrap_err();
            assert!(is_refused(&refused), "{refused}");
            assert!(wal.publish(WriteOptions::default()).unwrap_err().waits_for_room());
            assert!(is_refused(&wal.rotate().unwrap_err()));
            let _what_was_published_is_synced = wal.background_step();
        }
        assert!(read_live(&wal) == all, "nothing of what was refused");
        sim.set_capacity_bytes(None);
        if durability != Durability::Process {
            wal.publish(WriteOptions::default()).unwrap();
        }
        all.push(next(&all));
        append(&wal, all.last().unwrap()).unwrap();
        process.kill();
        assert!(recovered(&sim) == all, "{durability:?}");
    }
}

#[test]
fn what_was_acknowledged_is_synced_though_what_came_later_finds_no_room() {
    let sim = Sim::new(1);
    let options = written(Durability::IntervalMs(1000), Background::Manual);
    let wal = Wal::create(&sim.env(), Path::new(WAL), options).unwrap();
    let mut acknowledged = vec![];
    let mut seq = 1;
    sim.sync_all(); // the directory of the store
    sim.set_capacity_bytes(Some(sim.used_bytes() + 4096));
    let waits = loop {
        let record = nth_record(acknowledged.len(), seq);
        if let Err(e) = append(&wal, &record) {
            break e;
        }
        seq += u64::from(record.count);
        acknowledged.push(record);
    };
    assert!(waits.waits_for_room() && acknowledged.len() > 5, "{waits}");
    sim.clock().advance(Duration::from_secs(1));
    assert!(wal.background_step().unwrap_err().waits_for_room());
    sim.crash_power_keeping(0);
    let env = sim.env();
    let found =
        offered(&recover(&env, &only_writer(&env, Path::new(WAL)), WalRecoveryMode::PointInTime).unwrap());
    assert!(found.len() >= acknowledged.len() && found[..acknowledged.len()] == acknowledged);
}

/// Whatever write of the log finds no room, who tries again as the errors say has each record there once.
#[test]
fn no_room_at_any_operation_is_no_more_than_a_wait() {
    const RECORDS: usize = 60;
    for background in [Background::Manual, Background::Thread] {
        for durability in [Durability::Process, Durability::Sync] {
            let mut struck = 0;
            for index in 0.. {
                let sim = Sim::new(1);
                let process = sim.spawn_process();
                let options = written(durability, background);
                let wal = Wal::create(&process.env(), Path::new(WAL), options).unwrap();
                let first = sim.operations();
                // Some in a row: what fails is tried again, and may fail again.
                for at in 0..=index % 3 {
                    sim.fail_at(first + index + at, Fault::NoSpace);
                }
                let mut all = vec![];
                let mut seq = 1;
                for nth in 0..RECORDS {
                    let record = nth_record(nth, seq);
                    seq += u64::from(record.count);
                    let mut done = append(&wal, &record);
                    while let Err(e) = done {
                        assert!(e.waits_for_room() || is_refused(&e), "{e}");
                        done = if e.waits_for_room() {
                            wal.publish(WriteOptions::default()).map(|()| 0)
                        } else {
                            append(&wal, &record)
                        };
                    }
                    all.push(record);
                    if nth % 16 == 15 {
                        while wal.rotate().is_err() {}
                        let _it_is_tried_again = wal.background_step();
                    }
                }
                let ended = sim.operations() <= first + index;
                struck += usize::from(!sim.faults_struck().is_empty());
                assert_eq!(wal.poisoned(), None, "{durability:?}, operation {index}");
                assert!(read_live(&wal) == all);
                if index % 2 == 0 {
                    // What was acknowledged is there, whatever a close comes to; and then nothing is written any more.
                    let closed = wal.close();
                    let operations = sim.operations();
                    assert_eq!(wal.close().is_ok(), closed.is_ok());
                    assert!(closed.is_ok() || sim.operations() == operations);
                }
                process.kill();
                drop(wal);
                assert!(recovered(&sim) == all, "{durability:?}, operation {index}");
                if ended {
                    break;
                }
            }
            assert!(struck > 50, "{struck}");
        }
    }
}

/// A log that cannot be sealed for the moment does not keep its thread busy, and is sealed once there is room.
#[test]
fn a_segment_is_sealed_once_there_is_room() {
    let sim = Sim::new(1);
    let options = written(Durability::None, Background::Thread);
    let wal = Wal::create(&sim.env(), Path::new(WAL), options).unwrap();
    wal.append(0, 1, &[7; 40_000], WriteOptions::default()).unwrap();
    let publications = || sim.indices_of(OperationKind::Publish).len();
    sim.set_capacity_bytes(Some(sim.used_bytes() + (16 << 10)));
    wal.rotate().unwrap();
    let before = publications();
    std::thread::park_timeout(Duration::from_millis(500));
    assert!(publications() - before < 100, "{}", publications() - before);
    assert_eq!((wal.metrics().segments_sealed, wal.poisoned()), (0, None));
    sim.set_capacity_bytes(None);
    while wal.metrics().segments_sealed == 0 {
        std::thread::park_timeout(Duration::from_millis(10));
    }
    wal.close().unwrap();
    assert_eq!(recovered(&sim).len(), 1);
}

#[test]
fn what_waited_is_synced_in_time_though_a_sync_failed_meanwhile() {
    let sim = Sim::new(1);
    let options = written(Durability::IntervalMs(1000), Background::Manual);
    let wal = Wal::create(&sim.env(), Path::new(WAL), options).unwrap();
    let (mut all, mut seq) = (vec![], 1);
    sim.sync_all();
    sim.set_capacity_bytes(Some(sim.used_bytes() + 4096));
    loop {
        let record = nth_record(all.len(), seq);
        seq += u64::from(record.count);
        let done = append(&wal, &record);
        all.push(record);
        if let Err(e) = done {
            assert!(e.waits_for_room(), "{e}");
            break;
        }
    }
    assert!(wal.sync().unwrap_err().waits_for_room());
    sim.set_capacity_bytes(None);
    wal.publish(WriteOptions::default()).unwrap();
    for _ in 0..10 {
        sim.clock().advance(Duration::from_secs(10));
        wal.background_step().unwrap();
    }
    sim.crash_power_keeping(0);
    assert_eq!(recovered(&sim).len(), all.len());
}

#[test]
fn what_is_in_its_file_is_synced_in_time_though_a_segment_waits_to_be_sealed() {
    for len in [500usize, 1000, 1500, 2500, 2900, 3300, 4000, 5000] {
        let sim = Sim::new(1);
        let options = written(Durability::IntervalMs(1000), Background::Manual);
        let wal = Wal::create(&sim.env(), Path::new(WAL), options).unwrap();
        let append = || wal.append(0, 1, &vec![7; len], WriteOptions::default());
        sim.sync_all();
        let mut acknowledged = 0;
        // Somebody else takes the room as soon as there is a second segment.
        while sim.files().iter().filter(|file| file.ends_with(".wal")).count() < 2 {
            append().unwrap();
            acknowledged += 1;
            wal.background_step().unwrap();
        }
        loop {
            // Enough for one more record in this segment, for none in the next.
            let left = (32 << 10) - wal.live_segments()[0].committed() as usize;
            let room = if left < len + 200 { 0 } else { (len + 64).next_multiple_of(4096) as u64 };
            sim.set_capacity_bytes(Some(sim.used_bytes() + room));
            match append() {
                Ok(_) => acknowledged += 1,
                Err(_) => break,
            }
        }
        for _ in 0..10 {
            sim.clock().advance(Duration::from_secs(100));
            let _waits_on = wal.background_step();
        }
        sim.crash_power_keeping(0);
        assert!(recovered(&sim).len() >= acknowledged, "{len}: {} of {acknowledged}", recovered(&sim).len());
    }
}
