//! Making and checking the tables.

use crate::error::{Error, Result};
use crate::schema::{self, SCHEMA_VERSION, new_database_id};
use duramen_engine::io::Random;
use rusqlite::{Connection, OptionalExtension, TransactionBehavior};

/// `AUTOINCREMENT`, because an import goes on behind the last id it has seen: none may come a second time, even if
/// all rows are deleted.
const TABLES: &str = "
CREATE TABLE duramen_meta (
  name  TEXT PRIMARY KEY NOT NULL,
  value TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE duramen_logs (
  id      INTEGER PRIMARY KEY AUTOINCREMENT,
  time_ns INTEGER NOT NULL,
  level   TEXT NOT NULL,
  message TEXT NOT NULL,
  fields  TEXT NOT NULL
);
CREATE INDEX duramen_logs_time ON duramen_logs (time_ns);
CREATE INDEX duramen_logs_level ON duramen_logs (level, time_ns);
";

/// Makes the tables unless they are there, and checks their version.
pub(super) fn make(connection: &mut Connection, random: &dyn Random) -> Result<()> {
    // Most of the time they are there, and nobody has to wait for a writer.
    if version(connection)?.is_none() {
        // Of two processes that find no tables, the second finds them now.
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        if version(&transaction)?.is_none() {
            transaction.execute_batch(TABLES)?;
            let mut meta = transaction.prepare("INSERT INTO duramen_meta (name, value) VALUES (?1, ?2)")?;
            meta.execute(("schema_version", SCHEMA_VERSION.to_string()))?;
            meta.execute(("database_id", new_database_id(random)))?;
        }
        transaction.commit()?;
    }
    check(connection, "")
}

/// Checks that the tables are there, and their version.
pub(super) fn check(connection: &Connection, name: &str) -> Result<()> {
    match version(connection)? {
        Some(version) => schema::check_version(&version),
        None => Err(Error::NoTables(name.into())),
    }
}

/// A text of `duramen_meta`.
pub(super) fn meta(connection: &Connection, name: &str) -> Result<Option<String>> {
    let query = "SELECT value FROM duramen_meta WHERE name = ?1";
    Ok(connection.query_row(query, [name], |row| row.get(0)).optional()?)
}

/// The schema's version; `None` if there are no tables.
fn version(connection: &Connection) -> Result<Option<String>> {
    let exists = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'duramen_meta'";
    if connection.query_row(exists, [], |row| row.get::<_, i64>(0))? == 0 {
        return Ok(None);
    }
    meta(connection, "schema_version").map(|version| Some(version.unwrap_or_default()))
}
