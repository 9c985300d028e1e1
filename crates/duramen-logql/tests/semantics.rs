//! What is refused while a query runs, how series match, and the limits.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use duramen_logql::{Error, Limits, Origin, Steps};
use duramen_query::RunOptions;
use support::{Logs, Row};

const SECOND: i64 = 1_000_000_000;
const AT: Steps = Steps { start_ns: 100 * SECOND, end_ns: 100 * SECOND, step_ns: 1 };

fn logs() -> Logs {
    logs_in_tables(2)
}

fn logs_in_tables(flushed: usize) -> Logs {
    let row = |time: i64, line: &str, fields: &[(&str, &str)]| Row::new(time * SECOND, line, fields);
    let rows = [
        row(91, "{\"n\":1}", &[("app", "a"), ("host", "x"), ("level", "warn")]),
        row(92, "{\"n\":2}", &[("app", "a"), ("host", "y")]),
        row(93, "no json", &[("app", "b"), ("host", "x")]),
        row(94, "n=4", &[("service.name", "shop"), ("trace.id", "t1")]),
    ];
    Logs::new(&rows, flushed)
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
    let told = error("sum by (n) (count_over_time({app=~\".+\"} | json [1m]))");
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

/// As in Loki: what is in no window is not looked at.
#[test]
fn a_line_between_windows_fails_no_query() {
    let rows = [
        Row::new(10 * SECOND, "v=1", &[("app", "a")]),
        Row::new(30 * SECOND, "v=700B", &[("app", "a")]),
        Row::new(70 * SECOND, "v=2", &[("app", "a")]),
    ];
    for flushed in [0, 3] {
        let logs = Logs::new(&rows, flushed);
        let at = |step_ns| Steps { start_ns: 10 * SECOND, end_ns: 70 * SECOND, step_ns };
        let query = "sum(sum_over_time({app=\"a\"} | logfmt | unwrap v [5s]))";
        assert_eq!(logs.shown(query, at(60 * SECOND)), ["{} 1 2"]);
        let told = logs.numbers(query, at(20 * SECOND), &Limits::default()).unwrap_err().to_string();
        assert!(told.contains("SampleExtractionErr"), "{told}");
    }
}

/// As in Loki: a parser of whose labels nothing is needed does not run, and errors that are asked for are counted.
#[test]
fn errors_that_nobody_would_see_or_that_are_asked_for_fail_no_query() {
    let all = "{app=~\".+\"} | json";
    for (text, expected) in [
        (format!("sum(count_over_time({all} [1m]))"), &["{} 3"][..]),
        (format!("sum(count_over_time({all} |= \"n\" | drop host [1m]))"), &["{} 3"]),
        (format!("sum(bytes_over_time({all} [1m]))"), &["{} 21"]),
        (format!("absent_over_time({all} [1m])"), &[]),
        (format!("sum(count_over_time({all} | __error__=\"JSONParserErr\" [1m]))"), &["{} 1"]),
        (format!("sum(count_over_time({all} | __error__!=\"\" or n=\"1\" [1m]))"), &["{} 2"]),
        (
            format!("sum by (__error__) (count_over_time({all} [1m]))"),
            &["{} 2", "{__error__=JSONParserErr} 1"],
        ),
        (
            format!("sum(sum_over_time({all} | label_format m=\"5\" | unwrap m | __error__!=\"x\" [1m]))"),
            &["{} 15"],
        ),
        (format!("absent_over_time({all} | __error__=\"LogfmtParserErr\" [1m])"), &["{} 1"]),
    ] {
        assert_eq!(number(&text), expected, "{text}");
    }
    for text in [
        format!("sum by (app) (count_over_time({all} [1m]))"),
        format!("count_over_time({all} [1m])"),
        format!("sum(count_over_time({all} | label_format m=\"{{{{div 1 0}}}}\" | __error__!=\"x\" [1m]))"),
    ] {
        assert!(error(&text).contains("pipeline error"), "{text}");
    }
}

/// As in Loki: a label that two matchers name is not one that the missing entries would have.
#[test]
fn absent_series_have_the_labels_that_are_named_once() {
    for (selector, labels) in [
        ("app=\"z\", host=\"h\", level=\"\"", "{app=z,host=h} 1"),
        ("app=\"z\", app!=\"\"", "{} 1"),
        ("app=\"z\", app=\"y\", host=\"h\"", "{host=h} 1"),
    ] {
        assert_eq!(number(&format!("absent_over_time({{{selector}}}[5m])")), [labels], "{selector}");
    }
}

/// As in Loki: filters behind `unwrap` compare it, and only `by` puts it into the series.
#[test]
fn the_unwrapped_label_is_there_for_filters_and_for_who_groups_by_it() {
    let rows: Vec<Row> = ["10", "20", "30", "5", "x"]
        .iter()
        .zip(91..)
        .map(|(v, time)| Row::new(time * SECOND, &format!("v={v}"), &[("app", "c")]))
        .collect();
    let logs = Logs::new(&rows, 3);
    for (text, expected) in [
        ("sum(sum_over_time({} | logfmt | unwrap v | v > 15 | __error__=\"\" [1m]))", &["{} 50"][..]),
        ("sum(count_over_time({} | logfmt | v != \"\" [1m]))", &["{} 5"]),
        ("sum(sum_over_time({} | logfmt | unwrap v | v != \"x\" [1m]))", &["{} 65"]),
        (
            "sum_over_time({} | logfmt | unwrap v | v =~ \"[12]0\" [1m]) without (service_name, detected_level)",
            &["{app=c} 30"],
        ),
        (
            "sum_over_time({} | logfmt | drop app, service_name, detected_level | unwrap v | v < 15, v != \"x\" [1m])",
            &["{} 15"],
        ),
        ("max_over_time({} | logfmt | unwrap v | v =~ \"[12]0\" [1m]) by (v)", &["{v=10} 10", "{v=20} 20"]),
        (
            "sum by (v, app) (sum_over_time({} | logfmt | unwrap v | v =~ \"[12]0\" [1m]))",
            &["{app=c,v=10} 10", "{app=c,v=20} 20"],
        ),
    ] {
        assert_eq!(logs.shown(text, AT), expected, "{text}");
    }
}

/// As in Loki: comparing with a number, a broken line has no label to compare; only `ip` lets it pass.
#[test]
fn filters_of_numbers_leave_out_what_no_parser_could_read() {
    let logs = logs();
    for (text, expected) in [
        ("{app=~\".+\"} | json | n >= 2", &["{\"n\":2}"][..]),
        ("{app=~\".+\"} | json | n > 5s", &["{\"n\":1}", "{\"n\":2}"]),
        ("{app=~\".+\"} | json | n > 5 or __error__ != \"\"", &["no json"]),
        ("{app=~\".+\"} | json | n = ip(\"10.0.0.1\")", &["no json"]),
        ("{app=\"b\"} | json | host > 1", &["no json"]),
    ] {
        assert_eq!(logs.lines(text).unwrap(), expected, "{text}");
    }
    assert_eq!(number("sum(count_over_time({app=~\".+\"} | json | n >= 2 [1m]))"), ["{} 1"]);
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

/// As in Loki: renamed labels have gone for the templates behind them, but what a template has made is not seen by the next.
#[test]
fn templates_of_a_stage_see_the_labels_before_the_first_of_them() {
    let labels = |stages: &str| {
        let mut seen = Vec::new();
        let query = format!("{{app=\"a\", host=\"x\"}} {stages} | keep app, host, a, b, c");
        logs()
            .each(&query, (0, i64::MAX), None, &mut |entry| {
                seen = entry.all_labels().map(|(name, value, _)| format!("{name}={value}")).collect();
            })
            .unwrap();
        seen.sort();
        seen.join(" ")
    };
    assert_eq!(labels("| label_format a=\"1{{.app}}\", b=\"{{.a}}{{.app}}\""), "a=1a app=a b=a host=x");
    assert_eq!(labels("| label_format app=\"{{.app}}{{.host}}\", host=\"{{.app}}\""), "app=ax host=a");
    assert_eq!(labels("| label_format a=app, b=\"{{.a}}{{.app}}\", c=b"), "a=a c=a host=x");
    assert_eq!(
        labels("| label_format a=\"1\" | label_format b=\"{{.a}}\", c=\"{{.b}}\""),
        "a=1 app=a b=1 host=x"
    );
}

/// As in Loki: the first value of a key counts, also between stages; parsers that name their labels set them anew.
#[test]
fn parsers_make_labels_as_lokis_do() {
    let line = r#"{"a":"one","a":"two","n":{"b":"x"},"n_b":"y","app":"p","x":"m"} a=logfmt"#;
    for (line, stages, expected) in [
        (&line[..line.len() - 9], "json", "a=one app_extracted=p n_b=x x=m"),
        (&line[..line.len() - 9], "json x=\"a\" | json", "a=one app_extracted=p n_b=x x=one"),
        (&line[..line.len() - 9], "json | json x=\"a\"", "a=one app_extracted=p n_b=x x=one"),
        (&line[..line.len() - 9], "label_format a=\"z\" | json | keep a", "a=z"),
        (
            &line[..line.len() - 9],
            "label_format app=\"z\", user=\"u\" | json",
            "a=one app=z app_extracted=p n_b=x user=u x=m",
        ),
        (&line[..line.len() - 9], "drop app | json | keep app, app_extracted", "app_extracted=p"),
        (line, "logfmt", "a=logfmt"),
        ("a=one a=two a= b=1", "logfmt", "a=one b=1"),
        ("a= a=two", "logfmt", "a=two"),
        ("a=one a=two", "logfmt x=\"a\"", "x=two"),
        (r#"{" a b ":1," c ":{"":{" ":{"z":2}}},"":{"y":3},"":4}"#, "json", "a_b=1 c_z=2 y=3"),
        ("", "json", "__error__=JSONParserErr"),
        ("", "unpack | json x=\"a\"", ""),
        (r#"{"a":"one","n":{"b":"x"}}"#, "unpack", ""),
        (r#"{"a":"one","n":2,"_entry":"b=x"}"#, "unpack | logfmt", "a=one b=x"),
        ("12", "json x=\"a\"", "__error__=JSONParserErr"),
        ("[{\"a\":1}]", "json x=\"[0].a\"", "x=1"),
        ("a=one b", "logfmt | regexp `(?P<a>b)` | pattern `<a>=<c> b`", "a=one c=one"),
        ("user=p", "logfmt | logfmt", "user_extracted=p"),
        ("user=p", "label_format user=\"m\" | logfmt", "user=m"),
    ] {
        let logs = Logs::new(&[Row::new(91 * SECOND, line, &[("app", "s"), ("user", "f")])], 1);
        let mut seen = Vec::new();
        let query = format!("{{}} | {stages}");
        let mut see = |entry: &duramen_logql::Entry<'_>| {
            let made = entry
                .all_labels()
                .filter(|(name, _, origin)| *origin == Origin::Parsed && *name != "__error_details__");
            seen = made.map(|(name, value, _)| format!("{name}={value}")).collect();
        };
        logs.each(&query, (0, i64::MAX), None, &mut see).unwrap();
        seen.sort();
        assert_eq!(seen.join(" "), expected, "{query} {line}");
    }
}

/// The entry's own level is mostly read out of the line, too, and is no reason to give the line's another name.
#[test]
fn a_level_in_the_line_is_the_label_behind_a_parser() {
    let rows = [
        Row::new(1, "level=INFO n=1", &[("app", "a"), ("level", "info")]),
        Row::new(2, "level= n=2", &[("app", "a"), ("level", "warn")]),
        Row::new(3, "n=3", &[("app", "a"), ("level", "error")]),
    ];
    for flushed in [0, 3] {
        let logs = Logs::new(&rows, flushed);
        for (stages, expected) in [
            ("level=\"info\"", &["level=INFO n=1"][..]),
            ("logfmt | level=\"INFO\"", &["level=INFO n=1"]),
            ("logfmt | level=\"info\"", &[]),
            ("logfmt | detected_level=\"info\"", &["level=INFO n=1"]),
            ("logfmt | level_extracted!=\"\"", &[]),
            ("logfmt | level=~\"warn|error\"", &["level= n=2", "n=3"]),
        ] {
            assert_eq!(logs.lines(&format!("{{}} | {stages}")).unwrap(), expected, "{stages}");
        }
    }
}

/// As in Loki: the value need not be an address, but have one in it.
#[test]
fn addresses_are_found_in_labels() {
    let addresses = ["10.1.2.3", "10.1.2.3:5432", "http://10.1.2.3/x", "11.1.2.3:80", "[2001:db8::1]:443"];
    let row = |(i, addr): (i64, &&str)| Row::new(i, addr, &[("addr", addr)]);
    let logs = Logs::new(&(1..).zip(&addresses).map(row).collect::<Vec<_>>(), 3);
    for (filter, expected) in [
        ("addr = ip(`10.0.0.0/8`)", &addresses[..3]),
        ("addr != ip(`10.0.0.0/8`)", &addresses[3..]),
        ("addr = ip(`2001:db8::/32`)", &addresses[4..]),
        ("other != ip(`10.0.0.0/8`)", &[]),
    ] {
        assert_eq!(logs.lines(&format!("{{}} | {filter}")).unwrap(), expected, "{filter}");
    }
}

#[test]
fn patterns_are_of_whole_lines() {
    let lines = ["foo ", "foo bar", "x foo bar", ""];
    let rows: Vec<Row> =
        lines.iter().zip(1..).map(|(line, time)| Row::new(time, line, &[("app", "a")])).collect();
    for flushed in [0, 4] {
        let logs = Logs::new(&rows, flushed);
        for (filter, expected) in [
            ("|> `foo <_>`", &["foo bar"][..]),
            ("!> `foo <_>`", &["foo ", "x foo bar", ""]),
            ("|> `<_>`", &["foo ", "foo bar", "x foo bar"]),
            ("|> ``", &[""]),
            ("!> `` or `<_>foo <_>`", &["foo ", "foo bar"]),
        ] {
            assert_eq!(logs.lines(&format!("{{}} {filter}")).unwrap(), expected, "{filter}");
        }
    }
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
    assert!(logs.numbers("vector(1)", steps, &limits).is_ok());
    let steps = Steps { start_ns: 0, end_ns: 11_001, step_ns: 1 };
    assert!(matches!(error(many, steps, &limits), Error::StepLimit { limit: 11_000 }));
    let more = Limits { max_steps: 11_001, ..limits.clone() };
    assert!(logs.numbers("vector(1)", steps, &more).is_ok());
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
fn long_queries_run() {
    let long = |more: &str| format!("{{}} | app=`a`{}", more.repeat(1_900));
    assert_eq!(logs().lines(&long(" or host=`y`")).unwrap().len(), 2);
    assert_eq!(logs().lines(&long(", app=~`a.*|`")).unwrap().len(), 2);
    assert_eq!(logs().lines(&long(" or n > 5")).unwrap().len(), 2);
    let sum = "sum(count_over_time({app=\"a\"} [1m]))";
    let sums = format!("{sum}{}", format!(" + {sum}").repeat(200));
    assert_eq!(number(&sums), ["{} 402"]);
}

#[test]
fn blocks_without_the_words_are_passed_over() {
    let answer = logs_in_tables(4).numbers(
        "sum(count_over_time({app=\"nosuch\"} |= `word` [1m]))",
        AT,
        &Limits::default(),
    );
    assert_eq!(answer.unwrap().stats.blocks_read, 0);
}

#[test]
fn the_store_counts_by_labels() {
    let logs = logs();
    let everything = duramen_query::filter::Filter::All;
    let labels = ["service_name", "detected_level"];
    let query = duramen_logql::count_by(everything.clone(), &labels, true).unwrap();
    let mut counted: Vec<String> = Vec::new();
    logs.rows(&query, &mut |row| {
        let values = labels.map(|label| duramen_logql::label_of(row, label).unwrap());
        let (hits, bytes) = (duramen_logql::hits_of(row), duramen_logql::bytes_of(row));
        counted.push(format!("{} {hits} {bytes}", values.join(" ")));
    });
    counted.sort();
    assert_eq!(counted, ["a unknown 1 7", "a warn 1 7", "b unknown 1 7", "shop unknown 1 3"]);
    let mut streams = Vec::new();
    logs.rows(&duramen_logql::count_streams(everything, false).unwrap(), &mut |row| {
        streams.push(duramen_logql::stream_labels(row.get("_stream").unwrap_or("")));
    });
    assert_eq!(streams.len(), 4);
    assert!(streams.iter().all(|labels| labels.iter().any(|(name, _)| **name == *"service_name")));
}

/// A label of a name that counting might use for its own is one like others.
#[test]
fn labels_called_hits_and_bytes_are_counted_by() {
    let row = |time: i64, hits: &str| Row::new(time * SECOND, "line", &[("hits", hits), ("bytes", "few")]);
    let logs = Logs::new(&[row(91, "a"), row(92, "b"), row(93, "a")], 2);
    let query =
        duramen_logql::count_by(duramen_query::filter::Filter::All, &["hits", "bytes"], true).unwrap();
    let mut counted = Vec::new();
    logs.rows(&query, &mut |row| {
        let labels = ["hits", "bytes"].map(|label| duramen_logql::label_of(row, label).unwrap());
        counted.push((labels.join(" "), duramen_logql::hits_of(row), duramen_logql::bytes_of(row)));
    });
    counted.sort();
    assert_eq!(counted, [("a few".into(), 2, 8), ("b few".into(), 1, 4)]);
    assert_eq!(
        logs.shown("sum by (hits) (count_over_time({bytes=\"few\"} [1m]))", AT),
        ["{hits=a} 2", "{hits=b} 1"]
    );
}

#[test]
fn services_are_selected_by_the_field_they_are_made_of() {
    let rows = [
        Row::new(1, "both", &[("app", "a"), ("job", "j")]),
        Row::new(2, "job", &[("job", "j")]),
        Row::new(3, "none", &[]),
        Row::new(4, "own", &[("service.name", "s"), ("app", "a")]),
    ];
    let logs = Logs::new(&rows, 2);
    for (text, expected) in [
        ("{service_name=\"j\"}", &["job"][..]),
        ("{service_name=\"a\"}", &["both"]),
        ("{service_name!=\"a\"}", &["job", "none", "own"]),
        ("{service_name=~\".+\"}", &["both", "job", "none", "own"]),
        ("{service_name=~\"unknown.*|s\"}", &["none", "own"]),
        ("{service_name=\"\"}", &[]),
        ("{} | service_name=\"j\"", &["job"]),
    ] {
        assert_eq!(logs.lines(text).unwrap(), expected, "{text}");
    }
}

/// Labels whose fields are not called so: as they are shown, they are selected by, counted by, and kept in what is unwrapped.
#[test]
fn fields_of_other_names_are_found_by_their_labels() {
    let row = |time: i64, id: &str| {
        let fields =
            [("app", "a"), ("x-request-id", id), ("app.kubernetes.io/part-of", "p"), ("pod-name", "n")];
        Row::new(time * SECOND, "5", &fields)
    };
    let logs = Logs::new(&[row(91, "r1"), row(92, "r2"), row(93, "r1")], 2);
    for (text, found) in [
        ("{x_request_id=\"r1\"}", 2),
        ("{x_request_id!=\"r1\"}", 1),
        ("{x_request_id=\"\"}", 0),
        ("{app=\"a\"} | x_request_id=~\"r.\" | pod_name=\"n\"", 3),
        ("{app_kubernetes_io_part_of=\"p\"}", 3),
    ] {
        assert_eq!(logs.lines(text).unwrap().len(), found, "{text}");
    }
    for stages in ["", "| label_format other=\"x\"", "| line_format \"{{.pod_name}}\""] {
        let text = format!("sum by (x_request_id, pod_name) (count_over_time({{}} {stages} [1m]))");
        let expected = ["{pod_name=n,x_request_id=r1} 2", "{pod_name=n,x_request_id=r2} 1"];
        assert_eq!(logs.shown(&text, AT), expected, "{text}");
    }
    let query =
        duramen_logql::count_by(duramen_query::filter::Filter::All, &["x_request_id"], false).unwrap();
    let mut values = Vec::new();
    logs.rows(&query, &mut |row| values.extend(duramen_logql::label_of(row, "x_request_id")));
    values.sort();
    assert_eq!(values, ["r1", "r2"]);
}

#[test]
fn levels_are_selected_by_their_names() {
    let row = |i: i64, fields: &[(&str, &str)]| Row::new(i, &i.to_string(), fields);
    let rows = [
        row(1, &[("level", "ERR")]),
        row(2, &[("level", " error ")]),
        row(3, &[("level", "critical")]),
        row(4, &[("level", "panic")]),
        row(5, &[("level", "some errors")]),
        row(6, &[]),
        row(7, &[("level", "info"), ("detected_level", "error")]),
    ];
    let logs = Logs::new(&rows, 3);
    for (text, expected) in [
        ("{detected_level=\"error\"}", "127"),
        ("{detected_level!=\"error\"}", "3456"),
        ("{detected_level=~\"error|critical\"}", "1237"),
        ("{} | detected_level=\"unknown\"", "56"),
        ("{detected_level!~\"unknown|fatal\"}", "1237"),
        ("{detected_level=\"\"}", ""),
        ("{detected_level!=\"\"}", "1234567"),
        ("{} | line_format \"{{__line__}}{{.detected_level}}\" | detected_level=\"fatal\"", "4fatal"),
    ] {
        assert_eq!(logs.lines(text).unwrap().concat(), expected, "{text}");
    }
}

#[test]
fn fields_are_detected() {
    for (line, parser, names) in [
        ("{\"a\":{\"b\":1},\"c\":\"x\"}", Some("json"), &["a_b", "c"][..]),
        ("level=info msg=\"x y\"", Some("logfmt"), &["level", "msg"]),
        ("{\"a\":1", None, &[]),
        ("just words", None, &[]),
    ] {
        let logs = Logs::new(&[Row::new(1, line, &[])], 0);
        let mut found = None;
        logs.each("{}", (0, 10), None, &mut |entry| {
            let mut entry = entry.clone();
            let parser = entry.detect_fields();
            let parsed = entry.labels.iter().filter(|l| l.origin == Origin::Parsed);
            found = Some((parser, parsed.map(|l| l.name.to_string()).collect::<Vec<_>>()));
        })
        .unwrap();
        let (found_parser, mut found) = found.unwrap();
        found.sort();
        assert_eq!((found_parser, found), (parser, names.iter().map(|n| n.to_string()).collect()), "{line}");
    }
}
