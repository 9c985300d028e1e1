//! Deleting lines from tables: those that hold some are written again without them, and one manifest edit puts all new
//! ones in the place of the old. Before it nothing has changed; after it no new snapshot has a line of them.

use super::Keeper;
use super::aside;
use super::damaged_blocks::DamagedBlocks;
use super::retain::counts_of;
use super::rewrite::{Failure, Rest, Rewritten};
use crate::block::{Block, BlockHandle};
use crate::columnar::TableBlock;
use crate::error::{Error, Result};
use crate::store::delete::{Barrier, Covered, Matches};
use crate::store::retention::COUNTS_KEY;
use crate::store::table_blocks::TableBlockHandle;
use crate::store::table_facts::TableFacts;
use duramen_engine::manifest::{Edit, TableMeta};
use std::borrow::Cow;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// What was deleted from tables.
#[derive(Debug, Default)]
pub(crate) struct Deleted {
    pub(crate) lines: u64,
    pub(crate) stored_bytes: u64,
    pub(crate) tables: u64,
    /// What could not be looked into, and what became of it.
    pub(crate) damaged: Vec<String>,
    /// Tables that are written again without blocks that cannot be read.
    without: Vec<(TableMeta, DamagedBlocks)>,
}

/// Which rows of a table are to stay, block by block; `None`: all of them.
#[derive(Default)]
struct Marks {
    keep: Vec<Option<Vec<bool>>>,
    deleted: u64,
    /// Blocks that cannot be looked into.
    damaged: DamagedBlocks,
}

/// What to delete, and until when to go on.
pub(crate) struct Order<'o> {
    pub(crate) barrier: &'o Barrier,
    pub(crate) times: RangeInclusive<i64>,
    pub(crate) stop: &'o dyn Fn() -> bool,
}

impl Keeper {
    /// Deletes from tables; `None` if it was stopped, and nothing was deleted.
    ///
    /// # Errors
    /// What the file system said, and what `matches` did: nothing was deleted then, or all of it if it was the
    /// manifest that could not be written.
    pub(crate) fn delete(&mut self, order: &Order<'_>, matches: &mut Matches<'_>) -> Result<Option<Deleted>> {
        let mut edit = Edit::default();
        let within_other = std::mem::replace(&mut self.rewriting, true);
        let outcome = self.write_without(order, matches, &mut edit);
        self.rewriting = within_other;
        let Ok(Some(mut deleted)) = outcome else {
            self.abandon(&edit.add_tables);
            return outcome;
        };
        // Their tables go with the edit.
        for (meta, blocks) in std::mem::take(&mut deleted.without) {
            match self.set_blocks_aside(&meta, &blocks) {
                Ok(told) => deleted.damaged.extend(told),
                Err(e) => {
                    self.abandon(&edit.add_tables);
                    return Err(e);
                }
            }
        }
        // Nobody looks for such lines in quarantine: so nothing that may have some comes back from there.
        edit.remove_values = aside::within(self.manifest.state(), &order.times);
        if edit.remove_tables.is_empty() && !edit.remove_values.is_empty() {
            self.apply(Edit { remove_values: std::mem::take(&mut edit.remove_values), ..Edit::default() })?;
        }
        if !edit.remove_tables.is_empty() {
            let mut counts = counts_of(self.manifest.state()).unwrap_or_default();
            counts.deleted.add(deleted.lines, deleted.stored_bytes);
            edit.set_values.push((COUNTS_KEY.to_vec(), counts.encode()));
            self.replace_tables(edit)?;
        }
        Ok(Some(deleted))
    }

    /// How many files there are that no manifest names and that go when nobody reads them.
    pub(crate) fn files_to_go(&self) -> usize {
        self.leaving.len()
    }

    fn write_without(
        &mut self,
        order: &Order<'_>,
        matches: &mut Matches<'_>,
        edit: &mut Edit,
    ) -> Result<Option<Deleted>> {
        let mut deleted = Deleted::default();
        let state = self.manifest.state().clone();
        for meta in state.tables.values() {
            match self.write_one_without(meta, order, matches, (edit, &mut deleted)) {
                Ok(Some(0)) => {}
                Ok(Some(lines)) => {
                    deleted.lines += lines;
                    deleted.tables += 1;
                    deleted.stored_bytes += meta.file_bytes;
                }
                Ok(None) => return Ok(None),
                Err(failure) => deleted.damaged.push(format!("{}: {}", meta.path, failure.damage()?)),
            }
        }
        let left: u64 = edit.add_tables.iter().map(|table| table.file_bytes).sum();
        deleted.stored_bytes = deleted.stored_bytes.saturating_sub(left);
        Ok(Some(deleted))
    }

