//! Appending, rotating, stalling, syncing together, failing.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this is test code

mod wal_common;

use duramen_engine::Error;
use duramen_engine::io::Env;
use duramen_engine::io::sim::{Fault, OperationKind, Sim};
use duramen_engine::wal::{
    Background, Durability, Wal, WalKind, WalOptions, WalRecoveryMode, WriteOptions, lock_writer_dir,
    recover, segments, writers,
};
use std::path::Path;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;
use wal_common::{WAL, append_next, offered, only_writer, read_live, small};

fn manual(options: WalOptions) -> WalOptions {
    small(WalOptions { background: Background::Manual, ..options })
}

fn no_slowdown() -> WriteOptions {
    WriteOptions { no_slowdown: true, ..WriteOptions::default() }
}

fn sync_each() -> WriteOptions {
    WriteOptions { durability: Some(Durability::Sync), ..WriteOptions::default() }
}

#[test]
fn what_was_sealed_without_a_sync_is_on_the_device_when_the_log_is_closed() {
    for last_is_empty in [false, true] {
        let sim = Sim::new(1);
        let options =
            WalOptions { sync_on_seal: false, max_write_buffer_number: 100, ..WalOptions::default() };
        let wal = Wal::create(&sim.env(), Path::new(WAL), manual(options)).unwrap();
        let mut appended = vec![];
        for _ in 0..300 {
            append_next(&wal, &mut appended, WriteOptions::default()).unwrap();
        }
        if last_is_empty {
            wal.rotate().unwrap();
            wal.background_step().unwrap();
        }
        wal.background_step().unwrap();
        assert!(wal.metrics().segments_sealed > 1);
        wal.close().unwrap();
        sim.crash_power();
        let env = sim.env();
        let writer = only_writer(&env, Path::new(WAL));
        let recovered = recover(&env, &writer, WalRecoveryMode::AbsoluteConsistency).unwrap();
        assert!(offered(&recovered) == appended);
    }
}

#[test]
fn what_is_appended_is_read_back_on_real_files() {
    for wal_kind in [WalKind::Mmap, WalKind::Write, WalKind::None] {
        for durability in [Durability::None, Durability::Process, Durability::IntervalMs(1), Durability::Sync]
        {
            if wal_kind == WalKind::None && !matches!(durability, Durability::None | Durability::Process) {
                continue;
            }
            let dir = tempfile::tempdir().unwrap();
            let wal_dir = dir.path().join("wal");
            let env = Env::os();
            let options =
                WalOptions { wal_kind, durability, max_write_buffer_number: 100, ..WalOptions::default() };
            let wal = Wal::create(&env, &wal_dir, small(options)).unwrap();
            let mut appended = vec![];
            for _ in 0..300 {
                append_next(&wal, &mut appended, WriteOptions::default()).unwrap();
            }
            assert!(read_live(&wal) == appended, "{wal_kind:?} {durability:?}");
            assert_eq!(wal.metrics().records, 300);
            wal.close().unwrap();
            if wal_kind == WalKind::None {
                assert!(wal.writer_dir().is_none());
                assert!(!wal_dir.exists());
                continue;
            }
            let writer = only_writer(&env, &wal_dir);
            let _lock = lock_writer_dir(&env, &writer).unwrap().expect("closed, so unlocked");
            let recovered = recover(&env, &writer, WalRecoveryMode::AbsoluteConsistency).unwrap();
            assert!(offered(&recovered) == appended, "{wal_kind:?} {durability:?}");
            // Cut to what they hold, and nothing unused is left.
            assert_eq!(recovered.empty.len(), 0);
            let bytes: u64 = segments(&env, &writer).unwrap().iter().map(|s| s.len - 4096).sum();
            assert_eq!(bytes, wal.metrics().bytes);
        }
    }
}

