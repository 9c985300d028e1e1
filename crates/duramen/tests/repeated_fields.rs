//! Entries that have a field more than once: the last value counts, whatever came before it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this is test code

use duramen::column::IntText;
use duramen::{EntryBuf, StoreOptions};

/// A value that is replaced in its row at once is nobody's, but was already counted among a block's different ones.
#[test]
fn a_column_is_read_whose_values_were_replaced_in_their_rows() {
    for seed in [9, 100, 112] {
        let mut state = u64::wrapping_mul(seed, 0x9e37_79b9_7f4a_7c15) | 1;
        let mut below = |n: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % n
        };
        let dir = tempfile::tempdir().unwrap();
        let store = StoreOptions::new().background(false).open(dir.path()).unwrap();
        let mut buf = EntryBuf::default();
        let many = 1 + below(2000);
        let mut expected = Vec::new();
        for n in 0..3000i64 {
            buf.start(n).message("x");
            let mut value = None;
            if below(2) == 0 {
                value = Some(format!("value {}", below(many)));
                value.iter().for_each(|value| _ = buf.field("j", value.as_str()));
            }
            if below(9) == 0 {
                buf.field("j", format!("fresh {n}").as_str());
                value = Some(format!("value {}", below(many)));
                value.iter().for_each(|value| _ = buf.field("j", value.as_str()));
            }
            store.append(buf.finish().unwrap()).unwrap();
            expected.push(value);
        }
        store.flush().unwrap();
        let mut digits = IntText::default();
        for handle in store.snapshot().unwrap().blocks(i64::MIN, i64::MAX) {
            let block = handle.open().unwrap();
            let column = block.column("j").unwrap().expect("the field");
            for (row, time) in block.times().unwrap().iter().enumerate() {
                assert_eq!(
                    column.text(row, &mut digits),
                    expected[*time as usize].as_deref(),
                    "seed {seed}, row {time}"
                );
            }
        }
    }
}
