//! What can be read of a damaged table, in a new one.

use super::Repair;
use crate::io::Env;
use crate::lsm::options::{Compression, LsmOptions};
use crate::lsm::paths;
use crate::lsm::table::{TableOptions, TableSummary, TableWalk, TableWriter};
use crate::lsm::verify::{TableFindings, check_table, collect};
use crate::lsm::version::TableFacts;
use crate::manifest::TableMeta;
use crate::{Error, Result};
use std::path::Path;

/// A table, as it is or was made anew.
#[derive(Debug)]
pub(super) struct Salvaged {
    pub(super) findings: TableFindings,
    /// The new table, if the old one is damaged and anything of it could be read. As a dry run it is not there.
    pub(super) new: Option<New>,
}

/// What was written.
#[derive(Debug)]
pub(super) struct New {
    pub(super) number: u64,
    pub(super) summary: TableSummary,
}

impl Salvaged {
    pub(super) fn is_whole(&self) -> bool {
        self.findings.damage.is_empty()
    }
}

impl Repair<'_> {
    /// Reads a table; if it is damaged, what can be read goes into a new one with this number.
    ///
    /// # Errors
    /// Those of [`check_table`]; [`Error::Io`] for what cannot be written.
    pub(super) fn salvage(&mut self, path: &Path, meta: Option<&TableMeta>, number: u64) -> Result<Salvaged> {
        let findings = self.check(path, meta)?;
        self.salvage_found(path, findings, meta, number)
    }

    /// Reads a table.
    ///
    /// # Errors
    /// Those of [`check_table`].
    pub(super) fn check(&mut self, path: &Path, meta: Option<&TableMeta>) -> Result<TableFindings> {
        let findings = check_table(self.env, path, meta)?;
        self.advance(findings.file_bytes);
        Ok(findings)
    }

    /// [`Self::salvage`], of a table that was read.
    pub(super) fn salvage_found(
        &mut self,
        path: &Path,
        mut findings: TableFindings,
        meta: Option<&TableMeta>,
        number: u64,
    ) -> Result<Salvaged> {
        if findings.damage.is_empty() || findings.is_another {
            return Ok(Salvaged { findings, new: None });
        }
        if let Some(meta) = meta
            && findings.entries >= meta.entries
            && TableFacts::decode(&meta.user)
                .is_some_and(|facts| findings.range_deletes.len() as u64 >= facts.range_deletes)
        {
            // Everything was found that the manifest says is there.
            findings.damage.iter_mut().filter(|damage| damage.keys.is_some()).for_each(|damage| {
                damage.entries = Some(0);
            });
        }
        if findings.entries == 0 && findings.range_deletes.is_empty() {
            return Ok(Salvaged { findings, new: None });
        }
        if self.dry_run {
            let summary = TableSummary { entries: findings.entries, ..TableSummary::default() };
            return Ok(Salvaged { findings, new: Some(New { number, summary }) });
        }
        let summary = rewrite(self.env, self.dir, path, number)?;
        Ok(Salvaged { findings, new: Some(New { number, summary }) })
    }
}

/// Copies every row that can be read, and the deleted ranges.
fn rewrite(env: &Env, dir: &Path, path: &Path, number: u64) -> Result<TableSummary> {
    let walk = TableWalk::open(env, path)?;
    let options = LsmOptions { compression: compression_of(&walk), ..LsmOptions::default() };
    let target = dir.join(paths::table(number));
    let mut writer = TableWriter::create(env, &target, &TableOptions::from(&options))?;
    let mut findings = TableFindings::default();
    collect(&walk, None, &mut findings, &mut Vec::new(), &mut |key, seq, kind, value| {
        writer.add(key, seq, kind, value)
    })?;
    for range in &findings.range_deletes {
        writer.add_range_tombstone(range)?;
    }
    writer.finish()
}

/// How the table was compressed, if that can be read.
fn compression_of(walk: &TableWalk) -> Compression {
    let said = walk.parts().ok().and_then(|parts| parts.properties.get("compression"));
    let said = said.and_then(|bytes| std::str::from_utf8(bytes).ok()).unwrap_or_default();
    match said.strip_prefix("Zstd(").and_then(|rest| rest.strip_suffix(')')).map(str::parse) {
        Some(Ok(level @ 1..=19)) => Compression::Zstd(level),
        _ if said == "Lz4" => Compression::Lz4,
        _ => Compression::None,
    }
}

/// What the manifest is to say of a new table.
pub(super) fn meta_of(new: &New, facts: &TableFacts) -> TableMeta {
    let New { number, summary } = new;
    let seqs =
        if facts.ingested { (facts.min_seq, facts.max_seq) } else { (summary.min_seq, summary.max_seq) };
    let facts = TableFacts {
        min_seq: seqs.0,
        max_seq: seqs.1,
        deletes: summary.deletes,
        range_deletes: summary.range_deletes,
        id: summary.id,
        ..*facts
    };
    facts.meta(*number, paths::table(*number), summary)
}

/// Whether a table of this is one that nobody reads: a file of something else.
pub(super) fn is_foreign(error: &Error) -> bool {
    matches!(error, Error::InvalidArgument(_))
}
