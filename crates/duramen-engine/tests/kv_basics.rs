//! What each operation of a key-value store does, for both engines: the edges first.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this is test code

mod kv_common;

use duramen_engine::Error;
use duramen_engine::io::sim::Sim;
use duramen_engine::io::{Env, OpenMode};
use duramen_engine::kv::{
    self, Durability, Engine, EngineKind, MAX_KEY_BYTES, MAX_VALUE_BYTES, OpenOptions, ReadOptions,
    WriteBatch, WriteOptions,
};
use kv_common::{Setup, Store, durably, now, setups};
use std::ops::Bound;
use std::path::Path;

/// Runs a test for each engine, with an empty store.
fn each(test: impl Fn(&Setup, &Sim, Store)) {
    for setup in setups() {
        let sim = Sim::new(1);
        let store = setup.open(sim.env(), "s").unwrap();
        test(&setup, &sim, store);
    }
}

fn scan(store: &dyn Engine, start: Bound<&[u8]>, end: Bound<&[u8]>, reverse: bool) -> Vec<String> {
    let options = ReadOptions { reverse, ..ReadOptions::default() };
    let entries = store.scan_with(start, end, &options).unwrap().collect().unwrap();
    entries.iter().map(|(key, _)| key.escape_ascii().to_string()).collect()
}

fn fill(store: &dyn Engine, keys: &[&str]) {
    for key in keys {
        store.put(key.as_bytes(), format!("v{key}").as_bytes()).unwrap();
    }
}

