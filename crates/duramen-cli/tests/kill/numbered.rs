//! Numbered lines, and which of them a store has.

use duramen::Store;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;

/// The time of the first line, ns since the epoch: 2026-11-21T10:00:00Z.
const START_NS: i64 = 1_795_255_200_000_000_000;

/// The message of a line: which source, which number, and a tail that only this line has, of a length of its own.
pub fn message(source: u64, number: u64) -> String {
    let tail = (source << 32 | number).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let len = 1 + (tail % 5) as usize;
    format!("source={source} number={number} {}", format!("{tail:016x}").repeat(len))
}

/// The time of a line; sources overlap, and some lines come late.
pub fn time_ns(number: u64) -> i64 {
    let late_by = if number.is_multiple_of(7) { 3_600_000_000_000 } else { 0 };
    START_NS + number as i64 * 1_000_000 - late_by
}

/// The line as a log file has it.
pub fn line(source: u64, number: u64) -> String {
    let time = jiff::Timestamp::from_nanosecond(i128::from(time_ns(number))).unwrap();
    format!("{time} {}\n", message(source, number))
}

/// How many lines of each source the store has. They must be its first ones, whole, and each once.
pub fn of_each_source(dir: &Path) -> BTreeMap<u64, u64> {
    let store = Store::open_read_only(dir).unwrap();
    let mut seen: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    store
        .scan(i64::MIN, i64::MAX, &mut |row| {
            let said = row.message();
            let value = |name: &str| {
                let (_, rest) = said.split_once(name).unwrap_or_else(|| panic!("not a line of ours: {said}"));
                rest.split(' ').next().unwrap().parse::<u64>().unwrap()
            };
            let (source, number) = (value("source="), value("number="));
            assert!(said.ends_with(&message(source, number)), "torn: {said}");
            assert_eq!(row.time(), time_ns(number), "{said}");
            seen.entry(source).or_default().push(number);
            ControlFlow::Continue(())
        })
        .unwrap();
    let count = |(source, mut numbers): (u64, Vec<u64>)| {
        numbers.sort_unstable();
        let wrong = numbers.iter().zip(0..).find(|(number, expected)| **number != *expected);
        assert_eq!(wrong, None, "source {source}: a number that is there twice, or one that is missing");
        (source, numbers.len() as u64)
    };
    seen.into_iter().map(count).collect()
}

/// How many lines a reader of this process finds.
pub fn rows(store: &Store) -> u64 {
    store.snapshot().unwrap().rows()
}

/// Nothing was set aside, no writer is left, and every byte is as it was written.
pub fn is_tidy(store: &Path) {
    let stats = Store::open_read_only(store).unwrap().stats().unwrap();
    assert!(stats.quarantined.is_empty(), "{:?}", stats.quarantined);
    assert_eq!(stats.wal, Default::default(), "everything is in tables");
}
