//! A data block: some rows, in order, and what it takes to find one among them.
//!
//! ```text
//! block    header | restart * r | tags: width bytes * n | row * n | values      little-endian; r = n / interval, rounded up
//! header   base u64 | n u32 | bytes of rows u32 | interval u16 | width u8       19 bytes
//! restart  where its row begins, from the first row u32 | where the row's value begins, from the first value u32
//! row      shared | unshared | value length | key bytes: unshared of them       the three are varints, mostly a byte each
//! ```
//!
//! A row's key shares its first `shared` bytes with the key before it. Every `interval` rows there is a *restart*: a row
//! that shares nothing, where reading can begin. A search is binary among the restarts, then row by row.
//!
//! Values stand apart, after all else and in the order of the rows: so a search passes over a few neighbouring cache
//! lines at the start of the block, and touches one value. A row's *tag* is `(seq - base) * 2 + kind` (0: deletion,
//! 1: put), `base` the smallest sequence number of the block, `width` what the largest tag needs: 0 to 8 bytes. Rows have
//! equal keys only in descending order of their sequence numbers: the newest version comes first.
//!
//! | module | one idea |
//! |---|---|
//! | `encode` | writing a block |
//! | `layout` | [`Block`]: where the parts of a block lie, and its rows |
//! | `find` | the first row at or after a place |
//! | `run` | many rows at once |

mod encode;
mod find;
mod layout;
mod run;

#[cfg(test)]
mod tests;

pub(super) use encode::BlockEncoder;
pub(super) use find::Position;
pub(super) use layout::Block;

use crate::kv::{OpKind, cmp_keys};
use std::cmp::Ordering;

/// Bytes of the header.
const HEADER_BYTES: usize = 19;
/// Bytes of a restart.
const RESTART_BYTES: usize = 8;

/// The largest sequence number a table can hold: a tag needs a bit for the kind.
pub(crate) const MAX_SEQ: u64 = u64::MAX >> 1;

/// The order of versions: by key, then the newest first.
#[inline]
pub(super) fn order(a: (&[u8], u64), b: (&[u8], u64)) -> Ordering {
    cmp_keys(a.0, b.0).then(b.1.cmp(&a.1))
}

#[inline]
fn tag_of(seq: u64, kind: OpKind) -> u64 {
    seq << 1 | u64::from(kind == OpKind::Put)
}
