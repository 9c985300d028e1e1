//! A sorted table of versions: writing it, finding in it, caching its blocks.

/// An open table.
#[derive(Debug)]
pub(super) struct TableReader;
