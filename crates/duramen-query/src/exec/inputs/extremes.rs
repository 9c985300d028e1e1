//! The first and the last times of groups.

use super::MAX_LISTED_GROUPS;
use crate::error::Result;
use crate::pipe::stats::{Cell, Groups, Named};
use duramen::ValueKind;
use duramen::block::names;
use hashbrown::HashMap;

/// The first or the last time so far, of each group's functions that ask for that.
#[derive(Default)]
pub(in crate::exec) struct Extremes {
    /// By function, and then by group, of the first [`MAX_LISTED_GROUPS`].
    listed: Vec<Vec<Option<i64>>>,
    /// By function and group, of the others.
    others: HashMap<(usize, usize), i64, foldhash::fast::FixedState>,
}

impl Extremes {
    /// Adds the times of rows, each with its group.
    pub(super) fn add(&mut self, function: usize, is_min: bool, rows: impl Iterator<Item = (i64, usize)>) {
        if function >= self.listed.len() {
            self.listed.resize(function + 1, Vec::new());
        }
        let listed = &mut self.listed[function];
        for (time, group) in rows {
            let of_group = if group < MAX_LISTED_GROUPS {
                if group >= listed.len() {
                    listed.resize(group + 1, None);
                }
                listed[group].get_or_insert(time)
            } else {
                self.others.entry((function, group)).or_insert(time)
            };
            *of_group = if is_min { time.min(*of_group) } else { time.max(*of_group) };
        }
    }

    /// Gives them to their groups, whose numbers hold until these are tidied up.
    pub(in crate::exec) fn give(&mut self, groups: &mut Groups<'_>) -> Result<()> {
        let listed = self.listed.iter_mut().enumerate().flat_map(|(function, times)| {
            let times = times.drain(..).enumerate();
            times.filter_map(move |(group, time)| Some(((function, group), time?)))
        });
        for ((function, group), time) in listed.chain(self.others.drain()) {
            let text = crate::parse::time::format_time(time);
            let cell = Named { name: names::TIME, cell: Cell::Text(&text), kind: ValueKind::String };
            groups.add(group, function, &[cell], [0; 3])?;
        }
        Ok(())
    }
}
