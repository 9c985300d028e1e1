//! Tables that a query reads: opened when it is their turn, and asked of the device before.

use crate::error::Result;
use crate::store::block_cache::StoreBlocks;
use crate::store::pin::Pin;
use crate::store::shared::lock;
use crate::store::table_facts::KnownTable;
use crate::store::tables::{OpenTable, TableCache};
use duramen_engine::sstable::Opening;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// So many tables are asked of the device before they are opened: enough for the next few to be there in time, and little is
/// lost where a limit ends the query before.
const TABLES_AHEAD: usize = 4;

/// Lives as long as somebody may open some blocks.
#[derive(Debug)]
pub(crate) struct Reading {
    cache: Arc<TableCache>,
    /// Their files must stay.
    _pin: Pin,
    ahead: Mutex<OpenedAhead>,
}

/// Tables that are asked of the device before it is their turn: who has to open one, soon has to open the next.
#[derive(Debug, Default)]
struct OpenedAhead {
    /// Not looked at yet.
    next: Vec<Arc<KnownTable>>,
    /// By number.
    begun: BTreeMap<u64, Opening>,
}

impl Reading {
    /// The tables are in the order in which they were written.
    pub(crate) fn new(cache: &Arc<TableCache>, pin: &Pin, tables: Vec<Arc<KnownTable>>) -> Self {
        let ahead = OpenedAhead { next: tables, begun: BTreeMap::new() };
        Self { cache: cache.clone(), _pin: pin.clone(), ahead: ahead.into() }
    }

    /// A table that is read.
    ///
    /// # Errors
    /// As [`TableCache::get`].
    pub(crate) fn open(&self, table: &KnownTable) -> Result<OpenTable> {
        let &KnownTable { number, ref path, file_bytes, .. } = table;
        self.cache.get_or(number, path, file_bytes, || {
            let own = match lock(&self.ahead).begun.remove(&number) {
                Some(begun) => Ok(begun),
                None => self.cache.begin(path),
            };
            self.begin_next(number);
            own
        })
    }

    pub(crate) fn blocks(&self) -> &StoreBlocks {
        &self.cache.blocks
    }

    /// Has the device fetch tables after this one.
    fn begin_next(&self, number: u64) {
        let mut ahead = lock(&self.ahead);
        while ahead.begun.len() < TABLES_AHEAD
            && let Some(next) = ahead.next.pop()
        {
            // What cannot be opened now cannot be later, and is told then.
            if next.number != number
                && !self.cache.is_open(next.number)
                && let Ok(begun) = self.cache.begin(&next.path)
            {
                ahead.begun.insert(next.number, begun);
            }
        }
    }
}

impl Drop for Reading {
    /// Blocks have grown while they were read.
    fn drop(&mut self) {
        self.cache.blocks.keep_within();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{EntryBuf, Store, StoreOptions};

    const MONTH_NS: i64 = 31 * 86_400_000_000_000;

    /// A store with so many tables, nothing of which is open.
    fn store_of(dir: &std::path::Path, tables: i64) -> Store {
        let options = || StoreOptions::new().background(false);
        let store = options().open(dir).unwrap();
        for month in 0..tables {
            store
                .append(EntryBuf::default().start(month * MONTH_NS).message("line").finish().unwrap())
                .unwrap();
            store.flush().unwrap();
        }
        store.close().unwrap();
        options().open(dir).unwrap()
    }

    fn asked_ahead(reading: &Reading) -> Vec<u64> {
        lock(&reading.ahead).begun.keys().copied().collect()
    }

    #[test]
    fn the_next_tables_are_asked_of_the_device_when_one_is_opened() {
        let dir = tempfile::tempdir().unwrap();
        let store = store_of(dir.path(), 8);
        let cache = store.snapshots.tables();
        let state = store.snapshots.state().unwrap();
        let tables: Vec<_> = state.tables.values().map(|meta| cache.known(meta).unwrap()).collect();
        let numbers: Vec<u64> = tables.iter().map(|table| table.number).collect();
        assert_eq!(numbers.len(), 8);

        let reading = Reading::new(cache, &None, tables.clone());
        assert_eq!(asked_ahead(&reading), [], "who opens none asks for none");
        reading.open(&tables[7]).unwrap();
        assert_eq!(asked_ahead(&reading), numbers[3..7]);
        reading.open(&tables[7]).unwrap();
        assert_eq!(asked_ahead(&reading), numbers[3..7], "it is open");
        let opened = reading.open(&tables[5]).unwrap();
        assert_eq!(opened.table.file_bytes(), tables[5].file_bytes);
        assert_eq!(asked_ahead(&reading), [numbers[2], numbers[3], numbers[4], numbers[6]]);
        drop(reading);

        let reading = Reading::new(cache, &None, tables.clone());
        reading.open(&tables[0]).unwrap();
        assert_eq!(asked_ahead(&reading), [numbers[2], numbers[3], numbers[4], numbers[6]], "two are open");
        let env = &store.snapshots.shared().env;
        env.fs.remove_file(&dir.path().join(&tables[1].path)).unwrap();
        reading.open(&tables[6]).unwrap();
        assert_eq!(asked_ahead(&reading), numbers[2..5], "what is missing is told when it is its turn");
        assert!(reading.open(&tables[1]).is_err());
    }
}
