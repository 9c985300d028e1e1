//! Tables in quarantine that are put back into use.
//!
//! | a table stays | because |
//! |---|---|
//! | of which the manifest does not say that it may come back | its lines may have been deleted since, or have gone for want of room; see `aside` |
//! | that is damaged, as another look says, too | only whole tables come back |
//! | of which another was made, that lies beside it or is in use | what that one is without has been deleted |
//! | whose lines are in use | by their identity, or, if they came later, by what they say: they were taken in again |
//! | whose lines the retention policy does not allow | it would have taken them |
//!
//! In use again, it has a new number, and its file one more name: only when the manifest names that the one in quarantine goes.
//! So wherever that is cut off, there is one or the other.

use super::aside::key_of;
use super::{Keeper, list};
use crate::block::{Block, BlockHandle};
use crate::error::{Error, Result};
use crate::store::block_cache::BlockCache;
use crate::store::flush::{COLUMN_CODEC_ID, ID_PROPERTY};
use crate::store::layout::{Layout, day_name, day_of};
use crate::store::origins::{ORIGINS_PROPERTY, Origins};
use crate::store::put_back::Aside;
use crate::store::retention::{Classifier, Retention, expiry, plan};
use crate::store::scan::{Buffers, ScanRow, scan};
use crate::store::shared::Shared;
use crate::store::table_blocks::TableBlockHandle;
use crate::store::table_facts::{BlockFacts, KnownTable, TableFacts, time_of};
use crate::store::tables::TableCache;
use crate::store::verify::decode_wholly;
use duramen_engine::Error as EngineError;
use duramen_engine::io::link_or_copy;
use duramen_engine::manifest::{Edit, TableMeta};
use duramen_engine::sstable::Table;
use std::collections::BTreeSet;
use std::hash::{BuildHasher, Hash, Hasher};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

/// The rows that no table has, and what keeps some from being known.
pub(crate) struct LiveRows<'l> {
    pub(crate) blocks: &'l [Arc<dyn BlockHandle>],
    pub(crate) damaged: Option<&'l str>,
}

/// A table in quarantine that is whole.
struct Whole {
    /// As it would be in the manifest, but for its place.
    meta: TableMeta,
    facts: TableFacts,
    origins: Origins,
    lines: Lines,
    /// How many of its lines are older than the policy allows.
    expired: u64,
}

/// What its lines are known by.
#[derive(Default)]
struct Lines {
    /// Writers and sequence numbers, ascending.
    ids: Vec<(u64, u64)>,
    /// What they say, as hashes, ascending.
    contents: Vec<u64>,
    writers: BTreeSet<u64>,
    times: (i64, i64),
}

/// How many of them were found elsewhere.
#[derive(Default)]
struct Elsewhere {
    same: u64,
    /// Others that say the same, and came later.
    alike: u64,
}

/// The number in the name that a table has in quarantine.
pub(super) fn number_of(name: &str) -> Option<u64> {
    let (name, nth) = name.strip_prefix("tables-")?.split_once(".sst")?;
    let is_nth = nth.is_empty() || nth.strip_prefix('.').is_some_and(|nth| nth.parse::<u64>().is_ok());
    name.rsplit_once('-')?.1.parse().ok().filter(|_| is_nth)
}

fn id_of(table: &Table) -> Option<u64> {
    table.property(ID_PROPERTY).and_then(|id| id.try_into().ok()).map(u64::from_le_bytes)
}

fn origins_of(table: &Table) -> Option<Origins> {
    table.property(ORIGINS_PROPERTY).and_then(|bytes| Origins::decode(bytes).ok())
}

fn content_of(row: &ScanRow<'_>) -> u64 {
    let mut hasher = foldhash::quality::FixedState::default().build_hasher();
    (row.time(), row.message()).hash(&mut hasher);
    row.for_each_field(&mut |name, text, _| (name, text).hash(&mut hasher));
    hasher.finish()
}

