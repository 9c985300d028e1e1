//! Tables that hold lines of several days, because each of these has little: when a day has expired, the keeper writes
//! them again without it. They are small, and so a line goes when its day does, as it would from a table of its own.

use super::Keeper;
use super::retain::counts_of;
use super::rewrite::Rewritten;
use crate::block::Block;
use crate::error::Result;
use crate::store::layout::{DAY_NS, day_of};
use crate::store::retention::{COUNTS_KEY, Retention, expiry};
use crate::store::table_facts::TableFacts;
use duramen_engine::manifest::Edit;

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
        let keep = &mut |block: &crate::columnar::TableBlock| -> Result<Vec<bool>> {
            Ok(block.times()?.iter().map(|&time| time >= kept_from).collect())
        };
        let table = match self.rewrite(meta, facts.classes, keep, stop) {
            Ok(Rewritten::Table(table)) => Some(table),
            Ok(Rewritten::Empty) => None,
            Ok(Rewritten::Stopped) => return Ok(false),
            Err(e) => {
                self.leave_alone(meta, e)?;
                return Ok(true);
            }
        };
        let (left, left_bytes) = table.as_ref().map_or((0, 0), |table| (table.entries, table.file_bytes));
        let mut counts = counts_of(self.manifest.state()).unwrap_or_default();
        counts.expired.add(meta.entries.saturating_sub(left), meta.file_bytes.saturating_sub(left_bytes));
        self.replace_tables(Edit {
            remove_tables: vec![meta.number],
            add_tables: table.into_iter().collect(),
            set_values: vec![(COUNTS_KEY.to_vec(), counts.encode())],
            ..Edit::default()
        })?;
        Ok(true)
    }
}

/// The start of the oldest day of which lines of the table are kept; `None` if all are, or if its lines are of several
/// classes: then they are put into tables of one each first.
fn kept_from(facts: &TableFacts, policy: &Retention, now_ns: i64) -> Option<i64> {
    let age = if policy.rules.is_empty() {
        policy.max_age
    } else {
        match facts.classes_by(policy.classes_id()) {
            Some([only]) => policy.age_of_class(only.class as usize),
            Some(_) => None,
            None => policy.longest_age(),
        }
    };
    Some(day_of(expiry(now_ns, age?)) * DAY_NS)
}
