//! A store does what it says on a real file system: appended lines are visible at once, to every process's
//! worth of openers, before and after they are flushed, each once.
#![allow(clippy::unwrap_used, clippy::panic)] // helpers of tests may

use duramen::{Batch, EntryBuf, Level, SourcePosition, Store, StoreOptions, StoreStats, Value};
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

const DAY_NS: i64 = 86_400_000_000_000;

fn entry(buf: &mut EntryBuf, time: i64, n: i64) -> Vec<u8> {
    buf.start(time).level(Level::Info).message(&format!("line number {n}"));
    buf.field("app", "test").field("n", n).field("odd", n % 2 == 1);
    if n % 3 == 0 {
        buf.field("third", Value::Null);
    }
    buf.finish().unwrap().to_vec()
}

fn buf() -> EntryBuf {
    EntryBuf::new(["app"])
}

/// The field `n` of every row, in the order of a scan.
fn numbers(store: &Store) -> Vec<i64> {
    let mut found = Vec::new();
    store
        .scan(i64::MIN, i64::MAX, &mut |row| {
            let n: i64 = row.field("n").unwrap().parse().unwrap();
            assert_eq!(row.message(), format!("line number {n}"));
            assert_eq!(row.field("_stream").unwrap(), "{app=\"test\"}");
            assert_eq!(row.field("level").unwrap(), "info");
            assert_eq!(row.field("third").is_some(), n % 3 == 0);
            found.push(n);
            ControlFlow::Continue(())
        })
        .unwrap();
    found
}

fn small(dir: &Path) -> Store {
    StoreOptions::new().write_buffer_size(64 << 10).open(dir).unwrap()
}

#[test]
fn lines_are_there_before_and_after_the_flush_and_after_reopening() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().join("store");
    let store = small(&dir);
    let reader = Store::open_read_only(&dir).unwrap();
    let mut b = buf();
    for n in 0..5_000 {
        // Over three days, some late.
        let time = (n % 3) * DAY_NS + n * 1_000_000;
        store.append(&entry(&mut b, time, n)).unwrap();
        if n % 1_000 == 0 {
            assert_eq!(numbers(&store).len() as i64, n + 1);
            assert_eq!(numbers(&reader).len() as i64, n + 1);
        }
    }
    let mut expected: Vec<i64> = (0..5_000).collect();
    expected.sort_by_key(|n| ((n % 3) * DAY_NS + n * 1_000_000, *n));
    assert_eq!(numbers(&reader), expected);
    store.flush().unwrap();
    assert_eq!(numbers(&reader), expected);
    store.close().unwrap();
    assert_eq!(numbers(&reader), expected);
    let stats = reader.stats().unwrap();
    assert_eq!(stats.days.keys().collect::<Vec<_>>(), ["19700101", "19700102", "19700103"]);
    assert_eq!(stats.days.values().map(|d| d.lines).sum::<u64>(), 5_000);
    assert_eq!(stats.wal, Default::default());
    assert_eq!(stats.fields.fields["n"].rows, 5_000);
    assert!(std::fs::read_dir(dir.join("wal")).unwrap().next().is_none(), "a closed writer leaves nothing");
    let report = reader.verify(&mut |_| {}).unwrap();
    assert_eq!((report.lines, report.damage.len()), (5_000, 0));
    assert_eq!(numbers(&small(&dir)), expected);
}

#[test]
fn two_writers_share_a_store_and_one_keeps_for_both() {
    let dir = tempfile::tempdir().unwrap();
    let (one, two) = (small(dir.path()), small(dir.path()));
    assert!(one.is_keeper() && !two.is_keeper());
    let mut b = buf();
    for n in 0..2_000 {
        let store = if n % 2 == 0 { &one } else { &two };
        store.append(&entry(&mut b, n, n)).unwrap();
    }
    let all: Vec<i64> = (0..2_000).collect();
    assert_eq!(numbers(&one), all);
    assert_eq!(numbers(&two), all);
    two.close().unwrap();
    one.flush().unwrap();
    let stats = one.stats().unwrap();
    assert_eq!(stats.days["19700101"].lines, 2_000);
    assert_eq!(numbers(&one), all);
    one.close().unwrap();
}

#[test]
fn a_writer_that_vanished_is_recovered_by_the_next() {
    let dir = tempfile::tempdir().unwrap();
    let lost = small(dir.path());
    let mut b = buf();
    for n in 0..500 {
        lost.append(&entry(&mut b, n, n)).unwrap();
    }
    // As after kill -9: nothing is closed, and the locks fall.
    let copy = tempfile::tempdir().unwrap();
    copy_dir(dir.path(), copy.path());
    let store = small(copy.path());
    let all: Vec<i64> = (0..500).collect();
    assert_eq!(numbers(&store), all, "visible before it is recovered");
    store.flush().unwrap();
    assert_eq!(numbers(&store), all);
    assert_eq!(store.stats().unwrap().days["19700101"].lines, 500);
    assert!(store.incidents().messages.is_empty(), "{:?}", store.incidents());
}

