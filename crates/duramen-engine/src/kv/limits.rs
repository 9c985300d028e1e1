//! How large things may be.

use crate::{Error, Result};

/// The longest key in bytes: 64 KiB. An empty key is a key.
pub const MAX_KEY_BYTES: usize = 64 << 10;

/// The longest value in bytes: 16 MiB. An empty value is a value.
pub const MAX_VALUE_BYTES: usize = 16 << 20;

/// The longest [`WriteBatch`](super::WriteBatch) in bytes, keys, values and a few bytes for each write: 64 MiB.
pub const MAX_BATCH_BYTES: usize = 64 << 20;

/// Refuses a key over the limit.
#[inline]
pub(crate) fn check_key(key: &[u8]) -> Result<()> {
    if key.len() > MAX_KEY_BYTES {
        let len = key.len();
        return Err(Error::InvalidArgument(format!(
            "a key of {len} bytes; at most {MAX_KEY_BYTES} (MAX_KEY_BYTES)"
        )));
    }
    Ok(())
}

/// Refuses a value over the limit.
#[inline]
pub(crate) fn check_value(value: &[u8]) -> Result<()> {
    if value.len() > MAX_VALUE_BYTES {
        let len = value.len();
        return Err(Error::InvalidArgument(format!(
            "a value of {len} bytes; at most {MAX_VALUE_BYTES} (MAX_VALUE_BYTES)"
        )));
    }
    Ok(())
}
