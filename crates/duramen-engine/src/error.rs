//! One error type for the engine: the kind says what to do, the text says what was wrong and where.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::{fmt, io};

/// The result of every fallible engine call.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong, and so what the caller can do about it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused an operation. Whether to try again depends on `source`
    /// (a full disk heals, a failing one does not).
    #[error("{operation} {}: {source}", path.display())]
    Io {
        /// What was being done, as a verb: `open`, `sync`, `rename`.
        operation: &'static str,
        /// The file or directory it was done to.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// Bytes on disk are not what was written: a checksum, magic or structure does not hold.
    /// Nothing at this place can be trusted; everything else still can.
    #[error("{} is damaged at byte {offset}: {detail}", path.display())]
    Corruption {
        /// The damaged file.
        path: PathBuf,
        /// Where in the file, in bytes from its start.
        offset: u64,
        /// What was expected and what was found.
        detail: String,
    },
    /// The file or directory was made by a newer version. Use that version to read it.
    #[error("{} has format version {found}; this version reads up to {supported}: use a newer duramen", path.display())]
    TooNew {
        /// The file that says so.
        path: PathBuf,
        /// Its format version.
        found: u32,
        /// The newest version this build reads.
        supported: u32,
    },
    /// A write or sync failed earlier, so the writer no longer knows what is on disk. Reopen to recover.
    #[error("the writer stopped after an earlier failure ({reason}); reopen the store to recover")]
    Poisoned {
        /// The first failure.
        reason: String,
    },
    /// A write would have to wait, and the caller asked not to. Nothing was written: try again later, or wait.
    #[error("the write would have to wait: {reason}")]
    Stalled {
        /// What for: a free write buffer, mostly.
        reason: Cow<'static, str>,
    },
    /// Every write buffer is full and the flush fails, so waiting is no use. Nothing was appended; once what is
    /// wrong is mended (a full disk, mostly), the same call works again.
    #[error("all write buffers are full and cannot be flushed: {reason}")]
    FlushFails {
        /// Why the flush fails.
        reason: String,
    },
    /// Another process holds what was asked for, or somebody else in this one: a second opening of the same directory.
    #[error("{} is locked by another process, or by this one, which has it open already", path.display())]
    Locked {
        /// The lock file.
        path: PathBuf,
    },
    /// It was opened in a parent of this process, whose threads and locks a fork does not bring along. Nothing was
    /// done: open it again here.
    #[error("opened before this process was forked from its parent: open it again in the child")]
    Forked,
    /// The call cannot be right: a record over the limit, an option out of range.
    #[error("{0}")]
    InvalidArgument(String),
}

/// The operation that an error names when records wait for room.
pub(crate) const WAITS_FOR_ROOM: &str = "write the WAL's records to";

impl Error {
    /// Wraps an error of the operating system with what was being done to which path.
    pub fn io(operation: &'static str, path: impl AsRef<Path>) -> impl FnOnce(io::Error) -> Self {
        let path = path.as_ref().to_path_buf();
        move |source| Self::Io { operation, path, source }
    }

    /// Bytes at `offset` of `path` are not what they should be.
    pub fn corruption(path: impl AsRef<Path>, offset: u64, detail: impl fmt::Display) -> Self {
        Self::Corruption { path: path.as_ref().to_path_buf(), offset, detail: detail.to_string() }
    }

    /// The same once more, for somebody else to be told.
    pub(crate) fn copied(&self) -> Self {
        match self {
            Self::Io { operation, path, source } => {
                let source = match source.raw_os_error() {
                    Some(code) => io::Error::from_raw_os_error(code),
                    None => io::Error::new(source.kind(), source.to_string()),
                };
                Self::Io { operation, path: path.clone(), source }
            }
            Self::Corruption { path, offset, detail } => Self::corruption(path, *offset, detail),
            Self::TooNew { path, found, supported } => {
                Self::TooNew { path: path.clone(), found: *found, supported: *supported }
            }
            Self::Poisoned { reason } => Self::Poisoned { reason: reason.clone() },
            Self::Stalled { reason } => Self::Stalled { reason: reason.clone() },
            Self::FlushFails { reason } => Self::FlushFails { reason: reason.clone() },
            Self::Locked { path } => Self::Locked { path: path.clone() },
            Self::Forked => Self::Forked,
            Self::InvalidArgument(what) => Self::InvalidArgument(what.clone()),
        }
    }

    /// Whether records that were appended to a WAL wait in memory for room in their file, which was full. All else is as it was, and
    /// later appends, or [`Wal::publish`](crate::wal::Wal::publish), try again.
    pub fn waits_for_room(&self) -> bool {
        matches!(self, Self::Io { operation: WAITS_FOR_ROOM, .. })
    }

    /// Whether the operating system said that something does not exist.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }

    /// Whether bytes on disk were found damaged.
    pub fn is_corruption(&self) -> bool {
        matches!(self, Self::Corruption { .. })
    }
}
