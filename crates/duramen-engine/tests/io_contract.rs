//! What every file system promises: the operating system's and the simulated one are held to the same.
#![allow(unsafe_code)] // to write and read segments' memory, each in one thread
#![allow(clippy::unwrap_used, clippy::panic)] // all of this is test

use duramen_engine::io::sim::Sim;
use duramen_engine::io::{Env, Fs, OpenMode, Segment};
use std::io::ErrorKind;
use std::path::Path;
use std::sync::atomic::Ordering;

/// Runs each test in an empty directory of either file system.
macro_rules! contract {
    ($($(#[doc = $doc:literal])* fn $name:ident($fs:ident, $dir:ident) $body:block)*) => {
        $($(#[doc = $doc])* fn $name($fs: &dyn Fs, $dir: &Path) $body)*

        mod os {
            $(#[test] fn $name() {
                let dir = tempfile::tempdir().unwrap();
                super::$name(&*super::Env::os().fs, dir.path());
            })*
        }

        mod sim {
            $(#[test] fn $name() {
                let fs = super::Sim::new(1).env().fs;
                let dir = std::path::Path::new("/some/dir");
                fs.create_dir_all(dir).unwrap();
                super::$name(&*fs, dir);
            })*
        }
    };
}

fn put(fs: &dyn Fs, path: &Path, bytes: &[u8]) {
    fs.open(path, OpenMode::CreateNew).unwrap().write_all_at(bytes, 0).unwrap();
}

fn get(fs: &dyn Fs, path: &Path) -> Vec<u8> {
    let file = fs.open(path, OpenMode::Read).unwrap();
    let mut bytes = vec![0; file.len().unwrap() as usize];
    file.read_exact_at(&mut bytes, 0).unwrap();
    bytes
}

fn kind<T>(outcome: std::io::Result<T>) -> ErrorKind {
    match outcome {
        Ok(_) => panic!("it should have failed"),
        Err(e) => e.kind(),
    }
}

fn write(segment: &dyn Segment, offset: usize, bytes: &[u8]) {
    // SAFETY: the test's one thread holds no slice of the memory.
    unsafe { segment.memory().write(offset, bytes) }
}

fn read(segment: &dyn Segment, offset: usize, len: usize) -> Vec<u8> {
    // SAFETY: the test's one thread writes nothing meanwhile.
    unsafe { segment.memory().slice(offset, len) }.to_vec()
}

contract! {
    fn opening_wants_what_is_not_there(fs, dir) {
        let path = dir.join("a");
        assert_eq!(kind(fs.open(&path, OpenMode::Read)), ErrorKind::NotFound);
        assert_eq!(kind(fs.open(&path, OpenMode::ReadWrite)), ErrorKind::NotFound);
        assert_eq!(kind(fs.open(&dir.join("no/a"), OpenMode::CreateNew)), ErrorKind::NotFound);
        assert!(!fs.exists(&path).unwrap());
    }

    fn the_space_that_is_left_is_told_of_what_exists(fs, dir) {
        assert!(fs.available_bytes(dir).unwrap() > 0);
        assert_eq!(kind(fs.available_bytes(&dir.join("a"))), ErrorKind::NotFound);
    }

    fn what_will_be_read_may_be_anything(fs, dir) {
        put(fs, &dir.join("a"), b"some bytes");
        let file = fs.open(&dir.join("a"), OpenMode::Read).unwrap();
        for (offset, len) in [(0, 10), (3, 0), (5, 1000), (1000, 1), (u64::MAX, u64::MAX)] {
            file.will_read(offset, len);
        }
        assert_eq!(get(fs, &dir.join("a")), b"some bytes");
    }

    fn creating_new_refuses_an_existing_file_and_keeps_it(fs, dir) {
        let path = dir.join("a");
        put(fs, &path, b"mine");
        assert_eq!(kind(fs.open(&path, OpenMode::CreateNew)), ErrorKind::AlreadyExists);
        assert_eq!(kind(fs.create_segment(&path, 4096)), ErrorKind::AlreadyExists);
        assert_eq!(kind(fs.create_unmapped_segment(&path, 4096)), ErrorKind::AlreadyExists);
        assert_eq!(get(fs, &path), b"mine");
    }

    fn a_file_opened_for_reading_refuses_changes(fs, dir) {
        let path = dir.join("a");
        put(fs, &path, b"mine");
        let file = fs.open(&path, OpenMode::Read).unwrap();
        let refused = file.write_at(b"x", 0).unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(rustix::io::Errno::BADF.raw_os_error()));
        assert_eq!(kind(file.set_len(0)), ErrorKind::InvalidInput);
        file.sync_data().unwrap();
        assert_eq!(get(fs, &path), b"mine");
    }

    fn reading_stops_at_the_end(fs, dir) {
        let path = dir.join("a");
        put(fs, &path, b"0123456789");
        let file = fs.open(&path, OpenMode::Read).unwrap();
        let mut buf = [0xFF; 8];
        assert_eq!(file.read_at(&mut buf, 6).unwrap(), 4);
        assert_eq!(&buf, b"6789\xFF\xFF\xFF\xFF");
        assert_eq!(file.read_at(&mut buf, 10).unwrap(), 0);
        assert_eq!(file.read_at(&mut buf, 1 << 40).unwrap(), 0);
        assert_eq!(kind(file.read_exact_at(&mut buf, 6)), ErrorKind::UnexpectedEof);
        assert!(!file.is_empty().unwrap());
    }

    fn writing_extends_and_fills_gaps_with_zeros(fs, dir) {
        let path = dir.join("a");
        let file = fs.open(&path, OpenMode::CreateNew).unwrap();
        assert!(file.is_empty().unwrap());
        file.write_all_at(b"end", 5000).unwrap();
        file.write_all_at(b"begin", 0).unwrap();
        assert_eq!(file.write_at(b"", 9000).unwrap(), 0);
        assert_eq!(file.len().unwrap(), 5003);
        let bytes = get(fs, &path);
        assert_eq!((&bytes[..5], &bytes[5000..]), (&b"begin"[..], &b"end"[..]));
        assert!(bytes[5..5000].iter().all(|byte| *byte == 0));
    }

    fn set_len_cuts_and_extends_with_zeros(fs, dir) {
        let path = dir.join("a");
        put(fs, &path, b"0123456789");
        let file = fs.open(&path, OpenMode::ReadWrite).unwrap();
        file.set_len(4).unwrap();
        file.set_len(8).unwrap();
        assert_eq!(get(fs, &path), b"0123\0\0\0\0");
        file.set_len(0).unwrap();
        assert_eq!(file.len().unwrap(), 0);
    }

    fn open_files_see_each_others_writes(fs, dir) {
        let path = dir.join("a");
        put(fs, &path, b"old");
        let reader = fs.open(&path, OpenMode::Read).unwrap();
        fs.open(&path, OpenMode::ReadWrite).unwrap().write_all_at(b"new!", 0).unwrap();
        let mut buf = [0; 4];
        reader.read_exact_at(&mut buf, 0).unwrap();
        assert_eq!(&buf, b"new!");
    }

    fn renaming_replaces_and_open_files_follow_their_bytes(fs, dir) {
        let (a, b) = (dir.join("a"), dir.join("b"));
        put(fs, &a, b"first");
        put(fs, &b, b"second");
        let (of_a, of_b) = (fs.open(&a, OpenMode::ReadWrite).unwrap(), fs.open(&b, OpenMode::Read).unwrap());
        fs.rename(&a, &b).unwrap();
        assert!(!fs.exists(&a).unwrap());
        of_a.write_all_at(b"F", 0).unwrap();
        assert_eq!(get(fs, &b), b"First");
        let mut buf = [0; 6];
        of_b.read_exact_at(&mut buf, 0).unwrap();
        assert_eq!(&buf, b"second");
        assert_eq!(kind(fs.rename(&a, &b)), ErrorKind::NotFound);
        fs.rename(&b, &b).unwrap();
        assert_eq!(get(fs, &b), b"First");
    }

    fn files_move_between_directories(fs, dir) {
        let sub = dir.join("sub");
        fs.create_dir_all(&sub).unwrap();
        put(fs, &dir.join("a"), b"moved");
        fs.rename(&dir.join("a"), &sub.join("b")).unwrap();
        assert_eq!(get(fs, &sub.join("b")), b"moved");
        assert_eq!(kind(fs.rename(&sub.join("b"), &dir.join("no/b"))), ErrorKind::NotFound);
    }

    fn directories_and_files_do_not_replace_each_other(fs, dir) {
        let (file, full, empty) = (dir.join("file"), dir.join("full"), dir.join("empty"));
        put(fs, &file, b"x");
        fs.create_dir_all(&full.join("inner")).unwrap();
        fs.create_dir_all(&empty).unwrap();
        assert_eq!(kind(fs.rename(&file, &empty)), ErrorKind::IsADirectory);
        assert_eq!(kind(fs.rename(&empty, &file)), ErrorKind::NotADirectory);
        assert_eq!(kind(fs.rename(&empty, &full)), ErrorKind::DirectoryNotEmpty);
        assert_eq!(kind(fs.rename(&full, &full.join("inner/deeper"))), ErrorKind::InvalidInput);
        fs.rename(&full, &empty).unwrap();
        assert!(fs.exists(&empty.join("inner")).unwrap());
    }

    fn a_hard_link_is_the_same_file(fs, dir) {
        let (a, b) = (dir.join("a"), dir.join("b"));
        put(fs, &a, b"one");
        fs.hard_link(&a, &b).unwrap();
        fs.open(&b, OpenMode::ReadWrite).unwrap().write_all_at(b"two", 0).unwrap();
        assert_eq!(get(fs, &a), b"two");
        assert_eq!(kind(fs.hard_link(&a, &b)), ErrorKind::AlreadyExists);
        assert_eq!(kind(fs.hard_link(&dir.join("no"), &dir.join("c"))), ErrorKind::NotFound);
        assert_eq!(kind(fs.hard_link(dir, &dir.join("c"))), ErrorKind::PermissionDenied);
        fs.rename(&a, &b).unwrap();
        assert!(fs.exists(&a).unwrap(), "renaming between two names of one file does nothing");
        fs.remove_file(&a).unwrap();
        assert_eq!(get(fs, &b), b"two");
    }

    fn a_removed_file_lives_on_for_those_who_have_it(fs, dir) {
        let path = dir.join("a");
        put(fs, &path, b"first");
        let file = fs.open(&path, OpenMode::ReadWrite).unwrap();
        fs.remove_file(&path).unwrap();
        put(fs, &path, b"second");
        file.write_all_at(b"F", 0).unwrap();
        let mut buf = [0; 5];
        file.read_exact_at(&mut buf, 0).unwrap();
        assert_eq!(&buf, b"First");
        assert_eq!(get(fs, &path), b"second");
    }

    fn removing_wants_the_right_kind_of_thing(fs, dir) {
        let (file, sub) = (dir.join("file"), dir.join("sub"));
        put(fs, &file, b"x");
        fs.create_dir_all(&sub.join("inner")).unwrap();
        assert_eq!(kind(fs.remove_file(&dir.join("no"))), ErrorKind::NotFound);
        assert_eq!(kind(fs.remove_dir(&dir.join("no"))), ErrorKind::NotFound);
        assert_eq!(kind(fs.remove_file(&sub)), ErrorKind::IsADirectory);
        assert_eq!(kind(fs.remove_dir(&file)), ErrorKind::NotADirectory);
        assert_eq!(kind(fs.remove_dir(&sub)), ErrorKind::DirectoryNotEmpty);
        fs.remove_dir(&sub.join("inner")).unwrap();
        fs.remove_dir(&sub).unwrap();
        assert!(!fs.exists(&sub).unwrap());
    }

    fn directories_are_created_with_their_parents_and_listed(fs, dir) {
        fs.create_dir_all(&dir.join("x/y")).unwrap();
        fs.create_dir_all(&dir.join("x/y")).unwrap();
        put(fs, &dir.join("x/file"), b"12345");
        let mut entries = fs.read_dir(&dir.join("x")).unwrap();
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        let shown: Vec<_> = entries.iter().map(|e| (e.name.as_str(), e.is_dir)).collect();
        assert_eq!(shown, [("file", false), ("y", true)]);
        assert_eq!(entries[0].len, 5);
        fs.sync_dir(&dir.join("x")).unwrap();
        assert!(fs.read_dir(&dir.join("x/y")).unwrap().is_empty());
        assert_eq!(kind(fs.read_dir(&dir.join("no"))), ErrorKind::NotFound);
        assert_eq!(kind(fs.read_dir(&dir.join("x/file"))), ErrorKind::NotADirectory);
        assert_eq!(kind(fs.sync_dir(&dir.join("no"))), ErrorKind::NotFound);
    }

    fn a_file_is_no_directory(fs, dir) {
        put(fs, &dir.join("file"), b"x");
        let below = dir.join("file/below");
        assert_eq!(kind(fs.open(&below, OpenMode::Read)), ErrorKind::NotADirectory);
        assert_eq!(kind(fs.open(&below, OpenMode::CreateNew)), ErrorKind::NotADirectory);
        assert_eq!(kind(fs.create_dir_all(&below)), ErrorKind::NotADirectory);
        assert_eq!(kind(fs.create_dir_all(&dir.join("file"))), ErrorKind::AlreadyExists);
        assert_eq!(kind(fs.exists(&below)), ErrorKind::NotADirectory);
        assert_eq!(kind(fs.open(dir, OpenMode::ReadWrite)), ErrorKind::IsADirectory);
    }

    fn a_lock_is_held_once_and_falls_when_dropped(fs, dir) {
        let path = dir.join("lock");
        let held = fs.try_lock(&path).unwrap();
        assert!(held.is_some());
        assert!(fs.exists(&path).unwrap());
        assert!(fs.try_lock(&path).unwrap().is_none());
        assert!(fs.try_lock(&dir.join("other")).unwrap().is_some());
        drop(held);
        assert!(fs.try_lock(&path).unwrap().is_some());
    }

    fn shared_locks_go_together_and_keep_the_exclusive_one_out(fs, dir) {
        let path = dir.join("lock");
        assert_eq!(fs.try_lock_shared(&path).unwrap_err().kind(), ErrorKind::NotFound);
        drop(fs.try_lock(&path).unwrap());
        let one = fs.try_lock_shared(&path).unwrap().unwrap();
        let two = fs.try_lock_shared(&path).unwrap().unwrap();
        assert!(fs.try_lock(&path).unwrap().is_none());
        drop(one);
        assert!(fs.try_lock(&path).unwrap().is_none());
        drop(two);
        let exclusive = fs.try_lock(&path).unwrap().unwrap();
        assert!(fs.try_lock_shared(&path).unwrap().is_none());
        drop(exclusive);
        assert!(fs.try_lock_shared(&path).unwrap().is_some());
    }

    fn a_lock_is_on_the_file_and_not_on_its_name(fs, dir) {
        let path = dir.join("lock");
        put(fs, &path, b"kept");
        let held = fs.try_lock(&path).unwrap();
        assert_eq!(get(fs, &path), b"kept");
        fs.hard_link(&path, &dir.join("alias")).unwrap();
        assert!(fs.try_lock(&dir.join("alias")).unwrap().is_none());
        fs.remove_file(&path).unwrap();
        assert!(fs.try_lock(&path).unwrap().is_some(), "a new file has a lock of its own");
        drop(held);
    }

    fn a_mapped_segment_is_its_file(fs, dir) {
        let path = dir.join("a");
        let segment = fs.create_segment(&path, 10_000).unwrap();
        assert!(segment.is_mapped());
        assert_eq!((segment.memory().len(), get(fs, &path)), (10_000, vec![0; 10_000]));
        let (reader, other) = (fs.open_segment(&path).unwrap(), fs.open_segment(&path).unwrap());
        write(&*segment, 9_000, b"hello");
        segment.memory().counter(8).store(0x0102_0304, Ordering::Release);
        for seen in [&reader, &other] {
            assert_eq!(read(&**seen, 9_000, 5), b"hello");
            assert_eq!(seen.memory().counter(8).load(Ordering::Acquire), 0x0102_0304);
        }
        assert_eq!(get(fs, &path)[9_000..9_005], *b"hello");
        fs.open(&path, OpenMode::ReadWrite).unwrap().write_all_at(b"J", 9_000).unwrap();
        assert_eq!(read(&*reader, 9_000, 5), b"Jello");
        assert!(get(fs, &path) == read(&*other, 0, 10_000));
    }

    fn what_a_call_writes_is_in_a_mapped_segments_memory(fs, dir) {
        let path = dir.join("a");
        let segment = fs.create_segment(&path, 10_000).unwrap();
        let reader = fs.open_segment(&path).unwrap();
        write(&*segment, 4_000, b"hello");
        segment.sync(0, 10_000).unwrap();
        if let Err(e) = segment.write_by_call(4_005, b" world") {
            assert_eq!((e.kind(), cfg!(target_os = "linux")), (ErrorKind::Unsupported, false));
            write(&*segment, 4_005, b" world");
        }
        for seen in [&segment, &reader] {
            assert_eq!(read(&**seen, 4_000, 11), b"hello world");
        }
        assert_eq!(get(fs, &path)[4_000..4_011], *b"hello world");
        assert_eq!(kind(segment.write_by_call(9_999, b"xy")), ErrorKind::InvalidInput);
        assert_eq!(kind(segment.write_by_call(usize::MAX, b"xy")), ErrorKind::InvalidInput);
        assert_eq!(kind(reader.write_by_call(0, b"x")), ErrorKind::Unsupported);
        let unmapped = fs.create_unmapped_segment(&dir.join("unmapped"), 10_000).unwrap();
        assert_eq!(kind(unmapped.write_by_call(0, b"x")), ErrorKind::Unsupported);
    }

    fn a_segment_whose_memory_was_taken_at_once_is_zeros_like_any_other(fs, dir) {
        let (small, large) = (10_000, (1 << 20) + 10_000);
        for (name, len, most, piece) in [
            ("small", small, small, 256 << 10),
            ("large", large, large, 256 << 10),
            ("large, small pieces", large, large, 32 << 10),
            ("large, its start", large, 100_000, 32 << 10),
            ("large, more than it has", large, usize::MAX, 32 << 10),
            ("pieces of no length", large, large, 0),
            ("odd pieces", large, large, 50_000),
        ] {
            let path = dir.join(name);
            let segment = fs.create_segment(&path, len).unwrap();
            segment.fill(most, piece);
            assert!(get(fs, &path) == vec![0; len]);
            segment.prefault(0, len);
            write(&*segment, len - 9_000, b"hello");
            assert_eq!(read(&*fs.open_segment(&path).unwrap(), len - 9_000, 5), b"hello");
            // Nothing of it comes back later.
            assert!(get(fs, &path)[len - 9_000..].starts_with(b"hello"));
            assert_eq!(fs.read_dir(dir).unwrap().iter().find(|file| file.name == name).unwrap().len, len as u64);
        }
        let unmapped = fs.create_unmapped_segment(&dir.join("unmapped"), 10_000).unwrap();
        unmapped.fill(10_000, 4096);
        assert_eq!(read(&*unmapped, 0, 10_000), vec![0; 10_000]);
    }

    fn a_segment_whose_memory_was_given_back_is_as_it_was(fs, dir) {
        let path = dir.join("a");
        let segment = fs.create_segment(&path, 1 << 20).unwrap();
        segment.prefault(0, 1 << 20);
        write(&*segment, 0, &[1; 300_000]);
        segment.unload(4_096, 200_000);
        assert!(read(&*segment, 0, 300_000) == [1; 300_000]);
        write(&*segment, 100_000, &[2; 100]);
        segment.unload(0, usize::MAX);
        segment.unload(2 << 20, 1);
        let mut expected = vec![1; 300_000];
        expected[100_000..100_100].fill(2);
        assert!(read(&*segment, 0, 300_000) == expected);
        assert!(get(fs, &path)[..300_000] == expected);
        let unmapped = fs.create_unmapped_segment(&dir.join("unmapped"), 10_000).unwrap();
        write(&*unmapped, 5_000, b"hello");
        unmapped.unload(0, 10_000);
        assert_eq!(read(&*unmapped, 5_000, 5), b"hello");
    }

    fn a_segment_outlives_its_name_and_its_maker(fs, dir) {
        let path = dir.join("a");
        let segment = fs.create_segment(&path, 4096).unwrap();
        let reader = fs.open_segment(&path).unwrap();
        fs.rename(&path, &dir.join("b")).unwrap();
        fs.remove_file(&dir.join("b")).unwrap();
        write(&*segment, 0, b"still here");
        drop(segment);
        assert_eq!(read(&*reader, 0, 10), b"still here");
    }

    fn segments_sync_at_any_offset(fs, dir) {
        for (name, segment) in [
            ("mapped", fs.create_segment(&dir.join("mapped"), 20_000).unwrap()),
            ("unmapped", fs.create_unmapped_segment(&dir.join("unmapped"), 20_000).unwrap()),
        ] {
            write(&*segment, 4_090, &[7; 100]);
            segment.publish(4_090, 100).unwrap();
            for (offset, len) in [(0, 0), (1, 1), (4_090, 100), (4_097, 12_345), (19_999, 1), (20_000, 0)] {
                segment.sync(offset, len).unwrap_or_else(|e| panic!("{name} {offset}+{len}: {e}"));
            }
            for (offset, len) in [(0, 20_001), (20_001, 0), (5, usize::MAX)] {
                assert_eq!(kind(segment.sync(offset, len)), ErrorKind::InvalidInput);
                assert_eq!(kind(segment.publish(offset, len)), ErrorKind::InvalidInput);
            }
            assert_eq!(get(fs, &dir.join(name))[4_090..4_190], [7; 100]);
        }
        let reader = fs.open_segment(&dir.join("mapped")).unwrap();
        assert_eq!(kind(reader.sync(4_090, 100)), ErrorKind::InvalidInput);
        assert_eq!(kind(reader.sync_zeros(100)), ErrorKind::InvalidInput);
    }

    fn an_unmapped_segment_is_in_its_file_when_published(fs, dir) {
        let path = dir.join("a");
        let segment = fs.create_unmapped_segment(&path, 10_000).unwrap();
        assert!(!segment.is_mapped());
        write(&*segment, 4_000, &[1; 200]);
        assert_eq!(get(fs, &path), vec![0; 10_000]);
        let reader = fs.open_segment(&path).unwrap();
        segment.publish(4_000, 100).unwrap();
        let bytes = get(fs, &path);
        assert_eq!((&bytes[4_000..4_100], &bytes[4_100..4_200]), (&[1; 100][..], &[0; 100][..]));
        assert_eq!(read(&*reader, 4_000, 100), [1; 100]);
        segment.truncate(4_050).unwrap();
        assert_eq!(get(fs, &path).len(), 4_050);
        assert_eq!(read(&*segment, 4_000, 200), [1; 200], "its memory is its own");
    }

    fn truncating_a_mapped_segment_gives_back_the_rest(fs, dir) {
        let path = dir.join("a");
        let segment = fs.create_segment(&path, 20_000).unwrap();
        write(&*segment, 0, &[9; 20_000]);
        let reader = fs.open_segment(&path).unwrap();
        segment.truncate(5_000).unwrap();
        assert_eq!(get(fs, &path), vec![9; 5_000]);
        assert_eq!(read(&*reader, 0, 5_000), vec![9; 5_000]);
        assert_eq!(read(&*segment, 5_000, 100), [0; 100], "the rest of the page is past the end");
        assert_eq!(segment.memory().len(), 20_000);
        segment.sync(0, 5_000).unwrap();
        assert_eq!(fs.open_segment(&path).unwrap().memory().len(), 5_000);
        assert_eq!(kind(segment.truncate(20_001)), ErrorKind::InvalidInput);
        assert_eq!(kind(reader.truncate(1)), ErrorKind::InvalidInput);
    }

    fn segments_of_no_bytes_are_refused_and_leave_no_file(fs, dir) {
        let path = dir.join("a");
        assert_eq!(kind(fs.create_segment(&path, 0)), ErrorKind::InvalidInput);
        assert_eq!(kind(fs.create_unmapped_segment(&path, 0)), ErrorKind::InvalidInput);
        assert!(!fs.exists(&path).unwrap());
        put(fs, &path, b"");
        assert_eq!(kind(fs.open_segment(&path)), ErrorKind::UnexpectedEof);
        assert_eq!(kind(fs.open_segment(&dir.join("no"))), ErrorKind::NotFound);
    }

    fn threads_share_a_file(fs, dir) {
        let file = fs.open(&dir.join("a"), OpenMode::CreateNew).unwrap();
        std::thread::scope(|scope| {
            for thread in 0..4u8 {
                let file = &file;
                scope.spawn(move || {
                    for block in 0..8u64 {
                        file.write_all_at(&[thread + 1; 100], (block * 4 + u64::from(thread)) * 100).unwrap();
                    }
                });
            }
        });
        let bytes = get(fs, &dir.join("a"));
        assert_eq!(bytes.len(), 3_200);
        assert!(bytes.chunks(100).enumerate().all(|(i, chunk)| chunk == [i as u8 % 4 + 1; 100]));
    }
}
