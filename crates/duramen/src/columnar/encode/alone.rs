//! Bundles of one part, and what earlier ones of the block tell about them.
//!
//! Some repeat what an earlier one holds: one time in two notations, paths that are also in referrers, names that the message
//! has. zstd is given that one, the *base*, as what comes before. Of others the integers mostly follow from those of an earlier
//! one, the *key*: the agent from the address. What follows is left out ([`keyed`]).
//!
//! Reading such a bundle takes decompressing what it needs as well. So that needs nothing itself, is not large, and must save
//! enough.

use super::super::columnize::Collected;
use super::super::compress::Zstd;
use super::super::directory::{Location, Needs};
use super::super::keyed::{self, Taken, TriedKey};
use super::super::streams::{MAX_NEEDED_BYTES, STREAMS, Streams};
use super::{BlockEncoder, Progress};
use crate::error::Result;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use std::hash::BuildHasher;

/// Of so many bytes that are decompressed for it one must be saved, and of so many that a bundle takes without.
const NEEDED_BYTES_PER_SAVED: usize = 64;
/// How many bytes of a block's bundles, and of their integers, are kept at once for later ones to need, until the block is written.
const MAX_KEPT_BYTES: usize = 6 << 20;
const STORED_BYTES_PER_SAVED: usize = 8;

/// One in so many samples of a bundle must be in its base, for trying to be worth the time.
const SAMPLES_PER_HIT: usize = 8;
const LEAST_HITS: usize = 4;
/// How long a sample is, and that of all places one in so many is one: which, its bytes tell.
const SAMPLE_BYTES: usize = 8;
const PLACES_PER_SAMPLE_LOG2: u32 = 7;
/// Only every other place is looked at: what repeats a text from an odd one on is seen if it does so in several pieces.
const PLACES_STEP: usize = 2;

/// So many of its first integers tell how well a key does.
const TRIED_INTEGERS: usize = 2048;
/// Integers that take less are worth no key.
const LEAST_KEYED_BYTES: usize = 1 << 10;
/// What the others and the bits are expected to take must be less than this of what all take, for trying to be worth the time.
const MOST_OF_STORED: f64 = 0.75;

/// A block of which less than one in so many bytes is saved says that the next of its kind is not worth a look; after one more,
/// so many are not.
const STORED_BYTES_PER_SAVED_OF_BLOCK: usize = 50;
const MAX_BLOCKS_NOT_LOOKED_AT: u32 = 3;
/// Of how many kinds this is known; of more, it is forgotten.
const MAX_KINDS: usize = 64;

/// The bundles of a block that others may need. Reusable.
#[derive(Debug, Default)]
pub(super) struct Earlier {
    kept: Vec<Kept>,
    /// Which of them had a sample first.
    seen: HashMap<u64, usize, FixedState>,
    kept_bytes: usize,
    /// Of this block's bundles that were looked at.
    saved_bytes: usize,
    stored_bytes: usize,
    /// This block's kind, and whether it is looked at.
    kind: u64,
    is_looked_at: bool,
    /// Of kinds that little was saved of: how many blocks are not looked at in a row, and how many still.
    not_looked_at: HashMap<u64, (u32, u32), FixedState>,
}

#[derive(Debug)]
struct Kept {
    bundle: usize,
    streams: Streams,
    /// Those of its area, or none.
    integers: Vec<u32>,
    /// The first of them as a key to try.
    tried: TriedKey,
}

impl Earlier {
    /// The block is written: nothing of it is kept.
    pub(super) fn end_block(&mut self) {
        self.kept.clear();
        self.seen.clear();
        self.kept_bytes = 0;
    }

    /// Goes on to a block with these columns.
    pub(super) fn next_block(&mut self, columns: &[Collected], rows: usize) {
        if self.saved_bytes * STORED_BYTES_PER_SAVED_OF_BLOCK < self.stored_bytes {
            if self.not_looked_at.len() >= MAX_KINDS {
                self.not_looked_at.clear();
            }
            let (in_a_row, left) = self.not_looked_at.entry(self.kind).or_default();
            *in_a_row = (*in_a_row * 2 + 1).min(MAX_BLOCKS_NOT_LOOKED_AT);
            *left = *in_a_row;
        } else if self.stored_bytes > 0 {
            self.not_looked_at.remove(&self.kind);
        }
        (self.saved_bytes, self.stored_bytes) = (0, 0);
        // Fields that few rows have come and go.
        let of_most = columns.iter().filter(|column| column.count * 2 > rows).map(|column| &column.name);
        self.kind = FixedState::default().hash_one(of_most.collect::<Vec<_>>());
        self.is_looked_at = match self.not_looked_at.get_mut(&self.kind) {
            Some((_, left @ 1..)) => {
                *left -= 1;
                false
            }
            _ => true,
        };
        self.end_block();
    }

