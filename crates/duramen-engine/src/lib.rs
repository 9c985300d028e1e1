//! The storage engine of Duramen: it knows bytes, never what they mean.
//!
//! | module | what it is |
//! |---|---|
//! | [`io`] | files, mapped segments, directories, clock, randomness: the only place that touches the operating system |
//! | [`wal`] | the write-ahead log: preallocated, memory-mapped segments, one set per writer |
//! | [`memtable`] | an ordered index over the bytes that already lie in a WAL segment |
//! | [`sstable`] | immutable tables: checksummed blocks behind a codec, a sparse index, filters, a footer |
//! | [`manifest`] | which tables are live and which WAL segments they hold: checksummed, atomic edits |
//! | [`kv`] | an embedded key-value store: what it can do, whichever engine it has |
//! | [`lsm`] | the engine composed of all of the above |
//! | [`dump`](mod@dump) | what is in any of their files, line by line |
//! | [`log`] | the engine that is one append-only file |
//! | [`memory`] | memory for what is read often, and for much at once: in huge pages |
//!
//! The log store (crate `duramen`) is composed from these parts.

pub mod dump;
pub mod error;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
pub mod io;
pub mod kv;
pub mod log;
pub mod lsm;
pub mod manifest;
pub mod memory;
pub mod memtable;
pub mod sstable;
pub mod wal;

pub use error::{Error, Result};

/// The guide's example compiles.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/engine.md")]
struct Guide;
