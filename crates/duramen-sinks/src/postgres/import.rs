//! Tables of a PostgreSQL database, to import.

use super::address::Address;
use super::client::{Client, Failure};
use super::read::PostgresReader;
use super::{connect, tables};
use crate::error::{Error, Result};
use crate::import::{SqlTable, Table, TableOptions, TableRows, quoted};
use crate::schema::LOG_TABLE;
use crate::sql::{Param, Reader};
use tokio_postgres::Config;
use tokio_postgres::config::Host;
use tokio_postgres::error::SqlState;

/// How long to wait for those who are writing into the table.
const LOCK_TIMEOUT: &str = "5s";

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
        let client = connect::connect(&address)?;
        let database = place(&address.config);
        if options.is_ours() {
            tables::check(&client, &database)?;
        }
        let typed = options.table.as_deref().unwrap_or(LOG_TABLE);
        let table = regclass(&client, typed)?;
        let key = match &options.key_column {
            _ if options.is_ours() => quoted("id"),
            Some(name) => quoted(name),
            None => quoted(&primary_key(&client, &table)?),
        };
        let named =
            [&options.key_column, &options.time_column, &options.message_column, &options.level_column];
        for name in named.into_iter().flatten() {
            let column = "SELECT 1 FROM pg_attribute WHERE attrelid = $1::text::regclass AND attname = $2 AND attnum > 0";
            if client.query_opt(column, &[&table, name])?.is_none() {
                return Err(Error::Invalid(format!("{table} has no column {name}")));
            }
        }
        let same_everywhere = identity(&client, &table)?;
        let (reader, warning) = quiet_moment(client, &table, url)?;
        let name = format!("postgres://{database}?table={table}");
        let (ours, mut identity) = (options.is_ours(), same_everywhere.unwrap_or_else(|| name.clone()));
        if ours {
            let id = tables::meta(&reader.client, "database_id")?.unwrap_or_default();
            identity = format!("duramen_logs {id}");
        }
        let former = Some(name.clone()).filter(|former| !ours && *former != identity);
        let table = Table { rows: Box::new(reader), name, identity, former, table, key, ours, last: None };
        Ok(Self::new(table, options, warning))
    }
}

/// What a server says that has no such function (it is older than 9.6, or another that speaks as PostgreSQL does), or has it for
/// others only.
const DOES_NOT_SAY: [SqlState; 3] =
    [SqlState::UNDEFINED_FUNCTION, SqlState::INSUFFICIENT_PRIVILEGE, SqlState::FEATURE_NOT_SUPPORTED];

/// What tells the table from every other, by whatever address and name it was asked for: the server's own number, the
/// database, and the table with its schema. `None` where the server does not say, or not to this user.
fn identity(client: &Client, table: &str) -> Result<Option<String>> {
    let asked = "SELECT system_identifier::text, current_database()::text, n.nspname::text, c.relname::text \
                 FROM pg_control_system(), pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
                 WHERE c.oid = $1::text::regclass";
    let row = match client.query_one(asked, &[&table]) {
        Err(e) if e.code().is_some_and(|code| DOES_NOT_SAY.contains(code)) => return Ok(None),
        row => row?,
    };
    let (server, database, schema, name): (&str, &str, &str, &str) =
        (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?, row.try_get(3)?);
    Ok(Some(format!("postgresql {server}/{database}?table={}.{}", quoted(schema), quoted(name))))
}

/// A transaction as of a moment at which nobody was writing into the table, and why it could not be had if not.
fn quiet_moment(client: Client, table: &str, url: &str) -> Result<(PostgresReader, Option<String>)> {
    let lock = |client: &Client| {
        client.batch_execute(&format!("BEGIN; SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'"))?;
        client.batch_execute(&format!("LOCK TABLE {table} IN SHARE MODE"))
    };
    let warning = lock(&client).err().map(|why: Failure| {
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
fn regclass(client: &Client, typed: &str) -> Result<String> {
    let row = client.query_one("SELECT to_regclass($1)::text", &[&typed])?;
    let name: Option<String> = row.get(0);
    name.ok_or_else(|| Error::Invalid(format!("there is no table {typed}")))
}

/// The one integer column that is the table's primary key.
fn primary_key(client: &Client, table: &str) -> Result<String> {
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

impl TableRows for PostgresReader {
    fn any_rows(
        &mut self,
        sql: &str,
        params: &[Param],
        each: &mut dyn FnMut(i64, &str) -> Result<()>,
    ) -> Result<()> {
        self.each_row(sql, params, &mut |row| each(row.try_get(0)?, row.try_get(1)?))
    }
}
