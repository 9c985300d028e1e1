//! Reading every byte of a store.

#[cfg(test)]
mod at_work;
mod told;

use crate::block::Block;
use crate::columnar::one_of_each_part;
use crate::error::Result;
use crate::store::flush::COLUMN_CODEC_ID;
use crate::store::live::LiveSegment;
use crate::store::rows::RowSet;
use crate::store::shared::Shared;
use crate::store::snapshot::{Snapshots, View};
use crate::store::table_blocks::TableBlockHandle;
use crate::store::table_facts::TableFacts;
use crate::store::unnamed::{Verdict, unnamed};
use duramen_engine::manifest::TableMeta;
use duramen_engine::sstable::Table;
use duramen_engine::wal::{self, SegmentReader};
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;

/// How often it is looked which tables no manifest names, before it is given up because keepers come and go.
const MAX_LOOKS_AT_UNNAMED: usize = 100;

/// How far a verification has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VerifyProgress {
    /// Bytes read so far.
    pub done_bytes: u64,
    /// Bytes to read in all.
    pub total_bytes: u64,
}

/// What a verification found.
#[derive(Clone, Debug, Default)]
pub struct VerifyReport {
    /// Files read.
    pub files: u64,
    /// Blocks decoded.
    pub blocks: u64,
    /// Bytes read.
    pub bytes: u64,
    /// Lines that are whole.
    pub lines: u64,
    /// Every damage found; none: every byte is as it was written.
    pub damage: Vec<Damage>,
    /// The names of files in `quarantine/`, which were set aside when damage was found, and are in no answer.
    pub quarantined: Vec<String>,
}

/// A damaged place.
#[derive(Clone, Debug)]
pub struct Damage {
    /// The file.
    pub path: PathBuf,
    /// Where, in bytes from its start; `None` if the whole file is meant.
    pub offset: Option<u64>,
    /// The block of the table it belongs to, from 0, if it belongs to one.
    pub block: Option<usize>,
    /// How many lines cannot be read for it, if that is known.
    pub lines: Option<u64>,
    /// What was expected and what was found.
    pub detail: String,
}

impl Snapshots {
    pub(crate) fn verify(&self, progress: &mut dyn FnMut(VerifyProgress)) -> Result<VerifyReport> {
        let View { pin: _pin, state, live } = self.view()?;
        let tables: u64 = state.tables.values().map(|t| t.file_bytes).sum();
        let segments: u64 = live.segments.iter().map(|s| s.reader.committed()).sum();
        let mut so_far = VerifyProgress { done_bytes: 0, total_bytes: tables + segments };
        let mut report = VerifyReport { files: 1, ..VerifyReport::default() }; // the manifest: just read
        for meta in state.tables.values() {
            self.verify_table(meta, &mut report);
            so_far.done_bytes += meta.file_bytes;
            progress(so_far);
        }
        let mut before: Option<Before> = None;
        for segment in &live.segments {
            let mut rows = RowSet::default();
            rows.follow(segment.reader.clone());
            let path = &segment.path;
            let outcome = rows.extend();
            let whole = outcome.is_ok();
            if let Err(e) = outcome {
                report.damage.push(Damage::of_error(path.clone(), None, None, &e));
            }
            match before.as_mut().filter(|before| before.writer == segment.writer) {
                Some(before) => report.damage.extend(before.gap(segment)),
                // What is missing in front of them because it cannot be opened is told below.
                None if !live.damaged.iter().any(|(path, _)| path.parent() == segment.path.parent()) => {
                    if let Some(number) = segment_before(segment) {
                        match self.begun_since(segment, number)? {
                            Some(lines) => report.lines += lines,
                            None => report.damage.push(begins_late(segment, number)),
                        }
                    }
                }
                None => {}
            }
            if rows.undecodable() > 0 {
                let detail = "entries that no version of this program reads".to_owned();
                let lines = Some(rows.undecodable());
                report.damage.push(Damage { path: path.clone(), offset: None, block: None, lines, detail });
            }
            report.files += 1;
            report.bytes += segment.reader.committed();
            report.lines += rows.len() as u64;
            if rows.next_seq().is_some() {
                before = Some(Before { writer: segment.writer, rows, whole });
            }
            so_far.done_bytes += segment.reader.committed();
            progress(so_far);
        }
        for (path, error) in &live.damaged {
            report.files += 1;
            report.damage.push(Damage::of_error(path.clone(), None, None, error));
        }
        let lost = self.lost_tables()?;
        report.files += lost.iter().filter(|damage| damage.path.extension().is_some()).count() as u64;
        report.damage.extend(lost);
        report.quarantined = self.quarantined()?;
        Ok(report)
    }

