//! Queries as long and as deep as they may be need no more of a stack than a thread has.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this is test code

mod support;

use duramen_logql::{Limits, Steps};
use support::{Logs, Row};

const SECOND: i64 = 1_000_000_000;
const AT: Steps = Steps { start_ns: 100 * SECOND, end_ns: 100 * SECOND, step_ns: 1 };

/// Runs on a thread with a stack as the server's have it: where it does not fit, the whole process ends.
fn on_a_thread(work: impl FnOnce(&Logs) + Send + 'static) {
    let run = move || work(&Logs::new(&[Row::new(91 * SECOND, "a", &[("app", "a"), ("x", "ab")])], 1));
    std::thread::Builder::new().stack_size(2 << 20).spawn(run).unwrap().join().unwrap();
}

#[test]
fn filters_that_are_many() {
    on_a_thread(|logs| {
        for (one, join) in
            [("x=~`b.*`", " or "), ("x=`b`", " or "), ("x=ip(`10.0.0.0/8`)", ", "), ("x!~`a.*`", " and ")]
        {
            let filters = vec![one; 2_001].join(join);
            assert!(logs.lines(&format!("{{}} | {filters}")).unwrap().is_empty(), "{one}{join}");
            // Of numbers, and between parentheses, each of which is a level more.
            let deep = format!("{}{filters}{}", "(".repeat(40), ")".repeat(40));
            let nested =
                format!("{}count_over_time({{}} | {deep} [1m]){}", "sum(".repeat(40), ")".repeat(40));
            assert!(logs.shown(&nested, AT).is_empty(), "{one}{join}");
        }
        let pairs = vec!["x=~`a.*` and x=~`c.*`"; 1_000].join(" or ");
        assert!(logs.lines(&format!("{{}} | {pairs}")).unwrap().is_empty());
    });
}

#[test]
fn operators_that_are_many() {
    on_a_thread(|logs| {
        let numbers = |text: &str| logs.numbers(text, AT, &Limits::default()).unwrap().series.len();
        for (first, more) in [
            ("1", " + 1"),
            ("count_over_time({}[1m])", " + 1"),
            ("1", " + count_over_time({}[1m])"),
            ("count_over_time({}[1m])", " or count_over_time({}[1m])"),
        ] {
            let long = format!("{first}{}", more.repeat(500));
            assert_eq!(numbers(&format!("{}{long}{}", "(".repeat(90), ")".repeat(90))), 1, "{first}{more}");
        }
    });
}
