//! What is asked, chosen from the lines.

use crate::Result;
use serde_json::Value;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

/// What there is to ask about.
#[derive(Debug)]
pub(crate) struct Facts {
    pub(crate) file: PathBuf,
    pub(crate) count: u64,
    first: String,
    last: String,
    /// A trace's and a request's identity, from the middle of the file.
    trace_id: String,
    request_id: String,
}

/// A query, and how its answers are compared.
#[derive(Debug)]
pub(crate) struct Question {
    pub(crate) name: &'static str,
    pub(crate) query: String,
    pub(crate) limit: Option<u64>,
    /// Values of the answer that may differ a little: estimates of quantiles.
    pub(crate) about: bool,
}

impl Facts {
    pub(crate) fn of(path: &Path) -> Result<Self> {
        let mut facts = Self {
            file: path.to_path_buf(),
            count: 0,
            first: String::new(),
            last: String::new(),
            trace_id: String::new(),
            request_id: String::new(),
        };
        let half = std::fs::metadata(path)?.len() / 2;
        let mut read = 0;
        let mut line = String::new();
        let mut file = BufReader::with_capacity(1 << 20, File::open(path)?);
        while file.read_line(&mut line)? > 0 {
            read += line.len() as u64;
            facts.count += 1;
            let found = read > half && !facts.trace_id.is_empty();
            if facts.count == 1 || (read > half && !found) {
                let row: Value = serde_json::from_str(&line)?;
                let of = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
                if facts.count == 1 {
                    facts.first = of("_time");
                }
                if read > half && !of("request_id").is_empty() {
                    (facts.trace_id, facts.request_id) = (of("trace_id"), of("request_id"));
                }
            }
            std::mem::swap(&mut facts.last, &mut line);
            line.clear();
        }
        let last: Value = serde_json::from_str(&facts.last)?;
        facts.last = last["_time"].as_str().unwrap_or_default().to_owned();
        Ok(facts)
    }

    /// The queries of the table.
    pub(crate) fn questions(&self) -> Vec<Question> {
        let ask = |name, query: &str, limit| Question { name, query: query.to_owned(), limit, about: false };
        let hour = format!("_time:[{}:00:00Z, {}:59:59Z]", &self.last[..13], &self.last[..13]);
        let day = &self.first[..10];
        let six_hours = format!("_time:[{day}T06:00:00Z, {day}T11:59:59Z]");
        vec![
            ask("count all", "* | stats count() n", None),
            ask(
                "unique id in the text",
                "\"d1d5fa67-1b91-44e6-9547-fced39e30b0f\" | fields _time, _msg",
                None,
            ),
            ask("phrase on 37 lines", "\"sextant mislaid near the observatory\" | fields _time, _msg", None),
            ask("count of a common word", "completed | stats count() n", None),
            ask(
                "level and app in the last hour, newest 100",
                &format!("{hour} level:error app:checkout | fields _time, _msg"),
                Some(100),
            ),
            ask("histogram per 30 minutes by level", "* | stats by (_time:30m, level) count() n", None),
            ask(
                "top paths with status >= 500",
                "status:>=500 | stats by (path) count() n | sort by (n desc, path) | limit 10",
                None,
            ),
            Question {
                about: true,
                ..ask(
                    "p50, p99 of duration by app",
                    "* | stats by (app) quantile(0.5, duration_ms) p50, quantile(0.99, duration_ms) p99",
                    None,
                )
            },
            ask(
                "regexp in 6 hours",
                &format!("{six_hours} ~\"job .* finished: 1[0-9]+ rows\" | stats count() n"),
                None,
            ),
            ask("substring, case-insensitive", "~\"(?i)XAMPLESHO\" | stats count() n", None),
            ask(
                "a request id over everything",
                &format!("request_id:={} | fields _time, _msg", self.request_id),
                None,
            ),
            ask(
                "a trace id over everything",
                &format!("trace_id:={} | fields _time, _msg", self.trace_id),
                None,
            ),
            ask("newest 100", "* | fields _time, _msg", Some(100)),
            ask("a word that is nowhere", "xylophonist | stats count() n", None),
        ]
    }
}