    /// How many lines of a table are to go; the edit is then without them. `None` if it was stopped.
    fn write_one_without(
        &mut self,
        meta: &TableMeta,
        order: &Order<'_>,
        matches: &mut Matches<'_>,
        (edit, deleted): (&mut Edit, &mut Deleted),
    ) -> Result<Option<u64>, Failure> {
        let facts = TableFacts::decode(&meta.user)?;
        let overlaps = |(min, max): (i64, i64)| min <= *order.times.end() && max >= *order.times.start();
        if !facts.time_range().is_some_and(overlaps) {
            return Ok(Some(0));
        }
        let Some(mut marks) = self.mark(meta, order, matches)? else { return Ok(None) };
        if marks.deleted == 0 {
            let told = |(block, why)| format!("{}: block {block}: {why}", meta.path);
            deleted.damaged.extend(marks.damaged.into_iter().map(told));
            return Ok(Some(0));
        }
        if marks.deleted < facts.rows() {
            match self.write_rest(meta, &facts, &mut marks, order)? {
                Rewritten::Stopped => return Ok(None),
                Rewritten::Empty => {}
                Rewritten::Table(table) => edit.add_tables.push(table),
            }
        }
        edit.remove_tables.push(meta.number);
        if !marks.damaged.is_empty() {
            deleted.without.push((meta.clone(), marks.damaged));
        }
        Ok(Some(marks.deleted))
    }

    /// Writes the rows of a table that stay, without blocks that cannot be read.
    fn write_rest(
        &mut self,
        meta: &TableMeta,
        facts: &TableFacts,
        marks: &mut Marks,
        order: &Order<'_>,
    ) -> Result<Rewritten, Failure> {
        loop {
            let Marks { keep, damaged, .. } = marks;
            let rest = Rest { classes: facts.only_class(), left_out: Cow::Borrowed(damaged) };
            let mut keep = |number: usize, _: &TableBlock| Ok(keep.get(number).cloned().flatten());
            let failure = match self.rewrite(meta, rest, &mut keep, order.stop) {
                Err(failure) => failure,
                done => return done,
            };
            let damage = failure.damage()?;
            // It is in a block that nobody had to look into, or in a part that nobody had to.
            let known = damaged.len();
            marks.damaged.extend(self.damaged_blocks(meta)?);
            // No row of these is counted as deleted: they go nowhere.
            for &block in marks.damaged.keys() {
                if let Some(Some(keep)) = marks.keep.get_mut(block).map(Option::take) {
                    marks.deleted -= keep.into_iter().filter(|keep| !keep).count() as u64;
                }
            }
            if marks.damaged.len() == known || marks.deleted == 0 {
                return Err(damage.into());
            }
        }
    }

    /// Finds the rows of a table that are to go; `None` if it was stopped.
    fn mark(
        &mut self,
        meta: &TableMeta,
        order: &Order<'_>,
        matches: &mut Matches<'_>,
    ) -> Result<Option<Marks>, Failure> {
        // What keeps the whole table from being read is told once.
        self.tables.get(&*self.tables.known(meta)?)?;
        let covered = order.barrier.of_table(meta.number, || self.tables.origins(meta))?;
        let handles = TableBlockHandle::of(&self.tables.clone(), meta, &None)?;
        let done = self.while_stepping(order.stop, |go_on| {
            let mut marks = Marks::default();
            for (number, handle) in handles.iter().enumerate() {
                if !go_on() {
                    return Ok(None);
                }
                if handle.max_time() < *order.times.start() || handle.min_time() > *order.times.end() {
                    marks.keep.push(None);
                    continue;
                }
                match mark_block(handle, order, matches, &covered) {
                    Ok((keep, deleted)) => {
                        marks.deleted += deleted;
                        marks.keep.push((deleted > 0).then_some(keep));
                    }
                    Err(e) if e.is_corruption() => {
                        marks.damaged.insert(number, e.to_string());
                        marks.keep.push(None);
                    }
                    Err(e) => return Err(e),
                }
            }
            Ok(Some(marks))
        });
        done.map_err(Failure::Keeper)?.map_err(Failure::Work)
    }
}

/// Which rows of a block are to stay, and how many are to go.
fn mark_block(
    handle: &TableBlockHandle,
    order: &Order<'_>,
    matches: &mut Matches<'_>,
    covered: &Covered,
) -> Result<(Vec<bool>, u64)> {
    let block = handle.open()?;
    let mut keep = matched_rows(&block, &order.times, matches)?;
    let mut deleted = 0;
    for (row, flag) in keep.iter_mut().enumerate() {
        let goes = *flag && covered.covers(block.identity(row)?);
        deleted += u64::from(goes);
        *flag = !goes;
    }
    Ok((keep, deleted))
}

/// Which rows of a block have one of these times and match: one flag each.
///
/// # Errors
/// What `matches` said; damage in the block's times.
pub(crate) fn matched_rows(
    block: &Arc<dyn Block>,
    times: &RangeInclusive<i64>,
    matches: &mut Matches<'_>,
) -> Result<Vec<bool>> {
    let mut matched = matches(block)?;
    if matched.len() != block.rows() {
        let detail = format!("{} answers for {} rows", matched.len(), block.rows());
        return Err(Error::Invalid(format!("what is to be deleted cannot be told: {detail}")));
    }
    if matched.contains(&true) {
        // A block may reach over the ends of the range, and `matches` need not look at times.
        for (flag, time) in matched.iter_mut().zip(&*block.times()?) {
            *flag &= times.contains(time);
        }
    }
    Ok(matched)
}
