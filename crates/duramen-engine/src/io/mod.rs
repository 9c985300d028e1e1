//! Everything the engine asks of the operating system, behind traits.
//!
//! [`Env`] bundles a file system, a clock and a source of randomness; [`Env::os`] is the real one.
//! [`sim`] is one in memory that can lose power, fill up, tear writes and fail at any chosen operation.
//! No other module of the workspace's libraries touches files, clocks or randomness.

pub mod os;
pub mod sim;

mod copy;
mod in_the_making;
mod memory;
mod tree;
pub use copy::link_or_copy;
pub use in_the_making::InTheMaking;
pub(crate) use memory::KeptSegment;
pub use memory::SegmentMemory;
pub(crate) use tree::create_dir_durably;
pub use tree::remove_tree;

use std::fmt::Debug;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// The outside world, as the engine sees it. Cheap to clone; share one per store.
#[derive(Clone, Debug)]
pub struct Env {
    /// Files and directories.
    pub fs: Arc<dyn Fs>,
    /// Wall clock and monotonic clock.
    pub clock: Arc<dyn Clock>,
    /// Random numbers, for identities only: never for anything secret.
    pub random: Arc<dyn Random>,
}

impl Env {
    /// The operating system's files, clock and randomness.
    pub fn os() -> Self {
        Self {
            fs: Arc::new(os::OsFs),
            clock: Arc::new(os::OsClock::default()),
            random: Arc::new(os::OsRandom),
        }
    }
}

/// How [`Fs::open`] opens a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenMode {
    /// An existing file, for reading.
    Read,
    /// An existing file, for reading and writing.
    ReadWrite,
    /// A file that must not exist yet, for reading and writing.
    CreateNew,
}

/// One name in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirEntry {
    /// The name, without its directory. Names that are not UTF-8 are not ours and are left out.
    pub name: String,
    /// Whether it is a directory itself, and no link to one.
    pub is_dir: bool,
    /// Whether it is a file, or a link to one. What is neither cannot be opened: a pipe, a link to a directory or to nothing.
    pub is_file: bool,
    /// Its length in bytes, if it is a file.
    pub len: u64,
}