impl Lines {
    fn overlap(&self, handle: &dyn BlockHandle) -> bool {
        handle.max_time() >= self.times.0 && handle.min_time() <= self.times.1
    }

    fn look_at(&self, row: &ScanRow<'_>, came_later: bool, found: &mut Elsewhere) {
        let id = row.id();
        if self.ids.binary_search(&(id.writer, id.seq)).is_ok() {
            found.same += 1;
        } else if came_later && !self.writers.contains(&id.writer) {
            found.alike += u64::from(self.contents.binary_search(&content_of(row)).is_ok());
        }
    }
}

impl Keeper {
    /// Looks at every file in quarantine, and puts back what may come back. The latest first: they tell of those that they
    /// were made of.
    ///
    /// # Errors
    /// What the file system said to putting one back; the keeper is then to be given up.
    pub(crate) fn put_back(&mut self, live: &LiveRows<'_>, dry_run: bool) -> Result<Vec<(String, Aside)>> {
        let entries = list(&self.shared.env, &self.shared.layout.quarantine())?;
        let mut found: Vec<(String, bool)> =
            entries.into_iter().map(|entry| (entry.name, entry.is_file)).collect();
        found.sort_by_key(|(name, _)| (std::cmp::Reverse(number_of(name)), name.clone()));
        let gone = self.asides_that_are_gone()?;
        if !gone.is_empty() && !dry_run {
            self.apply(Edit { remove_values: gone, ..Edit::default() })?;
        }
        // What is no file is no table, however it is called, and replaces none.
        let tables = found.iter().filter(|(_, is_file)| *is_file);
        let (mut files, mut left): (_, Vec<String>) =
            (Vec::new(), tables.map(|(name, _)| name.clone()).collect());
        for (name, is_file) in found {
            let judged = if is_file { self.judge(&name, &left, live) } else { Err("it is no file".into()) };
            let became = match judged {
                Ok(table) => {
                    let lines = table.meta.entries;
                    if !dry_run {
                        self.put_one_back(&name, table)?;
                        left.retain(|other| *other != name);
                    }
                    Aside::PutBack { lines }
                }
                Err(why) => Aside::Stays { why },
            };
            files.push((name, became));
        }
        Ok(files)
    }

    /// A table that may be put back.
    ///
    /// # Errors
    /// Why it stays.
    fn judge(&mut self, name: &str, there: &[String], live: &LiveRows<'_>) -> Result<Whole, String> {
        let Some(number) = number_of(name) else { return Err("it is no whole table".into()) };
        if !self.manifest.state().values.contains_key(&key_of(name)) {
            return Err(
                "its lines may have been deleted or replaced since, or an earlier version put it there"
                    .into(),
            );
        }
        if self.sets_aside() {
            return Err("somebody still reads others that go there: try again".into());
        }
        if let Some(damaged) = live.damaged {
            return Err(format!("its lines may be in a WAL segment that cannot be read: {damaged}"));
        }
        let policy = self.policy();
        // Much depends on that it is damaged; so once more, if it seems to be.
        let look = || self.whole(name, policy.as_ref());
        let mut table = look().or_else(|_| look()).map_err(|e| format!("it cannot be read: {e}"))?;
        let newer = |other: &&String| *other != name && number_of(other) >= Some(number);
        there.iter().filter(newer).try_for_each(|other| self.is_not_made_of(&table, other))?;
        self.is_nowhere(&table, number, live)?;
        if table.expired > 0 {
            return Err(format!("{} of its lines are older than the retention policy allows", table.expired));
        }
        if let Some(policy) = policy {
            let mut state = (**self.manifest.state()).clone();
            table.meta.number = state.next_table;
            state.tables.insert(table.meta.number, table.meta.clone());
            let free = self.shared.env.fs.available_bytes(self.shared.layout.root()).ok();
            let now_ns = self.shared.env.clock.now_unix_ns();
            let goes = plan(&state, &policy, now_ns, free, &mut |_| true);
            if goes.iter().any(|(number, _)| *number == table.meta.number) {
                return Err("there is no room for it by the retention policy".into());
            }
        }
        Ok(table)
    }

