//! Writes, as WAL records and log frames hold them.

use super::{Line, Out, Stop};
use crate::kv::{OpKind, Ops};

/// What a kind of write is called.
pub(crate) fn name(kind: OpKind) -> &'static str {
    match kind {
        OpKind::Put => "put",
        OpKind::Delete => "delete",
        OpKind::DeleteRange => "delete_range",
    }
}

/// How many of each kind there are in a batch.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OpCounts {
    puts: u64,
    deletes: u64,
    delete_ranges: u64,
}

/// Adds the numbers of writes in `payload` to the line about it, and makes it the next item; each write follows, if
/// they are wanted. The first has the sequence number `seq`; the others follow it, unless `steady`.
///
/// # Errors
/// [`Stop`].
pub(crate) fn ops(line: Line, payload: &[u8], seq: u64, steady: bool, out: &mut Out<'_>) -> Result<(), Stop> {
    let mut counts = OpCounts::default();
    for (_, op) in Ops::new(payload) {
        *match op.kind {
            OpKind::Put => &mut counts.puts,
            OpKind::Delete => &mut counts.deletes,
            OpKind::DeleteRange => &mut counts.delete_ranges,
        } += 1;
    }
    let named = [("puts", counts.puts), ("deletes", counts.deletes), ("delete_ranges", counts.delete_ranges)];
    let line = named
        .into_iter()
        .filter(|(_, count)| *count > 0)
        .fold(line, |line, (name, count)| line.number(name, count));
    out.item(line)?;
    if !out.options().keys {
        return Ok(());
    }
    for (nth, (_, op)) in (0..).zip(Ops::new(payload)) {
        let seq = if steady { seq } else { seq.saturating_add(nth) };
        let line = Line::new(name(op.kind), 2).number("seq", seq);
        let line = match op.kind {
            OpKind::Delete => line.bytes("key", op.key),
            OpKind::DeleteRange => line.bytes("from", op.key).bytes("to", op.value),
            OpKind::Put => put(line, op.key, op.value, out),
        };
        out.item(line)?;
    }
    Ok(())
}

/// What is said of a put.
pub(crate) fn put(line: Line, key: &[u8], value: &[u8], out: &Out<'_>) -> Line {
    let line = line.bytes("key", key).number("value_bytes", value.len());
    if out.options().values { line.bytes("value", value) } else { line }
}
