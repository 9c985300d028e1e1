//! Rows of an SQLite database, for queries and imports: one transaction, so that everything is of one moment.

use super::tables;
use crate::error::{Error, Result};
use crate::line::Stored;
use crate::sql::{Dialect, Param, Reader, SqlLogs};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, OpenFlags, Row, ToSql, params_from_iter};
use std::borrow::Cow;
use std::path::Path;
use std::time::Duration;

/// How long to wait for a writer that uses no WAL.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// A connection in a transaction that only reads.
#[derive(Debug)]
pub(crate) struct SqliteReader {
    pub connection: Connection,
}

impl SqliteReader {
    /// Opens a database that exists.
    pub fn open(path: &Path) -> Result<Self> {
        let context = |e: rusqlite::Error| Error::Database(format!("cannot read {}: {e}", path.display()));
        // Reading takes a lock in a file beside the database, so that read-only must not be asked for.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags).map_err(context)?;
        connection.busy_timeout(BUSY_TIMEOUT).map_err(context)?;
        connection.pragma_update(None, "query_only", true).map_err(context)?;
        connection.execute_batch("BEGIN").map_err(context)?;
        // The transaction begins with the first look at the file.
        connection
            .query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get::<_, i64>(0))
            .map_err(context)?;
        Ok(Self { connection })
    }

    /// Whether others can write while its transaction goes on.
    pub fn lets_others_write(&self) -> Result<bool> {
        let mode: String = self.connection.pragma_query_value(None, "journal_mode", |row| row.get(0))?;
        Ok(mode == "wal")
    }
}

impl SqlLogs {
    /// The logs that a sink has written into an SQLite database, as they are now.
    ///
    /// # Errors
    /// [`Error::NoTables`], [`Error::NewerSchema`], and [`Error::Database`] for what SQLite said.
    pub fn sqlite(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let reader = SqliteReader::open(path)?;
        tables::check(&reader.connection, &path.display().to_string())?;
        Ok(Self::new(Box::new(reader)))
    }
}

impl Reader for SqliteReader {
    fn dialect(&self) -> Dialect {
        Dialect::Sqlite
    }

    fn table_bytes(&mut self) -> Result<u64> {
        let pragma = |name| self.connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        Ok(pragma("page_count")?.unsigned_abs().saturating_mul(pragma("page_size")?.unsigned_abs()))
    }

    fn integers(&mut self, sql: &str, params: &[Param]) -> Result<Vec<Vec<i64>>> {
        let mut query = self.connection.prepare_cached(sql)?;
        let columns = query.column_count();
        let row = |row: &Row<'_>| (0..columns).map(|i| row.get(i)).collect();
        let rows = query.query_map(params_from_iter(params), row)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    fn lines(
        &mut self,
        sql: &str,
        params: &[Param],
        each: &mut dyn FnMut(Stored<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut query = self.connection.prepare_cached(sql)?;
        let mut rows = query.query(params_from_iter(params))?;
        while let Some(row) = rows.next()? {
            let (level, message, fields) = (text(row, 2)?, text(row, 3)?, text(row, 4)?);
            let (level, message, fields) = (&*level, &*message, &*fields);
            each(Stored { id: row.get(0)?, time_ns: row.get(1)?, level, message, fields })?;
        }
        Ok(())
    }
}

/// A column's text, where it lies. SQLite does not look whether a text is UTF-8; what is not is replaced, so that no
/// such row, which others than a sink have written, keeps all others from being read.
fn text<'r>(row: &'r Row<'_>, column: usize) -> Result<Cow<'r, str>> {
    match row.get_ref(column)? {
        ValueRef::Text(bytes) => Ok(String::from_utf8_lossy(bytes)),
        other => Err(Error::Database(format!(
            "row {}: column {column} is {}, not text",
            row.get::<_, i64>(0).unwrap_or_default(),
            other.data_type()
        ))),
    }
}

impl ToSql for Param {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Int(n) => ValueRef::Integer(*n),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
        }))
    }
}
