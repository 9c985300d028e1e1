//! The direct logger: no server, one thread, a call a line.

use crate::Result;
use crate::lines::Corpus;
use crate::server::cpu_s;
use duramen::{Level, Logger, Store, Value};
use std::path::Path;
use std::time::Instant;

/// Lines a second until the last call returned, and lines per CPU second until all was in tables and the store closed.
pub(crate) fn run(dir: &Path, corpus: &Corpus) -> Result<(f64, f64)> {
    let dir = dir.join("direct");
    if dir.exists() {
        std::fs::remove_dir_all(&dir)?;
    }
    let logger = Logger::builder(&dir).stream_fields(["app"]).sync_levels(&[]).open()?;
    let cpu_before_s = cpu_s("self")?;
    let started = Instant::now();
    for line in &corpus.lines {
        let fields: [(&str, Value<'_>); 6] = [
            ("app", Value::Str(line.app)),
            ("request_id", Value::Str(&line.request_id)),
            ("path", Value::Str(&line.path)),
            ("status", Value::Int(line.status)),
            ("duration", Value::Float(line.duration)),
            ("seq", Value::Int(line.seq)),
        ];
        let level = if line.error { Level::Error } else { Level::Info };
        logger.log(level, &line.message, &fields)?;
    }
    let wall_s = started.elapsed().as_secs_f64();
    logger.close()?;
    let used_s = cpu_s("self")? - cpu_before_s;
    let lines = corpus.lines.len();
    let found = Store::open_read_only(&dir)?.snapshot()?.rows();
    if found != lines as u64 {
        return Err(format!("the direct logger: {lines} lines acknowledged, {found} there").into());
    }
    std::fs::remove_dir_all(&dir)?;
    Ok((lines as f64 / wall_s, lines as f64 / used_s.max(0.01)))
}
