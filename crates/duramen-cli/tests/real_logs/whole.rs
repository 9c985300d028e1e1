//! Every line, every field and every time comes back as it was.

use crate::files::DataFile;
use crate::json;
use crate::record::{Leaf, Record, Records, fields_of_line};
use crate::sandbox::Sandbox;
use crate::stamp::parse_rfc3339;
use std::collections::BTreeMap;
use std::fmt::Write;

const LEVELS: [&str; 6] = ["trace", "debug", "info", "warn", "error", "fatal"];

/// What the command said it took.
pub struct Took {
    pub lines: u64,
    pub entries: u64,
    joined: u64,
}

impl Took {
    /// Reads `NAME: 1,234 lines, 1,200 entries, 34 joined, …`.
    pub fn of(name: &str, said: &str) -> Self {
        let of = |what: &[&str]| {
            let parts = said.split(": ").nth(1).unwrap_or_default().split(", ");
            let mut counts = parts.filter_map(|part| part.split_once(' '));
            let count = counts.find(|(_, unit)| what.contains(unit)).map(|(count, _)| count.replace(',', ""));
            count.map(|count| count.parse().unwrap())
        };
        let lines = of(&["lines", "line"]).unwrap_or_else(|| panic!("{name}: no count of lines in {said}"));
        let entries = of(&["entries", "entry"]).unwrap();
        Self { lines, entries, joined: of(&["joined"]).unwrap_or(0) }
    }

    /// Every line of the file is in an entry; a last line without a line end is one.
    pub fn check_lines(&self, name: &str, bytes: &[u8], joins: bool) {
        let newlines = memchr::memchr_iter(b'\n', bytes).count() as u64;
        assert_eq!(self.lines, newlines + u64::from(bytes.last() != Some(&b'\n')), "{name}");
        assert_eq!(self.entries + self.joined, self.lines, "{name}");
        assert_eq!(self.joined > 0, joins, "{name}");
    }
}

/// The lines of a text file as messages hold them: without line ends, bytes that are not UTF-8 as `\xNN`.
fn lines_of(bytes: &[u8]) -> Vec<String> {
    let mut lines: Vec<&[u8]> = bytes.split(|b| *b == b'\n').collect();
    lines.pop_if(|last| last.is_empty());
    let without_cr = lines.into_iter().map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    without_cr
        .map(|line| {
            line.utf8_chunks().fold(String::new(), |mut text, chunk| {
                text.push_str(chunk.valid());
                chunk.invalid().iter().for_each(|byte| write!(text, "\\x{byte:02X}").unwrap());
                text
            })
        })
        .collect()
}

/// The messages of a text file, oldest first, are its lines in the order of their times; lines without a time
/// of their own stay behind the line before them. So it can be told which lines became one event, and the
/// events are the file's records.
pub fn text_comes_back(sandbox: &Sandbox, file: &DataFile, bytes: &[u8]) -> Records {
    let name = file.name();
    let mut time = file.modified_ns();
    let mut lines: Vec<(i64, String)> = Vec::new();
    for line in lines_of(bytes) {
        time = file.known.stamp.of_line(&line, file.modified_ns()).unwrap_or(time);
        lines.push((time, line));
    }
    lines.sort_by_key(|(time, _)| *time);

    let raw = sandbox.run(["query", "*", "--order", "oldest", "--output", "raw"]).expect(0).stdout;
    let mut expected = lines.iter();
    let mut found = raw.strip_suffix('\n').unwrap().split('\n');
    for (number, (found, (_, line))) in (&mut found).zip(&mut expected).enumerate() {
        assert_eq!(found, line, "{name}: line {number} in the order of time");
    }
    assert_eq!((found.next(), expected.next()), (None, None), "{name}");

    let mut rest = &lines[..];
    let answer = sandbox.run(["query", "*", "--order", "oldest"]).expect(0).stdout;
    let rows = answer.lines().map(|answer| {
        let row = json::leaves(answer, false);
        let message = &row.iter().find(|(name, _)| name == "_msg").unwrap().1.text;
        let (event, after) = rest.split_at(message.split('\n').count());
        rest = after;
        let fields = fields_of_line(&event[0].1);
        let message: Vec<&str> = event.iter().map(|(_, line)| &**line).collect();
        let record = Record { time: event[0].0, message: message.join("\n"), fields };
        check_row(name, &row, &record, false);
        record
    });
    let rows: Vec<Record> = rows.collect();
    assert!(rest.is_empty(), "{name}");
    Records { rows, fields_are_all: false }
}

/// Each row of the answer is the line it came from: all leaves, numbers to the letter.
pub fn json_comes_back(sandbox: &Sandbox, name: &str, records: &Records) {
    let answer = sandbox.run(["query", "*", "--order", "oldest"]).expect(0).stdout;
    let mut lines = answer.lines();
    for record in &records.rows {
        check_row(name, &json::leaves(lines.next().unwrap(), false), record, true);
    }
    assert_eq!(lines.next(), None, "{name}");
}

/// Checks a row of an answer against the record it must be. `all` says that the record's fields are all that the
/// row may have, but for a level, which the store finds itself where the sender named none.
#[track_caller]
pub fn check_row(name: &str, row: &[(String, Leaf)], record: &Record, all: bool) {
    let row: BTreeMap<&str, &Leaf> = row.iter().map(|(name, leaf)| (&**name, leaf)).collect();
    let text = |name: &str| row.get(name).map_or("", |leaf| &*leaf.text);
    let context = || format!("{name}: {:?}", record.message);
    assert_eq!(parse_rfc3339(text("_time")), record.time, "{}", context());
    assert_eq!(text("_msg"), record.message, "{}", context());
    for (name, leaf) in &record.fields.0 {
        assert_eq!(row.get(&**name), Some(&leaf), "field {name} of {}", context());
    }
    for (field, leaf) in row.iter().filter(|(field, _)| !["_time", "_msg", "_stream"].contains(field)) {
        if *field == "level" && record.fields.leaf("level").is_none() {
            assert!(LEVELS.contains(&&*leaf.text), "{leaf:?} of {}", context());
        } else {
            assert!(!all || record.fields.leaf(field).is_some(), "{field} in {}", context());
        }
    }
}
