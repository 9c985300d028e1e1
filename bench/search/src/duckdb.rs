//! DuckDB over one Parquet file that it has made: a process of Python that answers queries on its standard input.

use crate::Result;
use crate::peer::{Load, Peer};
use crate::question::{Answer, Question, Span, What, rows_of};
use shared::process::{Memory, Process};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

const PROGRAM: &str = include_str!("duckdb.py");

/// DuckDB, and its file.
#[derive(Debug)]
pub(crate) struct DuckDb {
    python: PathBuf,
    file: PathBuf,
    session: Session,
}

#[derive(Debug)]
struct Session {
    child: Child,
    statements: ChildStdin,
    answers: BufReader<ChildStdout>,
    version: String,
}

impl Session {
    fn start(python: &Path) -> Result<Self> {
        let mut child = Command::new(python)
            .args(["-c", PROGRAM])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|e| format!("{}: {e}", python.display()))?;
        let statements = child.stdin.take().ok_or("no input")?;
        let answers = BufReader::new(child.stdout.take().ok_or("no output")?);
        let mut session = Self { child, statements, answers, version: String::new() };
        let mut version = String::new();
        session.answers.read_line(&mut version)?;
        session.version = serde_json::from_str(&version).map_err(|_| "this Python has no module `duckdb`")?;
        // Documented for files that do not change: what stands at the Parquet file's end is read once.
        session.run("SET parquet_metadata_cache = true")?;
        Ok(session)
    }

    /// NDJSON.
    fn run(&mut self, statement: &str) -> Result<String> {
        writeln!(self.statements, "{}", serde_json::to_string(statement)?)?;
        self.statements.flush()?;
        let mut answer = String::new();
        let mut from = 0;
        while self.answers.read_line(&mut answer)? > 0 && &answer[from..] != "\n" {
            from = answer.len();
        }
        if answer.starts_with("{\"error\"") || answer.is_empty() {
            return Err(format!("DuckDB, {statement}: {answer}").into());
        }
        answer.truncate(from);
        Ok(answer)
    }
}

impl DuckDb {
    pub(crate) fn start(python: &Path, dir: &Path) -> Result<Self> {
        std::fs::create_dir_all(dir)?;
        let session = Session::start(python)?;
        Ok(Self { python: python.to_path_buf(), file: dir.join("logs.parquet"), session })
    }

    fn sql(&self, what: &What) -> Option<String> {
        let logs = format!("'{}'", self.file.display());
        let within = |span: &Span| {
            format!("_time >= {} AND _time < {}", timestamp(span.from_ns), timestamp(span.to_ns))
        };
        // What is no word is not looked at twice.
        let words = |text: &str| format!("contains(_msg, '{text}') AND regexp_matches(_msg, '\\b{text}\\b')");
        let lines =
            |filter: &str| format!("SELECT epoch_ns(_time) AS _time, _msg FROM {logs} WHERE {filter}");
        let count = |filter: &str| format!("SELECT count(*) AS n FROM {logs} WHERE {filter}");
        let newest = |filter: &str| {
            format!(
                "SELECT epoch_ns(_time) AS _time, _msg FROM (SELECT _time, _msg FROM {logs} {filter} ORDER BY _time \
                 DESC LIMIT 100)"
            )
        };
        Some(match what {
            What::CountAll => count("true"),
            What::Phrase(text) => lines(&words(text)),
            What::CountWord(word) => count(&words(word)),
            What::ErrorsOfCheckout(span) => {
                newest(&format!("WHERE {} AND level = 'error' AND app = 'checkout'", within(span)))
            }
            What::Histogram => format!(
                "SELECT epoch_ns(_time) // 1800000000000 * 1800000000000 AS _time, level, count(*) AS n FROM {logs} \
                 GROUP BY ALL"
            ),
            What::TopPaths => format!(
                "SELECT path, count(*) AS n FROM {logs} WHERE status >= 500 GROUP BY path ORDER BY n DESC, path LIMIT 10"
            ),
            What::Quantiles => format!(
                "SELECT app, q[1] AS p50, q[2] AS p99 FROM (SELECT app, quantile_disc(duration_ms, [0.5, 0.99]) AS q \
                 FROM {logs} GROUP BY app)"
            ),
            What::Regexp { span, regexp, .. } => {
                count(&format!("{} AND regexp_matches(_msg, '{regexp}')", within(span)))
            }
            What::Substring(text) => count(&format!("contains(lower(_msg), '{}')", text.to_lowercase())),
            What::Field { name, value } => lines(&format!("{name} = '{value}'")),
            What::Newest => newest(""),
            What::Sql(statement) => statement.replace("{logs}", &logs),
            What::OnlyLogsQl => return None,
        })
    }
}

fn timestamp(ns: i128) -> String {
    format!("make_timestamp_ns({ns})")
}

impl Peer for DuckDb {
    fn name(&self) -> &'static str {
        "DuckDB"
    }

    fn about(&self) -> String {
        format!(
            "{}, in a process of its own, over one Parquet file, which it wrote itself: zstd, sorted by time, row groups \
             of its default size; metadata cached. What loading took is its reading of the file of JSON, no requests.",
            self.session.version
        )
    }

    fn load(&mut self, lines: &Path) -> Result<Option<Load>> {
        let process = Process::Id(self.session.child.id());
        let cpu_before_s = process.cpu_s()?;
        let started = Instant::now();
        self.session.run(&format!(
            "COPY (SELECT * FROM read_json('{}', format = 'newline_delimited', columns = {{_time: 'TIMESTAMP_NS', level: \
             'VARCHAR', app: 'VARCHAR', host: 'VARCHAR', _msg: 'VARCHAR', status: 'BIGINT', path: 'VARCHAR', ip: \
             'VARCHAR', \"user\": 'VARCHAR', request_id: 'VARCHAR', trace_id: 'VARCHAR', duration_ms: 'DOUBLE'}}) ORDER BY \
             _time) TO '{}' (FORMAT parquet, COMPRESSION zstd)",
            lines.display(),
            self.file.display()
        ))?;
        let wall_s = started.elapsed().as_secs_f64();
        let Memory { peak_bytes, resident_bytes, anonymous_bytes } = process.memory()?;
        Ok(Some(Load {
            wall_s,
            raw_bytes: std::fs::metadata(lines)?.len(),
            cpu_s: process.cpu_s()? - cpu_before_s,
            peak_bytes,
            resident_bytes: Some(resident_bytes),
            anonymous_bytes: Some(anonymous_bytes),
            disk_bytes: shared::disk::file_bytes(&self.file)?,
            stopped_bytes: None,
        }))
    }

    fn ask(&mut self, question: &Question) -> Result<Option<Answer>> {
        let Some(statement) = self.sql(&question.what) else { return Ok(None) };
        let started = Instant::now();
        let text = self.session.run(&statement)?;
        let took = started.elapsed();
        Ok(Some(Answer::new(took, rows_of(&text)?)))
    }

    fn start_cold(&mut self) -> Result<()> {
        self.session.child.kill()?;
        self.session.child.wait()?;
        shared::disk::drop_from_cache(&self.file)?;
        self.session = Session::start(&self.python)?;
        Ok(())
    }
}

impl Drop for DuckDb {
    fn drop(&mut self) {
        let _ended = self.session.child.kill();
        let _reaped = self.session.child.wait();
    }
}
