//! Answers as text. Rows of entries that do not depend on others are written side by side, on several threads, and come out in
//! order.

use super::context::Run;
use super::scan::{Entries, TakeRows};
use super::threads::side_by_side;
use crate::error::Result;
use crate::pipe::{Flow, Pipe, Stage, chain};
use crate::row::ResultRow;
use std::cell::RefCell;
use std::ops::{ControlFlow, Range};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Appends a row to a text. Called by several threads at once.
pub type WriteRow<'a> = dyn Fn(&ResultRow, &mut Vec<u8>) + Sync + 'a;

/// Takes what was written away, or leaves it to grow; is told how many rows were appended. When it breaks, the query ends.
pub type TakeText<'a> = dyn FnMut(&mut Vec<u8>, usize) -> ControlFlow<()> + 'a;

/// Where an answer's text goes.
pub struct Text<'a> {
    /// Writes a row.
    pub write: &'a WriteRow<'a>,
    /// What was written and is not taken yet. What is in it at first comes first; at the end, the rest of the answer is.
    pub text: &'a mut Vec<u8>,
    /// Looks at it whenever rows were appended.
    pub take: Box<TakeText<'a>>,
}

/// Where rows come to an end.
pub(crate) enum Last<'a> {
    Stage(Box<dyn Stage + 'a>),
    /// Of all rows those that the cut leaves.
    Text(Text<'a>, Cut),
}

impl<'a> Last<'a> {
    /// As the end of a chain.
    pub fn stage(self) -> Box<dyn Stage + 'a> {
        match self {
            Self::Stage(stage) => stage,
            Self::Text(text, cut) => Box::new(TextStage { text, cut }),
        }
    }
}

/// Of rows in order, those that are left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cut {
    /// So many at the front are not wanted,
    pub skip: usize,
    /// and so many behind them are.
    pub take: usize,
}

impl Cut {
    /// What is left by this behind some pipes that only count rows; nothing if there are others.
    pub fn behind(self, pipes: &[Pipe]) -> Option<Self> {
        pipes.iter().rev().try_fold(self, |cut, pipe| match pipe {
            Pipe::Limit(n) => Some(Self { take: cut.take.min(n.saturating_sub(cut.skip)), ..cut }),
            Pipe::Offset(n) => Some(Self { skip: cut.skip.saturating_add(*n), ..cut }),
            _ => None,
        })
    }

    /// How many of the next so many rows are not wanted, and how many behind them are.
    fn next(&mut self, rows: usize) -> (usize, usize) {
        let skip = self.skip.min(rows);
        let take = self.take.min(rows - skip);
        self.skip -= skip;
        self.take -= take;
        (skip, take)
    }

    fn flow(self) -> Flow {
        if self.take == 0 { Flow::Stop } else { Flow::Continue }
    }
}

/// Writes rows one by one.
struct TextStage<'a> {
    text: Text<'a>,
    cut: Cut,
}

impl Stage for TextStage<'_> {
    fn push(&mut self, row: &mut ResultRow) -> Result<Flow> {
        if let (_, 1) = self.cut.next(1) {
            let Text { write, text, take } = &mut self.text;
            write(row, text);
            if take(text, 1).is_break() {
                self.cut.take = 0;
            }
        }
        Ok(self.cut.flow())
    }

    fn finish(&mut self) -> Result<()> {
        Ok(())
    }
}

/// Fewer rows are not worth a thread.
const MIN_ROWS_A_THREAD: usize = 256;
/// When a thread has written so much, it is taken before more is written. One row may have more.
const PART_BYTES: usize = 1 << 20;

/// Writes entries side by side, behind pipes that let each row through or drop it.
pub(crate) struct SideBySide<'a> {
    pub run: &'a Run<'a>,
    pub pipes: &'a [Pipe],
    pub threads: usize,
    pub text: Text<'a>,
    pub cut: Cut,
    /// About how many bytes of text an entry makes, as far as is known.
    pub row_bytes: usize,
}

/// What a thread has written.
struct Part {
    text: Vec<u8>,
    /// Where each row ends.
    ends: Vec<usize>,
    /// The entries that are not written: the text was long enough.
    left: Range<usize>,
}

impl TakeRows for SideBySide<'_> {
    fn take(&mut self, entries: &Entries<'_>) -> Result<Flow> {
        let mut from = 0;
        while from < entries.len() {
            self.run.cancel.check()?;
            let rows = entries.len() - from;
            // So many that none has to stop early, if they are as those before.
            let most = (PART_BYTES / self.row_bytes.max(1)).max(1);
            let threads = (rows / MIN_ROWS_A_THREAD.min(most)).clamp(1, self.threads.max(1));
            let each = rows.div_ceil(threads).min(most);
            let to = entries.len().min(from + threads * each);
            if self.side_by_side(entries, from..to, (threads, each))? == Flow::Stop {
                return Ok(Flow::Stop);
            }
            from = to;
        }
        Ok(Flow::Continue)
    }

    fn works_ahead(&self) -> bool {
        true
    }
}

