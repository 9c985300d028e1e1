//! What `unroll` makes is computed alike whether columns tell of a block that it changes nothing, or rows are made.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this is test code

mod support;

use duramen::ValueKind;
use duramen_query::{Cancel, Order, ParseOptions, Query, RunOptions, RunStats};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use std::ops::ControlFlow;
use std::sync::Arc;
use support::{Row, TestBlock, handles};

const UNROLLS: &[&str] = &[
    "unroll by (x)",
    "unroll (x, y)",
    "unroll (x, x)",
    "unroll (none)",
    "unroll if (n:>1) (x)",
    "unroll (y) | unroll (x)",
    "extract \"a<x>c\" from y | unroll (x)",
    "unroll (x) | math x * 2 as x",
    "math n * 2 as x | unroll (x)",
    "unroll (x) | len(x) as y",
    "unroll (_time, x)",
];

const STATS: &[&str] = &[
    "count() c",
    "count() c, count(x) d, count_empty(x) e, sum(x) s, sum_len(x, y) l",
    "by (x) count() c, min(n) a, max(y) b",
    "by (x, y) count_uniq(n) c, uniq_values(x) u",
    "by (_time:20s, x) values(y) v, quantile(0.5, x) q",
    "by (_time:7s) values(x) f, any(x) a",
    "by (y) json_values(x, y) j, row_min(n, x) a, row_max(x, y) b, row_any(x) r",
    "by (x:2) count() if (x:*) c, min(_time) t, max(_time) u",
    "by (y) count(x*) c, values(*) v",
];

