//! Deleting the lines that a predicate finds: for erasing what must not have been logged.
//!
//! ```text
//! become keeper             the present one hands the role over (keeper/handover.rs)
//! flush what the dead left  lines behind damage in their segments are in no answer before, and would be in all after
//! draw the line             what each writer has appended by now: later lines stay, whatever they say
//! seal                      if lines in WAL segments match, their writers are asked to seal these, and they are flushed
//! write tables again        without the lines; one manifest edit puts the new ones in the old ones' place
//! remove                    the old files, as soon as no snapshot from before is open
//! ```

use super::keeper::delete::{Order, matched_rows};
use super::keeper::handover::{Claim, try_to_seal};
use super::live::Prefix;
use super::origins::Origins;
use super::rows::RowSet;
use super::snapshot::View;
use super::{Store, background, lock};
use crate::block::Block;
use crate::error::{Error, Result};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// How often it is looked whether writers have sealed what they were asked to, and how long is waited in between: ten
/// seconds in all, of which a process with a background thread needs a fifth of one.
const MAX_LOOKS_FOR_SEALS: usize = 500;
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);
/// Where looking itself takes long, as on a full disk, on which each flush gets as far as there is room, it is not looked so often.
const MOST_LOOKING: Duration = Duration::from_secs(10);

/// Says which rows of a block to delete: one flag a row. Called again and again, for any block, each at least once.
pub type Matches<'m> = dyn FnMut(&Arc<dyn Block>) -> Result<Vec<bool>> + 'm;

/// What a deletion came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeleteReport {
    /// How many lines were deleted.
    pub lines: u64,
    /// How many tables had some.
    pub tables: u64,
    /// By how many bytes the tables became smaller.
    pub stored_bytes: u64,
    /// Matching lines that are still there, in WAL segments of running processes that did not seal them when asked:
    /// those that may not be keeper, or have no background thread. Delete again when they have ended.
    pub unsealed_lines: u64,
    /// Tables and blocks of tables that could not be read, and WAL segments of running processes of which only a part could be:
    /// path and reason. All are left as they are, but for blocks of tables that had other lines to delete: these are in
    /// quarantine. And what kept WAL segments from being put into tables, so that they were not looked into behind
    /// damage, and lines of them that match are in `unsealed_lines`.
    pub damaged: Vec<String>,
    /// Files with the deleted lines that somebody still reads. The keeper removes them when nobody does.
    pub files_to_go: usize,
    /// Files in `quarantine/`, which nobody looked into: they may hold such lines. Remove them by hand.
    pub quarantined: Vec<String>,
}

/// Which lines were there when a deletion began.
#[derive(Debug)]
pub(crate) struct Barrier {
    /// Tables with lower numbers hold no later line.
    next_table: u64,
    /// The last sequence number of each writer that had lines in WAL segments.
    live: BTreeMap<u64, u64>,
}

/// The lines of one table that were there when a deletion began.
#[derive(Debug)]
pub(crate) enum Covered {
    All,
    UpTo(BTreeMap<u64, u64>),
}

impl Barrier {
    /// Draws the line; what is damaged in WAL segments, and so cannot be looked into, is added to `damaged`.
    fn draw(store: &Store, view: &View, damaged: &mut Vec<String>) -> Self {
        let name =
            |path: &Path| path.strip_prefix(store.shared.layout.root()).unwrap_or(path).display().to_string();
        damaged.extend(view.live.damaged.iter().map(|(path, e)| format!("{}: {e}", name(path))));
        let mut live = BTreeMap::new();
        let mut prefix = Prefix::default();
        for segment in &view.live.segments {
            if !prefix.goes_on_with(&store.shared, segment) {
                continue;
            }
            let mut rows = RowSet::default();
            rows.follow(segment.reader.clone());
            let outcome = rows.extend();
            damaged.extend(outcome.as_ref().err().map(|e| format!("{}: {e}", name(&segment.path))));
            prefix.has(&store.shared, outcome, rows.next_seq());
            if let Some(last) = rows.next_seq().and_then(|next| next.checked_sub(1)) {
                let known = live.entry(segment.writer).or_insert(last);
                *known = last.max(*known);
            }
        }
        Self { next_table: view.state.next_table, live }
    }

    /// Which lines of a table it covers.
    ///
    /// # Errors
    /// Those of `origins`, which is asked only of tables that were made later.
    pub(crate) fn of_table(&self, number: u64, origins: impl FnOnce() -> Result<Origins>) -> Result<Covered> {
        if number < self.next_table {
            return Ok(Covered::All);
        }
        let mut last = self.live.clone();
        for (writer, seq) in origins()?.before(self.next_table) {
            let known = last.entry(writer).or_insert(seq);
            *known = seq.max(*known);
        }
        Ok(Covered::UpTo(last))
    }

    fn covers_live(&self, (writer, seq): (u64, u64)) -> bool {
        self.live.get(&writer).is_some_and(|last| seq <= *last)
    }
}

#[cfg(test)]
impl Barrier {
    /// Every line of every table was there.
    pub(crate) fn behind_everything() -> Self {
        Self { next_table: u64::MAX, live: BTreeMap::new() }
    }
}

impl Covered {
    pub(crate) fn covers(&self, (writer, seq): (u64, u64)) -> bool {
        match self {
            Self::All => true,
            Self::UpTo(last) => last.get(&writer).is_some_and(|last| seq <= *last),
        }
    }
}

