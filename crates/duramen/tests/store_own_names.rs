//! Rows with names of fields of their own, as where an identifier is made a name: their blocks have few rows, or a block would
//! take as much memory as all names times all rows.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this is test code

use duramen::columnar::MAX_BLOCK_CELLS;
use duramen::{EntryBuf, Store, StoreOptions};
use std::ops::ControlFlow;

const ROWS: i64 = 4_000;
const OWN: i64 = 10;

fn append(store: &Store) {
    let mut entry = EntryBuf::new(["app"]);
    for n in 0..ROWS {
        // Two streams, one of which has the same fields in every line.
        let app = if n % 2 == 0 { "own" } else { "same" };
        entry.start(n).message("stored").field("app", app);
        for field in 0..OWN {
            let name = if n % 2 == 0 { format!("k{n}.{field}") } else { format!("f{field}") };
            entry.field(&name, n + field);
        }
        store.append(entry.finish().unwrap()).unwrap();
    }
}

fn check(store: &Store, most_rows: i64) {
    let snapshot = store.snapshot().unwrap();
    let blocks = snapshot.blocks(i64::MIN, i64::MAX);
    assert!(blocks.is_sorted_by_key(|block| block.min_time()));
    let mut of_own = 0;
    for block in blocks {
        let opened = block.open().unwrap();
        let names = opened.field_names().unwrap().len();
        if names > 3 * OWN as usize {
            assert!(block.rows() as i64 <= most_rows, "{} rows with {names} names", block.rows());
            of_own += block.rows() as i64;
        }
    }
    assert!(of_own >= ROWS / 2, "{of_own}");
    let mut n = 0;
    store
        .scan(i64::MIN, i64::MAX, &mut |row| {
            let last = if n % 2 == 0 { format!("k{n}.{}", OWN - 1) } else { format!("f{}", OWN - 1) };
            assert_eq!(row.field(&last), Some((n + OWN - 1).to_string()));
            n += 1;
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(n, ROWS);
}

#[test]
fn blocks_of_rows_with_names_of_their_own_have_few_rows() {
    let dir = tempfile::tempdir().unwrap();
    let store = StoreOptions::new().background(false).open(dir.path().join("logs")).unwrap();
    append(&store);
    let most_rows = (MAX_BLOCK_CELLS as f64 / OWN as f64).sqrt() as i64 + 2;
    store.flush().unwrap();
    check(&store, most_rows);
    append_more_and_merge(&store);
    assert!(store.verify(&mut |_| {}).unwrap().damage.is_empty());
}

/// A merge puts rows of several tables into blocks anew.
fn append_more_and_merge(store: &Store) {
    let mut entry = EntryBuf::new(["app"]);
    for n in 0..40 {
        for field in 0..OWN {
            entry.start(ROWS + n).message("later").field("app", "own");
            entry.field(&format!("l{n}.{field}"), n);
            store.append(entry.finish().unwrap()).unwrap();
        }
        if n % 10 == 9 {
            store.flush().unwrap();
        }
    }
    store.compact().unwrap();
    let mut rows = 0;
    store
        .scan(ROWS, i64::MAX, &mut |row| {
            assert_eq!(row.message(), "later");
            rows += 1;
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(rows, 40 * OWN);
}
