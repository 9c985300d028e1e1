//! Reading every byte of an LSM tree's directory, and holding what files say against each other.
//!
//! | module | what is checked |
//! |---|---|
//! | this one | the manifest; levels; files that nobody knows |
//! | `table` | one table: every chunk, every row, and what the manifest says of it |
//! | `wal` | every record of every segment that is in no table yet |

mod table;
mod wal;

pub(super) use table::{TableFindings, check_table, collect};
pub(super) use wal::{is_batch, of_log};

use super::opening::Opening;
use super::paths;
use super::unnamed::{Verdict, unnamed};
use super::version::{LEVELS, TableFacts};
use crate::io::Env;
use crate::kv::{Damage, Progress, VerifyReport, is_live};
use crate::manifest::{self, ManifestReader, State, TableMeta};
use crate::wal as log;
use crate::{Error, Result};
use std::path::Path;
use std::sync::Arc;

/// See [`verify`](crate::kv::verify).
pub(crate) fn verify(env: &Env, dir: &Path, progress: &mut dyn FnMut(Progress)) -> Result<VerifyReport> {
    let mut check =
        Check { env, dir, report: VerifyReport::default(), so_far: Progress::default(), progress };
    let manifest = check.manifest()?;
    let state = manifest.as_ref().map(|manifest| Arc::clone(manifest.state()));
    let writers = log::writers(env, &dir.join(paths::WAL))?;
    check.so_far.total_bytes = check.total_bytes(state.as_deref(), &writers)?;
    match &manifest {
        Some(manifest) => {
            let state = manifest.state();
            for meta in state.tables.values() {
                check.live_table(meta)?;
            }
            check.levels(state);
            check.strangers(manifest)?;
        }
        None => {
            // Every table that there is, for what they are worth without the manifest.
            for path in table_files(env, dir)? {
                check.table(&path, None)?;
            }
        }
    }
    check.log(state.as_deref(), manifest.as_ref().and_then(Opening::known), &writers)?;
    Ok(check.report)
}

/// The table files in a store's directory, by name.
pub(crate) fn table_files(env: &Env, dir: &Path) -> Result<Vec<std::path::PathBuf>> {
    let tables = dir.join(paths::TABLES);
    let listed = match env.fs.read_dir(&tables) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(Error::io("list", &tables))?,
    };
    let mut names: Vec<String> = listed
        .into_iter()
        .filter(|entry| entry.is_file && entry.name.ends_with(".sst"))
        .map(|entry| entry.name)
        .collect();
    names.sort();
    Ok(names.into_iter().map(|name| tables.join(name)).collect())
}

/// A verification that is going on.
pub(super) struct Check<'a> {
    env: &'a Env,
    dir: &'a Path,
    report: VerifyReport,
    so_far: Progress,
    progress: &'a mut dyn FnMut(Progress),
}

