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

/// A table in a database, of one moment, or up to the key that was the last at one.
#[derive(Debug)]
pub(crate) struct Table {
    pub rows: Box<dyn Rows>,
    /// What it is called, for people, and in a store.
    pub name: String,
    /// What tells it from every other table, also when it is called something else.
    pub identity: String,
    /// What told it before, in earlier versions.
    pub former: Option<String>,
    /// The table and its key, as SQL.
    pub table: String,
    pub key: String,
    /// Whether it is one that sinks write.
    pub ours: bool,
    /// The last key to be read, where the pages are not of one moment.
    pub last: Option<i64>,
}

impl Table {
    /// How many rows have a key behind this one, or none at all.
    pub fn count(&mut self, after: Option<i64>) -> Result<u64> {
        let Self { rows, table, key, last, .. } = self;
        let mut narrow = Narrow::new(rows.dialect());
        let after = after.map(|after| format!("{key} > {}", narrow.bigint(after)));
        let up_to = last.map(|last| format!("{key} <= {}", narrow.bigint(last)));
        let within: Vec<String> = after.into_iter().chain(up_to).collect();
        let mut sql = format!("SELECT count(*) FROM {table}");
        if !within.is_empty() {
            sql.push_str(&format!(" WHERE {} OR {key} IS NULL", within.join(" AND ")));
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
        let Self { rows, table, key, ours, last, .. } = self;
        let dialect = rows.dialect();
        let columns = if *ours { dialect.our_row() } else { dialect.any_row(key) };
        let mut narrow = Narrow::new(dialect);
        let behind = if after.is_some() { ">" } else { ">=" };
        let first = narrow.bigint(after.unwrap_or(i64::MIN));
        let up_to =
            last.map(|last| format!(" AND line.{key} <= {}", narrow.bigint(last))).unwrap_or_default();
        let limit = narrow.bigint(i64::try_from(most).unwrap_or(i64::MAX));
        // The order is by the table's column: a bare name would be that of the answer, which PostgreSQL has cast, so that
        // no index has its order, and each page would sort all that is left.
        let sql = format!(
            "SELECT {columns} FROM {table} AS line WHERE line.{key} {behind} {first}{up_to} ORDER BY line.{key} \
             LIMIT {limit}"
        );
        if *ours {
            rows.lines(&sql, &narrow.params, &mut |row| each(row.id, RawRow::Ours(row)))
        } else {
            rows.any_rows(&sql, &narrow.params, &mut |key, json| each(key, RawRow::Json(json)))
        }
    }
}

#[cfg(all(test, feature = "postgres"))]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::line::Stored;
    use crate::sql::Dialect;

    /// Says what it was asked.
    #[derive(Debug)]
    struct Asked(Dialect);

    impl Reader for Asked {
        fn dialect(&self) -> Dialect {
            self.0
        }

        fn table_bytes(&mut self) -> Result<u64> {
            Ok(0)
        }

        fn integers(&mut self, sql: &str, _: &[Param]) -> Result<Vec<Vec<i64>>> {
            Err(Error::Invalid(sql.into()))
        }

        fn lines(
            &mut self,
            sql: &str,
            _: &[Param],
            _: &mut dyn FnMut(Stored<'_>) -> Result<()>,
        ) -> Result<()> {
            Err(Error::Invalid(sql.into()))
        }
    }

    impl Rows for Asked {
        fn any_rows(
            &mut self,
            sql: &str,
            _: &[Param],
            _: &mut dyn FnMut(i64, &str) -> Result<()>,
        ) -> Result<()> {
            Err(Error::Invalid(sql.into()))
        }
    }

    #[test]
    fn pages_are_in_the_order_of_the_tables_own_column() {
        let mut table = Table {
            rows: Box::new(Asked(Dialect::Postgres)),
            name: String::new(),
            identity: String::new(),
            former: None,
            table: "events".into(),
            key: "\"id\"".into(),
            ours: false,
            last: None,
        };
        let asked = table.page(Some(7), 10, &mut |_, _| Ok(())).unwrap_err().to_string();
        // The answer has a column of that name, too, cast to another type.
        assert!(asked.contains("SELECT \"id\"::bigint"), "{asked}");
        assert!(asked.contains("WHERE line.\"id\" > $1::bigint ORDER BY line.\"id\" LIMIT"), "{asked}");
    }
}