    /// Reads all of it.
    fn whole(&self, name: &str, policy: Option<&Retention>) -> Result<Whole> {
        let Shared { env, layout, .. } = &*self.shared;
        let path = layout.quarantine().join(name);
        if let Some(damage) = Table::verify(env, &path)?.damage.into_iter().next() {
            return Err(EngineError::corruption(path, damage.offset, damage.detail).into());
        }
        let table = Table::open(env, &path, COLUMN_CODEC_ID)?;
        let is_not = |detail: &str| Error::from(EngineError::corruption(&path, 0, detail));
        let origins =
            origins_of(&table).ok_or_else(|| is_not("it does not say where its lines come from"))?;
        let mut facts = TableFacts { id: id_of(&table), ..TableFacts::default() };
        for block in table.blocks() {
            let times = time_of(&block.min_key).zip(time_of(&block.max_key));
            let (min_time, max_time) = times.ok_or_else(|| is_not("its keys are no times"))?;
            facts.blocks.push(BlockFacts { rows: block.entries, min_time, max_time });
        }
        let times = facts.time_range().ok_or_else(|| is_not("it has no lines"))?;
        let keys = |key: fn(&duramen_engine::sstable::BlockMeta) -> &Vec<u8>| table.blocks().iter().map(key);
        let mut meta = TableMeta {
            number: self.manifest.state().next_table,
            path: format!("quarantine/{name}"),
            file_bytes: table.file_bytes(),
            entries: table.entries(),
            blocks: table.blocks().len() as u64,
            min_key: keys(|block| &block.min_key).min().cloned().unwrap_or_default(),
            max_key: keys(|block| &block.max_key).max().cloned().unwrap_or_default(),
            user: facts.encode(),
        };
        let cache = Arc::new(TableCache::new(env.clone(), layout.clone(), BlockCache::new(0)));
        let handles = TableBlockHandle::of(&cache, &meta, &None)?;
        let now_ns = env.clock.now_unix_ns();
        let classifier = policy.map(Classifier::new);
        let mut expired = 0;
        for handle in &handles {
            decode_wholly(handle)?;
            let block = handle.open_table_block()?;
            facts.raw_bytes = facts.raw_bytes.saturating_add(block.raw_bytes());
            let Some((policy, classifier)) = policy.zip(classifier.as_ref()) else { continue };
            for (class, &time) in classifier.of_rows(&block)?.into_iter().zip(&*block.times()?) {
                let age = policy.age_of_class(class as usize);
                expired += u64::from(age.is_some_and(|age| time < expiry(now_ns, age)));
            }
        }
        meta.user = facts.encode();
        let mut lines = Lines { times, ..Lines::default() };
        self.scan(as_blocks(handles), &mut |row| {
            lines.ids.push((row.id().writer, row.id().seq));
            lines.contents.push(content_of(row));
            lines.writers.insert(row.id().writer);
        })?;
        lines.ids.sort_unstable();
        lines.contents.sort_unstable();
        Ok(Whole { meta, facts, origins, lines, expired })
    }

