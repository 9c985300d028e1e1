//! Tables into a store: our own, and any other with a key.
//!
//! A table is read in order of its key, an integer that only grows: the store keeps the last key it has, together
//! with the entries, so that the next import goes on behind it. Of our own table the key is `id`; of another it is
//! SQLite's rowid, PostgreSQL's primary key, or the column that is named.
//!
//! What the store keeps of a table is a [`SourcePosition`]:
//!
//! ```text
//! name         sqlite:/var/lib/app.db?table=logs        for people
//! head_bytes   0                                        it is no file
//! head_hash    of the database's id or whole path, and  which table this is, and the how-manieth time it
//!              of a number                              is taken from its beginning
//! read_bytes   the last key, its sign bit turned over   keeps the order of keys
//! read_hash    of the row with that key                 whether it still is that table
//! entries      how many entries came of it
//! ```
//!
//! | file | what it is |
//! |---|---|
//! | `table` | a table, in pages |
//! | `options` | which table, and which columns are what |
//! | `copy` | rows into a store, with the position behind them |
//! | `rows` | a row as an entry |

mod copy;
mod options;
mod rows;
mod table;

pub use copy::{Copied, Copying};
pub use options::TableOptions;
pub(crate) use rows::RawRow;
pub(crate) use table::{Rows as TableRows, Table};

use crate::error::{Error, Result};
use duramen::SourcePosition;
use rows::Rows;
use xxhash_rust::xxh3::xxh3_64;

/// A table to import, as it was when it was opened. For one thread.
///
/// ```
/// # fn import(store: &duramen::Store) -> Result<(), Box<dyn std::error::Error>> {
/// use duramen_sinks::import::{Copying, SqlTable, TableOptions};
/// use std::ops::ControlFlow;
/// let mut table = SqlTable::sqlite("app.db", &TableOptions::new())?;
/// let mut position = table.start(&store.source_positions()?)?;
/// let copied = table.copy(store, &mut position, &mut |event| {
///     if let Copying::Bad { key, why } = event {
///         eprintln!("row {key}: {why}");
///     }
///     ControlFlow::Continue(())
/// })?;
/// println!("{} entries", copied.entries);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct SqlTable {
    table: Table,
    rows: Rows,
    warning: Option<String>,
}

impl SqlTable {
    pub(crate) fn new(table: Table, options: &TableOptions, warning: Option<String>) -> Self {
        Self { table, rows: Rows::new(options), warning }
    }

    /// What it is called: the database and the table, without a password.
    pub fn name(&self) -> &str {
        &self.table.name
    }

    /// A hash of what tells it from every other table, whatever it is called.
    pub fn identity_hash(&self) -> u64 {
        xxh3_64(self.table.identity.as_bytes())
    }

    /// Whether all that is read of it is of one moment. If not, every row is read that was there when it was opened, but for
    /// those that are deleted before their turn.
    pub fn is_of_one_moment(&self) -> bool {
        self.table.last.is_none()
    }

    /// What could not be made sure of when it was opened.
    pub fn warning(&self) -> Option<&str> {
        self.warning.as_deref()
    }

    /// Where to begin a table anew, whatever a store knows of it ([`duramen::Store::source_positions`]).
    pub fn again(&self, known: &[SourcePosition]) -> SourcePosition {
        self.latest(known).0
    }

    /// Where to go on behind the last key that a store knows, whatever became of the row that has it: for a table whose
    /// rows have changed, as by a column that was added or dropped, and whose keys still say what is new.
    pub fn go_on(&self, known: &[SourcePosition]) -> SourcePosition {
        let (beginning, latest) = self.latest(known);
        let of_now =
            |other: &SourcePosition| SourcePosition { head_hash: beginning.head_hash, ..other.clone() };
        latest.or_else(|| self.of_another_server(known).map(of_now)).unwrap_or(beginning)
    }

