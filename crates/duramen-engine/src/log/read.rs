//! Get and scan: going through the file, frame by frame; what comes later is right.

use super::format::Kind;
use super::frames::{Frames, each_op};
use super::{Inner, View};
use crate::Result;
use crate::kv::{Op, OpKind, ReadOptions, Scan, ScanSource, Value};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::path::Path;

impl View {
    /// Visits all ops that it sees, oldest first.
    fn each_op(&self, path: &Path, mut visit: impl FnMut(&Op<'_>)) -> Result<()> {
        let first = super::format::HEADER_BYTES as u64;
        let mut frames = Frames::new(&*self.file, path, self.identity, first, self.end);
        while let Some(frame) = frames.next()? {
            if frame.header.seq > self.seq {
                break;
            }
            let count = each_op(path, &frame, |at| {
                visit(&at.op);
                Ok(())
            })?;
            // A snapshot does not depend on what comes behind it, not even to see that it is behind it.
            if frame.header.kind == Kind::Batch && frame.header.seq + count > self.seq {
                break;
            }
        }
        Ok(())
    }
}

impl Inner {
    pub(super) fn get(&self, key: &[u8], options: &ReadOptions) -> Result<Option<Value>> {
        let view = self.view_for(options)?;
        let mut value = Vec::new();
        let mut found = false;
        view.each_op(&self.path, |op| match op.kind {
            OpKind::Put if op.key == key => {
                value.clear();
                value.extend_from_slice(op.value);
                found = true;
            }
            OpKind::Delete if op.key == key => found = false,
            OpKind::DeleteRange if op.key <= key && key < op.value => found = false,
            _ => {}
        })?;
        Ok(found.then(|| Value::owned(value)))
    }

    pub(super) fn scan(&self, start: Bound<&[u8]>, end: Bound<&[u8]>, options: &ReadOptions) -> Result<Scan> {
        let view = self.view_for(options)?;
        let in_range = |key: &[u8]| {
            let from_start = match start {
                Bound::Included(start) => start <= key,
                Bound::Excluded(start) => start < key,
                Bound::Unbounded => true,
            };
            let to_end = match end {
                Bound::Included(end) => key <= end,
                Bound::Excluded(end) => key < end,
                Bound::Unbounded => true,
            };
            from_start && to_end
        };
        let mut entries: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
        view.each_op(&self.path, |op| match op.kind {
            OpKind::Put if in_range(op.key) => {
                entries.insert(op.key.to_vec(), op.value.to_vec());
            }
            OpKind::Put => {}
            OpKind::Delete => {
                entries.remove(op.key);
            }
            OpKind::DeleteRange => remove_range(&mut entries, op.key, op.value, |_, _| {}),
        })?;
        let entries = entries.into_iter();
        let entries: Box<dyn Iterator<Item = Entry> + Send> =
            if options.reverse { Box::new(entries.rev()) } else { Box::new(entries) };
        Ok(Scan::new(Box::new(Entries { entries, present: Entry::default() })))
    }
}

type Entry = (Vec<u8>, Vec<u8>);

/// What a scan has found, in its order.
struct Entries {
    entries: Box<dyn Iterator<Item = Entry> + Send>,
    present: Entry,
}

impl ScanSource for Entries {
    fn advance(&mut self) -> Result<bool> {
        let next = self.entries.next();
        let is_one = next.is_some();
        self.present = next.unwrap_or_default();
        Ok(is_one)
    }

    fn key(&self) -> &[u8] {
        &self.present.0
    }

    fn value(&self) -> &[u8] {
        &self.present.1
    }
}

/// Removes the keys from `start` to below `end`.
pub(super) fn remove_range<V>(
    entries: &mut BTreeMap<Vec<u8>, V>,
    start: &[u8],
    end: &[u8],
    mut removed: impl FnMut(&[u8], V),
) {
    if start >= end {
        return;
    }
    let keys: Vec<Vec<u8>> = entries
        .range::<[u8], _>((Bound::Included(start), Bound::Excluded(end)))
        .map(|(key, _)| key.clone())
        .collect();
    for key in keys {
        if let Some(value) = entries.remove(&key) {
            removed(&key, value);
        }
    }
}
