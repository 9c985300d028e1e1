//! The beginnings of real log files come back byte for byte, and no word of theirs is denied.
//!
//! The files are found by DURAMEN_TEST_DATA, by default `../shared/data` beside the repository.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod columnar_common;

use columnar_common::{Field, Rows, check};
use duramen::Level;
use serde_json::Value;
use std::io::Read;
use std::path::PathBuf;

/// How much of each file is read.
const MAX_BYTES: u64 = 150_000;

fn flatten(prefix: &str, value: &Value, out: &mut Vec<(String, Field)>) {
    match value {
        Value::Object(map) if !map.is_empty() => {
            for (key, value) in map {
                let name = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
                flatten(&name, value, out);
            }
        }
        Value::String(s) => out.push((prefix.into(), Field::Str(s.clone()))),
        Value::Number(n) => out.push((prefix.into(), Field::Number(n.to_string()))),
        Value::Bool(b) => out.push((prefix.into(), Field::Bool(*b))),
        Value::Null => out.push((prefix.into(), Field::Null)),
        other => out.push((prefix.into(), Field::Json(other.to_string()))),
    }
}

#[test]
fn real_logs_come_back() {
    let default = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let dir = std::env::var_os("DURAMEN_TEST_DATA").map_or(default, PathBuf::from);
    let Ok(names) = dir.read_dir() else {
        eprintln!("skipped: no test data at {}", dir.display());
        return;
    };
    for path in names.map(|entry| entry.unwrap().path()).filter(|p| p.extension().is_some_and(|e| e == "zst"))
    {
        let mut raw = Vec::new();
        let file = std::io::Cursor::new(std::fs::read(&path).unwrap());
        zstd::Decoder::new(file).unwrap().take(MAX_BYTES).read_to_end(&mut raw).unwrap();
        let text = String::from_utf8_lossy(&raw);
        let mut rows = Rows::new(&["Hostname", "PodName", "proto"]);
        let lines: Vec<&str> = text.lines().collect();
        for (i, line) in lines[..lines.len() - 1].iter().enumerate() {
            let mut fields = Vec::new();
            if let Ok(value @ Value::Object(_)) = serde_json::from_str::<Value>(line) {
                flatten("", &value, &mut fields);
            } else {
                // As ingest does: the line stays whole, its parts are fields.
                let parts = line.split_whitespace().enumerate().take(12);
                fields.extend(parts.map(|(i, part)| (format!("part{i}"), Field::Str(part.into()))));
            }
            let fields = fields.iter().map(|(name, field)| (&**name, field.clone())).collect();
            rows.add(1_600_000_000_000_000_000 + i as i64 * 1_000_003, Level::Info, line, fields);
        }
        eprintln!("{}: {} rows", path.display(), lines.len() - 1);
        check(&rows);
    }
}
