//! Of which errors a line is told to have, and which nobody would see.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this is test code

mod support;

use duramen_logql::{Limits, Steps};
use support::{Logs, Row};

const SECOND: i64 = 1_000_000_000;
const AT: Steps = Steps { start_ns: 100 * SECOND, end_ns: 100 * SECOND, step_ns: 1 };

fn logs() -> Logs {
    Logs::new(&[Row::new(91 * SECOND, "no json", &[("app", "a"), ("host", "x")])], 1)
}

fn error_of(stages: &str) -> String {
    let mut told = String::new();
    logs()
        .each(&format!("{{app=\"a\"}} {stages}"), (0, i64::MAX), None, &mut |entry| {
            told = entry.get("__error__").unwrap_or("none").to_owned();
        })
        .unwrap();
    told
}

/// As in Loki: a parser's or a template's takes the place of what was wrong before, a label filter's does not.
#[test]
fn the_last_error_of_a_line_is_told() {
    for (stages, expected) in [
        ("| json", "JSONParserErr"),
        ("| json | line_format `{{.n | duration}}`", "TemplateFormatErr"),
        ("| json | label_format m=`{{.n | duration}}`", "TemplateFormatErr"),
        ("| line_format `{{.n | duration}}` | json", "JSONParserErr"),
        ("| json | line_format `=` | logfmt --strict", "LogfmtParserErr"),
        ("| json | host > 5", "JSONParserErr"),
        ("| host > 5", "LabelFilterErr"),
        ("| host > 5 | json", "JSONParserErr"),
        ("| json | line_format `a=1` | logfmt --strict", "JSONParserErr"),
    ] {
        assert_eq!(error_of(stages), expected, "{stages}");
    }
}

/// As in Loki: where no line is looked at behind it, what a `line_format` does wrong fails no query.
#[test]
fn a_line_that_nobody_sees_is_not_made() {
    let bad = "{app=\"a\"} | line_format `{{.n | duration}}`";
    for query in [
        format!("count_over_time({bad} [1m])"),
        format!("sum by (host) (count_over_time({bad} [1m]))"),
        format!("sum(rate({bad} | host=\"x\" [1m])) * 60"),
        "avg_over_time({app=\"a\"} | label_format n=\"1\" | line_format `{{.m | duration}}` | unwrap n [1m])"
            .to_owned(),
    ] {
        let shown = logs().shown(&query, AT);
        assert!(matches!(&*shown, [one] if one.ends_with(" 1")), "{query}: {shown:?}");
    }
    for query in [
        format!("bytes_over_time({bad} [1m])"),
        format!("count_over_time({bad} |= \"n\" [1m])"),
        format!("count_over_time({bad} | logfmt [1m])"),
    ] {
        let told = match logs().numbers(&query, AT, &Limits::default()) {
            Err(e) => e.to_string(),
            Ok(answer) => format!("{:?}", answer.series),
        };
        assert!(told.contains("TemplateFormatErr") || told == "[]", "{query}: {told}");
    }
}
