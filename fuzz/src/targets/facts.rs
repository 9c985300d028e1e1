//! The log store's small CBOR: source positions, a table's origins, facts and field counts, retention policies.
//!
//! ```text
//! input   which u8 | bytes
//! ```

use super::Seed;
use crate::input::flags;
use duramen::fuzzing::{FACTS, fact_seeds};

/// Tries an input.
pub fn run(input: &[u8]) {
    let (which, bytes) = flags(input);
    let decode = FACTS[usize::from(which) % FACTS.len()];
    if let Some(encoded) = decode(bytes) {
        // What was understood is understood again.
        assert_eq!(decode(&encoded), Some(encoded.clone()));
    }
}

/// One of each.
pub fn seeds() -> Vec<Seed> {
    (0u8..)
        .zip(fact_seeds())
        .map(|(which, (name, bytes))| (name.to_owned(), [&[which][..], &bytes].concat()))
        .collect()
}