#[test]
fn segments_double_up_to_the_write_buffer_size() {
    let sim = Sim::new(1);
    let options = manual(WalOptions { max_write_buffer_number: 100, ..WalOptions::default() });
    let wal = Wal::create(&sim.env(), Path::new(WAL), options).unwrap();
    let mut appended = vec![];
    while wal.live_segments().len() < 7 {
        append_next(&wal, &mut appended, WriteOptions::default()).unwrap();
    }
    let created: Vec<String> =
        sim.trace().into_iter().filter(|op| op.starts_with("create_segment")).collect();
    let lengths: Vec<&str> = created.iter().map(|op| op.rsplit(' ').next().unwrap()).collect();
    assert_eq!(lengths, ["8192", "16384", "32768", "65536", "65536", "65536", "65536"]);
    assert!(read_live(&wal) == appended);
}

#[test]
fn a_short_lived_writer_makes_one_segment() {
    let sim = Sim::new(1);
    let wal = Wal::create(&sim.env(), Path::new(WAL), manual(WalOptions::default())).unwrap();
    wal.append(0, 1, &[7; 1000], WriteOptions::default()).unwrap();
    wal.background_step().unwrap();
    wal.close().unwrap();
    assert_eq!(sim.indices_of(OperationKind::CreateSegment).len(), 1);
    assert_eq!(segments(&sim.env(), wal.writer_dir().unwrap()).unwrap().len(), 1);
}

#[test]
fn a_writer_that_wrote_nothing_leaves_nothing() {
    let sim = Sim::new(1);
    let wal = Wal::create(&sim.env(), Path::new(WAL), manual(WalOptions::default())).unwrap();
    wal.close().unwrap();
    wal.close().unwrap();
    assert_eq!(segments(&sim.env(), wal.writer_dir().unwrap()).unwrap(), []);
    let refused = wal.append(0, 1, b"x", WriteOptions::default()).unwrap_err();
    assert!(matches!(refused, Error::InvalidArgument(_)), "{refused}");
}

#[test]
fn appending_to_a_prepared_segment_calls_no_one() {
    let sim = Sim::new(1);
    let options = manual(WalOptions { max_write_buffer_number: 3, ..WalOptions::default() });
    let wal = Wal::create(&sim.env(), Path::new(WAL), options).unwrap();
    let mut appended = vec![];
    while wal.metrics().bytes < 3000 {
        append_next(&wal, &mut appended, no_slowdown()).unwrap();
    }
    // Past the half the next segment is asked for, and the step makes it.
    wal.background_step().unwrap();
    let before = sim.operations();
    while wal.live_segments().len() < 2 {
        append_next(&wal, &mut appended, no_slowdown()).unwrap();
    }
    assert_eq!(sim.trace()[before as usize..], [] as [String; 0]);
    assert_eq!(wal.metrics().stalls, 0);
    assert!(read_live(&wal) == appended);
}

#[test]
fn a_record_longer_than_a_segment_gets_its_own() {
    for wal_kind in [WalKind::Mmap, WalKind::None] {
        let sim = Sim::new(1);
        let options = manual(WalOptions { wal_kind, max_write_buffer_number: 100, ..WalOptions::default() });
        let wal = Wal::create(&sim.env(), Path::new(WAL), options).unwrap();
        let long = vec![9; 1 << 20];
        assert_eq!(wal.append(1, 1, &long, WriteOptions::default()).unwrap(), 1);
        assert_eq!(wal.append(2, 1, b"short", WriteOptions::default()).unwrap(), 2);
        assert_eq!(wal.append(3, 1, &long, WriteOptions::default()).unwrap(), 3);
        let found: Vec<(u64, usize)> = read_live(&wal).iter().map(|r| (r.seq, r.payload.len())).collect();
        assert_eq!(found, [(1, 1 << 20), (2, 5), (3, 1 << 20)]);
        let refused = wal.append(1, 1, &vec![9; (1 << 20) + 1], WriteOptions::default()).unwrap_err();
        assert!(matches!(refused, Error::InvalidArgument(_)), "{refused}");
        wal.close().unwrap();
    }
}

