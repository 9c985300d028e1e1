//! Columns that repeat another of their block, or follow from it: they take little, and come back whichever is read.
#![allow(clippy::unwrap_used)] // helpers of tests may

mod columnar_common;

use columnar_common::{Chunks, Field, Rows, check};
use duramen::Level;
use duramen::block::Block;
use duramen::column::IntText;
use duramen::columnar::{BlockEncoder, EncodeOptions, EncodedBlock, TableBlock};
use proptest::prelude::*;
use std::sync::Arc;

const ROWS: i64 = 12_000;

/// Numbers in no order.
fn below(seed: &mut u64, most: u64) -> u64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 33) % most
}

fn letters(seed: &mut u64, count: usize) -> String {
    (0..count).map(|_| char::from(b'a' + below(seed, 26) as u8)).collect()
}

/// A time in nanoseconds, and as it is written; paths, and pages that led there, which are most often other rows' paths; text that
/// no other field has; clients, their agents and how much they get, most often as before; and filling that makes the block a
/// large one.
fn rows(count: i64) -> Rows {
    let mut rows = Rows::new(&["app"]);
    let (mut seed, mut paths) = (7, Vec::new());
    let agents: Vec<String> = (0..1500).map(|_| letters(&mut seed, 15)).collect();
    let filling = "x".repeat(400);
    for i in 0..count {
        let ns = 1_700_000_000_000_000_000 + i * 1_000_000_000 + below(&mut seed, 1_000_000_000) as i64;
        let at = (ns / 1_000_000_000 % 86_400, ns % 1_000_000_000);
        let (h, m, s) = (at.0 / 3600, at.0 / 60 % 60, at.0 % 60);
        let of_day =
            format!("2023-11-{:02}T{h:02}:{m:02}:{s:02}.{:09}Z", ns / 86_400_000_000_000 % 28 + 1, at.1);
        paths.push(format!("/{}/{}", letters(&mut seed, 12), letters(&mut seed, 9)));
        let led = &paths[below(&mut seed, paths.len() as u64) as usize];
        let client = below(&mut seed, 1000);
        let agent = if i % 50 == 7 { below(&mut seed, 1500) } else { client * 7 % 1500 };
        let fields = vec![
            ("agent", Field::Str(agents[agent as usize].clone())),
            ("at", Field::Str(of_day.clone())),
            ("client", Field::Str(format!("10.7.{}.{}", client / 256, client % 256))),
            ("got", if i % 9 == 4 { Field::None } else { Field::Int((agent * agent * 31 % 65_521) as i64) }),
            ("given", Field::Int((agent * 7919 % 100_003 + i as u64 % 97 / 96) as i64)),
            ("path", Field::Str(paths.last().unwrap().clone())),
            (
                "referer",
                if i % 9 == 0 { Field::None } else { Field::Str(format!("https://shop{led}?x={i}")) },
            ),
            ("until", Field::Str(of_day.replace('T', " ").replace('Z', ""))),
            ("wholly", Field::Str(letters(&mut seed, 20))),
            ("filling", Field::Str(filling.clone())),
        ];
        rows.add(i * 1_000_000_000, Level::Info, "GET", fields);
    }
    rows
}

fn encoded(rows: &Rows) -> (Arc<Chunks>, EncodedBlock) {
    let mut chunks = Chunks::default();
    let mut encoder = BlockEncoder::new(EncodeOptions::default()).unwrap();
    let encoded = encoder.encode(&rows.rows(), &mut chunks).unwrap();
    (Arc::new(chunks), encoded)
}

#[test]
fn columns_that_others_tell_come_back() {
    check(&rows(ROWS));
}

#[test]
fn a_column_that_another_tells_takes_little() {
    let rows = rows(ROWS);
    let (chunks, encoded) = encoded(&rows);
    let bytes = |name: &str| encoded.fields.iter().find(|field| field.name == name).unwrap().stored_bytes;
    assert!(bytes("until") * 10 < bytes("at"), "{} of {}", bytes("until"), bytes("at"));
    assert!(bytes("referer") * 2 < bytes("path"), "{} of {}", bytes("referer"), bytes("path"));
    assert!(bytes("wholly") * 2 > bytes("path"), "{} of {}", bytes("wholly"), bytes("path"));
    assert!(bytes("client") * 3 < bytes("agent"), "{} of {}", bytes("client"), bytes("agent"));
    for (name, rows) in [("given", ROWS), ("got", ROWS * 8 / 9)] {
        assert!(bytes(name) * 3 < rows as u64, "{name}: {}", bytes(name));
    }
    // Each is read without having read the other, and what that takes is known before.
    for (name, count) in
        [("path", 1), ("referer", 3), ("wholly", 1), ("agent", 1), ("client", 2), ("given", 2), ("got", 3)]
    {
        let block = TableBlock::open(chunks.clone(), encoded.directory, &[]).unwrap();
        let block = block.unordered();
        chunks.reads.lock().unwrap().clear();
        chunks.asked.lock().unwrap().clear();
        block.will_read(&|wanted| wanted == name);
        let column = block.column(name).unwrap().unwrap();
        let mut digits = IntText::default();
        assert!(column.text(ROWS as usize - 1, &mut digits).unwrap().len() > 3);
        let (read, asked) = (chunks.reads.lock().unwrap(), chunks.asked.lock().unwrap());
        assert_eq!(read.len(), count, "{name}: {read:?}, with the map of rows that have none");
        assert!(read.iter().all(|chunk| asked.contains(chunk)), "{name}: {read:?} without {asked:?}");
    }
}

