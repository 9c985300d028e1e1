//! What queries answer, of a few rows, where it is more than their plan tells.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use duramen_query::{Order, RunOptions};
use std::sync::Arc;
use support::{Row, TestBlock, run};

/// Runs queries over rows, in blocks of one and of all, and compares the rows of the answers, written as `name=value`.
fn check(rows: &[&[(&str, &str)]], queries: &[(&str, &[&str])]) {
    let row = |(second, fields): (i64, &&[(&str, &str)])| Row::new(second * 1_000_000_000, fields);
    let rows: Vec<Row> = (0..).zip(rows).map(row).collect();
    for (text, expected) in queries {
        for len in [1, rows.len()] {
            let blocks: Vec<_> =
                rows.chunks(len).map(|rows| Arc::new(TestBlock::new(rows.to_vec(), 1))).collect();
            let options = RunOptions { order: Order::OldestFirst, ..RunOptions::default() };
            let (answer, _) = run(text, &blocks, &options).unwrap();
            let shown: Vec<String> = answer
                .iter()
                .map(|row| row.iter().map(|(n, t)| format!("{n}={t}")).collect::<Vec<_>>().join(" "))
                .collect();
            assert_eq!(shown, *expected, "{text}, in blocks of {len}");
        }
    }
}

#[test]
fn functions_without_fields_look_at_all() {
    check(
        &[
            &[("_msg", "abc"), ("a", "2"), ("b", "3")],
            &[("_msg", "def"), ("a", "1")],
            &[("a", "3"), ("b", "54")],
        ],
        &[
            ("* | sum() s, sum(a, b) t", &["s=63 t=63"]),
            ("* | fields a, b | stats min() low, max() high, quantile(0.9) q", &["low=1 high=54 q=54"]),
            ("* | fields a, b | count() if () n, uniq_values() u", &["n=3 u=[\"1\",\"2\",\"3\",\"54\"]"]),
            ("* | (a) count() if (b:*) n", &["a=1 n=0", "a=2 n=1", "a=3 n=1"]),
            ("* | fields a, b | field_names as hits", &["hits=a hitss=3", "hits=b hitss=2"]),
        ],
    );
}

#[test]
fn several_fields_may_get_one_name() {
    check(
        &[&[("_msg", "x"), ("a", "test"), ("abc", "aaa"), ("foo", "old")]],
        &[
            ("* | copy a* as foo | fields a, abc, foo", &["a=test abc=aaa foo=aaa"]),
            ("* | rename a* as foo | fields a, abc, foo", &["foo=aaa"]),
            ("* | copy b* as foo | fields foo", &["foo=old"]),
        ],
    );
}

#[test]
fn time_stamps_of_any_field_are_ordered_by_when_they_are() {
    let (a, b, c) = ("2025-01-15T10:20:30.1Z", "2025-01-15T10:20:30.09Z", "2025-01-15T12:20:30.095+02:00");
    check(
        &[&[("t", a), ("u", b)], &[("t", b), ("u", a)], &[("t", c), ("u", "x")], &[("u", "v"), ("t", "w")]],
        &[
            ("t:~^2025 | stats min(t) low, max(t) high", &[&format!("low={b} high={a}")]),
            ("t:lt_field(u) | fields t", &[&format!("t={b}"), &format!("t={c}")]),
            ("* | sort by (t) | fields t", &[&format!("t={b}"), &format!("t={c}"), &format!("t={a}"), "t=w"]),
            ("* | sort by (t desc) limit 2 | fields t", &["t=w", &format!("t={a}")]),
            ("* | uniq by (t) limit 2", &[&format!("t={b}"), &format!("t={c}")]),
        ],
    );
}

#[test]
fn time_stamps_without_a_zone_are_of_utc() {
    let (a, b, c) = ("2025-01-15T10:20:30.1", "2025-01-15T10:20:30.09", "2025-01-15 10:20:30.095");
    let rows: &[&[(&str, &str)]] =
        &[&[("t", a)], &[("t", b)], &[("t", c)], &[("t", "2025-01-15T10:20:30.0951Z")]];
    let sorted = [b, c, "2025-01-15T10:20:30.0951Z", a].map(|t| format!("t={t}"));
    check(rows, &[("* | sort by (t) | fields t", &sorted.each_ref().map(|t| &**t))]);
}

#[test]
fn what_is_nearly_json_is_read() {
    check(
        &[&[("x", r#"{"a":NaN,"b":1,"c":[-Infinity]}"#), ("y", r#"["foo",1,null,NaN]"#), ("_msg", "a b+")]],
        &[
            ("* | unpack_json x | fields a, b, c", &["a=NaN b=1 c=[-Infinity]"]),
            ("* | unroll y | fields y", &["y=foo", "y=1", "y=", "y=NaN"]),
            ("* | format '<urlencode:_msg>' | fields _msg", &["_msg=a+b%2B"]),
            ("* | len(y) | fields _msg", &["_msg=18"]),
        ],
    );
}
