//! The log store's error: the engine's, and what only a log store can get wrong.

use duramen_engine::Error as EngineError;
use duramen_engine::io::os::is_out_of_descriptors;
use std::io::ErrorKind;
use std::path::PathBuf;

/// The result of every fallible call of the log store.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong, and so what the caller can do about it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The engine's: files, checksums, locks, stalls.
    #[error(transparent)]
    Engine(#[from] duramen_engine::Error),
    /// The directory holds something else.
    #[error("{} is not a duramen store: {detail}", path.display())]
    NotAStore {
        /// The directory.
        path: PathBuf,
        /// What tells.
        detail: String,
    },
    /// There is no store there, and the call does not make one.
    #[error("no store at {}: `duramen ingest --store {} FILE` makes one", path.display(), path.display())]
    NoStore {
        /// The directory.
        path: PathBuf,
    },
    /// A write or sync failed earlier, the writer was replaced, and lines from before are not in tables yet: a loss of
    /// power now might take them. The keeper is at it, or will be; ask again.
    #[error("{lines} lines from before a failure ({reason}) are not in tables yet")]
    NotYetSafe {
        /// How many, at most.
        lines: u64,
        /// The failure.
        reason: String,
    },
    /// Only the keeper can do that, another process is it, and did not give the role up within half a minute: it is
    /// stopped, has no background thread, or is an older version.
    #[error("another process holds {} and has not given it up within 30 s; end it and try again", path.display())]
    NoHandover {
        /// The lock it holds.
        path: PathBuf,
    },
    /// An entry or option is over a limit, or malformed.
    #[error("{0}")]
    Invalid(String),
    /// Bytes decoded from disk have the right checksum but make no sense: written by a fault in the program.
    #[error("cannot decode {what}: {detail}")]
    Decode {
        /// What was being decoded.
        what: &'static str,
        /// What was wrong.
        detail: String,
    },
    /// The store was opened for reading only.
    #[error("the store was opened for reading only")]
    ReadOnly,
}

impl Error {
    /// Whether the operating system said that something does not exist.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Engine(e) if e.is_not_found())
    }

    /// Whether a file could not be opened because the process, or all together, have as many open as they may.
    pub(crate) fn is_out_of_descriptors(&self) -> bool {
        matches!(self, Self::Engine(EngineError::Io { source, .. }) if is_out_of_descriptors(source))
    }

    /// Whether bytes on disk were found damaged: what they held is lost, everything else is not.
    pub fn is_corruption(&self) -> bool {
        matches!(self, Self::Engine(e) if e.is_corruption()) || matches!(self, Self::Decode { .. })
    }

    /// Whether an append failed for want of room only, of write buffers or on the disk: nothing was appended, and
    /// later it may work.
    pub fn is_full(&self) -> bool {
        match self {
            Self::Engine(EngineError::Stalled { .. } | EngineError::FlushFails { .. }) => true,
            Self::Engine(EngineError::Io { source, operation: "prepare WAL segment", .. }) => {
                matches!(source.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
            }
            _ => false,
        }
    }

    /// Whether what was appended waits in memory, as the disk is full, and goes to its file as soon as there is room: it is not to
    /// be appended again.
    pub fn waits_for_room(&self) -> bool {
        matches!(self, Self::Engine(e) if e.waits_for_room())
    }

    /// Whether a failed write or sync has stopped the writer.
    pub fn is_stopped(&self) -> bool {
        matches!(self, Self::Engine(EngineError::Poisoned { .. }))
    }

    /// Decoded bytes make no sense.
    pub fn decode(what: &'static str, detail: impl std::fmt::Display) -> Self {
        Self::Decode { what, detail: detail.to_string() }
    }
}
