//! LogsQL: a query is read or refused; read, it writes itself as text that means the same, and runs.

use super::Seed;
use duramen::block::{Block, BlockHandle};
use duramen::columnar::{MemoryBlock, Row};
use duramen::{EntryBuf, EntryRef, Level};
use duramen_query::{Cancel, ParseOptions, Query, RunOptions};
use std::ops::ControlFlow;
use std::sync::{Arc, OnceLock};

/// A block in memory, listed.
#[derive(Debug)]
struct Handle(Arc<MemoryBlock>);

impl BlockHandle for Handle {
    fn rows(&self) -> usize {
        self.0.rows()
    }

    fn min_time(&self) -> i64 {
        self.0.times().map_or(0, |times| times[0])
    }

    fn max_time(&self) -> i64 {
        self.0.times().map_or(0, |times| times[times.len() - 1])
    }

    fn open(&self) -> duramen::Result<Arc<dyn Block>> {
        Ok(self.0.clone())
    }
}

/// Tries an input.
pub fn run(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let options = ParseOptions { now_ns: 1_718_452_800_000_000_000, ..ParseOptions::default() };
    let query = match Query::parse(text, &options) {
        Ok(query) => query,
        // Errors point at a column of the text.
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let shown = query.to_string();
    let again = Query::parse(&shown, &options)
        .unwrap_or_else(|error| panic!("{text:?} is shown as {shown:?}: {error}"));
    assert_eq!(again.to_string(), shown, "of {text:?}");
    assert_eq!(again.time_range(), query.time_range());
    assert!(!query.explain().is_empty());
    let (one, two) = (answer(&query), answer(&again));
    assert_eq!(one, two, "{text:?} and {shown:?}");
}

/// All rows as JSON, or that it failed.
fn answer(query: &Query) -> Option<Vec<u8>> {
    let options = RunOptions { memory_limit_bytes: 1 << 20, ..RunOptions::default() };
    let mut out = Vec::new();
    let mut sink = |row: &duramen_query::ResultRow| {
        row.write_json(&mut out);
        out.push(b'\n');
        ControlFlow::Continue(())
    };
    query.run(vec![Arc::new(Handle(block()))], &options, &Cancel::new(), &mut sink).ok().map(|_| out)
}

/// Some rows to ask.
fn block() -> Arc<MemoryBlock> {
    static BLOCK: OnceLock<Arc<MemoryBlock>> = OnceLock::new();
    let make = || {
        let mut buf = EntryBuf::new(["app"]);
        let entries: Vec<Vec<u8>> = (0..12i64)
            .map(|n| {
                buf.start(1_718_452_000_000_000_000 + n * 60_000_000_000).raw_len(90);
                buf.level(Level::from_u8(n as u8 % 5).unwrap_or_default());
                buf.message(["connection refused", "GET /a 200", "größe 5 MiB", ""][n as usize % 4]);
                buf.field("app", ["web", "db"][n as usize % 2]).field("status", 200 + n * 50);
                buf.field("took", n as f64 / 3.0).field("ip", format!("10.0.0.{n}").as_str());
                if n % 3 == 0 {
                    buf.field("user", "Ada").field("size", "3KiB");
                }
                buf.finish().unwrap().to_vec()
            })
            .collect();
        let row = |(n, entry)| Row { entry: EntryRef::decode(entry).unwrap(), writer: 1, seq: n };
        let rows: Vec<Row<'_>> = (0u64..).zip(entries.iter().map(Vec::as_slice)).map(row).collect();
        Arc::new(MemoryBlock::build(&rows).unwrap())
    };
    BLOCK.get_or_init(make).clone()
}

/// The examples of the language's description.
pub fn seeds() -> Vec<Seed> {
    let page = include_str!("../../../docs/logsql.md");
    let examples = page.split("```logsql\n").skip(1).filter_map(|rest| rest.split("\n```").next());
    (0..).zip(examples).map(|(n, text): (u32, &str)| (format!("{n:03}"), text.as_bytes().to_vec())).collect()
}
