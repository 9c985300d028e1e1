//! Batches as statements, each once, however often the connection breaks.
//!
//! If a connection breaks during a commit, nobody knows whether it happened. So the statement that inserts a batch
//! also moves this sink's row in `duramen_writers` on to the batch's last line, and inserts nothing if that row is
//! there already. Should the statement of before the break still be at work, it holds the row's lock: the second
//! waits for it, and then sees what came of it.

use super::address::Address;
use super::client::{Client, Failure};
use super::connect;
use crate::line::Line;
use crate::queue::{Backend, WriteError};
use std::fmt;
use std::time::Duration;
use tokio_postgres::Statement;
use tokio_postgres::error::SqlState;

/// How many bytes of lines are sent at once: the protocol's messages have 1 GiB at most, and the server none of its own values more.
const MOST_BYTES: usize = 256 << 20;
/// The most that it may take to see whether a line can be written. It is one that nobody will see.
const TRY_WITHIN: Duration = Duration::from_secs(5);
/// How long tidying up may take.
const TIDY_WITHIN: Duration = Duration::from_secs(5);

const INSERT: &str = "
WITH claim AS (
  UPDATE duramen_writers SET last_line = $3 WHERE writer = $1 AND last_line < $2 RETURNING 1
)
INSERT INTO duramen_logs (time_ns, level, message, fields)
SELECT time_ns, level, message, fields::json
FROM unnest($4::bigint[], $5::text[], $6::text[], $7::text[]) WITH ORDINALITY
  AS line (time_ns, level, message, fields, n)
WHERE EXISTS (SELECT 1 FROM claim)
ORDER BY n";

/// A database that lines are inserted into.
pub(super) struct PostgresBackend {
    address: Address,
    /// This sink, in `duramen_writers`.
    writer: i64,
    /// `None` while the server is away.
    connection: Option<(Client, Option<Statement>)>,
    /// The longest that a statement may take.
    limit: Duration,
}

impl PostgresBackend {
    pub fn new(address: Address, client: Client, writer: i64, limit: Duration) -> Self {
        Self { address, writer, connection: Some((client.within(limit), None)), limit }
    }

    fn insert(&mut self, first: u64, lines: &[Line]) -> Result<(), Failed> {
        let (client, statement) = match &mut self.connection {
            Some(connection) => connection,
            // Whatever keeps it from connecting may be mended: it has been connected before.
            None => {
                let client = connect::connect(&self.address).map_err(|e| Failed::Away(e.to_string()))?;
                self.connection.insert((client.within(self.limit), None))
            }
        };
        let statement = match statement {
            Some(statement) => statement,
            None => statement.insert(client.prepare(INSERT)?),
        };
        let number = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        let (first, last) = (number(first), number(first + lines.len() as u64 - 1));
        let times: Vec<i64> = lines.iter().map(|line| line.time_ns).collect();
        let levels: Vec<&str> = lines.iter().map(|line| line.level.name()).collect();
        let messages: Vec<&str> = lines.iter().map(|line| &*line.message).collect();
        let fields: Vec<&str> = lines.iter().map(|line| &*line.fields).collect();
        let inserted =
            client.execute(statement, &[&self.writer, &first, &last, &times, &levels, &messages, &fields])?;
        if inserted == lines.len() as u64 {
            return Ok(());
        }
        let row =
            client.query_opt("SELECT last_line FROM duramen_writers WHERE writer = $1", &[&self.writer])?;
        match row.map(|row| row.get::<_, i64>(0)) {
            Some(committed) if committed >= last => Ok(()),
            _ => Err(Failed::Lost),
        }
    }
}

enum Failed {
    Away(String),
    Lost,
    Told(Failure),
}

impl From<Failure> for Failed {
    fn from(failure: Failure) -> Self {
        Self::Told(failure)
    }
}

