//! Tables of a PostgreSQL database, to import.

use super::address::Address;
use super::read::PostgresReader;
use super::{connect, explain, tables};
use crate::error::{Error, Result};
use crate::import::{RawRow, SqlTable, Table, TableOptions, quoted};
use crate::line::Stored;
use crate::schema::LOG_TABLE;
use crate::sql::{Param, Reader};
use postgres::config::Host;
use postgres::{Client, Config};

/// How long to wait for those who are writing into the table.
const LOCK_TIMEOUT: &str = "5s";

#[derive(Debug)]
struct PostgresTable {
    reader: PostgresReader,
    name: String,
    identity: String,
    /// The table and its key, as SQL.
    table: String,
    key: String,
    ours: bool,
}

impl SqlTable {
    /// A table of a PostgreSQL database. Not to be called, used or dropped on a thread of an asynchronous runtime.
    ///
    /// Keys are given out before rows are committed, so that a later row may be visible before an earlier one. To miss
    /// none, this waits a moment until nobody is writing into the table; where it may not, or cannot,
    /// [`SqlTable::warning`] says so.
    ///
    /// # Errors
    /// [`Error::NoTables`], [`Error::NewerSchema`]; [`Error::Invalid`] if there is no such table or column, or no key;
    /// [`Error::Database`] for what the server or the network said.
    pub fn postgres(url: &str, options: &TableOptions) -> Result<Self> {
        let address = Address::parse(url)?;
        let mut client = connect::connect(&address)?;
        let database = place(&address.config);
        if options.is_ours() {
            tables::check(&mut client, &database)?;
        }
        let typed = options.table.as_deref().unwrap_or(LOG_TABLE);
        let table = regclass(&mut client, typed)?;
        let key = match &options.key_column {
            _ if options.is_ours() => quoted("id"),
            Some(name) => quoted(name),
            None => quoted(&primary_key(&mut client, &table)?),
        };
        let named =
            [&options.key_column, &options.time_column, &options.message_column, &options.level_column];
        for name in named.into_iter().flatten() {
            let column = "SELECT 1 FROM pg_attribute WHERE attrelid = $1::text::regclass AND attname = $2 AND attnum > 0";
            if client.query_opt(column, &[&table, name])?.is_none() {
                return Err(Error::Invalid(format!("{table} has no column {name}")));
            }
        }
        let (reader, warning) = quiet_moment(client, &table, url)?;
        let name = format!("postgres://{database}?table={table}");
        let mut this =
            PostgresTable { reader, identity: name.clone(), name, table, key, ours: options.is_ours() };
        if this.ours {
            let id = tables::meta(&mut this.reader.client, "database_id")?.unwrap_or_default();
            this.identity = format!("duramen_logs {id}");
        }
        Ok(Self::new(Box::new(this), options, warning))
    }
}

/// A transaction as of a moment at which nobody was writing into the table, and why it could not be had if not.
fn quiet_moment(mut client: Client, table: &str, url: &str) -> Result<(PostgresReader, Option<String>)> {
    let lock = |client: &mut Client| {
        client.batch_execute(&format!("BEGIN; SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'"))?;
        client.batch_execute(&format!("LOCK TABLE {table} IN SHARE MODE"))
    };
    let warning = lock(&mut client).err().map(|why| {
        let why = explain(&why);
        format!("rows that others are writing at this moment may be missed, now and later: {why}")
    });
    let mut reader = PostgresReader::open(url)?;
    // The first look fixes the moment; then the lock falls, and others may write again.
    reader.integers("SELECT 1::bigint", &[])?;
    client.batch_execute("ROLLBACK")?;
    Ok((reader, warning))
}

/// Server and database, without user and password.
fn place(config: &Config) -> String {
    let host = match config.get_hosts().first() {
        Some(Host::Tcp(name)) => name.clone(),
        Some(Host::Unix(path)) => path.display().to_string(),
        None => config.get_hostaddrs().first().map_or_else(String::new, ToString::to_string),
    };
    let port = config.get_ports().first().copied().unwrap_or(5432);
    format!("{host}:{port}/{}", config.get_dbname().or(config.get_user()).unwrap_or_default())
}

/// The table's name as SQL has it, quoted where it must be.
fn regclass(client: &mut Client, typed: &str) -> Result<String> {
    let row = client.query_one("SELECT to_regclass($1)::text", &[&typed])?;
    let name: Option<String> = row.get(0);
    name.ok_or_else(|| Error::Invalid(format!("there is no table {typed}")))
}

/// The one integer column that is the table's primary key.
fn primary_key(client: &mut Client, table: &str) -> Result<String> {
    let columns = client.query(
        "SELECT a.attname::text, a.atttypid::regtype::text FROM pg_index i \
         JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY(i.indkey) \
         WHERE i.indisprimary AND i.indrelid = $1::text::regclass",
        &[&table],
    )?;
    match &*columns {
        [column] if matches!(column.get(1), "bigint" | "integer" | "smallint") => Ok(column.get(0)),
        _ => Err(Error::Invalid(format!(
            "the primary key of {table} is not one integer column: name a column of growing integers with --key-column"
        ))),
    }
}

impl Table for PostgresTable {
    fn name(&self) -> &str {
        &self.name
    }

    fn identity(&self) -> &str {
        &self.identity
    }

    fn count(&mut self, after: Option<i64>) -> Result<u64> {
        let Self { table, key, .. } = self;
        let (sql, params) = match after {
            None => (format!("SELECT count(*) FROM {table}"), vec![]),
            Some(after) => (
                format!("SELECT count(*) FROM {table} WHERE {key} > $1::bigint OR {key} IS NULL"),
                vec![Param::Int(after)],
            ),
        };
        let counted = self.reader.integers(&sql, &params)?;
        Ok(counted.first().and_then(|row| row.first()).map_or(0, |n| n.unsigned_abs()))
    }

    fn page(
        &mut self,
        after: Option<i64>,
        rows: usize,
        each: &mut dyn FnMut(i64, RawRow<'_>) -> Result<()>,
    ) -> Result<()> {
        let Self { table, key, ours, reader, .. } = self;
        let columns = if *ours {
            "id, time_ns, level, message, fields::text".into()
        } else {
            format!("{key}::bigint, row_to_json(line)::text")
        };
        let first = if after.is_some() { ">" } else { ">=" };
        let sql = format!(
            "SELECT {columns} FROM {table} AS line WHERE {key} {first} $1::bigint ORDER BY {key} LIMIT $2::bigint"
        );
        let limit = i64::try_from(rows).unwrap_or(i64::MAX);
        let params = [Param::Int(after.unwrap_or(i64::MIN)), Param::Int(limit)];
        if *ours {
            return reader.lines(&sql, &params, &mut |row: Stored<'_>| each(row.id, RawRow::Ours(row)));
        }
        reader.each_row(&sql, &params, &mut |row| each(row.try_get(0)?, RawRow::Json(row.try_get(1)?)))
    }
}
