//! Answers of many rows as text: what several threads write comes out as if one had.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use duramen_query::{Cancel, Error, Order, ParseOptions, Query, ResultRow, RunOptions, Text};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use support::{Row, TestBlock, handles, run, text_of, written};

/// Blocks that overlap: each has every third second, and all go on for some time.
fn overlapping(rows: i64) -> Vec<Arc<TestBlock>> {
    let row = |b: i64, r: i64| {
        let n = (b * rows + r).to_string();
        Row::new((3 * r + b) * 1_000_000_000, &[("_msg", &format!("line {n} of block{b}")), ("n", &n)])
    };
    (0..3).map(|b| Arc::new(TestBlock::new((0..rows).map(|r| row(b, r)).collect(), b as u64))).collect()
}

#[test]
fn several_threads_write_what_one_does() {
    let blocks = overlapping(1200);
    for text in [
        "*",
        "n:>900",
        "block1 | fields n",
        "* | limit 2000",
        "* | offset 700 | limit 1000 | offset 3",
        "* | extract 'line <m> of' | filter m:<2700 | fields _time, m | limit 1333",
        "* | filter n:5",
        "* | sort by (_time) limit 1500",
        "* | sort by (n desc) limit 900",
        "* | stats by (n) count() | sort by (n)",
        "* | limit 3000 | filter n:>100",
        "nothing",
    ] {
        for (offset, limit) in [(0, None), (700, None), (999, Some(1301)), (20_000, Some(5))] {
            for order in [Order::NewestFirst, Order::OldestFirst] {
                let options = RunOptions { order, offset, limit, ..RunOptions::default() };
                let (rows, _) = run(text, &blocks, &options).unwrap();
                let several = written(text, &blocks, &RunOptions { threads: 3, ..options }).unwrap();
                assert!(several == text_of(&rows), "{text} {offset} {limit:?} {order:?}");
            }
        }
    }
}

#[test]
fn nobody_writes_on_when_no_more_is_wanted() {
    let blocks = overlapping(20_000);
    let written = AtomicUsize::new(0);
    let write = |_: &ResultRow, text: &mut Vec<u8>| {
        written.fetch_add(1, Relaxed);
        text.push(b'\n');
    };
    let query = Query::parse("*", &ParseOptions::default()).unwrap();
    let (mut text, options) = (Vec::new(), RunOptions { threads: 3, ..RunOptions::default() });
    let take = Box::new(|_: &mut Vec<u8>, _| ControlFlow::Break(()));
    query
        .write(handles(&blocks), &options, &Cancel::new(), Text { write: &write, text: &mut text, take })
        .unwrap();
    assert!((1..1000).contains(&text.len()) && written.load(Relaxed) < 1000, "{}", text.len());

    let (cancel, mut rows) = (Cancel::new(), 0);
    let take = Box::new(|_: &mut Vec<u8>, more| {
        rows += more;
        cancel.cancel();
        ControlFlow::Continue(())
    });
    let ended =
        query.write(handles(&blocks), &options, &cancel, Text { write: &write, text: &mut text, take });
    assert!(matches!(ended, Err(Error::Cancelled)), "{ended:?}");
    assert!((1..1000).contains(&rows), "{rows}");
}

