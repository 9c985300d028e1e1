//! Which slots have a value: one bit a slot. Columns that occur together share one map.
//!
//! ```text
//! in meta: 0; in bytes: one bit a slot, least significant first
//!      or: 1, count varint, run lengths as integers: absent, present, absent …
//! ```

use super::bytes::{bad, put_varint};
use super::ints;
use super::streams::{Part, Streams};
use crate::column::bit;
use crate::error::Result;

const BITS: u8 = 0;
const RUNS: u8 = 1;

/// Writes a map of `rows` bits.
pub(crate) fn encode(map: &[u64], rows: usize, out: &mut Streams) {
    let mut runs: Vec<i64> = Vec::new();
    let mut value = false;
    let mut start = 0;
    for slot in 0..rows {
        if bit(map, slot) != value {
            runs.push((slot - start) as i64);
            start = slot;
            value = !value;
        }
    }
    runs.push((rows - start) as i64);
    if runs.len() < rows / 24 + 4 {
        out.meta.push(RUNS);
        put_varint(&mut out.meta, runs.len() as u64);
        ints::encode(&runs, out);
    } else {
        out.meta.push(BITS);
        let words = (0..rows.div_ceil(64)).map(|i| map.get(i).copied().unwrap_or(0));
        out.bytes.extend(words.flat_map(u64::to_le_bytes).take(rows.div_ceil(8)));
    }
}

/// Reads a map of `rows` bits, which must have `count` set.
pub(crate) fn decode(part: &mut Part<'_>, rows: usize) -> Result<Vec<u64>> {
    let mut map = vec![0u64; rows.div_ceil(64)];
    match part.meta.u8()? {
        RUNS => {
            let count = part.meta.count(rows + 1)?;
            let mut at = 0usize;
            for (i, run) in ints::decode(part, count)?.into_iter().enumerate() {
                let end = usize::try_from(run).ok().and_then(|run| at.checked_add(run));
                let end = end.filter(|&end| end <= rows).ok_or_else(|| bad("a run is too long"))?;
                if i % 2 == 1 {
                    (at..end).for_each(|slot| map[slot / 64] |= 1 << (slot % 64));
                }
                at = end;
            }
        }
        BITS => {
            for (i, byte) in part.bytes.take(rows.div_ceil(8))?.iter().enumerate() {
                map[i / 8] |= u64::from(*byte) << (i % 8 * 8);
            }
            if !rows.is_multiple_of(64)
                && let Some(last) = map.last_mut()
            {
                *last &= (1 << (rows % 64)) - 1;
            }
        }
        _ => return Err(bad("an encoding of a map is unknown")),
    }
    Ok(map)
}

/// How many bits are set.
pub(crate) fn count(map: &[u64]) -> usize {
    map.iter().map(|w| w.count_ones() as usize).sum()
}
