//! A file's bytes twice over: as every program sees them, and as the device has them.

use super::fault::errno;
use super::random::Dice;
use super::region::Region;
use rustix::io::Errno;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::Range;
use std::sync::Arc;

/// What the device writes as one, unless the power fails in the middle.
pub(super) const BLOCK_BYTES: usize = 4096;
/// What the device writes as one in any case.
const SECTOR_BYTES: usize = 512;
const MAX_FILE_BYTES: u64 = 4 << 30;

type Block = Box<[u8]>;

#[derive(Debug)]
pub(super) struct FileBytes {
    /// The bytes now; zeros from `len` on. Shared with the file's mappings.
    region: Arc<Region>,
    len: u64,
    /// The device's blocks; one that is missing is zeros.
    durable: BTreeMap<u64, Block>,
    durable_len: u64,
    /// The lengths since the last sync, in order.
    unsynced_lens: Vec<u64>,
    /// Every block written by call since it was synced; a superset of those that differ.
    dirty: BTreeSet<u64>,
    /// Whether it has a writable mapping, so that any block may have changed without `dirty` knowing.
    mapped: bool,
    /// Blocks whose sync failed, with what they were then: clean as long as they stay so.
    failed: BTreeMap<u64, Block>,
    /// Blocks reserved from the file's start.
    reserved_blocks: u64,
    /// Blocks allocated by writing, past the reserved ones.
    allocated: BTreeSet<u64>,
}

fn blocks_of(len: u64) -> u64 {
    len.div_ceil(BLOCK_BYTES as u64)
}

fn block_range(offset: u64, len: u64) -> Range<u64> {
    offset / BLOCK_BYTES as u64..blocks_of(offset.saturating_add(len))
}

impl FileBytes {
    pub(super) fn empty() -> io::Result<Self> {
        Ok(Self {
            region: Arc::new(Region::new(0)?),
            len: 0,
            durable: BTreeMap::new(),
            durable_len: 0,
            unsynced_lens: Vec::new(),
            dirty: BTreeSet::new(),
            mapped: false,
            failed: BTreeMap::new(),
            reserved_blocks: 0,
            allocated: BTreeSet::new(),
        })
    }

    /// `len` zeros, with space for all of them taken.
    pub(super) fn reserved(len: u64) -> io::Result<Self> {
        let mut bytes = Self::empty()?;
        bytes.set_len(len)?;
        bytes.reserved_blocks = blocks_of(len);
        Ok(bytes)
    }

    pub(super) fn len(&self) -> u64 {
        self.len
    }

    pub(super) fn used_blocks(&self) -> u64 {
        self.reserved_blocks + self.allocated.len() as u64
    }

    /// The memory for a mapping. A writable one lets blocks change unseen.
    pub(super) fn map(&mut self, writable: bool) -> Arc<Region> {
        self.mapped |= writable;
        Arc::clone(&self.region)
    }

    /// How many of `len` bytes at `offset` can be written when `free_blocks` blocks can still be taken.
    pub(super) fn fitting(&self, offset: u64, len: usize, mut free_blocks: u64) -> usize {
        for block in block_range(offset, len as u64) {
            if block < self.reserved_blocks || self.allocated.contains(&block) {
                continue;
            }
            if free_blocks == 0 {
                let end = block * BLOCK_BYTES as u64;
                return end.saturating_sub(offset) as usize;
            }
            free_blocks -= 1;
        }
        len
    }

    pub(super) fn read(&self, offset: u64, into: &mut [u8]) -> usize {
        let n = self.len.saturating_sub(offset).min(into.len() as u64) as usize;
        if n > 0 {
            self.region.read(offset as usize, &mut into[..n]);
        }
        n
    }

    pub(super) fn write(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let end = offset.checked_add(bytes.len() as u64).ok_or_else(|| errno(Errno::FBIG))?;
        if end > self.len {
            self.set_len(end)?;
        }
        self.region.write(offset as usize, bytes);
        for block in block_range(offset, bytes.len() as u64) {
            self.dirty.insert(block);
            self.failed.remove(&block);
            if block >= self.reserved_blocks {
                self.allocated.insert(block);
            }
        }
        Ok(())
    }

