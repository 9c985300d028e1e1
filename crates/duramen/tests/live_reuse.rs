#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this is test code

//! What was made of lines that are still in the WAL stays for the next query: whatever happens between two queries, each sees
//! every line once, with all of its fields.

use duramen::block::{Block, BlockHandle, StreamLabels};
use duramen::column::Order;
use duramen::{EntryBuf, Store, StoreOptions};
use duramen_engine::io::sim::Sim;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A line's message and fields, by its number.
type Lines = BTreeMap<i64, BTreeMap<String, String>>;

/// Numbers that look like chance.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// The fields that lines have, later ones more.
const FIELDS: [&str; 6] = ["app", "a", "b", "c", "later", "last"];

fn append(store: &Store, dice: &mut Dice, lines: &mut Lines, fields: usize) {
    let number = lines.last_key_value().map_or(0, |(last, _)| last + 1);
    let mut line = BTreeMap::from([("_msg".to_owned(), format!("line {number}"))]);
    let mut entry = EntryBuf::new(["app"]);
    entry.start(number - dice.below(40) as i64).message(&line["_msg"]).field("number", number);
    for name in &FIELDS[..fields] {
        if dice.below(3) > 0 {
            let value = format!("{name}{}", dice.below(5));
            entry.field(name, value.as_str());
            line.insert((*name).into(), value);
        }
    }
    store.append(entry.finish().unwrap()).unwrap();
    line.insert("number".into(), number.to_string());
    lines.insert(number, line);
}

/// The value of each row of a block in a field.
fn values(block: &dyn Block, name: &str) -> Vec<Option<String>> {
    let column = block.column(name).unwrap();
    let value = |row| column.as_ref()?.text(row, &mut Default::default()).map(str::to_owned);
    (0..block.rows()).map(value).collect()
}

/// Each line once, and of each the fields that are asked for; `known` are blocks of before, which stay as they were.
fn look(store: &Store, dice: &mut Dice, lines: &Lines) -> Vec<Arc<dyn BlockHandle>> {
    let handles = store.snapshot().unwrap().blocks(i64::MIN, i64::MAX);
    let mut left = lines.clone();
    for handle in &handles {
        let block = handle.open().unwrap();
        assert_eq!(block.rows(), handle.rows());
        let numbers: Vec<i64> =
            values(&*block, "number").into_iter().map(|number| number.unwrap().parse().unwrap()).collect();
        if dice.below(4) == 0 {
            let of_rows = numbers.iter().flat_map(|number| lines[number].keys());
            let expected: std::collections::BTreeSet<_> = of_rows.cloned().collect();
            assert!(block.field_names().unwrap().into_iter().eq(expected), "the names of all fields");
        }
        for _ in 0..dice.below(6) {
            let name = ["_msg", "app", "a", "b", "c", "later", "last"][dice.below(7) as usize];
            let expected = numbers.iter().map(|number| lines[number].get(name).cloned());
            assert!(values(&*block, name).into_iter().eq(expected), "{name}");
        }
        for number in &numbers {
            assert!(left.remove(number).is_some(), "{number} is there twice, or was deleted");
        }
    }
    assert!(left.is_empty(), "{left:?} are missing");
    handles
}

#[test]
fn queries_see_every_line_whatever_happens_between_them() {
    for seed in 0..12 {
        let mut dice = Dice(seed);
        let sim = Sim::new(seed);
        let options = || StoreOptions::new().env(sim.env()).background(false).write_buffer_size(64 << 10);
        let open = || options().open("/logs").unwrap();
        let (keeper, mut other) = (open(), Some(open()));
        let mut lines = Lines::new();
        let mut held: Option<(Vec<Arc<dyn BlockHandle>>, Lines)> = None;
        for step in 0..150 {
            let fields = 1 + (FIELDS.len() - 1) * step / 149;
            match dice.below(20) {
                0 => keeper.flush().unwrap(),
                1 => other = if other.is_some() { None } else { Some(open()) },
                2 if !lines.is_empty() => {
                    let value = format!("a{}", dice.below(5));
                    let goes = |value_of: &Option<String>| value_of.as_ref() == Some(&value);
                    // Nobody seals the lines of one that lives, and has no thread for it.
                    other = None;
                    let mut matches =
                        |block: &Arc<dyn Block>| Ok(values(&**block, "a").iter().map(goes).collect());
                    let deleted = keeper.delete(i64::MIN..=i64::MAX, &mut matches, &|| false).unwrap();
                    assert!(deleted.is_some());
                    // The last number is not given again.
                    let last = lines.last_key_value().map(|(number, _)| *number).unwrap();
                    lines.retain(|_, line| line.get("a") != Some(&value));
                    if !lines.contains_key(&last) {
                        append_as(&keeper, last + 1, &mut lines);
                    }
                }
                3 => held = Some((look(&keeper, &mut dice, &lines), lines.clone())),
                n => {
                    let store = if n % 2 == 0 { other.as_ref().unwrap_or(&keeper) } else { &keeper };
                    for _ in 0..1 + dice.below(60) {
                        append(store, &mut dice, &mut lines, fields);
                    }
                }
            }
            look(&keeper, &mut dice, &lines);
            if let Some(other) = &other {
                look(other, &mut dice, &lines);
            }
            if let Some((handles, lines)) = &held {
                let rows: usize = handles.iter().map(|handle| handle.rows()).sum();
                assert_eq!(rows, lines.len(), "a view stays as it was");
            }
        }
    }
}

/// A line with nothing but its number and message.
fn append_as(store: &Store, number: i64, lines: &mut Lines) {
    let mut entry = EntryBuf::new(["app"]);
    let message = format!("line {number}");
    entry.start(number).message(&message).field("number", number);
    store.append(entry.finish().unwrap()).unwrap();
    lines.insert(number, [("_msg".to_owned(), message), ("number".to_owned(), number.to_string())].into());
}

/// Asking again and again is not paid for again and again: for names that there are not, for labels, for few rows.
#[test]
fn what_was_found_out_is_not_found_out_again() {
    let store = StoreOptions::new().env(Sim::new(1).env()).background(false).open("/logs").unwrap();
    let mut buf = EntryBuf::new(["app"]);
    for n in 0..1000 {
        buf.start(n).message(&format!("line {n}")).field("app", n % 3).field("a", n).field("b", n);
        store.append(buf.finish().unwrap()).unwrap();
    }
    let handle = store.snapshot().unwrap().blocks(i64::MIN, i64::MAX).pop().unwrap();
    let open = || handle.open().unwrap();
    open();
    assert!(open().rows_of_streams(&|_: &StreamLabels<'_>| true).unwrap().is_some());
    let of_streams = open().held_bytes();
    assert!(open().is_label("app"));
    let of_label = open().held_bytes();
    assert!(of_label > of_streams, "what was found out is kept");
    for n in 0..10_000 {
        assert!(open().column(&format!("none{n}")).unwrap().is_none());
    }
    assert!(open().held_bytes() < of_label + 10_000, "names that are nowhere take no room");
    let of_two = |n: usize| {
        let mut bits = [0u64; 16];
        [n, n + 500].into_iter().for_each(|row| bits[row / 64] |= 1 << (row % 64));
        open().column_at("b", &bits).unwrap().unwrap()
    };
    assert!(matches!(of_two(1).order, Order::Few(_)), "of few rows, these alone are made");
    (2..=500).for_each(|n| drop(of_two(n % 500)));
    assert!(Arc::ptr_eq(&of_two(1), &open().column("b").unwrap().unwrap()), "of so many, all");
}
