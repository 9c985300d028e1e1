//! The lines, as `duramen generate` makes them, and what is asked about them.

use crate::Result;
use crate::question::{Question, Span, What};
use crate::subject::Subject;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// A line. One with other fields is an error: a peer would have less to keep.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Line {
    #[serde(rename = "_time")]
    pub(crate) time: Timestamp,
    pub(crate) level: String,
    pub(crate) app: String,
    pub(crate) host: String,
    #[serde(rename = "_msg")]
    pub(crate) msg: String,
    pub(crate) status: Option<i64>,
    pub(crate) path: Option<String>,
    pub(crate) ip: Option<String>,
    pub(crate) user: Option<String>,
    pub(crate) request_id: Option<String>,
    pub(crate) trace_id: Option<String>,
    pub(crate) duration_ms: Option<f64>,
}

/// The lines of such a file, and the questions of the table.
pub(crate) fn subject(file: &Path) -> Result<Subject> {
    let facts = Facts::of(file)?;
    Ok(Subject {
        file: file.to_path_buf(),
        count: facts.count,
        insert: "_stream_fields=app,host",
        questions: facts.questions()?,
        is_foreign: false,
    })
}

/// What there is to ask about.
#[derive(Debug)]
struct Facts {
    count: u64,
    first: String,
    last: String,
    /// A trace's and a request's identity, from the middle of the file.
    trace_id: String,
    request_id: String,
}

impl Facts {
    fn of(path: &Path) -> Result<Self> {
        let mut facts = Self {
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
    fn questions(&self) -> Result<Vec<Question>> {
        let ask = Question::new;
        let newest_100 = |question| Question { limit: Some(100), ..question };
        let hour = &self.last[..13];
        let day = &self.first[..10];
        Ok(vec![
            ask("count all", What::CountAll, "* | stats count() n"),
            ask(
                "unique id in the text",
                What::Phrase("d1d5fa67-1b91-44e6-9547-fced39e30b0f"),
                "\"d1d5fa67-1b91-44e6-9547-fced39e30b0f\" | fields _time, _msg",
            ),
            ask(
                "phrase on 37 lines",
                What::Phrase("sextant mislaid near the observatory"),
                "\"sextant mislaid near the observatory\" | fields _time, _msg",
            ),
            ask("count of a common word", What::CountWord("completed"), "completed | stats count() n"),
            newest_100(ask(
                "level and app in the last hour, newest 100",
                What::ErrorsOfCheckout(Span::of_hours(hour, 1, &hour[11..])?),
                &format!(
                    "_time:[{hour}:00:00Z, {hour}:59:59Z] level:error app:checkout | fields _time, _msg"
                ),
            )),
            ask(
                "histogram per 30 minutes by level",
                What::Histogram,
                "* | stats by (_time:30m, level) count() n",
            ),
            ask(
                "top paths with status >= 500",
                What::TopPaths,
                "status:>=500 | stats by (path) count() n | sort by (n desc, path) | limit 10",
            ),
            Question {
                about: true,
                ..ask(
                    "p50, p99 of duration by app",
                    What::Quantiles,
                    "* | stats by (app) quantile(0.5, duration_ms) p50, quantile(0.99, duration_ms) p99",
                )
            },
            ask(
                "regexp in 6 hours",
                What::Regexp {
                    span: Span::of_hours(&format!("{day}T06"), 6, "(0[6-9]|1[01])")?,
                    regexp: "job .* finished: 1[0-9]+ rows",
                    glob: "*job * finished: 1[0-9]* rows*",
                },
                &format!(
                    "_time:[{day}T06:00:00Z, {day}T11:59:59Z] ~\"job .* finished: 1[0-9]+ rows\" | stats count() n"
                ),
            ),
            ask(
                "substring, case-insensitive",
                What::Substring("XAMPLESHO"),
                "~\"(?i)XAMPLESHO\" | stats count() n",
            ),
            ask(
                "a request id over everything",
                What::Field { name: "request_id", value: self.request_id.clone() },
                &format!("request_id:={} | fields _time, _msg", self.request_id),
            ),
            ask(
                "a trace id over everything",
                What::Field { name: "trace_id", value: self.trace_id.clone() },
                &format!("trace_id:={} | fields _time, _msg", self.trace_id),
            ),
            newest_100(ask("newest 100", What::Newest, "* | fields _time, _msg")),
            ask("a word that is nowhere", What::CountWord("xylophonist"), "xylophonist | stats count() n"),
            ask(
                "top paths of all",
                What::Sql(
                    "SELECT path, count(*) AS n FROM {logs} WHERE path IS NOT NULL GROUP BY path ORDER BY n DESC, path \
                     LIMIT 10",
                ),
                "path:* | stats by (path) count() n | sort by (n desc, path) | limit 10",
            ),
            Question {
                about: true,
                ..ask(
                    "mean and greatest duration by host",
                    What::Sql(
                        "SELECT host, count(*) AS n, avg(duration_ms) AS a, max(duration_ms) AS m FROM {logs} GROUP BY host",
                    ),
                    "* | stats by (host) count() n, avg(duration_ms) a, max(duration_ms) m",
                )
            },
            ask(
                "the ten slowest",
                What::Sql(
                    "SELECT duration_ms FROM {logs} WHERE duration_ms IS NOT NULL ORDER BY duration_ms DESC LIMIT 10",
                ),
                "* | sort by (duration_ms desc) | limit 10 | fields duration_ms",
            ),
            ask(
                "how many users",
                What::Sql("SELECT count(DISTINCT \"user\") AS n FROM {logs} WHERE \"user\" IS NOT NULL"),
                "user:* | uniq by (user) | stats count() n",
            ),
            ask(
                "lines of one app's streams",
                What::Sql("SELECT count(*) AS n FROM {logs} WHERE app = 'checkout'"),
                "{app=\"checkout\"} | stats count() n",
            ),
        ])
    }
}
