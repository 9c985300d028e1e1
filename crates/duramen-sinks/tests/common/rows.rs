//! Every row of a store, to compare.

use duramen::Store;
use std::ops::ControlFlow;

/// Every row in order of time: its time, and all its values with their kinds.
pub fn rows(store: &Store) -> Vec<String> {
    let mut rows = Vec::new();
    store
        .scan(i64::MIN, i64::MAX, &mut |row| {
            let mut text = format!("{} {:?}", row.time(), row.message());
            row.for_each_field(&mut |name, value, kind| {
                text.push_str(&format!(" {name}={value:?}:{kind:?}"))
            });
            rows.push(text);
            ControlFlow::Continue(())
        })
        .unwrap();
    rows
}