impl Check<'_> {
    fn advance(&mut self, bytes: u64) {
        self.so_far.done_bytes += bytes;
        (self.progress)(self.so_far);
    }

    /// The manifest, unless it cannot be read.
    fn manifest(&mut self) -> Result<Option<ManifestReader>> {
        self.report.files += 1;
        let path = self.dir.join(manifest::FILE_NAME);
        match ManifestReader::open(self.env, self.dir) {
            Ok(reader) => Ok(Some(reader)),
            Err(error) if error.is_corruption() || error.is_not_found() => {
                self.report.damage.push(Damage::of_error(&path, &error));
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    fn total_bytes(&self, state: Option<&State>, writers: &[log::WriterDir]) -> Result<u64> {
        let mut total: u64 = state.map_or(0, |state| state.tables.values().map(|t| t.file_bytes).sum());
        if state.is_none() {
            let entries = self.env.fs.read_dir(&self.dir.join(paths::TABLES)).unwrap_or_default();
            total = entries.iter().map(|entry| entry.len).sum();
        }
        for writer in writers {
            total += log::segments(self.env, &writer.path)?.iter().map(|segment| segment.len).sum::<u64>();
        }
        Ok(total)
    }

    fn live_table(&mut self, meta: &TableMeta) -> Result<()> {
        let path = self.dir.join(&meta.path);
        let gone = !self.env.fs.exists(&path).map_err(Error::io("look for", &path))?;
        // In a store that is in use a compaction may have removed it by now.
        if gone && !ManifestReader::open(self.env, self.dir)?.state().tables.contains_key(&meta.number) {
            return Ok(());
        }
        self.table(&path, Some(meta))
    }

    fn table(&mut self, path: &Path, meta: Option<&TableMeta>) -> Result<()> {
        self.report.files += 1;
        let found = match check_table(self.env, path, meta) {
            Ok(found) => found,
            Err(error @ (Error::TooNew { .. } | Error::InvalidArgument(_))) => return Err(error),
            Err(error) => {
                let keys = meta.map(|meta| (meta.min_key.clone(), meta.max_key.clone()));
                let entries = meta.map(|meta| meta.entries);
                self.report.damage.push(Damage { keys, entries, ..Damage::of_error(path, &error) });
                return Ok(());
            }
        };
        self.report.bytes += found.file_bytes;
        self.report.entries += found.entries;
        self.report.damage.extend(found.damage);
        self.advance(found.file_bytes);
        Ok(())
    }

    /// From level 1 on, no table may overlap the next.
    fn levels(&mut self, state: &State) {
        let mut levels: Vec<Vec<&TableMeta>> = vec![Vec::new(); LEVELS];
        for meta in state.tables.values() {
            match TableFacts::decode(&meta.user) {
                Some(facts) => levels[usize::from(facts.level)].push(meta),
                None => {
                    let path = self.dir.join(manifest::FILE_NAME);
                    let detail = format!("what it says of table {} makes no sense", meta.number);
                    self.report.damage.push(Damage { detail, ..whole_file(&path) });
                }
            }
        }
        for (level, tables) in levels.iter_mut().enumerate().skip(1) {
            tables.sort_by(|a, b| a.min_key.cmp(&b.min_key));
            for pair in tables.windows(2) {
                // The largest key may be the end of a deleted range, which is not in it.
                if pair[0].max_key > pair[1].min_key {
                    let path = self.dir.join(manifest::FILE_NAME);
                    let (a, b) = (pair[0].number, pair[1].number);
                    let detail = format!("tables {a} and {b} of level {level} overlap");
                    let keys = Some((pair[1].min_key.clone(), pair[0].max_key.clone()));
                    self.report.damage.push(Damage { detail, keys, ..whole_file(&path) });
                }
            }
        }
    }

    /// Files that the manifest does not know, if nobody is writing any.
    fn strangers(&mut self, manifest: &ManifestReader) -> Result<()> {
        if !is_live(self.env, &self.dir.join(paths::LOCK))? {
            if !manifest.ends_in_mark() {
                self.report.notes.push(format!(
                    "{} does not end in its mark: an edit was cut off, or the file has lost its end",
                    self.dir.join(manifest::FILE_NAME).display()
                ));
            }
            for (path, verdict) in unnamed(self.env, self.dir, manifest)? {
                match verdict.why_kept() {
                    Some(why) => {
                        let detail = match &verdict {
                            Verdict::OnlyPlace(_) => {
                                format!("{why}. The next opening puts it aside; a repair takes it in")
                            }
                            _ => format!("{why}. The next opening puts it aside"),
                        };
                        self.report.damage.push(Damage { detail, ..whole_file(&path) });
                    }
                    None => {
                        let path = path.display();
                        self.report.notes.push(format!("{path} is in no use: the next opening removes it"));
                    }
                }
            }
        }
        let quarantine = self.dir.join(paths::QUARANTINE);
        let kept = self.env.fs.read_dir(&quarantine).unwrap_or_default().len();
        if kept > 0 {
            let named = quarantine.display();
            self.report.notes.push(format!("files that were put aside are kept in {named}: {kept}"));
        }
        Ok(())
    }
}

/// A damage of a whole file.
pub(super) fn whole_file(path: &Path) -> Damage {
    Damage {
        path: path.to_path_buf(),
        offset: None,
        bytes: None,
        keys: None,
        entries: None,
        detail: String::new(),
    }
}
