//! Chance, from a seed.

use crate::io::Random;
use std::sync::atomic::{AtomicU64, Ordering};

const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// The finalizer of SplitMix64: every input bit moves every output bit.
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Random numbers from a seed (SplitMix64). Threads may share it; then who gets which number is up to them.
#[derive(Debug)]
pub struct SimRandom {
    state: AtomicU64,
}

impl SimRandom {
    /// The sequence that belongs to this seed.
    pub fn new(seed: u64) -> Self {
        Self { state: AtomicU64::new(seed) }
    }
}

impl Random for SimRandom {
    fn next_u64(&self) -> u64 {
        mix(self.state.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP))
    }
}

/// The world's own dice, apart from [`SimRandom`] so that the program's draws do not change its fate.
#[derive(Debug)]
pub(super) struct Dice {
    state: u64,
}

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self { state: mix(!seed) }
    }

    pub(super) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(STEP);
        mix(self.state)
    }

    /// A number below `end`, which must not be 0.
    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    pub(super) fn percent(&mut self, percent: u8) -> bool {
        self.below(100) < u64::from(percent)
    }
}
