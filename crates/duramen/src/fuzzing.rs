//! What the fuzz targets need of what is private. Only with the feature `fuzzing`, and no part of the API.

#![allow(dead_code)] // compiled with the tests too, so that it stays right

use crate::columnar::fuzzing as table_streams;
use crate::error::Result;
use crate::store::fuzzing::{entry_ranges, source_of};
use crate::store::fuzzing::{facts, field_counts, origins, retention, source};
use crate::{Batch, SourcePosition};
use std::ops::Range;

/// Where in a record's payload its entries lie.
///
/// # Errors
/// [`crate::Error::Decode`] if the payload is not what its kind and count say.
pub fn payload_entries(kind: u8, count: u32, payload: &[u8]) -> Result<Vec<Range<usize>>> {
    entry_ranges(kind, count, payload)?.collect()
}

/// The source position in a record's payload.
///
/// # Errors
/// [`crate::Error::Decode`] if the payload is not what its kind and count say.
pub fn payload_source(kind: u8, count: u32, payload: &[u8]) -> Result<Option<SourcePosition>> {
    source_of(kind, count, payload)
}

/// The payload of the record that a batch becomes.
pub fn batch_payload(batch: &mut Batch, source: Option<&SourcePosition>) -> Vec<u8> {
    batch.with_payload(source, |_, payload| Ok(payload.to_vec())).unwrap_or_default()
}

/// Decodes bytes, if they make sense, and encodes what they say.
pub type Fact = fn(&[u8]) -> Option<Vec<u8>>;

/// What the log store keeps as CBOR in manifests and table properties.
pub const FACTS: [Fact; 5] = [source, origins, facts, field_counts, retention];

/// Some bytes of each of [`FACTS`], with a name.
pub fn fact_seeds() -> [(&'static str, Vec<u8>); 5] {
    crate::store::fuzzing::seeds()
}

/// Reads a table's property `table_streams`, and all that it tells. Panics if that does not hold together.
pub fn read_table_streams(property: &[u8]) {
    table_streams::look_at_all(property);
}

/// Reads a table's property `block_fields`, and all that it tells. Panics if that does not hold together.
pub fn read_table_fields(property: &[u8]) {
    crate::columnar::look_at_all_fields(property);
}

/// Reads a table's property `block_times`, and all that it tells. Panics if that does not hold together.
pub fn read_table_times(property: &[u8]) {
    crate::columnar::look_at_all_times(property);
}

/// Bytes as such a property, not compressed.
pub fn stored_table_streams(plain: &[u8]) -> Vec<u8> {
    table_streams::stored(plain)
}

/// Some such properties, each with a name.
pub fn table_streams_seeds() -> Vec<(&'static str, Vec<u8>)> {
    table_streams::seeds()
}
