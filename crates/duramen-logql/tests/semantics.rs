//! What is refused while a query runs, how series match, and the limits.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use duramen_logql::{Error, Limits, Origin, Steps};
use duramen_query::RunOptions;
use support::{Logs, Row};

const SECOND: i64 = 1_000_000_000;
const AT: Steps = Steps { start_ns: 100 * SECOND, end_ns: 100 * SECOND, step_ns: 1 };

fn logs() -> Logs {
    let row = |time: i64, line: &str, fields: &[(&str, &str)]| Row::new(time * SECOND, line, fields);
    let rows = [
        row(91, "{\"n\":1}", &[("app", "a"), ("host", "x"), ("level", "warn")]),
        row(92, "{\"n\":2}", &[("app", "a"), ("host", "y")]),
        row(93, "no json", &[("app", "b"), ("host", "x")]),
        row(94, "n=4", &[("service.name", "shop"), ("trace.id", "t1")]),
    ];
    Logs::new(&rows, 2)
}

fn number(text: &str) -> Vec<String> {
    logs().shown(text, AT)
}

fn error(text: &str) -> String {
    logs().numbers(text, AT, &Limits::default()).unwrap_err().to_string()
}

#[test]
fn a_stage_that_fails_fails_the_query_unless_it_is_left_out() {
    let query = "sum by (app) (sum_over_time({app=~\".+\"} | json | unwrap n [1m]))";
    assert_eq!(number(query), ["{app=a} 3"], "a line without the label is not counted");
    let told = error("sum(count_over_time({app=~\".+\"} | json [1m]))");
    assert!(told.contains("pipeline error: 'JSONParserErr' for series: '{"), "{told}");
    assert!(told.contains("| __error__!=\"JSONParserErr\""), "{told}");
    assert_eq!(number("sum(count_over_time({app=~\".+\"} | json | __error__=\"\" [1m]))"), ["{} 2"]);
    assert_eq!(number("sum(count_over_time({app=~\".+\"} | json | drop __error__ [1m]))"), ["{} 3"]);
    let told = error("sum(sum_over_time({app=\"a\"} | unwrap host [1m]))");
    assert!(told.contains("SampleExtractionErr"), "{told}");
    let text = "sum(sum_over_time({app=\"a\"} | unwrap host | __error__=\"\" [1m]))";
    assert_eq!(number(text), Vec::<String>::new());
    let told = error("sum(count_over_time({app=\"a\"} | host > 5 [1m]))");
    assert!(told.contains("LabelFilterErr"), "{told}");
}

#[test]
fn labels_have_origins() {
    let mut seen = Vec::new();
    let mut see = |entry: &duramen_logql::Entry<'_>| {
        seen = entry.all_labels().map(|(n, v, o)| (n.to_string(), v.to_string(), o)).collect();
        seen.sort();
    };
    logs().each("{trace_id=\"t1\", service_name=\"shop\"} | logfmt", (0, i64::MAX), None, &mut see).unwrap();
    let label = |n: &str, v: &str, o: Origin| (n.to_string(), v.to_string(), o);
    assert_eq!(
        seen,
        [
            label("detected_level", "unknown", Origin::Metadata),
            label("n", "4", Origin::Parsed),
            label("service_name", "shop", Origin::Stream),
            label("trace_id", "t1", Origin::Metadata),
        ]
    );
}

#[test]
fn series_match_by_labels() {
    let by = "sum by (app, host) (count_over_time({app=~\".+\"}[1m]))";
    let apps = "sum by (app) (count_over_time({app=~\".+\"}[1m]))";
    for (text, expected) in [
        (format!("{by} * 2"), &["{app=a,host=x} 2", "{app=a,host=y} 2", "{app=b,host=x} 2"][..]),
        (
            format!("{by} / on (app) group_left {apps}"),
            &["{app=a,host=x} 0.5", "{app=a,host=y} 0.5", "{app=b,host=x} 1"],
        ),
        (
            format!("{apps} - ignoring (host) group_right {by}"),
            &["{app=a,host=x} 1", "{app=a,host=y} 1", "{app=b,host=x} 0"],
        ),
        (format!("{apps} > 1"), &["{app=a} 2"]),
        (format!("{apps} > bool 1"), &["{app=a} 1", "{app=b} 0"]),
        (format!("1 < {apps}"), &["{app=a} 2"]),
        (format!("{by} and on (app) {apps} > 1"), &["{app=a,host=x} 1", "{app=a,host=y} 1"]),
        (format!("{apps} unless {apps} > 1"), &["{app=b} 1"]),
        (format!("{apps} > 1 or {apps} * 10"), &["{app=a} 2", "{app=b} 10"]),
        (format!("sort_desc({apps})"), &["{app=a} 2", "{app=b} 1"]),
        (format!("bottomk(1, {apps})"), &["{app=b} 1"]),
        (format!("avg without (host) ({by})"), &["{app=a} 1", "{app=b} 1"]),
        (format!("{apps} / 0"), &["{app=a} NaN", "{app=b} NaN"]),
        ("stddev(vector(3)) + max(vector(2)) ^ 2 % 3".into(), &["{} 1"]),
        ("7 % 4 == bool 3".into(), &["{} 1"]),
    ] {
        assert_eq!(number(&text), expected, "{text}");
    }
    let told = error(&format!("{by} + on (app) {apps}"));
    assert!(told.contains("many-to-one matching must be explicit"), "{told}");
    let told = error(&format!("label_replace({by}, \"host\", \"\", \"app\", \".*\")"));
    assert!(told.contains("same labels"), "{told}");
}

#[test]
fn limits_hold() {
    let logs = logs();
    let many = "count_over_time({app=~\".+\"}[1m])";
    let limits = Limits { max_series: 2, ..Limits::default() };
    let error = |text: &str, steps, limits: &Limits| logs.numbers(text, steps, limits).unwrap_err();
    assert!(matches!(error(many, AT, &limits), Error::SeriesLimit { limit: 2 }));
    let steps = Steps { start_ns: 0, end_ns: 11_000, step_ns: 1 };
    assert!(matches!(error(many, steps, &limits), Error::StepLimit { limit: 11_000 }));
    let steps = Steps { start_ns: i64::MIN, end_ns: i64::MAX, step_ns: 1 };
    assert!(matches!(error(many, steps, &limits), Error::StepLimit { .. }));
    let run = RunOptions { memory_limit_bytes: 100, ..RunOptions::default() };
    let small = Limits { run, ..Limits::default() };
    assert!(matches!(error(many, AT, &small), Error::Run(duramen_query::Error::MemoryLimit { .. })));
    let run = RunOptions { max_rows_scanned: Some(1), ..RunOptions::default() };
    let short = Limits { run, ..Limits::default() };
    assert!(matches!(error(many, AT, &short), Error::Run(duramen_query::Error::RowLimit { .. })));
    let edges = Steps { start_ns: i64::MIN, end_ns: i64::MIN, step_ns: 1 };
    assert_eq!(logs.shown("sum(rate({}[5m] offset 1h))", edges), Vec::<String>::new());
}

#[test]
fn blocks_without_the_words_are_passed_over() {
    let answer =
        logs().numbers("sum(count_over_time({app=\"nosuch\"} |= `word` [1m]))", AT, &Limits::default());
    assert_eq!(answer.unwrap().stats.blocks_read, 0);
}
