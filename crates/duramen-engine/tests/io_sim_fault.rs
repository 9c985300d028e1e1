//! Each fault and each condition of the simulated world, and the trace.
#![allow(unsafe_code)] // to write segments' memory, in one thread
#![allow(clippy::unwrap_used, clippy::panic)] // all of this is test

use duramen_engine::io::sim::{Fault, OperationKind, Sim};
use duramen_engine::io::{File, Fs, OpenMode, Segment};
use rustix::io::Errno;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::Arc;

fn fs(sim: &Sim) -> Arc<dyn Fs> {
    sim.env().fs
}

fn create(sim: &Sim, path: &str) -> Arc<dyn File> {
    fs(sim).open(Path::new(path), OpenMode::CreateNew).unwrap()
}

fn content(sim: &Sim, path: &str) -> Vec<u8> {
    sim.read_file(Path::new(path)).unwrap()
}

fn fail_next(sim: &Sim, fault: Fault) {
    sim.fail_at(sim.operations(), fault);
}

fn kind<T>(outcome: io::Result<T>) -> ErrorKind {
    outcome.err().unwrap().kind()
}

fn is<T>(outcome: io::Result<T>, errno: Errno) -> bool {
    outcome.err().unwrap().raw_os_error() == Some(errno.raw_os_error())
}

fn write(segment: &dyn Segment, offset: usize, bytes: &[u8]) {
    // SAFETY: the test's one thread holds no slice of the memory.
    unsafe { segment.memory().write(offset, bytes) }
}

#[test]
fn the_trace_shows_every_operation_in_order() {
    let sim = Sim::new(1);
    let fs = fs(&sim);
    fs.create_dir_all(Path::new("/wal")).unwrap();
    let file = create(&sim, "wal/./tmp");
    file.write_all_at(b"0123", 4).unwrap();
    file.read_exact_at(&mut [0; 8], 0).unwrap();
    file.set_len(2).unwrap();
    file.len().unwrap();
    file.sync_data().unwrap();
    fs.rename(Path::new("wal/tmp"), Path::new("wal/1")).unwrap();
    fs.sync_dir(Path::new("wal")).unwrap();
    let _lock = fs.try_lock(Path::new("lock")).unwrap();
    let segment = fs.create_segment(Path::new("wal/2"), 8192).unwrap();
    write(&*segment, 0, b"no operation");
    segment.publish(0, 12).unwrap();
    segment.sync(0, 12).unwrap();
    segment.truncate(12).unwrap();
    let apart = fs.create_unmapped_segment(Path::new("wal/3"), 8192).unwrap();
    apart.publish(0, 12).unwrap();
    fs.open_segment(Path::new("wal/2")).unwrap();
    fs.hard_link(Path::new("wal/2"), Path::new("wal/4")).unwrap();
    fs.remove_file(Path::new("wal/2")).unwrap();
    fs.read_dir(Path::new("wal")).unwrap();
    fs.exists(Path::new("wal/2")).unwrap();
    let _fails = fs.open(Path::new("wal/2"), OpenMode::Read);
    let _fails = fs.open(Path::new("wal"), OpenMode::ReadWrite);
    let _fails = fs.remove_dir(Path::new("wal"));
    fs.sync_dir(Path::new("/")).unwrap();
    let expected = "\
create_dir_all wal
create wal/tmp
write wal/tmp 4..8
read wal/tmp 0..8
set_len wal/tmp 2
len wal/tmp
sync wal/tmp
rename wal/tmp wal/1
sync_dir wal
lock lock
create_segment wal/2 8192
sync wal/2 0..12
truncate wal/2 12
create_unmapped_segment wal/3 8192
publish wal/3 0..12
open_segment wal/2
link wal/2 wal/4
remove wal/2
read_dir wal
exists wal/2
open wal/2 -> NotFound
open_write wal -> IsADirectory
remove_dir wal -> DirectoryNotEmpty
sync_dir /";
    assert_eq!(sim.trace().join("\n"), expected);
    assert_eq!(sim.operations(), 24);
    assert_eq!(sim.indices_of(OperationKind::Sync), [6, 11]);
}

#[test]
fn a_crash_stops_everything_at_its_operation() {
    let sim = Sim::new(1);
    let file = create(&sim, "a");
    fail_next(&sim, Fault::Crash);
    assert!(file.write_at(b"x", 0).is_err());
    assert!(sim.is_halted());
    assert!(file.len().is_err());
    assert!(sim.env().fs.exists(Path::new("a")).is_err());
    assert_eq!(sim.operations(), 2, "what comes after is not counted");
    sim.crash_process();
    assert!(fs(&sim).exists(Path::new("a")).unwrap());
    assert!(content(&sim, "a").is_empty());
}

