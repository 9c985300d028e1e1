//! Tables on their way to quarantine because the manifest is older than they are, and which of them may come back by
//! [`Store::put_back`](crate::Store::put_back).
//!
//! What may, the manifest says, under the name that the file has in quarantine: it says so before the file is moved, and no longer
//! as soon as something happened that would have taken lines of the table, had it been in use. So nothing has to be made of what
//! is found: a file of which the manifest says nothing stays.

use super::Keeper;
use super::put_back::number_of;
use crate::error::Result;
use crate::store::flush::COLUMN_CODEC_ID;
use crate::store::shared::Shared;
use crate::store::table_facts::time_of;
use duramen_engine::Error as EngineError;
use duramen_engine::manifest::{Edit, State};
use duramen_engine::sstable::Table;
use std::borrow::Cow;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

/// What keys begin with under which the manifest has the names of files in quarantine that may come back.
pub(crate) const KEY_PREFIX: &[u8] = b"aside/";

/// Of a table of which it is not known.
const ANY_TIME: RangeInclusive<i64> = i64::MIN..=i64::MAX;

/// A table that is to go to quarantine.
#[derive(Debug)]
pub(super) struct Aside {
    pub(super) path: PathBuf,
    pub(super) why: String,
    /// Whether nothing shows that other tables have replaced it.
    pub(super) may_return: bool,
    pub(super) number: Option<u64>,
}

/// The key of a file in quarantine.
pub(super) fn key_of(name: &str) -> Vec<u8> {
    [KEY_PREFIX, name.as_bytes()].concat()
}

/// The name of a file, of its key.
fn name_of(key: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(key.get(KEY_PREFIX.len()..).unwrap_or_default())
}

/// The files that may come back: their keys, and the times of their lines.
fn all(state: &State) -> impl Iterator<Item = (&Vec<u8>, RangeInclusive<i64>)> {
    let of_asides = state.values.range(KEY_PREFIX.to_vec()..);
    of_asides.take_while(|(key, _)| key.starts_with(KEY_PREFIX)).map(|(key, value)| (key, decode(value)))
}

fn encode(times: &RangeInclusive<i64>) -> Vec<u8> {
    [times.start().to_le_bytes(), times.end().to_le_bytes()].concat()
}

fn decode(value: &[u8]) -> RangeInclusive<i64> {
    let at = |at: usize| value.get(at..at + 8)?.try_into().ok().map(i64::from_le_bytes);
    at(0).zip(at(8)).map_or(ANY_TIME, |(min, max)| min..=max)
}

/// The keys of those with lines of such times: what was deleted might have been among them.
pub(super) fn within(state: &State, times: &RangeInclusive<i64>) -> Vec<Vec<u8>> {
    let overlaps = |of: &RangeInclusive<i64>| of.start() <= times.end() && of.end() >= times.start();
    all(state).filter(|(_, of)| overlaps(of)).map(|(key, _)| key.clone()).collect()
}

/// The keys of those that would have gone before a table up to that time went for want of room.
pub(super) fn no_newer_than(state: &State, max_time: i64) -> Vec<Vec<u8>> {
    let would_go = |of: &RangeInclusive<i64>| *of == ANY_TIME || *of.end() <= max_time;
    all(state).filter(|(_, of)| would_go(of)).map(|(key, _)| key.clone()).collect()
}

impl Keeper {
    /// Moves tables to quarantine, whose numbers are no other's from then on.
    pub(super) fn set_tables_aside(&mut self, tables: Vec<Aside>) -> Result<()> {
        let (mut set_values, mut moves) = (Vec::new(), Vec::new());
        // Of files that were not moved, or that somebody has removed: however often that happens, no more is kept.
        let remove_values = if tables.is_empty() { Vec::new() } else { self.asides_that_are_gone()? };
        for table in tables {
            let to = self.name_in_quarantine(&table.path)?;
            if table.may_return {
                let name = to.file_name().unwrap_or_default().to_string_lossy();
                set_values.push((key_of(&name), encode(&self.times_of(&table.path))));
            }
            moves.push((table, to));
        }
        if !set_values.is_empty() || !remove_values.is_empty() {
            self.apply(Edit { set_values, remove_values, ..Edit::default() })?;
        }
        for (table, to) in &moves {
            self.move_to_quarantine(&table.path, to, &table.why)?;
        }
        // So that no other table has it: it may be put back. Not before it is in quarantine, or it would count as replaced.
        // Of those, too, that a keeper moved which came no further.
        let before = all(self.manifest.state()).filter_map(|(key, _)| number_of(&name_of(key)));
        let last = moves.iter().filter_map(|(table, _)| table.number).chain(before).max();
        if let Some(last) = last.filter(|last| *last >= self.manifest.state().next_table) {
            self.apply(Edit { next_table: last.checked_add(1), ..Edit::default() })?;
        }
        Ok(())
    }

    /// The keys of which there is no file any more.
    pub(super) fn asides_that_are_gone(&self) -> Result<Vec<Vec<u8>>> {
        let mut gone = Vec::new();
        for (key, _) in all(self.manifest.state()) {
            if !self.exists(&self.shared.layout.quarantine().join(&*name_of(key)))? {
                gone.push(key.clone());
            }
        }
        Ok(gone)
    }

    /// The times of a table's lines; any, if it cannot be read.
    fn times_of(&self, path: &Path) -> RangeInclusive<i64> {
        let Ok(table) = Table::open(&self.shared.env, path, COLUMN_CODEC_ID) else { return ANY_TIME };
        let mut times: Option<(i64, i64)> = None;
        for block in table.blocks() {
            let of_block = time_of(&block.min_key).zip(time_of(&block.max_key));
            let Some((min, max)) = of_block else { return ANY_TIME };
            times = Some(times.map_or((min, max), |(first, last)| (first.min(min), last.max(max))));
        }
        times.map_or(ANY_TIME, |(min, max)| min..=max)
    }

    /// The name in quarantine for a table, beside what is there already, and what the manifest knows of.
    pub(super) fn name_in_quarantine(&self, path: &Path) -> Result<PathBuf> {
        let name = path.strip_prefix(self.shared.layout.root()).unwrap_or(path).components();
        let name: Vec<_> = name.map(|part| part.as_os_str().to_string_lossy()).collect();
        self.free_in_quarantine(&name.join("-"))
    }

    pub(super) fn move_to_quarantine(&self, path: &Path, to: &Path, why: &str) -> Result<()> {
        let Shared { env, .. } = &*self.shared;
        env.fs.rename(path, to).map_err(EngineError::io("move to quarantine", path))?;
        self.sync_quarantine()?;
        self.shared.incident(format!("{} was moved to quarantine: {why}", path.display()));
        Ok(())
    }
}
