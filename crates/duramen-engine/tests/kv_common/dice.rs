//! Chance from a seed, and the seed for whoever has to repeat it.

/// Splitmix64.
#[derive(Clone, Debug)]
pub struct Dice(pub u64);

impl Dice {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// From 0 to below `limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    pub fn percent(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())].clone()
    }

    /// A key: short ones that are prefixes of each other, the empty one, the largest bytes, and a few long ones.
    pub fn key(&mut self) -> Vec<u8> {
        match self.below(20) {
            0 => vec![],
            1 => vec![0xFF; 1 + self.below(4)],
            2 => vec![0; self.below(3)],
            3 => [vec![b'l'; 300], vec![self.below(4) as u8; 40]].concat(),
            4..12 => format!("k{:02}", self.below(40)).into_bytes(),
            _ => format!("k{}/{}", self.below(5), self.below(30)).into_bytes(),
        }
    }

    /// A value that hardly any other is like.
    pub fn value(&mut self) -> Vec<u8> {
        let len = match self.below(40) {
            0..4 => 0,
            4..30 => self.below(60),
            30..38 => self.below(1500),
            _ => self.below(12_000),
        };
        let mut value = self.next().to_le_bytes().to_vec();
        // Half of it compresses.
        value.resize(len, b'.');
        value
    }
}

/// Says which seed it was when a test fails.
pub struct Replay(pub u64);

impl Drop for Replay {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("to repeat this alone: DURAMEN_KV_SEED={}", self.0);
        }
    }
}

/// The seeds to try: `DURAMEN_KV_SEED` alone, or `DURAMEN_KV_CASES` many, or `cases`.
pub fn seeds(cases: u64) -> Vec<u64> {
    let number = |name: &str| {
        let value = std::env::var(name).ok()?;
        Some(value.parse().unwrap_or_else(|_| panic!("{name}={value} is not a number")))
    };
    match number("DURAMEN_KV_SEED") {
        Some(seed) => vec![seed],
        None => (0..number("DURAMEN_KV_CASES").unwrap_or(cases)).collect(),
    }
}
