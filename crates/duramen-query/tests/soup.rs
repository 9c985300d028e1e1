//! Any filter before any pipes: nothing panics, and the answer depends neither on how rows lie in blocks, nor on how
//! many threads read them, nor on whether the query was printed and read again.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use duramen_query::{Cancel, ParseOptions, Query, RunOptions};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use std::ops::ControlFlow;
use std::sync::Arc;
use support::{Row, TestBlock, handles};

const FILTERS: &[&str] = &[
    "*",
    "GET",
    "a:*",
    "!b:1",
    "*.5*",
    "*:x",
    "a:in(* | fields b)",
    "seq(GET, 2)",
    "a:lt_field(b)",
    "{s=\"x\"}",
    "~\"\\d\"",
    "~\"\\Q.5\\E\\b|[\\W]{\"",
    "_time:[1970-01-01T00:00:02Z, 1970-01-01T00:00:40Z]",
    "level:>=warn",
    "contains_any(b:1 | uniq by (a))",
    "len_range(3, 20)",
    "a:>=2 or b:\"\"",
    "pattern_match(\"<N>\")",
    "_time:day_range[00:00, 00:01)",
    "a:ipv4_range(\"10.0.0.0/8\")",
];

const PIPES: &[&str] = &[
    "collapse_nums",
    "collapse_nums if (GET) at a prettify",
    "copy a as c, b* as d*",
    "decolorize",
    "delete a, l*",
    "drop_empty_fields",
    "extract \"GET /<path> <code>\"",
    "extract if (a:*) '<x>.<y>' from a keep_original_fields skip_empty_results",
    "extract_regexp \"(?P<m>[A-Z]+)(?P<n>\\d*)\"",
    "facets 2 keep_const_fields",
    "field_names",
    "field_values a",
    "fields a, b, _msg, _time",
    "filter a:*",
    "first 3 by (a, b)",
    "format \"<q:_msg> <uc:a> <time:b> <duration:b> <hexdecode:a>\" as f",
    "format \"<a><b>\"",
    "hash(a) as h",
    "join by (a) (* | stats by (a) count() hits) inner",
    "join by (a, b) (* | uniq by (a, b) with hits)",
    "join by (b) (GET | fields a, b) prefix p.",
    "json_array_len(j) as jl",
    "last 2 by (b) partition by (a)",
    "len(_msg) as len",
    "limit 4",
    "math rand() * 8 as r, round(r) as a",
    "math a * 2 + b as m, round(m / 3, 0.5) r, max(a, b, -1) ^ 2",
    "offset 1",
    "math a default b % 3 xor 5 as bits, ln(abs(a)) as l, -(a - b) n",
    "pack_json as packed",
    "pack_logfmt fields (a, b) as line",
    "rename a as z, * as r.*",
    "replace (\"GET\", \"$0\") at _msg limit 1",
    "replace_regexp (\"(\\w)\\d\", \"${1}_\") at a",
    "running_stats by (a) sum(b) s, min(_msg) t",
    "sample 2",
    "set_stream_fields a, b",
    "sort by (a, _time desc) limit 5",
    "sort by (b desc) partition by (a) limit 2 rank as rank",
    "sort by (_time)",
    "split \" \" from _msg as words",
    "stats by (a) count() n, sum(b) s, uniq_values(_msg) u",
    "stats by (_time:7s) rate() r, avg(b) if (GET) g",
    "stats by (a:/8) row_max(b, _msg) m, row_any() any, json_values(a, b) sort by (b) limit 2 j",
    "stats by (b:2) values(a) v, histogram(b) h, stddev(a, b) d",
    "stats quantile(0.3, *) q, count_uniq(a, b), sum_len(*), count_empty(a), any(b), median(b*)",
    "stream_context before 1 after 1 time_window 10s",
    "time_add 1h",
    "time_add -1s at b",
    "top 2 by (a) rank",
    "total_stats by (b) max(a) m, count()",
    "union (GET | limit 2)",
    "uniq by (a) with hits limit 3",
    "unpack_json from j",
    "unpack_json from j fields (k*) result_prefix j.",
    "unpack_logfmt",
    "unpack_syslog from j offset 1h",
    "unpack_words _msg as words drop_duplicates",
    "unroll (words, j)",
    "unroll j",
    "unroll (a, b, j)",
    "unroll if (GET) words",
    "where s:>0",
];

