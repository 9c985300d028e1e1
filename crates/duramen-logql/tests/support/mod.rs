//! A store with entries, and queries over it.
#![allow(dead_code)]

use duramen::{EntryBuf, Store};
use duramen_logql::{Answer, Entry, Error, Limits, LogQl, Steps};
use duramen_query::{Cancel, Order, RunOptions};
use std::ops::ControlFlow;

/// The fields that make streams here.
pub const STREAM_FIELDS: [&str; 3] = ["app", "host", "service.name"];

/// An entry: its time, its line, its fields.
#[derive(Clone, Debug, Default)]
pub struct Row {
    pub time_ns: i64,
    pub line: String,
    pub fields: Vec<(String, String)>,
}

impl Row {
    pub fn new(time_ns: i64, line: &str, fields: &[(&str, &str)]) -> Self {
        let fields = fields.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect();
        Self { time_ns, line: line.into(), fields }
    }
}

pub struct Logs {
    store: Store,
    _dir: tempfile::TempDir,
}

impl Logs {
    /// A store with these entries, the first so many of them in tables.
    pub fn new(rows: &[Row], flushed: usize) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path().join("logs")).unwrap();
        let mut entry = EntryBuf::new(STREAM_FIELDS);
        for (i, row) in rows.iter().enumerate() {
            entry.start(row.time_ns).message(&row.line);
            for (name, value) in &row.fields {
                entry.field(name, &**value);
            }
            store.append(entry.finish().unwrap()).unwrap();
            if i + 1 == flushed {
                store.flush().unwrap();
            }
        }
        Self { store, _dir: dir }
    }

    /// Lines, the oldest first.
    pub fn lines(&self, text: &str) -> Result<Vec<String>, Error> {
        let mut lines = Vec::new();
        self.each(text, (0, i64::MAX), None, &mut |entry| lines.push(entry.line.to_string()))?;
        Ok(lines)
    }

    pub fn each(
        &self,
        text: &str,
        (start_ns, end_ns): (i64, i64),
        limit: Option<usize>,
        see: &mut dyn FnMut(&Entry<'_>),
    ) -> Result<(), Error> {
        let LogQl::Log(query) = LogQl::parse(text).unwrap_or_else(|e| panic!("{text}\n{e}")) else {
            panic!("{text} asks for numbers")
        };
        let options = RunOptions { order: Order::OldestFirst, limit, ..RunOptions::default() };
        let blocks = self.store.snapshot().unwrap().blocks(start_ns, end_ns);
        query.run(blocks, start_ns, end_ns, &options, &Cancel::new(), &mut |entry| {
            see(entry);
            ControlFlow::Continue(())
        })?;
        Ok(())
    }

    pub fn numbers(&self, text: &str, steps: Steps, limits: &Limits) -> Result<Answer, Error> {
        let LogQl::Metric(query) = LogQl::parse(text).unwrap_or_else(|e| panic!("{text}\n{e}")) else {
            panic!("{text} asks for lines")
        };
        let snapshot = self.store.snapshot().unwrap();
        query.run(&|from, to| snapshot.blocks(from, to), steps, limits, &Cancel::new())
    }

    pub fn rows(&self, query: &duramen_query::Query, see: &mut dyn FnMut(&duramen_query::ResultRow)) {
        let blocks = self.store.snapshot().unwrap().blocks(i64::MIN, i64::MAX);
        let run = query.run(blocks, &RunOptions::default(), &Cancel::new(), &mut |row| {
            see(row);
            ControlFlow::Continue(())
        });
        run.unwrap();
    }

    /// Series as texts: labels, and values for each step, `-` where there is none.
    pub fn shown(&self, text: &str, steps: Steps) -> Vec<String> {
        let answer = self.numbers(text, steps, &Limits::default()).unwrap_or_else(|e| panic!("{text}\n{e}"));
        let series = answer.series.iter().map(|series| {
            let labels: Vec<_> = series.labels.iter().map(|(n, v)| format!("{n}={v}")).collect();
            let value = |point: &Option<f64>| point.map_or("-".into(), duramen_logql::format_value);
            let values: Vec<String> = series.points.iter().map(value).collect();
            format!("{{{}}} {}", labels.join(","), values.join(" "))
        });
        series.collect()
    }
}
