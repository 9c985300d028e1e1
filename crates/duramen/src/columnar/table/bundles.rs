//! Which bundles stay decompressed: those that several columns share. What one column has for itself goes with it.

use super::super::bytes::bad;
use super::super::directory::Location;
use super::super::streams::{ALL, Before, Bundle, INTEGERS, LETTERS, MAX_NEEDED_BYTES, Part};
use super::TableBlock;
use crate::error::Result;
use std::ops::Deref;

/// A bundle that was read.
pub(super) enum ReadBundle<'a> {
    /// It stays with the block.
    Kept(&'a Bundle),
    /// Read for the one part that it has.
    Own(Bundle),
}

impl Deref for ReadBundle<'_> {
    type Target = Bundle;

    fn deref(&self) -> &Bundle {
        match self {
            Self::Kept(bundle) => bundle,
            Self::Own(bundle) => bundle,
        }
    }
}

impl ReadBundle<'_> {
    /// Whether nobody else reads its text, all of which is that of the part at `at`.
    pub(super) fn is_only_for(&self, at: &Location) -> bool {
        matches!(self, Self::Own(_)) && self.text().len() == at.lens[3]
    }

    /// Its text, without a copy if it is its own.
    pub(super) fn into_text(self) -> Vec<u8> {
        match self {
            Self::Kept(bundle) => bundle.text().to_vec(),
            Self::Own(bundle) => bundle.into_text(),
        }
    }
}

impl TableBlock {
    pub(super) fn bundle(&self, i: usize) -> Result<&Bundle> {
        self.with_streams(i, ALL)
    }

    /// A bundle of which at least these streams were read.
    fn with_streams(&self, i: usize, streams: &[usize]) -> Result<&Bundle> {
        let bundle = self.bundles[i].get_or_init(&self.clock, Box::default);
        self.read_more(i, bundle, streams)?;
        Ok(bundle)
    }

    fn read_bundle(&self, i: usize) -> Result<Bundle> {
        let bundle = Bundle::default();
        self.read_more(i, &bundle, ALL)?;
        Ok(bundle)
    }

    /// Reads these streams of a bundle, unless they were read.
    fn read_more(&self, i: usize, bundle: &Bundle, streams: &[usize]) -> Result<()> {
        let missing: Vec<usize> = streams.iter().copied().filter(|&stream| !bundle.has(&[stream])).collect();
        let streams = &missing[..];
        if streams.is_empty() {
            return Ok(());
        }
        let chunk = self.source.read_chunk(self.directory.bundles[i])?;
        let Some(&needs) = self.directory.needs.get(&i) else {
            return bundle.read_more(&chunk, Before::default(), streams);
        };
        let base = needs.base.map(|base| self.needed(base, streams)).transpose()?;
        let key = needs.key.filter(|&key| needs.base != Some(key) && streams.contains(&1));
        let key = key.map(|key| self.needed(key, INTEGERS)).transpose()?;
        let (base, key) = (base.as_deref(), key.as_deref());
        let before = Before { base, key: key.or(base.filter(|_| needs.key.is_some())) };
        bundle.read_more(&chunk, before, streams)
    }

