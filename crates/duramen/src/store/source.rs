//! How far a source (a log file, mostly) has been read: what makes an ingest resumable.
//!
//! A source is known by its content, because log files are renamed and compressed as they age: by a hash
//! of its first bytes to find candidates, and by a hash of everything that was read of it to be sure.

use crate::error::{Error, Result};
use minicbor::{Decode, Encode};
use std::collections::BTreeMap;

/// How much of a source is in the store.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(array)]
pub struct SourcePosition {
    /// What it was called when it was read, for messages to people: an absolute path mostly.
    #[n(0)]
    pub name: String,
    /// How many of its first bytes `head_hash` covers.
    #[n(1)]
    pub head_bytes: u32,
    /// XXH3-64 of those bytes.
    #[n(2)]
    pub head_hash: u64,
    /// How many of its bytes are in the store, decompressed.
    #[n(3)]
    pub read_bytes: u64,
    /// XXH3-64 of those bytes.
    #[n(4)]
    pub read_hash: u64,
    /// How many entries they made.
    #[n(5)]
    pub entries: u64,
}

impl SourcePosition {
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        // Writing to a Vec cannot fail.
        let _infallible = minicbor::encode(self, out);
    }

    /// Its bytes, as [`SourcePosition::decode`] reads them.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.encode(&mut out);
        out
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self> {
        minicbor::decode(bytes).map_err(|e| Error::decode("a source position", e))
    }

    /// The key under which the manifest keeps it: one a name and head, the furthest wins.
    pub(crate) fn key(&self) -> Vec<u8> {
        let mut key = KEY_PREFIX.to_vec();
        key.extend_from_slice(&self.head_hash.to_be_bytes());
        key.extend_from_slice(self.name.as_bytes());
        key
    }
}

/// Puts a position where it belongs unless one that is further is there: the positions of one source come
/// from several writers, which have no order among them, and a source only ever gets further.
pub(crate) fn keep_furthest(positions: &mut BTreeMap<Vec<u8>, SourcePosition>, position: &SourcePosition) {
    let kept = positions.entry(position.key()).or_insert_with(|| position.clone());
    if position.read_bytes > kept.read_bytes {
        kept.clone_from(position);
    }
}

/// What keys of source positions in the manifest begin with.
pub(crate) const KEY_PREFIX: &[u8] = b"source/";
