//! What the tests of all decoders use.

use crate::Decoded;
use duramen::{Batch, EntryRef, Value};
use std::fmt::Write;

/// The time that is now in tests: 2024-06-15T12:00:00Z.
pub const NOW: i64 = 1_718_452_800_000_000_000;

/// The entries as text, a line each: `time level message {stream} fields`.
pub fn show(out: &mut Decoded) -> String {
    let mut text = String::new();
    let mut count = 0;
    for batch in out.batches() {
        for entry in entries(batch) {
            count += 1;
            let e = EntryRef::decode(&entry).unwrap();
            let time = if e.time == NOW { "NOW".to_owned() } else { e.time.to_string() };
            let stream: Vec<_> = e.stream().map(|(name, value)| format!("{name}={}", plain(value))).collect();
            write!(text, "{time} {:?} {} {{{}}}", e.level, e.message, stream.join(" ")).unwrap();
            for (name, value) in e.fields() {
                write!(text, " {name}={}", plain(value)).unwrap();
            }
            text.push('\n');
        }
    }
    assert_eq!(count, out.accepted());
    text
}

fn plain(value: Value<'_>) -> String {
    match value {
        Value::Str(s) | Value::Number(s) | Value::Json(s) => s.to_owned(),
        Value::Int(n) => n.to_string(),
        Value::Float(x) => x.to_string(),
        Value::Bool(b) => b.to_string(),
        Value::Null => "null".to_owned(),
    }
}

fn entries(batch: &Batch) -> Vec<Vec<u8>> {
    batch.entries().map(<[u8]>::to_vec).collect()
}
