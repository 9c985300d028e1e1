//! A manifest from the tables that are there.
//!
//! Which levels they were in is lost, and so is which of two tables is the newer one for a key that both have. The
//! sequence numbers tell: a table all of whose entries are newer than those of every other that it overlaps stays as it
//! is, in level 0, which is in order of age. What remains overlaps in its keys and its sequence numbers: that is merged
//! into one sorted run at the last level, where nothing older lies below.
//!
//! A WAL segment is known to be in tables if some table has what was written after it. What a compaction had merged
//! and not yet removed is merged once more, which changes nothing; only if some of its inputs were removed and others
//! not, can an entry that one of the removed had deleted come to light again.

use super::Repair;
use super::salvage::{is_foreign, meta_of};
use crate::Result;
use crate::kv::Damage;
use crate::lsm::compaction::{self, Cancel, Context, Job, RateLimiter};
use crate::lsm::flush::flushed_seq;
use crate::lsm::listener::{CompactionKind, CompactionReason};
use crate::lsm::options::LsmOptions;
use crate::lsm::paths;
use crate::lsm::table::{TableCache, TableWalk};
use crate::lsm::verify::{TableFindings, table_files};
use crate::lsm::version::{LEVELS, Obsolete, TableFacts, TableFile, Version};
use crate::manifest::{self, Manifest, State, TableMeta};
use crate::wal::{self, WalRecoveryMode};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

