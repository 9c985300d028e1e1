//! Following a segment from another process.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this is test code

mod wal_common;

use duramen_engine::Error;
use duramen_engine::io::sim::Sim;
use duramen_engine::io::{Env, OpenMode};
use duramen_engine::wal::{
    Background, SegmentReader, Wal, WalKind, WalOptions, WriteOptions, segment_path, segments,
};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use wal_common::{WAL, append_next, nth_record, only_writer, read_segment, small};

fn manual(wal_kind: WalKind) -> WalOptions {
    small(WalOptions {
        wal_kind,
        background: Background::Manual,
        max_write_buffer_number: 100,
        ..WalOptions::default()
    })
}

#[test]
fn every_record_is_visible_to_another_process_at_once() {
    let ways =
        [(WalKind::Mmap, true), (WalKind::Write, true), (WalKind::Mmap, false), (WalKind::Write, false)];
    for (wal_kind, readers_can_map) in ways {
        let sim = Sim::new(1);
        let wal = Wal::create(&sim.env(), Path::new(WAL), manual(wal_kind)).unwrap();
        sim.refuse_mapping(!readers_can_map);
        let other = sim.spawn_process();
        let path = segment_path(wal.writer_dir().unwrap(), 1);
        let reader = SegmentReader::open(&other.env(), &path).unwrap().unwrap();
        assert_eq!((reader.writer_id(), reader.number()), (wal.writer_id(), 1));
        assert_eq!(reader.path(), Some(path.as_path()));
        assert_eq!(
            (reader.first_seq(), reader.committed(), reader.is_sealed()),
            (None, 4096.min(reader.committed()), false)
        );
        let mut appended = vec![];
        let mut at = reader.start();
        for nth in 0..20 {
            assert_eq!(reader.next_record(at).unwrap(), None);
            append_next(&wal, &mut appended, WriteOptions::default()).unwrap();
            let (record, next) = reader.next_record(at).unwrap().unwrap();
            let expected = nth_record(nth, appended[nth].seq);
            assert_eq!((record.seq, record.payload), (expected.seq, &expected.payload[..]));
            assert_eq!(reader.first_seq(), Some(1));
            at = next;
        }
        wal.rotate().unwrap();
        assert_eq!(reader.next_record(at).unwrap(), None);
        wal.background_step().unwrap();
        assert!(reader.is_sealed());
        assert_eq!(reader.next_record(at).unwrap(), None);
        assert!(read_segment(&reader) == appended);
        // One that comes after the seal sees the same.
        let late = SegmentReader::open(&other.env(), &path).unwrap().unwrap();
        assert!(late.is_sealed());
        assert!(read_segment(&late) == appended);
        assert_eq!(late.committed(), segments(&other.env(), wal.writer_dir().unwrap()).unwrap()[0].len);
    }
}

#[test]
fn what_was_not_published_is_not_seen() {
    let sim = Sim::new(1);
    let options = WalOptions { durability: duramen_engine::wal::Durability::None, ..manual(WalKind::Write) };
    let wal = Wal::create(&sim.env(), Path::new(WAL), options).unwrap();
    let other = sim.spawn_process();
    let path = segment_path(wal.writer_dir().unwrap(), 1);
    let reader = SegmentReader::open(&other.env(), &path).unwrap().unwrap();
    wal.append(0, 1, b"in memory", WriteOptions::default()).unwrap();
    assert_eq!(reader.next_record(reader.start()).unwrap(), None);
    wal.sync().unwrap();
    assert_eq!(reader.next_record(reader.start()).unwrap().unwrap().0.payload, b"in memory");
}

/// A reader on real files, while the writer appends, seals and cuts: no record is missed, none is wrong, and no page
/// that was cut off is touched (that would end the process).
#[test]
fn a_reader_keeps_up_with_a_living_writer() {
    for wal_kind in [WalKind::Mmap, WalKind::Write] {
        let dir = tempfile::tempdir().unwrap();
        let env = Env::os();
        let options =
            WalOptions { background: Background::Thread, max_write_buffer_number: 1000, ..manual(wal_kind) };
        let wal = Wal::create(&env, dir.path(), options).unwrap();
        let writer_dir = wal.writer_dir().unwrap().to_path_buf();
        let done = AtomicBool::new(false);
        const RECORDS: usize = 3000;
        std::thread::scope(|s| {
            let reading = s.spawn(|| {
                let mut found = vec![];
                let mut number = 1;
                loop {
                    let last_look = done.load(Ordering::Acquire);
                    let path = segment_path(&writer_dir, number);
                    let reader = match SegmentReader::open(&env, &path) {
                        Ok(Some(reader)) => reader,
                        Ok(None) => continue,
                        Err(e) if e.is_not_found() && !last_look => continue,
                        Err(e) if e.is_not_found() => return found,
                        Err(e) => panic!("{e}"),
                    };
                    let mut at = reader.start();
                    loop {
                        // In this order: what is sealed before a look has nothing behind it after the look.
                        let ends = reader.is_sealed() || done.load(Ordering::Acquire);
                        while let Some((record, next)) = reader.next_record(at).unwrap() {
                            found.push((record.seq, record.payload.to_vec()));
                            at = next;
                        }
                        if ends {
                            break;
                        }
                    }
                    number += 1;
                }
            });
            let mut appended = vec![];
            for _ in 0..RECORDS {
                append_next(&wal, &mut appended, WriteOptions::default()).unwrap();
            }
            done.store(true, Ordering::Release);
            let found = reading.join().unwrap();
            let expected: Vec<_> = appended.into_iter().map(|w| (w.seq, w.payload)).collect();
            assert!(found == expected, "{wal_kind:?}: {} of {RECORDS}", found.len());
        });
    }
}

