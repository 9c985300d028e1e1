//! Which series may match, and what is refused.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this is test code

mod support;

use duramen_logql::{Limits, Steps};
use support::{Logs, Row};

const SECOND: i64 = 1_000_000_000;
const AT: Steps = Steps { start_ns: 100 * SECOND, end_ns: 100 * SECOND, step_ns: 1 };

fn logs() -> Logs {
    let row = |time: i64, app: &str, host: &str| {
        Row::new(time * SECOND, &format!("n={time}"), &[("app", app), ("host", host)])
    };
    Logs::new(&[row(91, "a", "x"), row(92, "a", "y"), row(93, "b", "x")], 2)
}

fn error(text: &str) -> String {
    match logs().numbers(text, AT, &Limits::default()) {
        Err(e) => e.to_string(),
        Ok(answer) => panic!("{text}: {:?}", answer.series),
    }
}

const BY: &str = "sum by (app, host) (count_over_time({app=~\".+\"}[1m]))";
const APPS: &str = "sum by (app) (count_over_time({app=~\".+\"}[1m]))";

/// Labels that `group_left` brings along tell the results apart, and do not make it clear which of two series is meant.
#[test]
fn one_side_has_each_set_of_labels_once() {
    for (text, side) in [
        (format!("{APPS} * on (app) group_left (host) {BY}"), "right"),
        (format!("{BY} * on (app) group_right (host) {APPS}"), "left"),
        (format!("{APPS} - on (app) {BY}"), "right"),
        // Nothing on the other side matches it.
        (format!("({APPS} > 5) - on (app) {BY}"), "right"),
    ] {
        let told = error(&text);
        assert!(told.contains(&format!("found duplicate series on the {side} hand-side")), "{text}: {told}");
    }
    let shown = logs().shown(&format!("{BY} * on (app) group_left {APPS}"), AT);
    assert_eq!(shown, ["{app=a,host=x} 2", "{app=a,host=y} 2", "{app=b,host=x} 1"]);
}

/// Whether a comparison holds is not what makes a match.
#[test]
fn a_comparison_that_does_not_hold_is_a_match() {
    for op in [">", ">=", "==", "!=", "<", "== bool"] {
        let told = error(&format!("{BY} {op} on (app) {APPS}"));
        assert!(told.contains("many-to-one matching must be explicit"), "{op}: {told}");
        let told = error(&format!("{BY} {op} on (app) group_left (host) {APPS}"));
        assert!(told.contains("grouping labels must ensure unique matches"), "{op}: {told}");
    }
}