/// Files and directories. Every method may fail; none retries.
///
/// A created, renamed or removed name survives a loss of power only after [`Fs::sync_dir`] of its directory.
pub trait Fs: Send + Sync + Debug {
    /// Opens a file. `IsADirectory` if it is something else, a pipe or a device, too: to open such a thing may wait without end.
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>>;
    /// Creates the file, which must not exist, gives it `len` bytes of zeros with space reserved on the
    /// device, and maps it for writing.
    /// `ErrorKind::Unsupported` where the file system cannot reserve or map, or copies on write
    /// ([`os::CopiesOnWrite`]): use [`Fs::create_unmapped_segment`].
    /// `StorageFull` where there is no space, `InvalidInput` if `len` is 0. No failure leaves a file behind.
    fn create_segment(&self, path: &Path, len: usize) -> io::Result<Arc<dyn Segment>>;
    /// The same without a mapping: memory of our own, written to the file by [`Segment::publish`]. Space is
    /// reserved only where the file system can do that; elsewhere a full disk shows at publishing.
    fn create_unmapped_segment(&self, path: &Path, len: usize) -> io::Result<Arc<dyn Segment>>;
    /// Maps an existing file for reading, all of it. What a writer, here or in another process, writes
    /// through its own mapping is visible at once. It takes a descriptor only for the moment. `UnexpectedEof` if the file is empty, `Unsupported` where
    /// the file system cannot map: read it as a [`File`]. `IsADirectory` as with [`Fs::open`].
    fn open_segment(&self, path: &Path) -> io::Result<Arc<dyn Segment>>;
    /// Creates a directory and its missing parents. An existing directory is no error.
    fn create_dir_all(&self, path: &Path) -> io::Result<()>;
    /// The names in a directory, in no order.
    fn read_dir(&self, path: &Path) -> io::Result<Vec<DirEntry>>;
    /// Gives a file another name on the same file system, replacing what had it.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file's name. Those who have it open keep its bytes.
    fn remove_file(&self, path: &Path) -> io::Result<()>;
    /// Removes an empty directory.
    fn remove_dir(&self, path: &Path) -> io::Result<()>;
    /// Gives a file a second name on the same file system.
    fn hard_link(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Makes the directory's names durable.
    fn sync_dir(&self, path: &Path) -> io::Result<()>;
    /// The same path, but one that goes on to mean the same when the process changes its current directory; as it is
    /// where that cannot be told.
    fn absolute(&self, path: &Path) -> PathBuf;
    /// Whether anything has this name.
    fn exists(&self, path: &Path) -> io::Result<bool>;
    /// How many names a file has. While it has others, removing one of them frees nothing.
    fn links(&self, path: &Path) -> io::Result<u64>;
    /// How many more bytes an ordinary user may write to the file system that `path`, which exists, lies on.
    fn available_bytes(&self, path: &Path) -> io::Result<u64>;
    /// Takes the exclusive advisory lock on a file, creating it if missing, without waiting. `None` if
    /// another open file description holds it, in this process or another. It falls when the returned
    /// guard is dropped or the process ends, however it ends; its forked children do not hold it.
    fn try_lock(&self, path: &Path) -> io::Result<Option<Box<dyn Lock>>>;
    /// Takes a shared advisory lock on an existing file, which needs to be readable only, without waiting:
    /// any number may hold it, and nobody the exclusive one meanwhile. `None` if somebody holds that.
    fn try_lock_shared(&self, path: &Path) -> io::Result<Option<Box<dyn Lock>>>;
    /// Something that tells whether anything has changed; `None` where the system does not.
    fn watch(&self) -> Option<Box<dyn Watch>> {
        None
    }
}

/// Tells of changes made by any process of this machine, before the call returns that makes one.
pub trait Watch: Send + Sync + Debug {
    /// From now on tells of these and of nothing else: names that come into these directories, or go; these files' bytes. Says
    /// what [`Watch::changes`] says now. Fails where the system does not tell of all changes, or of no more; then, what it tells
    /// of is as before or more.
    fn only(&self, dirs: &[&Path], files: &[&Path]) -> io::Result<u64>;
    /// A number that is another one whenever something has changed, and may be when nothing has. `None` if it cannot be told
    /// just now.
    fn changes(&self) -> Option<u64>;
}

/// A held lock; dropping it releases it.
pub trait Lock: Send + Sync + Debug {}

/// An open file, read and written at offsets; there is no cursor, so threads may share one.
pub trait File: Send + Sync + Debug {
    /// Reads up to `buf.len()` bytes at `offset`; fewer at the end of the file, and then possibly 0.
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize>;
    /// Writes up to `buf.len()` bytes at `offset`, and says how many.
    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<usize>;
    /// The file's length in bytes.
    fn len(&self) -> io::Result<u64>;
    /// Whether the file has no bytes.
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }
    /// Cuts the file, or extends it with zeros.
    fn set_len(&self, len: u64) -> io::Result<()>;
    /// Makes the file's bytes, and its length, survive a loss of power (`fdatasync`).
    fn sync_data(&self) -> io::Result<()>;
    /// Says that so many bytes at `offset` will be read soon: a device that takes several requests at once can fetch them
    /// meanwhile. Does not wait for them. Only a hint: it never fails.
    fn will_read(&self, offset: u64, len: u64) {
        let _nothing_to_do = (offset, len);
    }

