//! Tables that a query reads: opened when it is their turn, and asked of the device before.

use crate::error::Result;
use crate::store::block_cache::StoreBlocks;
use crate::store::kept_word_filters::KeptWordFilters;
use crate::store::pin::Pin;
use crate::store::shared::lock;
use crate::store::table_facts::KnownTable;
use crate::store::tables::{OpenTable, TableCache};
use duramen_engine::sstable::Opening;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::{Arc, Mutex};

/// So many tables are asked of the device before they are opened: enough for the next few to be there in time, and little is
/// lost where a limit ends the query before.
const TABLES_AHEAD: usize = 4;

/// The number of a table, of a group of its blocks, and what is looked at ([`Looks::at_words`]).
///
/// [`Looks::at_words`]: crate::block::Looks::at_words
type FilterGroup = (u64, usize, u16);

/// Lives as long as somebody may open some blocks.
#[derive(Debug)]
pub(crate) struct Reading {
    cache: Arc<TableCache>,
    /// By number, which is about the order of time.
    tables: Vec<Arc<KnownTable>>,
    ahead: Mutex<OpenedAhead>,
    /// Of which blocks the device was asked for filters, and whether for those of all of a group at once.
    filters: Mutex<BTreeMap<FilterGroup, bool>>,
    /// When it began, for the cache of blocks.
    pub(super) since: u64,
    /// Their files must stay.
    _pin: Pin,
}

/// Tables that are asked of the device before it is their turn: who has to open one, soon has to open the next.
#[derive(Debug, Default)]
struct OpenedAhead {
    /// Whether the later ones come first, when that is known: who reads begins at one end.
    latest_first: Option<bool>,
    /// By number.
    begun: BTreeMap<u64, Opening>,
}

impl Reading {
    /// Of tables sorted by their numbers.
    pub(crate) fn new(cache: &Arc<TableCache>, pin: &Pin, tables: Vec<Arc<KnownTable>>) -> Self {
        let since = cache.blocks.now();
        Self {
            cache: cache.clone(),
            tables,
            ahead: Mutex::default(),
            filters: Mutex::default(),
            since,
            _pin: pin.clone(),
        }
    }

    /// A table that is read.
    ///
    /// # Errors
    /// As [`TableCache::get`].
    pub(crate) fn open(&self, table: &KnownTable) -> Result<Arc<OpenTable>> {
        self.cache.get_or(table, || {
            let begun = lock(&self.ahead).begun.remove(&table.number);
            let own = begun.map_or_else(|| self.cache.begin(&table.path), Ok)?;
            self.begin_next(table.number);
            Ok(own)
        })
    }

    /// Whether the table's file is there.
    pub(crate) fn is_there(&self, table: &KnownTable) -> bool {
        self.cache.is_there(table)
    }

    pub(crate) fn tables(&self) -> &[Arc<KnownTable>] {
        &self.tables
    }

    pub(crate) fn blocks(&self) -> &StoreBlocks {
        &self.cache.blocks
    }

    pub(crate) fn word_filters(&self) -> &KeptWordFilters {
        &self.cache.word_filters
    }

    /// Whether the device was asked for the filters of all of a group of blocks at once. Who comes first does, with `ask`, which
    /// says whether they were not too much; who comes meanwhile takes it that they were not.
    pub(crate) fn asked_for_filters(&self, group: FilterGroup, ask: impl FnOnce() -> bool) -> bool {
        match lock(&self.filters).entry(group) {
            Entry::Occupied(known) => return *known.get(),
            Entry::Vacant(unknown) => unknown.insert(true),
        };
        // Without the lock: to ask takes a while.
        let asked = ask();
        if !asked {
            lock(&self.filters).insert(group, false);
        }
        asked
    }

    /// Has the device fetch the tables that come after this one, and none other any more.
    fn begin_next(&self, number: u64) {
        let next = self.next_of(number);
        let to_begin: Vec<_> = {
            let mut ahead = lock(&self.ahead);
            ahead.begun.retain(|number, _| next.iter().any(|next| next.number == *number));
            next.into_iter().filter(|next| !ahead.begun.contains_key(&next.number)).collect()
        };
        // Without the lock: two may begin the same, which costs less than waiting for a disk.
        for next in to_begin {
            // What cannot be opened now cannot be later, and is told then.
            if let Ok(begun) = self.cache.begin(&next.path) {
                lock(&self.ahead).begun.insert(next.number, begun);
            }
        }
    }

