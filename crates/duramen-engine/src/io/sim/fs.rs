//! The simulated file system.

use super::bytes::{BLOCK_BYTES, FileBytes};
use super::directory::shown;
use super::fault::{Fault, OperationKind, errno};
use super::file::{SimFile, SimLock};
use super::region::Region;
use super::segment::SimSegment;
use super::watch::SimWatch;
use super::world::{Handle, Inode, Shared, World};
use crate::io::{DirEntry, File, Fs, Lock, OpenMode, Segment, Watch};
use rustix::io::Errno;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The file system of a [`Sim`](super::Sim), as one process sees it: from
/// [`Sim::env`](super::Sim::env). Cheap to clone; threads may share it. Dead after a crash: then every
/// call fails.
#[derive(Clone, Debug)]
pub struct SimFs {
    shared: Arc<Shared>,
    process: u64,
}

impl SimFs {
    pub(super) fn new(shared: Arc<Shared>, process: u64) -> Self {
        Self { shared, process }
    }

    fn operate<T>(
        &self,
        kind: OperationKind,
        path: &Path,
        run: impl FnOnce(&mut World, Option<Fault>) -> io::Result<T>,
    ) -> io::Result<T> {
        self.shared.operate(self.process, kind, format_args!("{}", shown(path)), run)
    }

    /// The handle on an inode for what was opened by `path`. Only outside of the world's lock may it be
    /// dropped, hence not built inside.
    fn handle(&self, path: &Path, (inode, id): (u64, u64)) -> Handle {
        Handle::new(Arc::clone(&self.shared), self.process, inode, shown(path), id)
    }

    /// Opens the file that has this name, `make`-ing it if there is none.
    fn open_or(
        &self,
        world: &mut World,
        path: &Path,
        make: impl FnOnce() -> io::Result<FileBytes>,
    ) -> io::Result<(u64, u64)> {
        let (parent, name, found) = world.resolve_name(path)?;
        let inode = match found {
            Some(inode) => inode,
            None => {
                let made = world.new_inode(Inode::File { bytes: make()?, links: 0 });
                // Opened before it is named, so that it is never without either.
                let handle = world.open_handle(self.process, made);
                world.change_names(parent, vec![(parent, name, Some(made))]);
                return Ok((made, handle));
            }
        };
        world.bytes(inode)?;
        Ok((inode, world.open_handle(self.process, inode)))
    }

    fn create(
        &self,
        world: &mut World,
        path: &Path,
        make: impl FnOnce() -> io::Result<FileBytes>,
    ) -> io::Result<(u64, u64)> {
        if world.resolve_name(path)?.2.is_some() {
            return Err(errno(Errno::EXIST));
        }
        self.open_or(world, path, make)
    }
}

fn not_empty(len: usize) -> io::Result<()> {
    if len == 0 { Err(errno(Errno::INVAL)) } else { Ok(()) }
}

fn told_not_to(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, format!("the simulator was told not to {what}"))
}

