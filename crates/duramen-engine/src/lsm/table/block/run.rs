//! Many rows at once, for a scan that goes through all of them.

use super::find::Position;
use super::layout::Block;
use crate::kv::{OpKind, Run, SHORT_KEY_BYTES, prefix16};

/// How many entries a run has at most.
const MOST_ROWS: usize = 1024;

impl Block {
    /// Replaces `run` by the entries that a reader at `seq` sees, from the row at `at` on: one that it sees, with this
    /// key. They end where the block does, where a row makes no sense, at the first whose key is not below `below`, or
    /// when they are many. If there are any, `at` and `key` are then those of the last one.
    pub(in super::super) fn take_run(
        &self,
        at: &mut Position,
        key: &mut Vec<u8>,
        seq: u64,
        below: Option<&[u8]>,
        run: &mut Run,
    ) {
        let count = self.count();
        run.begin(self.bytes(), (count - at.n.min(count)).min(MOST_ROWS));
        let mut last = run.put(key);
        let limit = below.map(|below| (prefix16(below), below));
        if below.is_some_and(|below| key.as_slice() >= below) {
            return;
        }
        run.take(&last, at.value.clone());
        // The row that was read last, where it has been dealt with, and the one that was taken last.
        let (mut n, mut row_at, mut value_at) = (at.n, at.next_row, at.value.end);
        let (mut dealt, mut taken) = (true, last);
        while n + 1 < count && run.len() < MOST_ROWS && !run.is_full() {
            n += 1;
            let Ok(row) = self.row(row_at) else { break };
            let Ok(value) = self.value(value_at, row.value_len) else { break };
            if row.shared > last.len {
                break;
            }
            let len = row.end - row.key;
            // The row before, taken or not, may have the same key.
            let (next, same) = match self.sixteen(row.key) {
                Some(more) if last.len <= SHORT_KEY_BYTES && row.shared + len <= SHORT_KEY_BYTES => {
                    let next = run.put_short(&last, row.shared, more, len);
                    (next, next.prefix == last.prefix && next.len == last.len)
                }
                _ => {
                    let unshared = self.unshared(row);
                    let same = run.key(&last).get(row.shared..) == Some(unshared);
                    (run.put_long(&last, row.shared, unshared), same)
                }
            };
            if let Some((prefix, below)) = limit
                && (next.prefix > prefix || next.prefix == prefix && run.key(&next) >= below)
            {
                break;
            }
            (row_at, value_at, last) = (row.end, value.end, next);
            let (own, kind) = self.tag(n);
            if same && dealt {
                continue;
            }
            dealt = own <= seq;
            if dealt && kind == OpKind::Put {
                taken = next;
                run.take(&next, value.clone());
                *at = Position { n, seq: own, kind, value, next_row: row_at };
            }
        }
        key.clear();
        key.extend_from_slice(run.key(&taken));
    }
}
