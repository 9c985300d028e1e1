//! Wide rows whose message repeats one of the last fields: a reference to a column with a number above 127.
#![allow(clippy::unwrap_used)] // helpers of tests may

use duramen::{EntryBuf, StoreOptions};
use std::ops::ControlFlow;

fn value(n: u64, field: u64) -> String {
    format!("{:016x}", (n * 1_000 + field).wrapping_mul(0x9E37_79B9_7F4A_7C15))
}

#[test]
fn a_message_may_repeat_any_of_two_hundred_fields() {
    let dir = tempfile::tempdir().unwrap();
    let store = StoreOptions::new().open(dir.path()).unwrap();
    let mut entry = EntryBuf::new([""; 0]);
    let message = |n: u64| format!("käse {} moved to {}", value(n, 190), value(n, 3));
    for n in 0..400u64 {
        entry.start(n as i64).message(&message(n));
        for field in 0..200 {
            entry.field(&format!("f{field:03}"), &*value(n, field));
        }
        store.append(entry.finish().unwrap()).unwrap();
    }
    store.flush().unwrap();
    let mut n = 0;
    store
        .scan(i64::MIN, i64::MAX, &mut |row| {
            assert_eq!(row.message(), message(n));
            assert_eq!(row.field("f190"), Some(value(n, 190)));
            n += 1;
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(n, 400);
    assert!(store.verify(&mut |_| {}).unwrap().damage.is_empty());
}
