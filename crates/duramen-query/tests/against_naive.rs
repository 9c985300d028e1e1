//! Random rows in random blocks answer random queries as the naive evaluator does.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use duramen_query::{Order, ParseOptions, Query, RunOptions};
use proptest::prelude::*;
use proptest::sample::select;
use std::sync::Arc;
use support::naive::{self, NaiveRow};
use support::query::{F, P, filter, pipe};
use support::{Row, TestBlock};

fn row() -> impl Strategy<Value = Row> {
    let message = proptest::collection::vec(
        select(vec!["error", "Error", "err", "disk full", "a", "b", "é", "10", "x-y", "full", "ERR"]),
        0..4,
    );
    let separator = select(vec![" ", "=", "-", ", "]);
    let optional = |values: Vec<&'static str>| proptest::option::of(select(values));
    (
        0i64..60,
        (message, separator).prop_map(|(words, by)| words.join(by)),
        optional(vec!["a", "b", "c d"]),
        optional(vec!["-3", "0", "5", "10", "11"]),
        optional(vec![
            "1",
            "1.0",
            "2.5",
            "-3",
            "x",
            "",
            "a",
            "error",
            "2024-05-17T11:50:00.1Z",
            "2024-05-17T11:50:00.09Z",
            "2024-05-17T13:50:00.095+02:00",
        ]),
        optional(vec!["error", "ERR", "warn", "INFO", "odd"]),
        optional(vec!["{host=\"h1\"}", "{host=\"h2\"}"]),
        optional(vec!["10.1.2.3", "10.255.0.0", "11.0.0.0", "10.1.2", "a"]),
        optional(vec!["-3", "0.25", "1", "2.5", "10", "10.5"]),
    )
        .prop_map(|(time, message, app, n, mix, level, stream, ip, part)| {
            let optional = [
                ("app", app),
                ("n", n),
                ("mix", mix),
                ("level", level),
                ("_stream", stream),
                ("ip", ip),
                ("part", part),
            ];
            let mut fields: Vec<(&str, &str)> = vec![("_msg", &message)];
            fields.extend(optional.iter().filter_map(|(name, value)| Some((*name, (*value)?))));
            Row::new(time * 1_000_000_000 + 500_000_000, &fields)
        })
}

/// Entries in the order of the answer.
fn naive_rows(blocks: &[Arc<TestBlock>], order: Order) -> Vec<NaiveRow> {
    let mut rows = Vec::new();
    for (b, block) in blocks.iter().enumerate() {
        for (r, row) in block.rows().iter().enumerate() {
            let time = jiff::Timestamp::from_nanosecond(row.time as i128).unwrap().to_string();
            let mut cells = vec![("_time".to_string(), time)];
            let field = |name: &str| row.fields.get(name).map(|v| (name.to_string(), v.0.clone()));
            cells.extend(field("_stream"));
            cells.extend(field("_msg"));
            cells.extend(row.fields.keys().filter(|n| !n.starts_with('_')).filter_map(|n| field(n)));
            rows.push(NaiveRow { cells, place: Some((row.time, b, r)) });
        }
    }
    rows.sort_by_key(|r| r.place);
    if order == Order::NewestFirst {
        rows.reverse();
    }
    rows
}

fn query_text(filter: &F, pipes: &[P]) -> String {
    pipes.iter().fold(filter.text(), |text, p| format!("{text} | {}", p.text()))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn blocks_answer_as_rows_do(
        blocks in proptest::collection::vec((proptest::collection::vec(row(), 1..20), any::<u64>()), 0..5),
        filter in filter(),
        pipes in proptest::collection::vec(pipe(), 0..4),
        order in select(vec![Order::NewestFirst, Order::OldestFirst]),
        threads in 0usize..4,
        limit in proptest::option::of(0usize..10),
        offset in 0usize..4,
    ) {
        let blocks: Vec<Arc<TestBlock>> = blocks.into_iter().map(|(rows, seed)| Arc::new(TestBlock::new(rows, seed))).collect();
        let text = query_text(&filter, &pipes);
        let holds_rows = pipes.iter().any(|p| matches!(p, P::Sort(..) | P::Stats(..) | P::Window(..) | P::Top(..) | P::Uniq(..)));
        // Without pipes that hold rows, a byte must do: every block is dropped and read again.
        let holds_values = Query::parse(&text, &ParseOptions::default()).unwrap().looks_beyond_filter();
        let memory_limit_bytes = if holds_rows || holds_values { 1 << 20 } else { 1 };
        let options = RunOptions { order, limit, threads, memory_limit_bytes, ..RunOptions::default() };
        let (answer, stats) = support::run(&text, &blocks, &options).unwrap();
        let expected = naive::run(&filter, &pipes, naive_rows(&blocks, order), limit);
        prop_assert_eq!(answer, expected, "{}", text);
        prop_assert_eq!(stats.blocks_failed, 0);

        // Written, it is the same, and some rows may be left out at its front.
        let options = RunOptions { offset, ..options };
        let (behind, _) = support::run(&text, &blocks, &options).unwrap();
        let all = naive::run(&filter, &pipes, naive_rows(&blocks, order), limit.map(|limit| limit + offset));
        prop_assert_eq!(&behind, all.get(offset..).unwrap_or_default(), "{}", text);
        prop_assert_eq!(support::written(&text, &blocks, &options).unwrap(), support::text_of(&behind), "{}", text);

        // The printed query is the same plan.
        let query = Query::parse(&text, &ParseOptions::default()).unwrap();
        let again = Query::parse(&query.to_string(), &ParseOptions::default());
        prop_assert_eq!(again.as_ref(), Ok(&query), "{}", query);
        let (from, to) = query.filter().time_range();
        // Live tail finds what the filter finds, and the bounds hold it.
        let alone = Query::parse(&filter.text(), &ParseOptions::default()).unwrap();
        let bounds = alone.filter().time_range();
        prop_assert!(from >= bounds.0 && to <= bounds.1 || from > to);
        let all = naive_rows(&blocks, order);
        for block in blocks.iter().filter(|_| !alone.filter().has_subquery()) {
            let found = alone.matches(&(block.clone() as Arc<dyn duramen::block::Block>)).unwrap();
            for (i, row) in naive_rows(std::slice::from_ref(block), Order::OldestFirst).iter().enumerate() {
                prop_assert_eq!(found.contains(i), naive::matches(&filter, row, &all));
                if found.contains(i) {
                    prop_assert!((bounds.0..=bounds.1).contains(&block.rows()[i].time));
                }
            }
        }
    }
}
