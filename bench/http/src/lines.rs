//! Makes the lines, and bodies of them, in each protocol.
//!
//! A line has the fields of study 001's, with their types, and some 230 bytes as JSON:
//!
//! ```text
//! {"_time":"…","_msg":"Completed 200 OK for /orders/4711 in 31.7 ms","level":"info","app":"shop",
//!  "request_id":"req-…","path":"/orders/4711","status":200,"duration":31.7,"seq":4711}
//! ```

use crate::plan::{BATCH, Protocol};
use bytes::Bytes;
use serde_json::{Value, json};

/// How many there are; a run that sends more begins anew. 100,000 of them have 23 MB: more than a processor's caches.
const LINES: usize = 100_000;
const APPS: [&str; 4] = ["shop", "checkout", "search", "mail"];

#[derive(Debug)]
pub(crate) struct Line {
    /// Nanoseconds since 1970.
    time_ns: i128,
    pub(crate) error: bool,
    pub(crate) message: String,
    pub(crate) app: &'static str,
    pub(crate) request_id: String,
    pub(crate) path: String,
    pub(crate) status: i64,
    pub(crate) duration: f64,
    pub(crate) seq: i64,
}

#[derive(Debug)]
pub(crate) struct Corpus {
    pub(crate) lines: Vec<Line>,
}

impl Corpus {
    /// Lines of the last 100 seconds, the same each time but for that.
    pub(crate) fn new() -> Self {
        let now_ns = jiff::Timestamp::now().as_nanosecond();
        let line = |i: usize| {
            let number = mixed(i as u64);
            let (path, duration) =
                (format!("/orders/{}", number % 90_000), (number >> 20 & 0xfff) as f64 / 10.0);
            let error = number >> 32 & 0x3f == 0;
            let (status, outcome) = if error { (500, "500 Internal Server Error") } else { (200, "200 OK") };
            Line {
                time_ns: now_ns - (LINES - i) as i128 * 1_000_000,
                error,
                message: format!("Completed {outcome} for {path} in {duration} ms"),
                app: APPS[(number >> 40) as usize % APPS.len()],
                request_id: format!("req-{:016x}", mixed(i as u64 / 4 + (1 << 40))),
                path,
                status,
                duration,
                seq: i as i64,
            }
        };
        Self { lines: (0..LINES).map(line).collect() }
    }

    /// All lines, in bodies of so many.
    pub(crate) fn bodies(&self, protocol: Protocol, lines_per_request: usize) -> Vec<Bytes> {
        // One line a request is dear anyway: a tenth of the lines will do.
        let lines = &self.lines[..if lines_per_request < BATCH { LINES / 10 } else { LINES }];
        lines.chunks(lines_per_request).map(|lines| protocol.body(lines).into()).collect()
    }
}

/// SplitMix64's output function: numbers that look random, the same for the same.
fn mixed(n: u64) -> u64 {
    let mut z = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

impl Protocol {
    fn body(self, lines: &[Line]) -> String {
        match self {
            Self::Native | Self::JsonLines => lines.iter().map(|line| line.json() + "\n").collect(),
            Self::Elasticsearch => lines
                .iter()
                .map(|line| format!("{{\"create\":{{\"_index\":\"logs\"}}}}\n{}\n", line.json()))
                .collect(),
            Self::Loki => loki(lines),
            Self::Otlp => otlp(lines),
        }
    }
}

impl Line {
    fn level(&self) -> &'static str {
        if self.error { "error" } else { "info" }
    }

    fn json(&self) -> String {
        let time = jiff::Timestamp::from_nanosecond(self.time_ns).map(|t| t.to_string()).unwrap_or_default();
        json!({
            "_time": time, "_msg": self.message, "level": self.level(), "app": self.app,
            "request_id": self.request_id, "path": self.path, "status": self.status, "duration": self.duration,
            "seq": self.seq,
        })
        .to_string()
    }
}

/// A stream for each application, as an agent sends them; what else a line has is structured metadata.
fn loki(lines: &[Line]) -> String {
    let value = |line: &Line| {
        let metadata = json!({
            "level": line.level(), "request_id": line.request_id, "path": line.path,
            "status": line.status.to_string(), "duration": line.duration.to_string(), "seq": line.seq.to_string(),
        });
        json!([line.time_ns.to_string(), line.message, metadata])
    };
    let stream = |app: &&str| {
        let values: Vec<Value> = lines.iter().filter(|line| line.app == *app).map(value).collect();
        (!values.is_empty()).then(|| json!({ "stream": { "app": app }, "values": values }))
    };
    json!({ "streams": APPS.iter().filter_map(stream).collect::<Vec<_>>() }).to_string()
}

fn otlp(lines: &[Line]) -> String {
    let text = |key: &str, value: &str| json!({ "key": key, "value": { "stringValue": value } });
    let int = |key: &str, value: i64| json!({ "key": key, "value": { "intValue": value.to_string() } });
    let record = |line: &Line| {
        json!({
            "timeUnixNano": line.time_ns.to_string(),
            "severityNumber": if line.error { 17 } else { 9 },
            "severityText": line.level(),
            "body": { "stringValue": line.message },
            "attributes": [
                text("request_id", &line.request_id), text("path", &line.path), int("status", line.status),
                json!({ "key": "duration", "value": { "doubleValue": line.duration } }), int("seq", line.seq),
            ],
        })
    };
    let resource = |app: &&str| {
        let records: Vec<Value> = lines.iter().filter(|line| line.app == *app).map(record).collect();
        (!records.is_empty()).then(|| {
            json!({ "resource": { "attributes": [text("service.name", app)] },
                    "scopeLogs": [{ "logRecords": records }] })
        })
    };
    json!({ "resourceLogs": APPS.iter().filter_map(resource).collect::<Vec<_>>() }).to_string()
}