impl Fs for SimFs {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        let kind = match mode {
            OpenMode::Read => OperationKind::Open,
            OpenMode::ReadWrite => OperationKind::OpenWrite,
            OpenMode::CreateNew => OperationKind::Create,
        };
        let opened = self.operate(kind, path, |world, _| match mode {
            OpenMode::CreateNew => self.create(world, path, FileBytes::empty),
            OpenMode::Read | OpenMode::ReadWrite => self.open_or(world, path, || Err(errno(Errno::NOENT))),
        })?;
        Ok(Arc::new(SimFile { handle: self.handle(path, opened), writable: mode != OpenMode::Read }))
    }

    fn create_segment(&self, path: &Path, len: usize) -> io::Result<Arc<dyn Segment>> {
        let what = format!("{} {len}", shown(path));
        let run = |world: &mut World, _: Option<Fault>| {
            not_empty(len)?;
            if world.resolve_name(path)?.2.is_some() {
                return Err(errno(Errno::EXIST));
            }
            if world.limits.refuse_reserving {
                return Err(told_not_to("reserve"));
            }
            if world.limits.refuse_mapping {
                return Err(told_not_to("map"));
            }
            if len.div_ceil(BLOCK_BYTES) as u64 > world.free_blocks() {
                return Err(errno(Errno::NOSPC));
            }
            let opened = self.create(world, path, || FileBytes::reserved(len as u64))?;
            Ok((opened, world.bytes_mut(opened.0)?.map(true)))
        };
        let kind = OperationKind::CreateSegment;
        let (opened, region) = self.shared.operate(self.process, kind, format_args!("{what}"), run)?;
        Ok(Arc::new(SimSegment::new(region, len, self.handle(path, opened), true, true)))
    }

    fn create_unmapped_segment(&self, path: &Path, len: usize) -> io::Result<Arc<dyn Segment>> {
        let what = format!("{} {len}", shown(path));
        let run = |world: &mut World, _: Option<Fault>| {
            not_empty(len)?;
            let opened = self.create(world, path, || {
                let mut bytes = FileBytes::empty()?;
                bytes.set_len(len as u64)?;
                Ok(bytes)
            })?;
            Ok((opened, Arc::new(Region::new(len)?)))
        };
        let kind = OperationKind::CreateUnmappedSegment;
        let (opened, region) = self.shared.operate(self.process, kind, format_args!("{what}"), run)?;
        Ok(Arc::new(SimSegment::new(region, len, self.handle(path, opened), false, true)))
    }

    fn open_segment(&self, path: &Path) -> io::Result<Arc<dyn Segment>> {
        let (opened, region, len) = self.operate(OperationKind::OpenSegment, path, |world, _| {
            let inode = world.resolve(path)?;
            let refuse_mapping = world.limits.refuse_mapping;
            let bytes = world.bytes_mut(inode)?;
            if bytes.len() == 0 {
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the segment is empty"));
            }
            if refuse_mapping {
                return Err(told_not_to("map"));
            }
            let (region, len) = (bytes.map(false), bytes.len() as usize);
            let handle = world.open_handle(self.process, inode);
            world.only_mapped.insert(handle);
            Ok(((inode, handle), region, len))
        })?;
        Ok(Arc::new(SimSegment::new(region, len, self.handle(path, opened), true, false)))
    }

    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        self.operate(OperationKind::CreateDirAll, path, |world, _| world.create_dir_all(path))
    }

    fn read_dir(&self, path: &Path) -> io::Result<Vec<DirEntry>> {
        self.operate(OperationKind::ReadDir, path, |world, _| {
            let directory = world.directory(world.resolve(path)?)?;
            let entry = |(name, inode): (&String, &u64)| {
                let len = world.bytes(*inode).map(FileBytes::len);
                DirEntry {
                    name: name.clone(),
                    is_dir: len.is_err(),
                    is_file: len.is_ok(),
                    len: len.unwrap_or(0),
                }
            };
            Ok(directory.names.iter().map(entry).collect())
        })
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let what = format!("{} {}", shown(from), shown(to));
        self.shared.operate(self.process, OperationKind::Rename, format_args!("{what}"), |world, _| {
            world.rename(from, to)
        })
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.operate(OperationKind::Remove, path, |world, _| {
            let (parent, name, found) = world.resolve_name(path)?;
            world.bytes(found.ok_or_else(|| errno(Errno::NOENT))?)?;
            world.change_names(parent, vec![(parent, name, None)]);
            Ok(())
        })
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        self.operate(OperationKind::RemoveDir, path, |world, _| {
            let (parent, name, found) = world.resolve_name(path)?;
            if !world.directory(found.ok_or_else(|| errno(Errno::NOENT))?)?.names.is_empty() {
                return Err(errno(Errno::NOTEMPTY));
            }
            world.change_names(parent, vec![(parent, name, None)]);
            Ok(())
        })
    }

    fn hard_link(&self, from: &Path, to: &Path) -> io::Result<()> {
        let what = format!("{} {}", shown(from), shown(to));
        self.shared.operate(self.process, OperationKind::Link, format_args!("{what}"), |world, _| {
            let inode = world.resolve(from)?;
            let (parent, name, found) = world.resolve_name(to)?;
            if found.is_some() {
                return Err(errno(Errno::EXIST));
            }
            if world.directory(inode).is_ok() {
                return Err(errno(Errno::PERM));
            }
            world.change_names(parent, vec![(parent, name, Some(inode))]);
            Ok(())
        })
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.operate(OperationKind::SyncDir, path, |world, fault| {
            let inode = world.resolve(path)?;
            world.directory(inode)?;
            if fault == Some(Fault::SyncFailed) {
                return Err(errno(Errno::IO));
            }
            world.sync_directory(inode);
            Ok(())
        })
    }

    fn absolute(&self, path: &Path) -> PathBuf {
        // There is no current directory in this world.
        path.to_owned()
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        self.operate(OperationKind::Exists, path, |world, _| match world.resolve(path) {
            Ok(_) => Ok(true),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(e) => Err(e),
        })
    }

    fn links(&self, path: &Path) -> io::Result<u64> {
        self.operate(OperationKind::Exists, path, |world, _| {
            let inode = world.resolve(path)?;
            world.links(inode)
        })
    }

    fn available_bytes(&self, path: &Path) -> io::Result<u64> {
        self.operate(OperationKind::AvailableBytes, path, |world, _| {
            world.resolve(path)?;
            Ok(world.available_bytes())
        })
    }

    fn try_lock(&self, path: &Path) -> io::Result<Option<Box<dyn Lock>>> {
        let opened = self.operate(OperationKind::Lock, path, |world, _| {
            let (_, _, found) = world.resolve_name(path)?;
            if found.is_some_and(|inode| world.locks_on(inode).next().is_some()) {
                return Ok(None);
            }
            let (inode, handle) = self.open_or(world, path, FileBytes::empty)?;
            world.locks.insert((inode, handle), true);
            Ok(Some((inode, handle)))
        })?;
        Ok(opened.map(|opened| Box::new(SimLock { _handle: self.handle(path, opened) }) as _))
    }

    fn try_lock_shared(&self, path: &Path) -> io::Result<Option<Box<dyn Lock>>> {
        let opened = self.operate(OperationKind::LockShared, path, |world, _| {
            let (_, _, found) = world.resolve_name(path)?;
            let inode = found.ok_or(io::ErrorKind::NotFound)?;
            world.bytes(inode)?;
            if world.locks_on(inode).any(|exclusive| exclusive) {
                return Ok(None);
            }
            let handle = world.open_handle(self.process, inode);
            world.locks.insert((inode, handle), false);
            Ok(Some((inode, handle)))
        })?;
        Ok(opened.map(|opened| Box::new(SimLock { _handle: self.handle(path, opened) }) as _))
    }

    fn watch(&self) -> Option<Box<dyn Watch>> {
        Some(Box::new(SimWatch::new(Arc::clone(&self.shared), self.process)))
    }
}
