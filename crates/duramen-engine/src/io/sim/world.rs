//! The state of a simulated machine, behind one lock, and the frame in which every operation runs.

use super::bytes::{BLOCK_BYTES, FileBytes};
use super::directory::{Directory, NameChange, ROOT};
use super::fault::{Fault, OperationKind, crashed, errno};
use super::random::Dice;
use rustix::io::Errno;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::{fmt, io};

/// What every handle of a machine points to.
pub(super) struct Shared(Mutex<World>);

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Shared(..)") // the world is large and may be locked
    }
}

impl Shared {
    pub(super) fn new(seed: u64) -> Self {
        let mut world = World {
            inodes: BTreeMap::from([(ROOT, Inode::Directory(Directory::default()))]),
            next_inode: ROOT + 1,
            pending: Vec::new(),
            handles: BTreeMap::new(),
            only_mapped: BTreeSet::new(),
            next_handle: 0,
            locks: BTreeMap::new(),
            processes: BTreeSet::new(),
            next_process: 0,
            main_process: 0,
            halted: false,
            log: Vec::new(),
            armed: BTreeMap::new(),
            struck: Vec::new(),
            limits: Limits::default(),
            changes: BTreeMap::new(),
            dice: Dice::new(seed),
        };
        world.main_process = world.start_process();
        Self(Mutex::new(world))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, World> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs one operation of `process`: refuses it if the process is dead, counts it, lets an armed fault
    /// strike, and writes its outcome to the trace. `run` gets the faults that need its help.
    pub(super) fn operate<T>(
        &self,
        process: u64,
        kind: OperationKind,
        what: fmt::Arguments<'_>,
        run: impl FnOnce(&mut World, Option<Fault>) -> io::Result<T>,
    ) -> io::Result<T> {
        let mut world = self.lock();
        if world.halted || !world.processes.contains(&process) {
            return Err(crashed());
        }
        let index = world.log.len();
        world.log.push(Operation { kind, text: format!("{} {what}", kind.word()) });
        let outcome = world.begin(process, kind).and_then(|fault| run(&mut world, fault));
        if let Err(e) = &outcome {
            use fmt::Write;
            let _strings_take_all = write!(world.log[index].text, " -> {:?}", e.kind());
        }
        outcome
    }
}

pub(super) struct Operation {
    pub(super) kind: OperationKind,
    pub(super) text: String,
}

#[derive(Default)]
pub(super) struct Limits {
    pub(super) capacity_bytes: Option<u64>,
    pub(super) max_open_files: Option<usize>,
    pub(super) refuse_reserving: bool,
    pub(super) refuse_mapping: bool,
    pub(super) read_only: bool,
}

pub(super) enum Inode {
    Directory(Directory),
    File {
        bytes: FileBytes,
        /// How many names it has now.
        links: usize,
    },
}

pub(super) struct World {
    pub(super) inodes: BTreeMap<u64, Inode>,
    pub(super) next_inode: u64,
    /// Changes of names that are not durable yet, in order.
    pub(super) pending: Vec<NameChange>,
    /// Open files, segments and locks: the process and the inode of each.
    pub(super) handles: BTreeMap<u64, (u64, u64)>,
    pub(super) next_handle: u64,
    /// Those of them that keep a file's bytes and take no descriptor.
    pub(super) only_mapped: BTreeSet<u64>,
    /// Locked inodes and by which handles; whether to the exclusion of others.
    pub(super) locks: BTreeMap<(u64, u64), bool>,
    pub(super) processes: BTreeSet<u64>,
    pub(super) next_process: u64,
    pub(super) main_process: u64,
    pub(super) halted: bool,
    pub(super) log: Vec<Operation>,
    pub(super) armed: BTreeMap<u64, Fault>,
    pub(super) struck: Vec<u64>,
    pub(super) limits: Limits,
    /// How often a directory's names, or a file's bytes, have changed by a call.
    pub(super) changes: BTreeMap<u64, u64>,
    pub(super) dice: Dice,
}

impl World {
    /// The fault for the operation just logged: an error if that is all there is to it.
    fn begin(&mut self, process: u64, kind: OperationKind) -> io::Result<Option<Fault>> {
        let index = self.log.len() as u64 - 1;
        if let Some(fault) = self.armed.remove(&index).filter(|fault| fault.strikes(kind)) {
            self.struck.push(index);
            match fault {
                Fault::Crash => return Err(self.halt()),
                Fault::TornWrite if !matches!(kind, OperationKind::Write | OperationKind::Publish) => {
                    return Err(self.halt());
                }
                Fault::NoSpace => return Err(errno(Errno::NOSPC)),
                Fault::TooManyFiles => return Err(errno(Errno::MFILE)),
                Fault::ReadError => return Err(errno(Errno::IO)),
                Fault::TornWrite | Fault::SyncFailed | Fault::FlipBit | Fault::ShortWrite => {
                    return Ok(Some(fault));
                }
            }
        }
        if kind.opens() {
            let open = self.open_files().filter(|owner| *owner == process).count();
            if self.limits.max_open_files.is_some_and(|max| open >= max) {
                return Err(errno(Errno::MFILE));
            }
        }
        if self.limits.read_only && kind.changes() {
            return Err(errno(Errno::ROFS));
        }
        Ok(None)
    }

