//! The ops of a key-value batch, which are the payload of a WAL record.

use super::Seed;
use duramen_engine::fuzzing::{BatchOp, batch_bytes, batch_ops};
use duramen_engine::kv::WriteBatch;

/// Tries an input.
pub fn run(input: &[u8]) {
    let ops = batch_ops(input);
    let mut batch = WriteBatch::new();
    let mut expected = Vec::new();
    for op in ops {
        let added = match op.kind {
            0 => batch.delete(&op.key),
            1 => batch.put(&op.key, &op.value),
            _ => batch.delete_range(&op.key, &op.value),
        };
        if added.is_err() || (op.kind == 2 && op.key >= op.value) {
            continue;
        }
        // A deletion has no value.
        let value = if op.kind == 0 { Vec::new() } else { op.value };
        expected.push(BatchOp { value, ..op });
    }
    assert_eq!(batch_ops(batch_bytes(&batch)), expected);
    assert_eq!(batch.len(), expected.len());
}

/// Batches of one and of several ops.
pub fn seeds() -> Vec<Seed> {
    let mut one = WriteBatch::new();
    one.put(b"key", b"value").unwrap();
    let mut all = one.clone();
    all.delete(b"").unwrap();
    all.put(&[7; 200], &[8; 300]).unwrap();
    all.delete_range(b"a", b"b").unwrap();
    vec![("one".into(), batch_bytes(&one).to_vec()), ("all".into(), batch_bytes(&all).to_vec())]
}