    fn scan(&self, blocks: Vec<Arc<dyn BlockHandle>>, each: &mut dyn FnMut(&ScanRow<'_>)) -> Result<()> {
        let all = (i64::MIN, i64::MAX);
        scan(blocks, &*self.shared.env.clock, &Buffers::default(), all, &mut |row| {
            each(row);
            ControlFlow::Continue(())
        })
    }

    /// Whether a file beside a table is none that was made of it.
    ///
    /// # Errors
    /// Why that may be.
    fn is_not_made_of(&self, table: &Whole, other: &str) -> Result<(), String> {
        let path = self.shared.layout.quarantine().join(other);
        let found = Table::open(&self.shared.env, &path, COLUMN_CODEC_ID)
            .map_err(|e| format!("quarantine/{other} may have replaced it, and cannot be read: {e}"))?;
        if table.facts.id.is_some() && id_of(&found) == table.facts.id {
            return Ok(());
        }
        match origins_of(&found) {
            Some(origins) if !origins.share(&table.origins) => Ok(()),
            _ => Err(format!("quarantine/{other} may have replaced it")),
        }
    }

    /// Whether none of its lines is in use, and no table that was made of it.
    ///
    /// # Errors
    /// Where they are, or may be.
    fn is_nowhere(&self, table: &Whole, number: u64, live: &LiveRows<'_>) -> Result<(), String> {
        let state = self.manifest.state().clone();
        let mut found = Elsewhere::default();
        for meta in state.tables.values() {
            let unknown = |e: Error| format!("its lines may be in {}, which cannot be read: {e}", meta.path);
            let facts = TableFacts::decode(&meta.user).map_err(unknown)?;
            if facts.id.is_some() && facts.id == table.facts.id {
                return Err(format!("it is in use already, as {}", meta.path));
            }
            if self.tables.origins(meta).map_err(unknown)?.share(&table.origins) {
                return Err(format!("{} has replaced it", meta.path));
            }
            let handles = TableBlockHandle::of(&self.tables, meta, &None).map_err(unknown)?;
            let overlapping =
                as_blocks(handles).into_iter().filter(|handle| table.lines.overlap(&**handle)).collect();
            let came_later = meta.number > number;
            self.scan(overlapping, &mut |row| table.lines.look_at(row, came_later, &mut found))
                .map_err(unknown)?;
        }
        let overlapping =
            live.blocks.iter().filter(|handle| table.lines.overlap(&***handle)).cloned().collect();
        self.scan(overlapping, &mut |row| table.lines.look_at(row, true, &mut found))
            .map_err(|e| format!("its lines may be in a WAL segment that cannot be read: {e}"))?;
        let lines = table.meta.entries;
        match found {
            Elsewhere { same: 0, alike: 0 } => Ok(()),
            Elsewhere { same: 0, alike } => Err(format!(
                "{alike} lines that came later say the same as lines of it: it may have been taken in again"
            )),
            Elsewhere { same, .. } if same >= lines => {
                Err("all of its lines are in use: remove it when you need it no more".into())
            }
            Elsewhere { same, .. } => Err(format!("{same} of its {lines} lines are in use")),
        }
    }

    /// Puts a table back into use, under a number of its own.
    fn put_one_back(&mut self, name: &str, table: Whole) -> Result<()> {
        let number = self.reserve_table()?;
        let shared = self.shared.clone();
        let Shared { env, layout, .. } = &*shared;
        let from = layout.quarantine().join(name);
        let day = day_of(table.lines.times.0);
        self.flusher()?.make_day_directory(day)?;
        let path = Layout::table_path(&day_name(day), number);
        let to: PathBuf = layout.resolve(&path);
        // Cut off, it is a table that the manifest knows to be replaced.
        link_or_copy(&*env.fs, &from, &to)?;
        let meta = TableMeta { number, path, ..table.meta };
        if let Some(damage) = Table::verify(env, &to)?.damage.into_iter().next() {
            return Err(EngineError::corruption(to, damage.offset, damage.detail).into());
        }
        KnownTable::of(&meta)?.check_is_it(&Table::open(env, &to, COLUMN_CODEC_ID)?)?;
        let dir = to.parent().unwrap_or(layout.root());
        env.fs.sync_dir(dir).map_err(EngineError::io("sync", dir))?;
        self.apply(Edit { add_tables: vec![meta], remove_values: vec![key_of(name)], ..Edit::default() })?;
        self.remove(&from)?;
        self.sync_quarantine()
    }
}

fn as_blocks(handles: Vec<Arc<TableBlockHandle>>) -> Vec<Arc<dyn BlockHandle>> {
    handles.into_iter().map(|handle| handle as Arc<dyn BlockHandle>).collect()
}