impl Backend for PostgresBackend {
    fn write(&mut self, first: u64, lines: &[Line]) -> Result<(), WriteError> {
        let bytes: usize = lines.iter().map(Line::bytes).sum();
        if bytes > MOST_BYTES && lines.len() > 1 {
            return Err(WriteError::Lines(format!("{bytes} bytes at once; at most {MOST_BYTES}")));
        }
        let error = match self.insert(first, lines) {
            Ok(()) => return Ok(()),
            Err(Failed::Away(why)) => WriteError::Transient(why),
            Err(Failed::Lost) => {
                WriteError::Permanent("the row of this sink in duramen_writers is gone".into())
            }
            Err(Failed::Told(Failure::Late(why))) => WriteError::TooLong(why),
            Err(Failed::Told(failure)) => classify(failure.code(), failure.to_string()),
        };
        if matches!(error, WriteError::Transient(_) | WriteError::TooLong(_)) {
            // Also where it looks alive: a server that shuts down answers, and a new one is behind another.
            self.connection = None;
        }
        Err(error)
    }

    fn takes_others(&mut self) -> bool {
        // As a batch is written, and no slower: what is locked may be the row that moves on with it.
        let write = format!(
            "BEGIN; UPDATE duramen_writers SET last_line = last_line WHERE writer = {}; \
             INSERT INTO duramen_logs (time_ns, level, message, fields) VALUES (0, '', '', '{{}}'); ROLLBACK",
            self.writer
        );
        let within = TRY_WITHIN.min(self.limit);
        let client = connect::connect(&self.address).map(|client| client.within(within));
        client.is_ok_and(|client| client.batch_execute(&write).is_ok())
    }
}

/// Whether it may go well later, by the class of what the server said; if it said nothing, the connection broke, or was given up.
fn classify(code: Option<&SqlState>, why: String) -> WriteError {
    let Some(code) = code else { return WriteError::Transient(why) };
    match code.code().get(..2) {
        // The server has a limit of its own.
        _ if *code == SqlState::QUERY_CANCELED => WriteError::TooLong(why),
        // Connection, rollback, resources, locks, operator, system; and a server that is read-only for now. A prepared
        // statement that is gone (26), as behind a pool of connections, is prepared again on the next one.
        Some("08" | "26" | "40" | "53" | "55" | "57" | "58") => WriteError::Transient(why),
        _ if *code == SqlState::READ_ONLY_SQL_TRANSACTION => WriteError::Transient(why),
        // Data, constraints, limits of the program.
        Some("22" | "23" | "54") => WriteError::Lines(why),
        _ => WriteError::Permanent(why),
    }
}

impl Drop for PostgresBackend {
    fn drop(&mut self) {
        if let Some((client, _)) = self.connection.take() {
            let client = client.within(TIDY_WITHIN);
            // Left behind it does no harm: some bytes in a table.
            let _tidy = client.execute("DELETE FROM duramen_writers WHERE writer = $1", &[&self.writer]);
        }
    }
}

impl fmt::Debug for PostgresBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not the address: it may hold a password.
        f.debug_struct("PostgresBackend")
            .field("connected", &self.connection.is_some())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_server_says_decides() {
        for (code, expected) in [
            (None, "transient"),
            (Some(SqlState::ADMIN_SHUTDOWN), "transient"),
            (Some(SqlState::QUERY_CANCELED), "too long"),
            (Some(SqlState::CONNECTION_FAILURE), "transient"),
            (Some(SqlState::T_R_DEADLOCK_DETECTED), "transient"),
            (Some(SqlState::DISK_FULL), "transient"),
            (Some(SqlState::INVALID_SQL_STATEMENT_NAME), "transient"),
            (Some(SqlState::READ_ONLY_SQL_TRANSACTION), "transient"),
            (Some(SqlState::INVALID_TEXT_REPRESENTATION), "lines"),
            (Some(SqlState::PROGRAM_LIMIT_EXCEEDED), "lines"),
            (Some(SqlState::UNDEFINED_TABLE), "permanent"),
            (Some(SqlState::INSUFFICIENT_PRIVILEGE), "permanent"),
            (Some(SqlState::INTERNAL_ERROR), "permanent"),
        ] {
            let found = match classify(code.as_ref(), String::new()) {
                WriteError::Transient(_) => "transient",
                WriteError::TooLong(_) => "too long",
                WriteError::Lines(_) => "lines",
                WriteError::Permanent(_) => "permanent",
            };
            assert_eq!(found, expected, "{code:?}");
        }
    }
}