    /// Keeps a copy, no larger than what is in it.
    fn keep(&mut self, bundle: usize, streams: &Streams, samples: &[u64], integers: Vec<u32>) {
        for &sample in samples {
            self.seen.entry(sample).or_insert(self.kept.len());
        }
        let tried = TriedKey::of(&integers[..integers.len().min(TRIED_INTEGERS)]);
        self.kept_bytes += kept_bytes(streams, &integers);
        self.kept.push(Kept { bundle, streams: streams.clone(), integers, tried });
    }

    /// The one with most of these samples, if it has enough.
    fn base(&self, samples: &[u64]) -> Option<&Kept> {
        let mut hits = vec![0; self.kept.len()];
        samples.iter().filter_map(|sample| self.seen.get(sample)).for_each(|&kept| hits[kept] += 1);
        let (kept, &most) = hits.iter().enumerate().max_by_key(|(_, hits)| **hits)?;
        (most >= LEAST_HITS.max(samples.len() / SAMPLES_PER_HIT)).then(|| &self.kept[kept])
    }

    /// The one whose integers tell these of `own` best, and which do, if that seems to save enough of what they take.
    fn key(&self, own: &Streams, integers: &[u32], stored_bytes: usize) -> Option<(&Kept, Taken)> {
        let is_enough = |share: f64| {
            let bits = -(share * share.log2() + (1.0 - share) * (1.0 - share).log2());
            let others = (1.0 - share) * stored_bytes as f64;
            share == 1.0 || bits / 8.0 * integers.len() as f64 + others < MOST_OF_STORED * stored_bytes as f64
        };
        let may_do = self.kept.iter().filter(|kept| is_enough(kept.tried.repeated_share()));
        let tried = may_do.filter_map(|kept| {
            let taken = taken(own, &kept.streams)?;
            Some((kept.tried.expected_share(integers, &taken), kept, taken))
        });
        let (share, kept, taken) = tried.max_by(|(a, ..), (b, ..)| a.total_cmp(b))?;
        is_enough(share).then_some((kept, taken))
    }
}

/// How many bytes are kept of a bundle.
fn kept_bytes(streams: &Streams, integers: &[u32]) -> usize {
    streams.total() + size_of_val(integers)
}

/// Which integers of a key those of `own` have, if each has one.
fn taken(own: &Streams, key: &Streams) -> Option<Taken> {
    let is_one_a_value = |streams: &Streams| streams.area.count == streams.values;
    if own.slots == key.slots && own.area.count == key.area.count {
        return Some(Taken::All);
    }
    (is_one_a_value(own) && is_one_a_value(key)).then(|| Taken::new(&own.slots, &key.slots)).flatten()
}

/// The different samples of what is compressed.
fn samples_of(streams: &Streams) -> Vec<u64> {
    let mut samples = Vec::new();
    for (i, stream) in streams.all().into_iter().enumerate() {
        for window in stream.windows(SAMPLE_BYTES).step_by(PLACES_STEP) {
            let Some(sample) = window.first_chunk() else { break };
            let hash = u64::from_le_bytes(*sample).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            if hash >> (u64::BITS - PLACES_PER_SAMPLE_LOG2) == 0 {
                samples.push(hash << 2 | i as u64);
            }
        }
    }
    samples.sort_unstable();
    samples.dedup();
    samples
}

/// A bundle, compressed.
struct Written {
    chunk: Vec<u8>,
    stored: [usize; STREAMS],
    needs: Needs,
}

impl Written {
    /// The other one instead, if it saves enough for so many more bytes to be decompressed.
    fn or(self, other: Self, needed: &Streams) -> Self {
        let least = (needed.total() / NEEDED_BYTES_PER_SAVED).max(self.chunk.len() / STORED_BYTES_PER_SAVED);
        if other.chunk.len() + least < self.chunk.len() { other } else { self }
    }
}

