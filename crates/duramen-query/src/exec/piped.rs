//! Grouping rows that came out of pipes which know one row at a time: blocks side by side on several threads, each with
//! pipes and groups of its own. In which order rows come does not matter then; where a function asks for it, it goes by
//! where they stood.
//!
//! Where columns can tell of a block what the pipes make of it, it needs no rows.

use super::aggregate::Aggregation;
use super::ahead::Ahead;
use super::context::Run;
use super::makers;
use super::open::Open;
use super::project::Projection;
use super::read::Reader;
use super::scan::CANCEL_INTERVAL_ROWS;
use super::threads::over_blocks;
use super::{Order, RunStats};
use crate::bitmap::Bitmap;
use crate::error::Result;
use crate::pipe::sort::Arrival;
use crate::pipe::stats::{Aggregate, Groups};
use crate::pipe::{Flow, Passes, Pipe, Stage, chain};
use crate::row::ResultRow;
use std::cell::{Cell, RefCell};

/// Where pipes that know one row at a time end, of which there may be none, and what is behind them.
pub(crate) fn split(pipes: &[Pipe]) -> (&[Pipe], &[Pipe]) {
    let knows_others = |pipe: &Pipe| {
        let mut has_query = false;
        pipe.for_each_query(&mut |_| has_query = true);
        has_query || matches!(pipe.passes(), Passes::InTurn | Passes::All)
    };
    pipes.split_at(pipes.iter().position(knows_others).unwrap_or(pipes.len()))
}

pub(crate) struct PipedAggregation<'a> {
    pub reader: Reader<'a>,
    pub pipes: &'a [Pipe],
    pub projection: &'a Projection,
    pub aggregate: &'a Aggregate,
    pub order: Order,
}

impl<'a> PipedAggregation<'a> {
    pub fn run(&self, run: &Run<'a>, stats: &mut RunStats) -> Result<Groups<'a>> {
        let Run { blocks, options, memory, cancel, rows, .. } = *run;
        let threads = over_blocks(Ahead::new(self.reader, blocks), |shared| {
            let own = Run { blocks, options, memory, cancel, rows, cost: RefCell::default() };
            let groups = RefCell::new(Groups::new(self.aggregate, memory));
            let (arrival, mut stats) = (Cell::new([0; 3]), RunStats::default());
            let mut stage =
                chain(self.pipes, &own, Box::new(Grouped { groups: &groups, arrival: &arrival }))?;
            let (reader, pipes, aggregate, order) = (self.reader, self.pipes, self.aggregate, self.order);
            let columns = Aggregation { reader, pipes, aggregate, memory, order };
            let mut makers = makers::of(pipes, aggregate);
            let mut row = ResultRow::new();
            while let Some((number, handle)) = shared.take() {
                let Some((mut open, found)) = self.reader.open(handle, &mut stats)? else { continue };
                if let Some(makers) = &mut makers {
                    let opened = (open, found.clone());
                    if columns.opened(number, opened, makers, &mut groups.borrow_mut(), &mut stats)? {
                        continue;
                    }
                    open = match self.reader.again(handle, &found) {
                        Ok(open) => open,
                        Err(e) => {
                            stats.failed(e);
                            continue;
                        }
                    };
                }
                self.block(number, &mut open, &found, &mut row, (&arrival, &mut *stage), &mut stats)?;
                stats.bytes_read += open.bytes_since_last();
            }
            stage.finish()?;
            drop(stage);
            Ok((groups.into_inner(), stats))
        })?;
        let groups = threads.into_iter().map(|(groups, part)| {
            stats.add(part);
            groups
        });
        Groups::of_threads(self.aggregate, memory, groups)
    }

    fn block(
        &self,
        number: usize,
        open: &mut Open,
        found: &Bitmap,
        row: &mut ResultRow,
        (arrival, stage): (&Cell<Arrival>, &mut dyn Stage),
        stats: &mut RunStats,
    ) -> Result<()> {
        let times = match open.times() {
            Ok(times) => times,
            Err(e) => {
                stats.failed(e);
                return Ok(());
            }
        };
        for (i, at) in found.iter().enumerate() {
            if i % CANCEL_INTERVAL_ROWS == CANCEL_INTERVAL_ROWS - 1 {
                self.reader.cancel.check()?;
            }
            if let Err(e) = open.fill(at, times[at], self.projection, row) {
                stats.failed(e);
                return Ok(());
            }
            arrival.set(self.order.arrival(times[at], number, at));
            if stage.push(row)? == Flow::Stop {
                return Ok(());
            }
        }
        Ok(())
    }
}

/// The end of a thread's pipes.
struct Grouped<'g, 'a> {
    groups: &'g RefCell<Groups<'a>>,
    arrival: &'g Cell<Arrival>,
}

impl Stage for Grouped<'_, '_> {
    fn push(&mut self, row: &mut ResultRow) -> Result<Flow> {
        self.groups.borrow_mut().add_row(row, self.arrival.get())?;
        Ok(Flow::Continue)
    }

    fn finish(&mut self) -> Result<()> {
        Ok(())
    }
}