/// How many rows were written until `take` broke the query off, and how long the longest text was that it saw.
fn until_taken(text: &str, blocks: &[Arc<TestBlock>]) -> (usize, usize) {
    let (written, mut longest) = (AtomicUsize::new(0), 0);
    let write = |row: &ResultRow, text: &mut Vec<u8>| {
        written.fetch_add(1, Relaxed);
        row.write_json(text);
    };
    let query = Query::parse(text, &ParseOptions::default()).unwrap();
    let options = RunOptions { threads: 2, ..RunOptions::default() };
    let mut rows = 0;
    let take = Box::new(|text: &mut Vec<u8>, more| {
        longest = longest.max(text.len());
        text.clear();
        rows += more;
        if rows < 1500 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    let text = Text { write: &write, text: &mut Vec::new(), take };
    query.write(handles(blocks), &options, &Cancel::new(), text).unwrap();
    (written.into_inner(), longest)
}

#[test]
fn rows_that_pipes_multiply_are_not_written_before_they_are_taken() {
    let array = format!("[{}]", vec!["1"; 1000].join(","));
    let rows = (0..3000).map(|n| Row::new(n, &[("_msg", "m"), ("arr", &array)])).collect();
    let (written, _) = until_taken("* | unroll by (arr)", &[Arc::new(TestBlock::new(rows, 1))]);
    assert_eq!(written, 1500);
}

#[test]
fn long_rows_are_taken_before_more_are_written() {
    let long = "x".repeat(10_000);
    // A text that all rows have, or one which a pipe makes longer.
    for (text, message) in [("*", &*long), ("* | format '<_msg><_msg><_msg><_msg>'", &long[..2_500])] {
        let rows = (0..3000).map(|n| Row::new(n, &[("_msg", message)])).collect();
        let (written, longest) = until_taken(text, &[Arc::new(TestBlock::new(rows, 1))]);
        assert!((1500..2200).contains(&written), "{text}: {written}");
        assert!((100_000..1_100_000).contains(&longest), "{text}: {longest}");
    }
}

#[test]
fn who_cancels_sees_no_more_than_what_was_written() {
    let long = "x".repeat(100_000);
    let rows = (0..3000).map(|n| Row::new(n, &[("_msg", &*long)])).collect();
    let blocks = [Arc::new(TestBlock::new(rows, 1))];
    let write = |row: &ResultRow, text: &mut Vec<u8>| row.write_json(text);
    let query = Query::parse("*", &ParseOptions::default()).unwrap();
    let (options, cancel) = (RunOptions { threads: 2, ..RunOptions::default() }, Cancel::new());
    let mut bytes = 0;
    let take = Box::new(|text: &mut Vec<u8>, _| {
        bytes += text.len();
        text.clear();
        if bytes > 30_000_000 {
            cancel.cancel();
        }
        ControlFlow::Continue(())
    });
    let text = Text { write: &write, text: &mut Vec::new(), take };
    let ended = query.write(handles(&blocks), &options, &cancel, text);
    assert!(matches!(ended, Err(Error::Cancelled)), "{ended:?}");
    assert!(bytes < 33_000_000, "{bytes}");
}

#[test]
fn a_limit_opens_no_more_blocks_than_that_overlap() {
    // All rows match, and there are fewer in a block than are called many.
    let row = |n: i64| Row::new(n, &[("_msg", "m"), ("n", &n.to_string())]);
    let block = |b: i64| Arc::new(TestBlock::new((0..500).map(|r| row(500 * b + r)).collect(), b as u64));
    let blocks: Vec<_> = (0..20).map(block).collect();
    for threads in [1, 8] {
        let options = RunOptions { max_rows_scanned: Some(1000), threads, ..Default::default() };
        let text = written("* | fields n | limit 600", &blocks, &options).unwrap();
        assert_eq!(text.lines().count(), 600);
        assert_eq!(run("* | fields n | limit 600", &blocks, &options).unwrap().0.len(), 600);
    }
}

#[test]
fn a_limit_opens_no_more_blocks_on_several_threads() {
    let row = |n: i64| Row::new(n, &[("_msg", "m"), ("n", &n.to_string())]);
    let block = |b: i64| Arc::new(TestBlock::new((0..2000).map(|r| row(2000 * b + r)).collect(), b as u64));
    let blocks: Vec<_> = (0..20).map(block).collect();
    for (limit, opened) in [(1, 1), (2000, 1), (2001, 2), (7000, 4)] {
        let options = RunOptions { max_rows_scanned: Some(2000 * opened), threads: 8, ..Default::default() };
        let text = written(&format!("* | fields n | limit {limit}"), &blocks, &options).unwrap();
        assert_eq!(text.lines().count(), limit);
    }
}