    /// Fills `buf` from `offset`; `ErrorKind::UnexpectedEof` if the file ends first.
    fn read_exact_at(&self, mut buf: &mut [u8], mut offset: u64) -> io::Result<()> {
        while !buf.is_empty() {
            match self.read_at(buf, offset) {
                Ok(0) => return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file ends too early")),
                Ok(n) => {
                    buf = &mut buf[n..];
                    offset += n as u64;
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    /// Writes all of `buf` at `offset`.
    fn write_all_at(&self, mut buf: &[u8], mut offset: u64) -> io::Result<()> {
        while !buf.is_empty() {
            match self.write_at(buf, offset) {
                Ok(0) => {
                    return Err(io::Error::new(io::ErrorKind::WriteZero, "the file takes no more bytes"));
                }
                Ok(n) => {
                    buf = &buf[n..];
                    offset += n as u64;
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }
}

/// A file of fixed size that is written front to back through memory: the arena of a memtable and the
/// WAL that recovers it are the same bytes.
pub trait Segment: Send + Sync + Debug {
    /// The bytes.
    fn memory(&self) -> &SegmentMemory;
    /// Whether writes to [`Segment::memory`] are in the file at once (a shared mapping). If not, they are
    /// only after [`Segment::publish`], and other processes cannot follow counters kept in memory.
    fn is_mapped(&self) -> bool;
    /// Hands the bytes `offset..offset + len` to the kernel, so that they survive this process. Does
    /// nothing for a mapped segment, whose writes already do. `InvalidInput` if there are no such bytes.
    fn publish(&self, offset: usize, len: usize) -> io::Result<()>;
    /// Whether a publication that failed with `StorageFull` or `QuotaExceeded` has harmed nothing that was published before, so
    /// that the same may be published once there is room. Not where the system writes first and finds out later.
    fn may_publish_again(&self) -> bool {
        false
    }
    /// Puts `bytes` at `offset` of the memory, and so of the file, by a call: a mapping's first write to a page after a
    /// sync takes a fault, which costs more than the call, and so does the sync after it. Who may do so is as with
    /// [`SegmentMemory::write`]. If it fails, some of the bytes may be there: write them to the memory.
    /// `Unsupported` if a call does not reach the memory; where that depends on the file system, look. `InvalidInput` if
    /// they do not fit.
    fn write_by_call(&self, offset: usize, bytes: &[u8]) -> io::Result<()> {
        let _nothing_is_written = (offset, bytes);
        Err(io::Error::new(io::ErrorKind::Unsupported, "a call does not reach the memory"))
    }
    /// Makes the bytes `offset..offset + len` survive a loss of power, and the file's length; of an unmapped
    /// segment, those that were published. Any offset will do. `InvalidInput` if there are no such bytes, or the segment was
    /// opened for reading.
    fn sync(&self, offset: usize, len: usize) -> io::Result<()>;
    /// Puts the first `len` bytes, all of them still zeros, on the device, and the file's length: a later sync of what
    /// is written there then has nothing else to write, neither which blocks are the file's nor that they are in use.
    /// Takes as long as writing them does. `InvalidInput` if the segment has not so many.
    fn sync_zeros(&self, len: usize) -> io::Result<()>;
    /// Takes the memory for the segment's first `len` bytes, which must all still be zeros, from the system at once, in pieces
    /// of `piece_bytes`, so that readying it ([`Segment::prefault`]), finding bytes in it, and giving it back cost less. A sync
    /// of a byte then writes all of the piece. Nothing of it counts as this process's memory until it is used. Only a hint.
    fn fill(&self, len: usize, piece_bytes: usize) {
        let _nothing_to_do = (len, piece_bytes);
    }
    /// Gets the memory of the bytes `offset..offset + len` ready, so that the first write to each page takes no
    /// fault. Only a hint: it never fails, and where it does nothing, writes are somewhat slower.
    fn prefault(&self, offset: usize, len: usize) {
        let _nothing_to_do = (offset, len);
    }
    /// Gives the memory back that the bytes `offset..offset + len` take in this process, where they can be had again from
    /// the file. Nothing is lost, and reading goes on, somewhat slower. Only a hint. Of an unmapped segment, all of these bytes
    /// were published, and are not written any more.
    fn unload(&self, offset: usize, len: usize) {
        let _nothing_to_do = (offset, len);
    }
    /// Cuts the file to its first `len` bytes and gives the rest of the space back. The memory keeps its
    /// address and its first `len` bytes; past them it must not be touched (mapped, the rest of the page
    /// turns to zeros and the next one ends the process). `InvalidInput` if `len` is more than the segment
    /// has, or if the segment was opened and not created.
    fn truncate(&self, len: usize) -> io::Result<()>;
}

/// Whether an operation failed because the process, or the system, has no file descriptor left.
pub(crate) fn is_out_of_files(error: &io::Error) -> bool {
    use rustix::io::Errno;
    Errno::from_io_error(error).is_some_and(|errno| errno == Errno::MFILE || errno == Errno::NFILE)
}

/// Time.
pub trait Clock: Send + Sync + Debug {
    /// Nanoseconds since 1970-01-01T00:00:00Z by the wall clock, which may jump either way.
    fn now_unix_ns(&self) -> i64;
    /// Time since some fixed moment; never goes back.
    fn monotonic(&self) -> Duration;
    /// Tells this run of the machine from all earlier ones: what was in memory before a loss of power is
    /// not now. 0 where the operating system does not say.
    fn boot_id(&self) -> u64;
}

/// Randomness for identities.
pub trait Random: Send + Sync + Debug {
    /// 64 random bits.
    fn next_u64(&self) -> u64;
}
