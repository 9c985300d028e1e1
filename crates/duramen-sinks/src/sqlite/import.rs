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
        let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
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
        let table = quoted(table_name);
        let ours = options.is_ours();
        let table = Table { rows: Box::new(reader), name, identity, table, key, ours };
        Ok(Self::new(table, options, None))
    }
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

/// A row as an object of its columns. Bytes that are no text are written in hexadecimal.
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
            ValueRef::Real(x) if x.is_finite() => write!(out, "{x}"),
            ValueRef::Real(x) => write!(out, "\"{x}\""),
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
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
