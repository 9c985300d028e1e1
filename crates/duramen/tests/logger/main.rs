//! The direct logger: what it promises, in one process, in many, and when things go wrong.
#![allow(clippy::unwrap_used, clippy::panic)] // helpers of tests may

mod basics;
mod fork;
mod full;
mod kill;
mod outcomes;
mod owner;
mod program;
mod reopen;
mod synced;
mod writers;

use duramen::Store;
use std::ops::ControlFlow;

/// The rows of a store, in order, each as what `of` makes of it.
fn rows<T>(store: &Store, mut of: impl FnMut(&duramen::store::ScanRow<'_>) -> T) -> Vec<T> {
    let mut found = Vec::new();
    store
        .scan(i64::MIN, i64::MAX, &mut |row| {
            found.push(of(row));
            ControlFlow::Continue(())
        })
        .unwrap();
    found
}

fn messages(store: &Store) -> Vec<String> {
    rows(store, |row| row.message().to_owned())
}