    /// These streams of a bundle that another needs, which needs none itself. It is not kept for that.
    fn needed(&self, i: usize, streams: &[usize]) -> Result<ReadBundle<'_>> {
        if let Some(kept) = self.bundles[i].get(&self.clock)
            && kept.has(streams)
        {
            return Ok(ReadBundle::Kept(kept));
        }
        let chunk = self.source.read_chunk(self.directory.bundles[i])?;
        let (sizes, _) = Bundle::sizes(&chunk)?;
        if sizes.iter().sum::<usize>() > MAX_NEEDED_BYTES {
            return Err(bad("a bundle needs one of more than 1 MiB"));
        }
        let bundle = Bundle::default();
        bundle.read_more(&chunk, Before::default(), streams)?;
        Ok(ReadBundle::Own(bundle))
    }

    /// A part without its integers, which of a large column are not read for it: only meta and text are there.
    pub(super) fn letters_of(&self, at: &Location) -> Result<Part<'_>> {
        let is_small = self.are_shared.get(at.bundle) == Some(&true);
        let bundle = self.with_streams(at.bundle, if is_small { ALL } else { LETTERS })?;
        bundle.letters(&at.starts, &at.lens)
    }

    /// The bundle with a part. One with no other part is not kept if all that is in it is decoded and kept.
    pub(super) fn bundle_of(&self, at: &Location, is_for_all: bool) -> Result<ReadBundle<'_>> {
        if is_for_all && !self.is_shared(at) {
            return Ok(ReadBundle::Own(self.read_bundle(at.bundle)?));
        }
        Ok(ReadBundle::Kept(self.bundle(at.bundle)?))
    }

    /// Calls `f` with the part.
    pub(super) fn with_part<T>(
        &self,
        at: &Location,
        is_for_all: bool,
        f: impl FnOnce(&mut Part<'_>) -> Result<T>,
    ) -> Result<T> {
        f(&mut self.bundle_of(at, is_for_all)?.part(&at.starts, &at.lens)?)
    }

    /// Whether it is kept.
    fn is_shared(&self, at: &Location) -> bool {
        self.bundles[at.bundle].peek().is_some() || self.are_shared.get(at.bundle) == Some(&true)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::super::directory::Needs;
    use super::*;
    use crate::block::{Block, Needle, Word, names};
    use crate::columnar::{BlockEncoder, EncodeOptions, Row};
    use crate::{EntryBuf, EntryRef};
    use duramen_engine::sstable::{ChunkHandle, ChunkSink, ChunkSource};
    use std::sync::Arc;

    #[derive(Debug, Default)]
    struct Chunks(Vec<Vec<u8>>);

    impl ChunkSink for Chunks {
        fn add_chunk(&mut self, bytes: &[u8]) -> duramen_engine::Result<ChunkHandle> {
            self.0.push(bytes.to_vec());
            Ok(ChunkHandle { offset: self.0.len() as u64 - 1, len: bytes.len() as u32 })
        }
    }

    impl ChunkSource for Chunks {
        fn read_chunk(&self, h: ChunkHandle) -> duramen_engine::Result<Vec<u8>> {
            Ok(self.0[h.offset as usize].clone())
        }
    }

    /// Random letters, each time others.
    fn letters(seed: &mut u64, len: usize) -> String {
        let letter = || {
            *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(7);
            char::from(b'a' + (*seed >> 33) as u8 % 26)
        };
        std::iter::repeat_with(letter).take(len).collect()
    }

    pub(in super::super) fn block_of(entries: &[Vec<u8>]) -> TableBlock {
        let rows = entries.iter().zip(0..);
        let rows: Vec<Row<'_>> =
            rows.map(|(e, seq)| Row { entry: EntryRef::decode(e).unwrap(), writer: 1, seq }).collect();
        let mut chunks = Chunks::default();
        let mut encoder = BlockEncoder::new(EncodeOptions::default()).unwrap();
        let encoded = encoder.encode(&rows, &mut chunks).unwrap();
        TableBlock::open(Arc::new(chunks), encoded.directory, &[]).unwrap()
    }

    fn bundle_of(block: &TableBlock, name: &str) -> usize {
        let column = &block.directory.columns[block.number_of(name).unwrap()];
        column.form.location().unwrap().bundle
    }

    #[test]
    fn of_a_column_that_does_not_have_a_word_no_integers_are_read() {
        let (mut buf, mut seed) = (EntryBuf::new([""; 0]), 1u64);
        let agents: Vec<String> = (0..2_000).map(|_| letters(&mut seed, 80)).collect();
        let entries: Vec<Vec<u8>> = (0..20_000)
            .map(|time| {
                let agent = &agents[(time * 7_919 % 3_001 % 2_000) as usize];
                buf.start(time)
                    .message(&format!("from {agent} in {} ms", time % 77))
                    .field("agent", agent.as_str());
                buf.finish().unwrap().to_vec()
            })
            .collect();
        let block = block_of(&entries);
        let bundle = bundle_of(&block, "agent");
        let find = |text: &str| {
            let words = [Word { text, is_whole: true, any_case: false }];
            let certain = |found: &str| found.contains(text);
            let needle = Needle { words: &words, certain: &certain, reaches: &certain, run: None };
            let found = block.search(names::MESSAGE, &needle).unwrap().unwrap();
            let all = found.certain.iter().chain(&found.possible);
            all.map(|word| word.count_ones()).sum::<u32>()
        };
        assert_eq!(find("nowhere"), 0);
        let read = block.bundles[bundle].peek().unwrap();
        assert!(read.has(LETTERS) && !read.has(INTEGERS));
        let expected =
            entries.iter().filter(|e| EntryRef::decode(e).unwrap().message.contains(&agents[5])).count();
        assert!(expected > 0);
        assert_eq!(find(&agents[5]) as usize, expected);
        assert!(block.bundles[bundle].peek().unwrap().has(ALL));
    }

    #[test]
    fn what_is_needed_may_not_be_large() {
        let (mut buf, mut seed) = (EntryBuf::new([""; 0]), 1u64);
        let entries: Vec<Vec<u8>> = (0..9_000)
            .map(|time| {
                buf.start(time).message("x");
                for (name, len) in [("a", MAX_NEEDED_BYTES / 9_000 + 10), ("b", 100)] {
                    buf.field(name, letters(&mut seed, len).as_str());
                }
                buf.finish().unwrap().to_vec()
            })
            .collect();
        let mut block = block_of(&entries);
        let (large, other) = (bundle_of(&block, "a"), bundle_of(&block, "b"));
        assert!(large < other);
        block.directory.needs.insert(other, Needs { base: Some(large), key: None });
        let error = block.read_bundle(other).unwrap_err().to_string();
        assert!(error.contains("more than 1 MiB"), "{error}");
        block
            .directory
            .needs
            .insert(other, Needs { base: Some(block.directory.structure.bundle), key: None });
        block.read_bundle(other).unwrap();
    }
}
