//! Encodes log files as column blocks, checks that every value comes back, and prints sizes and speeds.
//!
//! `cargo run --release -p duramen --example column_sizes -- FILE…`
//!
//! A file of JSON lines becomes entries with their members as fields (nested objects flattened with dots); any
//! other becomes one entry a line. The time is that of the first member that looks like one, else the line's
//! number in milliseconds. `FIELDS=1` also parses access logs into fields, as ingest does. `COLUMNS=1` also prints each column; `LEVEL` is the zstd level.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods, clippy::panic)]

use duramen::block::Block;
use duramen::column::{ColumnData, IntText};
use duramen::columnar::{
    BlockEncoder, EncodeOptions, EncodedBlock, MAX_BLOCK_ROWS, Row, TARGET_BLOCK_RAW_BYTES, TableBlock,
};
use duramen::{EntryBuf, EntryRef, Value};
use duramen_engine::sstable::{ChunkHandle, ChunkSink, ChunkSource};
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Chunks in memory.
#[derive(Debug, Default)]
struct Chunks {
    bytes: Vec<u8>,
}

impl ChunkSink for Chunks {
    fn add_chunk(&mut self, bytes: &[u8]) -> duramen_engine::Result<ChunkHandle> {
        let offset = self.bytes.len() as u64;
        self.bytes.extend_from_slice(bytes);
        Ok(ChunkHandle { offset, len: bytes.len() as u32 })
    }
}

impl ChunkSource for Chunks {
    fn read_chunk(&self, h: ChunkHandle) -> duramen_engine::Result<Vec<u8>> {
        Ok(self.bytes[h.offset as usize..][..h.len as usize].to_vec())
    }
}

/// The time that this thread has been running on a processor: others on the machine do not count.
fn cpu_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    Duration::from_nanos(stat.split(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0))
}

/// What a frame around a chunk costs: its length, its checksum.
const FRAME_BYTES: u64 = 8;

fn main() {
    let level = std::env::var("LEVEL").ok().and_then(|l| l.parse().ok());
    let target: u64 = std::env::var("BLOCK_MB")
        .ok()
        .and_then(|l| l.parse::<u64>().ok())
        .map_or(TARGET_BLOCK_RAW_BYTES, |mb| mb << 20);
    println!(
        "{:38} {:>10} {:>9} {:>9} {:>9} {:>6} {:>6}  {:>8} {:>8} {:>8} {:>8} {:>5} | {:>5} {:>6} {:>6}",
        "file",
        "raw",
        "zstd-3",
        "zstd-19",
        "ours",
        "/z3",
        "/z19",
        "structure",
        "columns",
        "filter",
        "direct.",
        "blk",
        "enc",
        "dec",
        "msg"
    );
    let mut ratios = Vec::new();
    for path in std::env::args().skip(1) {
        let raw = std::fs::read(&path).unwrap();
        let entries = entries_of(&raw, path.ends_with("json"));
        let z3 = zstd::bulk::compress(&raw, 3).unwrap().len();
        let z19 =
            if std::env::var_os("Z19").is_some() { zstd::bulk::compress(&raw, 19).unwrap().len() } else { 0 };
        let report = measure(&entries, level, target);
        let s = &report.sizes;
        let ours = report.chunks.bytes.len() as u64 + report.chunk_count * FRAME_BYTES;
        let name = path.rsplit('/').next().unwrap();
        let speed = |bytes: u64, t: Duration| bytes as f64 / 1e6 / t.as_secs_f64();
        println!(
            "{name:38} {:10} {z3:9} {z19:9} {ours:9} {:6.3} {:6.3}  {:8} {:8} {:8} {:8} {:5} | {:5.0} {:6.0} {:6.0}",
            raw.len(),
            ours as f64 / z3 as f64,
            ours as f64 / z19.max(1) as f64,
            s[0],
            s[1],
            s[2],
            s[3],
            report.blocks.len(),
            speed(raw.len() as u64, report.encode),
            speed(raw.len() as u64, report.decode),
            speed(report.message_bytes, report.decode_message),
        );
        ratios.push(ours as f64 / z3 as f64);
        if std::env::var_os("COLUMNS").is_some() {
            let mut columns: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
            for f in report.blocks.iter().flat_map(|b| &b.fields) {
                let c = columns.entry(&f.name).or_default();
                c.0 += f.stored_bytes;
                c.1 += f.rows as u64;
            }
            let mut columns: Vec<_> = columns.into_iter().collect();
            columns.sort_by_key(|c| std::cmp::Reverse(c.1));
            columns.truncate(40);
            for (name, (bytes, rows)) in columns {
                println!(
                    "    {name:50} {bytes:9} bytes {rows:8} values {:7.2} bits each",
                    bytes as f64 * 8.0 / rows as f64
                );
            }
        }
    }
    println!("mean ratio to zstd -3: {:.3}", ratios.iter().sum::<f64>() / ratios.len() as f64);
}

