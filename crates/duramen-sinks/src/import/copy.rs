//! Rows into a store, with the position behind them.

use super::{SqlTable, key_of};
use crate::error::{Error, Result};
use crate::sql::ordered;
use duramen::{Batch, SourcePosition, Store};
use std::ops::ControlFlow;
use std::time::Duration;

/// A batch with so many bytes is appended.
const BATCH_BYTES: usize = 1 << 20;
/// A batch with so many entries is appended.
const BATCH_ENTRIES: usize = 4096;
/// How long a full disk is waited for: what was appended before takes its room until it is in tables, and somebody may make some.
const WAITS_FOR_ROOM: Duration = Duration::from_secs(10);
/// How many rows are asked for at once.
const PAGE_ROWS: usize = 10_000;

/// What was copied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Copied {
    /// Rows read.
    pub rows: u64,
    /// Entries that are in the store now.
    pub entries: u64,
    /// Rows that make no entry, and were told.
    pub bad_rows: u64,
    /// Rows that are odd, were told, and are kept whole.
    pub odd_rows: u64,
    /// Whether it was broken off.
    pub interrupted: bool,
}

/// What a copy tells while it goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copying<'a> {
    /// So much is in the store.
    Appended(Copied),
    /// A row makes no entry.
    Bad {
        /// Its key.
        key: i64,
        /// Why.
        why: &'a str,
    },
    /// A row is kept whole, but not as it should be.
    Odd {
        /// Its key.
        key: i64,
        /// Why.
        why: &'a str,
    },
}

impl SqlTable {
    /// Copies the rows that follow on a position into a store, and moves the position on with every batch: entries and
    /// position are in the store together, or neither is. If `tell` breaks, it ends after the batch at hand.
    ///
    /// # Errors
    /// [`Error::Database`]; [`Error::Invalid`] with what the store said. What was appended before stays.
    pub fn copy(
        &mut self,
        store: &Store,
        position: &mut SourcePosition,
        tell: &mut dyn FnMut(Copying<'_>) -> ControlFlow<()>,
    ) -> Result<Copied> {
        let mut copy = Copy {
            store,
            batch: Batch::new(),
            read: position.clone(),
            appended: position,
            copied: Copied::default(),
            tell,
        };
        let rows = &mut self.rows;
        // Not asked of the position, where the least of all integers would be before the first row.
        let mut after = key_of(&copy.read);
        loop {
            let before = copy.copied.rows;
            let behind = after;
            self.table.page(behind, PAGE_ROWS, &mut |key, raw| {
                if copy.copied.interrupted {
                    return Ok(());
                }
                let (entry, odd) = rows.entry(raw);
                match entry {
                    Ok(entry) => copy.push(entry)?,
                    Err(why) => copy.bad(key, &why),
                }
                if let Some(why) = odd {
                    copy.odd(key, &why);
                }
                copy.copied.rows += 1;
                after = Some(key);
                copy.read.read_bytes = ordered(key);
                copy.read.read_hash = raw.hash();
                Ok(())
            })?;
            copy.append()?;
            if copy.copied.rows == before || copy.copied.interrupted {
                return Ok(copy.copied);
            }
        }
    }
}

struct Copy<'c> {
    store: &'c Store,
    batch: Batch,
    /// The position behind the last row that was read.
    read: SourcePosition,
    /// The position behind the last row that is in the store.
    appended: &'c mut SourcePosition,
    copied: Copied,
    tell: &'c mut dyn FnMut(Copying<'_>) -> ControlFlow<()>,
}

impl Copy<'_> {
    fn push(&mut self, entry: &[u8]) -> Result<()> {
        let full = self.batch.bytes() + entry.len() > BATCH_BYTES || self.batch.len() >= BATCH_ENTRIES;
        if full && !self.batch.is_empty() {
            self.append()?;
        }
        self.batch.push_unchecked(entry).map_err(refused)
    }

    fn append(&mut self) -> Result<()> {
        if self.batch.is_empty() {
            return Ok(());
        }
        let entries = self.batch.len() as u64;
        let position = SourcePosition { entries: self.appended.entries + entries, ..self.read.clone() };
        self.store
            .append_batch_patiently(&mut self.batch, Some(&position), WAITS_FOR_ROOM)
            .map_err(refused)?;
        self.copied.entries += entries;
        *self.appended = position;
        self.say(Copying::Appended(self.copied));
        Ok(())
    }

    fn bad(&mut self, key: i64, why: &str) {
        self.copied.bad_rows += 1;
        self.say(Copying::Bad { key, why });
    }

    fn odd(&mut self, key: i64, why: &str) {
        self.copied.odd_rows += 1;
        self.say(Copying::Odd { key, why });
    }

    fn say(&mut self, what: Copying<'_>) {
        self.copied.interrupted |= (self.tell)(what).is_break();
    }
}

fn refused(error: duramen::Error) -> Error {
    Error::Invalid(format!("the store: {error}"))
}
