//! The part of CBOR (RFC 8949) that entries are made of: heads, integers, texts, byte strings, floats, tags.
//!
//! An entry is written once and read several times on its way into a table, field by field, so both are made for short
//! texts. Whatever else is CBOR in a store is read and written by a library.

mod ascii;
mod reader;
mod writer;

pub(crate) use reader::{Reader, Wrong};
pub(crate) use writer::{MAX_HEAD_BYTES, Writer, text_len};
