//! Answers against those of a model that is too simple to be wrong: every step looks at every row.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use duramen_logql::{Limits, Steps};
use proptest::prelude::*;
use std::collections::BTreeMap;
use support::{Logs, Row};

const SECOND: i64 = 1_000_000_000;

fn rows() -> impl Strategy<Value = Vec<Row>> {
    let row = (0i64..60, 0usize..3, 0usize..3, 0u32..6, 0usize..4);
    proptest::collection::vec(row, 1..40).prop_map(|rows| {
        let mut rows: Vec<Row> = rows
            .into_iter()
            .map(|(time, app, user, n, word)| {
                let (app, user) = (["a", "b", "c"][app], ["ann", "bob", ""][user]);
                let line = format!("n={n} {}", ["error", "errors", "fine", "x error y"][word]);
                Row::new(time * SECOND, &line, &[("app", app), ("user", user)])
            })
            .collect();
        rows.sort_by_key(|row| row.time_ns);
        rows
    })
}

fn field<'r>(row: &'r Row, name: &str) -> &'r str {
    row.fields.iter().find(|(n, _)| n == name).map_or("", |(_, v)| v)
}

fn number(row: &Row) -> f64 {
    row.line[2..3].parse().unwrap()
}

type Model = BTreeMap<Vec<(String, String)>, Vec<Option<f64>>>;

/// For every step, the rows of each group that are in its window, and what a function makes of their numbers.
fn model(
    rows: &[&Row],
    by: &[&str],
    steps: Steps,
    range: i64,
    offset: i64,
    f: &dyn Fn(&[f64]) -> f64,
) -> Model {
    let mut series = Model::new();
    let count = steps.times().count();
    for (i, time) in steps.times().enumerate() {
        let end = time - offset;
        let mut groups: BTreeMap<Vec<(String, String)>, Vec<f64>> = BTreeMap::new();
        for row in rows.iter().filter(|row| row.time_ns > end - range && row.time_ns <= end) {
            let labels = by.iter().map(|name| (name.to_string(), field(row, name).to_string()));
            let labels = labels.filter(|(_, value)| !value.is_empty()).collect();
            groups.entry(labels).or_default().push(number(row));
        }
        for (labels, numbers) in groups {
            series.entry(labels).or_insert_with(|| vec![None; count])[i] = Some(f(&numbers));
        }
    }
    series
}

fn mean(numbers: &[f64]) -> f64 {
    numbers.iter().sum::<f64>() / numbers.len() as f64
}

fn variance(numbers: &[f64]) -> f64 {
    numbers.iter().map(|n| (n - mean(numbers)).powi(2)).sum::<f64>() / numbers.len() as f64
}

fn median(numbers: &[f64]) -> f64 {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    let half = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[half] } else { (sorted[half - 1] + sorted[half]) / 2.0 }
}

fn answer(logs: &Logs, text: &str, steps: Steps) -> Model {
    let answer = logs.numbers(text, steps, &Limits::default()).unwrap_or_else(|e| panic!("{text}\n{e}"));
    let labels =
        |set: &duramen_logql::LabelSet| set.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect();
    answer.series.iter().map(|series| (labels(&series.labels), series.points.clone())).collect()
}

fn same(a: &Model, b: &Model) -> bool {
    let near = |a: &Option<f64>, b: &Option<f64>| match (a, b) {
        (Some(a), Some(b)) => (a - b).abs() < 1e-9,
        (a, b) => a == b,
    };
    let points = |a: &[Option<f64>], b: &[Option<f64>]| a.iter().zip(b).all(|(a, b)| near(a, b));
    a.len() == b.len() && a.iter().all(|(labels, p)| b.get(labels).is_some_and(|q| points(p, q)))
}

