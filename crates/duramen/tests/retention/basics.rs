use crate::lines::{DAY, DAY_NS, Line, lines_of, options};
use duramen::{Error, Level, Retention, RetentionRule, Store, StoreOptions};
use duramen_engine::io::sim::Sim;
use std::path::Path;

/// A store with a table a day for `days` days up to today, of about 20 kB each.
fn store_of_days(sim: &Sim, days: i64) -> Store {
    let store = options(sim.env()).open("/logs").unwrap();
    let now = sim.env().clock.now_unix_ns();
    for day in (0..days).rev() {
        for i in 0..20u64 {
            let number = day as u64 * 20 + i;
            let noise: String = (0..60)
                .map(|k| format!("{:x}", (number + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (k * k * k)))
                .collect();
            Line { number, time: now - day * DAY_NS, level: Level::Info, app: "web" }
                .append_to(&store, &noise)
                .unwrap();
        }
        store.flush().unwrap();
    }
    store
}

fn days(store: &Store) -> usize {
    store.stats().unwrap().days.len()
}

#[test]
fn by_size_the_oldest_days_go_and_today_stays() {
    let sim = Sim::new(1);
    let store = store_of_days(&sim, 6);
    let total: u64 = store.stats().unwrap().days.values().map(|day| day.stored_bytes).sum();
    let policy = |max_bytes| Retention { max_bytes: Some(max_bytes), ..Retention::default() };
    assert_eq!(store.retention_would_remove(&policy(total)).unwrap().lines, 0);
    assert_eq!(store.retention_would_remove(&policy(total - 1)).unwrap().lines, 20);
    assert_eq!(days(&store), 6, "asking removes nothing");
    let newest_three: u64 =
        store.stats().unwrap().days.values().rev().take(3).map(|day| day.stored_bytes).sum();
    store.set_retention(&policy(newest_three)).unwrap();
    store.enforce_retention().unwrap();
    assert_eq!(days(&store), 3);
    assert_eq!(lines_of(&store).first().unwrap().number, 0, "today's");
    assert_eq!(lines_of(&store).last().unwrap().number, 59);
    store.set_retention(&policy(1)).unwrap();
    store.enforce_retention().unwrap();
    assert_eq!((days(&store), lines_of(&store).len()), (1, 20), "the newest day stays");
    let removed = store.stats().unwrap().removed;
    assert_eq!((removed.over_size.lines, removed.expired.lines), (100, 0));
    assert!(removed.over_size.stored_bytes > total / 2);
}

/// A store with one table, whose lines are of so many days up to today.
fn store_of_sparse_days(sim: &Sim, days: i64) -> Store {
    let store = options(sim.env()).open("/logs").unwrap();
    let now = sim.env().clock.now_unix_ns();
    for day in (0..days).rev() {
        for level in [Level::Info, Level::Debug] {
            let number = day as u64 * 2 + u64::from(level == Level::Debug);
            let line = Line { number, time: now - day * DAY_NS, level, app: "web" };
            line.append_to(&store, "").unwrap();
        }
    }
    store.flush().unwrap();
    let stats = store.stats().unwrap();
    assert_eq!(stats.days.len(), days as usize);
    for day in stats.days.values() {
        assert_eq!(day.lines, 2);
        assert!(day.raw_bytes > 0 && day.stored_bytes > 0 && day.max_time - day.min_time < DAY_NS);
    }
    assert_eq!(stats.days.values().map(|day| day.tables).sum::<u64>(), 1);
    store
}

fn tables(sim: &Sim) -> usize {
    let fs = &sim.env().fs;
    let of_day = |day: &str| fs.read_dir(&Path::new("/logs/tables").join(day)).unwrap().len();
    fs.read_dir(Path::new("/logs/tables")).unwrap().iter().map(|day| of_day(&day.name)).sum()
}

#[test]
fn a_damaged_table_that_days_share_is_still_counted() {
    let sim = Sim::new(12);
    drop(store_of_sparse_days(&sim, 5));
    let table = sim.files().into_iter().find(|file| file.ends_with(".sst")).unwrap();
    let bytes = sim.read_file(Path::new(&table)).unwrap().len() as u64;
    // All over the block; not the index behind it.
    for byte in (32..bytes / 2).step_by(16) {
        sim.flip_bit(Path::new(&table), byte * 8).unwrap();
    }
    let store = options(sim.env()).open("/logs").unwrap();
    let stats = store.stats().unwrap();
    assert_eq!((stats.days.len(), stats.days.values().map(|day| day.lines).sum::<u64>()), (1, 10));
}

#[test]
fn a_day_that_shares_its_table_goes_alone() {
    let sim = Sim::new(11);
    let store = store_of_sparse_days(&sim, 20);
    assert_eq!(tables(&sim), 1);
    store.set_retention(&Retention { max_age: Some(10 * DAY), ..Retention::default() }).unwrap();
    store.enforce_retention().unwrap();
    let left = days(&store);
    assert!((10..=11).contains(&left), "{left}");
    assert_eq!(lines_of(&store).len(), left * 2);
    assert_eq!(store.stats().unwrap().removed.expired.lines as usize, 40 - left * 2);
    assert_eq!(tables(&sim), 1);
    // With a rule, the lines of each class get a table, and then each its own time.
    let rules = vec![RetentionRule::level(Level::Debug, Some(3 * DAY))];
    store.set_retention(&Retention { max_age: Some(10 * DAY), rules, ..Retention::default() }).unwrap();
    store.enforce_retention().unwrap();
    let debug = lines_of(&store).iter().filter(|line| line.level == Level::Debug).count();
    assert!((3..=4).contains(&debug), "{debug}");
    assert_eq!(lines_of(&store).len() - debug, left);
    sim.clock().advance(DAY * 30);
    store.enforce_retention().unwrap();
    assert_eq!((lines_of(&store).len(), tables(&sim)), (0, 0));
}

#[test]
fn for_free_space_no_more_goes_than_is_missing() {
    let sim = Sim::new(2);
    let store = store_of_days(&sim, 6);
    let one = store.stats().unwrap().days.values().next().unwrap().stored_bytes;
    let used = sim.used_bytes();
    sim.set_capacity_bytes(Some(used + 100_000));
    store
        .set_retention(&Retention { min_free_bytes: Some(100_000 + one / 2), ..Retention::default() })
        .unwrap();
    let held = store.snapshot().unwrap(); // its files' space does not get free
    store.enforce_retention().unwrap();
    assert_eq!(days(&store), 5);
    store.enforce_retention().unwrap();
    assert_eq!(days(&store), 5, "what is being read is waited for");
    drop(held);
    store.flush().unwrap();
    sim.clock().advance(DAY / 24);
    store.enforce_retention().unwrap();
    assert_eq!(days(&store), 5, "enough is free now");
    assert_eq!(store.stats().unwrap().removed.low_space.lines, 20);
}

#[test]
fn for_free_space_nothing_goes_that_a_copy_has_too() {
    let sim = Sim::new(40);
    let store = store_of_days(&sim, 6);
    store.checkpoint("/copy").unwrap();
    sim.set_capacity_bytes(Some(sim.used_bytes() + 100_000));
    let policy = Retention { min_free_bytes: Some(110_000), ..Retention::default() };
    assert_eq!(store.retention_would_remove(&policy).unwrap().lines, 0);
    store.set_retention(&policy).unwrap();
    for _ in 0..3 {
        store.enforce_retention().unwrap();
        sim.clock().advance(DAY / 24);
    }
    assert_eq!(days(&store), 6, "not a byte would get free");
    let told = store.incidents().messages;
    assert_eq!(told.iter().filter(|told| told.contains("another name")).count(), 1, "{told:?}");
    duramen_engine::io::remove_tree(&*sim.env().fs, std::path::Path::new("/copy")).unwrap();
    store.enforce_retention().unwrap();
    assert!(days(&store) < 6);
}

#[test]
fn an_open_snapshot_reads_on() {
    let sim = Sim::new(3);
    let store = store_of_days(&sim, 4);
    let reader = options(sim.spawn_process().env()).keeper(false).open("/logs").unwrap();
    let snapshot = reader.snapshot().unwrap();
    store.set_retention(&Retention { max_age: Some(DAY), ..Retention::default() }).unwrap();
    store.enforce_retention().unwrap();
    assert_eq!(lines_of(&store).len(), 40);
    assert_eq!(lines_of(&reader).len(), 40, "who looks anew sees it, too");
    let read: usize =
        snapshot.blocks(i64::MIN, i64::MAX).iter().map(|b| b.open().unwrap().times().unwrap().len()).sum();
    assert_eq!(read, 80);
    let tables = || sim.files().iter().filter(|file| file.ends_with(".sst")).count();
    assert_eq!(tables(), 4);
    drop(snapshot);
    store.flush().unwrap();
    assert_eq!(tables(), 2, "the files go when nobody reads them");
}

#[test]
fn lines_that_come_too_late_are_counted_and_told() {
    let sim = Sim::new(4);
    let store = options(sim.env()).open("/logs").unwrap();
    let now = sim.env().clock.now_unix_ns();
    let rules = vec![RetentionRule::level(Level::Error, None)];
    for policy in [
        Retention { max_age: Some(7 * DAY), ..Retention::default() },
        Retention { max_age: Some(7 * DAY), rules, ..Retention::default() },
    ] {
        store.set_retention(&policy).unwrap();
        for (number, age) in [(0, 0), (1, 8), (2, 400), (3, 6)] {
            let line = Line { number, time: now - age * DAY_NS, level: Level::Info, app: "db" };
            line.append_to(&store, "").unwrap();
        }
        store.flush().unwrap();
    }
    assert_eq!(lines_of(&store).iter().map(|line| line.number).collect::<Vec<_>>(), [0, 0, 3, 3]);
    let removed = store.stats().unwrap().removed;
    assert_eq!((removed.late.lines, removed.expired.lines), (4, 0));
    let told = store.incidents().messages.join("\n");
    assert!(told.contains("2 lines were older than the retention policy allows"), "{told}");
}

#[test]
fn the_policy_is_the_stores_and_survives() {
    let sim = Sim::new(5);
    let policy = Retention {
        max_age: Some(30 * DAY),
        max_bytes: Some(5),
        min_free_bytes: Some(6),
        rules: vec![RetentionRule::stream(r#"{app="a\"b"}"#.parse().unwrap(), None)],
    };
    let store = options(sim.env()).open("/logs").unwrap();
    assert_eq!(store.retention().unwrap(), Retention::default());
    store.set_retention(&policy).unwrap();
    let other = options(sim.spawn_process().env()).keeper(false).open("/logs").unwrap();
    assert_eq!(other.retention().unwrap(), policy);
    sim.crash_power_keeping(0);
    drop((store, other));
    let reader = Store::open_read_only("/nowhere");
    assert!(matches!(reader, Err(Error::NoStore { .. })));
    let store = options(sim.env()).open("/logs").unwrap();
    assert_eq!(store.retention().unwrap(), policy);
    let before = sim.operations();
    store.set_retention(&policy).unwrap();
    assert!(!sim.trace()[before as usize..].iter().any(|op| op.starts_with("write")), "nothing to change");
    store.set_retention(&Retention::default()).unwrap();
    assert_eq!(store.stats().unwrap().retention, Retention::default());
}

#[test]
fn lines_that_are_dated_in_the_future_protect_only_themselves() {
    let sim = Sim::new(32);
    let now = sim.env().clock.now_unix_ns();
    let store = options(sim.env()).open("/logs").unwrap();
    for flush in 0..20u64 {
        // A day to come in the same window of days; one that was, in the one flush or the other.
        for (number, day) in [(0, -2 - flush as i64 % 3), (1, 1)] {
            let (number, time) = (flush * 2 + number, now + day * DAY_NS);
            Line { number, time, level: Level::Info, app: "web" }.append_to(&store, "").unwrap();
        }
        store.flush().unwrap();
    }
    store.compact().unwrap();
    store.set_retention(&Retention { max_bytes: Some(1), ..Retention::default() }).unwrap();
    store.enforce_retention().unwrap();
    assert!(lines_of(&store).iter().all(|line| line.time > now), "{:?}", lines_of(&store));
    assert_eq!(lines_of(&store).len(), 20);
}

#[test]
fn what_would_go_of_a_table_that_stays_is_told() {
    let sim = Sim::new(31);
    let store = options(sim.env()).open("/logs").unwrap();
    let now = sim.env().clock.now_unix_ns();
    // Ten days, of two levels and two streams, in one table.
    for number in 0..200u64 {
        let level = if number % 4 == 0 { Level::Debug } else { Level::Info };
        let app = if number % 5 == 0 { "db" } else { "web" };
        Line { number, time: now - (number as i64 % 10) * DAY_NS, level, app }.append_to(&store, "").unwrap();
    }
    store.flush().unwrap();
    assert_eq!(sim.files().iter().filter(|file| file.ends_with(".sst")).count(), 1);
    let stream = |text: &str, age| RetentionRule::stream(text.parse().unwrap(), age);
    let policies = [
        Retention { max_age: Some(3 * DAY), ..Retention::default() },
        Retention { rules: vec![RetentionRule::level(Level::Debug, Some(DAY))], ..Retention::default() },
        Retention {
            max_age: Some(2 * DAY),
            rules: vec![stream(r#"{app="db"}"#, None), RetentionRule::level(Level::Debug, Some(DAY))],
            ..Retention::default()
        },
    ];
    let mut gone = 0;
    for policy in policies {
        let would = store.retention_would_remove(&policy).unwrap();
        assert!(would.lines > 0 && would.stored_bytes > 0, "{would:?}");
        let before = lines_of(&store).len() as u64;
        store.set_retention(&policy).unwrap();
        store.enforce_retention().unwrap();
        gone += would.lines;
        assert_eq!(before - lines_of(&store).len() as u64, would.lines, "{policy:?}");
        assert_eq!(store.retention_would_remove(&policy).unwrap().lines, 0);
    }
    assert_eq!(store.stats().unwrap().removed.expired.lines, gone);
}

#[test]
fn nonsense_is_refused_and_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path().join("logs")).unwrap();
    let nothing_left = Retention { max_age: Some(DAY / 100_000), ..Retention::default() };
    assert!(matches!(store.set_retention(&nothing_left), Err(Error::Invalid(_))));
    assert!(matches!(store.retention_would_remove(&nothing_left), Err(Error::Invalid(_))));
    let reader = Store::open_read_only(dir.path().join("logs")).unwrap();
    assert!(matches!(reader.set_retention(&Retention::default()), Err(Error::ReadOnly)));
    assert!(matches!(reader.enforce_retention(), Err(Error::ReadOnly)));
}

/// With real threads: the keeper gives its role up when asked, and gets it back.
#[test]
fn another_process_may_set_it_while_one_is_keeper() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().join("logs");
    let keeper = Store::open(&dir).unwrap();
    assert!(keeper.is_keeper());
    // One that may not be keeper is, for as long as it has to be.
    let other = StoreOptions::new().keeper(false).open(&dir).unwrap();
    let policy = Retention { max_age: Some(DAY), ..Retention::default() };
    other.set_retention(&policy).unwrap();
    assert!(!other.is_keeper());
    assert_eq!(keeper.retention().unwrap(), policy);
    let line = Line { number: 1, time: i64::MAX, level: Level::Info, app: "web" };
    line.append_to(&keeper, "").unwrap();
    // It takes the role again when it looks, which flushing does.
    keeper.flush().unwrap();
    assert!(keeper.is_keeper());
    assert_eq!(keeper.stats().unwrap().days.len(), 1);
}
