//! What a table tells of its blocks' streams, fields and steps of time.
//!
//! ```text
//! input   flags u8 | bytes      flags bit 0: the bytes are the property as it is stored, and not only what is in it
//! ```

use super::Seed;
use crate::input::flags;
use duramen::fuzzing::{
    read_table_fields, read_table_streams, read_table_times, stored_table_streams, table_streams_seeds,
};

/// Tries an input.
pub fn run(input: &[u8]) {
    let (flags, bytes) = flags(input);
    let stored = if flags & 1 == 0 { stored_table_streams(bytes) } else { bytes.to_vec() };
    read_table_streams(&stored);
    read_table_fields(&stored);
    read_table_times(&stored);
}

/// Of no, few and many streams; what is not compressed, in both ways.
pub fn seeds() -> Vec<Seed> {
    let mut seeds = Vec::new();
    for (name, property) in table_streams_seeds() {
        // Behind the method and a length of one byte.
        if let [0, 0..0x80, plain @ ..] = &property[..] {
            seeds.push((format!("{name}-plain"), [&[0], plain].concat()));
        }
        seeds.push((name.to_owned(), [&[1], &property[..]].concat()));
    }
    seeds
}
