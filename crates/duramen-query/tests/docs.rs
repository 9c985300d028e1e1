//! Every example of docs/logsql.md runs, and answers what the page says it answers.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use duramen::ValueKind;
use duramen_query::{Cancel, ParseOptions, Query, RunOptions};
use serde_json::Value;
use std::ops::ControlFlow;
use std::sync::Arc;
use support::{Row, TestBlock, handles};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/logsql.md");

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

fn row(line: &str) -> Row {
    let Value::Object(object) = serde_json::from_str(line).unwrap() else { panic!("{line}") };
    let mut row = Row::new(0, &[]);
    for (name, value) in object {
        match (&*name, value) {
            ("_time", Value::String(text)) => {
                row.time = text.parse::<jiff::Timestamp>().unwrap().as_nanosecond() as i64;
            }
            ("_stream", Value::Object(labels)) => {
                for (label, value) in &labels {
                    let text = value.as_str().unwrap().to_string();
                    row.fields.insert(label.clone(), (text, ValueKind::String));
                }
                let labels: Vec<_> = labels.iter().map(|(n, v)| format!("{n}={v}")).collect();
                row.fields.insert(name, (format!("{{{}}}", labels.join(",")), ValueKind::String));
            }
            (_, Value::String(text)) => {
                row.fields.insert(name, (text, ValueKind::String));
            }
            (_, number) => {
                row.fields.insert(name, (number.to_string(), ValueKind::Number));
            }
        }
    }
    row
}

#[test]
fn examples_answer_what_the_page_says() {
    let page = std::fs::read_to_string(PAGE).unwrap();
    let fences = fences(&page);
    let (language, data) = &fences[0];
    assert_eq!(language, "data");
    let rows: Vec<Row> = data.lines().map(row).collect();
    let now_ns = "2024-05-17T12:00:00Z".parse::<jiff::Timestamp>().unwrap().as_nanosecond() as i64;
    let options = ParseOptions { now_ns, ..ParseOptions::default() };
    let examples = &fences[1..];
    assert!(examples.len() > 60 && examples.len().is_multiple_of(2), "each example has an answer");
    let mut wrong = String::new();
    for pair in examples.chunks(2) {
        let [(query_language, text), (answer_language, expected)] = pair else { panic!("{pair:?}") };
        assert_eq!((&**query_language, &**answer_language), ("logsql", "json"), "{text}");
        let query = Query::parse(text, &options).unwrap_or_else(|e| panic!("{text}{e}"));
        for (split, seed) in [(rows.len(), 1), (4, 2), (1, 3)] {
            let block = |(i, rows): (usize, &[Row])| Arc::new(TestBlock::new(rows.to_vec(), seed + i as u64));
            let blocks: Vec<_> = rows.chunks(split).enumerate().map(block).collect();
            let mut out = Vec::new();
            let mut sink = |row: &duramen_query::ResultRow| {
                row.write_json(&mut out);
                out.push(b'\n');
                ControlFlow::Continue(())
            };
            let result = query.run(handles(&blocks), &RunOptions::default(), &Cancel::new(), &mut sink);
            result.unwrap_or_else(|e| panic!("{text}{e}"));
            let answer = String::from_utf8(out).unwrap();
            if answer != *expected {
                wrong += &format!("--- the query\n{text}--- answers, in blocks of {split}\n{answer}");
            }
        }
    }
    assert!(wrong.is_empty(), "examples answer otherwise:\n{wrong}--- that was all\n");
}
