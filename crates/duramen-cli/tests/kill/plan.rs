//! How many kills, and at which moments.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

const DEFAULT_KILLS: u64 = 25;

/// SplitMix64, and how often to kill.
pub struct Plan {
    pub kills: u64,
    state: u64,
}

impl Plan {
    /// The plan of one test, by the environment. The seed is said, so that a failure shows it.
    pub fn of(test: &str) -> Self {
        let number = |name| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
        let kills = number("DURAMEN_KILLS").unwrap_or(DEFAULT_KILLS);
        let now = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64;
        let seed = number("DURAMEN_KILL_SEED").unwrap_or_else(now);
        eprintln!("{test}: {kills} kills, DURAMEN_KILL_SEED={seed}");
        Self { kills, state: seed }
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % end.max(1)
    }

    pub fn duration(&mut self, below: Duration) -> Duration {
        Duration::from_nanos(self.below(below.as_nanos() as u64))
    }
}
