//! A table in a database, of one moment, in pages.

use super::RawRow;
use crate::error::Result;
use crate::sql::{Narrow, Param, Reader};

/// What reads rows of any table, besides those that sinks write.
pub(crate) trait Rows: Reader {
    /// Runs a query for keys and rows, as [`Dialect::any_row`](crate::sql::Dialect::any_row) has them, and gives each
    /// row as an object of its columns.
    fn any_rows(
        &mut self,
        sql: &str,
        params: &[Param],
        each: &mut dyn FnMut(i64, &str) -> Result<()>,
    ) -> Result<()>;
}

/// A table in a database, of one moment.
#[derive(Debug)]
pub(crate) struct Table {
    pub rows: Box<dyn Rows>,
    /// What it is called, for people, and in a store.
    pub name: String,
    /// What tells it from every other table, also when it is called something else.
    pub identity: String,
    /// The table and its key, as SQL.
    pub table: String,
    pub key: String,
    /// Whether it is one that sinks write.
    pub ours: bool,
}

impl Table {
    /// How many rows have a key behind this one, or none at all.
    pub fn count(&mut self, after: Option<i64>) -> Result<u64> {
        let Self { rows, table, key, .. } = self;
        let mut narrow = Narrow::new(rows.dialect());
        let mut sql = format!("SELECT count(*) FROM {table}");
        if let Some(after) = after {
            let after = narrow.bigint(after);
            sql.push_str(&format!(" WHERE {key} > {after} OR {key} IS NULL"));
        }
        let counted = rows.integers(&sql, &narrow.params)?;
        Ok(counted.first().and_then(|row| row.first()).map_or(0, |n| n.unsigned_abs()))
    }

    /// At most so many rows behind a key, in order of their keys.
    pub fn page(
        &mut self,
        after: Option<i64>,
        most: usize,
        each: &mut dyn FnMut(i64, RawRow<'_>) -> Result<()>,
    ) -> Result<()> {
        let Self { rows, table, key, ours, .. } = self;
        let dialect = rows.dialect();
        let columns = if *ours { dialect.our_row() } else { dialect.any_row(key) };
        let mut narrow = Narrow::new(dialect);
        let behind = if after.is_some() { ">" } else { ">=" };
        let first = narrow.bigint(after.unwrap_or(i64::MIN));
        let limit = narrow.bigint(i64::try_from(most).unwrap_or(i64::MAX));
        let sql = format!(
            "SELECT {columns} FROM {table} AS line WHERE {key} {behind} {first} ORDER BY {key} LIMIT {limit}"
        );
        if *ours {
            rows.lines(&sql, &narrow.params, &mut |row| each(row.id, RawRow::Ours(row)))
        } else {
            rows.any_rows(&sql, &narrow.params, &mut |key, json| each(key, RawRow::Json(json)))
        }
    }
}