fn row() -> impl Strategy<Value = Row> {
    let optional = |values: Vec<&'static str>| proptest::option::of(select(values));
    (
        0i64..60,
        select(vec![
            "GET /x 200",
            "GET 1.5 took=3ms é",
            "",
            "\u{1b}[1mPOST\u{1b}[0m 2edfed59 \"q\"",
            "a=1 msg=\"b c\"",
        ]),
        optional(vec!["1", "2.5", "x", "10.1.2.3", "é<>&", "-9223372036854775808"]),
        optional(vec!["1", "2", "9223372036854775807", "", "3s", "1970-01-01T00:00:07Z"]),
        optional(vec![
            "{\"k\":1,\"kk\":{\"l\":[1,null]}}",
            "[1,\"two\",{\"three\":3}]",
            "[",
            "<34>Oct 11 22:14:15 h su: m",
        ]),
        optional(vec!["warn", "error", "odd"]),
        optional(vec!["{s=\"x\"}", "{s=\"y\"}"]),
    )
        .prop_map(|(time, message, a, b, j, level, stream)| {
            let optional = [("a", a), ("b", b), ("j", j), ("level", level), ("_stream", stream)];
            let mut fields = vec![("_msg", message)];
            fields.extend(optional.iter().filter_map(|(name, value)| Some((*name, (*value)?))));
            Row::new(time * 1_000_000_000, &fields)
        })
}

/// All rows as JSON lines, or why there are none.
fn answer(query: &Query, blocks: &[Arc<TestBlock>], threads: usize) -> Result<String, String> {
    let mut out = Vec::new();
    let mut sink = |row: &duramen_query::ResultRow| {
        row.write_json(&mut out);
        out.push(b'\n');
        ControlFlow::Continue(())
    };
    let options = RunOptions { threads, memory_limit_bytes: 8 << 20, ..RunOptions::default() };
    let result = query.run(handles(blocks), &options, &Cancel::new(), &mut sink);
    result.map_err(|e| e.to_string())?;
    Ok(String::from_utf8(out).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn answers_do_not_depend_on_blocks(
        rows in vec(row(), 1..24),
        filter in select(FILTERS),
        pipes in vec(select(PIPES), 0..5),
        split in 1usize..9,
        seeds in any::<(u64, u64)>(),
    ) {
        let text = pipes.iter().fold(filter.to_string(), |text, pipe| format!("{text} | {pipe}"));
        // Only stream_context may be refused, which must be the first pipe.
        let query = match Query::parse(&text, &ParseOptions::default()) {
            Ok(query) => query,
            Err(e) => {
                prop_assert!(e.message.contains("must be the first pipe"), "{}\n{}", text, e);
                return Ok(());
            }
        };
        let printed = query.to_string();
        let again = Query::parse(&printed, &ParseOptions::default());
        prop_assert_eq!(again.as_ref(), Ok(&query), "{} printed as {}", text, printed);
        // In order of time, so that entries of one time keep their order in however many blocks.
        let mut rows = rows;
        rows.sort_by_key(|r| r.time);
        let one = [Arc::new(TestBlock::new(rows.clone(), seeds.0))];
        let many: Vec<_> = rows.chunks(split).map(|rows| Arc::new(TestBlock::new(rows.to_vec(), seeds.1))).collect();
        let expected = answer(&query, &one, 1);
        prop_assert_eq!(&answer(&query, &many, 3), &expected, "{}", text);
        prop_assert_eq!(&answer(&again.unwrap(), &many, 1), &expected, "{}", text);
        for line in expected.map_err(TestCaseError::fail)?.lines() {
            prop_assert!(serde_json::from_str::<serde_json::Value>(line).is_ok(), "{} gives {}", text, line);
        }
    }
}
