//! SQLite in this process: a table, an index for each query that one can help, and FTS5 over the text.

use crate::Result;
use crate::lines::Line;
use crate::peer::{Load, Peer};
use crate::question::{Answer, Question, Row, Span, What, row_of};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, params};
use shared::process::Process;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// SQLite, and its file.
#[derive(Debug)]
pub(crate) struct Sqlite {
    dir: PathBuf,
    connection: Connection,
}

/// All in one transaction; indexes when all rows are there, and FTS5 over the table's own text, as one segment.
const TABLE: &str = "
    CREATE TABLE logs (id INTEGER PRIMARY KEY, time INTEGER, level TEXT, app TEXT, host TEXT, _msg TEXT, status INTEGER,
        path TEXT, ip TEXT, user TEXT, request_id TEXT, trace_id TEXT, duration_ms REAL);
    CREATE VIRTUAL TABLE words USING fts5(_msg, content='logs', content_rowid='id', columnsize=0,
        tokenize=\"unicode61 remove_diacritics 0 tokenchars '_'\");";

const INDEXES: &str = "
    CREATE INDEX logs_time ON logs (time, level);
    CREATE INDEX logs_app ON logs (app, level, time);
    CREATE INDEX logs_status ON logs (status, path) WHERE status IS NOT NULL;
    CREATE INDEX logs_duration ON logs (app, duration_ms);
    CREATE INDEX logs_host ON logs (host, duration_ms);
    CREATE INDEX logs_slow ON logs (duration_ms) WHERE duration_ms IS NOT NULL;
    CREATE INDEX logs_path ON logs (path) WHERE path IS NOT NULL;
    CREATE INDEX logs_user ON logs (user) WHERE user IS NOT NULL;
    CREATE INDEX logs_request ON logs (request_id) WHERE request_id IS NOT NULL;
    CREATE INDEX logs_trace ON logs (trace_id) WHERE trace_id IS NOT NULL;
    INSERT INTO words (words) VALUES ('rebuild');
    INSERT INTO words (words) VALUES ('optimize');
    ANALYZE;
    COMMIT;
    PRAGMA wal_checkpoint(TRUNCATE);";

impl Sqlite {
    pub(crate) fn open(dir: &Path) -> Result<Self> {
        std::fs::create_dir_all(dir)?;
        Ok(Self { connection: connect(dir)?, dir: dir.to_path_buf() })
    }

    fn insert(&self, lines: &Path) -> Result<()> {
        self.connection.execute_batch("BEGIN")?;
        self.connection.execute_batch(TABLE)?;
        let mut insert = self.connection.prepare(
            "INSERT INTO logs (time, level, app, host, _msg, status, path, ip, user, request_id, trace_id, duration_ms) \
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        )?;
        let mut file = BufReader::with_capacity(1 << 20, File::open(lines)?);
        let mut text = String::new();
        while file.read_line(&mut text)? > 0 {
            let line: Line = serde_json::from_str(&text)?;
            insert.execute(params![
                i64::try_from(line.time.as_nanosecond())?,
                line.level,
                line.app,
                line.host,
                line.msg,
                line.status,
                line.path,
                line.ip,
                line.user,
                line.request_id,
                line.trace_id,
                line.duration_ms
            ])?;
            text.clear();
        }
        Ok(self.connection.execute_batch(INDEXES)?)
    }

    fn rows(&self, sql: &str) -> Result<Vec<Row>> {
        let mut statement = self.connection.prepare_cached(sql)?;
        let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
        let mut found = statement.query([])?;
        let mut rows = Vec::new();
        while let Some(row) = found.next()? {
            let value = |(i, name): (usize, &String)| -> Result<(String, String)> {
                let text = match row.get_ref(i)? {
                    ValueRef::Null | ValueRef::Blob(_) => String::new(),
                    ValueRef::Integer(number) => number.to_string(),
                    ValueRef::Real(number) => number.to_string(),
                    ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned(),
                };
                Ok((name.clone(), text))
            };
            let values: Result<Vec<_>> = names.iter().enumerate().map(value).collect();
            rows.push(row_of(values?.into_iter())?);
        }
        Ok(rows)
    }

    /// SQLite has no quantiles: the rows at these ranks, of an index, with a statement for each.
    fn quantiles(&self) -> Result<Vec<Row>> {
        let mut apps =
            self.connection.prepare_cached("SELECT app, count(duration_ms) FROM logs GROUP BY app")?;
        let mut at_rank = self.connection.prepare_cached(
            "SELECT duration_ms FROM logs WHERE app = ? AND duration_ms IS NOT NULL ORDER BY duration_ms LIMIT 1 OFFSET ?",
        )?;
        let apps = apps.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, f64>(1)?)))?;
        let mut rows = Vec::new();
        for app in apps {
            let (app, count) = app?;
            let mut row = Row::from([("app".to_owned(), app.clone())]);
            for (name, quantile) in [("p50", 0.5), ("p99", 0.99)].into_iter().filter(|_| count > 0.0) {
                let before = (quantile * count).ceil() - 1.0;
                let found: f64 = at_rank.query_row(params![app, before as i64], |row| row.get(0))?;
                row.insert(name.to_owned(), found.to_string());
            }
            rows.push(row);
        }
        Ok(rows)
    }
}

