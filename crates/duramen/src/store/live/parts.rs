//! What was made of a block's rows, and the memory for what stays.

use crate::column::Column;
use crate::columnar::{MemoryBlock, StreamTable};
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

/// Memory for what stays of blocks from one opening to the next, shared by all segments.
#[derive(Debug)]
pub(super) struct Room {
    capacity_bytes: usize,
    taken_bytes: AtomicUsize,
}

impl Room {
    pub(super) fn new(capacity_bytes: usize) -> Arc<Self> {
        Arc::new(Self { capacity_bytes, taken_bytes: AtomicUsize::new(0) })
    }

    /// How much of it is taken.
    #[cfg(test)]
    pub(super) fn taken(&self) -> usize {
        self.taken_bytes.load(Ordering::Relaxed)
    }

    /// How much there is.
    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.capacity_bytes
    }

    fn take(&self, bytes: usize) -> bool {
        let more = |taken: usize| taken.checked_add(bytes).filter(|&all| all <= self.capacity_bytes);
        self.taken_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }

    fn give_back(&self, bytes: usize) {
        self.taken_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// What a column is known by, and the column, if any row has the field.
type Columns = HashMap<String, Option<Arc<Column>>, FixedState>;

/// What was made of a block's rows. Blocks are shared by queries: none waits here for another, nor in a forked child for a thread
/// that is not there; two may make the same, and one of both is kept.
#[derive(Debug, Default)]
pub(super) struct Parts {
    pub(super) times: OnceLock<Arc<Vec<i64>>>,
    pub(super) streams: OnceLock<Arc<StreamTable>>,
    /// Of all fields, sorted.
    pub(super) names: OnceLock<Arc<Vec<String>>>,
    pub(super) whole: OnceLock<Arc<MemoryBlock>>,
    columns: Mutex<Columns>,
    /// Of names that are labels: what they are in rows in which they are none.
    plain: Mutex<Columns>,
    /// How many rows blocks of few were made of.
    rows_of_few: AtomicUsize,
    bytes: AtomicUsize,
}

impl Parts {
    /// About how many bytes a column takes besides its own.
    pub(super) fn bytes_of_name(name: &str) -> usize {
        size_of::<(String, Option<Arc<Column>>)>() + size_of::<Column>() + name.len()
    }

    /// A column that was made, or that there is none.
    pub(super) fn column(&self, name: &str) -> Option<Option<Arc<Column>>> {
        self.columns.try_lock().ok()?.get(name).cloned()
    }

    /// The same of [`Parts::put_plain`].
    pub(super) fn plain(&self, name: &str) -> Option<Option<Arc<Column>>> {
        self.plain.try_lock().ok()?.get(name).cloned()
    }

    /// How many were made, and for how many names it was found out.
    pub(super) fn columns(&self) -> (usize, usize) {
        self.columns.try_lock().map_or((0, 0), |columns| (columns.values().flatten().count(), columns.len()))
    }

    /// Whether there are any.
    pub(super) fn has_columns(&self) -> bool {
        self.whole.get().is_some() || self.columns().0 > 0
    }

    /// Whether it was not there.
    pub(super) fn put_column(&self, name: &str, column: &Option<Arc<Column>>) -> bool {
        put(&self.columns, name, column)
    }

    /// The same, of a name that is a label: the column of rows in which it is none.
    pub(super) fn put_plain(&self, name: &str, column: &Option<Arc<Column>>) -> bool {
        put(&self.plain, name, column)
    }

    /// Whether a block of so many rows more makes them more than `most`: from then on they are counted anew.
    pub(super) fn few_are_more_than(&self, most: usize, rows: usize) -> bool {
        let are_more = self.rows_of_few.fetch_add(rows, Ordering::Relaxed) + rows > most;
        if are_more {
            self.rows_of_few.store(0, Ordering::Relaxed);
        }
        are_more
    }

    /// How many bytes they take.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    pub(super) fn has_grown(&self, bytes: usize) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn has_shrunk(&self, bytes: usize) {
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}

fn put(columns: &Mutex<Columns>, name: &str, column: &Option<Arc<Column>>) -> bool {
    let Ok(mut columns) = columns.try_lock() else { return false };
    !columns.contains_key(name) && columns.insert(name.to_owned(), column.clone()).is_none()
}

/// What stays from one opening to the next.
#[derive(Debug)]
pub(super) struct Shared {
    parts: Parts,
    room: Arc<Room>,
}

impl Shared {
    pub(super) fn new(room: Arc<Room>) -> Self {
        Self { parts: Parts::default(), room }
    }

    pub(super) fn parts(&self) -> &Parts {
        &self.parts
    }

    /// Keeps a part of so many bytes if there is room; `put` says whether it was not there yet.
    pub(super) fn keep(&self, bytes: usize, put: &dyn Fn(&Parts) -> bool) -> bool {
        if !self.room.take(bytes) {
            return false;
        }
        let is_kept = put(&self.parts);
        if is_kept {
            self.parts.has_grown(bytes);
        } else {
            self.room.give_back(bytes);
        }
        is_kept
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.room.give_back(self.parts.bytes());
    }
}