#[test]
fn what_cannot_be_right_is_refused_and_harms_nothing() {
    let sim = Sim::new(1);
    let env = sim.env();
    let wal = Wal::create(&env, Path::new(WAL), manual(WalOptions::default())).unwrap();
    for (kind, count) in [(240, 1), (255, 1), (0, 0), (0, 1 << 24)] {
        let refused = wal.append(kind, count, b"x", WriteOptions::default()).unwrap_err();
        assert!(matches!(refused, Error::InvalidArgument(_)), "{refused}");
    }
    assert_eq!(wal.append(239, (1 << 24) - 1, b"", WriteOptions::default()).unwrap(), 1);
    assert_eq!(wal.append(0, 1, b"", WriteOptions::default()).unwrap(), 1 << 24);

    let bad = [
        WalOptions { write_buffer_size: 1000, ..WalOptions::default() },
        WalOptions { write_buffer_size: (2 << 30) + 1, ..WalOptions::default() },
        WalOptions { first_segment_bytes: 4096, ..WalOptions::default() },
        WalOptions { idle_segment_bytes: 4096, ..WalOptions::default() },
        WalOptions { max_write_buffer_number: 1, ..WalOptions::default() },
        WalOptions { max_record_bytes: (1 << 30) + 1, ..WalOptions::default() },
        WalOptions { first_seq: 0, ..WalOptions::default() },
        WalOptions { wal_kind: WalKind::None, durability: Durability::Sync, ..WalOptions::default() },
    ];
    for options in bad {
        let text = format!("{options:?}");
        let refused = Wal::create(&env, Path::new(WAL), options);
        assert!(matches!(refused, Err(Error::InvalidArgument(_))), "{text}");
    }
    let in_memory = WalOptions { wal_kind: WalKind::None, ..WalOptions::default() };
    let in_memory = Wal::create(&env, Path::new(WAL), manual(in_memory)).unwrap();
    assert!(in_memory.append(0, 1, b"x", sync_each()).is_err());
    assert!(in_memory.sync().is_err());
    assert_eq!(in_memory.append(0, 1, b"x", WriteOptions::default()).unwrap(), 1);
}

fn all_of_one_size(options: WalOptions) -> WalOptions {
    let bytes = options.write_buffer_size;
    WalOptions { first_segment_bytes: bytes, idle_segment_bytes: bytes, ..options }
}

#[test]
fn small_first_segments_count_by_what_they_hold() {
    let sim = Sim::new(1);
    let options = manual(WalOptions::default());
    let (buffer, number) = (options.write_buffer_size as u64, options.max_write_buffer_number as u64);
    let wal = Wal::create(&sim.env(), Path::new(WAL), options).unwrap();
    let mut appended = vec![];
    while append_next(&wal, &mut appended, no_slowdown()).is_ok() {
        wal.background_step().unwrap();
    }
    let live = wal.live_segments();
    assert!(live.len() > 2, "{} segments", live.len());
    let held: u64 = live.iter().map(|segment| segment.committed()).sum();
    assert!(held <= number * buffer, "{held} bytes in {number} buffers of {buffer}");
}

#[test]
fn full_buffers_stall_until_they_are_released() {
    let sim = Sim::new(1);
    let wal =
        Wal::create(&sim.env(), Path::new(WAL), all_of_one_size(manual(WalOptions::default()))).unwrap();
    let mut appended = vec![];
    let stalled = loop {
        if let Err(e) = append_next(&wal, &mut appended, WriteOptions::default()) {
            break e;
        }
    };
    appended.pop();
    assert!(
        matches!(&stalled, Error::Stalled { reason } if reason.contains("all write buffers")),
        "{stalled}"
    );
    let live = wal.live_segments();
    assert_eq!(live.len(), 2);
    let again = append_next(&wal, &mut appended.clone(), no_slowdown()).unwrap_err();
    assert!(matches!(again, Error::Stalled { .. }), "{again}");
    assert!(matches!(wal.rotate().unwrap_err(), Error::Stalled { .. }));

    wal.release(live[0].number());
    append_next(&wal, &mut appended, WriteOptions::default()).unwrap();
    let metrics = wal.metrics();
    assert!(metrics.stalls >= 3, "{metrics:?}");
    // The reader that was given out still reads what was released.
    let found: Vec<_> = live.iter().flat_map(|s| wal_common::read_segment(s)).collect();
    assert!(appended.starts_with(&found));
}

