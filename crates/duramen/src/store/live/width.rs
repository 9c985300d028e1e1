//! How many rows may be one block in memory, where rows have names of fields of their own.
//!
//! A column has a slot for each row of its block. Rows whose fields are always the same hundred make a hundred columns, however
//! many they are; rows with an identifier for a name make more with every row, and blocks of thousands of them would take
//! gigabytes. Some rows tell which it is: those at even places of a sample, and how many names those at odd ones add.

use crate::columnar::MAX_BLOCK_CELLS;
use crate::error::Result;
use crate::store::rows::{Arenas, RowPlace};
use foldhash::fast::FixedState;
use hashbrown::HashSet;

/// So few rows are never cut further.
const FEW_ROWS: usize = 64;
/// How many rows are looked at.
const SAMPLE: usize = 32;
/// What is reckoned from few rows is too much rather than too little.
const MAX_CELLS: usize = 2 * MAX_BLOCK_CELLS;

/// How many of such rows a block should have, at most.
///
/// # Errors
/// That of a row that cannot be read: never, for places that a row set gave.
pub(super) fn most_rows(places: &[RowPlace], arenas: &Arenas) -> Result<usize> {
    let mut rows = places.len();
    if rows <= FEW_ROWS {
        return Ok(rows);
    }
    let mut names: HashSet<&str, FixedState> = HashSet::default();
    let mut take = |from: usize| -> Result<usize> {
        for place in places.iter().step_by(rows / SAMPLE).skip(from).step_by(2).take(SAMPLE / 2) {
            names.extend(arenas.row(place)?.entry.fields().map(|(name, _)| name));
        }
        Ok(names.len())
    };
    let known = take(0)?;
    let fresh = take(1)? - known;
    let columns = |rows: usize| known + fresh * rows / (SAMPLE / 2);
    while rows > FEW_ROWS && columns(rows) * rows > MAX_CELLS {
        rows /= 2;
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this is test code

    use crate::{EntryBuf, Store};

    /// The rows of each block that a snapshot of these lines shows.
    fn blocks(fields: impl Fn(i64) -> Vec<String>) -> Vec<usize> {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path().join("logs")).unwrap();
        for i in 0..4_000 {
            let mut entry = EntryBuf::new(["app"]);
            entry.start(i);
            for name in fields(i) {
                entry.field(&name, 1);
            }
            store.append(entry.finish().unwrap()).unwrap();
        }
        let snapshot = store.snapshot().unwrap();
        snapshot.blocks(i64::MIN, i64::MAX).iter().map(|block| block.rows()).collect()
    }

    #[test]
    fn rows_with_names_of_their_own_make_small_blocks() {
        let same = blocks(|i| (0..20).map(|n| format!("field{}", n + i % 3)).collect());
        assert_eq!(same, [4_000]);
        let own = blocks(|i| (0..10).map(|n| format!("k{i}.{n}")).collect());
        assert_eq!(own.iter().sum::<usize>(), 4_000);
        assert!(own.iter().all(|&rows| rows * rows * 10 <= super::MAX_CELLS), "{own:?}");
    }
}
