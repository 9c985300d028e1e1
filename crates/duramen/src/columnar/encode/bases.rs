//! Bundles that repeat what an earlier one of the block holds: one time in two notations, paths that are also in referrers,
//! names that the message has. zstd is given that one, the *base*, as what comes before.
//!
//! Reading such a bundle takes decompressing its base as well. So a base has none itself, is not large, and must save enough.

use super::super::directory::Location;
use super::super::streams::Streams;
use super::{BlockEncoder, Progress};
use crate::error::Result;
use foldhash::fast::FixedState;
use hashbrown::HashMap;

/// How many bytes a base has at most, decompressed: what zstd makes in a millisecond.
const MAX_BASE_BYTES: usize = 1 << 20;
/// Of so many bytes that a base has one must be saved, and of so many that a bundle takes without.
const BASE_BYTES_PER_SAVED: usize = 64;
const STORED_BYTES_PER_SAVED: usize = 8;
/// One in so many samples of a bundle must be in its base, for trying to be worth the time.
const SAMPLES_PER_HIT: usize = 8;
const LEAST_HITS: usize = 4;
/// How long a sample is, and that of all places one in so many is one: which, its bytes tell.
const SAMPLE_BYTES: usize = 16;
const PLACES_PER_SAMPLE_LOG2: u32 = 6;

/// The bundles of a block that may be bases. Reusable.
#[derive(Debug, Default)]
pub(super) struct Bases {
    kept: Vec<Kept>,
    /// Which of them had a sample first.
    seen: HashMap<u64, usize, FixedState>,
}

#[derive(Debug)]
struct Kept {
    bundle: usize,
    streams: Streams,
}

impl Bases {
    pub(super) fn clear(&mut self) {
        self.kept.clear();
        self.seen.clear();
    }

    fn keep(&mut self, bundle: usize, streams: &Streams, samples: &[u64]) {
        for &sample in samples {
            self.seen.entry(sample).or_insert(self.kept.len());
        }
        self.kept.push(Kept { bundle, streams: streams.clone() });
    }

    /// The one with most of these samples, if it has enough.
    fn nearest(&self, samples: &[u64]) -> Option<&Kept> {
        let mut hits = vec![0; self.kept.len()];
        samples.iter().filter_map(|sample| self.seen.get(sample)).for_each(|&kept| hits[kept] += 1);
        let (kept, &most) = hits.iter().enumerate().max_by_key(|(_, hits)| **hits)?;
        (most >= LEAST_HITS.max(samples.len() / SAMPLES_PER_HIT)).then(|| &self.kept[kept])
    }
}

/// The different samples of what is compressed.
fn samples_of(streams: &Streams) -> Vec<u64> {
    let mut samples = Vec::new();
    for (i, stream) in streams.all().into_iter().enumerate() {
        for window in stream.windows(SAMPLE_BYTES) {
            let (low, high) = window.split_at(8);
            let word = |half: &[u8]| half.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
            let hash = (word(low) ^ word(high).rotate_left(29)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            if hash >> (u64::BITS - PLACES_PER_SAMPLE_LOG2) == 0 {
                samples.push(hash << 2 | i as u64);
            }
        }
    }
    samples.sort_unstable();
    samples.dedup();
    samples
}

impl BlockEncoder {
    /// Writes what is in `scratch` as a bundle of its own.
    pub(super) fn place_alone(&mut self, progress: &mut Progress<'_>) -> Result<Location> {
        let plain = self.scratch.lens();
        let stored = self.scratch.write(&mut self.zstd, &mut self.chunk)?;
        if self.scratch.total() > MAX_BASE_BYTES {
            return progress.add_chunk(&self.chunk, plain, stored, None);
        }
        let samples = samples_of(&self.scratch);
        if let Some(base) = self.bases.nearest(&samples) {
            let mut chunk = Vec::new();
            let stored = self.scratch.write_after(&base.streams, &mut self.zstd, &mut chunk)?;
            let least =
                (base.streams.total() / BASE_BYTES_PER_SAVED).max(self.chunk.len() / STORED_BYTES_PER_SAVED);
            if self.chunk.len().saturating_sub(chunk.len()) > least {
                return progress.add_chunk(&chunk, plain, stored, Some(base.bundle));
            }
        }
        self.bases.keep(progress.bundles.len(), &self.scratch, &samples);
        progress.add_chunk(&self.chunk, plain, stored, None)
    }
}