fn overwrite(path: &Path, offset: u64, bytes: &[u8]) {
    Env::os().fs.open(path, OpenMode::ReadWrite).unwrap().write_all_at(bytes, offset).unwrap();
}

#[test]
fn a_damaged_segment_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let env = Env::os();
    let wal = Wal::create(&env, dir.path(), manual(WalKind::Mmap)).unwrap();
    let mut appended = vec![];
    for _ in 0..10 {
        append_next(&wal, &mut appended, WriteOptions::default()).unwrap();
    }
    wal.close().unwrap();
    let writer = only_writer(&env, dir.path());
    let path = segment_path(&writer, 1);
    let committed_at = 192;
    let open = |path: &Path| SegmentReader::open(&env, path);
    let len = open(&path).unwrap().unwrap().committed();

    // A record.
    let reader = open(&path).unwrap().unwrap();
    let (first, second) = reader.next_record(reader.start()).unwrap().unwrap();
    assert_eq!(first.seq, 1);
    let other = !reader.bytes(second as u32 + 2, 1).unwrap()[0];
    overwrite(&path, second + 2, &[other]);
    assert!(matches!(reader.next_record(second), Err(Error::Corruption { offset, .. }) if offset == second));
    assert!(matches!(reader.next_record(17), Err(Error::InvalidArgument(_))));
    assert_eq!(reader.bytes(4000, 97 + u32::MAX / 2), None);
    assert_eq!(reader.bytes(u32::MAX, u32::MAX), None);

    // A counter that lies, either way: records would be missed, or bytes read that never were.
    let third = reader.next_record(reader.start()).unwrap().unwrap().1;
    overwrite(&path, committed_at, &third.to_le_bytes());
    let short = open(&path).unwrap().unwrap();
    assert!(short.next_record(third).unwrap_err().is_corruption());
    overwrite(&path, committed_at, &u64::MAX.to_le_bytes());
    assert_eq!(open(&path).unwrap().unwrap().committed(), len);

    // The header.
    let mut byte = [0];
    env.fs.open(&path, OpenMode::Read).unwrap().read_exact_at(&mut byte, 20).unwrap();
    overwrite(&path, 20, &[!byte[0]]);
    assert!(open(&path).unwrap_err().is_corruption());
    overwrite(&path, 0, &[0; 64]);
    assert!(open(&path).unwrap().is_none());
    assert!(open(&segment_path(&writer, 9)).unwrap_err().is_not_found());
}

#[test]
fn names_must_agree_with_the_header() {
    let sim = Sim::new(1);
    let env = sim.env();
    let wal = Wal::create(&env, Path::new(WAL), manual(WalKind::Mmap)).unwrap();
    wal.append(0, 1, b"x", WriteOptions::default()).unwrap();
    let path = segment_path(wal.writer_dir().unwrap(), 1);
    let other_name = segment_path(wal.writer_dir().unwrap(), 2);
    env.fs.hard_link(&path, &other_name).unwrap();
    assert!(SegmentReader::open(&env, &other_name).unwrap_err().is_corruption());
    let other_dir = Path::new(WAL).join("00000000000000aa");
    env.fs.create_dir_all(&other_dir).unwrap();
    let other_writer = segment_path(&other_dir, 1);
    env.fs.hard_link(&path, &other_writer).unwrap();
    assert!(SegmentReader::open(&env, &other_writer).unwrap_err().is_corruption());
    // In quarantine, outside of any writer's directory, it can be read.
    env.fs.create_dir_all(Path::new("quarantine")).unwrap();
    let quarantined = segment_path(Path::new("quarantine"), 1);
    env.fs.hard_link(&path, &quarantined).unwrap();
    assert_eq!(read_segment(&SegmentReader::open(&env, &quarantined).unwrap().unwrap()).len(), 1);
}