fn copy_dir(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_dir(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[test]
fn batches_carry_how_far_their_source_was_read() {
    let dir = tempfile::tempdir().unwrap();
    let store = small(dir.path());
    let mut b = buf();
    let mut batch = Batch::new();
    let position = |entries| SourcePosition {
        name: "/var/log/x".into(),
        head_bytes: 4,
        head_hash: 1,
        read_bytes: entries * 10,
        read_hash: entries,
        entries,
    };
    for round in 1..=40 {
        for n in 0..100 {
            batch.push(&entry(&mut b, n, n)).unwrap();
        }
        store.append_batch(&mut batch, Some(&position(round * 100))).unwrap();
        assert!(batch.is_empty());
        assert_eq!(store.source_positions().unwrap(), [position(round * 100)]);
    }
    store.close().unwrap();
    let store = Store::open_read_only(dir.path()).unwrap();
    assert_eq!(store.source_positions().unwrap(), [position(4_000)]);
    assert_eq!(numbers(&store).len(), 4_000);
}

#[test]
fn a_tail_gives_every_row_once_whatever_happens_to_it_meanwhile() {
    let dir = tempfile::tempdir().unwrap();
    let store = small(dir.path());
    let mut b = buf();
    store.append(&entry(&mut b, 0, -1)).unwrap();
    let mut tail = Store::open_read_only(dir.path()).unwrap().tail().unwrap();
    assert!(tail.poll(Duration::ZERO).unwrap().is_empty(), "only what comes after");
    let mut seen = Vec::new();
    let mut n = 0;
    for round in 0..30 {
        for _ in 0..round * 20 {
            store.append(&entry(&mut b, n, n)).unwrap();
            n += 1;
        }
        if round % 3 == 0 {
            store.flush().unwrap();
        }
        for block in tail.poll(Duration::ZERO).unwrap() {
            let column = block.column("n").unwrap().unwrap();
            let mut digits = duramen::column::IntText::default();
            for row in 0..block.rows() {
                seen.push(column.text(row, &mut digits).unwrap().parse::<i64>().unwrap());
            }
        }
    }
    seen.sort_unstable();
    assert_eq!(seen, (0..n).collect::<Vec<_>>());
}

#[test]
fn what_is_no_store_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let error = |r: duramen::Result<Store>| r.unwrap_err().to_string();
    let missing = dir.path().join("missing");
    assert!(error(Store::open_read_only(&missing)).contains("no store at"));
    assert!(!missing.exists());
    std::fs::write(dir.path().join("notes.txt"), "mine").unwrap();
    for opened in [Store::open(dir.path()), Store::open_read_only(dir.path())] {
        let error = error(opened);
        assert!(error.contains("not a duramen store") && error.contains("notes.txt"), "{error}");
    }
    let file = dir.path().join("notes.txt");
    assert!(error(Store::open(&file)).contains("it is a file"));
    assert_eq!(std::fs::read(&file).unwrap(), b"mine");
}

#[test]
fn a_read_only_store_refuses_to_write() {
    let dir = tempfile::tempdir().unwrap();
    drop(Store::open(dir.path()).unwrap());
    let store = Store::open_read_only(dir.path()).unwrap();
    let mut b = buf();
    let refused = store.append(&entry(&mut b, 0, 0)).unwrap_err();
    assert!(matches!(refused, duramen::Error::ReadOnly));
    assert!(store.append(b"no entry").is_err());
    assert!(matches!(store.flush().unwrap_err(), duramen::Error::ReadOnly));
}

#[test]
fn many_small_tables_are_merged_and_nothing_changes() {
    let dir = tempfile::tempdir().unwrap();
    let store = StoreOptions::new().background(false).open(dir.path()).unwrap();
    let mut b = buf();
    for n in 0..400 {
        // Interleaved over two days, so that tables overlap.
        store.append(&entry(&mut b, (n % 2) * DAY_NS + (n * 7919) % 400, n)).unwrap();
        if n % 10 == 9 {
            store.flush().unwrap();
        }
    }
    let before = numbers(&store);
    let stats = store.stats().unwrap();
    let tables_of = |stats: &StoreStats| stats.days.values().map(|day| day.tables).sum::<u64>();
    assert_eq!(tables_of(&stats), 40, "two days with little share one");
    let old = Store::open_read_only(dir.path()).unwrap();
    // The blocks alone keep what they need from being removed.
    let old_blocks = old.snapshot().unwrap().blocks(i64::MIN, i64::MAX);
    store.compact().unwrap();
    assert_eq!(numbers(&store), before);
    let merged = store.stats().unwrap();
    assert_eq!(tables_of(&merged), 1);
    let raw_bytes = |stats: &StoreStats| stats.days.values().map(|day| day.raw_bytes).sum::<u64>();
    assert_eq!(raw_bytes(&merged), raw_bytes(&stats));
    for (day, part) in &merged.days {
        assert_eq!((part.lines, part.min_time, part.max_time), {
            let before = &stats.days[day];
            (before.lines, before.min_time, before.max_time)
        });
    }
    assert_eq!(merged.fields, stats.fields);
    assert!(store.verify(&mut |_| {}).unwrap().damage.is_empty());
    // A snapshot taken before still reads what it saw, all of it; its files go only after it.
    let tables = || std::fs::read_dir(dir.path().join("tables/19700101")).unwrap().count();
    assert_eq!(tables(), 41);
    let rows: usize = old_blocks.iter().map(|handle| handle.open().unwrap().rows()).sum();
    assert_eq!(rows, 400);
    drop(old_blocks);
    store.close().unwrap();
    let store = small(dir.path());
    assert_eq!(tables(), 1);
    assert_eq!(numbers(&store), before);
}

#[test]
fn merging_keeps_each_row_in_its_own_stream() {
    let dir = tempfile::tempdir().unwrap();
    let store = StoreOptions::new().background(false).open(dir.path()).unwrap();
    let mut in_stream = EntryBuf::new(["user"]);
    let mut plain = EntryBuf::new([""; 0]);
    for n in 0..64 {
        let entry = if n % 2 == 0 { &mut in_stream } else { &mut plain };
        entry
            .start(n)
            .level(Level::Warn)
            .message("said twice")
            .field("user", "q\"uote")
            .field_same_as_message("msg");
        entry.field("level", "WARNING").field("nothing", Value::Null).field("list", Value::Json("[1,\"a\"]"));
        entry.field("x", Value::Number("1.50"));
        store.append(entry.finish().unwrap()).unwrap();
        if n % 4 == 3 {
            store.flush().unwrap();
        }
    }
    let rows = |store: &Store| {
        let mut rows = Vec::new();
        store
            .scan(i64::MIN, i64::MAX, &mut |row| {
                let mut fields = format!("{} {:?} {}", row.time(), row.id(), row.message());
                row.for_each_field(&mut |name, text, kind| fields += &format!(" {name}={text}:{kind:?}"));
                rows.push(fields);
                ControlFlow::Continue(())
            })
            .unwrap();
        rows
    };
    let before = rows(&store);
    assert!(before[0].contains("_stream={user=") && before[1].contains("_stream=:"), "{:?}", &before[..2]);
    store.compact().unwrap();
    assert_eq!(store.stats().unwrap().days["19700101"].tables, 1);
    assert_eq!(rows(&store), before);
}

#[test]
fn a_window_of_time_has_the_rows_that_the_whole_has_there() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let mut b = EntryBuf::new(["app"]);
    for n in 0..3_000i64 {
        b.start(n / 3 * 10).level(Level::Info).message(&format!(
            "line {n} took {} ms, id={:08x}",
            n % 91,
            n * 7919
        ));
        b.field("app", ["a", "b", "c"][n as usize % 3]).field("n", n);
        if n % 5 == 0 {
            b.field("fifth", n / 5);
        }
        store.append(b.finish().unwrap()).unwrap();
    }
    let rows = |from: i64, to: i64| {
        let mut rows = Vec::new();
        store
            .scan(from, to, &mut |row| {
                let mut fields = format!("{:?} {}", row.id(), row.message());
                row.for_each_field(&mut |name, text, kind| fields += &format!(" {name}={text}:{kind:?}"));
                rows.push((row.time(), fields));
                ControlFlow::Continue(())
            })
            .unwrap();
        rows
    };
    let in_the_wal = rows(i64::MIN, i64::MAX);
    assert_eq!(in_the_wal.len(), 3_000);
    for _ in 0..2 {
        for (from, to) in [
            (0, 0),
            (10, 19),
            (15, 17),
            (500, 1_200),
            (0, 9_000),
            (9_990, i64::MAX),
            (-5, -1),
            (20_000, 30_000),
        ] {
            let expected: Vec<_> =
                in_the_wal.iter().filter(|row| (from..=to).contains(&row.0)).cloned().collect();
            assert_eq!(rows(from, to), expected, "{from} to {to}");
        }
        store.flush().unwrap();
    }
}

#[test]
fn who_stops_reading_has_the_first_rows_of_however_many_tables() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let mut b = buf();
    for n in 0..600 {
        store.append(&entry(&mut b, n, n)).unwrap();
        if n % 100 == 99 {
            store.flush().unwrap();
        }
    }
    for wanted in [1, 100, 101, 250, 599, 600] {
        let mut found = Vec::new();
        store
            .scan(i64::MIN, i64::MAX, &mut |row| {
                found.push(row.time());
                if found.len() == wanted { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            })
            .unwrap();
        assert_eq!(found, (0..wanted as i64).collect::<Vec<_>>());
    }
}
