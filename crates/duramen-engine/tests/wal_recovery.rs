//! What a recovery makes of damaged files, one damage at a time.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this is test code

mod wal_common;

use duramen_engine::Error;
use duramen_engine::io::{Env, OpenMode};
use duramen_engine::wal::format::{
    KIND_SEAL, KIND_SYNC, RECORD_HEADER_BYTES, RecordHeader, SegmentId, payload_hash,
};
use duramen_engine::wal::{
    Background, Recovered, Wal, WalKind, WalOptions, WalRecoveryMode, WriteOptions, recover,
    recover_unflushed, segment_path, segments,
};
use proptest::prelude::*;
use std::path::{Path, PathBuf};
use wal_common::{Written, append_next, offered, only_writer, small};

use WalRecoveryMode::{AbsoluteConsistency, PointInTime, SkipAnyCorrupted};

/// A dead writer's directory on real files.
struct Dead {
    _root: tempfile::TempDir,
    dir: PathBuf,
    appended: Vec<Written>,
}

/// Where a record lies in a file.
#[derive(Clone, Copy, Debug)]
struct Place {
    start: usize,
    end: usize,
    header: RecordHeader,
}

impl Dead {
    /// A writer that did as `work` says and died. Nothing is synced unless it says so.
    fn after(work: impl FnOnce(&Wal, &mut Vec<Written>)) -> Self {
        Self::of(WalKind::default(), work)
    }

    fn of(wal_kind: WalKind, work: impl FnOnce(&Wal, &mut Vec<Written>)) -> Self {
        let root = tempfile::tempdir().unwrap();
        let options = WalOptions {
            wal_kind,
            background: Background::Manual,
            max_write_buffer_number: 100,
            sync_on_seal: false,
            ..WalOptions::default()
        };
        let wal = Wal::create(&Env::os(), root.path(), small(options)).unwrap();
        let mut appended = vec![];
        work(&wal, &mut appended);
        drop(wal);
        let dir = only_writer(&Env::os(), root.path());
        Self { _root: root, dir, appended }
    }

    fn recover(&self, mode: WalRecoveryMode) -> Recovered {
        recover(&Env::os(), &self.dir, mode).unwrap()
    }

    /// What even the strictest mode finds wrong.
    fn strict(&self) -> Result<Recovered, Error> {
        recover(&Env::os(), &self.dir, AbsoluteConsistency)
    }

    fn path(&self, number: u64) -> PathBuf {
        segment_path(&self.dir, number)
    }

    fn bytes(&self, number: u64) -> Vec<u8> {
        read(&self.path(number))
    }

    fn edit(&self, number: u64, edit: impl FnOnce(&mut Vec<u8>)) {
        let mut bytes = self.bytes(number);
        edit(&mut bytes);
        write(&self.path(number), &bytes);
    }

    /// As it is found after a loss of power: the machine was started anew since.
    fn after_power_loss(self) -> Self {
        for file in segments(&Env::os(), &self.dir).unwrap() {
            self.edit(file.number, |bytes| {
                bytes[40] ^= 1;
                let crc = crc32c::crc32c(&bytes[..60]);
                bytes[60..64].copy_from_slice(&crc.to_le_bytes());
            });
        }
        self
    }

    fn remove(&self, number: u64) {
        Env::os().fs.remove_file(&self.path(number)).unwrap();
    }

    /// The records of an undamaged segment, the WAL's own included.
    fn places(&self, number: u64) -> Vec<Place> {
        let bytes = self.bytes(number);
        let mut places = vec![];
        let mut start = 4096;
        while let Some(header) = bytes.get(start..).and_then(RecordHeader::peek).filter(|h| h.seq != 0) {
            let end = start + RECORD_HEADER_BYTES + header.len as usize;
            places.push(Place { start, end, header });
            if header.kind == KIND_SEAL {
                break;
            }
            start = end;
        }
        places
    }

    fn first(&self, count: usize) -> &[Written] {
        &self.appended[..count]
    }
}

fn read(path: &Path) -> Vec<u8> {
    let file = Env::os().fs.open(path, OpenMode::Read).unwrap();
    let mut bytes = vec![0; file.len().unwrap() as usize];
    file.read_exact_at(&mut bytes, 0).unwrap();
    bytes
}

fn write(path: &Path, bytes: &[u8]) {
    let fs = Env::os().fs;
    if fs.exists(path).unwrap() {
        fs.remove_file(path).unwrap();
    }
    fs.open(path, OpenMode::CreateNew).unwrap().write_all_at(bytes, 0).unwrap();
}