#[test]
fn a_waiting_append_goes_on_when_a_buffer_is_released() {
    let sim = Sim::new(1);
    let (told, hears) = mpsc::channel();
    let options = small(WalOptions {
        on_sealed: Some(Arc::new(move |number, _| told.send(number).unwrap())),
        ..WalOptions::default()
    });
    let wal = Wal::create(&sim.env(), Path::new(WAL), all_of_one_size(options)).unwrap();
    std::thread::scope(|s| {
        let appending = s.spawn(|| {
            let mut appended = vec![];
            for _ in 0..1_500 {
                append_next(&wal, &mut appended, WriteOptions::default()).unwrap();
            }
            appended
        });
        let mut flushed = vec![];
        // The writer goes no faster than its segments are flushed here.
        while !appending.is_finished() {
            let Ok(number) = hears.recv_timeout(Duration::from_millis(20)) else { continue };
            // The first buffer is kept until the writer waits for it.
            while wal.metrics().stalls == 0 {
                assert!(!appending.is_finished(), "it wrote more than fits into two buffers");
                std::thread::yield_now();
            }
            let segments = wal.live_segments();
            assert!(segments.len() <= 2);
            assert_eq!(segments[0].number(), number);
            flushed.extend(wal_common::read_segment(&segments[0]));
            wal.release(number);
        }
        let appended = appending.join().unwrap();
        while let Ok(number) = hears.try_recv() {
            flushed.extend(wal_common::read_segment(&wal.live_segments()[0]));
            wal.release(number);
        }
        flushed.extend(read_live(&wal));
        assert!(flushed == appended);
    });
    assert!(wal.metrics().stalls > 0);
}

#[test]
fn who_rotates_at_once_waits_for_nothing() {
    let sim = Sim::new(1);
    let wal =
        Wal::create(&sim.env(), Path::new(WAL), all_of_one_size(manual(WalOptions::default()))).unwrap();
    let mut appended = vec![];
    append_next(&wal, &mut appended, WriteOptions::default()).unwrap();
    // The next segment is not there yet, and is made when the background's turn is.
    assert!(matches!(wal.rotate_at_once().unwrap_err(), Error::Stalled { .. }));
    wal.background_step().unwrap();
    assert_eq!(wal.rotate_at_once().unwrap(), Some(1));
    assert_eq!(wal.rotate_at_once().unwrap(), None, "the active segment is empty");
    while append_next(&wal, &mut appended, WriteOptions::default()).is_ok() {}
    assert!(matches!(wal.rotate_at_once().unwrap_err(), Error::Stalled { .. }));
}

#[test]
fn a_segment_whose_file_is_gone_was_flushed_by_another_process() {
    let sim = Sim::new(1);
    let env = sim.env();
    let wal = Wal::create(&env, Path::new(WAL), manual(WalOptions::default())).unwrap();
    wal.append(0, 1, b"x", WriteOptions::default()).unwrap();
    let number = wal.rotate().unwrap().unwrap();
    wal.background_step().unwrap();
    assert_eq!(wal.live_segments().len(), 2);
    let keeper = sim.spawn_process();
    let path = wal.live_segments()[0].path().unwrap().to_path_buf();
    assert_eq!(duramen_engine::wal::segment_path(wal.writer_dir().unwrap(), number), path);
    keeper.env().fs.remove_file(&path).unwrap();
    wal.background_step().unwrap();
    assert_eq!(wal.live_segments().len(), 1);
    assert_eq!(wal.rotate().unwrap(), None, "the active segment is empty");
}

