//! Ingests one log into a new store, and queries it, each with a process of its own.

use crate::Result;
use crate::child::{self, Usage};
use crate::input::{Input, Size};
use crate::probe;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// A word that no log has.
const NOWHERE: &str = "zqxjkvwnowhere";

/// How to measure.
#[derive(Clone, Debug)]
pub(crate) struct Bench {
    pub(crate) duramen: PathBuf,
    pub(crate) repeat: u32,
    pub(crate) ingest_args: Vec<String>,
}

/// What was found for one log.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    pub(crate) name: String,
    pub(crate) size: Size,
    pub(crate) ingest: Usage,
    pub(crate) stored_bytes: u64,
    /// As counted by a query. Joined lines make it smaller than the number of lines.
    pub(crate) entries: u64,
    pub(crate) queries: Vec<Timed>,
}

/// A query's times.
#[derive(Clone, Debug)]
pub(crate) struct Timed {
    pub(crate) title: &'static str,
    pub(crate) query: String,
    pub(crate) cold: Duration,
    pub(crate) warm: Duration,
    pub(crate) peak_rss_bytes: u64,
}

impl Bench {
    /// Measures everything about one log, using an empty directory.
    pub(crate) fn run(&self, input: &Input, work: &Path) -> Result<Measured> {
        let log = work.join(input.name());
        let size = input.unpack(&log)?;
        let store = work.join("store");
        let ingest = child::run(
            Command::new(&self.duramen)
                .args(["ingest", "--store"])
                .arg(&store)
                .args(&self.ingest_args)
                .arg(&log)
                .stdin(Stdio::null())
                .stdout(Stdio::null()),
        )?;
        let stored_bytes = shared::disk::file_bytes(&store)?;
        let rare = probe::rare_word(&log, size)?;
        std::fs::remove_file(&log)?;

        let count = self.answer(&store, "* | stats count() entries", 1)?;
        let entries = first_number(&count).ok_or_else(|| format!("no count in {count:?}"))?;
        let newest = self.answer(&store, "*", 1)?;

        let mut asked = vec![("count all", "* | stats count() entries".to_owned(), None)];
        if let Some((word, _)) = rare {
            asked.push(("rare word", word, None));
        }
        asked.push(("word that is nowhere", NOWHERE.to_owned(), None));
        asked.push(("newest 100", "*".to_owned(), Some(100)));
        asked.push(("by level", "* | stats by (level) count() entries".to_owned(), None));
        if let Some(filter) = probe::field_filter(&newest) {
            asked.push(("field", format!("{filter} | stats count() entries"), None));
        }
        let mut queries = Vec::new();
        for (title, query, limit) in asked {
            queries.push(self.time(&store, title, query, limit)?);
        }
        Ok(Measured { name: input.name(), size, ingest, stored_bytes, entries, queries })
    }

    fn query(&self, store: &Path, query: &str, limit: Option<u32>) -> Command {
        let mut command = Command::new(&self.duramen);
        command.args(["query", "--store"]).arg(store).args(["--output", "ndjson"]);
        if let Some(limit) = limit {
            command.args(["--limit", &limit.to_string()]);
        }
        command.arg(query).stdin(Stdio::null()).stdout(Stdio::null());
        command
    }

    /// The first lines of a query's answer.
    fn answer(&self, store: &Path, query: &str, limit: u32) -> Result<String> {
        let output = self.query(store, query, Some(limit)).stdout(Stdio::piped()).output()?;
        if !output.status.success() {
            return Err(format!("{query}: {}", String::from_utf8_lossy(&output.stderr)).into());
        }
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    fn time(&self, store: &Path, title: &'static str, query: String, limit: Option<u32>) -> Result<Timed> {
        let mut cold = Vec::new();
        let mut warm = Vec::new();
        let mut peak_rss_bytes = 0;
        for _ in 0..self.repeat {
            shared::disk::drop_from_cache(store)?;
            let usage = child::run(&mut self.query(store, &query, limit))?;
            cold.push(usage.wall);
            peak_rss_bytes = usage.peak_rss_bytes.max(peak_rss_bytes);
        }
        child::run(&mut self.query(store, &query, limit))?;
        for _ in 0..self.repeat {
            let usage = child::run(&mut self.query(store, &query, limit))?;
            warm.push(usage.wall);
            peak_rss_bytes = usage.peak_rss_bytes.max(peak_rss_bytes);
        }
        Ok(Timed { title, query, cold: median(cold), warm: median(warm), peak_rss_bytes })
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// The first number in a JSON object, be it written as a number or as a string.
fn first_number(json: &str) -> Option<u64> {
    let object: serde_json::Value = serde_json::from_str(json.lines().next()?).ok()?;
    object.as_object()?.values().find_map(|v| v.as_u64().or_else(|| v.as_str()?.parse().ok()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_numbers() {
        let times = [5, 1, 3].map(Duration::from_secs);
        assert_eq!(median(times.to_vec()), Duration::from_secs(3));
        assert_eq!(first_number(r#"{"entries":"17"}"#), Some(17));
        assert_eq!(first_number(r#"{"entries":17}"#), Some(17));
        assert_eq!(first_number("{}"), None);
    }
}
