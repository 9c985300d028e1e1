//! Making and checking the tables.

use super::client::Client;
use crate::error::{Error, Result};
use crate::schema::{self, SCHEMA_VERSION, new_database_id};
use duramen_engine::io::Random;

/// `json` and not `jsonb`: it keeps the order of names, names that come twice, numbers as written, and `\u0000`.
const TABLES: &str = "
CREATE TABLE duramen_meta (
  name  text PRIMARY KEY,
  value text NOT NULL
);
CREATE TABLE duramen_logs (
  id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  time_ns bigint NOT NULL,
  level   text NOT NULL,
  message text NOT NULL,
  fields  json NOT NULL
);
CREATE INDEX duramen_logs_time ON duramen_logs (time_ns, id);
CREATE INDEX duramen_logs_level ON duramen_logs (level, time_ns);
CREATE TABLE duramen_writers (
  writer    bigint PRIMARY KEY,
  last_line bigint NOT NULL,
  opened_at timestamptz NOT NULL DEFAULT now()
);
";

/// The advisory lock of whoever makes the tables: the first eight letters of `duramen_meta`.
const MAKING: i64 = 0x6475_7261_6d65_6e5f;

/// Makes the tables unless they are there, and checks their version.
/// If that fails, the connection is in a transaction that has.
pub(super) fn make(client: &Client, random: &dyn Random) -> Result<()> {
    if version(client)?.is_none() {
        client.batch_execute("BEGIN")?;
        // Of two sinks that find no tables, the second finds them now.
        client.execute("SELECT pg_advisory_xact_lock($1)", &[&MAKING])?;
        if version(client)?.is_none() {
            client.batch_execute(TABLES)?;
            let meta = client.prepare("INSERT INTO duramen_meta (name, value) VALUES ($1, $2)")?;
            client.execute(&meta, &[&"schema_version", &SCHEMA_VERSION.to_string()])?;
            client.execute(&meta, &[&"database_id", &new_database_id(random)])?;
        }
        client.batch_execute("COMMIT")?;
    }
    check(client, "")
}

/// Checks that the tables are there, and their version.
pub(super) fn check(client: &Client, name: &str) -> Result<()> {
    match version(client)? {
        Some(version) => schema::check_version(&version),
        None => Err(Error::NoTables(name.into())),
    }
}

/// A text of `duramen_meta`.
pub(super) fn meta(client: &Client, name: &str) -> Result<Option<String>> {
    let row = client.query_opt("SELECT value FROM duramen_meta WHERE name = $1", &[&name])?;
    Ok(row.map(|row| row.get(0)))
}

/// Makes the row that says how far a sink's lines are committed.
pub(super) fn enter_writer(client: &Client, writer: i64) -> Result<()> {
    client.execute("INSERT INTO duramen_writers (writer, last_line) VALUES ($1, 0)", &[&writer])?;
    Ok(())
}

/// The schema's version; `None` if there are no tables.
fn version(client: &Client) -> Result<Option<String>> {
    let exists = client.query_one("SELECT to_regclass('duramen_meta') IS NOT NULL", &[])?;
    if !exists.get::<_, bool>(0) {
        return Ok(None);
    }
    meta(client, "schema_version").map(|version| Some(version.unwrap_or_default()))
}
