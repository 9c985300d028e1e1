//! Reading whole inputs, and the real logs.

#![allow(dead_code, clippy::unwrap_used)] // Each test binary uses some of it; clippy takes it for no test.

use duramen::{EntryRef, Level, Value};
use duramen_formats::{EntryReader, LineFormat, ReaderOptions, Report};
use proptest::test_runner::TestCaseError;
use proptest::{prop_assert, prop_assert_eq};
use std::convert::Infallible;
use std::path::{Path, PathBuf};

/// An entry, owned.
#[derive(Clone, Debug, PartialEq)]
pub struct Got {
    pub time: i64,
    pub level: Level,
    pub raw_len: u32,
    pub message: String,
    pub fields: Vec<(String, String)>,
    pub end_offset: u64,
}

impl Got {
    pub fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().rev().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }
}

/// A value as JSON text.
pub fn as_json(value: Value<'_>) -> String {
    match value {
        Value::Str(s) => serde_json::Value::from(s).to_string(),
        Value::Int(n) => n.to_string(),
        Value::Float(x) => x.to_string(),
        Value::Bool(b) => b.to_string(),
        Value::Null => "null".to_owned(),
        Value::Number(s) | Value::Json(s) => s.to_owned(),
    }
}

pub fn decode(bytes: &[u8], level: Level, end_offset: u64) -> Got {
    let e = EntryRef::decode(bytes).unwrap();
    assert_eq!(e.level, level);
    let fields =
        e.stream().chain(e.fields()).map(|(name, value)| (name.to_owned(), as_json(value))).collect();
    Got { time: e.time, level, raw_len: e.raw_len, message: e.message.to_owned(), fields, end_offset }
}

/// Reads an input in chunks of `chunk` bytes with a reader.
pub fn read_with(mut reader: EntryReader, input: &[u8], chunk: usize) -> (Vec<Got>, Report) {
    let mut got = Vec::new();
    let mut sink = |bytes: &[u8], level: Level, end_offset: u64| {
        got.push(decode(bytes, level, end_offset));
        Ok::<(), Infallible>(())
    };
    for chunk in input.chunks(chunk) {
        reader.feed(chunk, &mut sink).unwrap();
    }
    reader.finish(&mut sink).unwrap();
    (got, *reader.report())
}

/// Whether each byte of an input is some entry's, and it makes no difference in which pieces it comes.
pub fn check_pieces(options: &ReaderOptions, input: &[u8], piece: usize) -> Result<(), TestCaseError> {
    let (whole, report) = read_with(EntryReader::new(options.clone()), input, usize::MAX);
    prop_assert!(report.balances());
    prop_assert_eq!(report.entries, whole.len() as u64);
    prop_assert_eq!(whole.iter().map(|g| g.raw_len as usize).sum::<usize>(), input.len());
    prop_assert_eq!(read_with(EntryReader::new(options.clone()), input, piece), (whole, report));
    Ok(())
}

pub fn options(format: LineFormat) -> ReaderOptions {
    // 2024-06-15T12:00:00Z
    let mut options = ReaderOptions::new(1_718_452_800_000_000_000);
    options.format = format;
    options
}

pub fn read(format: LineFormat, input: &str) -> (Vec<Got>, Report) {
    read_with(EntryReader::new(options(format)), input.as_bytes(), usize::MAX)
}

/// Where the real logs are; `None`, with a word about it, where they are not.
pub fn data() -> Option<PathBuf> {
    let dir = std::env::var_os("DURAMEN_TEST_DATA")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"), PathBuf::from);
    if dir.is_dir() {
        return Some(dir);
    }
    eprintln!("skipped: no real logs at {} (set DURAMEN_TEST_DATA)", dir.display());
    None
}

/// A file of the real logs, decompressed.
pub fn load(dir: &Path, name: &str) -> Vec<u8> {
    zstd::decode_all(&*std::fs::read(dir.join(format!("{name}.zst"))).unwrap()).unwrap()
}
