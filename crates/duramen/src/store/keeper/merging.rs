//! Long work on tables, such as merging them, beside which segments are flushed.

use super::Keeper;
use crate::error::Result;
use crate::store::compact;
use crate::store::flush::Flusher;
use crate::store::layout::day_of;
use duramen_engine::manifest::Edit;
use std::time::Duration;

/// So few tables are merged where a process may have few files open: two that become one are one less, too.
const FEWEST_MERGED: usize = 2;

/// How often to look for what is to be flushed while tables are merged.
const FLUSH_EVERY_WHILE_MERGING: Duration = Duration::from_millis(200);

/// After so long there may be more descriptors: what is tried in vain is done twice.
const MORE_AFTER: Duration = Duration::from_secs(60);

/// How many tables are merged together: fewer, once there were too few descriptors for it.
#[derive(Debug)]
pub(super) struct MergedTogether {
    most: usize,
    /// When that was said.
    since: Duration,
}

impl Default for MergedTogether {
    fn default() -> Self {
        Self { most: usize::MAX, since: Duration::ZERO }
    }
}

impl MergedTogether {
    fn most(&mut self, now: Duration) -> usize {
        if now.saturating_sub(self.since) >= MORE_AFTER {
            *self = Self { most: self.most.saturating_mul(2), since: now };
        }
        self.most
    }

    /// There were too few for so many.
    fn cut(&mut self, tried: usize, now: Duration) {
        *self = Self { most: (tried / 2).max(FEWEST_MERGED), since: now };
    }
}

impl Keeper {
    /// Merges tables of one day, whose lines had at most so many bytes, if there are enough of them: as many together as there
    /// are descriptors for. Whether there were, and `stop` did not end it. Flushes meanwhile: a merge may take minutes, and
    /// writers wait for no merge.
    ///
    /// # Errors
    /// What the file system said. Damage in a table is no error: its day is left as it is, and told.
    pub(crate) fn compact(&mut self, max_raw_bytes: u64, stop: &dyn Fn() -> bool) -> Result<bool> {
        let state = self.manifest.state().clone();
        let classes_id =
            self.policy().filter(|policy| !policy.rules.is_empty()).map(|policy| policy.classes_id());
        let today = day_of(self.shared.env.clock.now_unix_ns());
        let picked = compact::pick(&state, &self.not_mergeable, max_raw_bytes, classes_id, today);
        let Some(mut inputs) = picked else { return Ok(false) };
        let (tables, mut flusher) = (self.tables.clone(), self.flusher()?);
        let merged = loop {
            inputs.truncate(self.together.most(self.shared.env.clock.monotonic()));
            let number = self.reserve_table()?;
            let merge = |go_on: &mut dyn FnMut() -> bool| {
                compact::merge(&mut flusher, &tables, &inputs, number, go_on)
            };
            let merged = self.while_stepping(stop, merge);
            let out_of_descriptors = merged.as_ref().map_or_else(Some, |merged| merged.as_ref().err());
            if out_of_descriptors.is_none_or(|e| !e.is_out_of_descriptors())
                || inputs.len() <= FEWEST_MERGED
                || self.manifest.is_poisoned()
            {
                break merged?;
            }
            // Each may have had one, and so had what was to be flushed meanwhile. The new table may have its name already.
            self.tables.close_all();
            self.find_unnamed_from(number)?;
            self.together.cut(inputs.len(), self.shared.env.clock.monotonic());
        };
        let table = match merged {
            Err(e) if e.is_corruption() => {
                self.shared.incident(format!("tables were not merged: {e}"));
                self.not_mergeable.extend(inputs.iter().map(|meta| meta.number));
                return Ok(true);
            }
            Ok(None) => return Ok(false),
            Ok(Some(table)) => table,
            Err(e) => return Err(e),
        };
        self.replace_tables(Edit {
            add_tables: vec![table],
            remove_tables: inputs.iter().map(|meta| meta.number).collect(),
            ..Edit::default()
        })?;
        Ok(true)
    }

    /// A number for a table to be written while others are flushed, which take other numbers.
    pub(super) fn reserve_table(&mut self) -> Result<u64> {
        let number = self.manifest.state().next_table;
        self.apply(Edit { next_table: number.checked_add(1), ..Edit::default() })?;
        Ok(number)
    }

    /// Does long work on tables, which stay meanwhile, and which asks whether to go on after each block; in between,
    /// flushes.
    ///
    /// # Errors
    /// What kept flushes from being done; the work's own error is in its outcome.
    pub(super) fn while_stepping<T>(
        &mut self,
        stop: &dyn Fn() -> bool,
        work: impl FnOnce(&mut dyn FnMut() -> bool) -> T,
    ) -> Result<T> {
        let clock = self.shared.env.clock.clone();
        let mut looked = clock.monotonic();
        let mut flush_failed = None;
        let within_other = std::mem::replace(&mut self.rewriting, true);
        let done = work(&mut || {
            if !self.flush_failed && clock.monotonic().saturating_sub(looked) >= FLUSH_EVERY_WHILE_MERGING {
                flush_failed = self.step().err();
                looked = clock.monotonic();
            }
            flush_failed.is_none() && !stop()
        });
        self.rewriting = within_other;
        flush_failed.map_or(Ok(done), Err)
    }

    /// Writes one table at a time, beside the flushes.
    pub(super) fn flusher(&self) -> Result<Flusher> {
        Flusher::new(self.shared.env.clone(), self.shared.layout.clone(), 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_did_not_fit_is_tried_again_after_a_while_and_twice_as_much_later() {
        let mut together = MergedTogether::default();
        let mut most = |s| together.most(Duration::from_secs(s));
        assert_eq!((most(0), most(100)), (usize::MAX, usize::MAX));
        together.cut(70, Duration::from_secs(100));
        let mut most = |s| together.most(Duration::from_secs(s));
        assert_eq!([100, 159, 160, 200, 219, 220].map(&mut most), [35, 35, 70, 70, 70, 140]);
        together.cut(3, Duration::from_secs(230));
        assert_eq!(together.most(Duration::from_secs(280)), FEWEST_MERGED);
    }
}