#[test]
fn a_torn_write_leaves_a_prefix_of_what_was_written() {
    let mut lens = std::collections::BTreeSet::new();
    for seed in 0..20 {
        let sim = Sim::new(seed);
        let file = create(&sim, "a");
        let apart = fs(&sim).create_unmapped_segment(Path::new("b"), 4096).unwrap();
        write(&*apart, 0, &[1; 4096]);
        fail_next(&sim, Fault::TornWrite);
        if seed % 2 == 0 {
            assert!(file.write_all_at(b"0123456789", 0).is_err());
        } else {
            assert!(apart.publish(0, 4096).is_err());
        }
        assert!(sim.is_halted());
        sim.crash_process();
        let (a, b) = (content(&sim, "a"), content(&sim, "b"));
        assert!(a.len() < 10 && b"0123456789".starts_with(&a));
        let published = b.iter().take_while(|byte| **byte == 1).count();
        assert!(published < 4096 && b[published..].iter().all(|byte| *byte == 0));
        lens.insert((a.len(), published));
    }
    assert!(lens.len() > 10, "{lens:?}");
}

#[test]
fn a_short_write_takes_a_part_and_says_so() {
    let sim = Sim::new(1);
    let file = create(&sim, "a");
    fail_next(&sim, Fault::ShortWrite);
    let n = file.write_at(b"0123456789", 0).unwrap();
    assert!((1..10).contains(&n));
    assert_eq!(content(&sim, "a"), b"0123456789"[..n]);
    fail_next(&sim, Fault::ShortWrite);
    file.write_all_at(b"0123456789", 0).unwrap();
    assert_eq!(content(&sim, "a"), b"0123456789");
    assert_eq!(sim.faults_struck().len(), 2);
}

#[test]
fn faults_strike_only_operations_that_can_suffer_them() {
    let sim = Sim::new(1);
    let file = create(&sim, "a");
    for fault in [Fault::SyncFailed, Fault::ReadError, Fault::TooManyFiles, Fault::FlipBit] {
        fail_next(&sim, fault);
        file.write_all_at(b"x", 0).unwrap();
    }
    for fault in [Fault::NoSpace, Fault::ShortWrite] {
        fail_next(&sim, fault);
        file.sync_data().unwrap();
    }
    assert!(sim.faults_struck().is_empty());
}

#[test]
fn no_space_and_no_descriptors_strike_once_and_change_nothing() {
    let sim = Sim::new(1);
    let fs = fs(&sim);
    let path = Path::new("a");
    fail_next(&sim, Fault::NoSpace);
    assert_eq!(kind(fs.create_segment(path, 4096)), ErrorKind::StorageFull);
    fail_next(&sim, Fault::TooManyFiles);
    assert!(is(fs.open(path, OpenMode::CreateNew), Errno::MFILE));
    fail_next(&sim, Fault::TooManyFiles);
    assert!(is(fs.try_lock(path), Errno::MFILE));
    assert!(sim.files().is_empty());
    let file = create(&sim, "a");
    fail_next(&sim, Fault::NoSpace);
    assert_eq!(kind(file.write_at(b"x", 0)), ErrorKind::StorageFull);
    assert!(content(&sim, "a").is_empty());
    file.write_all_at(b"x", 0).unwrap();
}

#[test]
fn a_failed_sync_makes_blocks_clean_that_are_not_durable() {
    let sim = Sim::new(1);
    let file = create(&sim, "a");
    file.write_all_at(&[1; 3 * 4096], 0).unwrap();
    sim.sync_all();
    file.write_all_at(&[2; 3 * 4096], 0).unwrap();
    fail_next(&sim, Fault::SyncFailed);
    assert!(is(file.sync_data(), Errno::IO));
    file.write_all_at(&[2; 10], 4096).unwrap(); // the same bytes, but the block is dirty again
    file.sync_data().unwrap();
    assert_eq!(content(&sim, "a"), [2; 3 * 4096], "readers see no difference");
    sim.crash_power_keeping(0);
    let blocks: Vec<u8> = content(&sim, "a").chunks(4096).map(|block| block[0]).collect();
    assert_eq!(blocks, [1, 2, 1]);
}

