//! What retention and deletion have removed since the store was made: nothing goes uncounted.
//!
//! In the manifest, under the key `removed`. CBOR, an array of arrays `[lines uint, stored_bytes uint]`, in the order
//! of the fields of [`RetentionCounts`]; what a later version adds stands behind.

use crate::error::{Error, Result};
use minicbor::{Decode, Encode};

/// Where the counts lie among the manifest's values.
pub(crate) const COUNTS_KEY: &[u8] = b"removed";

/// Lines that were removed, and what they took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(array)]
pub struct Removed {
    /// How many lines.
    #[n(0)]
    pub lines: u64,
    /// By how many bytes the tables became smaller.
    #[n(1)]
    pub stored_bytes: u64,
}

impl Removed {
    pub(crate) fn add(&mut self, lines: u64, stored_bytes: u64) {
        self.lines = self.lines.saturating_add(lines);
        self.stored_bytes = self.stored_bytes.saturating_add(stored_bytes);
    }
}

/// What was removed since the store was made, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(array)]
pub struct RetentionCounts {
    /// Lines that got older than their limit.
    #[n(0)]
    pub expired: Removed,
    /// Lines that were older than their limit when they came, and so never got into a table. Those took no bytes.
    #[n(1)]
    pub late: Removed,
    /// Lines that went because all tables together took more than the policy allows.
    #[n(2)]
    pub over_size: Removed,
    /// Lines that went because the file system had less space left than the policy asks for.
    #[n(3)]
    pub low_space: Removed,
    /// Lines that somebody deleted.
    #[n(4)]
    pub deleted: Removed,
}

impl RetentionCounts {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        // Writing to a Vec cannot fail.
        let _infallible = minicbor::encode(self, &mut out);
        out
    }

    /// # Errors
    /// [`Error::Decode`] if the bytes are none.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self> {
        minicbor::decode(bytes).map_err(|e| Error::decode("the counts of removed lines", e))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_come_back_and_may_get_more() {
        let mut counts = RetentionCounts::default();
        counts.late.add(7, 0);
        counts.deleted.add(u64::MAX, 3);
        counts.deleted.add(1, 1);
        assert_eq!(counts.deleted, Removed { lines: u64::MAX, stored_bytes: 4 });
        let mut bytes = counts.encode();
        assert_eq!(RetentionCounts::decode(&bytes).unwrap(), counts);
        assert_eq!(bytes[0], 0x85, "an array of five");
        bytes[0] = 0x86;
        bytes.extend([0x82, 1, 1]);
        assert_eq!(RetentionCounts::decode(&bytes).unwrap(), counts, "one more is skipped");
        assert!(RetentionCounts::decode(&bytes[..3]).is_err());
    }
}
