//! Open files and locks.

use super::fault::{Fault, OperationKind, errno};
use super::world::Handle;
use crate::io::{File, Lock};
use rustix::io::Errno;
use std::io;

/// An open file.
#[derive(Debug)]
pub(super) struct SimFile {
    pub(super) handle: Handle,
    pub(super) writable: bool,
}

impl File for SimFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let end = offset.saturating_add(buf.len() as u64);
        self.handle.operate(OperationKind::Read, format_args!(" {offset}..{end}"), |world, fault| {
            let n = world.bytes(self.handle.inode)?.read(offset, buf);
            if fault == Some(Fault::FlipBit) && n > 0 {
                let bit = world.dice.below(n as u64 * 8);
                buf[(bit / 8) as usize] ^= 1 << (bit % 8);
            }
            Ok(n)
        })
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<usize> {
        let end = offset.saturating_add(buf.len() as u64);
        self.handle.operate(OperationKind::Write, format_args!(" {offset}..{end}"), |world, fault| {
            if !self.writable {
                return Err(errno(Errno::BADF));
            }
            world.has_changed(self.handle.inode);
            let len = buf.len() as u64;
            match fault {
                Some(Fault::TornWrite) => {
                    let part = world.dice.below(len.max(1)) as usize;
                    world.write(self.handle.inode, &buf[..part], offset)?;
                    Err(world.halt())
                }
                Some(Fault::ShortWrite) if len > 1 => {
                    let part = 1 + world.dice.below(len - 1) as usize;
                    world.write(self.handle.inode, &buf[..part], offset)
                }
                _ => world.write(self.handle.inode, buf, offset),
            }
        })
    }

    fn len(&self) -> io::Result<u64> {
        self.handle.operate(OperationKind::Len, format_args!(""), |world, _| {
            Ok(world.bytes(self.handle.inode)?.len())
        })
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.handle.operate(OperationKind::SetLen, format_args!(" {len}"), |world, _| {
            if !self.writable {
                return Err(errno(Errno::INVAL));
            }
            world.has_changed(self.handle.inode);
            world.bytes_mut(self.handle.inode)?.set_len(len)
        })
    }

    fn sync_data(&self) -> io::Result<()> {
        self.handle.operate(OperationKind::Sync, format_args!(""), |world, fault| {
            let bytes = world.bytes_mut(self.handle.inode)?;
            if fault == Some(Fault::SyncFailed) {
                bytes.fail_sync(0, u64::MAX);
                return Err(errno(Errno::IO));
            }
            bytes.sync(0, u64::MAX);
            Ok(())
        })
    }
}

/// A held lock. It is the handle that the world remembers as the holder.
#[derive(Debug)]
pub(super) struct SimLock {
    pub(super) _handle: Handle,
}

impl Lock for SimLock {}