struct Report {
    chunks: Arc<Chunks>,
    chunk_count: u64,
    blocks: Vec<EncodedBlock>,
    sizes: [u64; 4],
    encode: Duration,
    decode: Duration,
    decode_message: Duration,
    message_bytes: u64,
}

fn measure(entries: &[Vec<u8>], level: Option<i32>, target: u64) -> Report {
    let mut rows: Vec<Row<'_>> = entries
        .iter()
        .enumerate()
        .map(|(i, e)| Row { entry: EntryRef::decode(e).unwrap(), writer: 1, seq: i as u64 })
        .collect();
    rows.sort_by_key(|r| (r.entry.time, r.writer, r.seq));
    let mut cuts = vec![0];
    let mut bytes = 0;
    for (i, row) in rows.iter().enumerate() {
        if bytes >= target || i - cuts.last().unwrap() >= MAX_BLOCK_ROWS {
            cuts.push(i);
            bytes = 0;
        }
        bytes += u64::from(row.entry.raw_len);
    }
    cuts.push(rows.len());
    let options = EncodeOptions::default();
    let options = EncodeOptions {
        zstd_level: level.unwrap_or(options.zstd_level),
        saves_time: level.is_none(),
        ..options
    };
    let mut encoder = BlockEncoder::new(options).unwrap();
    let mut chunks = Chunks::default();
    let start = cpu_time();
    let blocks: Vec<EncodedBlock> =
        cuts.windows(2).map(|w| encoder.encode(&rows[w[0]..w[1]], &mut chunks).unwrap()).collect();
    let encode = cpu_time() - start;
    let chunks = Arc::new(chunks);
    let (mut decode, mut decode_message, mut message_bytes) = (Duration::ZERO, Duration::ZERO, 0);
    for (w, block) in cuts.windows(2).zip(&blocks) {
        let rows = &rows[w[0]..w[1]];
        let open = || TableBlock::open(chunks.clone(), block.directory, &[]).unwrap();
        let start = cpu_time();
        let table = open();
        table.times().unwrap();
        let columns: Vec<_> = table
            .field_names()
            .unwrap()
            .iter()
            .map(|n| (n.clone(), table.column(n).unwrap().unwrap()))
            .collect();
        decode += cpu_time() - start;
        let fresh = open();
        let start = cpu_time();
        let message = fresh.column("_msg").unwrap();
        decode_message += cpu_time() - start;
        if let Some(message) = message
            && let ColumnData::Text { text, .. } = &message.data
        {
            message_bytes += text.len() as u64;
        }
        check(rows, &table, &columns.into_iter().collect());
    }
    let mut sizes = [0; 4];
    for b in &blocks {
        sizes[0] += b.sizes.structure_bytes;
        sizes[1] += b.sizes.column_bytes;
        sizes[2] += b.sizes.filter_bytes;
        sizes[3] += b.sizes.directory_bytes;
    }
    let chunk_count = blocks.iter().map(|b| b.chunks as u64).sum();
    Report { chunks, chunk_count, blocks, sizes, encode, decode, decode_message, message_bytes }
}

