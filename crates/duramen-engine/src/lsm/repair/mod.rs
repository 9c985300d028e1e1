//! Making a store out of what is left of one.
//!
//! ```text
//!  manifest whole    damaged tables ─▶ what can be read of each, in a new table at its level ─▶ one manifest edit
//!  manifest damaged, or older than tables beside it
//!                    every table that is there ─▶ in order of age, merged where that cannot be told ─▶ a new manifest
//!  then              WAL: every record that is whole ─▶ tables
//! ```
//!
//! New tables are durable before the manifest names them, and what is taken out of use has a name in `quarantine/`
//! before the manifest lets go of it. So at every moment there is one state or the other, and running it again goes on
//! from there: tables that an interrupted run left are merged with what they were made of, which changes nothing.
//!
//! | module | one idea |
//! |---|---|
//! | `salvage` | what can be read of a damaged table, in a new one |
//! | `tables` | the manifest is whole: table by table |
//! | `elsewhere` | tables that lie under another's name, or in quarantine |
//! | `replaced` | whether a table in quarantine may have been replaced since it was put there |
//! | `rebuild` | it is not: a manifest from the tables that are there |
//! | `writers` | what is in the WAL |

mod elsewhere;
mod rebuild;
mod replaced;
mod salvage;
mod tables;
mod writers;

use super::paths;
use super::table::{MadeOf, origin_of};
use super::unnamed::{Verdict, unnamed_but_for};
use super::verify::{table_files, whole_file};
use crate::io::{Env, OpenMode};
use crate::kv::{Damage, Progress, Quarantine, RepairOptions, RepairReport, lock_to_repair};
use crate::manifest::{self, Manifest, ManifestReader, TableMeta};
use crate::{Error, Result};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// A repair that is going on.
pub(super) struct Repair<'a> {
    env: &'a Env,
    dir: &'a Path,
    dry_run: bool,
    report: &'a mut RepairReport,
    quarantine: Quarantine<'a>,
    elsewhere: elsewhere::Elsewhere,
    /// Tables that have no part in a manifest that is made anew, and why.
    aside: Vec<(PathBuf, String)>,
    so_far: Progress,
    progress: &'a mut dyn FnMut(Progress),
}

/// See [`repair`](crate::kv::repair).
pub(crate) fn repair(
    env: &Env,
    dir: &Path,
    options: RepairOptions,
    progress: &mut dyn FnMut(Progress),
    report: &mut RepairReport,
) -> Result<()> {
    let lock = lock_to_repair(env, dir.join(paths::LOCK), options)?;
    let mut repair = Repair {
        env,
        dir,
        dry_run: options.dry_run,
        report,
        quarantine: Quarantine::new(env, dir),
        elsewhere: elsewhere::Elsewhere::default(),
        aside: Vec::new(),
        so_far: Progress::default(),
        progress,
    };
    for path in table_files(env, dir)? {
        let file = env.fs.open(&path, OpenMode::Read).and_then(|file| file.len());
        repair.so_far.total_bytes += file.unwrap_or(0);
    }
    // Followed, not owned: that changes nothing.
    let mut rebuilt = false;
    match ManifestReader::open(env, dir) {
        Ok(reader) => match repair.older_than_tables(&reader)? {
            None => repair.tables(reader.state())?,
            Some(damage) => {
                repair.rebuild(&damage)?;
                rebuilt = true;
            }
        },
        Err(error) if error.is_corruption() || error.is_not_found() => {
            let path = dir.join(manifest::FILE_NAME);
            repair.rebuild(&Damage::of_error(&path, &error))?;
            rebuilt = true;
        }
        Err(error) => return Err(error),
    }
    repair.writers(rebuilt, lock)
}

/// The damage of a table that has no file.
fn missing(path: &Path, meta: &TableMeta) -> Damage {
    let keys = Some((meta.min_key.clone(), meta.max_key.clone()));
    let detail = "the table is missing".to_owned();
    Damage { keys, entries: Some(meta.entries), detail, ..whole_file(path) }
}

