//! Scans from the same start over and over, while what they find first is deleted: stretches of deleted keys are passed over, and
//! nothing that is put into them is missed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this is test code

use duramen_engine::io::sim::Sim;
use duramen_engine::kv::{Engine, MAX_KEY_BYTES, ReadOptions, Scan, Snapshot};
use duramen_engine::lsm::{Lsm, LsmOptions, MemtableKind};
use duramen_engine::wal::Background;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::ops::{Bound, RangeBounds};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

type Model = BTreeMap<Vec<u8>, Vec<u8>>;
type Range = (Bound<Vec<u8>>, Bound<Vec<u8>>);

#[derive(Clone, Debug)]
enum Step {
    /// Puts so many at the end.
    Push(u16),
    /// Takes so many from the front of the range, one scan each.
    Pop(u16, Range),
    Put(u16),
    Delete(u16),
    DeleteRange(u16, u16),
    /// Keys from this one on, so many, this far apart.
    Ingest(u16, u16, u16),
    Scan(Range),
    /// The first one or two only; then the scan is given up.
    Peek(Range),
    /// Begins a scan, which goes on to its end only at the next of these.
    Begin(Range),
    /// Now, and each scan from now on also as of now.
    Snapshot,
    Flush,
    Compact,
    Reopen,
}

fn key(n: u16) -> Vec<u8> {
    n.to_be_bytes().to_vec()
}

fn any_range() -> impl Strategy<Value = Range> {
    let bound = || {
        prop_oneof![
            3 => Just(Bound::Unbounded),
            1 => (0..1000u16).prop_map(|n| Bound::Included(key(n))),
            1 => (0..1000u16).prop_map(|n| Bound::Excluded(key(n))),
        ]
    };
    (bound(), bound())
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (1..200u16).prop_map(Step::Push),
        8 => (1..200u16, any_range()).prop_map(|(n, range)| Step::Pop(n, range)),
        3 => (0..1000u16).prop_map(Step::Put),
        2 => (0..1000u16).prop_map(Step::Delete),
        1 => (0..1000u16, 0..300u16).prop_map(|(n, more)| Step::DeleteRange(n, n + more)),
        1 => (0..1000u16, 1..20u16, 1..30u16).prop_map(|(n, count, apart)| Step::Ingest(n, count, apart)),
        5 => any_range().prop_map(Step::Scan),
        3 => any_range().prop_map(Step::Peek),
        4 => any_range().prop_map(Step::Begin),
        1 => Just(Step::Snapshot),
        1 => Just(Step::Flush),
        1 => Just(Step::Compact),
        1 => Just(Step::Reopen),
    ]
}

fn as_slices(range: &Range) -> (Bound<&[u8]>, Bound<&[u8]>) {
    (range.0.as_ref().map(|key| &key[..]), range.1.as_ref().map(|key| &key[..]))
}

fn expected(model: &Model, range: &Range) -> Vec<(Vec<u8>, Vec<u8>)> {
    model.iter().filter(|(key, _)| range.contains(*key)).map(|(k, v)| (k.clone(), v.clone())).collect()
}

fn first(store: &Lsm, range: &Range) -> Option<Vec<u8>> {
    let mut scan = store.scan_with(
        range.0.as_ref().map(|k| &k[..]),
        range.1.as_ref().map(|k| &k[..]),
        &ReadOptions::default(),
    );
    scan.as_mut().unwrap().next().unwrap().map(|(key, _)| key.to_vec())
}

