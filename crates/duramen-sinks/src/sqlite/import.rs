//! Tables of an SQLite database, to import.

use super::read::SqliteReader;
use super::tables;
use crate::error::{Error, Result};
use crate::import::{SqlTable, Table, TableOptions, TableRows, quoted};
use crate::line::push_string;
use crate::schema::LOG_TABLE;
use crate::sql::Param;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, Row, params_from_iter};
use std::path::Path;

impl SqlTable {
    /// A table of an SQLite database.
    ///
    /// # Errors
    /// [`Error::NoTables`], [`Error::NewerSchema`]; [`Error::Invalid`] if there is no such table or column, or no key;
    /// [`Error::Database`] for what SQLite said.
    pub fn sqlite(path: impl AsRef<Path>, options: &TableOptions) -> Result<Self> {
        let path = path.as_ref();
        let reader = SqliteReader::open(path)?;
        // One file has one name, whichever links and dots lead to it.
        let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let whole = std::fs::canonicalize(path).unwrap_or_else(|_| absolute.clone());
        let shown = path.display().to_string();
        let table_name = options.table.as_deref().unwrap_or(LOG_TABLE);
        let name = format!("sqlite:{}?table={table_name}", whole.display());
        let (key, identity) = if options.is_ours() {
            tables::check(&reader.connection, &shown)?;
            let id = tables::meta(&reader.connection, "database_id")?.unwrap_or_default();
            (quoted("id"), format!("duramen_logs {id}"))
        } else {
            (key_of(&reader.connection, &shown, table_name, options)?, name.clone())
        };
        let former = Some(format!("sqlite:{}?table={table_name}", absolute.display()))
            .filter(|former| !options.is_ours() && *former != identity);
        let table = quoted(table_name);
        let ours = options.is_ours();
        let last = if reader.lets_others_write()? {
            None
        } else {
            Some(last_key(&reader.connection, &table, &key)?)
        };
        let table = Table { rows: Box::new(reader), name, identity, former, table, key, ours, last };
        Ok(Self::new(table, options, None))
    }
}

/// The last key there is, and an end to the transaction: without a WAL, nobody can write while one goes on. Keys only grow,
/// so that up to this one all is as it was, whatever comes meanwhile.
fn last_key(db: &Connection, table: &str, key: &str) -> Result<i64> {
    let last =
        db.query_row(&format!("SELECT max({key}) FROM {table}"), [], |row| row.get::<_, Option<i64>>(0));
    let last = last.map_err(|e| match e {
        rusqlite::Error::InvalidColumnType(..) => Error::Invalid(format!("the key is no integer: {e}")),
        e => e.into(),
    })?;
    db.execute_batch("COMMIT")?;
    Ok(last.unwrap_or(i64::MIN))
}

/// The key of another's table, as SQL.
fn key_of(db: &Connection, path: &str, table: &str, options: &TableOptions) -> Result<String> {
    let kind = db
        .query_row("SELECT type FROM pragma_table_list WHERE schema = 'main' AND name = ?1", [table], |row| {
            row.get::<_, String>(0)
        })
        .optional()?
        .ok_or_else(|| Error::Invalid(format!("{path} has no table {table}")))?;
    // The columns of `SELECT *`, with those that SQLite works out itself.
    let has_column = |name: &str| {
        let columns = "SELECT count(*) FROM pragma_table_xinfo(?1) WHERE name = ?2 AND hidden <> 1";
        db.query_row(columns, [table, name], |row| row.get::<_, i64>(0)).map(|n| n > 0)
    };
    for name in [&options.key_column, &options.time_column, &options.message_column, &options.level_column]
        .into_iter()
        .flatten()
    {
        if !has_column(name)? {
            return Err(Error::Invalid(format!("{table} has no column {name}")));
        }
    }
    if let Some(name) = &options.key_column {
        return Ok(quoted(name));
    }
    let without_rowid = kind == "view"
        || db.query_row(
            "SELECT wr FROM pragma_table_list WHERE schema = 'main' AND name = ?1",
            [table],
            |row| row.get::<_, bool>(0),
        )?;
    // A column may be called rowid, in letters of any case, and then means something else.
    let is_taken = |name: &str| {
        let columns = "SELECT count(*) FROM pragma_table_xinfo(?1) WHERE name = ?2 COLLATE NOCASE";
        db.query_row(columns, [table, name], |row| row.get::<_, i64>(0)).map(|n| n > 0)
    };
    let free = ["rowid", "_rowid_", "oid"].into_iter().find(|name| matches!(is_taken(name), Ok(false)));
    match free {
        Some(name) if !without_rowid => Ok(name.into()),
        _ => Err(Error::Invalid(format!(
            "{table} has no rowid: name a column of growing integers with --key-column"
        ))),
    }
}

impl TableRows for SqliteReader {
    fn any_rows(
        &mut self,
        sql: &str,
        params: &[Param],
        each: &mut dyn FnMut(i64, &str) -> Result<()>,
    ) -> Result<()> {
        let mut query = self.connection.prepare_cached(sql)?;
        let names: Vec<String> = query.column_names().skip(1).map(str::to_owned).collect();
        let mut found = query.query(params_from_iter(params))?;
        let mut json = String::new();
        while let Some(row) = found.next()? {
            let key: i64 = row.get(0).map_err(|e| Error::Invalid(format!("the key is no integer: {e}")))?;
            write_json(row, &names, &mut json)?;
            each(key, &json)?;
        }
        Ok(())
    }
}

/// A text whose bytes need not be UTF-8: those that are not stand there as `\xE9`, as those of a log's lines do.
fn push_text(out: &mut String, bytes: &[u8]) {
    let mut text = String::new();
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        chunk.invalid().iter().for_each(|b| text.push_str(&format!("\\x{b:02X}")));
    }
    push_string(out, &text);
}

/// A row as an object of its columns. A blob that is no text is written in hexadecimal.
fn write_json(row: &Row<'_>, names: &[String], out: &mut String) -> Result<()> {
    use std::fmt::Write;
    out.clear();
    out.push('{');
    for (i, name) in names.iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        push_string(out, name);
        out.push(':');
        let _infallible = match row.get_ref(i + 1)? {
            ValueRef::Null => write!(out, "null"),
            ValueRef::Integer(n) => write!(out, "{n}"),
            // Without an exponent, some would take hundreds of digits.
            ValueRef::Real(x) if x.is_finite() && x != 0.0 && !(1e-5..1e17).contains(&x.abs()) => {
                write!(out, "{x:e}")
            }
            ValueRef::Real(x) if x.is_finite() => write!(out, "{x}"),
            ValueRef::Real(x) => write!(out, "\"{x}\""),
            ValueRef::Text(bytes) => {
                push_text(out, bytes);
                Ok(())
            }
            ValueRef::Blob(bytes) => {
                match std::str::from_utf8(bytes) {
                    Ok(text) => push_string(out, text),
                    Err(_) => {
                        out.push_str("\"\\\\x");
                        bytes.iter().for_each(|b| out.push_str(&format!("{b:02x}")));
                        out.push('"');
                    }
                }
                Ok(())
            }
        };
    }
    out.push('}');
    Ok(())
}