fn is_invalid<T: std::fmt::Debug>(outcome: Result<T, Error>, hint: &str) {
    match outcome {
        Err(Error::InvalidArgument(text)) => assert!(text.contains(hint), "{text}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_put_is_got_whether_in_memory_or_on_disk() {
    each(|_, _, store| {
        for round in 0..3 {
            for (key, value) in
                [(&b""[..], &b"empty key"[..]), (b"\0", b"zero"), (b"empty value", b""), (b"\xFF\xFF", b"x")]
            {
                assert_eq!(store.get(key).unwrap().is_some(), round > 0);
                let value = [value, &[round]].concat();
                store.put(key, &value[usize::from(key == b"empty value")..]).unwrap();
                assert_eq!(store.get(key).unwrap().unwrap(), value[usize::from(key == b"empty value")..]);
            }
            assert!(store.get(b"never").unwrap().is_none());
            assert!(store.get(b"empty valu").unwrap().is_none());
            match round {
                0 => store.flush().unwrap(),
                1 => store.compact().unwrap(),
                _ => {}
            }
        }
        store.delete(b"").unwrap();
        store.delete(b"never").unwrap();
        store.delete(b"\0").unwrap();
        store.put(b"\0", b"back").unwrap();
        assert!(store.get(b"").unwrap().is_none());
        store.flush().unwrap();
        assert!(store.get(b"").unwrap().is_none());
        assert_eq!(now(&*store).unwrap().len(), 3);
    });
}

#[test]
fn entries_of_any_short_length_come_back_whole() {
    // Lengths of one byte and of two; with three bytes before them, what fits in 128 and what does not.
    let lens = [1, 7, 8, 9, 16, 17, 62, 63, 110, 123, 124, 125, 126, 127, 128, 129, 300];
    let entry = |key: usize, value: usize| (vec![value as u8; key], vec![(key ^ value) as u8; value]);
    let entries: Vec<_> = lens.iter().flat_map(|k| [0].iter().chain(&lens).map(|v| entry(*k, *v))).collect();
    each(|setup, sim, store| {
        for (key, value) in &entries {
            store.put(key, value).unwrap();
            assert_eq!(store.get(key).unwrap().unwrap(), value);
        }
        store.close().unwrap();
        let store = setup.open(sim.env(), "s").unwrap();
        assert_eq!(now(&*store).unwrap(), entries.iter().cloned().collect());
    });
}

#[test]
fn sizes_have_limits_and_at_the_limit_it_works() {
    each(|setup, sim, store| {
        let (key, value) = (vec![7; MAX_KEY_BYTES], vec![8; MAX_VALUE_BYTES]);
        store.put(&key, &value).unwrap();
        is_invalid(store.put(&vec![7; MAX_KEY_BYTES + 1], b""), "MAX_KEY_BYTES");
        is_invalid(store.put(b"", &vec![7; MAX_VALUE_BYTES + 1]), "MAX_VALUE_BYTES");
        is_invalid(store.delete(&vec![7; MAX_KEY_BYTES + 1]), "MAX_KEY_BYTES");
        is_invalid(store.delete_range(b"", &vec![7; MAX_KEY_BYTES + 1]), "MAX_KEY_BYTES");
        let mut batch = WriteBatch::new();
        while batch.put(&[batch.len() as u8], &value).is_ok() {}
        assert_eq!(batch.len(), 3);
        store.write(&batch, WriteOptions::default()).unwrap();
        let too_large = (vec![], vec![0; MAX_VALUE_BYTES + 1]);
        is_invalid(store.ingest(&mut std::iter::once(Ok(too_large))), "MAX_VALUE_BYTES");
        assert_eq!(store.ingest(&mut std::iter::once(Ok((vec![9], value.clone())))).unwrap(), 1);
        store.flush().unwrap();
        store.compact().unwrap();
        store.close().unwrap();
        let store = setup.open(sim.env(), "s").unwrap();
        assert_eq!(store.get(&key).unwrap().unwrap().len(), MAX_VALUE_BYTES);
        let lens: Vec<usize> = now(&*store).unwrap().values().map(Vec::len).collect();
        assert_eq!(lens, [MAX_VALUE_BYTES; 5]);
    });
}

#[test]
fn a_key_that_no_store_can_have_is_not_found() {
    each(|_, _, store| {
        fill(&*store, &["a"]);
        assert!(store.get(&vec![b'a'; MAX_KEY_BYTES + 1]).unwrap().is_none());
        let long = vec![b'a'; MAX_KEY_BYTES + 1];
        assert!(scan(&*store, Bound::Included(&long), Bound::Unbounded, false).is_empty());
    });
}

#[test]
fn a_batch_happens_in_order_and_at_once() {
    each(|_, _, store| {
        fill(&*store, &["a", "b", "c"]);
        let before = store.snapshot();
        let mut batch = WriteBatch::new();
        batch.put(b"a", b"1").unwrap();
        batch.delete(b"a").unwrap();
        batch.put(b"a", b"2").unwrap();
        batch.delete_range(b"b", b"z").unwrap();
        batch.put(b"c", b"3").unwrap();
        batch.put(b"d", b"4").unwrap();
        batch.delete(b"d").unwrap();
        store.write(&batch, WriteOptions::default()).unwrap();
        for _ in 0..2 {
            let found: Vec<_> = now(&*store).unwrap().into_values().collect();
            assert_eq!(found, [b"2", b"3"]);
            store.flush().unwrap();
            let old = ReadOptions { snapshot: Some(before.clone()), ..ReadOptions::default() };
            assert_eq!(store.get_with(b"b", &old).unwrap().unwrap(), b"vb");
        }
        let seq = store.snapshot().seq();
        store.write(&WriteBatch::new(), WriteOptions::default()).unwrap();
        assert_eq!(store.snapshot().seq(), seq, "an empty batch does nothing");
        batch.clear();
        batch.delete_range(b"z", b"a").unwrap();
        assert!(batch.is_empty(), "nor does an empty range");
    });
}

#[test]
fn a_deleted_range_ends_before_its_end_and_hides_nothing_newer() {
    each(|_, _, store| {
        for pass in 0..2 {
            fill(&*store, &["", "a", "b", "b\0", "c", "d"]);
            let settle = || {
                if pass == 1 {
                    store.flush().unwrap()
                }
            };
            settle();
            store.delete_range(b"b", b"c").unwrap();
            settle();
            assert_eq!(scan(&*store, Bound::Unbounded, Bound::Unbounded, false), ["", "a", "c", "d"]);
            store.put(b"b", b"new").unwrap();
            settle();
            assert_eq!(store.get(b"b").unwrap().unwrap(), b"new");
            assert!(store.get(b"b\0").unwrap().is_none());
            for (start, end) in [("c", "c"), ("d", "a"), ("e", "f"), ("", "")] {
                store.delete_range(start.as_bytes(), end.as_bytes()).unwrap();
            }
            settle();
            assert_eq!(scan(&*store, Bound::Unbounded, Bound::Unbounded, false), ["", "a", "b", "c", "d"]);
            store.delete_range(b"", b"b").unwrap();
            store.delete_range(b"d", &[0xFF; 100]).unwrap();
            settle();
            assert_eq!(scan(&*store, Bound::Unbounded, Bound::Unbounded, true), ["c", "b"]);
            store.compact().unwrap();
            assert_eq!(scan(&*store, Bound::Unbounded, Bound::Unbounded, true), ["c", "b"]);
            store.delete_range(b"", b"z").unwrap();
            assert!(now(&*store).unwrap().is_empty());
        }
    });
}

#[test]
fn scans_keep_to_their_bounds_both_ways() {
    each(|_, _, store| {
        fill(&*store, &["a", "b", "c", "d"]);
        store.flush().unwrap();
        fill(&*store, &["bb", "c", "e"]);
        store.delete(b"d").unwrap();
        let all = ["a", "b", "bb", "c", "e"];
        for (start, end, expected) in [
            (Bound::Unbounded, Bound::Unbounded, &all[..]),
            (Bound::Included(&b"b"[..]), Bound::Excluded(&b"c"[..]), &all[1..3]),
            (Bound::Excluded(b"b"), Bound::Included(b"c"), &all[2..4]),
            (Bound::Included(b"b\0"), Bound::Unbounded, &all[2..]),
            (Bound::Unbounded, Bound::Excluded(b"a"), &[]),
            (Bound::Unbounded, Bound::Included(b"a"), &all[..1]),
            (Bound::Included(b"d"), Bound::Included(b"d"), &[]),
            (Bound::Included(b"e"), Bound::Included(b"e"), &all[4..]),
            (Bound::Excluded(b"e"), Bound::Unbounded, &[]),
            (Bound::Included(b"c"), Bound::Included(b"b"), &[]),
            (Bound::Excluded(b"b"), Bound::Excluded(b"b"), &[]),
            (Bound::Included(b""), Bound::Excluded(b""), &[]),
        ] {
            assert_eq!(scan(&*store, start, end, false), expected, "{start:?}..{end:?}");
            let reversed: Vec<&str> = expected.iter().rev().copied().collect();
            assert_eq!(scan(&*store, start, end, true), reversed, "{start:?}..{end:?}, backwards");
        }
    });
}

#[test]
fn a_scan_sees_the_store_as_it_was_when_it_began() {
    each(|_, _, store| {
        fill(&*store, &["a", "b", "c", "d"]);
        let mut scan = store.scan_with(Bound::Unbounded, Bound::Unbounded, &ReadOptions::default()).unwrap();
        assert_eq!(scan.next().unwrap(), Some((&b"a"[..], &b"va"[..])));
        store.put(b"b", b"new").unwrap();
        store.delete_range(b"c", b"z").unwrap();
        store.flush().unwrap();
        store.compact().unwrap();
        store.put(b"aa", b"").unwrap();
        let rest: Vec<_> =
            std::iter::from_fn(|| scan.next().unwrap().map(|(_, value)| value.to_vec())).collect();
        assert_eq!(rest, [b"vb", b"vc", b"vd"]);
        assert_eq!(scan.next().unwrap(), None);
    });
}

#[test]
fn snapshots_stay_as_they_were_and_belong_to_one_store() {
    each(|setup, sim, store| {
        let empty = store.snapshot();
        fill(&*store, &["a", "b"]);
        let two = store.snapshot();
        assert!(two.seq() > empty.seq());
        store.delete(b"a").unwrap();
        store.delete_range(b"b", b"c").unwrap();
        store.flush().unwrap();
        fill(&*store, &["c"]);
        store.compact().unwrap();
        let with = |snapshot: &duramen_engine::kv::Snapshot, reverse| ReadOptions {
            snapshot: Some(snapshot.clone()),
            reverse,
            ..ReadOptions::default()
        };
        for reverse in [false, true] {
            let seen = |snapshot| kv_common::contents(&*store, &with(snapshot, reverse)).unwrap().len();
            assert_eq!((seen(&empty), seen(&two)), (0, 2));
        }
        assert_eq!(store.get_with(b"a", &with(&two, false)).unwrap().unwrap(), b"va");
        let other = setup.open(sim.env(), "other").unwrap();
        is_invalid(other.get_with(b"a", &with(&two, false)), "snapshot");
        is_invalid(other.scan_with(Bound::Unbounded, Bound::Unbounded, &with(&two, false)), "snapshot");
        drop((empty, two));
        store.compact().unwrap();
        assert_eq!(now(&*store).unwrap().len(), 1);
        // It may outlive its store.
        let last = store.snapshot();
        drop(store);
        drop(last);
    });
}

#[test]
fn one_opens_it_to_write_and_any_number_to_read() {
    each(|setup, sim, store| {
        fill(&*store, &["a"]);
        let before = sim.spawn_process();
        assert!(matches!(setup.open(sim.env(), "s"), Err(Error::Locked { .. })));
        assert!(matches!(setup.open(before.env(), "s"), Err(Error::Locked { .. })));
        let readers =
            [setup.open_read_only(before.env(), "s").unwrap(), setup.open_read_only(sim.env(), "s").unwrap()];
        fill(&*store, &["b"]);
        store.flush().unwrap();
        store.compact().unwrap();
        let operations = sim.operations() as usize;
        for reader in &readers {
            assert_eq!(now(&**reader).unwrap().len(), 1, "as it was when it was opened");
            let snapshot = ReadOptions { snapshot: Some(reader.snapshot()), ..ReadOptions::default() };
            assert_eq!(reader.get_with(b"a", &snapshot).unwrap().unwrap(), b"va");
            is_invalid(reader.put(b"x", b""), "read-only");
            is_invalid(reader.delete(b"x"), "read-only");
            is_invalid(reader.delete_range(b"a", b"b"), "read-only");
            is_invalid(reader.compact(), "read-only");
            is_invalid(reader.ingest(&mut std::iter::once(Ok((vec![], vec![])))), "read-only");
        }
        let changes =
            ["create", "write", "rename", "remove", "sync", "set_len", "link", "lock", "open_write"];
        for line in &sim.trace()[operations..] {
            assert!(!changes.contains(&line.split(' ').next().unwrap()), "a reader did {line}");
        }
        store.close().unwrap();
        let store = setup.open(sim.env(), "s").unwrap();
        assert_eq!(now(&*store).unwrap().len(), 2);
        assert!(setup.open_read_only(sim.env(), "nothing").is_err());
        assert!(!sim.env().fs.exists(Path::new("nothing")).unwrap());
    });
}

#[test]
fn a_closed_store_is_durable_and_takes_no_writes() {
    each(|setup, sim, store| {
        let store_with_none = setup.with_durability(Durability::None).open(sim.env(), "none").unwrap();
        for store in [&store, &store_with_none] {
            fill(&**store, &["a", "b"]);
            store.close().unwrap();
            store.close().unwrap();
            is_invalid(store.put(b"c", b""), "closed");
            is_invalid(store.delete_range(b"a", b"c"), "closed");
            is_invalid(store.flush(), "closed");
        }
        sim.crash_power_keeping(0);
        for dir in ["s", "none"] {
            assert_eq!(now(&*setup.open(sim.env(), dir).unwrap()).unwrap().len(), 2);
        }
    });
}

#[test]
fn what_is_dropped_without_a_close_is_there() {
    each(|setup, sim, store| {
        for n in 0..5 {
            store.put_with(&[n], b"v", durably(Durability::Process)).unwrap();
        }
        drop(store);
        let store = setup.open(sim.env(), "s").unwrap();
        store.put(&[9], b"v").unwrap();
        drop(store);
        let store = setup.open(sim.env(), "s").unwrap();
        assert_eq!(now(&*store).unwrap().len(), 6);
    });
}

#[test]
fn an_ingest_wants_ascending_keys_and_comes_in_whole() {
    each(|setup, sim, store| {
        fill(&*store, &["a", "k005", "z"]);
        let run = |n: usize| (0..n).map(|n| Ok((format!("k{n:03}").into_bytes(), vec![b'n'; n])));
        assert_eq!(store.ingest(&mut run(0)).unwrap(), 0);
        assert_eq!(store.ingest(&mut run(10)).unwrap(), 10);
        assert_eq!(store.get(b"k005").unwrap().unwrap(), b"nnnnn", "newer than what was there");
        let before = now(&*store).unwrap();
        let wrong: [&[&str]; 3] = [&["b", "a"], &["b", "c", "c"], &["", "y", "x"]];
        for keys in wrong {
            let mut run = keys.iter().map(|key| Ok((key.as_bytes().to_vec(), b"wrong".to_vec())));
            is_invalid(store.ingest(&mut run), "ascend");
        }
        let fails = || Err(Error::InvalidArgument("the source is out of order".into()));
        let mut run = run(400).chain(std::iter::once_with(fails));
        is_invalid(store.ingest(&mut run), "the source");
        assert!(now(&*store).unwrap() == before);
        sim.crash_power_keeping(0);
        drop(store);
        let store = setup.with_durability(Durability::None).open(sim.env(), "s").unwrap();
        let big = || (0..40u8).map(|n| Ok((vec![b'k', n], vec![n; 100_000])));
        assert_eq!(store.ingest(&mut big()).unwrap(), 40);
        store.delete(&[b'k', 3]).unwrap();
        let expected = before.len() + 39;
        assert_eq!(now(&*store).unwrap().len(), expected);
        sim.crash_power_keeping(0);
        drop(store);
        let store = setup.open(sim.env(), "s").unwrap();
        let found = now(&*store).unwrap().len();
        assert!(found == expected || found == expected + 1, "durable; the deletion was not");
    });
}

#[test]
fn a_checkpoint_is_a_store_of_its_own() {
    each(|setup, sim, store| {
        fill(&*store, &["a", "b"]);
        store.flush().unwrap();
        fill(&*store, &["c"]);
        store.delete(b"a").unwrap();
        store.checkpoint(Path::new("copies/1")).unwrap();
        fill(&*store, &["d"]);
        is_invalid(store.checkpoint(Path::new("copies/1")), "copies/1");
        sim.env().fs.create_dir_all(Path::new("copies/2")).unwrap();
        is_invalid(store.checkpoint(Path::new("copies/2")), "copies/2");
        store.compact().unwrap();
        sim.crash_power_keeping(0);
        let copy = setup.open(sim.env(), "copies/1").unwrap();
        assert_eq!(scan(&*copy, Bound::Unbounded, Bound::Unbounded, false), ["b", "c"]);
        copy.delete(b"b").unwrap();
        copy.checkpoint(Path::new("copies/3")).unwrap();
        copy.close().unwrap();
        let copy = setup.open_read_only(sim.env(), "copies/3").unwrap();
        assert_eq!(scan(&*copy, Bound::Unbounded, Bound::Unbounded, false), ["c"]);
        let store = setup.open(sim.env(), "s").unwrap();
        assert_eq!(store.get(b"b").unwrap().unwrap(), b"vb", "what is done to a copy is not done to it");
    });
}

#[test]
fn a_checkpoint_removes_no_store_that_is_named_as_one_in_the_making() {
    each(|setup, sim, _| {
        // The store that is copied itself, and another that is complete.
        let store = setup.open(sim.env(), "a.tmp").unwrap();
        fill(&*store, &["a"]);
        store.flush().unwrap();
        is_invalid(store.checkpoint(Path::new("a")), "a.tmp");
        fill(&*store, &["b"]);
        store.checkpoint(Path::new("b.tmp")).unwrap();
        is_invalid(store.checkpoint(Path::new("b")), "b.tmp");
        store.close().unwrap();
        for dir in ["a.tmp", "b.tmp"] {
            let whole = setup.open(sim.env(), dir).unwrap();
            assert_eq!(scan(&*whole, Bound::Unbounded, Bound::Unbounded, false), ["a", "b"]);
        }
        assert!(!sim.files().iter().any(|file| file.ends_with("CHECKPOINT")), "{:?}", sim.files());
    });
}

#[test]
fn of_two_checkpoints_to_one_directory_the_second_is_refused() {
    each(|setup, sim, store| {
        fill(&*store, &["a"]);
        // As far as another process has come with one.
        let fs = &sim.spawn_process().env().fs;
        fs.create_dir_all(Path::new("copy.tmp/sst")).unwrap();
        let theirs = fs.try_lock(Path::new("copy.tmp/CHECKPOINT")).unwrap().unwrap();
        let refused = store.checkpoint(Path::new("copy")).unwrap_err();
        assert!(matches!(refused, Error::Locked { .. }), "{refused}");
        assert!(fs.exists(Path::new("copy.tmp/sst")).unwrap());
        // It has died.
        drop(theirs);
        store.checkpoint(Path::new("copy")).unwrap();
        let copy = setup.open(sim.env(), "copy").unwrap();
        assert_eq!(scan(&*copy, Bound::Unbounded, Bound::Unbounded, false), ["a"]);
    });
}

#[test]
fn what_is_written_to_a_checkpoint_survives_its_first_crash() {
    each(|setup, sim, store| {
        fill(&*store, &["a", "b"]);
        store.checkpoint(Path::new("copy")).unwrap();
        let copy = setup.open(sim.env(), "copy").unwrap();
        let survives = setup.survives_process(Durability::Process);
        fill(&*copy, &["c"]);
        if survives {
            let reader = setup.open_read_only(sim.spawn_process().env(), "copy").unwrap();
            assert_eq!(now(&*reader).unwrap().len(), 3, "beside its writer");
        }
        sim.crash_process();
        drop(copy);
        let copy = setup.open(sim.env(), "copy").unwrap();
        assert_eq!(now(&*copy).unwrap().len(), 2 + usize::from(survives));
        assert!(!sim.files().iter().any(|file| file.contains("quarantine")), "{:?}", sim.files());
    });
}

#[test]
fn any_number_of_ingestions_is_flushed_and_leaves_no_segments() {
    each(|_, sim, store| {
        for n in 0..40u8 {
            assert_eq!(store.ingest(&mut std::iter::once(Ok((vec![n], vec![n])))).unwrap(), 1);
            store.flush().unwrap();
        }
        let segments = sim.files().iter().filter(|file| file.ends_with(".wal")).count();
        assert!(segments <= 2, "{:?}", sim.files());
        store.compact().unwrap();
        store.checkpoint(Path::new("copy")).unwrap();
        store.close().unwrap();
    });
}

#[test]
fn a_checkpoint_can_be_made_again_whenever_its_process_is_killed() {
    use duramen_engine::io::sim::Fault;
    // What is complete is not taken for what a checkpoint of the name without `.tmp` has left.
    for name in ["copy", "copy.tmp"] {
        each(|setup, _, _| {
            for nth in 0.. {
                let sim = Sim::new(nth);
                let store = setup.open(sim.env(), "s").unwrap();
                fill(&*store, &["a", "b"]);
                store.flush().unwrap();
                let at = sim.operations() + nth;
                sim.fail_at(at, Fault::Crash);
                let made = store.checkpoint(Path::new(name));
                let ended = sim.operations() <= at;
                sim.crash_process();
                drop(store);
                let store = setup.open(sim.env(), "s").unwrap();
                let is_there = sim.env().fs.exists(Path::new(name)).unwrap();
                if is_there {
                    assert!(name == "copy" || store.checkpoint(Path::new("copy")).is_err(), "{nth}");
                } else {
                    assert!(made.is_err());
                    store.checkpoint(Path::new(name)).unwrap_or_else(|e| panic!("{nth}: {e}"));
                }
                let copy = setup.open(sim.env(), name).unwrap();
                assert_eq!(scan(&*copy, Bound::Unbounded, Bound::Unbounded, false), ["a", "b"], "{nth}");
                if ended {
                    break;
                }
            }
        });
    }
}

#[test]
fn a_checkpoint_that_fails_leaves_nothing_and_can_be_made_again() {
    use duramen_engine::io::sim::Fault;
    each(|setup, sim, store| {
        fill(&*store, &["a", "b"]);
        for nth in 0.. {
            sim.fail_at(sim.operations() + nth, Fault::NoSpace);
            let struck = sim.faults_struck().len();
            let first = sim.operations() + nth;
            let made = store.checkpoint(Path::new("copy"));
            if made.is_ok() {
                let _copy = setup.open(sim.env(), "copy").unwrap();
                if sim.operations() <= first {
                    break;
                }
                assert_eq!(sim.faults_struck().len(), struck, "it succeeds though something failed");
                return;
            }
            assert!(!sim.files().iter().any(|file| file.starts_with("copy/")), "{:?}", sim.files());
            if matches!(store.put(b"a", b"again"), Err(Error::Poisoned { .. })) {
                return; // the failure hit the store itself
            }
        }
    });
}

#[test]
fn a_directory_of_the_other_engine_or_of_something_else_is_refused() {
    let sim = Sim::new(1);
    let all = setups();
    for setup in &all {
        let dir = format!("{:?}", setup.kind());
        setup.open(sim.env(), &dir).unwrap().put(b"k", b"v").unwrap();
        for other in all.iter().filter(|other| other.kind() != setup.kind()) {
            for opened in [other.open(sim.env(), &dir), other.open_read_only(sim.env(), &dir)] {
                is_invalid(opened, &format!("{:?}", other.kind()));
            }
        }
        sim.env().fs.create_dir_all(Path::new("home")).unwrap();
        let _letter = sim.env().fs.open(Path::new("home/letter"), OpenMode::CreateNew);
        is_invalid(setup.open(sim.env(), "home"), "letter");
        is_invalid(setup.open_read_only(sim.env(), "home"), "home");
        assert_eq!(sim.env().fs.read_dir(Path::new("home")).unwrap().len(), 1);
        assert!(setup.open(sim.env(), "home/letter").is_err());
        let marker = format!("{dir}/ENGINE");
        sim.flip_bit(Path::new(&marker), 99).unwrap();
        assert!(setup.open(sim.env(), &dir).unwrap_err().is_corruption());
        sim.flip_bit(Path::new(&marker), 99).unwrap();
    }
}

#[test]
fn a_store_is_opened_with_the_engine_that_made_it_unless_another_is_asked_for() {
    let sim = Sim::new(1);
    let ask = |kind| OpenOptions { kind, env: sim.env(), ..OpenOptions::default() };
    assert_eq!(kv::engine_of("new", &ask(None)).unwrap(), None);
    assert!(kv::open_read_only("new", &ask(None)).is_err());
    kv::open("new", &ask(None)).unwrap().close().unwrap();
    assert_eq!(kv::engine_of("new", &ask(None)).unwrap(), Some(EngineKind::Lsm));
    for (kind, other) in [(EngineKind::Lsm, EngineKind::Log), (EngineKind::Log, EngineKind::Lsm)] {
        let dir = format!("{kind:?}");
        let store = kv::open(&dir, &ask(Some(kind))).unwrap();
        store.put(b"k", b"v").unwrap();
        store.close().unwrap();
        drop(store);
        for asked in [None, Some(kind)] {
            assert_eq!(kv::open_read_only(&dir, &ask(asked)).unwrap().get(b"k").unwrap().unwrap(), b"v");
            assert_eq!(kv::open(&dir, &ask(asked)).unwrap().get(b"k").unwrap().unwrap(), b"v");
        }
        is_invalid(kv::open(&dir, &ask(Some(other))), &dir);
        is_invalid(kv::open_read_only(&dir, &ask(Some(other))), &dir);
    }
}

#[test]
fn on_the_operating_system_it_works_too() {
    for setup in setups() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("a/b/store");
        let setup = setup.with_threads();
        let store = setup.open(Env::os(), &place).unwrap();
        for n in 0..2000u32 {
            let durability = if n % 100 == 0 { Durability::Sync } else { Durability::Process };
            store.put_with(&(n % 500).to_be_bytes(), &[n as u8; 100], durably(durability)).unwrap();
        }
        let refused = setup.open(Env::os(), &place).unwrap_err();
        assert!(matches!(refused, Error::Locked { .. }), "{refused}");
        assert!(refused.to_string().contains("or by this one"), "{refused}");
        let shown = format!("{store:?}");
        assert!(shown.contains("a/b/store") && shown.len() < 1000, "{} bytes", shown.len());
        store.flush().unwrap();
        store.checkpoint(&dir.path().join("copy")).unwrap();
        store.ingest(&mut (500..600u32).map(|n| Ok((n.to_be_bytes().to_vec(), vec![1])))).unwrap();
        store.compact().unwrap();
        store.close().unwrap();
        for (place, expected) in [(place, 600), (dir.path().join("copy"), 500)] {
            let store = setup.open(Env::os(), &place).unwrap();
            assert_eq!(now(&*store).unwrap().len(), expected);
            let reader = setup.open_read_only(Env::os(), &place).unwrap();
            assert_eq!(reader.get(&7u32.to_be_bytes()).unwrap().unwrap().len(), 100);
        }
    }
}

#[test]
fn who_opened_it_read_only_goes_on_reading_what_compactions_elsewhere_remove() {
    each(|setup, sim, store| {
        let mut expected = Vec::new();
        for table in ["a", "b", "c"] {
            fill(&*store, &[table]);
            store.flush().unwrap();
            expected.push(table.to_owned());
        }
        let reader = setup.open_read_only(sim.env(), "s").unwrap();
        store.delete_range(b"a", b"c").unwrap();
        store.put(b"c", b"later").unwrap();
        store.flush().unwrap();
        store.compact().unwrap();
        while store.background_step().unwrap() {}
        assert_eq!(scan(&*store, Bound::Unbounded, Bound::Unbounded, false), ["c"]);
        assert_eq!(scan(&*reader, Bound::Unbounded, Bound::Unbounded, false), expected);
        assert_eq!(reader.get(b"c").unwrap().unwrap(), b"vc");
    });
}

/// Set in the child process of the test below: the directory of a process is that of all its threads.
const GOES_ELSEWHERE: &str = "DURAMEN_TEST_GOES_ELSEWHERE";

#[test]
fn a_relative_path_goes_on_to_mean_the_same_when_the_program_goes_elsewhere() {
    let dir = tempfile::tempdir().unwrap();
    if std::env::var_os(GOES_ELSEWHERE).is_none() {
        let child = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["a_relative_path_goes_on_to_mean_the_same", "--nocapture"])
            .env(GOES_ELSEWHERE, "1")
            .current_dir(dir.path())
            .output()
            .unwrap();
        assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stderr));
        return;
    }
    let home = std::env::current_dir().unwrap();
    for (name, engine) in [("lsm", EngineKind::Lsm), ("log", EngineKind::Log)] {
        let options = OpenOptions { kind: Some(engine), ..OpenOptions::default() };
        let store = kv::open(name, &options).unwrap();
        store.put(b"key", b"one").unwrap();
        store.flush().unwrap();
        let reader = kv::open_read_only(name, &options).unwrap();
        std::env::set_current_dir(dir.path()).unwrap();
        store.put(b"key", b"two").unwrap();
        store.flush().unwrap();
        store.compact().unwrap();
        assert_eq!(reader.get(b"key").unwrap().unwrap(), b"one");
        drop(reader);
        store.close().unwrap();
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        std::env::set_current_dir(&home).unwrap();
        assert_eq!(kv::open(name, &options).unwrap().get(b"key").unwrap().unwrap(), b"two");
    }
}