#[test]
fn a_failed_segment_sync_covers_its_range() {
    let sim = Sim::new(1);
    let segment = fs(&sim).create_segment(Path::new("a"), 3 * 4096).unwrap();
    sim.sync_all();
    write(&*segment, 0, &[1; 3 * 4096]);
    fail_next(&sim, Fault::SyncFailed);
    assert!(is(segment.sync(0, 2 * 4096), Errno::IO));
    write(&*segment, 0, &[2; 10]); // dirties the first block again
    segment.sync(0, 3 * 4096).unwrap();
    sim.crash_power_keeping(0);
    let blocks: Vec<u8> = content(&sim, "a").chunks(4096).map(|block| block[0]).collect();
    assert_eq!(blocks, [2, 0, 1]);
}

#[test]
fn a_failed_directory_sync_leaves_the_names_unsynced() {
    let sim = Sim::new(1);
    create(&sim, "a");
    fail_next(&sim, Fault::SyncFailed);
    assert!(is(fs(&sim).sync_dir(Path::new("/")), Errno::IO));
    fs(&sim).sync_dir(Path::new("/")).unwrap();
    sim.crash_power_keeping(0);
    assert_eq!(sim.files(), ["a"]);
}

#[test]
fn reads_fail_or_flip_a_bit_without_harm_to_the_file() {
    let sim = Sim::new(1);
    let file = create(&sim, "a");
    file.write_all_at(&[0; 100], 0).unwrap();
    let mut buf = [0; 100];
    fail_next(&sim, Fault::ReadError);
    assert!(is(file.read_at(&mut buf, 0), Errno::IO));
    fail_next(&sim, Fault::ReadError);
    assert!(is(fs(&sim).read_dir(Path::new("/")), Errno::IO));
    fail_next(&sim, Fault::FlipBit);
    file.read_exact_at(&mut buf, 0).unwrap();
    assert_eq!(buf.iter().map(|byte| byte.count_ones()).sum::<u32>(), 1);
    assert_eq!(content(&sim, "a"), [0; 100]);
}

#[test]
fn a_flipped_bit_on_disk_is_seen_by_all_and_survives() {
    let sim = Sim::new(1);
    let segment = fs(&sim).create_segment(Path::new("a"), 8192).unwrap();
    sim.sync_all();
    sim.flip_bit(Path::new("a"), 5000 * 8 + 3).unwrap();
    // SAFETY: nothing writes meanwhile.
    assert_eq!(unsafe { segment.memory().slice(5000, 1) }, [8]);
    sim.crash_power_keeping(0);
    let mut expected = vec![0; 8192];
    expected[5000] = 8;
    assert_eq!(content(&sim, "a"), expected);
    assert_eq!(kind(sim.flip_bit(Path::new("a"), 8192 * 8)), ErrorKind::InvalidInput);
    assert_eq!(kind(sim.flip_bit(Path::new("b"), 0)), ErrorKind::NotFound);
}

#[test]
fn a_full_disk_takes_what_fits_and_heals() {
    let sim = Sim::new(1);
    let fs = fs(&sim);
    sim.set_capacity_bytes(Some(4 * 4096));
    let file = create(&sim, "a");
    file.write_all_at(&[1; 4096], 0).unwrap();
    assert_eq!(kind(fs.create_segment(Path::new("b"), 4 * 4096)), ErrorKind::StorageFull);
    assert!(!fs.exists(Path::new("b")).unwrap());
    let segment = fs.create_segment(Path::new("b"), 2 * 4096).unwrap();
    assert_eq!(sim.used_bytes(), 3 * 4096);
    assert_eq!(file.write_at(&[2; 10_000], 4096).unwrap(), 4096, "as much as fits");
    assert_eq!(kind(file.write_at(&[2; 10_000], 8192)), ErrorKind::StorageFull);
    file.write_all_at(&[3; 8192], 0).unwrap();

    fs.remove_file(Path::new("b")).unwrap();
    assert_eq!(kind(file.write_all_at(&[4; 10], 8192)), ErrorKind::StorageFull, "it is still open");
    drop(segment);
    file.write_all_at(&[4; 10], 8192).unwrap();
    let apart = fs.create_unmapped_segment(Path::new("c"), 3 * 4096).unwrap();
    assert_eq!(kind(apart.publish(0, 3 * 4096)), ErrorKind::StorageFull, "it reserved nothing");
    sim.set_capacity_bytes(None);
    apart.publish(0, 3 * 4096).unwrap();
    assert_eq!(sim.used_bytes(), 6 * 4096);
    apart.truncate(1).unwrap();
    assert_eq!(sim.used_bytes(), 4 * 4096);
    fs.create_segment(Path::new("d"), 8 * 4096).unwrap().truncate(4097).unwrap();
    assert_eq!(sim.used_bytes(), 6 * 4096);
}

