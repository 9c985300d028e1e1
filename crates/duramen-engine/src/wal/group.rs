//! Many wait, one works: of the threads that want the log to be somewhere (synced, say) up to their own record,
//! the first does it for all records that are there by then; the others wait, find it done, or do the next round
//! for all who came meanwhile.

use crate::Result;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// A place in a writer's log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Position {
    /// The file: a segment's number, a log's generation.
    pub(crate) number: u64,
    /// The offset in it.
    pub(crate) offset: u64,
}

/// How far the log has come, and whether somebody is at work to bring it further.
#[derive(Debug, Default)]
pub(crate) struct Group {
    progress: Mutex<Progress>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Progress {
    reached: Position,
    led: bool,
    /// How many wait for the leader: to wake nobody is a system call, too.
    waiting: usize,
}

/// Gives the lead back however the leader leaves.
struct Lead<'a> {
    group: &'a Group,
    reached: Option<Position>,
}

impl Drop for Lead<'_> {
    fn drop(&mut self) {
        let mut progress = self.group.lock();
        progress.led = false;
        if let Some(reached) = self.reached {
            progress.reached = progress.reached.max(reached);
        }
        let waited_for = progress.waiting > 0;
        drop(progress);
        if waited_for {
            self.group.changed.notify_all();
        }
    }
}

impl Group {
    /// Returns once the log has come to `wanted`. `usable` fails if it never will; it is asked before every
    /// round, so a leader that fails must make it fail before it returns. `lead` does a round and says how far
    /// it came.
    pub(crate) fn reach(
        &self,
        wanted: Position,
        usable: impl Fn() -> Result<()>,
        lead: impl Fn() -> Result<Position>,
    ) -> Result<()> {
        let mut progress = self.lock();
        loop {
            if progress.reached >= wanted {
                return Ok(());
            }
            usable()?;
            if !progress.led {
                progress.led = true;
                drop(progress);
                let mut round = Lead { group: self, reached: None };
                round.reached = Some(lead()?);
                drop(round);
                progress = self.lock();
            } else {
                progress.waiting += 1;
                progress = self.changed.wait(progress).unwrap_or_else(PoisonError::into_inner);
                progress.waiting -= 1;
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;
    use std::sync::atomic::{AtomicU64, Ordering};

    fn at(offset: u64) -> Position {
        Position { number: 1, offset }
    }

    #[test]
    fn what_is_reached_needs_no_further_round() {
        let group = Group::default();
        let rounds = AtomicU64::new(0);
        let lead = || {
            rounds.fetch_add(1, Ordering::Relaxed);
            Ok(at(10))
        };
        for offset in [3, 10, 1, 7] {
            group.reach(at(offset), || Ok(()), lead).unwrap();
        }
        assert_eq!(rounds.into_inner(), 1);
    }

    #[test]
    fn waiters_share_a_round() {
        const THREADS: u64 = 8;
        let group = Group::default();
        let (appended, rounds) = (AtomicU64::new(0), AtomicU64::new(0));
        std::thread::scope(|s| {
            for _ in 0..THREADS {
                s.spawn(|| {
                    let mine = appended.fetch_add(1, Ordering::SeqCst) + 1;
                    let lead = || {
                        // A slow round: everybody else comes meanwhile.
                        while appended.load(Ordering::SeqCst) < THREADS {
                            std::thread::yield_now();
                        }
                        rounds.fetch_add(1, Ordering::Relaxed);
                        Ok(at(THREADS))
                    };
                    group.reach(at(mine), || Ok(()), lead).unwrap();
                });
            }
        });
        assert_eq!(rounds.into_inner(), 1);
    }

    #[test]
    fn who_comes_during_a_round_waits_for_the_next() {
        let group = Group::default();
        let (appended, rounds) = (AtomicU64::new(0), AtomicU64::new(0));
        std::thread::scope(|s| {
            for _ in 0..8 {
                s.spawn(|| {
                    for _ in 0..500 {
                        let mine = appended.fetch_add(1, Ordering::SeqCst) + 1;
                        let lead = || {
                            rounds.fetch_add(1, Ordering::Relaxed);
                            Ok(at(appended.load(Ordering::SeqCst)))
                        };
                        group.reach(at(mine), || Ok(()), lead).unwrap();
                        assert!(group.lock().reached >= at(mine));
                    }
                });
            }
        });
        assert!(rounds.into_inner() <= 4000);
    }

    #[test]
    fn a_failed_leader_does_not_block_the_others() {
        let group = Group::default();
        let fail = || Err(Error::InvalidArgument("broken".into()));
        assert!(group.reach(at(1), || Ok(()), fail).is_err());
        let unusable = || Err(Error::Poisoned { reason: "broken".into() });
        assert!(matches!(group.reach(at(1), unusable, || Ok(at(1))), Err(Error::Poisoned { .. })));
        group.reach(at(1), || Ok(()), || Ok(at(1))).unwrap();
    }
}
