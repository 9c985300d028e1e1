//! Log files to entries. Duramen's own reader of formats says where an entry ends, and when it was written.

use crate::Result;
use duramen::{EntryRef, Error, Level, Value as Read};
use duramen_formats::columns::Header;
use duramen_formats::{Detected, EntryReader, ReaderOptions};
use jiff::Timestamp;
use serde_json::{Map, Value};
use std::fs::File;
use std::io::{Read as _, Write};
use std::path::Path;

/// The field that names the file.
pub(crate) const FILE_FIELD: &str = "log_file";

/// A file's entries.
#[derive(Debug)]
pub(crate) struct Source {
    /// The file's name, without `.zst`.
    pub(crate) name: String,
    pub(crate) entries: Vec<Entry>,
    /// How its lines are read.
    options: ReaderOptions,
    detected: Option<Detected>,
    header: Header,
}

/// An entry.
#[derive(Debug)]
pub(crate) struct Entry {
    /// Nanoseconds since 1970.
    pub(crate) time_ns: i64,
    /// A JSON object: the line itself, or of a text one with `_msg`.
    pub(crate) json: String,
    /// Whether it is a text, and all of it the message.
    pub(crate) is_text: bool,
}

impl Source {
    pub(crate) fn read(path: &Path, parse: bool) -> Result<Self> {
        let mut bytes = Vec::new();
        let mut file = File::open(path).map_err(|e| format!("{}: {e}", path.display()))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let written = file.metadata()?.modified()?.duration_since(std::time::UNIX_EPOCH)?;
        match name.strip_suffix(".zst") {
            Some(plain) => {
                zstd::Decoder::new(file)?.read_to_end(&mut bytes)?;
                Self::of(plain, &bytes, i64::try_from(written.as_nanos())?, parse)
            }
            None => {
                file.read_to_end(&mut bytes)?;
                Self::of(&name, &bytes, i64::try_from(written.as_nanos())?, parse)
            }
        }
    }

    /// From a file's bytes, and when it was written: the year of times that name none.
    pub(crate) fn of(name: &str, bytes: &[u8], written_ns: i64, parse: bool) -> Result<Self> {
        let mut entries: Vec<Entry> = Vec::new();
        let mut begin = 0;
        let mut take = |entry: &[u8], level: Level, end_offset: u64| -> Result<(), Error> {
            let end = usize::try_from(end_offset).unwrap_or(bytes.len()).min(bytes.len());
            let line = std::str::from_utf8(&bytes[begin..end]).unwrap_or_default().trim();
            begin = end;
            let entry = EntryRef::decode(entry)?;
            let is_json = line.starts_with('{') && serde_json::from_str::<Map<String, Value>>(line).is_ok();
            let json = match is_json {
                true => line.to_owned(),
                false => Value::Object(object_of(&entry, level, parse)).to_string(),
            };
            entries.push(Entry {
                time_ns: entry.time,
                json,
                is_text: !is_json && entry.message.trim() == line,
            });
            Ok(())
        };
        let options = ReaderOptions::new(written_ns);
        let mut reader = EntryReader::new(options.clone());
        reader.feed(bytes, &mut take)?;
        reader.finish(&mut take)?;
        let (detected, header) = (reader.detected(), reader.header().clone());
        if entries.is_empty() {
            return Err(format!("{name}: no line").into());
        }
        Ok(Self { name: name.to_owned(), entries, options, detected, header })
    }

    /// An entry's text as an object, with what is read from it as from the file's.
    pub(crate) fn parsed(&self, text: &str) -> Result<Map<String, Value>> {
        let mut object = Map::new();
        let mut take = |entry: &[u8], level: Level, _end: u64| -> Result<(), Error> {
            if object.is_empty() {
                object = object_of(&EntryRef::decode(entry)?, level, true);
            }
            Ok(())
        };
        let mut reader = match self.detected {
            Some(detected) => EntryReader::resume(self.options.clone(), 0, detected, None),
            None => EntryReader::new(self.options.clone()),
        }
        .after(self.header.clone());
        reader.feed(text.as_bytes(), &mut take)?;
        reader.finish(&mut take)?;
        object.insert("_msg".to_owned(), text.into());
        Ok(object)
    }