type Function = (&'static str, fn(&[f64]) -> f64);

/// Functions of the number in each line, which `logfmt` reads.
const UNWRAPPED: [Function; 9] = [
    ("sum_over_time(", |n| n.iter().sum()),
    ("avg_over_time(", mean),
    ("min_over_time(", |n| n.iter().copied().fold(f64::INFINITY, f64::min)),
    ("max_over_time(", |n| n.iter().copied().fold(f64::NEG_INFINITY, f64::max)),
    ("first_over_time(", |n| n[0]),
    ("last_over_time(", |n| n[n.len() - 1]),
    ("stddev_over_time(", |n| variance(n).sqrt()),
    ("stdvar_over_time(", variance),
    ("quantile_over_time(0.5, ", median),
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn windows_hold_what_they_should(
        rows in rows(),
        flushed in 0usize..40,
        start in 0i64..40,
        span in 0i64..40,
        step in 1i64..15,
        range in 1i64..25,
        offset in -5i64..5,
    ) {
        let logs = Logs::new(&rows, flushed);
        let steps = Steps { start_ns: start * SECOND, end_ns: (start + span) * SECOND, step_ns: step * SECOND };
        let window = format!("[{range}s] offset {offset}s");
        let (range_ns, offset_ns) = (range * SECOND, offset * SECOND);
        let all: Vec<&Row> = rows.iter().collect();
        let errors: Vec<&Row> = rows.iter().filter(|row| row.line.contains("error")).collect();
        let some: Vec<&Row> =
            rows.iter().filter(|row| field(row, "app") != "c" && !row.line.contains("x error")).collect();
        for (name, f) in UNWRAPPED {
            let text = format!("{name}{{}} | logfmt | unwrap n {window}) by (app, user)");
            let expected = model(&all, &["app", "user"], steps, range_ns, offset_ns, &f);
            prop_assert!(same(&answer(&logs, &text, steps), &expected), "{}\n{:?}", text, expected);
        }
        let count = |n: &[f64]| n.len() as f64;
        let per_second = |n: &[f64]| n.len() as f64 / range as f64;
        for (text, rows, by, f) in [
            (format!("sum by (app) (count_over_time({{}} |= `error` {window}))"), &errors, &["app"][..], &count as &dyn Fn(&[f64]) -> f64),
            (format!("sum(rate({{app=~\"a|b\"}} != `x error` {window}))"), &some, &[], &per_second),
            (format!("count_over_time({{}} | drop service_name, detected_level {window})"), &all, &["app", "user"], &count),
            (format!("sum without (user, service_name, detected_level) (count_over_time({{}} {window}))"), &all, &["app"], &count),
            (format!("sum(sum_over_time({{}} | pattern `n=<x> <_>` | unwrap x {window})) by (user)"), &all, &["user"], &|n| n.iter().sum()),
        ] {
            let expected = model(rows, by, steps, range_ns, offset_ns, f);
            prop_assert!(same(&answer(&logs, &text, steps), &expected), "{}\n{:?}", text, expected);
        }
    }

    #[test]
    fn lines_are_those_that_pass(rows in rows(), flushed in 0usize..40, limit in 1usize..50, from in 0i64..60) {
        let logs = Logs::new(&rows, flushed);
        for (text, passes) in [
            ("{}", (|_| true) as fn(&Row) -> bool),
            ("{app=\"a\"} |= `error`", |row| field(row, "app") == "a" && row.line.contains("error")),
            ("{app!=\"a\", user=~\".+n.*\"}", |row| field(row, "app") != "a" && field(row, "user") == "ann"),
            ("{user=\"\"}", |row| field(row, "user").is_empty()),
            ("{user!~\"a.*\"} |~ `error$`", |row| !field(row, "user").starts_with('a') && row.line.ends_with("error")),
            ("{} | logfmt | n >= 3", |row| number(row) >= 3.0),
            ("{} | logfmt | n < 2 or user=\"bob\"", |row| number(row) < 2.0 || field(row, "user") == "bob"),
            ("{service_name=\"b\"}", |row| field(row, "app") == "b"),
            ("{} |> `n=<_> error`", |row| row.line.ends_with(" error") && !row.line.contains("x error")),
        ] {
            let mut found = Vec::new();
            let times = (from * SECOND, 50 * SECOND);
            logs.each(text, times, Some(limit), &mut |e| found.push((e.time_ns, e.line.to_string()))).unwrap();
            let expected = rows.iter().filter(|r| r.time_ns >= times.0 && r.time_ns < times.1 && passes(r));
            let expected: Vec<_> = expected.take(limit).map(|r| (r.time_ns, r.line.clone())).collect();
            prop_assert_eq!(found, expected, "{}", text);
        }
    }
}
