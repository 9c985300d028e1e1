//! The chunks of an LSM tree's table, each alone: a data block, a partition's directory, deleted ranges.
//!
//! ```text
//! input   which u8 | seq u8 | part: a key to search | bytes
//! ```

use super::Seed;
use crate::input::put_part;
use duramen_engine::fuzzing::{
    lsm_block_seed, lsm_directory_and_ranges_seeds, read_lsm_block, read_lsm_directory, read_lsm_ranges,
};

/// Tries an input.
pub fn run(input: &[u8]) {
    let [which, seq, len, len_high, rest @ ..] = input else { return };
    let len = usize::from(u16::from_le_bytes([*len, *len_high])).min(rest.len());
    let (key, bytes) = rest.split_at(len);
    // Small numbers, and the largest there are.
    let seq = u64::MAX.rotate_left(u32::from(*seq) / 4) & u64::from(*seq).wrapping_mul(0x0101_0101_0101_0101);
    match which % 3 {
        0 => read_lsm_block(bytes, key, seq),
        1 => read_lsm_directory(bytes, 4096, key, seq),
        _ => read_lsm_ranges(bytes),
    }
}

/// Blocks with few and many restarts, a directory, ranges.
pub fn seeds() -> Vec<Seed> {
    let seed = |which: u8, key: &str, bytes: &[u8]| {
        let mut input = vec![which, 255];
        put_part(&mut input, key.as_bytes());
        input.extend_from_slice(bytes);
        input
    };
    let (directory, ranges) = lsm_directory_and_ranges_seeds(5);
    vec![
        ("block-1".into(), seed(0, "user:00003", &lsm_block_seed(1, 16))),
        ("block-40".into(), seed(0, "user:00031", &lsm_block_seed(40, 16))),
        ("block-9".into(), seed(0, "user", &lsm_block_seed(9, 1))),
        ("directory".into(), seed(1, "key 3", &directory)),
        ("ranges".into(), seed(2, "", &ranges)),
    ]
}
