//! A line as the table has it, and back.
//!
//! ```text
//! time_ns   integer   ns since 1970-01-01T00:00:00Z
//! level     text      trace debug info warn error fatal, or empty
//! message   text
//! fields    JSON      an object: names in their order, one that comes twice is there twice
//! ```
//!
//! No column holds a NUL: PostgreSQL's text cannot. A message with one has U+FFFD in its place, and is whole in
//! `fields`, where JSON can escape it, as `_msg`; a field that a program calls `_msg` is there as `_msg#1`, as it
//! would be in a store.

use crate::error::{Error, Result};
use duramen::block::names;
use duramen::entry::{MAX_ENTRY_BYTES, MAX_FIELD_NAME_BYTES, MAX_FIELDS};
use duramen::{EntryBuf, Level, Record, Value};
use duramen_formats::fields::Fields;
use duramen_formats::json::JsonParser;
use jiter::Jiter;

/// What `fields` costs a line beside its message, about: columns, indexes, the queue.
const OVERHEAD_BYTES: usize = 64;

/// A line that waits to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub time_ns: i64,
    pub level: Level,
    pub message: String,
    pub fields: String,
}

impl Line {
    /// Takes a copy of a record.
    ///
    /// # Errors
    /// [`Error::Invalid`] if it is over the limits that a store has, too.
    pub fn new(record: &Record<'_>) -> Result<Self> {
        if record.fields.len() >= MAX_FIELDS {
            let count = record.fields.len();
            return Err(Error::Invalid(format!("{count} fields in one line; at most {}", MAX_FIELDS - 1)));
        }
        let mut fields = String::with_capacity(32 * record.fields.len() + 2);
        fields.push('{');
        let message = if record.message.contains('\0') {
            push_name(&mut fields, names::MESSAGE);
            push_string(&mut fields, record.message);
            record.message.replace('\0', "\u{FFFD}")
        } else {
            record.message.to_owned()
        };
        for (name, value) in record.fields {
            if name.len() > MAX_FIELD_NAME_BYTES {
                return Err(Error::Invalid(format!(
                    "a field name is longer than {MAX_FIELD_NAME_BYTES} bytes"
                )));
            }
            push_name(&mut fields, if *name == names::MESSAGE { "_msg#1" } else { name });
            push_value(&mut fields, *value);
        }
        fields.push('}');
        let line = Self { time_ns: record.time_ns, level: record.level, message, fields };
        if line.bytes() > MAX_ENTRY_BYTES {
            let bytes = line.bytes();
            return Err(Error::Invalid(format!("a line of {bytes} bytes; at most {MAX_ENTRY_BYTES}")));
        }
        Ok(line)
    }

    /// What it takes in the queue, about.
    pub fn bytes(&self) -> usize {
        self.message.len() + self.fields.len() + OVERHEAD_BYTES
    }
}

/// A row of the table, borrowed from the database's client.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stored<'a> {
    pub id: i64,
    pub time_ns: i64,
    pub level: &'a str,
    pub message: &'a str,
    pub fields: &'a str,
}

/// Makes entries of rows.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    json: JsonParser,
    fields: Fields,
}

impl Decoder {
    /// Fills an entry from a row. If its `fields` are no JSON object, which a sink never writes, they are kept
    /// whole as the text of a field of that name, and the answer says why.
    pub fn fill(&mut self, row: &Stored<'_>, entry: &mut EntryBuf) -> Option<String> {
        entry.start(row.time_ns).level(Level::parse(row.level).unwrap_or_default()).message(row.message);
        if let Err(why) = self.json.parse(row.fields, &mut self.fields) {
            entry.field("fields", row.fields);
            return Some(why.to_string());
        }
        self.fields.for_each(row.fields, |name, value| match value {
            Value::Str(whole) if name == names::MESSAGE => _ = entry.message(whole),
            value => _ = entry.field(name, value),
        });
        None
    }
}

fn push_name(out: &mut String, name: &str) {
    if out.len() > 1 {
        out.push(',');
    }
    push_string(out, name);
    out.push(':');
}

fn push_value(out: &mut String, value: Value<'_>) {
    use std::fmt::Write;
    let _infallible = match value {
        Value::Int(n) => write!(out, "{n}"),
        Value::Float(x) if x.is_finite() => write!(out, "{x}"),
        Value::Float(x) => write!(out, "\"{x}\""),
        Value::Bool(b) => write!(out, "{b}"),
        Value::Null => write!(out, "null"),
        Value::Number(text) | Value::Json(text) if is_json(text) => write!(out, "{text}"),
        Value::Str(text) | Value::Number(text) | Value::Json(text) => {
            push_string(out, text);
            Ok(())
        }
    };
}

/// Whether a text is one JSON value, so that it can stand in an object as it is.
fn is_json(text: &str) -> bool {
    let mut jiter = Jiter::new(text.as_bytes());
    jiter.next_skip().is_ok() && jiter.finish().is_ok()
}

