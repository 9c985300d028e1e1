//! Batches as SQLite's transactions.

use crate::line::Line;
use crate::queue::{Backend, WriteError};
use duramen_engine::io::Env;
use rusqlite::{Connection, ErrorCode, TransactionBehavior};
use std::path::{Path, PathBuf};

const INSERT: &str = "INSERT INTO duramen_logs (time_ns, level, message, fields) VALUES (?1, ?2, ?3, ?4)";

/// A database that lines are inserted into.
#[derive(Debug)]
pub(super) struct SqliteBackend {
    connection: Connection,
    path: PathBuf,
    env: Env,
}

impl SqliteBackend {
    pub fn new(connection: Connection, path: PathBuf, env: Env) -> Self {
        Self { connection, path, env }
    }

    /// SQLite goes on writing into a file that has been deleted, where nobody will ever find it. It is asked for the
    /// file's whole path: the program may have changed its current directory since it gave us a relative one.
    fn is_gone(&self) -> bool {
        let path = self.connection.path().filter(|path| !path.is_empty());
        path.is_some_and(|path| matches!(self.env.fs.exists(Path::new(path)), Ok(false)))
    }
}

impl Backend for SqliteBackend {
    fn write(&mut self, _first: u64, lines: &[Line]) -> Result<(), WriteError> {
        if self.is_gone() {
            return Err(WriteError::Permanent(format!("{} has been deleted", self.path.display())));
        }
        let write = |connection: &mut Connection| {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let mut insert = transaction.prepare_cached(INSERT)?;
            for line in lines {
                insert.execute((line.time_ns, line.level.name(), &line.message, &line.fields))?;
            }
            drop(insert);
            transaction.commit()
        };
        write(&mut self.connection).map_err(|e| classify(&e))
    }
}

/// Whether it may go well later. A transaction that fails is rolled back as a whole, also at its commit.
fn classify(error: &rusqlite::Error) -> WriteError {
    let text = error.to_string();
    match error.sqlite_error_code() {
        Some(
            ErrorCode::DatabaseBusy
            | ErrorCode::DatabaseLocked
            | ErrorCode::DiskFull
            | ErrorCode::OutOfMemory,
        ) => WriteError::Transient(text),
        Some(ErrorCode::TooBig | ErrorCode::ConstraintViolation | ErrorCode::TypeMismatch) => {
            WriteError::Lines(text)
        }
        _ => WriteError::Permanent(text),
    }
}
