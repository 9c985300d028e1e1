//! How a store is opened.

use crate::error::Result;
use crate::store::Store;
use crate::store::block_cache::BlockCache;
use duramen_engine::io::Env;
use duramen_engine::wal::{Background as WalBackground, Durability, WalOptions};
use std::path::Path;
use std::sync::Arc;

/// Options of [`Store::open`], each with its default.
#[derive(Clone, Debug)]
pub struct StoreOptions {
    pub(crate) env: Env,
    pub(crate) durability: Durability,
    pub(crate) write_buffer_size: usize,
    pub(crate) max_write_buffer_number: usize,
    pub(crate) flush_threads: usize,
    pub(crate) keeper: bool,
    pub(crate) background: bool,
    pub(crate) block_cache: Option<Arc<BlockCache>>,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            env: Env::os(),
            durability: Durability::Process,
            write_buffer_size: 64 << 20,
            max_write_buffer_number: 6,
            flush_threads: std::thread::available_parallelism().map_or(1, usize::from).min(2),
            keeper: true,
            background: true,
            block_cache: None,
        }
    }
}

impl StoreOptions {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// What an append survives before it returns. Default [`Durability::Process`]: `kill -9`, a segfault
    /// and the OOM killer, at no system call.
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// Bytes of a WAL segment, which is also the memtable that a flush turns into tables. Default 64 MiB;
    /// 64 KiB to 2 GiB.
    pub fn write_buffer_size(mut self, bytes: usize) -> Self {
        self.write_buffer_size = bytes;
        self
    }

    /// How many such buffers a writer may have, the one it fills included; when all are full, writes stall
    /// until the flush has caught up. So many are a burst that costs nobody anything: those that are full lie in their
    /// files only, and take no memory. Default 6, at least 2.
    pub fn max_write_buffer_number(mut self, number: usize) -> Self {
        self.max_write_buffer_number = number;
        self
    }

    /// How many threads encode blocks when a segment is flushed, each into a table of its own. More is faster
    /// and takes more memory, about 40 MiB each. Default 2, or 1 on a machine with one core; at least 1.
    pub fn flush_threads(mut self, threads: usize) -> Self {
        self.flush_threads = threads;
        self
    }

    /// Whether this process may become the keeper, the one that flushes for all. Default true; false for
    /// short-lived processes beside a long-lived one.
    pub fn keeper(mut self, may: bool) -> Self {
        self.keeper = may;
        self
    }

    /// Whether threads flush in the background. Default true. Without them nothing happens but in
    /// [`Store::flush`] and [`Store::close`]: for tests that step through every operation.
    pub fn background(mut self, threads: bool) -> Self {
        self.background = threads;
        self
    }

    /// Where blocks that queries have read are kept open, for this store and others that are given the same. Default: 32 MiB
    /// of its own. Besides, a store keeps up to about 32 MiB of rows that are in no table yet, as queries read them.
    pub fn block_cache(mut self, cache: Arc<BlockCache>) -> Self {
        self.block_cache = Some(cache);
        self
    }

    /// The files, clock and randomness to use. Default: the operating system's.
    pub fn env(mut self, env: Env) -> Self {
        self.env = env;
        self
    }

    /// How a process's WAL is to be.
    pub(super) fn wal(&self) -> WalOptions {
        WalOptions {
            write_buffer_size: self.write_buffer_size,
            max_write_buffer_number: self.max_write_buffer_number,
            durability: self.durability,
            // The keeper flushes it soon, durably; a sync meanwhile would only slow down everybody who logs.
            sync_on_seal: false,
            unload_written: true,
            background: if self.background { WalBackground::Thread } else { WalBackground::Manual },
            ..WalOptions::default()
        }
    }

    /// Opens the store in `dir`, making it if there is none.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn open(self, dir: impl AsRef<Path>) -> Result<Store> {
        Store::open_with(dir.as_ref(), self)
    }

    /// Opens the store in `dir` for reading.
    ///
    /// # Errors
    /// As [`Store::open_read_only`].
    pub fn open_read_only(self, dir: impl AsRef<Path>) -> Result<Store> {
        super::open::read_only(dir.as_ref(), self)
    }
}
