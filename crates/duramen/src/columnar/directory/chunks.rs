//! Where chunks lie, each told from the end of the one before.

use super::super::bytes::{Reader, bad, put_varint, put_zigzag};
use crate::error::Result;
use duramen_engine::sstable::ChunkHandle;

/// Appends how many chunks there are and where each is, the first told from `end` on; where the last ends.
pub(super) fn put_chunks(p: &mut Vec<u8>, mut end: u64, chunks: &[ChunkHandle]) -> u64 {
    put_varint(p, chunks.len() as u64);
    for chunk in chunks {
        put_zigzag(p, chunk.offset.wrapping_sub(end) as i64);
        put_varint(p, u64::from(chunk.len));
        end = chunk.offset.wrapping_add(u64::from(chunk.len));
    }
    end
}

/// What [`put_chunks`] wrote of at most so many.
pub(super) fn read_chunks(mut end: u64, most: usize, r: &mut Reader<'_>) -> Result<(Vec<ChunkHandle>, u64)> {
    let mut chunks = Vec::new();
    for _ in 0..r.count(most)? {
        let offset = end.wrapping_add(r.zigzag()? as u64);
        let len = u32::try_from(r.varint()?).map_err(|_| bad("a chunk is too long"))?;
        end = offset.wrapping_add(u64::from(len));
        chunks.push(ChunkHandle { offset, len });
    }
    Ok((chunks, end))
}

/// A chunk that there may be, its offset told from `end` on.
pub(super) fn chunk_after(end: u64, r: &mut Reader<'_>) -> Result<Option<ChunkHandle>> {
    Ok(match u32::try_from(r.varint()?).map_err(|_| bad("a chunk is too long"))? {
        0 => None,
        len => Some(ChunkHandle { offset: end.wrapping_add(r.zigzag()? as u64), len }),
    })
}
