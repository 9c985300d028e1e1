//! Tables that are opened before anybody asks: of most questions the newest.

use super::Store;
use super::reading::Reading;
use super::tables::TableCache;
use crate::error::Result;
use duramen_engine::manifest::{State, TableMeta};
use std::sync::Arc;

/// Of so many, what they tell of their fields is read: most questions begin with the latest lines.
const TABLES_WITH_FIELDS: usize = 8;

impl Store {
    /// Has a thread open the tables with the latest lines, at most so many, so that who asks first need not wait for it: the
    /// last 64 KiB of each are read, and its index stays in memory and its file open, as long as it is one of the
    /// [`MAX_OPEN_TABLES`](super::MAX_OPEN_TABLES) that were asked for last. Of the 8 that were
    /// written last, what they tell of their fields is read, too, which takes up to 256 KiB each. What cannot be opened is passed over; who asks for
    /// it is told why. Nobody waits for the thread, [`Store::close`] neither.
    ///
    /// # Errors
    /// As [`Store::snapshot`]; that there is no thread to be had.
    pub fn open_newest_tables(&self, at_most: usize) -> Result<()> {
        let newest = newest_of(&*self.snapshots.state()?, at_most);
        let cache = self.snapshots.tables().clone();
        let open = move || open(&cache, &newest);
        std::thread::Builder::new()
            .name("duramen-open".into())
            .spawn(open)
            .map_err(duramen_engine::Error::io("start a thread for", self.shared.layout.root()))?;
        Ok(())
    }
}

/// The tables with the latest lines, sorted by their numbers.
fn newest_of(state: &State, at_most: usize) -> Vec<TableMeta> {
    let mut tables: Vec<&TableMeta> = state.tables.values().collect();
    tables.sort_by(|a, b| b.max_key.cmp(&a.max_key));
    tables.truncate(at_most);
    tables.sort_by_key(|table| table.number);
    tables.into_iter().cloned().collect()
}

/// Opens tables that are sorted by their numbers, the later ones first.
fn open(cache: &Arc<TableCache>, tables: &[TableMeta]) {
    let known = tables.iter().filter_map(|meta| cache.known(meta).ok()).collect();
    // Their files may go meanwhile: then there is nothing to open.
    let reading = Reading::new(cache, &None, known);
    for (nth, table) in reading.tables().iter().rev().enumerate() {
        if let Ok(open) = reading.open(table) {
            open.streams();
            if nth < TABLES_WITH_FIELDS {
                open.fields();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{EntryBuf, StoreOptions};

    const MONTH_NS: i64 = 31 * 86_400_000_000_000;

    #[test]
    fn the_tables_with_the_latest_lines_are_opened() {
        let dir = tempfile::tempdir().unwrap();
        let options = || StoreOptions::new().background(false);
        let store = options().open(dir.path()).unwrap();
        // The last that is written is of old lines.
        for month in [1, 2, 3, 4, 5, 0] {
            store
                .append(EntryBuf::default().start(month * MONTH_NS).message("line").finish().unwrap())
                .unwrap();
            store.flush().unwrap();
        }
        store.close().unwrap();

        let store = options().open(dir.path()).unwrap();
        let (state, cache) = (store.snapshots.state().unwrap(), store.snapshots.tables());
        let numbers: Vec<u64> = state.tables.keys().copied().collect();
        let newest = newest_of(&state, 3);
        assert_eq!(newest.iter().map(|table| table.number).collect::<Vec<_>>(), numbers[2..5]);
        assert_eq!(newest_of(&state, 100).len(), 6);

        store.shared.env.fs.remove_file(&dir.path().join(&newest[1].path)).unwrap();
        open(cache, &newest);
        let is_open: Vec<bool> = numbers.iter().map(|&number| cache.is_open(number)).collect();
        assert_eq!(is_open, [false, false, true, false, true, false]);
        open(cache, &newest_of(&state, 100));
        assert_eq!(numbers.iter().filter(|&&number| cache.is_open(number)).count(), 5, "all that are there");
        let of_latest =
            cache.known(&newest[2]).and_then(|table| Reading::new(cache, &None, vec![]).open(&table));
        assert!(of_latest.unwrap().knows_fields());
        store.open_newest_tables(100).unwrap();
    }
}