fn append(wal: &Wal, appended: &mut Vec<Written>, count: usize) {
    for _ in 0..count {
        append_next(wal, appended, WriteOptions::default()).unwrap();
    }
}

/// Three segments of ten records, the first two sealed.
fn three_segments(wal: &Wal, appended: &mut Vec<Written>) {
    for nth in 0..3 {
        append(wal, appended, 10);
        if nth < 2 {
            wal.rotate().unwrap();
        }
    }
}

#[test]
fn a_killed_writer_s_records_are_all_there() {
    let dead = Dead::after(three_segments);
    let recovered = dead.strict().unwrap();
    assert!(offered(&recovered) == dead.appended);
    assert_eq!(recovered.segments.len(), 3);
    assert_eq!(recovered.segments.iter().map(|s| s.reader.number()).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(recovered.segments[1].reader.first_seq(), Some(dead.appended[10].seq));
    assert_eq!((recovered.torn_bytes, recovered.damage.len(), recovered.set_aside.len()), (0, 0, 0));
    // Undamaged segments can be read like any other.
    let read: Vec<_> = recovered.segments.iter().flat_map(|s| wal_common::read_segment(&s.reader)).collect();
    assert!(read == dead.appended);
}

#[test]
fn a_torn_tail_is_cut_and_counted() {
    let dead = Dead::after(|wal, appended| append(wal, appended, 12)).after_power_loss();
    let last = *dead.places(1).last().unwrap();
    for cut in last.start..last.end {
        // Cut off, or never written back.
        let whole = dead.bytes(1);
        for keep_length in [true, false] {
            let mut bytes = whole.clone();
            bytes.truncate(cut);
            if keep_length {
                bytes.resize(whole.len(), 0);
            }
            write(&dead.path(1), &bytes);
            let recovered = dead.recover(PointInTime);
            assert!(offered(&recovered) == dead.first(11), "cut at {cut}");
            assert_eq!(recovered.damage, []);
            let left = bytes[last.start..cut].iter().rposition(|b| *b != 0).map_or(0, |last| last + 1);
            assert_eq!(recovered.torn_bytes, left as u64);
            if left > 0 {
                let refused = dead.strict().unwrap_err();
                assert!(
                    matches!(&refused, Error::Corruption { offset, .. } if *offset == last.start as u64),
                    "{refused}"
                );
            }
        }
        write(&dead.path(1), &whole);
    }
}

#[test]
fn a_flipped_bit_that_nothing_vouches_for_is_a_torn_tail() {
    let dead = Dead::after(|wal, appended| append(wal, appended, 12)).after_power_loss();
    let hit = dead.places(1)[5];
    dead.edit(1, |bytes| bytes[hit.start + 9] ^= 4);
    let recovered = dead.recover(PointInTime);
    assert!(offered(&recovered) == dead.first(5));
    assert_eq!(recovered.damage, []);
    assert!(recovered.torn_bytes > 0);
    assert!(dead.strict().is_err());
    let skipping = dead.recover(SkipAnyCorrupted);
    let mut rest = dead.appended.clone();
    rest.remove(5);
    assert!(offered(&skipping) == rest);
    assert!(skipping.segments[0].damaged);
}

#[test]
fn a_last_record_that_was_finished_is_damaged_as_long_as_the_machine_runs() {
    for kind in [WalKind::Mmap, WalKind::Write] {
        let dead = Dead::of(kind, |wal, appended| append(wal, appended, 12));
        let last = *dead.places(1).last().unwrap();
        let whole = dead.bytes(1);
        for what in ["flipped", "zeros", "cut"] {
            dead.edit(1, |bytes| match what {
                "flipped" => bytes[last.start + 24] ^= 4,
                "zeros" => bytes[last.start..last.end].fill(0),
                _ => bytes.truncate(last.end - 1),
            });
            let recovered = dead.recover(PointInTime);
            assert!(offered(&recovered) == dead.first(11), "{kind:?}");
            let [damage] = &recovered.damage[..] else { panic!("{kind:?}: {:?}", recovered.damage) };
            assert_eq!((damage.number, damage.offset, damage.proven), (1, last.start as u64, true));
            assert_eq!(recovered.torn_bytes, 0);
            assert!(recovered.segments[0].damaged, "the file is not to be thrown away");
            write(&dead.path(1), &whole);
        }
        // None of it is left but the header.
        dead.edit(1, |bytes| bytes.truncate(4096));
        assert!(dead.recover(PointInTime).damage[0].proven);
        write(&dead.path(1), &whole);
        // What was being written when the process ended is behind what the header counts.
        dead.edit(1, |bytes| {
            bytes[if kind == WalKind::Mmap { 192..200 } else { 384..392 }]
                .copy_from_slice(&(last.start as u64).to_le_bytes());
            bytes[last.start + 24] ^= 4;
        });
        let recovered = dead.recover(PointInTime);
        assert_eq!((recovered.damage.len(), recovered.torn_bytes), (0, (last.end - last.start) as u64));
        write(&dead.path(1), &whole);
        // And after a loss of power nothing it counts is proven.
        let dead = dead.after_power_loss();
        dead.edit(1, |bytes| bytes[last.start + 24] ^= 4);
        let recovered = dead.recover(PointInTime);
        assert!(offered(&recovered) == dead.first(11));
        assert_eq!((recovered.damage.len(), recovered.torn_bytes), (0, (last.end - last.start) as u64));
    }
}

#[test]
fn a_flipped_bit_below_a_sync_marker_is_corruption() {
    let dead = Dead::after(|wal, appended| {
        append(wal, appended, 8);
        wal.sync().unwrap();
        append(wal, appended, 4);
    });
    let places = dead.places(1);
    assert_eq!(places.iter().filter(|p| p.header.kind == KIND_SYNC).count(), 1);
    let hit = places[5];
    for vouched_by_header in [true, false] {
        dead.edit(1, |bytes| {
            bytes[hit.start + 1] ^= 4;
            if !vouched_by_header {
                bytes[320..328].fill(0);
            }
        });
        let recovered = dead.recover(PointInTime);
        assert!(offered(&recovered) == dead.first(5));
        let [damage] = &recovered.damage[..] else { panic!("{:?}", recovered.damage) };
        assert!(damage.proven);
        assert_eq!((damage.number, damage.offset), (1, hit.start as u64));
        assert_eq!(recovered.torn_bytes, 0);
        assert!(recovered.segments[0].damaged, "the file is not to be thrown away");
        assert!(damage.to_error().is_corruption());
        assert!(dead.strict().unwrap_err().is_corruption());

        let skipping = dead.recover(SkipAnyCorrupted);
        let mut rest = dead.appended.clone();
        rest.remove(5);
        assert!(offered(&skipping) == rest);
        assert_eq!(skipping.damage.len(), 1);
        dead.edit(1, |bytes| bytes[hit.start + 1] ^= 4);
    }
}

#[test]
fn records_missing_below_the_synced_end_are_corruption() {
    let dead = Dead::after(|wal, appended| {
        append(wal, appended, 8);
        wal.sync().unwrap();
    });
    let places = dead.places(1);
    let cut = places[6].start;
    dead.edit(1, |bytes| bytes.truncate(cut));
    let recovered = dead.recover(PointInTime);
    assert!(offered(&recovered) == dead.first(6));
    assert!(recovered.damage[0].proven);
    assert_eq!(recovered.damage[0].offset, cut as u64);
    // Not a single one left.
    dead.edit(1, |bytes| bytes.truncate(4096));
    let recovered = dead.recover(PointInTime);
    assert!(recovered.damage[0].proven);
    assert_eq!(recovered.segments.len(), 0);
}

#[test]
fn damage_in_a_sealed_synced_segment_is_corruption() {
    let root = tempfile::tempdir().unwrap();
    let options =
        WalOptions { background: Background::Manual, max_write_buffer_number: 100, ..WalOptions::default() };
    let wal = Wal::create(&Env::os(), root.path(), small(options)).unwrap();
    let mut appended = vec![];
    append(&wal, &mut appended, 10);
    wal.rotate().unwrap();
    wal.background_step().unwrap();
    append(&wal, &mut appended, 3);
    drop(wal);
    let dead = Dead { dir: only_writer(&Env::os(), root.path()), _root: root, appended };
    let places = dead.places(1);
    // The last record, and the SEAL itself.
    for (hit, kept) in [(places[9], 9), (places[10], 13)] {
        dead.edit(1, |bytes| bytes[hit.start] ^= 1);
        let recovered = dead.recover(PointInTime);
        assert!(offered(&recovered) == dead.first(kept));
        assert!(recovered.damage.iter().all(|d| d.proven && d.number == 1));
        assert!(!recovered.damage.is_empty());
        assert_eq!(recovered.set_aside.len(), usize::from(kept == 9));
        assert!(recovered.segments[0].damaged);
        dead.edit(1, |bytes| bytes[hit.start] ^= 1);
    }
    assert!(offered(&dead.strict().unwrap()) == dead.appended);
}

#[test]
fn a_hole_in_a_segment_that_is_not_the_newest_ends_the_prefix() {
    let dead = Dead::after(three_segments).after_power_loss();
    let hit = dead.places(2)[5]; // the first is a PREV
    dead.edit(2, |bytes| bytes[hit.start..hit.end].fill(0));
    let recovered = dead.recover(PointInTime);
    assert!(offered(&recovered) == dead.first(14));
    let [damage] = &recovered.damage[..] else { panic!("{:?}", recovered.damage) };
    assert!(!damage.proven, "nothing was synced: a loss of power explains it");
    assert_eq!((damage.number, damage.offset), (2, hit.start as u64));
    assert_eq!(recovered.set_aside.iter().map(|s| s.number).collect::<Vec<_>>(), [3]);
    assert_eq!(recovered.set_aside[0].path, dead.path(3));
    assert_eq!(recovered.next_seq, Some(dead.appended[14].seq));
    assert!(recovered.segments[1].damaged);

    let mut rest = dead.appended.clone();
    rest.remove(14);
    let skipping = dead.recover(SkipAnyCorrupted);
    assert!(offered(&skipping) == rest);
    assert_eq!(skipping.set_aside, []);
    assert!(dead.strict().unwrap_err().is_corruption());
}

#[test]
fn a_segment_whose_end_never_came_to_the_device_ends_the_prefix() {
    let dead = Dead::after(three_segments).after_power_loss();
    let places = dead.places(2);
    dead.edit(2, |bytes| bytes[places[8].start..].fill(0)); // the first is a PREV
    let recovered = dead.recover(PointInTime);
    assert!(offered(&recovered) == dead.first(17));
    let [damage] = &recovered.damage[..] else { panic!("{:?}", recovered.damage) };
    assert_eq!((damage.number, damage.offset, damage.proven), (2, places[8].start as u64, false));
    assert_eq!(recovered.set_aside.len(), 1);
    assert!(recovered.segments[1].damaged);
}

#[test]
fn records_that_go_back_in_order_are_never_offered() {
    let dead = Dead::after(three_segments);
    // The second segment's records begin again with the first one's sequence number, all checksums right.
    let places = dead.places(2);
    let id = SegmentId { writer_id: dead.recover(PointInTime).writer_id, number: 2 };
    dead.edit(2, |bytes| {
        let mut seq = 1;
        for place in &places {
            let header = RecordHeader { seq, ..place.header };
            let (head, payload) = bytes[place.start..place.end].split_at_mut(RECORD_HEADER_BYTES);
            head.copy_from_slice(&header.encode(id, payload_hash(payload)));
            seq = header.next_seq().unwrap();
        }
    });
    let mut rest = dead.appended.clone();
    rest.drain(10..20);
    let recovered = dead.recover(SkipAnyCorrupted);
    assert!(offered(&recovered) == rest);
    assert!(recovered.damage.iter().any(|damage| damage.number == 1), "{:?}", recovered.damage);
    assert_eq!(recovered.set_aside.iter().map(|s| s.number).collect::<Vec<_>>(), [2]);
    assert!(offered(&dead.recover(PointInTime)) == dead.first(10));
}

#[test]
fn a_missing_segment_ends_the_prefix_unless_it_was_flushed() {
    let dead = Dead::after(three_segments);
    dead.remove(2);
    let recovered = dead.recover(PointInTime);
    assert!(offered(&recovered) == dead.first(10));
    assert_eq!(recovered.set_aside.len(), 1);
    assert_eq!(recovered.damage.len(), 1);
    let flushed = recover_unflushed(&Env::os(), &dead.dir, AbsoluteConsistency, &|n| n == 2).unwrap();
    let mut rest = dead.appended.clone();
    rest.drain(10..20);
    assert!(offered(&flushed) == rest);
}

#[test]
fn a_first_segment_without_its_records_ends_the_prefix_before_it_began() {
    let dead = Dead::after(three_segments);
    dead.edit(1, |bytes| bytes.truncate(0));
    let recovered = dead.recover(PointInTime);
    assert!(offered(&recovered).is_empty());
    let [damage] = &recovered.damage[..] else { panic!("{:?}", recovered.damage) };
    assert_eq!((damage.number, damage.proven), (1, false));
    assert_eq!(recovered.set_aside.len(), 2);
    assert!(offered(&dead.recover(SkipAnyCorrupted)) == dead.appended[10..]);
}

#[test]
fn a_flushed_segment_that_is_still_there_is_not_read() {
    let dead = Dead::after(three_segments);
    dead.edit(1, |bytes| bytes.fill(0xAA));
    let recovered = recover_unflushed(&Env::os(), &dead.dir, AbsoluteConsistency, &|n| n == 1).unwrap();
    assert!(offered(&recovered) == dead.appended[10..]);
    assert_eq!(recovered.empty, [dead.path(1)]);
}

#[test]
fn a_lost_sync_marker_costs_nothing() {
    let dead = Dead::after(|wal, appended| {
        append(wal, appended, 5);
        wal.sync().unwrap();
        append(wal, appended, 5);
        wal.sync().unwrap();
        append(wal, appended, 5);
    });
    let marker = *dead.places(1).iter().find(|p| p.header.kind == KIND_SYNC).unwrap();
    dead.edit(1, |bytes| bytes[marker.start + 3] ^= 1);
    let recovered = dead.recover(PointInTime);
    assert!(offered(&recovered) == dead.appended);
    assert!(recovered.damage[0].proven);
    assert!(recovered.segments[0].damaged);
}

#[test]
fn segments_that_hold_nothing_are_empty() {
    let dead = Dead::after(|wal, appended| {
        append(wal, appended, 20);
        wal.background_step().unwrap();
    });
    // Prepared and never used; created and never written; created and of no length.
    write(&dead.path(7), &[0; 8192]);
    write(&dead.path(8), &[]);
    write(&dead.path(9), &[0; 100]);
    let recovered = dead.strict().unwrap();
    assert!(offered(&recovered) == dead.appended);
    assert_eq!(recovered.empty, [2, 7, 8, 9].map(|n| dead.path(n)));
}

#[test]
fn a_lost_header_does_not_cost_the_records() {
    let dead = Dead::after(three_segments);
    dead.edit(3, |bytes| bytes[..4096].fill(0));
    let recovered = dead.strict().unwrap();
    assert!(offered(&recovered) == dead.appended);
    // Torn: half of it is there. That is worth a report, and no more.
    dead.edit(2, |bytes| bytes[32..4096].fill(0));
    let recovered = dead.recover(PointInTime);
    assert!(offered(&recovered) == dead.appended);
    let [damage] = &recovered.damage[..] else { panic!("{:?}", recovered.damage) };
    assert_eq!((damage.number, damage.offset), (2, 0));
}

#[test]
fn a_byte_that_is_not_zero_between_the_counters_is_told_and_costs_no_record() {
    for at in [64, 127, 136, 200, 400, 4095] {
        let dead = Dead::after(three_segments);
        dead.edit(2, |bytes| bytes[at] ^= 1);
        let recovered = dead.recover(PointInTime);
        assert!(offered(&recovered) == dead.appended);
        let [damage] = &recovered.damage[..] else { panic!("byte {at}: {:?}", recovered.damage) };
        assert_eq!((damage.number, damage.offset), (2, 0));
        assert!(recovered.segments[1].damaged);
    }
}

#[test]
fn a_torn_header_without_records_is_empty() {
    let dead = Dead::after(|wal, appended| append(wal, appended, 3));
    let mut torn = dead.bytes(1)[..32].to_vec();
    torn.resize(8192, 0);
    write(&dead.path(2), &torn);
    let recovered = dead.strict().unwrap();
    assert_eq!(recovered.empty, [dead.path(2)]);
    assert!(offered(&recovered) == dead.appended);
}

#[test]
fn a_segment_under_another_s_name_is_set_aside() {
    let dead = Dead::after(three_segments);
    let bytes = dead.bytes(2);
    write(&dead.path(4), &bytes);
    let recovered = dead.recover(PointInTime);
    assert!(offered(&recovered) == dead.appended);
    assert_eq!(recovered.set_aside.iter().map(|s| s.number).collect::<Vec<_>>(), [4]);
    assert!(recovered.damage[0].detail.contains("segment 2"), "{:?}", recovered.damage);
    assert!(dead.strict().unwrap_err().is_corruption());
}

#[test]
fn a_newer_version_is_refused() {
    let dead = Dead::after(three_segments);
    dead.edit(2, |bytes| {
        bytes[8] = 3;
        let crc = crc32c::crc32c(&bytes[..60]);
        bytes[60..64].copy_from_slice(&crc.to_le_bytes());
    });
    for mode in [PointInTime, SkipAnyCorrupted, AbsoluteConsistency] {
        let refused = recover(&Env::os(), &dead.dir, mode).unwrap_err();
        assert!(matches!(refused, Error::TooNew { found: 3, supported: 2, .. }), "{refused}");
    }
}

#[test]
fn a_directory_that_is_no_writer_s_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let refused = recover(&Env::os(), dir.path(), PointInTime).unwrap_err();
    assert!(matches!(refused, Error::InvalidArgument(_)), "{refused}");
    let none = recover(&Env::os(), &dir.path().join("00000000000000aa"), PointInTime).unwrap();
    assert_eq!(none.segments.len(), 0);
}