impl Repair<'_> {
    fn advance(&mut self, bytes: u64) {
        self.so_far.done_bytes += bytes;
        self.so_far.total_bytes = self.so_far.total_bytes.max(self.so_far.done_bytes);
        (self.progress)(self.so_far);
    }

    fn did(&mut self, what: String) {
        self.report.actions.push(what);
    }

    /// Remembers what is lost; what only made reading faster is not.
    fn lost(&mut self, damage: impl IntoIterator<Item = Damage>) {
        self.report.lost.extend(damage.into_iter().filter(|damage| damage.entries != Some(0)));
    }

    /// What shows that the manifest is older than tables beside it. All others that it does not name are put aside then: what
    /// it knows to be replaced must not come back.
    fn older_than_tables(&mut self, manifest: &ManifestReader) -> Result<Option<Damage>> {
        // What lies elsewhere, whole, is not gone: nothing needs to be made of what it had replaced.
        let found = self.only_elsewhere(manifest.state())?;
        let is_elsewhere = |meta: &TableMeta| found.contains_key(&meta.number);
        let mut evidence = None;
        let mut only_places = Vec::new();
        let mut aside = Vec::new();
        for (path, verdict) in unnamed_but_for(self.env, self.dir, manifest, &is_elsewhere)? {
            if found.values().flatten().any(|found| *found == path) {
                continue;
            }
            match verdict {
                Verdict::Superfluous => aside.push((path, "what it holds is in other tables".to_owned())),
                Verdict::Unclear(why) => aside.push((path, why)),
                Verdict::OnlyPlace(why) => {
                    evidence.get_or_insert(format!("{}: {why}", path.display()));
                    only_places.push(path);
                }
            }
        }
        let Some(detail) = evidence else { return Ok(None) };
        self.aside = aside;
        self.what_is_gone(manifest, &only_places, &found)?;
        let path = self.dir.join(manifest::FILE_NAME);
        Ok(Some(Damage { detail, ..whole_file(&path) }))
    }

    /// Tables that are gone were replaced by merged ones. If there is none, what is nowhere is lost. What lies in quarantine stays
    /// there: under a manifest that is older nothing tells whether it was replaced since, by tables of which nothing was left even.
    fn what_is_gone(
        &mut self,
        manifest: &ManifestReader,
        only_places: &[PathBuf],
        found: &BTreeMap<u64, Vec<PathBuf>>,
    ) -> Result<()> {
        let is_merged = |path: &Path| {
            let is_ingested = paths::parse_table(path).is_some_and(|(_, seq)| seq.is_some());
            let made_of = origin_of(self.env, path).ok().flatten().map(|table| table.made_of);
            !is_ingested && made_of == Some(MadeOf::Other)
        };
        let merged = only_places.iter().any(|path| is_merged(path));
        for meta in manifest.state().tables.values() {
            let found = found.get(&meta.number).map(Vec::as_slice).unwrap_or_default();
            match found.first() {
                Some(_) if found.iter().any(|file| !self.quarantine.is_in(file)) => {}
                Some(file) => self.stays(file, meta, "MANIFEST is older than tables beside it"),
                None if !merged && !self.is_there(meta)? => {
                    self.lost([missing(&self.dir.join(&meta.path), meta)]);
                }
                None => {}
            }
        }
        Ok(())
    }

    /// Says of a table in quarantine that it stays there, and is lost unless it was replaced.
    fn stays(&mut self, file: &Path, meta: &TableMeta, why: &str) {
        let (file, number) = (file.display(), meta.number);
        self.did(format!("{file}, table {number}, stays there: it may have been replaced since, {why}"));
        let damage = missing(&self.dir.join(&meta.path), meta);
        let detail =
            format!("{}, and {file}, which has it, may have been replaced since: {why}", damage.detail);
        self.lost([Damage { detail, ..damage }]);
    }

    /// Whether a table has a file where the manifest says, whatever is in it.
    fn is_there(&self, meta: &TableMeta) -> Result<bool> {
        let path = self.dir.join(&meta.path);
        match self.env.fs.open(&path, OpenMode::Read) {
            Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::IsADirectory) => Ok(false),
            other => other.map(|_| true).map_err(Error::io("open", &path)),
        }
    }

    /// A number that no table has, above `at_least`.
    fn free_table_number(&self, at_least: u64) -> Result<u64> {
        let used = table_files(self.env, self.dir)?;
        let largest = used.iter().filter_map(|path| paths::parse_table(path)).map(|(number, _)| number).max();
        Ok(at_least.max(largest.map_or(1, |number| number.saturating_add(1))))
    }

    fn manifest(&self) -> Result<Manifest> {
        Ok(Manifest::open(self.env, self.dir)?.0)
    }
}
