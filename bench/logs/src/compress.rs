//! What zstd makes of a log, for comparison: one frame, one thread.

use crate::Result;
use crate::input::Input;
use std::io::{BufWriter, Write};

/// How many bytes the log has, compressed at this level.
pub(crate) fn compressed_bytes(input: &Input, level: i32) -> Result<u64> {
    let encoder = zstd::Encoder::new(Count(0), level)?;
    let mut sink = BufWriter::with_capacity(1 << 17, encoder);
    input.copy_to(&mut sink)?;
    let encoder = sink.into_inner().map_err(|e| e.into_error())?;
    Ok(encoder.finish()?.0)
}

/// Counts what is written, and forgets it.
struct Count(u64);

impl Write for Count {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
