//! The tables that a job writes, and where one ends.
//!
//! A table ends once it has the target size, or overlaps so much of the level below its own that moving it further
//! would be dear; but never within the versions of a key, and not at all in level 0. What is left of the deleted ranges
//! is cut at the same places, right behind a table's last key:
//!
//! ```text
//! keys       a   c   f  |  k   m            the deleted range [b, l) becomes
//! tables    [a ..... f] | [f\0 .. m]        [b, f\0) in the first table, [f\0, l) in the second
//! ```
//!
//! So a table's range of keys ends exactly with its last key, and that of the next begins behind it.

use super::Job;
use super::leveled::max_grandparent_overlap_bytes;
use super::run::{Context, given_up};
use crate::Result;
use crate::kv::MAX_KEY_BYTES;
use crate::lsm::cursor::RangeTombstone;
use crate::lsm::read::{ForwardSource, clip};
use crate::lsm::table::{TableOptions, TableWriter};
use crate::lsm::version::TableFacts;
use crate::manifest::TableMeta;
use std::path::PathBuf;
use std::time::Duration;

/// After so many bytes of keys and values the limiter is asked.
const PACE_BYTES: usize = 64 << 10;

/// Writes versions to tables. Dropped before [`Outputs::finish`], it removes what it wrote.
pub(super) struct Outputs<'a> {
    context: &'a Context<'a>,
    job: &'a Job,
    options: TableOptions,
    newest_unix_s: i64,
    /// Sorted by where they start.
    tombstones: Vec<RangeTombstone>,
    /// The table that is being written, and its number.
    writer: Option<(u64, TableWriter)>,
    /// Where its part of the tombstones begins; `None` for the first table.
    begins: Option<Vec<u8>>,
    finished: Vec<TableMeta>,
    /// The files of all tables that were begun, until they are handed out.
    paths: Vec<PathBuf>,
    grandparents: Grandparents,
    /// How many bytes of the table the limiter knows of, and how many it may not know of.
    paced_bytes: u64,
    unpaced_bytes: usize,
    throttled: Duration,
}

/// How much of the level below the output's the present table overlaps.
#[derive(Debug, Default)]
struct Grandparents {
    /// How many lie before the last key.
    passed: usize,
    overlap_bytes: u64,
}

impl<'a> Outputs<'a> {
    /// `tombstones`: what is left of the deleted ranges, sorted by where they start.
    pub(super) fn new(job: &'a Job, context: &'a Context<'a>, tombstones: Vec<RangeTombstone>) -> Self {
        Self {
            context,
            job,
            options: TableOptions::from(context.options),
            newest_unix_s: job.tables().map(|t| t.facts.newest_unix_s).max().unwrap_or(i64::MAX),
            tombstones,
            writer: None,
            begins: None,
            finished: Vec::new(),
            paths: Vec::new(),
            grandparents: Grandparents::default(),
            paced_bytes: 0,
            unpaced_bytes: 0,
            throttled: Duration::ZERO,
        }
    }

    /// Adds the source's present version.
    #[inline]
    pub(super) fn add(&mut self, version: &impl ForwardSource, key_is_new: bool) -> Result<()> {
        let (key, value) = (version.key(), version.value());
        if key_is_new && self.ends_before(key) {
            self.cut()?;
        }
        let (_, writer) = match &mut self.writer {
            Some(writer) => writer,
            none => none.insert(begin(self.context, &self.options, &mut self.paths)?),
        };
        writer.add(key, version.seq(), version.kind(), value)?;
        self.unpaced_bytes += key.len() + value.len();
        if self.unpaced_bytes >= PACE_BYTES {
            self.pace()?;
        }
        Ok(())
    }

    /// Ends the last table. The tables, in order, and how long the limiter took.
    pub(super) fn finish(mut self) -> Result<(Vec<TableMeta>, Duration)> {
        self.end_table(None)?;
        self.paths.clear();
        Ok((std::mem::take(&mut self.finished), self.throttled))
    }