    /// Each entry, with its own time, and no byte of a JSON line changed.
    pub(crate) fn write_as_is(&self, out: &mut impl Write) -> Result<()> {
        for entry in &self.entries {
            write_line(out, entry.time_ns, &self.name, &entry.json)?;
        }
        Ok(())
    }
}

/// A line of the result: a JSON object's members after the time and the name of the file.
pub(crate) fn write_line(out: &mut impl Write, time_ns: i64, file: &str, json: &str) -> Result<()> {
    let time = Timestamp::from_nanosecond(i128::from(time_ns))?;
    let file = serde_json::to_string(file)?;
    let members = json.trim_start().strip_prefix('{').ok_or("no JSON object")?.trim_start();
    let comma = if members.starts_with('}') { "" } else { "," };
    Ok(writeln!(out, "{{\"_time\":\"{time}\",\"{FILE_FIELD}\":{file}{comma}{members}")?)
}

/// The text as `_msg`, the level if there is one, and with `parse` what else was read from it.
fn object_of(entry: &EntryRef<'_>, level: Level, parse: bool) -> Map<String, Value> {
    let mut object = Map::new();
    if parse {
        for (name, value) in entry.fields() {
            object.insert(name.to_owned(), json_of(value));
        }
        if level != Level::default() {
            object.insert("level".to_owned(), level.name().into());
        }
    }
    object.insert("_msg".to_owned(), entry.message.into());
    // These would be there twice.
    object.remove("_time");
    object.remove(FILE_FIELD);
    object
}

fn json_of(value: Read<'_>) -> Value {
    match value {
        Read::Str(text) => text.into(),
        Read::Int(number) => number.into(),
        Read::Float(number) => number.into(),
        Read::Number(text) | Read::Json(text) => serde_json::from_str(text).unwrap_or_else(|_| text.into()),
        Read::Bool(truth) => truth.into(),
        Read::Null => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRITTEN_NS: i64 = 1_720_000_000_000_000_000;

    #[test]
    fn lines_of_one_event_are_one_entry() {
        let text = "2024-06-27 00:00:07 ERROR refused\n\tat App.main\n2024-06-27 00:00:08 INFO done\r\n";
        let source = Source::of("a.log", text.as_bytes(), WRITTEN_NS, true).unwrap();
        let first: Value = serde_json::from_str(&source.entries[0].json).unwrap();
        assert_eq!(source.entries.len(), 2);
        assert_eq!(first["_msg"], "2024-06-27 00:00:07 ERROR refused\n\tat App.main");
        assert_eq!(first["level"], "error");
        assert_eq!(source.entries[1].time_ns, 1_719_446_408_000_000_000);
        let plain = Source::of("a.log", text.as_bytes(), WRITTEN_NS, false).unwrap();
        assert!(!plain.entries[0].json.contains("level"));
    }

    #[test]
    fn a_json_line_keeps_its_bytes() {
        let text = "{\"ts\":1719446408.25,\"b\":1.10,\"a\":\"x\"}\n{}\n";
        let source = Source::of("a.ndjson", text.as_bytes(), WRITTEN_NS, true).unwrap();
        let mut out = Vec::new();
        source.write_as_is(&mut out).unwrap();
        let out = String::from_utf8(out).unwrap();
        let first = r#"{"_time":"2024-06-27T00:00:08.25Z","log_file":"a.ndjson","ts":1719446408.25,"b":1.10,"a":"x"}"#;
        assert_eq!(out.lines().next(), Some(first));
        assert!(out.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()));
    }

    #[test]
    fn compressed_files_are_read_and_empty_ones_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.log.zst");
        std::fs::write(&path, zstd::encode_all(&b"one line\n"[..], 3).unwrap()).unwrap();
        let source = Source::read(&path, false).unwrap();
        assert_eq!((source.name.as_str(), source.entries.len()), ("x.log", 1));
        assert!(Source::of("x", b"", WRITTEN_NS, false).is_err());
    }
}