impl Repair<'_> {
    /// Makes a manifest, in the place of a damaged one or of none.
    pub(super) fn rebuild(&mut self, damage: &Damage) -> Result<()> {
        let path = self.dir.join(manifest::FILE_NAME);
        self.did(format!(
            "{} is made anew from the tables that are there: {}",
            path.display(),
            damage.detail
        ));
        let mut state = State { store_id: self.env.random.next_u64(), ..State::default() };
        let mut newest_whole = 0;
        let mut next = self.free_table_number(1)?;
        let files: Vec<_> = table_files(self.env, self.dir)?
            .into_iter()
            .map(|path| (paths::parse_table(&path), path))
            .collect();
        for (named, path) in files {
            if let Some((_, why)) = self.aside.iter().find(|(aside, _)| *aside == path) {
                let what = format!("{} is put aside: {why}", path.display());
                self.did(what);
                if !self.dry_run {
                    self.quarantine.keep(&path)?;
                }
                continue;
            }
            let salvaged = match self.salvage(&path, None, next) {
                Err(error) if is_foreign(&error) => {
                    self.did(format!("{} is put aside: {error}", path.display()));
                    if !self.dry_run {
                        self.quarantine.keep(&path)?;
                    }
                    continue;
                }
                other => other?,
            };
            let facts = self.facts(&salvaged.findings, named.and_then(|(_, seq)| seq), &path);
            if salvaged.is_whole() {
                newest_whole = newest_whole.max(facts.max_seq);
                let number = match named {
                    Some((number, _)) if !state.tables.contains_key(&number) => number,
                    _ => {
                        next += 1;
                        next - 1
                    }
                };
                let meta = self.meta(&path, number, &salvaged.findings, &facts)?;
                state.tables.insert(number, meta);
                continue;
            }
            if !self.dry_run {
                self.quarantine.keep(&path)?;
            }
            match &salvaged.new {
                Some(new) => {
                    let (path, entries) = (path.display(), new.summary.entries);
                    self.did(format!("{path}: {entries} entries are written anew, as table {}", new.number));
                    state.tables.insert(new.number, meta_of(new, &facts));
                    next += 1;
                }
                None => self.did(format!("{} is put aside: nothing of it can be read", path.display())),
            }
            self.lost(salvaged.findings.damage);
        }
        state.next_table = next;
        self.merge_what_has_no_order(&mut state)?;
        self.flushed_segments(&mut state, newest_whole)?;
        if self.dry_run {
            return Ok(());
        }
        self.quarantine.keep(&path)?;
        let (name, value) = flushed_seq(newest_whole);
        state.values.insert(name, value);
        state.version = 1;
        Manifest::rewrite(self.env, self.dir, &state)?;
        // All of them but the manifest itself, whose name is in use again.
        let kept = self.quarantine.let_go_but(&path)?;
        self.report.quarantined.extend(kept);
        Ok(())
    }

    fn facts(&mut self, findings: &TableFindings, ingested_seq: Option<u64>, path: &Path) -> TableFacts {
        // No write has the sequence number 0: the manifest alone, and the file's name, say when it was ingested.
        let ingested = findings.max_seq == 0 && findings.entries > 0;
        let seq = ingested_seq.unwrap_or(0);
        if ingested && ingested_seq.is_none() {
            let path = path.display();
            self.did(format!(
                "{path} was ingested, nothing says when: its entries count as older than all others"
            ));
        }
        TableFacts {
            level: 0,
            min_seq: if ingested { seq } else { findings.min_seq.min(findings.max_seq) },
            max_seq: if ingested { seq } else { findings.max_seq },
            // How old it is, nobody knows: nothing of it expires early.
            newest_unix_s: self.env.clock.now_unix_ns() / 1_000_000_000,
            deletes: findings.deletes,
            range_deletes: findings.range_deletes.len() as u64,
            ingested,
            id: findings.id,
            ..TableFacts::default()
        }
    }

    fn meta(&self, path: &Path, number: u64, found: &TableFindings, facts: &TableFacts) -> Result<TableMeta> {
        let walk = TableWalk::open(self.env, path)?;
        let blocks = walk.parts().ok().and_then(|parts| {
            let text = std::str::from_utf8(parts.properties.get("data_blocks")?).ok()?;
            text.parse().ok()
        });
        let (min_key, max_key) = found.keys.clone().unwrap_or_default();
        let name = path.strip_prefix(self.dir).unwrap_or(path).to_string_lossy().replace('\\', "/");
        Ok(TableMeta {
            number,
            path: name,
            file_bytes: found.file_bytes,
            entries: found.entries,
            blocks: blocks.unwrap_or(0),
            min_key,
            max_key,
            user: facts.encode(),
        })
    }

    /// Merges the tables of which nobody can say which is the newer.
    fn merge_what_has_no_order(&mut self, state: &mut State) -> Result<()> {
        let version = Version::of(self.dir, state, &Version::default(), &Arc::<Obsolete>::default())?;
        let mixed = without_order(&version.levels[0]);
        if mixed.is_empty() {
            return Ok(());
        }
        self.did(format!(
            "{} tables are merged: which of them is newer cannot be told table by table",
            mixed.len()
        ));
        if self.dry_run {
            return Ok(());
        }
        let options = LsmOptions { env: self.env.clone(), ..LsmOptions::default() };
        let cache = TableCache::new(&options);
        let next_table = AtomicU64::new(state.next_table);
        let context = Context {
            options: &options,
            dir: self.dir,
            tables: &cache,
            snapshots: Vec::new(),
            next_table: &next_table,
            table_path: paths::table,
            limiter: &RateLimiter::new(0, Arc::clone(&self.env.clock), true),
            cancel: &Cancel::default(),
            give_way: &|| (),
        };
        let reason = CompactionReason::Manual;
        let Some(job) = Job::new(&version, CompactionKind::Merge, reason, &mixed, LEVELS - 1) else {
            return Ok(());
        };
        let outcome = compaction::run(&job, &context)?;
        for table in &mixed {
            self.quarantine.keep(table.path())?;
        }
        *state = state.apply(&outcome.edit)?;
        Ok(())
    }

    /// Says of each writer which segments are in tables.
    fn flushed_segments(&mut self, state: &mut State, newest_whole: u64) -> Result<()> {
        for writer in wal::writers(self.env, &self.dir.join(paths::WAL))? {
            let found = wal::recover(self.env, &writer.path, WalRecoveryMode::SkipAnyCorrupted)?;
            for segment in &found.segments {
                let last = segment.records().map(|r| r.seq.saturating_add(u64::from(r.count)) - 1).max();
                if last.is_none_or(|last| last > newest_whole) {
                    break;
                }
                state.writers.insert(writer.writer_id, segment.reader.number());
                let Some(path) = segment.reader.path() else { continue };
                self.did(format!("{} is put aside: all of it is in tables", path.display()));
                if !self.dry_run {
                    self.quarantine.keep(path)?;
                }
            }
        }
        Ok(())
    }
}

/// The tables that overlap others in their keys and in their sequence numbers, and all that are older than one of
/// these: the rest is newer than them, table by table.
fn without_order(tables: &[Arc<TableFile>]) -> Vec<&Arc<TableFile>> {
    let mut rest: Vec<&Arc<TableFile>> = tables.iter().collect();
    // From the newest on; of equals the one that begins earlier is the older.
    rest.sort_by_key(|table| (table.facts.max_seq, table.facts.min_seq));
    let mut mixed = 0;
    for (at, table) in rest.iter().enumerate().rev() {
        let older = &rest[..at];
        let is_newer = |other: &&Arc<TableFile>| {
            !other.overlaps(table.min_key(), table.max_key()) || other.facts.max_seq < table.facts.min_seq
        };
        if !older.iter().all(is_newer) {
            mixed = at + 1;
            break;
        }
    }
    rest.truncate(mixed);
    rest
}
