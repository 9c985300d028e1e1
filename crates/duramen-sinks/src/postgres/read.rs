//! Rows of a PostgreSQL database, for queries and imports: one transaction, so that everything is of one moment.

use super::address::Address;
use super::client::Client;
use super::{connect, tables};
use crate::error::Result;
use crate::line::Stored;
use crate::sql::{Dialect, Param, Reader, SqlLogs};
use std::fmt;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

/// How values are written: a row must be the same text however the server, the database or the role are set up.
/// Only within the transaction: a pool may give the connection to another.
const SESSION: &str = "SET LOCAL TimeZone = 'UTC'; SET LOCAL DateStyle = 'ISO, MDY'; SET LOCAL IntervalStyle = 'postgres'; \
                       SET LOCAL bytea_output = 'hex'; SET LOCAL extra_float_digits = 1";

/// A connection in a transaction that only reads.
pub(crate) struct PostgresReader {
    pub client: Client,
}

impl PostgresReader {
    /// Connects; the transaction is as of now.
    pub fn open(url: &str) -> Result<Self> {
        let client = connect::connect(&Address::parse(url)?)?;
        client.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")?;
        client.batch_execute(SESSION)?;
        Ok(Self { client })
    }

    /// Runs a query and gives its rows as they come.
    pub fn each_row(
        &mut self,
        sql: &str,
        params: &[Param],
        each: &mut dyn FnMut(&Row) -> Result<()>,
    ) -> Result<()> {
        let params = params.iter().map(|param| match param {
            Param::Int(n) => n as &(dyn ToSql + Sync),
            Param::Text(text) => text,
        });
        self.client.each_row(sql, &params.collect::<Vec<_>>(), each)
    }
}

impl fmt::Debug for PostgresReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresReader").finish_non_exhaustive()
    }
}

impl SqlLogs {
    /// The logs that sinks have written into a PostgreSQL database, as they are now. `url` is as for
    /// [`crate::PostgresSink::open`]. Not to be called, used or dropped on a thread of an asynchronous runtime.
    ///
    /// # Errors
    /// [`crate::Error::NoTables`], [`crate::Error::NewerSchema`], and [`crate::Error::Database`] for what the server or the network said.
    pub fn postgres(url: &str) -> Result<Self> {
        let reader = PostgresReader::open(url)?;
        tables::check(&reader.client, "this database")?;
        Ok(Self::new(Box::new(reader)))
    }
}

impl Reader for PostgresReader {
    fn dialect(&self) -> Dialect {
        Dialect::Postgres
    }

    fn table_bytes(&mut self) -> Result<u64> {
        let row = self.client.query_one("SELECT pg_table_size('duramen_logs')", &[])?;
        Ok(row.get::<_, i64>(0).unsigned_abs())
    }

    fn integers(&mut self, sql: &str, params: &[Param]) -> Result<Vec<Vec<i64>>> {
        let mut found = Vec::new();
        self.each_row(sql, params, &mut |row| {
            found.push((0..row.len()).map(|i| row.try_get(i)).collect::<Result<_, _>>()?);
            Ok(())
        })?;
        Ok(found)
    }

    fn lines(
        &mut self,
        sql: &str,
        params: &[Param],
        each: &mut dyn FnMut(Stored<'_>) -> Result<()>,
    ) -> Result<()> {
        self.each_row(sql, params, &mut |row| {
            each(Stored {
                id: row.try_get(0)?,
                time_ns: row.try_get(1)?,
                level: row.try_get(2)?,
                message: row.try_get(3)?,
                fields: row.try_get(4)?,
            })
        })
    }
}
