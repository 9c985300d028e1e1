//! Chunks in memory: a sink and a source without a file.

use super::format::{FRAME_BYTES, encode_frame, frame_crc, u32_at};
use super::{ChunkHandle, ChunkSink, ChunkSource, MAX_CHUNK_BYTES};
use crate::{Error, Result};

/// Chunks in memory, framed and checked as in a file. For tests of codecs, and for blocks that are never
/// stored. To read, put it into an `Arc` once all chunks are in.
#[derive(Clone, Debug, Default)]
pub struct MemoryChunks {
    bytes: Vec<u8>,
}

impl MemoryChunks {
    /// All frames, so that a test can damage them.
    pub fn bytes_mut(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// How many bytes the chunks take with their frames.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether there is no chunk.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
}

impl ChunkSink for MemoryChunks {
    fn add_chunk(&mut self, bytes: &[u8]) -> Result<ChunkHandle> {
        check_chunk_len(bytes.len())?;
        self.bytes.extend_from_slice(&encode_frame(bytes));
        let handle = ChunkHandle { offset: self.bytes.len() as u64, len: bytes.len() as u32 };
        self.bytes.extend_from_slice(bytes);
        Ok(handle)
    }
}

impl ChunkSource for MemoryChunks {
    fn read_chunk(&self, handle: ChunkHandle) -> Result<Vec<u8>> {
        let frame = handle.frame_start().zip(handle.end()).and_then(|(start, end)| {
            self.bytes.get(usize::try_from(start).ok()?..usize::try_from(end).ok()?)
        });
        let frame = frame.ok_or_else(|| self.corruption(handle, &"the chunk reaches past the end"))?;
        check_frame(frame).map_err(|detail| self.corruption(handle, &detail))?;
        Ok(frame[FRAME_BYTES..].to_vec())
    }
}

/// Refuses a chunk that is too long.
pub(super) fn check_chunk_len(len: usize) -> Result<()> {
    if len > MAX_CHUNK_BYTES {
        return Err(Error::InvalidArgument(format!(
            "a chunk of {len} bytes is over the limit of {MAX_CHUNK_BYTES}"
        )));
    }
    Ok(())
}

/// Checks a whole frame against its length and checksum.
pub(crate) fn check_frame(frame: &[u8]) -> Result<(), String> {
    let payload = frame.get(FRAME_BYTES..).ok_or("a frame is cut short")?;
    let (len, crc) = (u32_at(frame, 0), u32_at(frame, 4));
    if len as usize != payload.len() {
        return Err(format!("the frame says {len} bytes where {} are expected", payload.len()));
    }
    let found = frame_crc(payload);
    if crc == found {
        Ok(())
    } else {
        Err(format!("the chunk's checksum is {found:08x}, its frame says {crc:08x}"))
    }
}