#[test]
fn descriptors_run_out_and_come_back() {
    let sim = Sim::new(1);
    let fs = fs(&sim);
    sim.set_max_open_files(Some(2));
    let a = create(&sim, "a");
    let lock = fs.try_lock(Path::new("lock")).unwrap();
    assert!(is(fs.create_segment(Path::new("b"), 4096), Errno::MFILE));
    assert!(is(fs.open(Path::new("a"), OpenMode::Read), Errno::MFILE));
    assert!(is(fs.read_dir(Path::new("/")), Errno::MFILE));
    assert_eq!((sim.open_files(), sim.files().len()), (2, 2));
    drop(a);
    fs.sync_dir(Path::new("/")).unwrap();
    let _b = fs.create_segment(Path::new("b"), 4096).unwrap();
    drop(lock);
    let _a = fs.open(Path::new("a"), OpenMode::Read).unwrap();
    let other = sim.spawn_process();
    other.env().fs.open(Path::new("a"), OpenMode::Read).unwrap();
}

#[test]
fn a_file_system_that_does_not_map_says_unsupported() {
    let sim = Sim::new(1);
    let fs = fs(&sim);
    sim.refuse_mapping(true);
    assert_eq!(kind(fs.create_segment(Path::new("a"), 4096)), ErrorKind::Unsupported);
    assert!(sim.files().is_empty());
    let apart = fs.create_unmapped_segment(Path::new("a"), 4096).unwrap();
    apart.publish(0, 1).unwrap();
    assert_eq!(kind(fs.open_segment(Path::new("a"))), ErrorKind::Unsupported);
    sim.refuse_mapping(false);
    sim.refuse_reserving(true);
    assert_eq!(kind(fs.create_segment(Path::new("b"), 4096)), ErrorKind::Unsupported);
    fs.open_segment(Path::new("a")).unwrap();
    sim.refuse_reserving(false);
    fs.create_segment(Path::new("b"), 4096).unwrap();
}

#[test]
fn a_read_only_disk_is_read_and_not_changed() {
    let sim = Sim::new(1);
    let fs = fs(&sim);
    let (a, d) = (Path::new("a"), Path::new("d"));
    let file = create(&sim, "a");
    let segment = fs.create_segment(Path::new("s"), 4096).unwrap();
    file.write_all_at(b"x", 0).unwrap();
    fs.create_dir_all(d).unwrap();
    sim.set_read_only(true);
    for refused in [
        file.write_at(b"y", 0).map(drop),
        file.set_len(0),
        segment.truncate(1),
        fs.open(Path::new("b"), OpenMode::CreateNew).map(drop),
        fs.open(a, OpenMode::ReadWrite).map(drop),
        fs.create_segment(Path::new("b"), 4096).map(drop),
        fs.create_dir_all(&d.join("e")),
        fs.rename(a, Path::new("b")),
        fs.remove_file(a),
        fs.remove_dir(d),
        fs.hard_link(a, Path::new("b")),
        fs.try_lock(a).map(drop),
    ] {
        assert_eq!(kind(refused), ErrorKind::ReadOnlyFilesystem);
    }
    fs.create_dir_all(d).unwrap();
    assert_eq!(fs.read_dir(Path::new("/")).unwrap().len(), 3);
    assert_eq!(fs.open(a, OpenMode::Read).unwrap().read_at(&mut [0; 9], 0).unwrap(), 1);
    sim.set_read_only(false);
    fs.remove_file(a).unwrap();
}

#[test]
fn a_mapped_file_does_not_grow_and_keeps_its_bytes() {
    let sim = Sim::new(1);
    let segment = fs(&sim).create_segment(Path::new("a"), 4096).unwrap();
    write(&*segment, 0, b"kept");
    let file = fs(&sim).open(Path::new("a"), OpenMode::ReadWrite).unwrap();
    assert_eq!(kind(file.write_at(b"x", 4096)), ErrorKind::Unsupported);
    assert_eq!(content(&sim, "a")[..4], *b"kept");
    drop(segment);
    file.write_all_at(b"x", 4096).unwrap();
    assert_eq!(content(&sim, "a").len(), 4097);
    assert_eq!(content(&sim, "a")[..4], *b"kept");
}

#[test]
fn lengths_out_of_reason_are_errors() {
    let sim = Sim::new(1);
    let file = create(&sim, "a");
    assert_eq!(kind(file.set_len(u64::MAX)), ErrorKind::FileTooLarge);
    assert_eq!(kind(file.write_at(b"xy", u64::MAX)), ErrorKind::FileTooLarge);
    assert_eq!(kind(fs(&sim).create_segment(Path::new("b"), usize::MAX)), ErrorKind::FileTooLarge);
    assert_eq!(sim.files(), ["a"]);
}
