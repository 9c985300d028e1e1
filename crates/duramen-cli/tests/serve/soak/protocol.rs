//! A body of each protocol, and what acknowledges it.

use super::ledger::Line;
use serde_json::{Value, json};
use std::time::{SystemTime, UNIX_EPOCH};

/// A way of sending lines.
pub(super) struct Protocol {
    pub(super) path: &'static str,
    body: fn(&[Line]) -> String,
    /// The answer when every line of the request was taken.
    all_taken: fn(&str) -> bool,
}

pub(super) const PROTOCOLS: [Protocol; 5] = [
    Protocol {
        path: "/api/v1/ingest",
        body: |lines| ndjson(lines.iter().map(row)),
        all_taken: |told| told.contains("accepted") && !told.contains("rejected"),
    },
    Protocol {
        path: "/insert/jsonline",
        body: |lines| ndjson(lines.iter().map(row)),
        all_taken: str::is_empty,
    },
    Protocol { path: "/loki/api/v1/push", body: loki, all_taken: str::is_empty },
    Protocol {
        path: "/_bulk",
        body: |lines| {
            ndjson(lines.iter().flat_map(|line| [json!({ "create": { "_index": "soak" } }), row(line)]))
        },
        all_taken: |told| told.contains("\"errors\":false"),
    },
    Protocol { path: "/v1/logs", body: otlp, all_taken: |told| told == "{}" },
];

impl Protocol {
    /// Sends lines; whether they are acknowledged. They are not when the server was killed, or has too much to do.
    pub(super) fn send(&self, agent: &ureq::Agent, url: &str, lines: &[Line]) -> bool {
        let request = agent.post(url).header("content-type", "application/json");
        let Ok(mut answer) = request.send((self.body)(lines)) else { return false };
        let status = answer.status();
        let Ok(told) = answer.body_mut().read_to_string() else { return false };
        if matches!(status.as_u16(), 429 | 503) {
            return false;
        }
        assert!(status.is_success() && (self.all_taken)(&told), "{url}: {status} {told}");
        true
    }
}

fn message(line: &Line) -> String {
    format!("request {} took {} ms", line.n, line.n % 1000)
}

fn row(line: &Line) -> Value {
    json!({ "_msg": message(line), "level": "info", "app": "soak", "n": line.n, "round": line.round })
}

fn ndjson(rows: impl Iterator<Item = Value>) -> String {
    rows.map(|row| format!("{row}\n")).collect()
}

fn now_ns() -> String {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos().to_string()
}

fn loki(lines: &[Line]) -> String {
    let value = |line: &Line| {
        let more = json!({ "n": line.n.to_string(), "round": line.round.to_string() });
        json!([now_ns(), message(line), more])
    };
    let values: Vec<_> = lines.iter().map(value).collect();
    json!({ "streams": [{ "stream": { "app": "soak" }, "values": values }] }).to_string()
}

fn otlp(lines: &[Line]) -> String {
    let record = |line: &Line| {
        let of = |name: &str, n: u64| json!({ "key": name, "value": { "intValue": n.to_string() } });
        json!({
            "timeUnixNano": now_ns(),
            "severityNumber": 9,
            "body": { "stringValue": message(line) },
            "attributes": [of("n", line.n), of("round", line.round)],
        })
    };
    let records: Vec<_> = lines.iter().map(record).collect();
    json!({ "resourceLogs": [{ "scopeLogs": [{ "logRecords": records }] }] }).to_string()
}
