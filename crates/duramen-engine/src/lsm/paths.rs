//! What lies where in a store's directory.
//!
//! ```text
//! <store>/ENGINE           which engine made it
//!         LOCK             held while it is open for writing
//!         MANIFEST         which tables are live
//!         sst/00000012.sst tables; an ingested one says when: 00000012.seq4711.sst
//!         wal/0f3a…c1/     WAL segments
//!         quarantine/      damaged files, put aside
//! ```

use std::path::Path;

/// The lock file.
pub(super) const LOCK: &str = "LOCK";
/// The directory of tables.
pub(crate) const TABLES: &str = "sst";
/// The directory of WAL writers.
pub(crate) const WAL: &str = "wal";
/// Where damaged files go.
pub(super) const QUARANTINE: &str = "quarantine";

/// A table's path, relative to the store's directory.
pub(super) fn table(number: u64) -> String {
    format!("{TABLES}/{number:08}.sst")
}

/// That of an ingested table. Its entries have no sequence numbers of their own, only the manifest says which one all
/// of them have; should that be lost, the name still does.
pub(super) fn ingested_table(number: u64, seq: u64) -> String {
    format!("{TABLES}/{number:08}.seq{seq}.sst")
}

/// The number of a table, and for an ingested one the sequence number, in its file's name.
pub(super) fn parse_table(path: &Path) -> Option<(u64, Option<u64>)> {
    let name = path.file_name()?.to_str()?.strip_suffix(".sst")?;
    let (number, seq) = match name.split_once(".seq") {
        None => (name.parse().ok()?, None),
        Some((number, seq)) => (number.parse().ok()?, Some(seq.parse().ok()?)),
    };
    let path = seq.map_or_else(|| table(number), |seq| ingested_table(number, seq));
    (path.strip_prefix(TABLES)?.strip_prefix('/')?.strip_suffix(".sst")? == name).then_some((number, seq))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_table_s_file_says_which_it_is() {
        for (number, seq) in [(1, None), (123_456_789, None), (7, Some(0)), (8, Some(u64::MAX))] {
            let path = seq.map_or_else(|| table(number), |seq| ingested_table(number, seq));
            assert_eq!(parse_table(Path::new(&path)), Some((number, seq)), "{path}");
        }
        for name in
            ["1.sst", "00000001.sst.tmp", "00000001.seq.sst", "00000001.seq1.seq2.sst", "x.sst", "00000001"]
        {
            assert_eq!(parse_table(Path::new(name)), None, "{name}");
        }
    }
}
