//! A world in memory that a test controls: files, directories, clock and randomness, all from one seed.
//!
//! A [`Sim`] is a machine. [`Sim::env`] is what a program running on it sees: an [`Env`] like the real one.
//! The test stands outside and can pull the plug, kill the program, fill the disk, or let any single
//! operation fail. The same seed and the same calls give the same world.
//!
//! ```
//! use duramen_engine::io::{OpenMode, sim::{Fault, Sim}};
//! use std::path::Path;
//!
//! let sim = Sim::new(7);
//! let fs = sim.env().fs;
//! let file = fs.open(Path::new("a"), OpenMode::CreateNew)?;
//! file.write_all_at(b"kept", 0)?;
//! file.sync_data()?; // the bytes are safe now,
//! fs.sync_dir(Path::new("/"))?; // and so is the name
//! file.write_all_at(b"lost", 4)?;
//! assert_eq!(sim.trace().last().unwrap(), "write a 4..8");
//!
//! sim.crash_power_keeping(0); // nothing unsynced survives
//! assert_eq!(sim.read_file(Path::new("a"))?, b"kept");
//! assert!(file.len().is_err(), "handles from before the crash are dead");
//!
//! sim.fail_at(sim.operations(), Fault::NoSpace);
//! let full = sim.env().fs.open(Path::new("b"), OpenMode::CreateNew).unwrap_err();
//! assert_eq!(full.kind(), std::io::ErrorKind::StorageFull);
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! # What a loss of power keeps
//!
//! - What was synced: a file's blocks by [`File::sync_data`](super::File::sync_data) or
//!   [`Segment::sync`](super::Segment::sync) (which covers its range of blocks only), and with either the
//!   file's length; a directory's names by [`Fs::sync_dir`](super::Fs::sync_dir) of exactly that directory.
//!   A directory is itself a name in its parent.
//! - Of the rest, anything: each unsynced 4 KiB block is old, new, or torn at a 512-byte sector; each
//!   unsynced creation, removal, rename and link happened or did not, independent of the others; the length
//!   is the synced one, any it has had since, or one of these cut down to a block.
//! - A rename is atomic: both names changed or neither. Between directories it is durable once the
//!   directory of the new name is synced.
//!
//! # Where it differs from an operating system
//!
//! - The root directory always exists; relative paths begin there; `..` is resolved by text; there are no
//!   permissions and no symbolic links. A file has at most 4 GiB.
//! - A file cannot grow while it is mapped (`Unsupported`). Memory past the end of a truncated mapped
//!   segment reads as zeros where the real thing ends the process.
//! - What is written through a mapping is no operation: nothing can make it fail, and it counts as
//!   unsynced. It survives the end of a process whatever happens.
//! - Opening a directory for reading fails at once with `IsADirectory`, not at the first read.
//!
//! | file | what it holds |
//! |---|---|
//! | `world.rs` | the state behind one lock: inodes, handles, processes; how an operation runs |
//! | `directory.rs` | names: looking them up, changing them, making changes durable |
//! | `bytes.rs` | a file's bytes, now and on the device |
//! | `region.rs` | the memory that mappings share |
//! | `fs.rs`, `file.rs`, `segment.rs` | the traits of [`io`](super), in terms of the world |
//! | `fault.rs` | kinds of operations, and what can go wrong with which |
//! | `crash.rs` | ends of processes and losses of power |
//! | `clock.rs`, `random.rs` | time and chance |

mod bytes;
mod clock;
mod crash;
mod directory;
mod fault;
mod file;
mod fs;
mod random;
mod region;
mod segment;
mod watch;
mod world;

pub use clock::SimClock;
pub use fault::{Fault, OperationKind};
pub use fs::SimFs;
pub use random::SimRandom;

use crate::io::{Clock, Env};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use world::{Shared, World};

/// A simulated machine, held by the test. Cheap to clone, shared between clones, safe to use from any thread.
#[derive(Clone, Debug)]
pub struct Sim {
    shared: Arc<Shared>,
    clock: Arc<SimClock>,
    random: Arc<SimRandom>,
}