    /// Where to go on, given what a store knows.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the row that was imported last is another now, or is gone while older ones are there: the
    /// table was replaced, or its rows change; or if a table of its name was imported from another PostgreSQL server;
    /// [`Error::Database`].
    pub fn start(&mut self, known: &[SourcePosition]) -> Result<SourcePosition> {
        let (beginning, latest) = self.latest(known);
        if latest.is_none() && self.of_another_server(known).is_some() {
            return Err(Error::Invalid(format!(
                "{}: a table of this name was imported before, from a server that has another number, as one has after an \
                 upgrade or a restore",
                beginning.name
            )));
        }
        let Some((position, last)) = latest.and_then(|latest| key_of(&latest).map(|last| (latest, last)))
        else {
            return Ok(beginning);
        };
        let (mut same, mut older) = (None, false);
        if let Some(before) = last.checked_sub(1) {
            self.table.page(Some(before), 1, &mut |key, row| {
                same = (key == last).then(|| row.has(position.read_hash));
                Ok(())
            })?;
        }
        if same.is_none() {
            self.table.page(None, 1, &mut |key, _| {
                older = key < last;
                Ok(())
            })?;
        }
        // A row that is gone together with all before it was old enough to be deleted.
        if older || same == Some(false) {
            return Err(Error::Invalid(format!(
                "{}: the row with the key {last}, which was imported last, is {} now: the table was replaced, or its \
                 rows change",
                position.name,
                if older { "gone" } else { "another" }
            )));
        }
        Ok(position)
    }

    /// How far a table is that PostgreSQL has by the same name at the same address, but on another server.
    fn of_another_server<'p>(&self, known: &'p [SourcePosition]) -> Option<&'p SourcePosition> {
        let is_it = |p: &&SourcePosition| p.name == self.table.name && p.head_bytes == 0 && p.read_bytes != 0;
        let is_asked = !self.table.ours && self.table.name.starts_with("postgres://");
        known.iter().filter(is_it).max_by_key(|p| p.read_bytes).filter(|_| is_asked)
    }

    /// The position before the first row for the next time the table is taken from its beginning, and how far it is
    /// since the last time.
    fn latest(&self, known: &[SourcePosition]) -> (SourcePosition, Option<SourcePosition>) {
        let (head_hash, latest) = furthest(&self.table.identity, known);
        let name = self.table.name.clone();
        let beginning =
            SourcePosition { name, head_bytes: 0, head_hash, read_bytes: 0, read_hash: 0, entries: 0 };
        let as_now = |latest: &SourcePosition, head_hash| SourcePosition {
            name: beginning.name.clone(),
            head_hash,
            ..latest.clone()
        };
        let latest = match (latest, &self.table.former) {
            (Some(latest), _) => Some(as_now(latest, latest.head_hash)),
            // What was known by the old name is known by the new one from now on.
            (None, Some(former)) => furthest(former, known).1.map(|latest| as_now(latest, head_hash)),
            (None, None) => None,
        };
        (beginning, latest)
    }

    /// How many rows follow on a position. After a whole [`SqlTable::copy`] it is 0, unless rows have no key, or one
    /// that others have, too.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub fn rows_after(&mut self, position: &SourcePosition) -> Result<u64> {
        self.table.count(key_of(position))
    }
}

/// Which hash a table of this identity has the next time it is taken from its beginning, and how far it is since the last
/// time.
fn furthest<'p>(identity: &str, known: &'p [SourcePosition]) -> (u64, Option<&'p SourcePosition>) {
    let (mut latest, mut time) = (None, 0u64);
    loop {
        let head_hash = xxh3_64(format!("{identity} {time}").as_bytes());
        let same = known.iter().filter(|p| p.head_bytes == 0 && p.head_hash == head_hash);
        match same.max_by_key(|p| p.read_bytes) {
            Some(position) => (latest, time) = (Some(position), time + 1),
            None => return (head_hash, latest),
        }
    }
}

/// The last key that was read; `None` before the first.
fn key_of(position: &SourcePosition) -> Option<i64> {
    (position.read_bytes != 0).then(|| (position.read_bytes ^ 1 << 63).cast_signed())
}

/// A name in SQL.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