    pub(super) fn set_len(&mut self, len: u64) -> io::Result<()> {
        if len > MAX_FILE_BYTES {
            return Err(errno(Errno::FBIG));
        }
        self.make_room(len as usize)?;
        let first_changed = self.len.min(len) / BLOCK_BYTES as u64;
        if len < self.len {
            self.region.zero(len as usize, (self.len - len) as usize);
            self.reserved_blocks = self.reserved_blocks.min(blocks_of(len));
            self.allocated.retain(|block| *block < blocks_of(len));
            // What the device has from here on is no longer what the file has.
            self.dirty.insert(first_changed);
            self.dirty.extend(self.durable.range(first_changed..).map(|(block, _)| *block));
        } else if self.mapped {
            // A mapping may have left something in the last page, past the file's end.
            self.region.zero(self.len as usize, (len - self.len) as usize);
        }
        self.len = len;
        self.unsynced_lens.push(len);
        Ok(())
    }

    fn make_room(&mut self, len: usize) -> io::Result<()> {
        let capacity = self.region.capacity();
        if len <= capacity {
            return Ok(());
        }
        if Arc::strong_count(&self.region) > 1 {
            let message = "the simulator cannot extend a file while it is mapped";
            return Err(io::Error::new(io::ErrorKind::Unsupported, message));
        }
        // A file that grows once is likely to again; one that is created at its size is not.
        let capacity = if capacity <= 1 { len } else { len.max(capacity.saturating_mul(2)) };
        self.replace_region(capacity.next_multiple_of(BLOCK_BYTES))
    }

    fn replace_region(&mut self, capacity: usize) -> io::Result<()> {
        let region = Region::new(capacity)?;
        let mut buf = vec![0; BLOCK_BYTES];
        for block in 0..blocks_of(self.len) {
            let n = self.read(block * BLOCK_BYTES as u64, &mut buf);
            region.write(block as usize * BLOCK_BYTES, &buf[..n]);
        }
        self.region = Arc::new(region);
        Ok(())
    }

    fn block(&self, block: u64) -> Block {
        let mut bytes = vec![0; BLOCK_BYTES].into_boxed_slice();
        self.read(block * BLOCK_BYTES as u64, &mut bytes);
        bytes
    }

    fn durable_block(&self, block: u64) -> Block {
        self.durable.get(&block).cloned().unwrap_or_else(|| vec![0; BLOCK_BYTES].into_boxed_slice())
    }

    fn differs(&self, block: u64, now: &[u8]) -> bool {
        match self.durable.get(&block) {
            Some(durable) => **durable != *now,
            None => now.iter().any(|byte| *byte != 0),
        }
    }

    /// The blocks of a range that are not on the device as they are now.
    fn unsynced(&self, range: Range<u64>) -> Vec<(u64, Block)> {
        let range = range.start..range.end.min(blocks_of(self.len.max(self.durable_len)));
        let candidates: Vec<u64> = if range.is_empty() {
            Vec::new()
        } else if self.mapped {
            range.collect()
        } else {
            self.dirty.range(range).copied().collect()
        };
        let now = candidates.into_iter().map(|block| (block, self.block(block)));
        now.filter(|(block, bytes)| self.differs(*block, bytes)).collect()
    }

    /// Makes the blocks that hold `len` bytes at `offset` durable, and the length.
    pub(super) fn sync(&mut self, offset: u64, len: u64) {
        let range = block_range(offset, len);
        for (block, now) in self.unsynced(range.clone()) {
            if self.failed.get(&block).is_some_and(|then| *then == now) {
                continue; // the kernel believes it clean
            }
            self.failed.remove(&block);
            self.durable.insert(block, now);
        }
        self.dirty.retain(|block| !range.contains(block) || self.failed.contains_key(block));
        self.durable_len = self.len;
        self.unsynced_lens.clear();
        let end = blocks_of(self.len);
        self.durable.retain(|block, _| *block < end);
    }