fn row() -> impl Strategy<Value = Row> {
    let optional = |values: Vec<(&'static str, ValueKind)>| proptest::option::of(select(values));
    let (text, number, json) = (ValueKind::String, ValueKind::Number, ValueKind::Json);
    (
        0i64..60,
        0..5i64,
        optional(vec![
            ("1", number),
            ("2", number),
            ("2.5", number),
            ("7", text),
            ("true", ValueKind::Bool),
            ("", text),
            ("[", text),
            ("[1,\"b\",[2]]", json),
            ("[]", json),
            ("{\"a\":1}", json),
        ]),
        optional(vec![("abc", text), ("a[1,2]c", text), (" [3]", text), ("5", number)]),
        0..4,
    )
        .prop_map(|(time, n, x, y, arrays)| {
            // Most blocks are to be without arrays.
            let fits = |(value, _): &(&str, ValueKind)| arrays == 0 || !value.contains("[");
            let (n, x, y) = (n.to_string(), x.filter(fits), y.filter(fits));
            let mut row = Row::new(time * 1_000_000_000, &[("n", &n)]);
            for (name, value) in [("x", x), ("y", y)] {
                if let Some((value, kind)) = value {
                    row.fields.insert(name.into(), (value.into(), kind));
                }
            }
            row
        })
}

/// All rows as JSON lines, in their order as texts, and what was done for them.
fn answer(text: &str, blocks: &[Arc<TestBlock>], options: &RunOptions) -> (Vec<String>, RunStats) {
    let query = Query::parse(text, &ParseOptions::default()).unwrap_or_else(|e| panic!("{text}\n{e}"));
    let mut lines = Vec::new();
    let mut sink = |row: &duramen_query::ResultRow| {
        let mut line = Vec::new();
        row.write_json(&mut line);
        lines.push(String::from_utf8(line).unwrap());
        ControlFlow::Continue(())
    };
    let stats = query.run(handles(blocks), options, &Cancel::new(), &mut sink).unwrap();
    lines.sort();
    (lines, stats)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn columns_and_rows_tell_the_same(
        blocks in vec((vec(row(), 1..12), any::<u64>()), 1..5),
        filter in select(vec!["*", "n:>1", "x:*", "!y:*"]),
        unroll in select(UNROLLS),
        stats in select(STATS),
        order in select(vec![Order::NewestFirst, Order::OldestFirst]),
        threads in 1usize..3,
    ) {
        let blocks: Vec<_> = blocks.into_iter().map(|(rows, seed)| Arc::new(TestBlock::new(rows, seed))).collect();
        let options = RunOptions { order, threads, ..RunOptions::default() };
        let (found, cost) = answer(&format!("{filter} | {unroll} | stats {stats}"), &blocks, &options);
        // Behind a pipe that knows how many rows there are, each is made, in order.
        let (expected, by_rows) = answer(&format!("{filter} | offset 0 | {unroll} | stats {stats}"), &blocks, &options);
        prop_assert_eq!(found, expected, "{} | {} | {}", filter, unroll, stats);
        let counted = |stats: &RunStats| (stats.blocks_read, stats.rows_scanned, stats.rows_matched, stats.blocks_failed);
        prop_assert_eq!(counted(&cost), counted(&by_rows));
    }
}

/// What makes parts of a text, and what may take them as they are.
const SPLITS: &[(&str, &str)] = &[
    ("unpack_words y", "unroll (y)"),
    ("unpack_words y drop_duplicates", "unroll by y"),
    ("unpack_words y as z", "unroll (z)"),
    ("unpack_words x as y", "unroll (x)"),
    ("unpack_words y as z", "unroll (z, x)"),
    ("unpack_words if (n:>1) y", "unroll (y)"),
    ("unpack_words y", "unroll if (n:>1) (y)"),
    ("split \",\" from y", "unroll (y)"),
    ("split \"\" from x as y", "unroll (y)"),
    ("split b y | split c y", "unroll (y) | unroll (y)"),
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn parts_are_what_the_items_of_their_array_are(
        blocks in vec((vec(row(), 1..12), any::<u64>()), 1..4),
        (split, unroll) in select(SPLITS),
        behind in select(vec!["fields *", "stats by (y, z) count() c", "top 3 by (z)", "limit 5", "len(y) as z"]),
        threads in 1usize..3,
    ) {
        let blocks: Vec<_> = blocks.into_iter().map(|(rows, seed)| Arc::new(TestBlock::new(rows, seed))).collect();
        let options = RunOptions { threads, ..RunOptions::default() };
        let (found, _) = answer(&format!("* | {split} | {unroll} | {behind}"), &blocks, &options);
        // A pipe between them has the array written.
        let (expected, _) = answer(&format!("* | {split} | offset 0 | {unroll} | {behind}"), &blocks, &options);
        prop_assert_eq!(found, expected, "{} | {} | {}", split, unroll, behind);
    }
}

#[test]
fn more_parts_than_an_array_may_have_stay_together() {
    let text = "a ".repeat((1 << 20) + 1);
    let block = Arc::new(TestBlock::new(vec![Row::new(0, &[("x", &text)])], 0));
    let count = |pipes: &str| {
        answer(
            &format!("* | {pipes} | stats count() c, sum_len(x) l"),
            std::slice::from_ref(&block),
            &RunOptions::default(),
        )
        .0
    };
    let split = "unpack_words x | unroll (x)";
    assert_eq!(count(split), count("unpack_words x | offset 0 | unroll (x)"));
    assert_eq!(count(split), [format!("{{\"c\":1,\"l\":{}}}", 4 * ((1 << 20) + 1) + 1)]);
}

#[test]
fn a_block_with_an_array_is_read_by_rows_and_counts_once() {
    let block = |number: i64, seed: u64| {
        let value = |r: i64| if number == 1 && r == 7 { "[1,2,3]" } else { "1" };
        let rows = (0..10).map(|r| Row::new(number * 100 + r, &[("x", value(r))])).collect();
        Arc::new(TestBlock::new(rows, seed))
    };
    for seed in 0..20 {
        let blocks = [block(0, seed), block(1, seed), block(2, seed)];
        // What is scanned twice would be more than that.
        let options = RunOptions { max_rows_scanned: Some(30), ..RunOptions::default() };
        let (found, stats) = answer("* | unroll (x) | stats count() c, sum(x) s", &blocks, &options);
        assert_eq!(found, [r#"{"c":32,"s":35}"#]);
        assert_eq!((stats.rows_scanned, stats.rows_matched), (30, 30));
        let opened: Vec<_> =
            blocks.iter().map(|block| block.opened.load(std::sync::atomic::Ordering::Relaxed)).collect();
        assert_eq!(opened, [1, 2, 1], "{seed}");
    }
}
