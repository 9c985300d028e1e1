//! Where things lie in a store's directory.
//!
//! ```text
//! DIR/
//!   MANIFEST              which tables are live, which WAL segments they hold
//!   KEEPER                the lock of the process that flushes for all
//!   KEEPER.next           the lock of a process that wants to be keeper: the present one gives the role up
//!   READERS, READERS.odd  one is locked, shared, by whoever holds a snapshot: what it may read is not removed
//!   wal/<writer>/         one directory a writer: LOCK and its segments
//!   tables/<day>/         one directory a UTC day, YYYYMMDD: <number>.sst, by their first lines
//!   sources/<00..ff>      the locks of those who take log files and tables: `duramen ingest`, `duramen import`
//!   quarantine/           what was found damaged, kept for a person to look at
//! ```

use crate::columnar::date_of;
use crate::store::readers::Generation;
use std::path::{Path, PathBuf};

/// The paths of one store.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    root: PathBuf,
}

/// Nanoseconds of a day.
pub(crate) const DAY_NS: i64 = 86_400 * 1_000_000_000;

impl Layout {
    pub(crate) fn new(root: &Path) -> Self {
        Self { root: root.to_path_buf() }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn manifest(&self) -> PathBuf {
        self.root.join("MANIFEST")
    }

    pub(crate) fn keeper_lock(&self) -> PathBuf {
        self.root.join("KEEPER")
    }

    pub(crate) fn claim_lock(&self) -> PathBuf {
        self.root.join("KEEPER.next")
    }

    pub(crate) fn readers_lock(&self, generation: Generation) -> PathBuf {
        self.root.join(match generation {
            Generation::Even => "READERS",
            Generation::Odd => "READERS.odd",
        })
    }

    pub(crate) fn wal(&self) -> PathBuf {
        self.root.join("wal")
    }

    pub(crate) fn tables(&self) -> PathBuf {
        self.root.join("tables")
    }

    pub(crate) fn quarantine(&self) -> PathBuf {
        self.root.join("quarantine")
    }

    /// A table's path relative to the store, as the manifest has it.
    pub(crate) fn table_path(day: &str, number: u64) -> String {
        format!("tables/{day}/{number:08}.sst")
    }

    pub(crate) fn resolve(&self, relative: &str) -> PathBuf {
        self.root.join(relative)
    }

    /// Whether a name in the root may be there before the manifest is: a store whose making was cut short.
    pub(crate) fn is_ours_before_manifest(name: &str) -> bool {
        let ours = [
            "KEEPER",
            "KEEPER.next",
            "READERS",
            "READERS.odd",
            "MANIFEST.tmp",
            "wal",
            "tables",
            "quarantine",
        ];
        ours.contains(&name)
    }
}

/// The UTC day of a time stamp, as days since the epoch.
pub(crate) fn day_of(time_ns: i64) -> i64 {
    time_ns.div_euclid(DAY_NS)
}

/// Days that have less than so many bytes of lines together share a table, so that a log of few lines a day does not
/// become a table a day, each with little to compress.
pub(crate) const SPARSE_BYTES: u64 = 1 << 20;

/// A table never reaches over the edge of such a window of days, about ten years: lines with dates that are decades off
/// share no tables with the others.
pub(crate) const WINDOW_DAYS: i64 = 3660;

/// The window that a day lies in.
pub(crate) fn window_of(day: i64) -> i64 {
    day.div_euclid(WINDOW_DAYS)
}

/// A day's directory name: `YYYYMMDD` (proleptic Gregorian, UTC).
pub(crate) fn day_name(day: i64) -> String {
    let (year, month, day_of_month) = date_of(day);
    format!("{year:04}{month:02}{day_of_month:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_have_their_names() {
        for (ns, name) in [
            (0, "19700101"),
            (-1, "19691231"),
            (951_782_400_000_000_000, "20000229"),
            (1_767_225_599_999_999_999, "20251231"),
            (i64::MAX, "22620411"),
            (i64::MIN, "16770921"),
        ] {
            assert_eq!(day_name(day_of(ns)), name);
        }
    }
}
