//! Segments: memory shared with the file and everybody who maps it, or memory apart.
#![allow(unsafe_code)] // to describe memory whose owner is kept beside the description

use super::fault::{Fault, OperationKind, errno};
use super::region::Region;
use super::world::Handle;
use crate::io::{Segment, SegmentMemory};
use rustix::io::Errno;
use std::io;
use std::sync::Arc;

/// A segment. Mapped, its region is the file's; unmapped, one of its own.
#[derive(Debug)]
pub(super) struct SimSegment {
    memory: SegmentMemory,
    _region: Arc<Region>,
    handle: Handle,
    mapped: bool,
    writable: bool,
}

impl SimSegment {
    pub(super) fn new(region: Arc<Region>, len: usize, handle: Handle, mapped: bool, writable: bool) -> Self {
        // SAFETY: the region is kept beside the memory.
        let memory = unsafe { region.memory(len) };
        Self { memory, _region: region, handle, mapped, writable }
    }

    fn check(&self, offset: usize, len: usize) -> io::Result<()> {
        match offset.checked_add(len) {
            Some(end) if end <= self.memory.len() => Ok(()),
            _ => Err(errno(Errno::INVAL)),
        }
    }
}

impl Segment for SimSegment {
    fn memory(&self) -> &SegmentMemory {
        &self.memory
    }

    fn is_mapped(&self) -> bool {
        self.mapped
    }

    fn publish(&self, offset: usize, len: usize) -> io::Result<()> {
        self.check(offset, len)?;
        if self.mapped {
            return Ok(());
        }
        let range = format_args!(" {offset}..{}", offset + len);
        self.handle.operate(OperationKind::Publish, range, |world, fault| {
            let torn = fault == Some(Fault::TornWrite);
            let len = if torn { world.dice.below(len.max(1) as u64) as usize } else { len };
            // SAFETY: the writer publishes what it has finished writing, and writes it no more.
            let bytes = unsafe { self.memory.slice(offset, len) };
            let written = world.write(self.handle.inode, bytes, offset as u64)?;
            match written {
                _ if torn => Err(world.halt()),
                written if written < len => Err(errno(Errno::NOSPC)),
                _ => Ok(()),
            }
        })
    }

    fn may_publish_again(&self) -> bool {
        !self.mapped
    }

    fn write_by_call(&self, offset: usize, bytes: &[u8]) -> io::Result<()> {
        self.check(offset, bytes.len())?;
        if !self.mapped || !self.writable {
            return Err(errno(Errno::OPNOTSUPP));
        }
        let range = format_args!(" {offset}..{}", offset + bytes.len());
        self.handle.operate(OperationKind::Write, range, |world, fault| {
            let torn = fault == Some(Fault::TornWrite);
            let part = torn || fault == Some(Fault::ShortWrite);
            let len = if part { world.dice.below(bytes.len().max(1) as u64) as usize } else { bytes.len() };
            world.bytes_mut(self.handle.inode)?.write(offset as u64, &bytes[..len])?;
            match part {
                _ if torn => Err(world.halt()),
                true => Err(errno(Errno::NOSPC)),
                false => Ok(()),
            }
        })
    }

    fn sync(&self, offset: usize, len: usize) -> io::Result<()> {
        self.check(offset, len)?;
        if !self.writable {
            return Err(errno(Errno::INVAL));
        }
        let range = format_args!(" {offset}..{}", offset + len);
        self.handle.operate(OperationKind::Sync, range, |world, fault| {
            let bytes = world.bytes_mut(self.handle.inode)?;
            if fault == Some(Fault::SyncFailed) {
                bytes.fail_sync(offset as u64, len as u64);
                return Err(errno(Errno::IO));
            }
            bytes.sync(offset as u64, len as u64);
            Ok(())
        })
    }

    fn sync_zeros(&self, len: usize) -> io::Result<()> {
        self.sync(0, len)
    }

    fn truncate(&self, len: usize) -> io::Result<()> {
        self.check(len, 0)?;
        self.handle.operate(OperationKind::Truncate, format_args!(" {len}"), |world, _| {
            if !self.writable {
                return Err(errno(Errno::INVAL));
            }
            world.bytes_mut(self.handle.inode)?.set_len(len as u64)
        })
    }
}
