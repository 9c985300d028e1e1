//! A block into another table as it is.

use super::BlockEncoder;
use super::summary::{BundleSizes, EncodedBlock, Told, summary};
use crate::block::BlockHandle;
use crate::columnar::TableBlock;
use crate::columnar::streams::Bundle;
use crate::error::Result;
use duramen_engine::sstable::ChunkSink;

impl BlockEncoder {
    /// Writes a block again, byte for byte but for where its chunks are. Of what is in them its streams alone are read, for the
    /// table to tell them; what cannot be read is copied all the same. `told` is asked what else is known of it.
    ///
    /// # Errors
    /// What the block's source and `sink` say: a chunk that is damaged is not copied.
    pub(crate) fn copy(
        &mut self,
        block: &TableBlock,
        told: &dyn BlockHandle,
        sink: &mut dyn ChunkSink,
    ) -> Result<EncodedBlock> {
        let mut directory = block.directory().clone();
        let mut bundles = Vec::with_capacity(directory.bundles.len());
        for at in &mut directory.bundles {
            let chunk = block.chunk(*at)?;
            let (plain, stored) = Bundle::sizes(&chunk)?;
            *at = sink.add_chunk(&chunk)?;
            bundles.push(BundleSizes { handle: Some(*at), plain, stored });
        }
        if let Some(grams) = &mut directory.grams {
            *grams = sink.add_chunk(&block.chunk(*grams)?)?;
        }
        let filter = block.filters().iter().map(|part| block.chunk(*part)).collect::<Result<_>>()?;
        directory.filter.clear();
        directory.write(&mut self.zstd, &mut self.chunk)?;
        let handle = sink.add_chunk(&self.chunk)?;
        let few_values = directory.columns.iter().map(|column| told.values(&column.name)).collect();
        let times = told.time_counts();
        Ok(summary(directory, handle, filter, &bundles, block.stream_rows().ok(), Told { few_values, times }))
    }
}

#[cfg(test)]
mod tests {
    use super::super::EncodeOptions;
    use super::*;
    use crate::block::{Block, names};
    use crate::columnar::Row;
    use crate::columnar::compress::Zstd;
    use crate::entry::{EntryBuf, EntryRef};
    use crate::token;
    use duramen_engine::sstable::MemoryChunks;
    use std::sync::Arc;

    /// Nothing is told of a block.
    #[derive(Debug)]
    struct Untold;

    impl BlockHandle for Untold {
        fn rows(&self) -> usize {
            1
        }
        fn min_time(&self) -> i64 {
            0
        }
        fn max_time(&self) -> i64 {
            0
        }
        fn open(&self) -> Result<Arc<dyn Block>> {
            Err(crate::Error::Invalid("nobody opens it".into()))
        }
    }

    #[test]
    fn the_filter_of_an_earlier_version_which_the_block_itself_leads_to_comes_along() {
        let mut buf = EntryBuf::default();
        let entries: Vec<Vec<u8>> = (0..3000)
            .map(|i| buf.start(i).message(&format!("word{i} and more")).finish().unwrap().to_vec())
            .collect();
        let rows: Vec<Row<'_>> = (0..)
            .zip(&entries)
            .map(|(seq, e)| Row { entry: EntryRef::decode(e).unwrap(), writer: 1, seq })
            .collect();
        let mut encoder = BlockEncoder::new(EncodeOptions::default()).unwrap();
        let mut chunks = MemoryChunks::default();
        let encoded = encoder.encode(&rows, &mut chunks).unwrap();
        let filters = encoded.write_filter(&mut chunks).unwrap();
        let without = TableBlock::open(Arc::new(chunks.clone()), encoded.directory, &[]).unwrap();
        let has = |block: &TableBlock, word: &str| {
            block.may_contain_words(names::MESSAGE, &[token::hash(word)]).unwrap()
        };
        let count = |block: &TableBlock| (0..1000).filter(|n| has(block, &format!("other{n}"))).count();
        assert_eq!(count(&without), 1000, "nobody can tell");
        // As an earlier version wrote it.
        let mut directory = without.directory().clone();
        directory.filter = filters;
        let mut chunk = Vec::new();
        directory.write(&mut Zstd::new(EncodeOptions::default()).unwrap(), &mut chunk).unwrap();
        let directory = chunks.add_chunk(&chunk).unwrap();
        let earlier = TableBlock::open(Arc::new(chunks), directory, &[]).unwrap();
        assert!(count(&earlier) < 100 && (0..3000).all(|i| has(&earlier, &format!("word{i}"))));
        let mut copied_to = MemoryChunks::default();
        let copied = encoder.copy(&earlier, &Untold, &mut copied_to).unwrap();
        assert_eq!(copied.filter, encoded.filter);
        let filters = copied.write_filter(&mut copied_to).unwrap();
        let open =
            |filters| TableBlock::open(Arc::new(copied_to.clone()), copied.directory, filters).unwrap();
        assert_eq!((count(&open(&[])), count(&open(&filters))), (1000, count(&earlier)));
    }
}
