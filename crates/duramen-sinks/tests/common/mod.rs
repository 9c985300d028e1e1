//! Lines of many kinds, queries over them, and what a store answers.

#![allow(dead_code)] // each test uses some of it
#![allow(clippy::disallowed_methods)] // real files and processes

use duramen::block::BlockHandle;
use duramen::{EntryBuf, Level, Record, Sink, Store, Value};
use duramen_query::{Cancel, Order, Query, RunOptions};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

/// 2023-11-14T22:13:20Z.
pub const START_NS: i64 = 1_700_000_000_000_000_000;

/// Filters and pipes of every kind that the language has.
pub const QUERIES: &[&str] = &[
    "*",
    "refused",
    "\"connection refused\"",
    "refus*",
    "i(REFUSED)",
    "=\"\"",
    "_msg:\"\"",
    "=\"ready\"",
    "=\"connection\"*",
    "!=\"ready\"",
    "-refused -ready",
    "quote",
    "\"a \\\"quote\\\"\"",
    "\"\u{FFFD}\"",
    "before",
    "_msg:in(ready, \"\", nothing)",
    "level:error",
    "level:>=warn",
    "level:<info",
    "!level:error",
    "level:\"\"",
    "level:notice",
    "level:in(info, NOTICE)",
    "app:checkout",
    "app:=checkout",
    "app:check*",
    "!app:checkout",
    "app:\"\"",
    "app:*",
    "path:\"/a/b\"",
    "path:=\"back\\\\slash\"",
    "text:\"é😀\"",
    "text:line",
    "code:>=500",
    "code:=500",
    "code:in(200, 404)",
    "code:range[200, 404)",
    "ratio:0.5",
    "ok:true",
    "nothing:\"\"",
    "list:2",
    "nested.deep:x",
    "nested.deep:*",
    "twice:2",
    "twice#1:1",
    "\"odd name\":v",
    "app:checkout or app:\"\" level:error",
    "(app:checkout or refused) !(level:error or code:=200)",
    "_time:[2023-11-14T22:13:25Z, 2023-11-14T22:14:00Z]",
    "_time:<2023-11-14T22:13:21Z or _time:>2023-11-14T22:30:00Z",
    "!_time:<2023-11-14T22:20:00Z app:checkout",
    "_time:>2030-01-01T00:00:00Z",
    "* | stats count() n",
    "_time:>2023-11-14T22:14:00Z | stats count() n",
    "* | stats by (app, level) count() n, max(code) most",
    "refused | top 3 by (app)",
    "* | uniq by (level)",
    "app:checkout | sort by (code desc, _time) | limit 7",
    "* | fields _time, code | limit 5",
    "* | offset 40 | limit 3",
    "{app=\"checkout\"}",
    "~\"conn.*refused\"",
];

/// Logs lines of many kinds into a sink, which is closed then, and the same into a store.
pub fn log_samples(sink: &dyn Sink, dir: &Path) -> Store {
    let store = Store::open(dir).unwrap();
    let mut entry = EntryBuf::default();
    let names: Vec<String> = (0..300).map(|i| format!("f{i}")).collect();
    let many: Vec<(&str, Value<'_>)> = names.iter().map(|name| (&**name, name.as_str().into())).collect();
    let long = "0123456789".repeat(10_000);
    let messages = [
        "ready",
        "connection refused",
        "Connection Refused by peer",
        "",
        "a \"quote\" and a \\ and a\nline",
        "häß\u{FFFD}lich 😀 refusedx",
        "before\0after",
    ];
    let levels =
        [Level::Info, Level::Error, Level::Warn, Level::Unknown, Level::Debug, Level::Fatal, Level::Trace];
    for i in 0..1_500i64 {
        let nth = usize::try_from(i).unwrap();
        let mut fields = vec![("n", Value::Int(i)), ("code", Value::Int([200, 404, 500][nth % 3]))];
        match i % 10 {
            0 => fields.push(("app", "checkout".into())),
            1 => fields.extend([("app", "checkout-2".into()), ("path", "/a/b".into())]),
            2 => fields.extend([("text", "é😀 \u{1}\nline".into()), ("ok", true.into())]),
            3 => fields.extend([("path", "back\\slash".into()), ("ratio", 0.5.into())]),
            4 => fields.extend([("level", "NOTICE".into()), ("nothing", Value::Null)]),
            5 => fields.extend([("list", Value::Json("[1, 2]")), ("nested", Value::Json("{}"))]),
            6 => fields.extend([("nested.deep", "x\0y".into()), ("odd name", "v".into())]),
            7 => fields.extend([("twice#1", Value::Int(1)), ("twice", Value::Int(2))]),
            8 => fields.extend([("big", Value::Number("12345678901234567890.50")), ("app", "".into())]),
            _ => {}
        }
        // Several at one time, and not in its order.
        let time_ns = START_NS + (i * 7 % 1_000) * 1_000_000_001;
        let message = match i {
            700 => &*long,
            _ => messages[nth % messages.len()],
        };
        let fields = if i == 701 { &many } else { &fields };
        let record = Record { time_ns, level: levels[nth / 3 % levels.len()], message, fields };
        // Errors are written at once; that is another test's.
        sink.log(&record).unwrap();
        entry.start(time_ns).level(record.level).message(message);
        fields.iter().for_each(|(name, value)| _ = entry.field(name, *value));
        store.append(entry.finish().unwrap()).unwrap();
    }
    sink.close().unwrap();
    store
}

/// What a store answers to each of [`QUERIES`] is something, but to these.
pub const EMPTY: &[&str] = &["_time:>2030-01-01T00:00:00Z", "{app=\"checkout\"}"];

/// Logs one line and flushes it.
pub fn log_one(sink: &dyn Sink, message: &str) {
    sink.log(&Record { time_ns: START_NS, level: Level::Info, message, fields: &[] }).unwrap();
    sink.flush().unwrap();
}

/// What a store answers.
pub fn answers(store: &Store, query: &Query, order: Order) -> Vec<String> {
    let (from, to) = query.time_range();
    ask(store.snapshot().unwrap().blocks(from, to), query, order)
}

/// What a query finds in blocks, as JSON.
pub fn ask(blocks: Vec<Arc<dyn BlockHandle>>, query: &Query, order: Order) -> Vec<String> {
    let mut found = Vec::new();
    let options = RunOptions { order, threads: 2, ..RunOptions::default() };
    let stats = query
        .run(blocks, &options, &Cancel::new(), &mut |row| {
            let mut json = Vec::new();
            row.write_json(&mut json);
            found.push(String::from_utf8(json).unwrap());
            ControlFlow::Continue(())
        })
        .unwrap();
    assert!(stats.first_failure.is_none(), "{:?}", stats.first_failure);
    found
}