fn check(rows: &[Row<'_>], table: &TableBlock, columns: &BTreeMap<String, Arc<duramen::column::Column>>) {
    let mut digits = IntText::default();
    let times = table.times().unwrap();
    for (i, row) in rows.iter().enumerate() {
        assert_eq!(times[i], row.entry.time);
        assert_eq!(table.identity(i).unwrap(), (row.writer, row.seq));
        let fields: BTreeMap<&str, Value<'_>> = row.entry.fields().collect();
        for (name, value) in &fields {
            let text = columns[*name].text(i, &mut digits).unwrap();
            let same = match value {
                Value::Str(s) | Value::Number(s) | Value::Json(s) => text == *s,
                Value::Int(n) => text == n.to_string(),
                Value::Bool(b) => text == b.to_string(),
                Value::Null => text.is_empty(),
                Value::Float(x) => text == x.to_string(),
            };
            assert!(same, "{name}: {value:?} came back as {text:?}");
        }
        if !row.entry.message.is_empty() {
            assert_eq!(columns["_msg"].text(i, &mut digits).unwrap(), row.entry.message);
        }
    }
}

fn entries_of(raw: &[u8], json: bool) -> Vec<Vec<u8>> {
    let mut buf = EntryBuf::new([""; 0]);
    let mut out = Vec::new();
    let mut last_time = 0;
    for (i, line) in raw.split(|&b| b == b'\n').enumerate() {
        if line.is_empty() {
            continue;
        }
        buf.start(i as i64 * 1_000_000).raw_len(line.len() + 1);
        let text = String::from_utf8_lossy(line);
        if json {
            let value: Json = serde_json::from_str(&text).unwrap();
            let mut time = None;
            let mut message = None;
            flatten("", &value, &mut |name, value| {
                if time.is_none() && name.to_lowercase().contains("time")
                    || name == "ts"
                    || name.starts_with("ts_")
                {
                    time = time.or_else(|| time_of(value));
                }
                if message.is_none() && ["msg", "message", "Message", "Log.log", "log"].contains(&name) {
                    message = value.as_str().map(str::to_owned);
                }
            });
            last_time = time.unwrap_or(last_time + 1_000_000);
            buf.time(last_time);
            if let Some(m) = &message {
                buf.message(m);
            }
            flatten("", &value, &mut |name, value| {
                match value {
                    Json::String(s) if message.as_ref() == Some(s) => buf.field_same_as_message(name),
                    Json::String(s) => buf.field(name, s.as_str()),
                    Json::Number(n) => buf.field(name, Value::Number(&n.to_string())),
                    Json::Bool(b) => buf.field(name, *b),
                    Json::Null => buf.field(name, Value::Null),
                    other => buf.field(name, Value::Json(&other.to_string())),
                };
            });
        } else {
            buf.message(&text);
            if std::env::var_os("FIELDS").is_some() {
                access_log_fields(&text, &mut buf);
            }
        }
        out.push(buf.finish().unwrap().to_vec());
    }
    out
}

/// The fields of a line in the combined access log format, and its time.
fn access_log_fields(line: &str, buf: &mut EntryBuf) {
    let quoted: Vec<&str> = line.split('"').collect();
    let head: Vec<&str> = line.split(' ').collect();
    let (Some(request), Some(after), Some(stamp)) = (quoted.get(1), quoted.get(2), head.get(3)) else {
        return;
    };
    let mut request = request.splitn(3, ' ');
    buf.field("ip", head[0]);
    for name in ["method", "path", "protocol"] {
        if let Some(text) = request.next() {
            buf.field(name, text);
        }
    }
    for (name, text) in ["status", "bytes"].iter().zip(after.split_whitespace()) {
        buf.field(name, Value::Number(text));
    }
    if let (Some(referrer), Some(agent)) = (quoted.get(3), quoted.get(5)) {
        buf.field("referrer", *referrer).field("agent", *agent);
    }
    let clock: Vec<i64> = stamp.split(':').skip(1).filter_map(|n| n.parse().ok()).collect();
    if let [h, m, s] = *clock {
        buf.time(((h * 60 + m) * 60 + s) * 1_000_000_000);
    }
}

fn flatten(prefix: &str, value: &Json, each: &mut impl FnMut(&str, &Json)) {
    match value {
        Json::Object(map) if !map.is_empty() || prefix.is_empty() => {
            for (key, value) in map {
                let name = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
                flatten(&name, value, each);
            }
        }
        other => each(prefix, other),
    }
}

/// Nanoseconds of an ISO 8601 text, or of a number of seconds or milliseconds.
fn time_of(value: &Json) -> Option<i64> {
    if let Some(x) = value.as_f64() {
        return match x {
            1e9..1e10 => Some((x * 1e6).round() as i64 * 1000),
            1e12..1e13 => Some(x as i64 * 1_000_000),
            _ => None,
        };
    }
    let b = value.as_str()?.as_bytes();
    let n = |range: std::ops::Range<usize>| -> Option<i64> {
        std::str::from_utf8(b.get(range)?).ok()?.parse().ok()
    };
    if b.get(4) != Some(&b'-') || b.get(13) != Some(&b':') {
        return None;
    }
    let (y, m, d) = (n(0..4)?, n(5..7)?, n(8..10)?);
    let y2 = y - i64::from(m <= 2);
    let doy = (153 * (m + if m > 2 { -3 } else { 9 }) + 2) / 5 + d - 1;
    let days = y2.div_euclid(400) * 146_097 + y2.rem_euclid(400) * 365 + y2.rem_euclid(400) / 4
        - y2.rem_euclid(400) / 100
        + doy
        - 719_468;
    let mut ns = (days * 86_400 + n(11..13)? * 3600 + n(14..16)? * 60 + n(17..19)?) * 1_000_000_000;
    if b.get(19) == Some(&b'.') {
        let mut unit = 100_000_000;
        for c in b[20..].iter().take_while(|c| c.is_ascii_digit()) {
            ns += i64::from(c - b'0') * unit;
            unit /= 10;
        }
    }
    Some(ns)
}
