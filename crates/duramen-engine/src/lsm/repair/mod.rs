//! Making a store out of what is left of one.
//!
//! ```text
//!  manifest whole    damaged tables ─▶ what can be read of each, in a new table at its level ─▶ one manifest edit
//!  manifest damaged  every table that is there ─▶ in order of age, merged where that cannot be told ─▶ a new manifest
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
//! | `rebuild` | it is not: a manifest from the tables that are there |
//! | `writers` | what is in the WAL |

mod rebuild;
mod salvage;
mod tables;
mod writers;

use super::paths;
use super::verify::table_files;
use crate::Result;
use crate::io::Env;
use crate::kv::{Damage, Progress, Quarantine, RepairOptions, RepairReport, lock_to_repair};
use crate::manifest::{self, Manifest, ManifestReader};
use std::path::Path;

/// A repair that is going on.
pub(super) struct Repair<'a> {
    env: &'a Env,
    dir: &'a Path,
    dry_run: bool,
    report: &'a mut RepairReport,
    quarantine: Quarantine<'a>,
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
        so_far: Progress::default(),
        progress,
    };
    for path in table_files(env, dir)? {
        let file = env.fs.open(&path, crate::io::OpenMode::Read).and_then(|file| file.len());
        repair.so_far.total_bytes += file.unwrap_or(0);
    }
    // Followed, not owned: that changes nothing.
    let mut rebuilt = false;
    match ManifestReader::open(env, dir) {
        Ok(reader) => repair.tables(reader.state())?,
        Err(error) if error.is_corruption() || error.is_not_found() => {
            let path = dir.join(manifest::FILE_NAME);
            repair.rebuild(&Damage::of_error(&path, &error))?;
            rebuilt = true;
        }
        Err(error) => return Err(error),
    }
    repair.writers(rebuilt, lock)
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