impl SideBySide<'_> {
    /// Writes some of the entries, each thread so many of them.
    fn side_by_side(
        &mut self,
        entries: &Entries<'_>,
        Range { start, end }: Range<usize>,
        (threads, each): (usize, usize),
    ) -> Result<Flow> {
        let next = AtomicUsize::new(0);
        let this = &*self;
        let (run, pipes, write) = (this.run, this.pipes, this.text.write);
        let (cut, row_bytes) = (this.cut, this.row_bytes);
        let Run { blocks, options, memory, cancel, rows, .. } = *run;
        let part = |range: Range<usize>| {
            let run = Run { blocks, options, memory, cancel, rows, cost: RefCell::default() };
            Part::of(entries, range, &run, (pipes, write, cut), row_bytes)
        };
        let mut parts = side_by_side(threads, || {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let range = (start + number * each).min(end)..(start + (number + 1) * each).min(end);
            (number, part(range))
        });
        parts.sort_unstable_by_key(|(number, _)| *number);
        let mut most_bytes = 0;
        for (number, written) in parts {
            let mut written = written?;
            let seen = written.left.start.saturating_sub(start + number * each);
            // A tenth more than now, so that most texts do not move as they grow.
            most_bytes = most_bytes.max(written.text.len() / seen.max(1) * 11 / 10);
            loop {
                let left = written.left.clone();
                cancel.check()?;
                if self.give(written) == Flow::Stop {
                    return Ok(Flow::Stop);
                }
                if left.is_empty() {
                    break;
                }
                written = part(left)?;
            }
        }
        self.row_bytes = most_bytes;
        Ok(Flow::Continue)
    }

    fn give(&mut self, Part { text: written, ends, .. }: Part) -> Flow {
        let rows = ends.len();
        let (skip, take) = self.cut.next(rows);
        if take > 0 {
            let end_of = |rows: usize| rows.checked_sub(1).map_or(0, |last| ends[last]);
            let Text { text, take: takes, .. } = &mut self.text;
            if text.is_empty() && take == rows {
                **text = written;
            } else {
                text.extend_from_slice(&written[end_of(skip)..end_of(skip + take)]);
            }
            if takes(text, take).is_break() {
                return Flow::Stop;
            }
        }
        self.cut.flow()
    }
}

impl Part {
    fn of(
        entries: &Entries<'_>,
        range: Range<usize>,
        run: &Run<'_>,
        (pipes, write, cut): (&[Pipe], &WriteRow<'_>, Cut),
        row_bytes: usize,
    ) -> Result<Self> {
        let text = Vec::with_capacity(range.len().saturating_mul(row_bytes).min(PART_BYTES));
        let written = RefCell::new((text, Vec::with_capacity(range.len())));
        let most_rows = cut.skip.saturating_add(cut.take);
        let mut stage = chain(pipes, run, Box::new(PartStage { write, most_rows, written: &written }))?;
        let (_, seen) = entries.push(range.clone(), &mut ResultRow::new(), run.cancel, &mut *stage)?;
        stage.finish()?;
        drop(stage);
        let (text, ends) = written.into_inner();
        Ok(Self { text, ends, left: range.start + seen..range.end })
    }
}

/// The end of a thread's pipes: the text, and where each row ends.
struct PartStage<'p> {
    write: &'p WriteRow<'p>,
    /// Nobody wants more.
    most_rows: usize,
    written: &'p RefCell<(Vec<u8>, Vec<usize>)>,
}

impl Stage for PartStage<'_> {
    fn push(&mut self, row: &mut ResultRow) -> Result<Flow> {
        let (text, ends) = &mut *self.written.borrow_mut();
        (self.write)(row, text);
        ends.push(text.len());
        let is_enough = ends.len() >= self.most_rows || text.len() >= PART_BYTES;
        Ok(if is_enough { Flow::Stop } else { Flow::Continue })
    }

    fn finish(&mut self) -> Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: Cut = Cut { skip: 0, take: usize::MAX };

    #[test]
    fn limits_and_offsets_are_one_cut() {
        let cut = |pipes: &[Pipe], cut: Cut| {
            let mut left = cut.behind(pipes).unwrap();
            let mut rows = Vec::new();
            for row in 0..20 {
                if left.next(1) == (0, 1) {
                    rows.push(row);
                }
            }
            rows
        };
        let (limit, offset) = (Pipe::Limit, Pipe::Offset);
        assert_eq!(cut(&[offset(3), limit(4)], NONE), [3, 4, 5, 6]);
        assert_eq!(cut(&[limit(4), offset(3)], NONE), [3]);
        assert_eq!(cut(&[limit(4), offset(9)], NONE), [0; 0]);
        assert_eq!(cut(&[offset(1), limit(9), offset(2)], Cut { skip: 3, take: 2 }), [6, 7]);
        assert_eq!(cut(&[limit(5)], Cut { skip: 4, take: 10 }), [4]);
        assert!(NONE.behind(&[limit(1), Pipe::Filter(crate::filter::Filter::All)]).is_none());
    }
}
