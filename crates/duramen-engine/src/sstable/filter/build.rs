//! Building a filter: choosing a layout, then *peeling*.
//!
//! Peeling: a slot that only one remaining key has among its three can be left to that key, whatever the
//! others need; so the key is set aside and its other slots have one key less. If all keys can be set
//! aside that way, filling the slots in reverse order satisfies each. If not, another seed is tried.

use super::FuseFilter;
use super::layout::{Layout, MAX_SEGMENT_LOG2, fingerprint, mix};

/// Builds filters, one after another: what building takes of memory is kept between them.
#[derive(Debug, Default)]
pub struct FilterBuilder {
    peeling: Peeling,
}

impl FilterBuilder {
    /// Builds the filter of a set of hashes. Duplicates are allowed, though they cost time; `hashes` may come back
    /// sorted and without them. The same set gives the same filter.
    pub fn build(&mut self, hashes: &mut Vec<u64>) -> FuseFilter {
        if hashes.is_empty() {
            return FuseFilter { layout: Layout::Empty, seed: 0, bytes: Vec::new() };
        }
        let mut plan = Plan::of(hashes.len());
        let mut first = 0;
        if self.peeling.peel(hashes, plan.layout, first) {
            return self.filter(plan.layout, first);
        }
        // Bad luck, or a duplicate: then no seed would do.
        let len = hashes.len();
        hashes.sort_unstable();
        hashes.dedup();
        if hashes.len() == len {
            first += 1;
        } else {
            plan = Plan::of(hashes.len());
        }
        loop {
            for seed in first..plan.seeds {
                if self.peeling.peel(hashes, plan.layout, seed) {
                    return self.filter(plan.layout, seed);
                }
            }
            // A larger array peels more easily, so this ends.
            plan.enlarge();
            first = 0;
        }
    }

    /// What peeling with these came to.
    fn filter(&self, layout: Layout, seed: u8) -> FuseFilter {
        FuseFilter { layout, seed, bytes: self.peeling.assign(layout) }
    }
}

/// A layout, and how many seeds to try before a larger one.
struct Plan {
    layout: Layout,
    seeds: u8,
}

impl Plan {
    fn of(keys: usize) -> Self {
        let blocks = blocks_for(keys);
        let fuse = fuse_for(keys);
        if blocks.layout.len() <= fuse.layout.len() { blocks } else { fuse }
    }

    fn enlarge(&mut self) {
        match &mut self.layout {
            Layout::Empty => {}
            Layout::Blocks { slots } => *slots += *slots / 64 + 1,
            Layout::Fuse { segments, .. } => *segments += *segments / 64 + 1,
        }
    }
}

/// Three blocks: a random such layout peels from 1.23 slots a key on, small ones at less with some luck.
fn blocks_for(keys: usize) -> Plan {
    let (slots, seeds) = match keys {
        0..=64 => (keys as u64 * 112 / 100 + 1, 40),
        65..=1024 => (keys as u64 * 120 / 100 + 3, 12),
        _ => (keys as u64 * 124 / 100 + 8, 8),
    };
    Plan { layout: Layout::Blocks { slots: u32::try_from(slots.div_ceil(3)).unwrap_or(u32::MAX) }, seeds }
}

/// Binary fuse with the sizes of the paper (section 3): segments of 3.33-logarithmic growth, and an array
/// of 1.125 slots a key for large sets, more for smaller ones.
fn fuse_for(keys: usize) -> Plan {
    let n = keys.max(2) as f64;
    let log2 = (n.ln() / 3.33f64.ln() + 2.25).floor().clamp(0.0, f64::from(MAX_SEGMENT_LOG2)) as u8;
    let factor = (0.875 + 0.25 * 1e6f64.ln() / n.ln()).max(1.125);
    let slots = (n * factor).round() as u64;
    let segments = slots.div_ceil(1 << log2).saturating_sub(2).max(1);
    Plan { layout: Layout::Fuse { log2, segments: u32::try_from(segments).unwrap_or(u32::MAX) }, seeds: 8 }
}

/// The state of peeling, kept between attempts for its memory.
#[derive(Debug, Default)]
struct Peeling {
    /// For each slot, how many remaining keys have it, and the XOR of their mixed hashes.
    slots: Vec<Slot>,
    /// Slots found with one key, yet to be looked at.
    alone: Vec<u32>,
    /// Keys set aside, each with the slot left to it.
    peeled: Vec<(u64, u32)>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    hashes: u64,
    keys: u32,
}

impl Peeling {
    /// Whether all keys could be set aside. What may or may not be kept is always written, and the end of the list
    /// moved or not: a branch would be guessed wrong every other time.
    fn peel(&mut self, hashes: &[u64], layout: Layout, seed: u8) -> bool {
        let len = layout.len() as usize;
        self.slots.clear();
        self.slots.resize(len, Slot::default());
        for &hash in hashes {
            let hash = mix(hash, seed);
            for position in layout.positions(hash) {
                let slot = &mut self.slots[position];
                slot.keys += 1;
                slot.hashes ^= hash;
            }
        }
        // A slot comes to have one key at most once, so there is room for all and for one that is not kept.
        self.alone.resize(len + 1, 0);
        let mut alone = 0;
        for (at, slot) in (0..).zip(&self.slots) {
            self.alone[alone] = at;
            alone += usize::from(slot.keys == 1);
        }
        self.peeled.clear();
        while alone > 0 {
            alone -= 1;
            let at = self.alone[alone];
            // Its key may have been set aside by way of another slot.
            let Slot { hashes: hash, keys: 1 } = self.slots[at as usize] else { continue };
            self.peeled.push((hash, at));
            for position in layout.positions(hash) {
                let slot = &mut self.slots[position];
                slot.keys -= 1;
                slot.hashes ^= hash;
                self.alone[alone] = position as u32;
                alone += usize::from(slot.keys == 1);
            }
        }
        self.peeled.len() == hashes.len()
    }

    /// Fills the slots, after a successful [`Peeling::peel`].
    fn assign(&self, layout: Layout) -> Vec<u8> {
        let mut bytes = vec![0u8; layout.len() as usize];
        for &(hash, at) in self.peeled.iter().rev() {
            let [a, b, c] = layout.positions(hash);
            // The slot itself is still 0, so it does not count among the three.
            bytes[at as usize] = fingerprint(hash) ^ bytes[a] ^ bytes[b] ^ bytes[c];
        }
        bytes
    }
}
