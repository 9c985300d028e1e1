//! What lies where in a store's directory.
//!
//! ```text
//! <store>/ENGINE           which engine made it
//!         LOCK             held while it is open for writing
//!         MANIFEST         which tables are live
//!         sst/00000012.sst tables
//!         wal/0f3a…c1/     WAL segments
//!         quarantine/      damaged files, put aside
//! ```

/// The lock file.
pub(super) const LOCK: &str = "LOCK";
/// The directory of tables.
pub(super) const TABLES: &str = "sst";
/// The directory of WAL writers.
pub(super) const WAL: &str = "wal";
/// Where damaged files go.
pub(super) const QUARANTINE: &str = "quarantine";

/// A table's path, relative to the store's directory.
pub(super) fn table(number: u64) -> String {
    format!("{TABLES}/{number:08}.sst")
}
