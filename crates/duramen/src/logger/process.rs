//! The store of this process, and of each child forked from it.
//!
//! A forked child cannot use what its parent opened, but finds the parent's logger in its memory, and is to log with
//! it. So the logger holds a chain: what the parent opened, then what the child opened on its first call, then what
//! the child's child did. Each process uses the link of its own [fork generation](fork_generation), and those before
//! it stay untouched.
//!
//! A child is born in the middle of whatever its parent's other threads did, so nothing here waits for a mutex: a
//! mutex may be locked by a thread that the child does not have.

use super::builder::{LoggerBuilder, OnFull};
use super::encode::Constants;
use super::full::Refusals;
use super::renewal::Renewal;
use crate::error::{Error, Result};
use crate::store::Store;
use duramen_engine::io::os::{fork_generation, without_fork};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How long a child rests after it could not open the store, before a log call tries again.
const REOPEN_AFTER: Duration = Duration::from_secs(1);

/// Nobody's generation.
const NOBODY: u64 = u64::MAX;

/// What a logger has in one process.
#[derive(Debug)]
pub(super) struct OfProcess {
    generation: u64,
    pub(super) store: Store,
    pub(super) constants: Constants,
    pub(super) refusals: Refusals,
    pub(super) renewal: Renewal,
    /// What a forked child opened.
    next: OnceLock<Box<OfProcess>>,
    /// The generation of the child that is just opening `next`. A claim of another generation than the asker's
    /// is a dead thread's.
    opening: AtomicU64,
    /// When the last attempt to open `next` failed, in ms of the monotonic clock, and of which child it was: another
    /// child's says nothing. Looked at by who has claimed `opening`.
    failed_at_ms: AtomicU64,
    failed_in: AtomicU64,
    /// Lines that a child refused because `next` could not be opened.
    refused: OfChild,
}

/// A count that each child begins anew: the child's generation and the number, half each.
#[derive(Debug, Default)]
struct OfChild(AtomicU64);

impl OfChild {
    const HALF: u64 = u32::MAX as u64;

    fn get(&self, generation: u64) -> u64 {
        Self::number(self.0.load(Ordering::Relaxed), generation)
    }

    fn add_one(&self, generation: u64) {
        let next = |kept| {
            let number = (Self::number(kept, generation) + 1).min(Self::HALF);
            Some((generation & Self::HALF) << 32 | number)
        };
        let _always_set = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
    }

    fn number(kept: u64, generation: u64) -> u64 {
        if kept >> 32 == generation & Self::HALF { kept & Self::HALF } else { 0 }
    }
}

impl OfProcess {
    pub(super) fn open(options: &LoggerBuilder) -> Result<Self> {
        let store = options.store.clone().open(&options.dir)?;
        store.make_writer()?;
        Ok(Self {
            generation: fork_generation(),
            store,
            constants: options.constants()?,
            refusals: Refusals::default(),
            renewal: Renewal::default(),
            next: OnceLock::new(),
            opening: AtomicU64::new(NOBODY),
            failed_at_ms: AtomicU64::new(0),
            failed_in: AtomicU64::new(NOBODY),
            refused: OfChild::default(),
        })
    }

    /// Whether it was opened in this process.
    #[inline]
    pub(super) fn is_here(&self) -> bool {
        self.generation == fork_generation()
    }

    /// How many lines were refused because this process, a child, has not been able to open the store.
    pub(super) fn refused_unopened(&self) -> u64 {
        let mut link = self;
        while let Some(next) = link.next.get() {
            link = next;
        }
        link.refused.get(fork_generation())
    }

    /// What this process has opened, if it has.
    pub(super) fn opened_here(&self) -> Option<&Self> {
        let generation = fork_generation();
        let mut link = self;
        while link.generation != generation {
            link = link.next.get()?;
        }
        Some(link)
    }

    /// What this process, a child of the one that made the logger, has opened; opens it now if it has not.
    #[cold]
    pub(super) fn in_child(&self, options: &LoggerBuilder) -> Result<&Self> {
        let generation = fork_generation();
        let mut link = self;
        while link.generation != generation {
            link = match link.next.get() {
                Some(next) => next,
                None => link.open_next(generation, options).inspect_err(|_| {
                    link.refused.add_one(generation);
                })?,
            };
        }
        Ok(link)
    }

    /// Opens the store in a child, or waits for another thread that does: as long as a call may wait, or a second where it
    /// does not wait for room at all.
    fn open_next(&self, generation: u64, options: &LoggerBuilder) -> Result<&Self> {
        const LOOK_EVERY: Duration = Duration::from_millis(1);
        let patience = match options.on_full {
            OnFull::Block { timeout } => timeout,
            OnFull::Count => Duration::from_secs(1),
        };
        let mut waited = Duration::ZERO;
        loop {
            if let Some(next) = self.next.get() {
                return Ok(next);
            }
            let claimed = self.opening.load(Ordering::Acquire);
            if claimed == generation {
                if waited >= patience {
                    let told = "another thread of this forked process is still opening the store";
                    return Err(Error::Invalid(told.into()));
                }
                std::thread::park_timeout(LOOK_EVERY);
                waited += LOOK_EVERY;
            } else if self
                .opening
                .compare_exchange(claimed, generation, Ordering::AcqRel, Ordering::Acquire)
                .is_ok()
            {
                let opened = self.try_open_next(generation, options);
                self.opening.store(NOBODY, Ordering::Release);
                opened?;
            }
        }
    }

    fn try_open_next(&self, generation: u64, options: &LoggerBuilder) -> Result<()> {
        if self.next.get().is_some() {
            return Ok(());
        }
        let now_ms = u64::try_from(options.store.env.clock.monotonic().as_millis()).unwrap_or(u64::MAX);
        let rested_ms = now_ms.saturating_sub(self.failed_at_ms.load(Ordering::Relaxed));
        let failed_here = self.failed_in.load(Ordering::Relaxed) == generation;
        if failed_here && rested_ms < REOPEN_AFTER.as_millis() as u64 {
            return Err(Error::Invalid("the store could not be opened in this forked process".into()));
        }
        match Self::open(options) {
            Ok(next) => {
                next.refusals.count_earlier(self.refused.get(generation));
                // A child that sees the cell half set would wait for ever.
                let _empty_until_now = without_fork(|| self.next.set(Box::new(next)));
                Ok(())
            }
            Err(e) => {
                self.failed_at_ms.store(now_ms, Ordering::Relaxed);
                self.failed_in.store(generation, Ordering::Relaxed);
                Err(e)
            }
        }
    }
}