    /// How many lines the segment has that should precede one, and told of none when it was looked at, if its writer has filled it
    /// since; 0 if it was flushed since.
    fn begun_since(&self, segment: &LiveSegment, before: u64) -> Result<Option<u64>> {
        let Some(dir) = segment.path.parent() else { return Ok(None) };
        let path = wal::segment_path(dir, before);
        let mut rows = RowSet::default();
        if let Ok(Some(reader)) = SegmentReader::open(&self.shared().env, &path) {
            rows.follow(Arc::new(reader));
            // What is wrong with it is told where it lies among the others.
            let _is_told = rows.extend();
            if rows.next_seq().is_some() && rows.next_seq() == segment.reader.first_seq() {
                return Ok(Some(rows.len() as u64));
            }
        }
        let flushed = self.state()?.writers.get(&segment.writer).copied();
        Ok((flushed >= Some(before)).then_some(0))
    }

    /// Tables that the manifest should name. A keeper has looked after them when it became one, and between a table
    /// of its own and the edit that names it there is nothing to tell: so only while there is none.
    pub(crate) fn lost_tables(&self) -> Result<Vec<Damage>> {
        let Shared { env, layout, .. } = self.shared();
        for _ in 0..MAX_LOOKS_AT_UNNAMED {
            if self.may_have_keeper() {
                return Ok(Vec::new());
            }
            let state = self.state()?;
            let found = unnamed(env, layout, &state);
            if self.state()?.version != state.version || self.may_have_keeper() {
                continue;
            }
            let found = match found {
                Ok(found) => found,
                Err(e) => return Ok(vec![Damage::of_error(layout.tables(), None, None, &e)]),
            };
            let lost = found.into_iter().filter_map(|(path, verdict)| {
                let Verdict::Kept { lines, why, .. } = verdict else { return None };
                Some(Damage { path, offset: None, block: None, lines, detail: why })
            });
            return Ok(lost.collect());
        }
        Ok(Vec::new())
    }

    /// Whether somebody is keeper; also if that cannot be told.
    fn may_have_keeper(&self) -> bool {
        let Shared { env, layout, .. } = self.shared();
        match env.fs.try_lock_shared(&layout.keeper_lock()) {
            Ok(free) => free.is_none(),
            Err(e) => e.kind() != ErrorKind::NotFound,
        }
    }

    /// Whether the file that has a table's name now, whatever is open, is that table.
    fn check_is_it(&self, meta: &TableMeta) -> Result<()> {
        let Shared { env, layout, .. } = self.shared();
        let found = Table::open(env, layout.resolve(&meta.path), COLUMN_CODEC_ID)?;
        self.tables().known(meta)?.check_is_it(&found)
    }

