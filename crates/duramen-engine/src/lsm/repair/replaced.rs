//! Whether a table in quarantine may have been replaced since it was put there: then it is not put back, or what was deleted
//! would come back with it.
//!
//! The manifest cannot tell, if it is older than what had replaced the table, and an opening may have put that aside since. So
//! files of tables that the manifest does not know are asked:
//!
//! | such a file | shows that a table may have been replaced |
//! |---|---|
//! | was written or ingested | after the table: what came then may have been merged, to nothing even |
//! | was merged of tables | if it is not older than all of the table: of what it had replaced, the newest may have been deleted |
//! | cannot be read, or does not say | always |
//!
//! In `sst/` lie in addition inputs of a compaction that was cut off. Those that were written are no newer than the
//! manifest.

use super::Repair;
use super::elsewhere::Found;
use crate::Result;
use crate::lsm::paths;
use crate::lsm::recover::flushed_seq_of;
use crate::lsm::table::{MadeOf, Origin};
use crate::lsm::version::TableFacts;
use crate::manifest::{State, TableMeta};
use std::path::{Path, PathBuf};

impl Repair<'_> {
    /// The files of a table that it may be made of again. In addition, one that has to stay in quarantine, and why.
    pub(super) fn usable(
        &mut self,
        state: &State,
        meta: &TableMeta,
    ) -> Result<(Found, Option<(PathBuf, String)>)> {
        let mut found = std::mem::take(self.elsewhere(state, meta)?);
        let is_aside = |path: &Path| self.quarantine.is_in(path);
        let whole = found.whole.iter().find(|path| is_aside(path));
        let damaged = found.damaged.iter().map(|(path, _)| path).find(|path| is_aside(path));
        let Some(aside) = whole.or(damaged).cloned() else { return Ok((found, None)) };
        let Some(why) = self.may_be_replaced(state, meta)? else { return Ok((found, None)) };
        found.whole.retain(|path| !self.quarantine.is_in(path));
        found.damaged.retain(|(path, _)| !self.quarantine.is_in(path));
        let stays = found.whole.is_empty().then_some((aside, why));
        Ok((found, stays))
    }

    /// What shows that a table may have been replaced by some that the manifest does not know.
    fn may_be_replaced(&mut self, state: &State, meta: &TableMeta) -> Result<Option<String>> {
        let Some(table) = TableFacts::decode(&meta.user) else {
            return Ok(Some("what MANIFEST says of it makes no sense".to_owned()));
        };
        let flushed = flushed_seq_of(state)?;
        self.files(state)?;
        let strangers = self.elsewhere.strangers();
        let shows = strangers.iter().find(|(path, origin)| {
            let Some(origin) = origin else { return true };
            let known_to =
                if self.quarantine.is_in(path) { table.max_seq } else { flushed.max(table.max_seq) };
            match newest(path, origin) {
                None => true,
                Some((seq, true)) => seq >= table.min_seq,
                Some((seq, false)) => seq > known_to,
            }
        });
        let why = |(path, _): &(PathBuf, _)| {
            format!("MANIFEST does not know {}, which may be newer", path.display())
        };
        Ok(shows.map(why))
    }
}

/// The newest write of a table, and whether it was merged of others; `None` if it does not say.
fn newest(path: &Path, origin: &Origin) -> Option<(u64, bool)> {
    // What was ingested has no sequence numbers but in its name, which in quarantine begins with that of the directory.
    let name = path.file_name()?.to_str()?;
    let ingested =
        paths::parse_table(Path::new(name.strip_prefix("sst-").unwrap_or(name))).and_then(|(_, seq)| seq);
    match (ingested, origin.last_seq) {
        (Some(seq), _) => Some((seq, false)),
        (None, Some(seq)) if seq > 0 => Some((seq, origin.made_of == MadeOf::Other)),
        _ => None,
    }
}
