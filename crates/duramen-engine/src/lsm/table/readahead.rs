//! Several blocks by one read.

use super::block::Block;
use super::partition::Partition;
use super::reader::TableReader;
use crate::Result;
use crate::memory::SharedBytes;
use std::ops::Range;

/// The first read of a scan that is not in the cache: this many bytes at least.
const FIRST_BYTES: u64 = 16 << 10;
/// Each further one takes twice as many, up to this.
const LAST_BYTES: u64 = 256 << 10;

/// What a cursor has read ahead.
#[derive(Debug, Default)]
pub(super) struct Readahead {
    /// How many bytes the next read takes.
    next_bytes: u64,
    /// The block that was asked for last: partition and chunk.
    last: Option<(usize, usize)>,
    stretch: Option<Stretch>,
}

/// Frames as they lie in the file.
#[derive(Debug)]
struct Stretch {
    bytes: SharedBytes,
    /// Where it starts in the file.
    start: u64,
}

impl Readahead {
    /// The block of a data chunk: what the cache has, or what was read ahead, or what the file has. `fill_cache`: put it
    /// into the cache.
    pub(super) fn block(
        &mut self,
        reader: &TableReader,
        (number, partition): (usize, &Partition),
        chunk: usize,
        fill_cache: bool,
    ) -> Result<Option<Block>> {
        let Some(frame) = partition.frame(chunk) else { return Ok(None) };
        let before = self.last.replace((number, chunk));
        let take = |block: &Block| {
            block.prefetch();
            block.clone()
        };
        if let Some(block) = partition.with_cached(reader.cache(), chunk, take) {
            return Ok(Some(block));
        }
        if !self.stretch.as_ref().is_some_and(|stretch| stretch.has(&frame)) {
            // To the next block in either direction: a scan. Elsewhere: a search, which may need this block only.
            let forward = before.is_none_or(|(p, c)| (p, c) < (number, chunk));
            let is_next = before.is_some_and(|(p, c)| {
                p == number && c.abs_diff(chunk) == 1 || p + 1 == number && chunk == 0 || p == number + 1
            });
            self.next_bytes = if is_next { (2 * self.next_bytes).clamp(FIRST_BYTES, LAST_BYTES) } else { 0 };
            let chunks = around(partition, chunk, forward, self.next_bytes);
            let Some(range) = partition.frames(chunks) else { return Ok(None) };
            self.stretch = Some(Stretch { start: range.start, bytes: reader.read(range, None)? });
        }
        let Some(stretch) = &self.stretch else { return Ok(None) };
        let place = (frame.start - stretch.start) as usize..(frame.end - stretch.start) as usize;
        if !(fill_cache && reader.cache().is_enabled()) {
            return reader.open_block(stretch.bytes.clone(), place, frame.start, None).map(Some);
        }
        // In the cache, a block must not keep all the stretch in memory.
        let frame_bytes = stretch.bytes.get(place).unwrap_or_default();
        let pool = reader.cache().pool();
        let own = SharedBytes::new(frame_bytes.len(), pool, |bytes| {
            bytes.copy_from_slice(frame_bytes);
            Ok::<(), crate::Error>(())
        })?;
        let len = own.len();
        let block = reader.open_block(own, 0..len, frame.start, pool)?;
        partition.keep(reader.cache(), chunk, block.clone());
        Ok(Some(block))
    }
}

impl Stretch {
    fn has(&self, frame: &Range<u64>) -> bool {
        self.start <= frame.start && frame.end <= self.start + self.bytes.len() as u64
    }
}

/// The chunks from this one on, or up to it, that have up to so many bytes; at least this one.
fn around(partition: &Partition, chunk: usize, forward: bool, bytes: u64) -> Range<usize> {
    let fits = |range: Range<usize>| partition.frames(range).is_some_and(|f| f.end - f.start <= bytes);
    let mut range = chunk..chunk + 1;
    loop {
        let wider = if forward {
            range.start..range.end + 1
        } else {
            let Some(start) = range.start.checked_sub(1) else { return range };
            start..range.end
        };
        if wider.end > partition.directory.len() || !fits(wider.clone()) {
            return range;
        }
        range = wider;
    }
}
