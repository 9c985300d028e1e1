//! Tables that hold lines of several days, because each of these has little: when a day has expired, the keeper writes
//! them again without it. They are small, and so a line goes when its day does, as it would from a table of its own.

use super::Keeper;
use super::rewrite::{Rest, Rewritten};
use crate::block::Block;
use crate::columnar::TableBlock;
use crate::error::Result;
use crate::store::layout::{DAY_NS, day_of};
use crate::store::retention::{Retention, expiry};
use crate::store::table_facts::TableFacts;

impl Keeper {
    /// Writes a table again, of which a day has expired; whether there was one.
    ///
    /// # Errors
    /// What the file system said.
    pub(super) fn trim_one(&mut self, policy: &Retention, stop: &dyn Fn() -> bool) -> Result<bool> {
        let now_ns = self.shared.env.clock.now_unix_ns();
        let state = self.manifest.state().clone();
        let due = state.tables.values().find_map(|meta| {
            let facts = TableFacts::decode(&meta.user).ok()?;
            let kept_from = kept_from(&facts, policy, now_ns)?;
            let (min_time, max_time) = facts.time_range()?;
            let is_due = min_time < kept_from && kept_from <= max_time;
            (is_due && !self.not_mergeable.contains(&meta.number)).then_some((meta, facts, kept_from))
        });
        let Some((meta, facts, kept_from)) = due else { return Ok(false) };
        let keep = &mut |_, block: &TableBlock| {
            Ok(Some(block.times()?.iter().map(|&time| time >= kept_from).collect()))
        };
        let table = match self.rewrite(meta, Rest::of_classes(facts.only_class()), keep, stop) {
            Ok(Rewritten::Table(table)) => Some(table),
            Ok(Rewritten::Empty) => None,
            Ok(Rewritten::Stopped) => return Ok(false),
            Err(e) => {
                self.leave_alone(meta, e)?;
                return Ok(true);
            }
        };
        self.replace_expired(meta, table.into_iter().collect())?;
        Ok(true)
    }
}

/// The start of the oldest day of which lines of the table are kept; `None` if all are, or if its lines are of several
/// classes: then they are put into tables of one each first.
fn kept_from(facts: &TableFacts, policy: &Retention, now_ns: i64) -> Option<i64> {
    let age = match facts.classes_by(policy.classes_id()).filter(|_| !policy.rules.is_empty()) {
        Some([only]) => policy.age_of_class(only.class as usize),
        Some(_) => None,
        None => policy.longest_age(),
    };
    Some(day_of(expiry(now_ns, age?)) * DAY_NS)
}
