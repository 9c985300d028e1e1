//! What an operation is, and what can go wrong with it.

use rustix::io::Errno;
use std::io;

/// What an operation does. One method call of [`Fs`](crate::io::Fs), [`File`](crate::io::File) or
/// [`Segment`](crate::io::Segment) is one operation, except that `publish` of a mapped segment and writes
/// through its memory are none, as they make no system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the method of the same name")]
pub enum OperationKind {
    /// `Fs::open` for reading.
    Open,
    /// `Fs::open` for reading and writing.
    OpenWrite,
    /// `Fs::open` of a new file.
    Create,
    CreateSegment,
    CreateUnmappedSegment,
    OpenSegment,
    CreateDirAll,
    ReadDir,
    Rename,
    /// `Fs::remove_file`.
    Remove,
    RemoveDir,
    /// `Fs::hard_link`.
    Link,
    SyncDir,
    Exists,
    AvailableBytes,
    /// `Fs::try_lock`.
    Lock,
    /// `Fs::try_lock_shared`.
    LockShared,
    /// `File::read_at`.
    Read,
    /// `File::write_at`.
    Write,
    Len,
    SetLen,
    /// `File::sync_data` or `Segment::sync`.
    Sync,
    Publish,
    Truncate,
}

/// What goes wrong at one chosen operation; see [`Sim::fail_at`](super::Sim::fail_at).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The operation does nothing, and it and everything after it fails, until
    /// [`Sim::crash_process`](super::Sim::crash_process) or [`Sim::crash_power`](super::Sim::crash_power).
    /// Memory that is mapped can still be written until then.
    Crash,
    /// A write or publish writes a part; then as `Crash`. For other operations, the same as `Crash`.
    TornWrite,
    /// `StorageFull` (`ENOSPC`), for operations that create or write.
    NoSpace,
    /// `EMFILE`, for operations that open something.
    TooManyFiles,
    /// A sync fails with `EIO`. As on Linux, the file's unsynced blocks then count as clean though they
    /// are not durable: a later sync succeeds and leaves them out, unless they were written again. A
    /// directory's names just stay unsynced.
    SyncFailed,
    /// `EIO`, for reads of files and directories.
    ReadError,
    /// A read succeeds with one wrong bit, chosen from the seed.
    FlipBit,
    /// A write takes only a part, at least one byte, and says so. Writes of one byte take it.
    ShortWrite,
}

impl OperationKind {
    /// The word in a trace.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::OpenWrite => "open_write",
            Self::Create => "create",
            Self::CreateSegment => "create_segment",
            Self::CreateUnmappedSegment => "create_unmapped_segment",
            Self::OpenSegment => "open_segment",
            Self::CreateDirAll => "create_dir_all",
            Self::ReadDir => "read_dir",
            Self::Rename => "rename",
            Self::Remove => "remove",
            Self::RemoveDir => "remove_dir",
            Self::Link => "link",
            Self::SyncDir => "sync_dir",
            Self::Exists => "exists",
            Self::AvailableBytes => "available_bytes",
            Self::Lock => "lock",
            Self::LockShared => "lock_shared",
            Self::Read => "read",
            Self::Write => "write",
            Self::Len => "len",
            Self::SetLen => "set_len",
            Self::Sync => "sync",
            Self::Publish => "publish",
            Self::Truncate => "truncate",
        }
    }

    /// Whether it changes something on disk, so that a read-only file system refuses it.
    pub(super) fn changes(self) -> bool {
        match self {
            // Taking a lock opens its file for writing. A directory may be there already.
            Self::OpenWrite | Self::Create | Self::CreateSegment | Self::CreateUnmappedSegment => true,
            Self::Rename | Self::Remove | Self::RemoveDir | Self::Link | Self::Lock => true,
            Self::Write | Self::SetLen | Self::Publish | Self::Truncate => true,
            Self::Open | Self::OpenSegment | Self::CreateDirAll | Self::ReadDir | Self::SyncDir => false,
            Self::Exists | Self::Read | Self::Len | Self::Sync | Self::LockShared => false,
            Self::AvailableBytes => false,
        }
    }

    /// Whether it needs a file descriptor, if only for the moment.
    pub(super) fn opens(self) -> bool {
        matches!(
            self,
            Self::Open
                | Self::OpenWrite
                | Self::Create
                | Self::CreateSegment
                | Self::CreateUnmappedSegment
                | Self::OpenSegment
                | Self::ReadDir
                | Self::SyncDir
                | Self::LockShared
                | Self::Lock
        )
    }

    fn needs_space(self) -> bool {
        matches!(
            self,
            Self::Create
                | Self::CreateSegment
                | Self::CreateUnmappedSegment
                | Self::CreateDirAll
                | Self::Rename
                | Self::Link
                | Self::Write
                | Self::SetLen
                | Self::Publish
        )
    }
}

impl Fault {
    /// Whether an operation of this kind can suffer it.
    pub(super) fn strikes(self, kind: OperationKind) -> bool {
        match self {
            Self::Crash | Self::TornWrite => true,
            Self::NoSpace => kind.needs_space(),
            Self::TooManyFiles => kind.opens(),
            Self::SyncFailed => matches!(kind, OperationKind::Sync | OperationKind::SyncDir),
            Self::ReadError => matches!(kind, OperationKind::Read | OperationKind::ReadDir),
            Self::FlipBit => kind == OperationKind::Read,
            Self::ShortWrite => kind == OperationKind::Write,
        }
    }
}

/// The error every operation of a dead process or halted machine gets.
pub(super) fn crashed() -> io::Error {
    io::Error::other("the simulated process has crashed")
}

/// An error as the operating system would give it, kind and number.
pub(super) fn errno(errno: Errno) -> io::Error {
    errno.into()
}
