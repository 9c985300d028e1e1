//! Whether what a table tells of a block, so that it need not be opened, is what the block has.

use crate::block::{Block, BlockHandle, names};
use crate::column::IntText;
use crate::error::{Error, Result};

/// Whether a table tells of a field what the block has.
pub(super) fn check_values(handle: &dyn BlockHandle, block: &dyn Block, name: &str) -> Result<()> {
    let Some(told) = handle.values(name) else { return Ok(()) };
    let mut found = vec![0; told.len()];
    let (column, mut digits) = (block.column(name)?, IntText::default());
    for row in 0..block.rows() {
        let Some(text) = column.as_ref().and_then(|column| column.text(row, &mut digits)) else { continue };
        match told.iter().position(|(told, _)| **told == *text) {
            Some(at) => found[at] += 1,
            None => return Err(told_wrong(format!("the field {name:?} has a value that is not told"))),
        }
    }
    if told.iter().map(|(_, rows)| rows).ne(&found) {
        return Err(told_wrong(format!("of the field {name:?} other numbers of rows are told")));
    }
    Ok(())
}

/// Whether a table tells of steps of time what the block has.
pub(super) fn check_times(handle: &dyn BlockHandle, block: &dyn Block) -> Result<()> {
    let Some(told) = handle.time_counts() else { return Ok(()) };
    let mut found = told.clone();
    found.rows.iter_mut().for_each(|(_, steps)| steps.fill(0));
    let (level, mut digits) = (block.column(names::LEVEL)?, IntText::default());
    for (row, &time) in block.times()?.iter().enumerate() {
        let level = level.as_ref().and_then(|level| level.text(row, &mut digits)).unwrap_or_default();
        let is_its = |(told, _): &(Option<_>, _)| told.as_deref().is_none_or(|told: &str| told == level);
        match found.rows.iter().position(is_its) {
            Some(at) => found.add(time, at),
            None => return Err(told_wrong(format!("the level {level:?} is not told with steps of time"))),
        }
    }
    if told == found { Ok(()) } else { Err(told_wrong("other numbers of rows are told of steps of time")) }
}

fn told_wrong(detail: impl std::fmt::Display) -> Error {
    Error::decode("what a table tells of its blocks", detail)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::{FewValues, TimeCounts};
    use crate::{EntryBuf, StoreOptions};
    use std::sync::Arc;

    /// A block of which something else is told.
    #[derive(Debug)]
    struct Liar<'h> {
        of: &'h dyn BlockHandle,
        values: Option<FewValues>,
        times: Option<TimeCounts>,
    }

    impl BlockHandle for Liar<'_> {
        fn rows(&self) -> usize {
            self.of.rows()
        }
        fn min_time(&self) -> i64 {
            self.of.min_time()
        }
        fn max_time(&self) -> i64 {
            self.of.max_time()
        }
        fn open(&self) -> Result<Arc<dyn Block>> {
            self.of.open()
        }
        fn values(&self, _name: &str) -> Option<FewValues> {
            self.values.clone()
        }
        fn time_counts(&self) -> Option<TimeCounts> {
            self.times.clone()
        }
    }

    #[test]
    fn what_a_table_tells_wrongly_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let store = StoreOptions::new().background(false).open(dir.path().join("logs")).unwrap();
        for i in 0..200 {
            let mut entry = EntryBuf::new(["app"]);
            entry.start((i - 100) * 1_000_000_000).message("line").field("n", i % 3);
            if i % 2 == 0 {
                entry.field("level", if i % 4 == 0 { "info" } else { "error" });
            }
            store.append(entry.finish().unwrap()).unwrap();
        }
        store.flush().unwrap();
        let handles = store.snapshot().unwrap().blocks(i64::MIN, i64::MAX);
        let (handle, block) = (&*handles[0], handles[0].open().unwrap());
        let (values, times) = (handle.values("n").unwrap(), handle.time_counts().unwrap());
        assert_eq!((values.len(), times.rows.len(), times.step_s), (3, 3, 60));
        let check = |values: &FewValues, times: &TimeCounts| {
            let liar = Liar { of: handle, values: Some(values.clone()), times: Some(times.clone()) };
            (check_values(&liar, &*block, "n").is_ok(), check_times(&liar, &*block).is_ok())
        };
        assert_eq!(check(&values, &times), (true, true));
        let mut other = (values.clone(), times.clone());
        other.0[1].1 += 1;
        other.1.rows[2].1[1] -= 1;
        assert_eq!(check(&other.0, &other.1), (false, false));
        let mut other = (values, times);
        other.0.pop();
        other.1.rows.remove(0);
        assert_eq!(check(&other.0, &other.1), (false, false));
    }
}