    fn verify_table(&self, meta: &TableMeta, report: &mut VerifyReport) {
        let path = self.shared().layout.resolve(&meta.path);
        report.files += 1;
        let checked = match Table::verify(&self.shared().env, &path) {
            Ok(checked) => checked,
            Err(e) => {
                report.damage.push(Damage::of_error(path, None, Some(meta.entries), &e.into()));
                return;
            }
        };
        report.bytes += checked.file_bytes;
        // Where what leads to its blocks is damaged, that is told.
        if checked.damage.iter().all(|damage| damage.block.is_some())
            && let Err(e) = self.check_is_it(meta)
        {
            report.damage.push(Damage::of_error(path, None, Some(meta.entries), &e));
            return;
        }
        let facts = TableFacts::decode(&meta.user).unwrap_or_default();
        let lines_of = |block: Option<usize>| block.and_then(|b| facts.blocks.get(b)).map(|b| b.rows);
        for damage in &checked.damage {
            report.damage.push(Damage {
                path: path.clone(),
                offset: Some(damage.offset),
                block: damage.block,
                lines: lines_of(damage.block),
                detail: damage.detail.clone(),
            });
        }
        // Checksums tell that the bytes are those written; decoding tells that they were written right.
        let handles = TableBlockHandle::of(self.tables(), meta, &None).unwrap_or_default();
        for (i, handle) in handles.iter().enumerate() {
            if checked.damage.iter().any(|d| d.block == Some(i) || d.block.is_none()) {
                continue;
            }
            match decode_wholly(handle) {
                Ok(rows) => {
                    report.blocks += 1;
                    report.lines += rows as u64;
                }
                Err(e) => report.damage.push(Damage::of_error(path.clone(), Some(i), lines_of(Some(i)), &e)),
            }
        }
    }
}

/// The segment with records that came last.
struct Before {
    writer: u64,
    rows: RowSet,
    /// Whether all of it could be read.
    whole: bool,
}

impl Before {
    /// What is missing between it and the next one of its writer, who numbers lines without gaps.
    fn gap(&mut self, next: &LiveSegment) -> Option<Damage> {
        if !self.whole {
            return None; // what is missing was told
        }
        let first = next.reader.first_seq()?;
        if self.rows.next_seq() != Some(first) {
            // Its writer may live, and have filled it since: now that the next has begun, it is complete.
            let _would_be_told_next_time = self.rows.extend();
        }
        let expected = self.rows.next_seq().filter(|&expected| expected != first)?;
        let detail = format!(
            "the lines {expected} to {} of writer {:016x} should precede it and are nowhere: a segment is gone. \
             Answers are without what follows",
            first.saturating_sub(1),
            next.writer
        );
        let lines = first.checked_sub(expected);
        Some(Damage { path: next.path.clone(), offset: None, block: None, lines, detail })
    }
}

/// The number of the segment that should precede the first of a writer's that has lines.
fn segment_before(segment: &LiveSegment) -> Option<u64> {
    // A loss of power may leave what was written later without what was before.
    if segment.reader.is_from_another_boot() {
        return None;
    }
    segment.reader.first_seq()?;
    segment.reader.previous().filter(|before| *before > segment.flushed)
}

/// What is missing in front of such a one.
fn begins_late(segment: &LiveSegment, before: u64) -> Damage {
    let detail = format!(
        "segment {before} of writer {:016x} should precede it, and is gone or tells of no line. Answers are without what \
         follows",
        segment.writer
    );
    Damage { path: segment.path.clone(), offset: None, block: None, lines: None, detail }
}

impl Damage {
    fn of_error(path: PathBuf, block: Option<usize>, lines: Option<u64>, error: &crate::Error) -> Self {
        // Which file, and where, is told beside it.
        let (offset, detail) = match error {
            crate::Error::Engine(duramen_engine::Error::Corruption { offset, detail, .. }) => {
                (Some(*offset), detail.clone())
            }
            _ => (None, error.to_string()),
        };
        Self { path, offset, block, lines, detail }
    }
}

/// Decodes every column of a block; how many rows it has.
pub(crate) fn decode_wholly(handle: &TableBlockHandle) -> Result<usize> {
    // As it is on the disk, whatever a cache has.
    let block = handle.open_table_block()?;
    block.times()?;
    block.identity(0)?;
    for name in block.field_names()? {
        block.column(&name)?;
        for word in one_of_each_part() {
            block.may_contain_words(&name, &[word])?;
        }
        block.may_contain_grams(&name, &[0])?;
        told::check_values(handle, &block, &name)?;
    }
    told::check_times(handle, &block)?;
    Ok(block.rows())
}