    /// Stops the machine: nothing works any more.
    pub(super) fn halt(&mut self) -> io::Error {
        self.halted = true;
        crashed()
    }

    pub(super) fn start_process(&mut self) -> u64 {
        self.next_process += 1;
        self.processes.insert(self.next_process);
        self.next_process
    }

    /// The locks held on an inode: whether each is exclusive.
    pub(super) fn locks_on(&self, inode: u64) -> impl Iterator<Item = bool> {
        self.locks.range((inode, 0)..=(inode, u64::MAX)).map(|(_, exclusive)| *exclusive)
    }

    pub(super) fn open_handle(&mut self, process: u64, inode: u64) -> u64 {
        self.next_handle += 1;
        self.handles.insert(self.next_handle, (process, inode));
        self.next_handle
    }

    /// The processes that have files, segments and locks open, once for each.
    pub(super) fn open_files(&self) -> impl Iterator<Item = u64> {
        let takes_one = |(id, _): &(&u64, _)| !self.only_mapped.contains(id);
        self.handles.iter().filter(takes_one).map(|(_, (owner, _))| *owner)
    }

    fn close_handle(&mut self, id: u64) {
        self.only_mapped.remove(&id);
        if self.handles.remove(&id).is_some() {
            self.locks.retain(|(_, holder), _| *holder != id);
            self.forget_unreachable();
        }
    }

    /// Tells those who watch it.
    pub(super) fn has_changed(&mut self, inode: u64) {
        *self.changes.entry(inode).or_insert(0) += 1;
    }

    pub(super) fn new_inode(&mut self, inode: Inode) -> u64 {
        let id = self.next_inode;
        self.next_inode += 1;
        self.inodes.insert(id, inode);
        id
    }

    pub(super) fn bytes(&self, inode: u64) -> io::Result<&FileBytes> {
        match self.inodes.get(&inode) {
            Some(Inode::File { bytes, .. }) => Ok(bytes),
            Some(Inode::Directory(_)) => Err(errno(Errno::ISDIR)),
            None => Err(errno(Errno::NOENT)),
        }
    }

    pub(super) fn bytes_mut(&mut self, inode: u64) -> io::Result<&mut FileBytes> {
        match self.inodes.get_mut(&inode) {
            Some(Inode::File { bytes, .. }) => Ok(bytes),
            Some(Inode::Directory(_)) => Err(errno(Errno::ISDIR)),
            None => Err(errno(Errno::NOENT)),
        }
    }

    /// Writes as much of `buf` as the disk has room for, and says how much.
    pub(super) fn write(&mut self, inode: u64, buf: &[u8], offset: u64) -> io::Result<usize> {
        let room = self.free_blocks();
        let bytes = self.bytes_mut(inode)?;
        let fitting = bytes.fitting(offset, buf.len(), room);
        if fitting == 0 && !buf.is_empty() {
            return Err(errno(Errno::NOSPC));
        }
        bytes.write(offset, &buf[..fitting])?;
        Ok(fitting)
    }

    pub(super) fn free_blocks(&self) -> u64 {
        let free = |capacity: u64| capacity.saturating_sub(self.used_bytes()) / BLOCK_BYTES as u64;
        self.limits.capacity_bytes.map_or(u64::MAX, free)
    }

    /// What is left of the capacity; without one, as much as there can be.
    pub(super) fn links(&self, inode: u64) -> io::Result<u64> {
        match self.inodes.get(&inode) {
            Some(Inode::File { links, .. }) => Ok(*links as u64),
            _ => Err(errno(Errno::ISDIR)),
        }
    }

    pub(super) fn available_bytes(&self) -> u64 {
        self.limits.capacity_bytes.map_or(u64::MAX, |capacity| capacity.saturating_sub(self.used_bytes()))
    }

    pub(super) fn used_bytes(&self) -> u64 {
        let open: BTreeSet<u64> = self.handles.values().map(|(_, inode)| *inode).collect();
        let used = |(id, inode): (&u64, &Inode)| match inode {
            Inode::File { bytes, links } if *links > 0 || open.contains(id) => bytes.used_blocks(),
            _ => 0,
        };
        self.inodes.iter().map(used).sum::<u64>() * BLOCK_BYTES as u64
    }
}

/// A place in the table of open files, held by a file, segment or lock.
#[derive(Debug)]
pub(super) struct Handle {
    pub(super) shared: Arc<Shared>,
    pub(super) process: u64,
    pub(super) inode: u64,
    pub(super) path: String,
    id: u64,
}

impl Handle {
    /// `id` is from [`World::open_handle`].
    pub(super) fn new(shared: Arc<Shared>, process: u64, inode: u64, path: String, id: u64) -> Self {
        Self { shared, process, inode, path, id }
    }

    pub(super) fn operate<T>(
        &self,
        kind: OperationKind,
        details: fmt::Arguments<'_>,
        run: impl FnOnce(&mut World, Option<Fault>) -> io::Result<T>,
    ) -> io::Result<T> {
        self.shared.operate(self.process, kind, format_args!("{}{details}", self.path), run)
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.shared.lock().close_handle(self.id);
    }
}
