//! Every example of docs/logql.md runs, and answers what the page says it answers.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use duramen_logql::{LogQl, Origin, Steps};
use support::{Logs, Row};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/logql.md");

/// Fenced blocks: their language and text.
fn fences(page: &str) -> Vec<(String, String)> {
    let (mut fences, mut open) = (Vec::new(), None::<(String, String)>);
    for line in page.lines() {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(language)) => open = Some((language.into(), String::new())),
            (Some(_), Some("")) => fences.extend(open.take()),
            (Some((_, text)), None) => *text += &format!("{line}\n"),
            _ => {}
        }
    }
    assert!(open.is_none(), "a fence is not closed");
    fences
}

fn time(text: &str) -> i64 {
    text.parse::<jiff::Timestamp>().unwrap().as_nanosecond() as i64
}

fn row(line: &str) -> Row {
    let object: serde_json::Map<String, serde_json::Value> = serde_json::from_str(line).unwrap();
    let mut row = Row::default();
    for (name, value) in object {
        let value = value.as_str().unwrap().to_string();
        match &*name {
            "_time" => row.time_ns = time(&value),
            "_msg" => row.line = value,
            _ => row.fields.push((name, value)),
        }
    }
    row
}

fn answer(logs: &Logs, text: &str) -> String {
    let mut out = String::new();
    match LogQl::parse(text).unwrap_or_else(|e| panic!("{text}{e}")) {
        LogQl::Log(_) => {
            let seen = logs.each(text, (0, i64::MAX), None, &mut |entry| {
                let mut labels: Vec<_> = entry
                    .all_labels()
                    .filter(|(name, _, origin)| *origin == Origin::Parsed && *name != "__error_details__")
                    .map(|(name, value, _)| format!("{name}={value}"))
                    .collect();
                labels.sort();
                out += entry.line.as_ref();
                if !labels.is_empty() {
                    out += &format!(" {{{}}}", labels.join(", "));
                }
                out.push('\n');
            });
            seen.unwrap_or_else(|e| panic!("{text}{e}"));
        }
        LogQl::Metric(_) => {
            let (start_ns, end_ns) = (time("2024-05-17T11:55:00Z"), time("2024-05-17T12:00:00Z"));
            let steps = Steps { start_ns, end_ns, step_ns: end_ns - start_ns };
            logs.shown(text, steps).iter().for_each(|line| out += &format!("{line}\n"));
        }
    }
    out
}

#[test]
fn examples_answer_what_the_page_says() {
    let page = std::fs::read_to_string(PAGE).unwrap();
    let fences = fences(&page);
    let (language, data) = &fences[0];
    assert_eq!(language, "data");
    let rows: Vec<Row> = data.lines().map(row).collect();
    let examples = &fences[1..];
    assert!(examples.len() > 50 && examples.len().is_multiple_of(2), "each example has an answer");
    let mut wrong = String::new();
    for flushed in [0, 5, 10] {
        let logs = Logs::new(&rows, flushed);
        for pair in examples.chunks(2) {
            let [(query, text), (language, expected)] = pair else { panic!("{pair:?}") };
            assert_eq!((&**query, &**language), ("logql", "answer"), "{text}");
            let answer = answer(&logs, text);
            if answer != *expected {
                wrong += &format!("--- the query\n{text}--- answers, with {flushed} in tables\n{answer}");
            }
        }
    }
    assert!(wrong.is_empty(), "examples answer otherwise:\n{wrong}--- that was all\n");
}