impl Sim {
    /// A machine with an empty disk, no limits, and the clock at 2026-01-01T00:00:00Z.
    pub fn new(seed: u64) -> Self {
        Self {
            shared: Arc::new(Shared::new(seed)),
            clock: Arc::new(SimClock::default()),
            random: Arc::new(SimRandom::new(seed)),
        }
    }

    fn world(&self) -> std::sync::MutexGuard<'_, World> {
        self.shared.lock()
    }

    /// What the program on this machine sees. After a crash, ask again: the old one is dead.
    pub fn env(&self) -> Env {
        let process = self.world().main_process;
        self.env_of(process)
    }

    fn env_of(&self, process: u64) -> Env {
        Env {
            fs: Arc::new(SimFs::new(Arc::clone(&self.shared), process)),
            clock: Arc::clone(&self.clock) as _,
            random: Arc::clone(&self.random) as _,
        }
    }

    /// The machine's clock, which the test sets. It runs on through crashes.
    pub fn clock(&self) -> &SimClock {
        &self.clock
    }

    /// The clock, going on by so much each time that the monotonic one is read.
    pub fn ticking_clock(&self, by: Duration) -> Arc<dyn Clock> {
        Arc::new(clock::Ticking { clock: self.clock.clone(), by })
    }

    /// Starts one more process on this machine: it sees the same files and has locks and handles of its own.
    pub fn spawn_process(&self) -> SimProcess {
        let id = self.world().start_process();
        SimProcess { sim: self.clone(), id }
    }

    /// Ends every process at once, as `kill -9` would. Locks fall, old handles fail for ever, and memory
    /// they still map is cut off from the files. Everything written survives, synced or not. Faults that
    /// did not strike yet are disarmed.
    pub fn crash_process(&self) {
        self.world().crash_process();
    }

    /// Ends every process and loses power: of what was not synced, an arbitrary part survives, from
    /// nothing to everything. How much is chosen from the seed.
    pub fn crash_power(&self) {
        self.clock.reboot();
        self.world().crash_power(None);
    }

    /// As [`Sim::crash_power`], where each unsynced change survives with a probability of `keep_percent`:
    /// 0 keeps nothing, 100 and more everything; in between, some blocks are torn too.
    pub fn crash_power_keeping(&self, keep_percent: u8) {
        self.clock.reboot();
        self.world().crash_power(Some(keep_percent.min(100)));
    }

    /// Makes everything written so far survive a loss of power, names and bytes, as `sync(2)` would. Not
    /// an operation.
    pub fn sync_all(&self) {
        self.world().sync_all();
    }

    /// How many operations there have been, and so the index of the next one.
    pub fn operations(&self) -> u64 {
        self.world().log.len() as u64
    }

    /// One line per operation, in order, so that the line's position is the operation's index:
    ///
    /// ```text
    /// open a               create a            lock a             exists a
    /// open_write a         create_segment a 65536                 create_unmapped_segment a 65536
    /// read a 0..16         open_segment a      read_dir a         create_dir_all a
    /// write a 0..16        len a               remove a           remove_dir a
    /// sync a               set_len a 16        rename a b         link a b
    /// sync a 0..16         publish a 0..16     truncate a 16      sync_dir a
    /// available_bytes a    lock_shared a
    /// ```
    ///
    /// Paths are relative to the root, which is `/`; an open file keeps the name it was opened by. A sync
    /// with a range is a segment's. Where the operation failed, ` -> ` and the error's kind follow.
    pub fn trace(&self) -> Vec<String> {
        self.world().log.iter().map(|operation| operation.text.clone()).collect()
    }

    /// The indices of the operations of one kind so far, to arm faults at them in a second run.
    pub fn indices_of(&self, kind: OperationKind) -> Vec<u64> {
        let world = self.world();
        (0u64..).zip(&world.log).filter(|(_, operation)| operation.kind == kind).map(|(i, _)| i).collect()
    }

    /// Lets the operation with this index, counted as in [`Sim::operations`], suffer `fault`. An operation
    /// of a kind that cannot suffer it passes unharmed; [`Sim::faults_struck`] tells.
    pub fn fail_at(&self, index: u64, fault: Fault) {
        self.world().armed.insert(index, fault);
    }

    /// The indices of the operations that suffered an armed fault.
    pub fn faults_struck(&self) -> Vec<u64> {
        self.world().struck.clone()
    }

    /// Whether [`Fault::Crash`] or [`Fault::TornWrite`] has struck, so that every operation fails until
    /// [`Sim::crash_process`] or [`Sim::crash_power`] starts the machine anew.
    pub fn is_halted(&self) -> bool {
        self.world().halted
    }

    /// The size of the disk in bytes; `None`, the default, is without end. Space is taken in blocks of
    /// 4 KiB: by written blocks, and by all of a segment that is created mapped. Beyond it, writes are
    /// short and then fail with `StorageFull`, until files are removed and closed or the disk grows.
    pub fn set_capacity_bytes(&self, capacity_bytes: Option<u64>) {
        self.world().limits.capacity_bytes = capacity_bytes;
    }

    /// How many files, segments and locks a process may hold open; `None`, the default, is without end.
    /// One more fails with `EMFILE`. Listing or syncing a directory needs one too, for the moment, and so does mapping a segment
    /// to read it.
    pub fn set_max_open_files(&self, max_open_files: Option<usize>) {
        self.world().limits.max_open_files = max_open_files;
    }

    /// Whether [`Fs::create_segment`](super::Fs::create_segment) says `Unsupported`, as on a file system
    /// that cannot reserve space. Off by default.
    pub fn refuse_reserving(&self, refuse: bool) {
        self.world().limits.refuse_reserving = refuse;
    }

    /// Whether [`Fs::create_segment`](super::Fs::create_segment) and
    /// [`Fs::open_segment`](super::Fs::open_segment) say `Unsupported`, as on a file system that cannot map at all.
    /// Off by default.
    pub fn refuse_mapping(&self, refuse: bool) {
        self.world().limits.refuse_mapping = refuse;
    }

    /// Whether every change fails with `ReadOnlyFilesystem`. Off by default.
    pub fn set_read_only(&self, read_only: bool) {
        self.world().limits.read_only = read_only;
    }

    /// The space taken on the disk, in bytes; see [`Sim::set_capacity_bytes`].
    pub fn used_bytes(&self) -> u64 {
        self.world().used_bytes()
    }

    /// How many files, segments that are written, and locks are open, in all processes.
    pub fn open_files(&self) -> usize {
        self.world().open_files().count()
    }

    /// The paths of all files, sorted, relative to the root.
    pub fn files(&self) -> Vec<String> {
        self.world().files()
    }

    /// The bytes of a file. Not an operation.
    ///
    /// # Errors
    /// `NotFound`, or `IsADirectory`.
    pub fn read_file(&self, path: &Path) -> io::Result<Vec<u8>> {
        let world = self.world();
        let inode = world.resolve(path)?;
        let bytes = world.bytes(inode)?;
        let mut content = vec![0; bytes.len() as usize];
        bytes.read(0, &mut content);
        Ok(content)
    }

    /// Damages a file: turns the bit `bit_index` (bit 0 is the lowest of the first byte) both in what
    /// readers see and in what is on the device. Not an operation.
    ///
    /// # Errors
    /// `NotFound`, `IsADirectory`, or `InvalidInput` if the file has no such bit.
    pub fn flip_bit(&self, path: &Path, bit_index: u64) -> io::Result<()> {
        let mut world = self.world();
        let inode = world.resolve(path)?;
        world.bytes_mut(inode)?.flip_bit(bit_index)
    }
}

/// One process of a simulated machine, besides those behind [`Sim::env`].
#[derive(Debug)]
pub struct SimProcess {
    sim: Sim,
    id: u64,
}

impl SimProcess {
    /// What this process sees.
    pub fn env(&self) -> Env {
        self.sim.env_of(self.id)
    }

    /// Ends this process alone, as `kill -9` would: its locks fall and its handles fail for ever. Threads
    /// of it that run on can still write through their mappings: join them first.
    pub fn kill(self) {
        self.sim.world().end_process(self.id);
    }
}
