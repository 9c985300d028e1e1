//! SQLite: a row for each line, what is not the same for all loggers as JSON; no index.

use super::logger::is_error;
use super::{BATCH, Found, Session, Target};
use crate::Result;
use crate::sample::{Line, now_ns};
use rusqlite::{Connection, params};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// When a transaction ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Commit {
    Each,
    Batches,
    /// As `Batches`, and after each error.
    Errors,
}

struct Sqlite {
    path: PathBuf,
    synchronous: &'static str,
    commit: Commit,
}

pub(super) fn open(
    dir: &Path,
    journal: &'static str,
    synchronous: &'static str,
    commit: Commit,
) -> Result<Box<dyn Target>> {
    let path = dir.join("sqlite");
    let this = Sqlite { path, synchronous, commit };
    let connection = this.connect()?;
    connection.execute_batch(&format!(
        "PRAGMA journal_mode={journal};
         CREATE TABLE IF NOT EXISTS logs (id INTEGER PRIMARY KEY, time INTEGER, level INTEGER, message TEXT, fields TEXT)"
    ))?;
    Ok(Box::new(this))
}

impl Sqlite {
    fn connect(&self) -> Result<Connection> {
        let connection = Connection::open(&self.path)?;
        connection.busy_timeout(Duration::from_secs(60))?;
        connection.execute_batch(&format!("PRAGMA synchronous={}", self.synchronous))?;
        Ok(connection)
    }
}

impl Target for Sqlite {
    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(Writing {
            connection: self.connect()?,
            commit: self.commit,
            open: 0,
            fields: Vec::new(),
        }))
    }

    fn close(self: Box<Self>) -> Result<Found> {
        let all = "SELECT count(*), coalesce(sum(json_extract(fields, '$.seq')), 0) FROM logs";
        let found = |row: &rusqlite::Row<'_>| {
            Ok(Found { lines: row.get::<_, i64>(0)?.unsigned_abs(), seq_sum: row.get(1)? })
        };
        Ok(self.connect()?.query_row(all, [], found)?)
    }
}

struct Writing {
    connection: Connection,
    commit: Commit,
    /// Lines in the open transaction; 0 if none is.
    open: u32,
    fields: Vec<u8>,
}

impl Session for Writing {
    fn log(&mut self, line: &Line, seq: i64) -> Result<()> {
        if self.commit != Commit::Each && self.open == 0 {
            self.connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        }
        self.fields.clear();
        serde_json::to_writer(&mut self.fields, &line.json_fields(seq))?;
        let fields = std::str::from_utf8(&self.fields)?;
        let insert = "INSERT INTO logs (time, level, message, fields) VALUES (?1, ?2, ?3, ?4)";
        let row = params![now_ns(), line.level as u8, line.message, fields];
        self.connection.prepare_cached(insert)?.execute(row)?;
        if self.commit != Commit::Each {
            self.open += 1;
            if self.open == BATCH || self.commit == Commit::Errors && is_error(line.level) {
                self.finish()?;
            }
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        if self.open > 0 {
            self.connection.prepare_cached("COMMIT")?.execute([])?;
            self.open = 0;
        }
        Ok(())
    }
}
