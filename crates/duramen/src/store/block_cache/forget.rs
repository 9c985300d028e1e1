//! What is forgotten first when there is no room.
//!
//! Most questions need little of a block, some kilobytes; few have whole columns decoded. If those that were asked last always
//! stayed, a single large question would cost each of the small ones what they need, for next to no room. So what is large
//! goes before what is small, and each query that leaves no room makes what it did not use look larger, as *GreedyDual-Size*
//! does for caches of web pages (Cao and Irani, "Cost-Aware WWW Proxy Caching Algorithms", 1997): to decode takes about as long
//! as it yields bytes, so that a byte is worth what any other is, and what is small is asked for as often.

use crate::columnar::{Forgotten, PartId};
use crate::store::block_cache::Key;
use crate::store::block_cache::blocks::Blocks;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// What is smaller goes with its block only.
const LEAST_PART_BYTES: usize = 2 << 10;
/// So many queries that leave no room make what they did not use look twice as large. The same large question, asked again, finds the same
/// parts as before, since the last query's are as good as new.
const DOUBLING_QUERIES: u64 = 8;
/// What nobody needs while something else stays looks so many times as large.
const SPARE_WEIGHT: u64 = 8;
/// This part of the room is made at once: to look at all parts takes a while.
const ROOM_SHARE: usize = 32;

/// What may be forgotten: a part with its bytes, or the rest of a block. The heaviest is the greatest; of equals, that of the
/// later block.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    weight: u64,
    block: Key,
    part: Option<(PartId, usize)>,
}

/// How large something looks that was last used at `used`.
fn weight(bytes: usize, used: u32, now: u32) -> u64 {
    let age = u64::from(now.wrapping_sub(used).saturating_sub(1));
    (bytes as u64).saturating_mul(DOUBLING_QUERIES + age)
}

impl Blocks {
    /// Forgets what nobody reads until it holds somewhat less than this. Gives it back, to be freed without the lock.
    pub(super) fn forget_within(&mut self, capacity_bytes: usize) -> Vec<Forgotten> {
        let (idle, mut read) = self.by_weight();
        let mut forgotten: Vec<Forgotten> = Vec::new();
        // What is being read may take half: of more, nothing would be left for the next query, and nothing of the others.
        let mut read_bytes: usize = read.iter().map(|(bytes, _)| bytes).sum();
        while read_bytes > capacity_bytes / 2
            && let Some((bytes, key)) = read.pop()
        {
            read_bytes -= bytes;
            forgotten.extend(self.remove(key));
        }
        let wanted_bytes = capacity_bytes - capacity_bytes / ROOM_SHARE;
        let mut idle = BinaryHeap::from(idle);
        while self.total_bytes > wanted_bytes
            && let Some(Candidate { block, part, .. }) = idle.pop()
        {
            match part {
                Some((id, bytes)) => forgotten.extend(self.forget_part(block, id, bytes)),
                None => forgotten.extend(self.remove(block)),
            }
        }
        forgotten
    }

    /// What may be forgotten of the blocks that nobody reads; and those that somebody reads, by their bytes.
    fn by_weight(&mut self) -> (Vec<Candidate>, BinaryHeap<(usize, Key)>) {
        let (now, mut idle, mut read) = (self.queries.now(), Vec::new(), BinaryHeap::new());
        for (&key, kept) in &mut self.by_key {
            let Some(block) = Arc::get_mut(&mut kept.block) else {
                read.push((kept.bytes, key));
                continue;
            };
            let mut rest_bytes = block.own_bytes();
            let mut bytes = rest_bytes;
            let are_spare = block.spare_bundles();
            let is_spare = |id| matches!(id, PartId::Bundle(i) if are_spare.get(i) == Some(&true));
            for part in block.parts() {
                bytes += part.bytes;
                if part.bytes < LEAST_PART_BYTES {
                    rest_bytes += part.bytes;
                } else {
                    let times = if is_spare(part.id) { SPARE_WEIGHT } else { 1 };
                    let weight = weight(part.bytes, part.used, now).saturating_mul(times);
                    idle.push(Candidate { weight, block: key, part: Some((part.id, part.bytes)) });
                }
            }
            let weight = weight(rest_bytes, kept.used_by_query, now);
            idle.push(Candidate { weight, block: key, part: None });
            self.total_bytes = self.total_bytes - kept.bytes + bytes;
            kept.bytes = bytes;
        }
        (idle, read)
    }

    fn forget_part(&mut self, key: Key, part: PartId, bytes: usize) -> Option<Forgotten> {
        let kept = self.by_key.get_mut(&key)?;
        let forgotten = Arc::get_mut(&mut kept.block)?.forget(part)?;
        kept.bytes -= bytes;
        self.total_bytes -= bytes;
        Some(forgotten)
    }
}