#[test]
fn threads_share_syncs() {
    let dir = tempfile::tempdir().unwrap();
    let wal_dir = dir.path().join("wal");
    let env = Env::os();
    let options = WalOptions { durability: Durability::Sync, ..WalOptions::default() };
    let wal = Wal::create(&env, &wal_dir, options).unwrap();
    const EACH: u64 = 200;
    std::thread::scope(|s| {
        for thread in 0..8u8 {
            let wal = &wal;
            s.spawn(move || {
                for nth in 0..EACH {
                    let seq = wal.append(thread, 1, &nth.to_le_bytes(), WriteOptions::default()).unwrap();
                    assert!(seq > nth);
                }
            });
        }
    });
    let metrics = wal.metrics();
    assert_eq!(metrics.records, 8 * EACH);
    // How much is shared depends on how long a sync takes; that waiters share is tested where it can be arranged.
    assert!(metrics.syncs <= metrics.records, "{metrics:?}");
    println!("{} records of 8 threads in {} syncs", metrics.records, metrics.syncs);
    let found = read_live(&wal);
    assert!(found.iter().zip(1..).all(|(r, seq)| r.seq == seq));
    for thread in 0..8 {
        let of_thread: Vec<u64> = found
            .iter()
            .filter(|r| r.kind == thread)
            .map(|r| u64::from_le_bytes(r.payload[..].try_into().unwrap()))
            .collect();
        assert_eq!(of_thread, (0..EACH).collect::<Vec<_>>());
    }
}

#[test]
fn a_sync_covers_all_that_came_before_and_is_not_repeated() {
    for wal_kind in [WalKind::Mmap, WalKind::Write] {
        let sim = Sim::new(1);
        let options = manual(WalOptions { wal_kind, ..WalOptions::default() });
        let wal = Wal::create(&sim.env(), Path::new(WAL), options).unwrap();
        wal.sync().unwrap();
        assert_eq!(wal.metrics().syncs, 0);
        for _ in 0..8 {
            wal.append(0, 1, b"x", WriteOptions::default()).unwrap();
        }
        wal.sync().unwrap();
        let before = sim.operations();
        wal.sync().unwrap();
        assert_eq!((wal.metrics().syncs, sim.operations()), (1, before));
        wal.append(0, 1, b"x", sync_each()).unwrap();
        assert_eq!(wal.metrics().syncs, 2);
    }
}

#[test]
fn every_acknowledged_record_of_eight_threads_survives_power_loss() {
    for seed in 0..20 {
        let sim = Sim::new(seed);
        let fs = sim.env().fs;
        fs.create_dir_all(Path::new("store")).unwrap();
        fs.sync_dir(Path::new("/")).unwrap();
        sim.fail_at(20 + seed * 7, Fault::Crash);
        let options = WalOptions {
            durability: Durability::Sync,
            max_write_buffer_number: 100,
            wal_kind: if seed % 2 == 0 { WalKind::Mmap } else { WalKind::Write },
            ..WalOptions::default()
        };
        let wal = Wal::create(&sim.env(), Path::new(WAL), small(options)).unwrap();
        let acknowledged = Mutex::new(vec![]);
        std::thread::scope(|s| {
            for thread in 0..8u8 {
                let (wal, acknowledged) = (&wal, &acknowledged);
                s.spawn(move || {
                    for nth in 0..200u64 {
                        match wal.append(thread, 1, &nth.to_le_bytes(), WriteOptions::default()) {
                            Ok(seq) => acknowledged.lock().unwrap().push((seq, thread, nth)),
                            Err(_) => break,
                        }
                    }
                });
            }
        });
        assert!(sim.is_halted(), "seed {seed}");
        drop(wal);
        sim.crash_power();
        let env = sim.env();
        let dir = only_writer(&env, Path::new(WAL));
        let recovered = recover(&env, &dir, WalRecoveryMode::PointInTime).unwrap();
        let found = offered(&recovered);
        for (seq, thread, nth) in acknowledged.into_inner().unwrap() {
            let record = found.get(seq as usize - 1).unwrap_or_else(|| panic!("seed {seed}: {seq} is lost"));
            assert_eq!((record.kind, &record.payload[..]), (thread, &nth.to_le_bytes()[..]));
        }
    }
}

