//! How fast bodies are read: `cargo run --release -p duramen-wire --example wire_speed [FILE.ndjson…]`
//!
//! Without files, 20,000 lines are made up, and sent in the shape of each protocol.

use duramen_wire::{Decoded, Params, elastic::Bulk, jsonline::JsonLines, loki::Push, otlp::Logs};

#[allow(clippy::disallowed_methods)] // A benchmark measures with the real clock.
fn now() -> std::time::Instant {
    std::time::Instant::now()
}

const NOW: i64 = 1_735_000_000_000_000_000;

type Failure = Box<dyn std::error::Error>;

fn measure(
    name: &str,
    body: &[u8],
    mut read: impl FnMut(&[u8], &mut Decoded) -> duramen_wire::Result<()>,
) -> Result<(), Failure> {
    let mut out = Decoded::new(duramen_wire::Limits { max_entries_bytes: 4 << 30, ..Default::default() });
    let mut best = f64::MAX;
    for _ in 0..7 {
        out.clear();
        let started = now();
        read(body, &mut out)?;
        best = best.min(started.elapsed().as_secs_f64());
    }
    let rows = out.accepted() as f64;
    println!(
        "{name:<45} {:>9} rows {:>7.1} MB/s {:>7.0} ns/row, entries {:.2} of the body",
        out.accepted(),
        body.len() as f64 / best / 1e6,
        best * 1e9 / rows,
        out.entries_bytes() as f64 / body.len() as f64,
    );
    Ok(())
}

fn main() -> Result<(), Failure> {
    let params = Params::default();
    for path in std::env::args().skip(1) {
        let body = std::fs::read(&path)?;
        let mut lines = JsonLines::new(&params, NOW);
        measure(&path, &body, |body, out| lines.lines(body, NOW, out))?;
    }
    let (mut json, mut bulk, mut loki, mut otlp) =
        (String::new(), String::new(), String::new(), String::new());
    for i in 0..20_000u64 {
        let (time, ns) = (i % 60, 1_719_446_400_000_000_000 + i * 1_000_000);
        let line = format!("GET /cart/{i} took {} ms, status 200, user u{}", i * 7 % 900, i * 31 % 1000);
        json += &format!(
            r#"{{"_time":"2024-06-27T00:00:{time:02}.123Z","_msg":"{line}","level":"info","app":"shop","host":"web-{}","status":200,"took_ms":{}}}"#,
            i % 4,
            i * 7 % 900
        );
        json.push('\n');
        bulk += &format!(
            "{{\"create\":{{}}}}\n{{\"@timestamp\":\"2024-06-27T00:00:{time:02}.123Z\",\"message\":\"{line}\",\"log.level\":\"info\",\"status\":200}}\n"
        );
        loki += &format!(r#"{}["{ns}","{line}",{{"trace_id":"{i:032x}"}}]"#, if i == 0 { "" } else { "," });
        otlp += &format!(
            r#"{}{{"timeUnixNano":"{ns}","severityNumber":9,"body":{{"stringValue":"{line}"}},"attributes":[{{"key":"status","value":{{"intValue":200}}}}],"traceId":"{i:032x}"}}"#,
            if i == 0 { "" } else { "," }
        );
    }
    let loki = format!(r#"{{"streams":[{{"stream":{{"app":"shop","host":"web-1"}},"values":[{loki}]}}]}}"#);
    let otlp = format!(
        r#"{{"resourceLogs":[{{"resource":{{"attributes":[{{"key":"service.name","value":{{"stringValue":"shop"}}}}]}},"scopeLogs":[{{"logRecords":[{otlp}]}}]}}]}}"#
    );
    let mut lines = JsonLines::new(&params, NOW);
    measure("JSON lines", json.as_bytes(), |body, out| lines.lines(body, NOW, out))?;
    measure("JSON lines, a decoder for each 100", json.as_bytes(), |body, out| {
        let mut at = 0;
        while at < body.len() {
            let end = memchr::memchr_iter(b'\n', &body[at..]).nth(99).map_or(body.len(), |end| at + end + 1);
            JsonLines::new(&params, NOW).document(&body[at..end], NOW, out)?;
            at = end;
        }
        Ok(())
    })?;
    let array = format!("[{}]", json.trim_end().replace('\n', ","));
    measure("JSON array", array.as_bytes(), |body, out| lines.document(body, NOW, out))?;
    let mut items = Bulk::new(&params, NOW);
    measure("Elasticsearch bulk", bulk.as_bytes(), |body, out| items.read(body, None, NOW, out))?;
    let mut push = Push::new(&params);
    measure("Loki JSON", loki.as_bytes(), |body, out| push.json(body, NOW, out))?;
    let mut logs = Logs::new(&params);
    measure("OTLP JSON", otlp.as_bytes(), |body, out| logs.json(body, NOW, out))
}
