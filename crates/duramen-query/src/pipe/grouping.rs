//! The pipes that group rows, whose groups become rows at the end: `stats`, `top` and `uniq`.

use super::stats::{Aggregate, Groups, Stats, Wanted};
use super::top::Top;
use super::uniq::Uniq;
use super::{Flow, Pipe, Stage, take_any_order};
use crate::error::Result;
use crate::exec::Cancel;
use crate::exec::context::Run;
use crate::row::ResultRow;

/// A pipe that groups rows, and those behind it.
#[derive(Clone, Copy)]
pub(crate) struct Grouping<'p> {
    pipe: Of<'p>,
    behind: &'p [Pipe],
}

#[derive(Clone, Copy)]
enum Of<'p> {
    Stats(&'p Stats),
    Top(&'p Top),
    Uniq(&'p Uniq),
}

impl<'p> Grouping<'p> {
    /// The first of the pipes, if it groups rows.
    pub fn of(pipes: &'p [Pipe]) -> Option<Self> {
        let (first, behind) = pipes.split_first()?;
        let pipe = match first {
            Pipe::Stats(stats) => Of::Stats(stats),
            Pipe::Top(top) => Of::Top(top),
            Pipe::Uniq(uniq) => Of::Uniq(uniq),
            _ => return None,
        };
        Some(Self { pipe, behind })
    }

    pub fn aggregate(self) -> &'p Aggregate {
        match self.pipe {
            Of::Stats(stats) => &stats.aggregate,
            Of::Top(top) => &top.aggregate,
            Of::Uniq(uniq) => &uniq.aggregate,
        }
    }

    /// The pipes behind it.
    pub fn behind(self) -> &'p [Pipe] {
        self.behind
    }

    /// Which rows those need.
    fn wanted(self) -> Wanted {
        if take_any_order(self.behind) {
            return Wanted::InAnyOrder;
        }
        match (self.pipe, self.behind.first()) {
            (Of::Stats(stats), Some(Pipe::Sort(sort))) => {
                stats.first_by(sort).map_or(Wanted::InOrder, Wanted::First)
            }
            _ => Wanted::InOrder,
        }
    }

    /// Gives the rows of finished groups to the next stage, until no more are wanted.
    pub fn give(self, groups: Groups<'_>, next: &mut dyn Stage, cancel: &Cancel) -> Result<()> {
        let mut given = 0;
        let mut give = |row: &mut ResultRow| {
            given += 1;
            if given % 1024 == 0 {
                cancel.check()?;
            }
            next.push(row)
        };
        match self.pipe {
            Of::Stats(stats) => groups.give_rows(&stats.names, self.wanted(), &mut give),
            Of::Top(top) => top.give(groups, &mut give),
            Of::Uniq(uniq) => groups.give_rows(&uniq.names(), self.wanted(), &mut give),
        }
    }
}

/// Groups rows that come out of another pipe.
pub(super) struct GroupingStage<'a> {
    grouping: Grouping<'a>,
    groups: Option<Groups<'a>>,
    arrived: i64,
    cancel: &'a Cancel,
    next: Box<dyn Stage + 'a>,
}

impl<'a> GroupingStage<'a> {
    pub fn new(grouping: Grouping<'a>, run: &'a Run<'a>, next: Box<dyn Stage + 'a>) -> Self {
        let groups = Some(Groups::new(grouping.aggregate(), run.memory));
        Self { grouping, groups, arrived: 0, cancel: run.cancel, next }
    }
}

impl Stage for GroupingStage<'_> {
    fn push(&mut self, row: &mut ResultRow) -> Result<Flow> {
        if let Some(groups) = &mut self.groups {
            self.arrived += 1;
            groups.add_row(row, [0, 0, self.arrived])?;
        }
        Ok(Flow::Continue)
    }

    fn finish(&mut self) -> Result<()> {
        if let Some(groups) = self.groups.take() {
            self.grouping.give(groups, &mut *self.next, self.cancel)?;
        }
        self.next.finish()
    }
}