/// Blocks without anything to save cost the next ones of their kind the look, but not those a while later, nor others.
#[test]
fn after_blocks_that_nothing_is_saved_of_it_is_looked_for_again() {
    let filling = "x".repeat(400);
    let others = |is_told: bool, name: &str| {
        let (mut others, mut seed) = (Rows::new(&[]), 3);
        for i in 0..ROWS {
            let text = letters(&mut seed, 30);
            let more = if is_told { text.to_uppercase().to_lowercase() } else { letters(&mut seed, 30) };
            let fields = vec![
                ("filling", Field::Str(filling.clone())),
                ("more", Field::Str(more + &letters(&mut seed, 3))),
                (name, Field::Str(text)),
            ];
            others.add(i, Level::Info, "", fields);
        }
        others
    };
    let (told, not_told, of_other_fields) = (others(true, "a"), others(false, "a"), others(true, "b"));
    let mut encoder = BlockEncoder::new(EncodeOptions::default()).unwrap();
    let mut bytes_of =
        |rows: &Rows| encoder.encode(&rows.rows(), &mut Chunks::default()).unwrap().sizes.column_bytes;
    let first = bytes_of(&told);
    assert_eq!(bytes_of(&told), first);
    let most = bytes_of(&not_told);
    assert!(most > first * 3 / 2, "{most} {first}");
    // One is not looked at, then three, until there is something.
    for not_looked_at in [1, 3, 3, 3] {
        for _ in 0..not_looked_at {
            let bytes = bytes_of(&told);
            assert!(bytes > first * 5 / 4, "{bytes} {first}");
        }
        assert_eq!(bytes_of(&not_told), most);
    }
    assert!((0..3).all(|_| bytes_of(&told) > first * 5 / 4));
    assert_eq!([bytes_of(&told), bytes_of(&told)], [first; 2]);
    bytes_of(&not_told);
    assert!(bytes_of(&told) > first * 5 / 4);
    assert!(bytes_of(&of_other_fields) < first * 11 / 10);
}

#[test]
fn what_is_damaged_is_an_error_of_all_that_need_it() {
    let rows = rows(ROWS);
    let (chunks, encoded) = encoded(&rows);
    let read_of = |name: &str| {
        let block = TableBlock::open(chunks.clone(), encoded.directory, &[]).unwrap().unordered();
        chunks.reads.lock().unwrap().clear();
        block.column(name).unwrap().unwrap();
        chunks.reads.lock().unwrap().clone()
    };
    for (needed, needing) in [("path", "referer"), ("agent", "client"), ("agent", "given")] {
        let (of_needed, of_needing) = (read_of(needed), read_of(needing));
        let both = of_needed.iter().find(|chunk| of_needing.contains(chunk)).unwrap();
        let mut damaged = chunks.chunks.clone();
        let middle = damaged[*both as usize].len() / 2;
        damaged[*both as usize][middle..].fill(0xa5);
        let damaged = Arc::new(Chunks { chunks: damaged, ..Chunks::default() });
        let block = TableBlock::open(damaged, encoded.directory, &[]).unwrap().unordered();
        for name in [needed, needing] {
            assert!(block.column(name).is_err_and(|error| error.is_corruption()), "{name}");
        }
        assert!(["at", "until", "wholly"].iter().all(|name| block.column(name).is_ok_and(|it| it.is_some())));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn damaged_blocks_do_not_panic(
        flips in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        columnar_common::read_damaged(&rows(9_500), &flips);
    }
}

/// The session of a worker is new in 3 of 100 rows: more texts than a byte can number, each soon repeated.
#[test]
fn codes_of_very_many_texts_that_follow_from_a_key_come_back() {
    let mut rows = Rows::new(&["app"]);
    let mut seed = 7;
    let filling = "x".repeat(800);
    let pids: Vec<i64> = (0..20).map(|_| 1000 + below(&mut seed, 60000) as i64).collect();
    let mut act: Vec<String> = (0..20).map(|_| letters(&mut seed, 24)).collect();
    for i in 0..20_000i64 {
        let k = below(&mut seed, 20) as usize;
        if below(&mut seed, 100) < 3 {
            act[k] = letters(&mut seed, 24);
        }
        let fields = vec![
            ("filling", Field::Str(filling.clone())),
            ("pid", Field::Int(pids[k])),
            ("session", Field::Str(act[k].clone())),
        ];
        rows.add(i * 1_000_000_000, Level::Info, "GET", fields);
    }
    check(&rows);
}

/// Where a text says a field's value twice, it depends on where the text before had it which of the two is taken for the field.
#[test]
fn a_text_that_says_another_field_twice_comes_back() {
    const FRUIT: [&str; 10] = [
        "walnuts", "bananas", "cherrys", "apricot", "pumpkin", "lettuce", "spinach", "mustard", "coconut",
        "peanuts",
    ];
    let mut rows = Rows::new(&["app"]);
    let mut seed = 9;
    for i in 0..3000i64 {
        let code = ["quartzite", "zebrawood"][below(&mut seed, 2) as usize];
        let mut word = || letters(&mut seed, 7);
        let said = format!("{} {} {} {}", FRUIT[i as usize % 10], word(), word(), word());
        // The last before all are taken apart again has it elsewhere than the last before the first.
        let kind = if i >= 2990 { 2 } else { below(&mut seed, 6) };
        let message = match kind {
            0 => format!("{code} {said} {code}"),
            1 | 2 => format!("{code} only {i}"),
            _ => format!("{}: {code} {i}", "p".repeat(40)),
        };
        rows.add(i * 1_000_000_000, Level::Info, &message, vec![("code", Field::Str(code.into()))]);
    }
    check(&rows);
}