fn run(steps: Vec<Step>, memtable: MemtableKind) {
    let sim = Sim::new(1);
    let open = || {
        let background = Background::Manual;
        let options = LsmOptions {
            env: sim.env(),
            memtable,
            background,
            write_buffer_size: 64 << 10,
            ..LsmOptions::default()
        };
        Lsm::open("/db", options).unwrap()
    };
    let mut store = open();
    let mut model = Model::new();
    let mut begun: Option<(Scan, Vec<_>)> = None;
    let mut snapshot: Option<(Snapshot, Model)> = None;
    let (mut next, mut writes) = (0, 0u32);
    let mut value = || {
        writes += 1;
        writes.to_be_bytes().to_vec()
    };
    for step in steps {
        match step {
            Step::Push(count) => {
                for n in next..next + count {
                    let value = value();
                    store.put(&key(n), &value).unwrap();
                    model.insert(key(n), value);
                }
                next = (next + count) % 1000;
            }
            Step::Pop(count, range) => {
                for _ in 0..count {
                    let found = first(&store, &range);
                    assert_eq!(found.as_ref(), expected(&model, &range).first().map(|(key, _)| key));
                    let Some(found) = found else { break };
                    store.delete(&found).unwrap();
                    model.remove(&found);
                }
            }
            Step::Put(n) => {
                let value = value();
                store.put(&key(n), &value).unwrap();
                model.insert(key(n), value);
            }
            Step::Delete(n) => {
                store.delete(&key(n)).unwrap();
                model.remove(&key(n));
            }
            Step::DeleteRange(start, end) => {
                store.delete_range(&key(start), &key(end)).unwrap();
                model.retain(|at, _| *at < key(start) || *at >= key(end));
            }
            Step::Ingest(start, count, apart) => {
                let entries: Vec<_> = (0..count).map(|n| (key(start + n * apart), value())).collect();
                store.ingest(&mut entries.clone().into_iter().map(Ok)).unwrap();
                model.extend(entries);
            }
            Step::Scan(range) => {
                let (start, end) = as_slices(&range);
                let found = store.scan_with(start, end, &ReadOptions::default()).unwrap().collect().unwrap();
                assert_eq!(found, expected(&model, &range));
                if let Some((then, model)) = &snapshot {
                    let options = ReadOptions { snapshot: Some(then.clone()), ..ReadOptions::default() };
                    let found = store.scan_with(start, end, &options).unwrap().collect().unwrap();
                    assert_eq!(found, expected(model, &range), "as of the snapshot");
                }
            }
            Step::Peek(range) => {
                let expected = expected(&model, &range);
                let (start, end) = as_slices(&range);
                let mut scan = store.scan_with(start, end, &ReadOptions::default()).unwrap();
                for nth in 0..2 {
                    let found = scan.next().unwrap().map(|(key, _)| key);
                    assert_eq!(found, expected.get(nth).map(|(key, _)| &key[..]));
                }
            }
            Step::Begin(range) => {
                if let Some((scan, expected)) = begun.take() {
                    assert_eq!(scan.collect().unwrap(), expected, "as of its beginning");
                }
                let (start, end) = as_slices(&range);
                let scan = store.scan_with(start, end, &ReadOptions::default()).unwrap();
                begun = Some((scan, expected(&model, &range)));
            }
            Step::Snapshot => snapshot = Some((store.snapshot(), model.clone())),
            Step::Flush => store.flush().unwrap(),
            Step::Compact => store.compact().unwrap(),
            Step::Reopen => {
                (snapshot, begun) = (None, None);
                store.close().unwrap();
                store = open();
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn every_scan_finds_what_is_there(
        steps in prop::collection::vec(any_step(), 1..60),
        memtable in prop_oneof![Just(MemtableKind::Vec), Just(MemtableKind::Skiplist)],
    ) {
        run(steps, memtable);
    }
}

/// One takes what others bring. One of these also puts keys before all that were taken, and must find each at once.
#[test]
fn what_is_put_before_the_first_is_found_by_whoever_scans_then() {
    const PUSHED: u64 = 20_000;
    for memtable in [MemtableKind::Vec, MemtableKind::Skiplist] {
        let dir = tempfile::tempdir().unwrap();
        let options = LsmOptions { memtable, write_buffer_size: 256 << 10, ..LsmOptions::default() };
        let store = Lsm::open(dir.path().join("db"), options).unwrap();
        let is_over = AtomicBool::new(false);
        let all = (Bound::Unbounded, Bound::Unbounded);
        std::thread::scope(|scope| {
            // Keys of the queue begin with 1, those before it with 0.
            scope.spawn(|| {
                for n in 0..PUSHED {
                    store.put(&[&[1], &n.to_be_bytes()[..]].concat(), b"pushed").unwrap();
                }
            });
            scope.spawn(|| {
                let mut n = 0u64;
                while !is_over.load(Ordering::Relaxed) {
                    n += 1;
                    let key = [&[0], &(n % 500).to_be_bytes()[..]].concat();
                    store.put(&key, b"before").unwrap();
                    assert_eq!(first(&store, &all).as_ref(), Some(&key), "it is the only one of its kind");
                    store.delete(&key).unwrap();
                }
            });
            let mut taken = 0;
            while taken < PUSHED {
                let from = (Bound::Included(vec![1]), Bound::Unbounded);
                if let Some(key) = first(&store, &from) {
                    assert_eq!(key[1..], taken.to_be_bytes(), "in order, and none is missed");
                    store.delete(&key).unwrap();
                    taken += 1;
                }
            }
            is_over.store(true, Ordering::Relaxed);
        });
        assert_eq!(first(&store, &all), None);
    }
}

/// A scan goes on without its store, and does not keep it, nor its locks, open.
#[test]
fn a_store_that_is_dropped_while_scans_go_on_can_be_opened_at_once() {
    // Long keys, so that to note a stretch takes a while.
    let long = |first: u8| vec![first; MAX_KEY_BYTES];
    for turn in 0..80 {
        let dir = tempfile::tempdir().unwrap();
        let open = || {
            let background = Background::Manual;
            Lsm::open(
                dir.path(),
                LsmOptions { background, write_buffer_size: 2 << 20, ..LsmOptions::default() },
            )
        };
        let store = open().unwrap();
        for n in 0..70u8 {
            store.delete(&[1, n]).unwrap();
        }
        store.put(&long(2), b"first").unwrap();
        let start = long(0);
        let range = (Bound::Included(&start[..]), Bound::Unbounded);
        let scan = || store.scan_with(range.0, range.1, &ReadOptions::default()).unwrap();
        let scans: Vec<Scan> = (0..200).map(|_| scan()).collect();
        let scanned = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for mut scan in scans {
                    assert!(scan.next().unwrap().is_some());
                    scanned.fetch_add(1, Ordering::Relaxed);
                }
            });
            while scanned.load(Ordering::Relaxed) < turn * 2 {
                std::hint::spin_loop();
            }
            drop(store);
            open().unwrap();
        });
    }
}
