//! Other spellings of what there is, most of them those of VictoriaLogs.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use duramen_query::{ParseOptions, Query};

/// 2024-05-17T12:00:00Z
const NOW: i64 = 1_715_947_200_000_000_000;

fn options() -> ParseOptions {
    ParseOptions { now_ns: NOW, ..ParseOptions::default() }
}

/// Checks that a text has a plan, and the plan, written out, itself.
fn check(spellings: &[(&str, &str)]) {
    for (text, plan) in spellings {
        let canonical =
            |text: &str| Query::parse(text, &options()).unwrap_or_else(|e| panic!("{text}\n{e}")).to_string();
        assert_eq!(canonical(text), *plan, "{text}");
        assert_eq!(canonical(plan), *plan);
    }
}

#[test]
fn functions_without_fields_are_of_all_fields() {
    check(&[
        (
            "a | sum() s, min(), quantile(0.9), median(), values() limit 3 v, rate_sum() r",
            "a | stats sum(*) as s, min(*) as \"min(*)\", quantile(0.9) as \"quantile(0.9)\", median(*) as \"median(*)\", values(*) limit 3 as v, rate_sum(*) as r",
        ),
        ("a | quantile(0.9, *) q, row_max(x) m", "a | stats quantile(0.9) as q, row_max(x) as m"),
        ("a | row_any(), json_values() j", "a | stats row_any(*) as \"row_any(*)\", json_values(*) as j"),
        ("a | count() if () n", "a | stats count(*) as n"),
    ]);
}