/// Appends a text as a JSON string. Only what JSON demands is escaped, so that texts are found by searching.
pub(crate) fn push_string(out: &mut String, text: &str) {
    use std::fmt::Write;
    out.push('"');
    let mut start = 0;
    for (i, b) in text.bytes().enumerate() {
        if b >= 0x20 && b != b'"' && b != b'\\' {
            continue;
        }
        out.push_str(&text[start..i]);
        start = i + 1;
        let _infallible = match b {
            b'"' | b'\\' => write!(out, "\\{}", char::from(b)),
            b'\n' => write!(out, "\\n"),
            b'\r' => write!(out, "\\r"),
            b'\t' => write!(out, "\\t"),
            b => write!(out, "\\u{b:04x}"),
        };
    }
    out.push_str(&text[start..]);
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use duramen::EntryRef;

    fn there_and_back(record: &Record<'_>) -> (String, Vec<(String, String)>) {
        let line = Line::new(record).unwrap();
        assert!(!line.message.contains('\0') && !line.fields.contains('\0'));
        serde_json::from_str::<serde_json::Value>(&line.fields).unwrap();
        let row = Stored {
            id: 1,
            time_ns: line.time_ns,
            level: line.level.name(),
            message: &line.message,
            fields: &line.fields,
        };
        let mut entry = EntryBuf::default();
        assert_eq!(Decoder::default().fill(&row, &mut entry), None);
        let entry = EntryRef::decode(entry.finish().unwrap()).unwrap();
        assert_eq!((entry.time, entry.level), (record.time_ns, record.level));
        let fields = entry.fields().map(|(n, v)| (n.to_owned(), format!("{v:?}"))).collect();
        (entry.message.to_owned(), fields)
    }

    #[test]
    fn every_kind_of_value_comes_back() {
        let fields = [
            ("s", Value::Str("a\"\\\n\0\u{1}é😀")),
            ("i", Value::Int(i64::MIN)),
            ("f", Value::Float(-0.5)),
            ("inf", Value::Float(f64::INFINITY)),
            ("n", Value::Number("1.50")),
            ("no", Value::Number("1,5")),
            ("b", Value::Bool(true)),
            ("z", Value::Null),
            ("j", Value::Json("[1, {\"x\": 2}]")),
            ("broken", Value::Json("[1")),
            ("_msg", Value::Str("mine")),
            ("twice", Value::Int(1)),
            ("twice", Value::Int(2)),
            ("", Value::Int(3)),
        ];
        let record = Record { time_ns: -5, level: Level::Fatal, message: "nul \0 here", fields: &fields };
        let (message, fields) = there_and_back(&record);
        assert_eq!(message, "nul \0 here");
        let fields: Vec<_> = fields.iter().map(|(n, v)| format!("{n}={v}")).collect();
        assert_eq!(
            fields,
            [
                r#"s=Str("a\"\\\n\0\u{1}é😀")"#,
                "i=Int(-9223372036854775808)",
                r#"f=Number("-0.5")"#,
                r#"inf=Str("inf")"#,
                r#"n=Number("1.50")"#,
                r#"no=Str("1,5")"#,
                "b=Bool(true)",
                "z=Null",
                r#"j=Json("[1, {\"x\": 2}]")"#,
                r#"broken=Str("[1")"#,
                r#"_msg#1=Str("mine")"#,
                "twice#1=Int(1)",
                "twice=Int(2)",
                "#1=Int(3)",
            ]
        );
    }

    #[test]
    fn limits_are_those_of_a_store() {
        let refused = |record: &Record<'_>| Line::new(record).unwrap_err().to_string();
        let record = Record { time_ns: 0, level: Level::Info, message: "", fields: &[] };
        let long = "n".repeat(MAX_FIELD_NAME_BYTES + 1);
        assert!(refused(&Record { fields: &[(&long, Value::Null)], ..record }).contains("field name"));
        let many = vec![("f", Value::Null); MAX_FIELDS];
        assert!(refused(&Record { fields: &many, ..record }).contains("fields in one line"));
        let large = "x".repeat(MAX_ENTRY_BYTES);
        assert!(refused(&Record { message: &large, ..record }).contains("at most"));
    }

    #[test]
    fn fields_that_are_no_json_are_kept_whole() {
        let row = Stored { message: "m", fields: "{oops", ..Stored::default() };
        let mut entry = EntryBuf::default();
        assert!(Decoder::default().fill(&row, &mut entry).is_some());
        let entry = EntryRef::decode(entry.finish().unwrap()).unwrap();
        assert_eq!(entry.fields().collect::<Vec<_>>(), [("fields", Value::Str("{oops"))]);
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(64))]
        #[test]
        fn any_text_comes_back(message: String, value: String, json: String) {
            let fields = [("v", Value::Str(&value)), ("j", Value::Json(&json)), ("n", Value::Number(&json))];
            let record = Record { time_ns: 1, level: Level::Info, message: &message, fields: &fields };
            let (found, fields) = there_and_back(&record);
            proptest::prop_assert_eq!(found, message);
            proptest::prop_assert_eq!(&fields[0].1, &format!("{:?}", Value::Str(&value)));
        }
    }
}