#[derive(Clone, Debug)]
enum Edit {
    Set(prop::sample::Index, u8),
    Zero(prop::sample::Index, usize),
    Truncate(prop::sample::Index),
    Copy(prop::sample::Index, prop::sample::Index, usize),
    Replace(Vec<u8>),
    Remove,
}

fn edit() -> impl Strategy<Value = Edit> {
    let at = any::<prop::sample::Index>;
    prop_oneof![
        4 => (at(), any::<u8>()).prop_map(|(i, b)| Edit::Set(i, b)),
        2 => (at(), 0..5000usize).prop_map(|(i, n)| Edit::Zero(i, n)),
        1 => at().prop_map(Edit::Truncate),
        2 => (at(), at(), 0..900usize).prop_map(|(i, j, n)| Edit::Copy(i, j, n)),
        1 => prop::collection::vec(any::<u8>(), 0..6000).prop_map(Edit::Replace),
        1 => Just(Edit::Remove),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn whatever_the_bytes_no_record_is_made_up(
        edits in prop::collection::vec((1..=3u64, edit()), 1..5),
    ) {
        let dead = Dead::after(|wal, appended| {
            append(wal, appended, 10);
            wal.sync().unwrap();
            append(wal, appended, 5);
            wal.rotate().unwrap();
            append(wal, appended, 10);
            wal.rotate().unwrap();
            append(wal, appended, 7);
        });
        for (number, edit) in edits {
            if !Env::os().fs.exists(&dead.path(number)).unwrap() {
                continue;
            }
            match edit {
                Edit::Remove => dead.remove(number),
                Edit::Replace(bytes) => write(&dead.path(number), &bytes),
                other => dead.edit(number, |bytes| {
                    // Most of a live segment is zeros; hit what is written.
                    let used = bytes.iter().rposition(|b| *b != 0).map_or(0, |last| last + 1);
                    if used == 0 {
                        return;
                    }
                    match other {
                        Edit::Set(at, byte) => bytes[at.index(used)] = byte,
                        Edit::Zero(at, len) => {
                            let start = at.index(used);
                            let end = (start + len).min(bytes.len());
                            bytes[start..end].fill(0);
                        }
                        Edit::Truncate(at) => bytes.truncate(at.index(used)),
                        Edit::Copy(from, to, len) => {
                            let (from, to) = (from.index(used), to.index(used));
                            let len = len.min(used - from.max(to));
                            bytes.copy_within(from..from + len, to);
                        }
                        Edit::Replace(_) | Edit::Remove => unreachable!(),
                    }
                }),
            }
        }
        let mut offers = vec![];
        for mode in [PointInTime, SkipAnyCorrupted] {
            let recovered = match recover(&Env::os(), &dead.dir, mode) {
                Ok(recovered) => recovered,
                Err(e) => return Err(TestCaseError::fail(e.to_string())),
            };
            let found = offered(&recovered);
            let mut genuine = dead.appended.iter();
            prop_assert!(found.iter().all(|r| genuine.any(|g| g == r)));
            offers.push(found);
        }
        prop_assert!(offers[1].len() >= offers[0].len());
        if let Ok(recovered) = dead.strict() {
            // Whole segments may be gone without a trace at either end, but nowhere else.
            let found = offered(&recovered);
            prop_assert!(found.is_empty() || dead.appended.windows(found.len()).any(|w| w == found));
        }
        // And a reader that knows nothing of a crash ends or complains.
        for number in 1..=3 {
            if let Ok(Some(reader)) = duramen_engine::wal::SegmentReader::open(&Env::os(), &dead.path(number)) {
                let mut at = reader.start();
                while let Ok(Some((record, next))) = reader.next_record(at) {
                    prop_assert!(dead.appended.iter().any(|w| w.seq == record.seq && w.payload == record.payload));
                    prop_assert!(next > at);
                    at = next;
                }
            }
        }
    }
}
