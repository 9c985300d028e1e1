//! Batches as SQLite's transactions.

use crate::line::Line;
use crate::queue::{Backend, WriteError};
use duramen_engine::io::Env;
use rusqlite::{Connection, ErrorCode, TransactionBehavior};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

const INSERT: &str = "INSERT INTO duramen_logs (time_ns, level, message, fields) VALUES (?1, ?2, ?3, ?4)";

/// A database that lines are inserted into.
#[derive(Debug)]
pub(super) struct SqliteBackend {
    connection: Connection,
    path: PathBuf,
    env: Env,
    /// Which file it is, if that can be told.
    file: Option<(u64, u64)>,
}

impl SqliteBackend {
    pub fn new(connection: Connection, path: PathBuf, env: Env) -> Self {
        let file = whole_path(&connection).and_then(file_at);
        Self { connection, path, env, file }
    }

    /// What became of the file under its name: SQLite goes on writing into one that has been deleted, or has another in its
    /// place, where nobody will ever find it.
    fn gone(&self) -> Option<&'static str> {
        let path = whole_path(&self.connection)?;
        if matches!(self.env.fs.exists(path), Ok(false)) {
            return Some("has been deleted");
        }
        let now = file_at(path)?;
        self.file.filter(|then| *then != now).map(|_| "has been deleted, and there is another in its place")
    }
}

/// The file's whole path: the program may have changed its current directory since it gave us a relative one.
fn whole_path(connection: &Connection) -> Option<&Path> {
    connection.path().filter(|path| !path.is_empty()).map(Path::new)
}

/// Which file has this name; `None` if that cannot be told now.
fn file_at(path: &Path) -> Option<(u64, u64)> {
    std::fs::metadata(path).ok().map(|file| (file.dev(), file.ino()))
}

impl Backend for SqliteBackend {
    fn write(&mut self, _first: u64, lines: &[Line]) -> Result<(), WriteError> {
        if let Some(what) = self.gone() {
            return Err(WriteError::Permanent(format!("{} {what}", self.path.display())));
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

/// Whether it may go well later. A transaction that fails is rolled back as a whole, also at its commit. Without a free
/// descriptor SQLite cannot open its journal; a quota, or a network file system that is away, are errors of the device to it.
fn classify(error: &rusqlite::Error) -> WriteError {
    let text = error.to_string();
    match error.sqlite_error_code() {
        Some(
            ErrorCode::DatabaseBusy
            | ErrorCode::DatabaseLocked
            | ErrorCode::DiskFull
            | ErrorCode::CannotOpen
            | ErrorCode::SystemIoFailure
            | ErrorCode::FileLockingProtocolFailed
            | ErrorCode::OutOfMemory,
        ) => WriteError::Transient(text),
        Some(ErrorCode::TooBig | ErrorCode::ConstraintViolation | ErrorCode::TypeMismatch) => {
            WriteError::Lines(text)
        }
        _ => WriteError::Permanent(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::ffi;

    #[test]
    fn what_sqlite_says_decides() {
        for (code, expected) in [
            (ffi::SQLITE_BUSY, "transient"),
            (ffi::SQLITE_FULL, "transient"),
            (ffi::SQLITE_CANTOPEN, "transient"),
            (ffi::SQLITE_IOERR_WRITE, "transient"),
            (ffi::SQLITE_IOERR_SHMSIZE, "transient"),
            (ffi::SQLITE_PROTOCOL, "transient"),
            (ffi::SQLITE_TOOBIG, "lines"),
            (ffi::SQLITE_CORRUPT, "permanent"),
            (ffi::SQLITE_NOTADB, "permanent"),
            (ffi::SQLITE_READONLY, "permanent"),
            (ffi::SQLITE_ERROR, "permanent"),
        ] {
            let found = match classify(&rusqlite::Error::SqliteFailure(ffi::Error::new(code), None)) {
                WriteError::Transient(_) => "transient",
                WriteError::TooLong(_) => "too long",
                WriteError::Lines(_) => "lines",
                WriteError::Permanent(_) => "permanent",
            };
            assert_eq!(found, expected, "{code}");
        }
    }
}
