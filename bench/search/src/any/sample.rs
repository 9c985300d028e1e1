//! Some of the lines, evenly from the whole file, their fields flattened as the servers flatten them.

use crate::Result;
use jiff::Timestamp;
use serde_json::{Map, Value};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// Lines of a sample at most.
const ROWS_MAX: u64 = 50_000;

/// A line's fields, in order of their names; the message is `_msg`. Arrays are left out: servers may write them differently.
pub(crate) type Fields = Vec<(String, Value)>;

/// Some of a file's lines.
#[derive(Debug)]
pub(crate) struct Sample {
    /// Of the whole file.
    pub(crate) count: u64,
    pub(crate) first: Timestamp,
    pub(crate) last: Timestamp,
    pub(crate) rows: Vec<Fields>,
}

impl Sample {
    pub(crate) fn of(path: &Path) -> Result<Self> {
        let lines = || Ok::<_, std::io::Error>(BufReader::with_capacity(1 << 20, File::open(path)?));
        let count = lines()?.split(b'\n').count() as u64;
        let one_in = count.div_ceil(ROWS_MAX).max(1);
        let (mut first, mut last) = (Timestamp::MAX, Timestamp::MIN);
        let mut rows = Vec::new();
        for (number, line) in (0..).zip(lines()?.lines()) {
            let line = line?;
            if number % one_in == 0 {
                let row = flat(serde_json::from_str(&line)?);
                let time = row.iter().find(|(name, _)| name == "_time").and_then(|(_, time)| time.as_str());
                let time: Timestamp = time.ok_or("a line without `_time`")?.parse()?;
                (first, last) = (first.min(time), last.max(time));
                rows.push(row);
            }
        }
        if rows.is_empty() { Err("no lines".into()) } else { Ok(Self { count, first, last, rows }) }
    }
}

fn flat(object: Map<String, Value>) -> Fields {
    let mut fields = Vec::new();
    add(object, "", &mut fields);
    let is_text = |value: &Value| value.as_str().is_some_and(|text| !text.is_empty());
    let message = super::message_fields()
        .find_map(|name| fields.iter().position(|(field, value)| field == name && is_text(value)));
    if let Some(message) = message {
        "_msg".clone_into(&mut fields[message].0);
    }
    fields
}

fn add(object: Map<String, Value>, prefix: &str, fields: &mut Fields) {
    for (name, value) in object {
        let name = format!("{prefix}{name}");
        match value {
            Value::Object(members) => add(members, &format!("{name}."), fields),
            Value::Array(_) | Value::Null => {}
            value => fields.push((name, value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_flat_and_the_message_is_found() {
        let fields =
            flat(serde_json::from_str(r#"{"a":{"b":1,"c":[2]},"msg":"","Log":{"log":"hello"}}"#).unwrap());
        let names: Vec<_> = fields.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["_msg", "a.b", "msg"]);
    }
}
