//! The engine's own block codec: sorted rows, prefix-compressed.
//!
//! A row block is one chunk, which is also its directory; a second holds the filter of its keys.
//!
//! ```text
//! block     row * n | restart offset u32 * r | r u32            little-endian; offsets ascend, the first is 0
//! row       shared | unshared | value length | key bytes: unshared of them | value bytes
//! ```
//!
//! `shared` says how many bytes the key has in common with the key before it; all three are varints.
//! Every `restart_interval` rows there is a *restart*: a row that shares nothing, where reading can
//! begin. A search is binary among the restarts, then row by row.

mod block;
mod encode;

pub use block::{RowBlock, RowCursor};
pub use encode::RowCodec;