fn connect(dir: &Path) -> Result<Connection> {
    let connection = Connection::open(dir.join("logs.sqlite"))?;
    connection.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -262144; PRAGMA mmap_size = \
         68719476736; PRAGMA temp_store = MEMORY; PRAGMA threads = 8;",
    )?;
    Ok(connection)
}

fn sql(what: &What) -> Option<String> {
    let within = |span: &Span| format!("time >= {} AND time < {}", span.from_ns, span.to_ns);
    let lines = "SELECT time AS _time, _msg FROM logs";
    Some(match what {
        What::CountAll => "SELECT count(*) AS n FROM logs".to_owned(),
        What::Phrase(text) => {
            format!("{lines} WHERE id IN (SELECT rowid FROM words WHERE words MATCH '\"{text}\"')")
        }
        What::CountWord(word) => format!("SELECT count(*) AS n FROM words WHERE words MATCH '\"{word}\"'"),
        What::ErrorsOfCheckout(span) => format!(
            "{lines} WHERE {} AND level = 'error' AND app = 'checkout' ORDER BY time DESC LIMIT 100",
            within(span)
        ),
        What::Histogram => {
            "SELECT time / 1800000000000 * 1800000000000 AS _time, level, count(*) AS n FROM logs GROUP \
                            BY time / 1800000000000, level"
                .to_owned()
        }
        What::TopPaths => {
            "SELECT path, count(*) AS n FROM logs WHERE status >= 500 GROUP BY path ORDER BY n DESC, path \
                           LIMIT 10"
                .to_owned()
        }
        What::Regexp { span, glob, .. } => {
            format!("SELECT count(*) AS n FROM logs WHERE {} AND _msg GLOB '{glob}'", within(span))
        }
        What::Substring(text) => format!("SELECT count(*) AS n FROM logs WHERE _msg LIKE '%{text}%'"),
        What::Field { name, value } => format!("{lines} WHERE {name} = '{value}'"),
        What::Sql(statement) => statement.replace("{logs}", "logs"),
        What::Newest => format!("{lines} ORDER BY time DESC LIMIT 100"),
        What::Quantiles | What::OnlyLogsQl => return None,
    })
}

impl Peer for Sqlite {
    fn name(&self) -> &'static str {
        "SQLite"
    }

    fn about(&self) -> String {
        format!(
            "{}, in this process: its peak is this program's, its CPU seconds hold reading the JSON. One transaction, \
             journal WAL, synchronous NORMAL, a cache of 256 MiB, mapped, the sorter's threads on; an index for each query \
             that one helps, made when all rows are there; FTS5 over `_msg` with external content, `unicode61`, rebuilt and \
             optimized; ANALYZE. Regular expressions are a GLOB that says almost the same, substrings a LIKE; quantiles are \
             a count by app, and a statement for each rank.",
            rusqlite::version()
        )
    }

    fn load(&mut self, lines: &Path) -> Result<Option<Load>> {
        Process::This.forget_peak()?;
        let cpu_before_s = Process::This.cpu_s()?;
        let started = Instant::now();
        self.insert(lines)?;
        Ok(Some(Load {
            wall_s: started.elapsed().as_secs_f64(),
            raw_bytes: std::fs::metadata(lines)?.len(),
            cpu_s: Process::This.cpu_s()? - cpu_before_s,
            peak_bytes: Process::This.memory()?.peak_bytes,
            resident_bytes: None,
            anonymous_bytes: None,
            disk_bytes: shared::disk::disk_bytes(&self.dir),
            stopped_bytes: None,
        }))
    }

    fn ask(&mut self, question: &Question) -> Result<Option<Answer>> {
        let started = Instant::now();
        let rows = match sql(&question.what) {
            Some(sql) => self.rows(&sql)?,
            None => self.quantiles()?,
        };
        Ok(Some(Answer::new(started.elapsed(), rows)))
    }

    fn start_cold(&mut self) -> Result<()> {
        // The mapped file must be let go of before its pages can be.
        drop(std::mem::replace(&mut self.connection, Connection::open_in_memory()?));
        shared::disk::drop_from_cache(&self.dir)?;
        self.connection = connect(&self.dir)?;
        Ok(())
    }
}