    /// The tables that come after this one, as far as they are not open.
    fn next_of(&self, number: u64) -> Vec<&Arc<KnownTable>> {
        let at = self.tables.partition_point(|table| table.number < number);
        let is_later_half = 2 * at >= self.tables.len();
        let latest_first = *lock(&self.ahead).latest_first.get_or_insert(is_later_half);
        let is_closed = |table: &&Arc<KnownTable>| !self.cache.is_open(table.number);
        if latest_first {
            self.tables[..at].iter().rev().filter(is_closed).take(TABLES_AHEAD).collect()
        } else {
            self.tables.iter().skip(at + 1).filter(is_closed).take(TABLES_AHEAD).collect()
        }
    }
}

impl Drop for Reading {
    /// Blocks have grown while they were read.
    fn drop(&mut self) {
        self.cache.blocks.keep_within(self.since);
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

    fn tables_of(store: &Store) -> (&Arc<TableCache>, Vec<Arc<KnownTable>>) {
        let cache = store.snapshots.tables();
        let state = store.snapshots.state().unwrap();
        (cache, state.tables.values().map(|meta| cache.known(meta).unwrap()).collect())
    }

    fn asked_ahead(reading: &Reading) -> Vec<u64> {
        lock(&reading.ahead).begun.keys().copied().collect()
    }

    #[test]
    fn the_next_tables_are_asked_of_the_device_when_one_is_opened() {
        let dir = tempfile::tempdir().unwrap();
        let store = store_of(dir.path(), 8);
        let (cache, tables) = tables_of(&store);
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
        assert_eq!(asked_ahead(&reading), numbers[1..5], "who is at this one will not come to 6");
        // Somebody else opens two of them.
        cache.get(&tables[4]).unwrap();
        cache.get(&tables[1]).unwrap();
        reading.open(&tables[3]).unwrap();
        assert_eq!(asked_ahead(&reading), [numbers[0], numbers[2]]);
        drop(reading);

        let reading = Reading::new(cache, &None, tables.clone());
        reading.open(&tables[0]).unwrap();
        assert_eq!(
            asked_ahead(&reading),
            [numbers[2], numbers[6]],
            "earliest first, and the others are open"
        );
        let env = &store.snapshots.shared().env;
        env.fs.remove_file(&dir.path().join(&tables[6].path)).unwrap();
        reading.open(&tables[2]).unwrap();
        assert_eq!(asked_ahead(&reading), [numbers[6]]);
        assert!(reading.open(&tables[6]).is_ok(), "it was there when it was asked for");
    }

    #[test]
    fn filters_of_a_group_are_asked_for_once() {
        let dir = tempfile::tempdir().unwrap();
        let store = store_of(dir.path(), 1);
        let (cache, tables) = tables_of(&store);
        let reading = Reading::new(cache, &None, tables);
        let (few, many) = ((1, 0, 1), (1, 1, 1));
        let asked = reading.asked_for_filters(few, || {
            assert!(reading.asked_for_filters(few, || panic!("somebody does")));
            true
        });
        assert!(asked && reading.asked_for_filters(few, || panic!("they were")));
        assert!(!reading.asked_for_filters(many, || false));
        assert!(!reading.asked_for_filters(many, || panic!("they are too many")));
    }

    #[test]
    fn what_is_missing_is_told_when_it_is_its_turn() {
        let dir = tempfile::tempdir().unwrap();
        let store = store_of(dir.path(), 3);
        let (cache, tables) = tables_of(&store);
        store.snapshots.shared().env.fs.remove_file(&dir.path().join(&tables[1].path)).unwrap();
        let reading = Reading::new(cache, &None, tables.clone());
        reading.open(&tables[2]).unwrap();
        assert_eq!(asked_ahead(&reading), [tables[0].number]);
        assert!(reading.open(&tables[1]).is_err());
        reading.open(&tables[0]).unwrap();
        assert_eq!(asked_ahead(&reading), []);
    }
}
