//! Everywhere an expression may stand in LogQL it is RE2's, in blocks of tables, too, which may be passed over.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this is test code

mod support;

use duramen_logql::Steps;
use support::{Logs, Row};

const LINES: &[&str] = &["микросервис", "got {a} and b", "x&&y", "a.b ٣", "axb 3", "naïve"];

#[test]
fn expressions_are_re2s_wherever_they_stand() {
    let rows: Vec<Row> =
        LINES.iter().zip(1..).map(|(line, time)| Row::new(time, line, &[("v", line)])).collect();
    for flushed in [0, 3, 6] {
        let logs = Logs::new(&rows, flushed);
        for (expression, found) in [
            (r"^\w+$", &[][..]),
            (r"\d", &[4]),
            (r"{a", &[1]),
            (r"\Qa.b\E", &[3]),
            (r"[x&&y]y", &[2]),
            (r"\ba\x2eb", &[3]),
            (r"^[^\W]{2}\W", &[5]),
            (r"(?i)NA\p{^N}VE", &[5]),
        ] {
            let is_found = |at: &usize| found.contains(at);
            let expected = |wanted: bool| -> Vec<&str> {
                (0..LINES.len()).filter(|at| is_found(at) == wanted).map(|at| LINES[at]).collect()
            };
            for (query, wanted) in [
                (format!("{{}} |~ `{expression}`"), true),
                (format!("{{}} !~ `{expression}`"), false),
                (format!("{{v=~`.*(?:{expression}).*`}}"), true),
                (format!("{{}} | v!~`.*(?:{expression}).*`"), false),
                (format!("{{}} | regexp `(?P<x>{expression})` | x!=``"), true),
                (
                    format!("{{}} | line_format `{{{{if count {expression:?} .v}}}}{{{{.v}}}}{{{{end}}}}`"),
                    true,
                ),
            ] {
                let all = logs.lines(&query).unwrap_or_else(|e| panic!("{query}: {e}"));
                let lines: Vec<&str> =
                    all.iter().map(|line| &**line).filter(|line| !line.is_empty()).collect();
                assert_eq!(lines, expected(wanted), "{query}");
            }
        }
    }
}

#[test]
fn what_is_replaced_is_what_re2_finds() {
    let logs = Logs::new(&[Row::new(1, "ünïcode", &[("app", "é1")])], 1);
    let lines = logs.lines("{} | line_format `{{regexReplaceAll \"(\\\\w+)\" __line__ \"<$1>\"}}`").unwrap();
    assert_eq!(lines, ["ü<n>ï<code>"]);
    let at = Steps { start_ns: 1_000_000_000, end_ns: 1_000_000_000, step_ns: 1 };
    let replaced = r#"label_replace(sum by (app) (count_over_time({}[1m])), "n", "$1", "app", "\\W(\\d)")"#;
    assert_eq!(logs.shown(replaced, at), ["{app=é1,n=1} 1"]);
}