#[test]
fn a_failed_sync_poisons_and_is_never_retried() {
    let sim = Sim::new(1);
    let wal = Wal::create(&sim.env(), Path::new(WAL), manual(WalOptions::default())).unwrap();
    wal.append(0, 1, b"one", WriteOptions::default()).unwrap();
    wal.sync().unwrap();
    wal.append(0, 1, b"two", WriteOptions::default()).unwrap();
    sim.fail_at(sim.operations(), Fault::SyncFailed);
    let failed = wal.sync().unwrap_err();
    assert!(matches!(failed, Error::Io { operation: "sync", .. }), "{failed}");
    let reason = failed.to_string();
    assert_eq!(wal.poisoned(), Some(reason.clone()));
    let before = sim.operations();
    let later = [
        wal.sync().unwrap_err(),
        wal.append(0, 1, b"three", WriteOptions::default()).unwrap_err(),
        wal.rotate().unwrap_err(),
        wal.background_step().unwrap_err(),
        wal.close().unwrap_err(),
    ];
    for error in later {
        assert!(matches!(&error, Error::Poisoned { reason: r } if *r == reason), "{error}");
    }
    assert_eq!(sim.trace()[before as usize..], [] as [String; 0]);
    // The lock is given back, so that whoever comes can recover.
    assert!(lock_writer_dir(&sim.env(), wal.writer_dir().unwrap()).unwrap().is_some());
}

#[test]
fn a_failed_write_poisons() {
    let sim = Sim::new(1);
    let options = manual(WalOptions { wal_kind: WalKind::Write, ..WalOptions::default() });
    let wal = Wal::create(&sim.env(), Path::new(WAL), options).unwrap();
    sim.set_read_only(true);
    assert!(wal.append(0, 1, b"one", WriteOptions::default()).is_err());
    assert!(wal.poisoned().unwrap().contains("write"));
}

#[test]
fn no_room_for_a_segment_is_said_and_heals() {
    for background in [Background::Manual, Background::Thread] {
        for full_disk in [true, false] {
            let sim = Sim::new(1);
            let options =
                small(WalOptions { background, max_write_buffer_number: 100, ..WalOptions::default() });
            let wal = Wal::create(&sim.env(), Path::new(WAL), options).unwrap();
            let mut appended = vec![];
            append_next(&wal, &mut appended, WriteOptions::default()).unwrap();
            let limit = |full: bool| {
                if full_disk {
                    sim.set_capacity_bytes(full.then(|| sim.used_bytes()));
                } else {
                    sim.set_max_open_files(full.then(|| sim.open_files()));
                }
            };
            limit(true);
            let refused = loop {
                if let Err(e) = append_next(&wal, &mut appended, WriteOptions::default()) {
                    break e;
                }
            };
            appended.pop();
            let Error::Io { source, .. } = &refused else { panic!("{refused}") };
            let code = source.raw_os_error().unwrap();
            assert_eq!(code, if full_disk { 28 } else { 24 }, "{refused}");
            // As often as one asks, until there is room; and small records that still fit are taken.
            assert!(matches!(wal.append(0, 1, &[0; 4000], WriteOptions::default()), Err(Error::Io { .. })));
            assert_eq!(wal.poisoned(), None);
            assert!(wal.metrics().prepare_failures >= 2);
            limit(false);
            for _ in 0..100 {
                append_next(&wal, &mut appended, WriteOptions::default()).unwrap();
            }
            assert!(read_live(&wal) == appended);
            wal.close().unwrap();
        }
    }
}

#[test]
fn a_file_system_that_cannot_reserve_or_map_is_written_to() {
    for refuse in [Sim::refuse_reserving, Sim::refuse_mapping] {
        let sim = Sim::new(1);
        refuse(&sim, true);
        written_to_and_recovered(&sim);
    }
}

