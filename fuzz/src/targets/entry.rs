//! An entry of the log store, and the payloads of WAL records that hold entries.
//!
//! ```text
//! input   0 | an entry        1 | the record's kind u8 | its count u8 | its payload
//! ```

use super::Seed;
use crate::input::flags;
use duramen::fuzzing::{batch_payload, payload_entries, payload_source};
use duramen::{Batch, EntryBuf, EntryRef, Level, SourcePosition, Value};

/// Tries an input.
pub fn run(input: &[u8]) {
    let (flags, input) = flags(input);
    if flags & 1 == 0 {
        entry(input);
    } else if let [kind, count, payload @ ..] = input {
        if let Ok(entries) = payload_entries(*kind, u32::from(*count), payload) {
            entries.iter().for_each(|range| entry(&payload[range.clone()]));
        }
        let _any = payload_source(*kind, u32::from(*count), payload);
    }
}

fn entry(bytes: &[u8]) {
    let Ok(decoded) = EntryRef::decode(bytes) else { return };
    let (first, len) = EntryRef::decode_first(bytes).unwrap();
    assert!(len <= bytes.len() && first.time == decoded.time);
    assert_eq!(EntryRef::peek_time(bytes).unwrap(), decoded.time);
    let mut again = EntryBuf::new([""; 0]);
    again.start(decoded.time).level(decoded.level).raw_len(decoded.raw_len as usize).message(decoded.message);
    let mut fields = Vec::new();
    for (name, value) in decoded.stream().chain(decoded.fields()) {
        again.field(name, value);
        fields.push((name, value));
    }
    let Ok(again) = again.finish() else { return };
    let again = EntryRef::decode(again).unwrap();
    assert_eq!((again.time, again.level, again.raw_len), (decoded.time, decoded.level, decoded.raw_len));
    assert_eq!(again.message, decoded.message);
    assert_eq!(again.fields().count(), fields.len());
    for ((_, found), (_, value)) in again.fields().zip(&fields) {
        same(found, *value);
    }
}

/// A value goes through an entry unchanged, but for numbers that have no JSON, and integers written as text.
fn same(found: Value<'_>, value: Value<'_>) {
    match (found, value) {
        (Value::Str(_), Value::Float(x)) => assert!(!x.is_finite()),
        (Value::Int(n), Value::Number(text)) => assert_eq!(n.to_string(), text),
        (found, value) => assert_eq!(found, value),
    }
}

/// An entry with a value of every kind, and records of entries.
pub fn seeds() -> Vec<Seed> {
    let mut buf = EntryBuf::new(["app"]);
    let bare = buf.start(1).message("x").finish().unwrap().to_vec();
    buf.start(1_718_452_800_000_000_000).level(Level::Error).raw_len(80).message("connection refused");
    buf.field("app", "checkout").field("n", -7).field("big", i64::MAX).field("x", 0.25).field("yes", true);
    buf.field("null", Value::Null)
        .field("json", Value::Json("{\"a\":[1]}"))
        .field("num", Value::Number("1.50"));
    buf.field_same_as_message("msg");
    let full = buf.finish().unwrap().to_vec();
    let source = SourcePosition {
        name: "/var/log/x".into(),
        head_bytes: 10,
        head_hash: 1,
        read_bytes: 99,
        read_hash: 2,
        entries: 2,
    };
    let mut batch = Batch::new();
    batch.push(&bare).unwrap();
    batch.push(&full).unwrap();
    let payload = |source| [&[1, 2, 2][..], &batch_payload(&mut Batch::new(), source)].concat();
    let _empty = payload(None);
    vec![
        ("bare".into(), [&[0][..], &bare].concat()),
        ("full".into(), [&[0][..], &full].concat()),
        ("record".into(), [&[1, 1, 1][..], &full].concat()),
        ("batch".into(), [&[1, 2, 2][..], &batch_payload(&mut batch, None)].concat()),
        ("batch-of-a-source".into(), [&[1, 2, 2][..], &batch_payload(&mut batch, Some(&source))].concat()),
    ]
}