    pub(super) fn sync_all(&mut self) {
        self.failed.clear();
        self.sync(0, u64::MAX);
    }

    /// What a sync that fails leaves: the blocks of its range believed clean, and not on the device.
    pub(super) fn fail_sync(&mut self, offset: u64, len: u64) {
        let unsynced = self.unsynced(block_range(offset, len));
        self.dirty.extend(unsynced.iter().map(|(block, _)| *block));
        self.failed.extend(unsynced);
    }

    /// Cuts the bytes off from whoever still maps them, so that dead threads cannot change them.
    pub(super) fn detach(&mut self) -> io::Result<()> {
        let changed: Vec<u64> = self.unsynced(0..u64::MAX).into_iter().map(|(block, _)| block).collect();
        self.dirty.extend(changed);
        self.mapped = false;
        if Arc::strong_count(&self.region) > 1 {
            self.replace_region((self.len as usize).next_multiple_of(BLOCK_BYTES))?;
        }
        Ok(())
    }

    /// Replaces the bytes by what a loss of power leaves of them.
    pub(super) fn lose_power(&mut self, keep_percent: u8, dice: &mut Dice) -> io::Result<()> {
        let len = self.surviving_len(keep_percent, dice);
        for (block, new) in self.unsynced(0..u64::MAX) {
            let old = self.durable_block(block);
            self.durable.insert(block, surviving_block(old, new, keep_percent, dice));
        }
        let survived = std::mem::take(&mut self.durable);
        self.restart(survived, len)
    }

    fn restart(&mut self, survived: BTreeMap<u64, Block>, len: u64) -> io::Result<()> {
        let reserved_blocks = self.reserved_blocks.min(blocks_of(len));
        *self = Self::empty()?;
        self.set_len(len)?;
        self.reserved_blocks = reserved_blocks;
        for (block, bytes) in survived {
            let offset = block * BLOCK_BYTES as u64;
            let n = len.saturating_sub(offset).min(BLOCK_BYTES as u64) as usize;
            self.write(offset, &bytes[..n])?;
        }
        self.sync_all();
        Ok(())
    }

    fn surviving_len(&self, keep_percent: u8, dice: &mut Dice) -> u64 {
        let lens = &self.unsynced_lens;
        if lens.is_empty() || !dice.percent(keep_percent) {
            return self.durable_len;
        }
        if keep_percent == 100 {
            return self.len;
        }
        let len = lens[dice.below(lens.len() as u64) as usize];
        // Lengths grow as blocks are written back, so one may have stopped between two blocks.
        let at_block = len / BLOCK_BYTES as u64 * BLOCK_BYTES as u64;
        if at_block > self.durable_len && dice.percent(50) { at_block } else { len }
    }

    pub(super) fn flip_bit(&mut self, bit_index: u64) -> io::Result<()> {
        let offset = bit_index / 8;
        if offset >= self.len {
            return Err(errno(Errno::INVAL));
        }
        let mask = 1u8 << (bit_index % 8);
        let mut byte = [0];
        self.read(offset, &mut byte);
        self.region.write(offset as usize, &[byte[0] ^ mask]);
        let block = offset / BLOCK_BYTES as u64;
        if offset < self.durable_len {
            let mut durable = self.durable_block(block);
            durable[offset as usize % BLOCK_BYTES] ^= mask;
            self.durable.insert(block, durable);
        }
        Ok(())
    }
}

/// Old, new, or a sector boundary with one on either side.
fn surviving_block(old: Block, new: Block, keep_percent: u8, dice: &mut Dice) -> Block {
    let torn = (1..100).contains(&keep_percent) && dice.percent(25);
    let (mut survived, other) = if dice.percent(keep_percent) { (new, old) } else { (old, new) };
    if torn {
        let sectors = (BLOCK_BYTES / SECTOR_BYTES) as u64;
        let cut = (1 + dice.below(sectors - 1)) as usize * SECTOR_BYTES;
        survived[cut..].copy_from_slice(&other[cut..]);
    }
    survived
}