fn written_to_and_recovered(sim: &Sim) {
    let options = manual(WalOptions { max_write_buffer_number: 100, ..WalOptions::default() });
    let wal = Wal::create(&sim.env(), Path::new(WAL), options).unwrap();
    let mut appended = vec![];
    for _ in 0..200 {
        append_next(&wal, &mut appended, WriteOptions::default()).unwrap();
    }
    assert_eq!(sim.indices_of(OperationKind::CreateSegment).len(), 1, "it is not asked twice");
    drop(wal);
    sim.crash_process();
    let env = sim.env();
    let dir = only_writer(&env, Path::new(WAL));
    let recovered = recover(&env, &dir, WalRecoveryMode::AbsoluteConsistency).unwrap();
    assert!(offered(&recovered) == appended);
}

#[test]
fn an_interval_is_kept_by_one_sync() {
    let sim = Sim::new(1);
    let options = manual(WalOptions { durability: Durability::IntervalMs(100), ..WalOptions::default() });
    let wal = Wal::create(&sim.env(), Path::new(WAL), options).unwrap();
    for round in 1..4 {
        for _ in 0..10 {
            wal.append(0, 1, b"x", WriteOptions::default()).unwrap();
        }
        wal.background_step().unwrap();
        assert_eq!(wal.metrics().syncs, round - 1);
        sim.clock().advance(Duration::from_millis(100));
        wal.background_step().unwrap();
        wal.background_step().unwrap();
        assert_eq!(wal.metrics().syncs, round);
    }
}

#[test]
fn the_log_s_own_thread_syncs_at_intervals() {
    let dir = tempfile::tempdir().unwrap();
    let options = WalOptions { durability: Durability::IntervalMs(5), ..WalOptions::default() };
    let wal = Wal::create(&Env::os(), dir.path(), options).unwrap();
    wal.append(0, 1, b"x", WriteOptions::default()).unwrap();
    // It ends when the sync has come, and hangs if it never does.
    while wal.metrics().syncs == 0 {
        std::thread::yield_now();
    }
}

#[test]
fn a_live_writer_is_locked_and_a_dead_one_is_not() {
    let sim = Sim::new(1);
    let process = sim.spawn_process();
    let first = Wal::create(&process.env(), Path::new(WAL), manual(WalOptions::default())).unwrap();
    let second = Wal::create(&sim.env(), Path::new(WAL), manual(WalOptions::default())).unwrap();
    assert_ne!(first.writer_id(), second.writer_id());
    let env = sim.env();
    let found = writers(&env, Path::new(WAL)).unwrap();
    assert_eq!(found.len(), 2);
    let of = |wal: &Wal| found.iter().find(|w| w.writer_id == wal.writer_id()).unwrap().path.clone();
    assert!(lock_writer_dir(&env, &of(&first)).unwrap().is_none());
    process.kill();
    assert!(lock_writer_dir(&env, &of(&first)).unwrap().is_some());
    assert!(lock_writer_dir(&env, &of(&second)).unwrap().is_none());
}

#[test]
fn the_order_of_operations_is_the_protocol() {
    let sim = Sim::new(1);
    let options = manual(WalOptions { durability: Durability::Sync, ..WalOptions::default() });
    let wal = Wal::create(&sim.env(), Path::new(WAL), options).unwrap();
    wal.append(0, 1, b"one", WriteOptions::default()).unwrap();
    wal.append(0, 1, b"two", WriteOptions::default()).unwrap();
    wal.close().unwrap();
    let dir = format!("{WAL}/{:016x}", wal.writer_id());
    let file = format!("{dir}/00000001.wal");
    // Header and names first; then each record; then what is sealed, only cut when it is on the device.
    let expected = [
        format!("exists {dir}"),
        format!("create_dir_all {dir}"),
        format!("lock {dir}/LOCK"),
        format!("create_segment {file} 8192"),
        format!("sync {file} 0..8192"), // zeros
        format!("sync {file} 0..4096"),
        format!("sync_dir {WAL}"),
        "sync_dir store".to_owned(),
        format!("sync_dir {dir}"),
        format!("sync {file} 0..4119"),
        format!("write {file} 4119..4178"), // SYNC and record by one call: the page was synced before
        format!("sync {file} 4096..4178"),
        format!("sync {file} 4096..4214"),
        format!("truncate {file} 4214"),
        format!("sync {file} 0..4096"),
        format!("exists {file}"),
    ];
    assert_eq!(sim.trace(), expected);
}

