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
