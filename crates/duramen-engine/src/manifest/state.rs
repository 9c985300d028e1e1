//! What the manifest records, and which edits of it are valid.

use crate::{Error, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path};

/// Everything the manifest records, at one version.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// The store's identity, random, given when it was made.
    pub store_id: u64,
    /// The live tables by number.
    pub tables: BTreeMap<u64, TableMeta>,
    /// For each writer, the number of the last WAL segment whose records are all in tables.
    pub writers: BTreeMap<u64, u64>,
    /// The owner's own small facts (ingest positions, options).
    pub values: BTreeMap<Vec<u8>, Vec<u8>>,
    /// The number of the next new table: above every number ever recorded.
    pub next_table: u64,
    /// How many edits there were.
    pub version: u64,
}

/// A live table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableMeta {
    /// Its number, never used twice.
    pub number: u64,
    /// Its file, relative to the store's directory, with `/` between names.
    pub path: String,
    /// The file's length in bytes.
    pub file_bytes: u64,
    /// How many entries it holds.
    pub entries: u64,
    /// How many blocks it has.
    pub blocks: u64,
    /// Its smallest key.
    pub min_key: Vec<u8>,
    /// Its largest key.
    pub max_key: Vec<u8>,
    /// The owner's own facts about it.
    pub user: Vec<u8>,
}

/// One step from a [`State`] to the next, all of it or nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Edit {
    /// Tables that are live from now on.
    pub add_tables: Vec<TableMeta>,
    /// The numbers of tables that are no longer.
    pub remove_tables: Vec<u64>,
    /// Tables that stay, by number, and the owner's facts about them that take the place of
    /// [`TableMeta::user`]: so a table changes its level without being written again.
    pub set_table_user: Vec<(u64, Vec<u8>)>,
    /// Writers, and the number of the last WAL segment of theirs that is now in tables.
    pub flushed: Vec<(u64, u64)>,
    /// Writers that are gone, with all their segments. Applied after `flushed`.
    pub forget_writers: Vec<u64>,
    /// Values to set.
    pub set_values: Vec<(Vec<u8>, Vec<u8>)>,
    /// Values to remove. Applied before `set_values`.
    pub remove_values: Vec<Vec<u8>>,
    /// Raises [`State::next_table`]; it is also raised above every added table by itself.
    pub next_table: Option<u64>,
}

impl State {
    /// The state after an edit.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the edit does not fit: it removes a table that is not live, adds a
    /// number or a path that is (even one it removes), adds a path that leads out of the store, gives a
    /// table its keys the wrong way round, sets the facts of a table that is not live before and after it, or
    /// those of one table twice, or takes back what was flushed.
    pub fn apply(&self, edit: &Edit) -> Result<State> {
        let mut next = self.clone();
        next.advance(edit)?;
        Ok(next)
    }

    /// [`State::apply`] in place: for replaying many edits. After an error the state is of no use.
    pub(super) fn advance(&mut self, edit: &Edit) -> Result<()> {
        let invalid = |detail: String| Err(Error::InvalidArgument(format!("manifest edit: {detail}")));
        let mut removed = Vec::new();
        for number in &edit.remove_tables {
            match self.tables.remove(number) {
                Some(table) => removed.push(table),
                None => return invalid(format!("table {number} is removed but not live")),
            }
        }
        // Before tables are added: what is added brings its facts along.
        let mut set = BTreeSet::new();
        for (number, user) in &edit.set_table_user {
            match self.tables.get_mut(number) {
                _ if !set.insert(*number) => {
                    return invalid(format!("the facts of table {number} are set twice"));
                }
                Some(table) => table.user.clone_from(user),
                None => return invalid(format!("the facts of table {number} are set but it is not live")),
            }
        }
        for table in &edit.add_tables {
            let number = table.number;
            if self.tables.contains_key(&number) || removed.iter().any(|other| other.number == number) {
                return invalid(format!("table {number} is added but live already"));
            }
            if !is_inner_path(&table.path) {
                return invalid(format!(
                    "table {number} has the path {:?}, not one within the store",
                    table.path
                ));
            }
            if self.tables.values().chain(&removed).any(|other| other.path == table.path) {
                return invalid(format!("table {number} has the path {:?} of another", table.path));
            }
            if table.min_key > table.max_key {
                return invalid(format!("table {number} has its smallest key above its largest"));
            }
            let Some(above) = number.checked_add(1) else {
                return invalid(format!("table number {number} leaves no number for the next"));
            };
            self.next_table = self.next_table.max(above);
            self.tables.insert(number, table.clone());
        }
        self.next_table = self.next_table.max(edit.next_table.unwrap_or(0));
        for &(writer, through) in &edit.flushed {
            let before = self.writers.insert(writer, through);
            if let Some(before) = before.filter(|&before| before > through) {
                return invalid(format!(
                    "writer {writer} was flushed through {before}, now only through {through}"
                ));
            }
        }
        for writer in &edit.forget_writers {
            self.writers.remove(writer);
        }
        for key in &edit.remove_values {
            self.values.remove(key);
        }
        for (key, value) in &edit.set_values {
            self.values.insert(key.clone(), value.clone());
        }
        let Some(version) = self.version.checked_add(1) else {
            return invalid(format!("version {} leaves no version for the next", self.version));
        };
        self.version = version;
        Ok(())
    }
}

/// Whether a path stays within the directory it is relative to.
fn is_inner_path(path: &str) -> bool {
    let mut parts = Path::new(path).components().peekable();
    parts.peek().is_some() && parts.all(|part| matches!(part, Component::Normal(_)))
}