#[test]
fn only_records_that_are_synced_one_at_a_time_go_to_a_mapped_segment_by_a_call() {
    let sim = Sim::new(1);
    let wal = Wal::create(&sim.env(), Path::new(WAL), manual(WalOptions::default())).unwrap();
    let calls = || sim.indices_of(OperationKind::Write).len();
    let append = |len: usize, options| {
        let before = calls();
        wal.append(0, 1, &vec![7; len], options).unwrap();
        calls() - before
    };
    // The first record's page was never synced, nor are most of a long one's.
    assert_eq!(append(10, sync_each()), 0);
    assert_eq!(append(10, sync_each()), 1);
    assert_eq!(append(5_000, sync_each()), 0);
    assert_eq!(append(10, sync_each()), 1);
    // Others come between.
    assert_eq!(append(10, WriteOptions::default()), 0);
    assert_eq!(append(10, sync_each()), 1);
    assert_eq!(append(10, sync_each()), 0);
    assert_eq!(append(10, sync_each()), 1);

    let options = WalOptions { wal_kind: WalKind::Write, ..WalOptions::default() };
    let wal = Wal::create(&sim.env(), Path::new(WAL), manual(options)).unwrap();
    let before = calls();
    for _ in 0..3 {
        wal.append(0, 1, b"x", sync_each()).unwrap();
    }
    assert_eq!(calls(), before);
}

#[test]
fn a_call_that_fails_is_made_up_for_in_memory() {
    for fault in [Fault::NoSpace, Fault::ShortWrite] {
        let sim = Sim::new(1);
        let options = manual(WalOptions { durability: Durability::Sync, ..WalOptions::default() });
        let wal = Wal::create(&sim.env(), Path::new(WAL), options).unwrap();
        sim.sync_all(); // the directory of the store
        let mut appended = vec![];
        append_next(&wal, &mut appended, WriteOptions::default()).unwrap();
        append_next(&wal, &mut appended, WriteOptions::default()).unwrap();
        sim.fail_at(sim.operations(), fault);
        append_next(&wal, &mut appended, WriteOptions::default()).unwrap();
        assert_eq!(sim.faults_struck().len(), 1);
        append_next(&wal, &mut appended, WriteOptions::default()).unwrap();
        assert!(read_live(&wal) == appended);
        sim.crash_power();
        let env = sim.env();
        let recovered =
            recover(&env, &only_writer(&env, Path::new(WAL)), WalRecoveryMode::AbsoluteConsistency).unwrap();
        assert!(offered(&recovered) == appended);
    }
}

#[test]
fn records_are_published_before_the_counter_that_readers_follow() {
    let sim = Sim::new(1);
    let options = manual(WalOptions { wal_kind: WalKind::Write, ..WalOptions::default() });
    let wal = Wal::create(&sim.env(), Path::new(WAL), options).unwrap();
    let before = sim.operations();
    wal.append(0, 1, b"one", WriteOptions::default()).unwrap();
    wal.append(0, 1, b"two", WriteOptions::default()).unwrap();
    let trace = sim.trace();
    let ranges: Vec<&str> =
        trace[before as usize..].iter().map(|op| op.rsplit(' ').next().unwrap()).collect();
    assert_eq!(ranges, ["128..136", "4096..4119", "384..392", "4119..4142", "384..392"]);
}