impl BlockEncoder {
    /// Writes what is in `scratch` as a bundle of its own.
    pub(super) fn place_alone(&mut self, progress: &mut Progress<'_>) -> Result<Location> {
        let Self { scratch, zstd, earlier, .. } = self;
        if scratch.total() > MAX_NEEDED_BYTES || !earlier.is_looked_at {
            return progress.add(scratch, zstd, &mut self.chunk);
        }
        let write =
            |zstd: &mut Zstd, base: &Streams, keyed: Option<&[u8]>, needs: Needs| -> Result<Written> {
                let mut chunk = Vec::new();
                let stored = scratch.write_after(base, keyed, zstd, &mut chunk)?;
                Ok(Written { chunk, stored, needs })
            };
        let nothing = Streams::default();
        let mut best = write(zstd, &nothing, None, Needs::default())?;
        let alone_bytes = best.chunk.len();
        let samples = samples_of(scratch);
        let base = earlier.base(&samples);
        if let Some(base) = base {
            let needs = Needs { base: Some(base.bundle), key: None };
            best = best.or(write(zstd, &base.streams, None, needs)?, &base.streams);
        }
        let integers = scratch.area.integers(&scratch.bytes).unwrap_or_default();
        if !integers.is_empty()
            && best.stored[1] >= LEAST_KEYED_BYTES
            && let Some((key, taken)) = earlier.key(scratch, &integers, best.stored[1])
        {
            let of_key = (key.streams.area, &key.integers[..], &taken);
            let keyed = keyed::encode(&scratch.bytes, (scratch.area, &integers), of_key, zstd)?;
            let base = base.filter(|_| best.needs.base.is_some());
            let needs = Needs { key: Some(key.bundle), ..best.needs };
            let base = base.map_or(&nothing, |base| &base.streams);
            best = best.or(write(zstd, base, Some(&keyed), needs)?, &key.streams);
        }
        earlier.stored_bytes += best.chunk.len();
        earlier.saved_bytes += alone_bytes - best.chunk.len();
        let at = progress.add_chunk(&best.chunk, scratch.lens(), best.stored, best.needs)?;
        let more = kept_bytes(scratch, &integers);
        if best.needs == Needs::default() && earlier.kept_bytes + more <= MAX_KEPT_BYTES {
            earlier.keep(at.bundle, scratch, &samples, integers);
        }
        Ok(at)
    }
}

#[cfg(test)]
mod tests {
    use super::super::EncodeOptions;
    use super::*;
    use crate::columnar::Row;
    use crate::{EntryBuf, EntryRef, Value};
    use duramen_engine::sstable::{ChunkHandle, ChunkSink};

    struct Nowhere;

    impl ChunkSink for Nowhere {
        fn add_chunk(&mut self, bytes: &[u8]) -> duramen_engine::Result<ChunkHandle> {
            Ok(ChunkHandle { offset: 0, len: bytes.len() as u32 })
        }
    }

    #[test]
    fn no_more_is_kept_of_a_block_than_may_be() {
        let names: Vec<String> = (0..12).map(|i| format!("field{i}")).collect();
        let (mut buf, mut seed) = (EntryBuf::new([""; 0]), 1u64);
        let mut entries = Vec::new();
        for time in 0..9_000 {
            buf.start(time);
            for name in &names {
                let mut letter = |_| {
                    seed =
                        seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    char::from(b'a' + (seed >> 33) as u8 % 26)
                };
                let text: String = (0..100).map(&mut letter).collect();
                buf.field(name, Value::Str(&text));
            }
            entries.push(buf.finish().unwrap().to_vec());
        }
        let rows = entries.iter().zip(0..);
        let rows: Vec<Row<'_>> = rows
            .map(|(entry, seq)| Row { entry: EntryRef::decode(entry).unwrap(), writer: 1, seq })
            .collect();
        let mut encoder = BlockEncoder::new(EncodeOptions::default()).unwrap();
        let mut columns = crate::columnar::columnize::Columnizer::default();
        columns.fill(&rows).unwrap();
        encoder.encode_columns(&columns, &mut Nowhere).unwrap();
        let kept = encoder.earlier.kept.iter().map(|kept| kept_bytes(&kept.streams, &kept.integers));
        let kept: usize = kept.sum();
        assert_eq!(kept, encoder.earlier.kept_bytes);
        assert!((MAX_KEPT_BYTES - MAX_NEEDED_BYTES..=MAX_KEPT_BYTES).contains(&kept), "{kept}");
        let largest = encoder.earlier.kept.iter().map(|kept| kept.streams.total()).max();
        assert!(largest.is_some_and(|bytes| bytes <= MAX_NEEDED_BYTES));
        encoder.encode(&rows, &mut Nowhere).unwrap();
        assert!(encoder.earlier.kept.is_empty() && encoder.earlier.kept_bytes == 0, "the block is written");
    }
}
