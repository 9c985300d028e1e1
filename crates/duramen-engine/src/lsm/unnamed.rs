//! Tables that the manifest does not name.
//!
//! Every crash may leave some, and most are missed by nobody. But the manifest may have lost its end, or be older than what
//! lies beside it (a copy that was put back), and then such a table may be the only place for what it holds. So it goes only
//! if something shows where else that is, and is kept in quarantine otherwise:
//!
//! | a table | is superfluous |
//! |---|---|
//! | that never got its end, or its name | always: nobody has read of it, and what it was made of is still there |
//! | with no write above `flushed_seq` | its writes are in tables that the manifest names: it was replaced, or was to replace them |
//! | made of a WAL segment | while that is there: it goes only after the edit |
//! | made of writes that have no file (`WalKind::None`), or ingested | if the manifest ends in its mark: then no edit came after |
//! | merged of tables | never: those were in the manifest, so `flushed_seq` was above its writes |
//!
//! and none is if a table that the manifest names has no file, since those go only after an edit, too.
//!
//! A process that is killed leaves nothing that would be kept: until the edit the segment is there, and the manifest is marked.
//! A loss of power can: the table was synced, and neither the edit nor the segment was. That is at most what was being
//! flushed, and writes that are nowhere else, though nobody was promised that they would be.
//!
//! Nothing is taken back into the store here. Which of the manifest's tables a kept one had replaced is not known, so that
//! deleted keys could come back; a repair makes the manifest anew from all tables.

use super::paths;
use super::recover::flushed_seq_of;
use super::table::{MadeOf, origin_of};
use crate::Result;
use crate::io::Env;
use crate::manifest::{self, ManifestReader, Orphan, TableMeta};
use crate::wal;
use std::path::{Path, PathBuf};

/// What is to become of a table that the manifest does not name.
#[derive(Debug)]
pub(super) enum Verdict {
    /// Nobody misses it.
    Superfluous,
    /// It is kept, since it cannot be told what it is, and why.
    Unclear(String),
    /// It may be the only place for what it holds, and why.
    OnlyPlace(String),
}

impl Verdict {
    pub(super) fn why_kept(&self) -> Option<&str> {
        match self {
            Self::Superfluous => None,
            Self::Unclear(why) | Self::OnlyPlace(why) => Some(why),
        }
    }
}

/// The tables that the manifest does not name, and what is to become of each. Right only while nobody writes.
///
/// # Errors
/// [`Error::Io`](crate::Error::Io) if the directory of tables cannot be listed.
pub(super) fn unnamed(env: &Env, dir: &Path, manifest: &ManifestReader) -> Result<Vec<(PathBuf, Verdict)>> {
    unnamed_but_for(env, dir, manifest, &|_| false)
}

/// The same for who knows where tables of the manifest are that have no file where it says: they are not gone.
///
/// # Errors
/// As [`unnamed`].
pub(super) fn unnamed_but_for(
    env: &Env,
    dir: &Path,
    manifest: &ManifestReader,
    is_elsewhere: &dyn Fn(&TableMeta) -> bool,
) -> Result<Vec<(PathBuf, Verdict)>> {
    let state = &**manifest.state();
    let found = manifest::orphans(env, dir, paths::TABLES, state)?;
    if found.is_empty() {
        return Ok(Vec::new());
    }
    let is_gone =
        |meta: &TableMeta| matches!(env.fs.exists(&dir.join(&meta.path)), Ok(false)) && !is_elsewhere(meta);
    let judge = Judge {
        env,
        wal: dir.join(paths::WAL),
        // What cannot be read is not opened, whatever is said of tables.
        flushed_seq: flushed_seq_of(state).unwrap_or(0),
        is_marked: manifest.ends_in_mark(),
        gone: state.tables.values().find(|meta| is_gone(meta)).map(|meta| &*meta.path),
    };
    let judged = |orphan: Orphan| {
        let verdict = match orphan.is_file {
            true => judge.verdict(&orphan.path),
            false => Verdict::Unclear("it has the name of a table, but is no file".into()),
        };
        (orphan.path, verdict)
    };
    Ok(found.into_iter().map(judged).collect())
}

/// What tables are judged by.
struct Judge<'a> {
    env: &'a Env,
    wal: PathBuf,
    /// Every write up to this one is in tables that the manifest names.
    flushed_seq: u64,
    /// Whether the manifest shows that no edit came after those that it has.
    is_marked: bool,
    /// A table that the manifest names and that is not there.
    gone: Option<&'a str>,
}

impl Judge<'_> {
    fn verdict(&self, path: &Path) -> Verdict {
        if path.extension().is_none_or(|extension| extension != "sst") {
            return Verdict::Superfluous;
        }
        let table = match (origin_of(self.env, path), self.gone) {
            (Ok(Some(table)), _) => table,
            (Ok(None), None) => return Verdict::Superfluous,
            (Ok(None), Some(gone)) => {
                return Verdict::Unclear(format!("MANIFEST does not name it, but {gone}, which is gone"));
            }
            (Err(e), _) => {
                let why = format!("MANIFEST does not name it, and whether it is of use cannot be told: {e}");
                return Verdict::Unclear(why);
            }
        };
        let only = |why: String| {
            let what = "it may have writes that are nowhere else: MANIFEST is older and does not name it";
            Verdict::OnlyPlace(format!("{what}, {why}"))
        };
        if let Some(gone) = self.gone {
            return only(format!("but {gone}, which is gone"));
        }
        let ingested = paths::parse_table(path).and_then(|(_, seq)| seq);
        if ingested.or(table.last_seq).is_some_and(|newest| newest <= self.flushed_seq) {
            return Verdict::Superfluous;
        }
        match table.made_of {
            MadeOf::Segment(writer, number) if self.has_segment(writer, number) => Verdict::Superfluous,
            MadeOf::Segment(_, number) => {
                only(format!("nor is segment {number} there, which it was made of"))
            }
            MadeOf::Other if ingested.is_none() => only("nor the tables which it was made of".into()),
            MadeOf::NoFile | MadeOf::Other if self.is_marked => Verdict::Superfluous,
            MadeOf::NoFile | MadeOf::Other => only("and does not end as one that is whole does".into()),
        }
    }

    /// Whether a segment has a file, whatever is in it. What was promised to survive lies there; of a written segment that may
    /// be less than in the table.
    fn has_segment(&self, writer: u64, number: u64) -> bool {
        let path = wal::segment_path(&wal::writer_dir(&self.wal, writer), number);
        matches!(self.env.fs.exists(&path), Ok(true))
    }
}