    /// Whether the present table is to end before a key, which is greater than all before.
    #[inline]
    fn ends_before(&mut self, key: &[u8]) -> bool {
        let is_dear = !self.job.grandparents.is_empty() && self.overlaps_too_much_before(key);
        let Some((_, writer)) = &self.writer else { return false };
        let is_full = is_dear || writer.estimated_bytes() >= self.context.options.target_file_size_base;
        // A key cannot be longer than the longest, not even to say where a part of a deleted range ends.
        let can_be_cut_behind = self.tombstones.is_empty() || writer.last_key().len() < MAX_KEY_BYTES;
        is_full && can_be_cut_behind && self.job.output_level > 0
    }

    fn overlaps_too_much_before(&mut self, key: &[u8]) -> bool {
        let overlap = &mut self.grandparents;
        while let Some(grandparent) = self.job.grandparents.get(overlap.passed)
            && grandparent.max_key() < key
        {
            overlap.passed += 1;
            if self.writer.is_some() {
                overlap.overlap_bytes += grandparent.meta.file_bytes;
            }
        }
        overlap.overlap_bytes > max_grandparent_overlap_bytes(self.context.options)
    }

    /// Ends the table behind its last key.
    fn cut(&mut self) -> Result<()> {
        let Some((_, writer)) = &self.writer else { return Ok(()) };
        let behind = [writer.last_key(), &[0]].concat();
        self.end_table(Some(&behind))?;
        self.begins = Some(behind);
        self.grandparents.overlap_bytes = 0;
        Ok(())
    }

    /// Ends the table, durably, with the tombstones up to `end`.
    fn end_table(&mut self, end: Option<&[u8]>) -> Result<()> {
        let begins = self.begins.as_deref();
        let mut tombstones = self.tombstones.iter().filter_map(|t| clip(t, begins, end)).peekable();
        let (number, mut writer) = match self.writer.take() {
            Some(writer) => writer,
            None if tombstones.peek().is_none() => return Ok(()),
            None => begin(self.context, &self.options, &mut self.paths)?,
        };
        tombstones.try_for_each(|tombstone| writer.add_range_tombstone(&tombstone))?;
        let summary = writer.finish()?;
        let unpaced = summary.file_bytes.saturating_sub(self.paced_bytes);
        let facts = TableFacts {
            level: u8::try_from(self.job.output_level).unwrap_or(u8::MAX),
            newest_unix_s: self.newest_unix_s,
            ..TableFacts::of(&summary)
        };
        self.finished.push(facts.meta(number, (self.context.table_path)(number), &summary));
        (self.paced_bytes, self.unpaced_bytes) = (0, 0);
        self.throttled += self.context.limiter.request(unpaced, self.context.cancel);
        Ok(())
    }

    /// Waits until what was written since the last time may have been.
    #[cold]
    fn pace(&mut self) -> Result<()> {
        self.unpaced_bytes = 0;
        let bytes = self.writer.as_ref().map_or(0, |(_, writer)| writer.estimated_bytes());
        self.throttled +=
            self.context.limiter.request(bytes.saturating_sub(self.paced_bytes), self.context.cancel);
        self.paced_bytes = bytes;
        if self.context.cancel.is_cancelled() { Err(given_up()) } else { Ok(()) }
    }
}

impl Drop for Outputs<'_> {
    fn drop(&mut self) {
        for path in &self.paths {
            // One that stays is an orphan: no manifest names it.
            let _best_effort = self.context.options.env.fs.remove_file(path);
        }
    }
}

/// Begins a table with a new number, and notes its path.
fn begin(
    context: &Context<'_>,
    options: &TableOptions,
    paths: &mut Vec<PathBuf>,
) -> Result<(u64, TableWriter)> {
    let number = context.next_table();
    let path = context.dir.join((context.table_path)(number));
    let writer = TableWriter::create(&context.options.env, &path, options)?;
    paths.push(path);
    Ok((number, writer))
}
