//! Writing row blocks.

use super::RowBlock;
use crate::sstable::filter::{FuseFilter, FuseFilterRef};
use crate::sstable::wire::put_varint;
use crate::sstable::{BlockCodec, BlockMeta, ChunkSink, ChunkSource};
use crate::{Error, Result};
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_64;

/// Writes and opens row blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowCodec {
    /// How many rows lie between two places where reading can begin; at least 1. The default, 16, is that of
    /// RocksDB's `block_restart_interval`: more saves bytes, fewer saves time.
    pub restart_interval: usize,
    /// Whether a block has a filter of its keys, by XXH3-64. Default: yes.
    pub filter: bool,
}

impl Default for RowCodec {
    fn default() -> Self {
        Self { restart_interval: 16, filter: true }
    }
}

impl BlockCodec for RowCodec {
    const ID: u32 = 1;
    /// Keys with their values, keys strictly ascending.
    type Rows<'a> = &'a [(&'a [u8], &'a [u8])];
    type Block = RowBlock;

    fn encode(&self, rows: Self::Rows<'_>, out: &mut dyn ChunkSink) -> Result<BlockMeta> {
        let (Some((min_key, _)), Some((max_key, _))) = (rows.first(), rows.last()) else {
            return Err(Error::InvalidArgument("a row block needs at least one row".into()));
        };
        let directory = out.add_chunk(&self.encode_rows(rows)?)?;
        let mut filters = Vec::new();
        if self.filter {
            let mut hashes = rows.iter().map(|(key, _)| xxh3_64(key)).collect();
            filters.push(out.add_chunk(&FuseFilter::build(&mut hashes).encode())?);
        }
        Ok(BlockMeta {
            min_key: min_key.to_vec(),
            max_key: max_key.to_vec(),
            entries: rows.len() as u64,
            directory,
            filters,
            user: Vec::new(),
        })
    }

    fn open(&self, source: Arc<dyn ChunkSource>, meta: &BlockMeta) -> Result<RowBlock> {
        RowBlock::read(source, meta.directory)
    }
}

impl RowCodec {
    /// Whether a block may have a key, by its filter: `false` is certain. Reads the filter, not the block.
    /// `true` if the block has no filter.
    ///
    /// # Errors
    /// What the source said, or [`Error::Corruption`] if the filter makes no sense.
    pub fn may_contain(source: &dyn ChunkSource, meta: &BlockMeta, key: &[u8]) -> Result<bool> {
        let Some(&handle) = meta.filters.first() else { return Ok(true) };
        let bytes = source.read_chunk(handle)?;
        let filter = FuseFilterRef::parse(&bytes).map_err(|detail| source.corruption(handle, &detail))?;
        Ok(filter.contains(xxh3_64(key)))
    }

    fn encode_rows(&self, rows: &[(&[u8], &[u8])]) -> Result<Vec<u8>> {
        if self.restart_interval == 0 {
            return Err(Error::InvalidArgument("restart_interval must be at least 1".into()));
        }
        let mut out = Vec::new();
        let mut restarts: Vec<u32> = Vec::new();
        let mut before: Option<&[u8]> = None;
        for (i, &(key, value)) in rows.iter().enumerate() {
            if before.is_some_and(|before| before >= key) {
                return Err(Error::InvalidArgument(format!(
                    "row {i} of a block is not above the row before it"
                )));
            }
            let shared = if i % self.restart_interval == 0 {
                let too_long = |_| Error::InvalidArgument("a row block is over 4 GiB".into());
                restarts.push(u32::try_from(out.len()).map_err(too_long)?);
                0
            } else {
                before.map_or(0, |before| before.iter().zip(key).take_while(|(a, b)| a == b).count())
            };
            put_varint(&mut out, shared as u64);
            put_varint(&mut out, (key.len() - shared) as u64);
            put_varint(&mut out, value.len() as u64);
            out.extend_from_slice(&key[shared..]);
            out.extend_from_slice(value);
            before = Some(key);
        }
        for restart in &restarts {
            out.extend_from_slice(&restart.to_le_bytes());
        }
        out.extend_from_slice(&(restarts.len() as u32).to_le_bytes());
        Ok(out)
    }
}
