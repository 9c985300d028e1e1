//! The running hash of what has been consumed of a source.

use xxhash_rust::xxh3::Xxh3;

/// Hashes a stream up to where its entries end, however the bytes arrive: bytes wait here until an entry
/// that ends behind them is in a batch.
#[derive(Clone)]
pub(crate) struct Tracker {
    hash: Xxh3,
    hashed_bytes: u64,
    waiting: Vec<u8>,
}

impl Tracker {
    /// Nothing consumed yet.
    pub(crate) fn new() -> Self {
        Self { hash: Xxh3::new(), hashed_bytes: 0, waiting: Vec::new() }
    }

    /// Takes the next bytes of the stream.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.waiting.extend_from_slice(bytes);
    }

    /// Says that everything before `offset` in the stream has been consumed. An offset behind the one of
    /// the call before, or beyond what was pushed, is taken as the nearest possible.
    pub(crate) fn consume_to(&mut self, offset: u64) {
        let wanted = usize::try_from(offset.saturating_sub(self.hashed_bytes)).unwrap_or(usize::MAX);
        let n = wanted.min(self.waiting.len());
        self.hash.update(&self.waiting[..n]);
        self.waiting.drain(..n);
        self.hashed_bytes += n as u64;
    }

    /// How many bytes have been consumed.
    pub(crate) fn consumed_bytes(&self) -> u64 {
        self.hashed_bytes
    }

    /// XXH3-64 of them.
    pub(crate) fn digest(&self) -> u64 {
        self.hash.digest()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use xxhash_rust::xxh3::xxh3_64;

    #[test]
    fn only_what_is_consumed_is_hashed() {
        let text: Vec<u8> = (0..5000u32).flat_map(u32::to_le_bytes).collect();
        let mut tracker = Tracker::new();
        let mut pushed = 0;
        for (n, to) in [(10, 3), (0, 3), (4000, 2500), (990, 5000), (15_000, 19_999), (0, 99_999_999)] {
            tracker.push(&text[pushed..pushed + n]);
            pushed += n;
            tracker.consume_to(to);
            let consumed = to.min(pushed as u64);
            assert_eq!(tracker.consumed_bytes(), consumed);
            assert_eq!(tracker.digest(), xxh3_64(&text[..consumed as usize]));
        }
        tracker.consume_to(1);
        assert_eq!(tracker.consumed_bytes(), 20_000);
    }
}
