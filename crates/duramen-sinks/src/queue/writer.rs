//! Has what is due written: again after a while, in halves, or never.

use super::waiting::{Waiting, Work};
use super::{Backend, WriteError};
use crate::line::Line;
use std::collections::VecDeque;
use std::time::Duration;

/// So often a line alone may take too long in a row, where another would be taken each time. Once would not do: a lock may have been
/// let go just before that was asked.
const TRIED_ALONE: u32 = 5;

/// The one that takes lines out of a queue.
#[derive(Debug)]
pub(super) struct Writer<B> {
    backend: B,
    /// The batch being written; empty between batches.
    batch: VecDeque<Line>,
    /// The number of its first line.
    first: u64,
    /// How many of its lines the next attempt takes: all, but fewer and fewer while one of them is not acceptable.
    take: usize,
    /// The most that one may take: fewer once so many took too long, and a few more each time they do not.
    most: usize,
    /// The numbers behind the last lines of attempts of which nobody knows how they ended, the least last. If one went well after
    /// all, the backend knows that of each part of it, but of none that goes beyond.
    unsure: Vec<u64>,
    /// Failed attempts of this batch in a row.
    failures: u32,
    /// How often in a row the next line alone took too long, and another would have been taken.
    too_long_alone: u32,
    /// When to try again.
    retry_at: Option<Duration>,
}

/// What came of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Lines were settled, or are about to be.
    Moved,
    /// Nothing is due, or the next attempt is not.
    Idle,
    /// The writer has ended.
    Ended,
}

impl<B: Backend> Writer<B> {
    pub fn new(backend: B) -> Self {
        Self {
            backend,
            batch: VecDeque::new(),
            first: 0,
            take: 0,
            most: usize::MAX,
            unsure: Vec::new(),
            failures: 0,
            too_long_alone: 0,
            retry_at: None,
        }
    }

    /// Writes for as long as the sink is open. Whatever ends it, callers come to know.
    pub fn run(self, queue: &Waiting) {
        struct Ends<'q, B> {
            writer: Writer<B>,
            queue: &'q Waiting,
        }
        impl<B> Drop for Ends<'_, B> {
            fn drop(&mut self) {
                // After a regular end this does nothing.
                let why = "the thread that writes has ended; please report this".to_owned();
                self.queue.end(&mut self.writer.batch, Some(why));
            }
        }
        let mut this = Ends { writer: self, queue };
        while this.writer.step(queue, true) != Step::Ended {}
    }

    /// One attempt to write one batch, if something is due. With `wait`, sleeps until something is.
    pub fn step(&mut self, queue: &Waiting, wait: bool) -> Step {
        if self.batch.is_empty() {
            match queue.take(&mut self.batch, wait) {
                Work::Lines(first) => {
                    (self.first, self.take, self.failures) = (first, self.batch.len().min(self.most), 0);
                }
                Work::Nothing => return Step::Idle,
                Work::End => {
                    queue.end(&mut self.batch, None);
                    return Step::Ended;
                }
            }
        }
        if let Some(time) = self.retry_at {
            if wait {
                queue.sleep_until(time);
            }
            if queue.is_abandoned() {
                queue.end(&mut self.batch, None);
                return Step::Ended;
            }
            if queue.now() < time {
                return Step::Idle;
            }
            self.retry_at = None;
        }
        let outcome = self.backend.write(self.first, &self.batch.make_contiguous()[..self.take]);
        self.settle(queue, outcome)
    }

    fn settle(&mut self, queue: &Waiting, outcome: Result<(), WriteError>) -> Step {
        match outcome {
            Ok(()) => {
                queue.written(self.batch.drain(..self.take));
                if self.take == self.most {
                    self.most = self.most.saturating_add(self.most / 8 + 1);
                }
                self.next_part();
            }
            Err(WriteError::Transient(why)) => self.again(queue, why),
            Err(WriteError::TooLong(why)) => {
                let is_its_fault = self.take == 1 && self.backend.takes_others();
                self.too_long_alone = if is_its_fault { self.too_long_alone + 1 } else { 0 };
                if self.too_long_alone >= TRIED_ALONE {
                    queue.lost(self.batch.drain(..1), why);
                    self.next_part();
                    return Step::Moved;
                }
                self.again(queue, why);
                self.take = self.take.div_ceil(2);
                self.most = self.take;
            }
            // One of them is to blame, and the others are not.
            Err(WriteError::Lines(_)) if self.take > 1 => self.take = self.take.div_ceil(2),
            Err(WriteError::Lines(why)) => {
                queue.lost(self.batch.drain(..self.take), why);
                self.next_part();
            }
            Err(WriteError::Permanent(why)) => {
                queue.end(&mut self.batch, Some(why));
                return Step::Ended;
            }
        }
        Step::Moved
    }

    /// Tries again after a while.
    fn again(&mut self, queue: &Waiting, why: String) {
        queue.retrying(why);
        let end = self.first + self.take as u64;
        if self.unsure.last() != Some(&end) {
            self.unsure.push(end);
        }
        self.failures += 1;
        self.retry_at = Some(queue.now() + self.delay(queue));
    }

    fn next_part(&mut self) {
        self.first += self.take as u64;
        (self.take, self.failures, self.too_long_alone) = (self.batch.len().min(self.most), 0, 0);
        let first = self.first;
        while self.unsure.pop_if(|end| *end <= first).is_some() {}
        if let Some(end) = self.unsure.last() {
            self.take = self.take.min(usize::try_from(end - first).unwrap_or(usize::MAX));
        }
    }

    /// Twice as long each time, and up to a quarter longer by chance, so that many do not come back at once.
    fn delay(&self, queue: &Waiting) -> Duration {
        let options = &queue.options;
        let doubled = options.retry_initial_ms.saturating_mul(1 << (self.failures - 1).min(32));
        let ms = doubled.min(options.retry_max_ms);
        let jitter_ms = options.env.random.next_u64() % (ms / 4 + 1);
        Duration::from_millis(ms.saturating_add(jitter_ms))
    }

    /// When a failed attempt is repeated, if one waits for that.
    #[cfg(test)]
    pub fn retry_at(&self) -> Option<Duration> {
        self.retry_at
    }
}