impl Store {
    /// Deletes every line that was appended before this call, by any process, has a time in `times` (ns since the
    /// epoch), and that `matches` finds. When it returns, no new snapshot has one of them, nor has a store that is
    /// opened after a loss of power; their bytes go from the disk with the last reader that began before. Without an
    /// `Ok`, all of them are there, or none of those that were in tables.
    ///
    /// `stop` is asked from time to time; if it says yes, nothing was deleted, and the result is `None`.
    ///
    /// This process becomes keeper for it; one that is, is asked to give the role up, and waited for. Writers go on
    /// meanwhile. Needs room for the tables that have such lines, a second time.
    ///
    /// # Errors
    /// [`Error::NoHandover`]; [`Error::ReadOnly`]; what the file system and `matches` said. Damage in a table is none:
    /// it is in the report.
    pub fn delete(
        &self,
        times: RangeInclusive<i64>,
        matches: &mut Matches<'_>,
        stop: &dyn Fn() -> bool,
    ) -> Result<Option<DeleteReport>> {
        self.shared.not_forked()?;
        if self.read_only {
            return Err(Error::ReadOnly);
        }
        let claim = Claim::take(&self.shared, &self.keeper)?;
        let mut report = DeleteReport::default();
        self.step_of_deletion(&mut report)?;
        let view = self.snapshots.view()?;
        let barrier = Barrier::draw(self, &view, &mut report.damaged);
        drop(view);
        if self.matching_live_lines(&barrier, &times, matches)? > 0 {
            // On a full disk not even that: what others have not sealed is counted, and what is in tables goes.
            if let Err(e) = claim.ask_to_seal() {
                tell(&mut report, &e);
            }
            let mut is_sealed = false;
            let clock = &self.shared.env.clock;
            let began = clock.monotonic();
            for look in 0..MAX_LOOKS_FOR_SEALS {
                if stop() {
                    return Ok(None);
                }
                self.step_of_deletion(&mut report)?;
                // What the step freed may be full again, and then only the next one helps.
                if !is_sealed && self.seal_own(&mut report) {
                    is_sealed = true;
                    self.step_of_deletion(&mut report)?;
                }
                report.unsealed_lines = self.matching_live_lines(&barrier, &times, matches)?;
                // The first may take that long by itself, where there is much to flush; then nobody has had time to seal.
                let took_long = look > 0 && clock.monotonic().saturating_sub(began) >= MOST_LOOKING;
                if report.unsealed_lines == 0 || took_long {
                    break;
                }
                std::thread::park_timeout(BETWEEN_LOOKS);
            }
        }
        let mut slot = lock(&self.keeper);
        let keeper =
            slot.as_mut().ok_or_else(|| Error::NoHandover { path: self.shared.layout.keeper_lock() })?;
        let order = Order { barrier: &barrier, times, stop };
        let deleted = keeper.delete(&order, matches);
        keeper.flush_failed = false;
        let deleted = match deleted {
            Ok(Some(deleted)) => deleted,
            Ok(None) => return Ok(None),
            Err(e) => {
                *slot = None;
                return Err(e);
            }
        };
        report.lines = deleted.lines;
        report.tables = deleted.tables;
        report.stored_bytes = deleted.stored_bytes;
        report.damaged.extend(deleted.damaged);
        report.files_to_go = keeper.files_to_go();
        report.quarantined = self.snapshots.quarantined()?;
        Ok(Some(report))
    }

    /// Flushes what there is to flush. What keeps one writer's segments from it, or all, as a full disk does, is told, and keeps
    /// no line of a table from being deleted.
    ///
    /// # Errors
    /// What keeps this process from being keeper.
    fn step_of_deletion(&self, report: &mut DeleteReport) -> Result<()> {
        let outcome = background::step(&self.shared, &self.keeper);
        if let Err(e) = &outcome {
            tell(report, e);
            background::become_keeper(&self.shared, &self.keeper)?;
        }
        if let Some(keeper) = lock(&self.keeper).as_mut() {
            keeper.flush_failed = outcome.is_err();
        }
        Ok(())
    }

    /// Makes what this process's writer has ready to be flushed; whether that need not be tried again.
    fn seal_own(&self, report: &mut DeleteReport) -> bool {
        let sealed = self.shared.wal.newest().map_or(Ok(true), try_to_seal);
        sealed.unwrap_or_else(|e| {
            tell(report, &e);
            true
        })
    }

    /// How many lines in WAL segments match.
    fn matching_live_lines(
        &self,
        barrier: &Barrier,
        times: &RangeInclusive<i64>,
        matches: &mut Matches<'_>,
    ) -> Result<u64> {
        let view = self.snapshots.view()?;
        let mut found = 0;
        for handle in self.snapshots.live_blocks(&view) {
            if handle.max_time() < *times.start() || handle.min_time() > *times.end() {
                continue;
            }
            let block = handle.open()?;
            for (row, matched) in matched_rows(&block, times, matches)?.into_iter().enumerate() {
                found += u64::from(matched && barrier.covers_live(block.identity(row)?));
            }
        }
        Ok(found)
    }
}

/// Adds what kept WAL segments from being flushed to the report, once.
fn tell(report: &mut DeleteReport, error: &Error) {
    let told = error.to_string();
    if !report.damaged.contains(&told) {
        report.damaged.push(told);
    }
}
