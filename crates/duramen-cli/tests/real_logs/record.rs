//! What a file holds, as records in the order of time; those of one time in the order of the file.

use crate::files::DataFile;
use crate::json;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What kind of value a leaf of JSON is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Text,
    Number,
    Bool,
    /// Its text is empty.
    Null,
    /// An array or an empty object.
    Json,
}

/// A value, and its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaf {
    pub kind: Kind,
    pub text: Box<str>,
}

/// The fields of a record.
#[derive(Debug, Default)]
pub struct Fields(pub Vec<(Arc<str>, Leaf)>);

impl Fields {
    /// The text of a field; empty if it is not there.
    pub fn get(&self, name: &str) -> &str {
        self.leaf(name).map_or("", |leaf| &leaf.text)
    }

    pub fn leaf(&self, name: &str) -> Option<&Leaf> {
        self.0.iter().find(|(n, _)| **n == *name).map(|(_, leaf)| leaf)
    }
}

/// A line of NDJSON, or an event of a text file.
#[derive(Debug)]
pub struct Record {
    /// ns since the epoch.
    pub time: i64,
    pub message: String,
    /// Of a text file, some of the fields that it has in the store.
    pub fields: Fields,
}

impl Record {
    /// The text of a field or of the message.
    pub fn get(&self, name: &str) -> &str {
        if name == "_msg" { &self.message } else { self.fields.get(name) }
    }
}

/// The records of a file.
pub struct Records {
    /// In the order of time.
    pub rows: Vec<Record>,
    /// Whether the fields of each are all it has.
    pub fields_are_all: bool,
}

impl Records {
    /// The records of lines of NDJSON.
    pub fn of_json(file: &DataFile, bytes: &[u8]) -> Self {
        let text = std::str::from_utf8(bytes).unwrap();
        let mut names = BTreeSet::<Arc<str>>::new();
        let mut last_time = file.modified_ns();
        let mut rows: Vec<Record> = text
            .lines()
            .map(|line| {
                let fields = json::leaves(line, true).into_iter().map(|(name, leaf)| {
                    let shared = names.get(&*name).cloned().unwrap_or_else(|| {
                        let new: Arc<str> = name.into();
                        names.insert(new.clone());
                        new
                    });
                    (shared, leaf)
                });
                let fields = Fields(fields.collect());
                last_time = file.known.stamp.of_fields(&fields).unwrap_or(last_time);
                let is_message = |leaf: &&Leaf| leaf.kind == Kind::Text && !leaf.text.is_empty();
                let message = file.known.message.iter().find_map(|name| fields.leaf(name).filter(is_message));
                let message = message.map_or(String::new(), |leaf| leaf.text.to_string());
                Record { time: last_time, message, fields }
            })
            .collect();
        rows.sort_by_key(|row| row.time);
        Self { rows, fields_are_all: true }
    }
}

/// The fields that are plain to see in a line of an access log or of BSD syslog.
pub fn fields_of_line(line: &str) -> Fields {
    let found = access_fields(line).or_else(|| syslog_fields(line)).unwrap_or_default();
    let leaf = |(name, text): (&str, &str)| {
        let is_number = matches!(name, "status" | "bytes" | "pid") && text.parse::<i64>().is_ok();
        let kind = if is_number { Kind::Number } else { Kind::Text };
        (name.into(), Leaf { kind, text: text.into() })
    };
    Fields(found.into_iter().filter(|(_, text)| !["", "-"].contains(text)).map(leaf).collect())
}

/// `ip - user [time] "method path protocol" status bytes "referer" "agent" …`
fn access_fields(line: &str) -> Option<Vec<(&str, &str)>> {
    let (client, rest) = line.split_once(" [")?;
    let (_, rest) = rest.split_once("] \"")?;
    let (request, rest) = rest.split_once("\" ")?;
    let mut numbers = rest.split(' ');
    let mut found = vec![("ip", client.split(' ').next()?)];
    found.extend([("status", numbers.next()?), ("bytes", numbers.next()?)]);
    let mut parts = request.split(' ');
    if let (Some(method), Some(path), Some(protocol), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    {
        found.extend([("method", method), ("path", path), ("protocol", protocol)]);
    }
    let mut quoted = rest.split('"').skip(1).step_by(2);
    if !line.contains("\\\"") {
        found.extend(quoted.next().map(|text| ("referer", text)));
        found.extend(quoted.next().map(|text| ("agent", text)));
    }
    Some(found)
}

/// `Mon dd hh:mm:ss host app[pid]: …`
fn syslog_fields(line: &str) -> Option<Vec<(&str, &str)>> {
    let is_bsd = line.as_bytes().get(3) == Some(&b' ') && line.as_bytes().get(15) == Some(&b' ');
    if !is_bsd {
        return None;
    }
    let (host, rest) = line.get(16..)?.split_once(' ')?;
    let mut found = vec![("host", host)];
    if let Some(colon) = rest.find(':') {
        let tag = &rest[..colon];
        let (app, pid) = match tag.strip_suffix(']').and_then(|tag| tag.split_once('[')) {
            Some((app, pid)) => (app, Some(pid)),
            None => (tag, None),
        };
        if !app.contains([' ', '[']) {
            found.push(("app", app));
            found.extend(pid.map(|pid| ("pid", pid)));
        }
    }
    Some(found)
}
