//! Short queries are answered where they are asked: to wake a thread for one, and to be woken by it, takes longer than many of
//! them do.
//!
//! Which are short is found out: a query is begun so, and begun again on a thread of its own when it takes longer than
//! [`BRIEF`], comes to a block that is not open, or to more rows than a first piece holds. One that was begun in vain goes to a
//! thread at once when it is asked next; after another time in vain, the next three times, then seven: see [`LongQueries`].

use super::{FIRST_PIECE_BYTES, Question, has_run};
use crate::app::Shared;
use crate::auth::Access;
use crate::error::{ApiError, ApiResult};
use duramen::block::BlockHandle;
use duramen_query::{Cancel, Error, ResultRow, RunStats, Text};
use foldhash::fast::FixedState;
use std::hash::{BuildHasher, Hash, Hasher};
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The most that a query may take where it is asked: whoever asks is not seen to leave meanwhile.
const BRIEF: Duration = Duration::from_millis(2);
/// Of so many queries, about, it is known that they were begun in vain.
const LONG_QUERIES: usize = 256;
/// The most times that one goes to a thread at once because of that.
const MOST_SKIPS: u64 = 255;

/// Queries that were begun in vain when they were last. Of two that share a place, one is forgotten.
///
/// ```text
/// place   key, without its last 16 bits | how often it goes to a thread, 8 bits | how often it still does, 8 bits
/// ```
#[derive(Debug)]
pub(crate) struct LongQueries([AtomicU64; LONG_QUERIES]);

impl LongQueries {
    pub fn new() -> Self {
        Self([const { AtomicU64::new(0) }; LONG_QUERIES])
    }

    /// What a query is known by: how it was written, for relative times are the same then.
    pub fn key<'t>(written: impl Iterator<Item = (&'t str, &'t str)>) -> u64 {
        let mut hasher = FixedState::default().build_hasher();
        written.for_each(|pair| pair.hash(&mut hasher));
        hasher.finish()
    }

    /// Whether to begin it where it is asked. Two that ask at once may be told the same.
    fn is_begun(&self, key: u64) -> bool {
        let place = self.place(key).load(Ordering::Relaxed);
        let is_skipped = place >> 16 == key >> 16 && place & 0xff > 0;
        if is_skipped {
            self.place(key).store(place - 1, Ordering::Relaxed);
        }
        !is_skipped
    }

    /// Learns how that went.
    fn was(&self, key: u64, in_vain: bool) {
        let place = self.place(key).load(Ordering::Relaxed);
        let is_known = place >> 16 == key >> 16;
        if in_vain {
            let before = if is_known { place >> 8 & 0xff } else { 0 };
            let skips = (2 * before + 1).min(MOST_SKIPS);
            self.place(key).store(key >> 16 << 16 | skips << 8 | skips, Ordering::Relaxed);
        } else if is_known {
            self.place(key).store(0, Ordering::Relaxed);
        }
    }

    fn place(&self, key: u64) -> &AtomicU64 {
        &self.0[key as usize % LONG_QUERIES]
    }
}

/// What `run` makes of the question, if that is soon there and it says so; if not, the question's view of the store is kept for
/// the second time. Others may use the runtime meanwhile.
///
/// # Errors
/// As [`super::run`].
pub(super) fn attempt<T>(
    app: &Shared,
    access: &Access,
    question: &mut Question,
    run: impl FnOnce(&Question, Vec<Arc<dyn BlockHandle>>, &Cancel) -> Result<(Option<T>, RunStats), Error>,
) -> ApiResult<Option<(T, RunStats)>> {
    let key = FixedState::default().hash_one((&access.tenant.name, question.key));
    if !app.long_queries.is_begun(key) {
        return Ok(None);
    }
    let cancel = Cancel::brief(app.env.clock.clone(), BRIEF.min(question.timeout));
    let run = || {
        let view = question.view(access)?;
        question.snapshot = Some(view.clone());
        let blocks = question.blocks_of(&view);
        match cancel.check().and_then(|()| run(question, blocks, &cancel)) {
            Ok((Some(made), stats)) => Ok(Some((made, stats))),
            Ok((None, _)) | Err(Error::NotBrief) => Ok(None),
            Err(e) => Err(e.into()),
        }
    };
    // A panic is this query's, not its connection's, as on a thread of its own.
    let outcome = tokio::task::block_in_place(|| catch_unwind(AssertUnwindSafe(run)));
    let made = outcome.unwrap_or_else(|_| Err(ApiError::unavailable("the query broke off")))?;
    app.long_queries.was(key, made.is_none());
    if let Some((_, stats)) = &made {
        app.metrics.brief_query();
        has_run(app, stats);
    }
    Ok(made)
}

/// The whole answer, which begins with `head`, if it is soon there and no longer than a first piece.
///
/// # Errors
/// As [`super::pieces`].
pub(super) fn text(
    app: &Shared,
    access: &Access,
    question: &mut Question,
    head: &[u8],
    write: &(dyn Fn(&ResultRow, &mut Vec<u8>) + Sync),
) -> ApiResult<Option<Vec<u8>>> {
    let made = attempt(app, access, question, |question, blocks, cancel| {
        let (mut text, mut is_long) = (head.to_vec(), false);
        let take = |text: &mut Vec<u8>, _rows: usize| {
            is_long = text.len() >= FIRST_PIECE_BYTES;
            if is_long { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let to = Text { write, text: &mut text, take: Box::new(take) };
        let stats = question.query.write(blocks, &question.options, cancel, to)?;
        Ok(((!is_long).then_some(text), stats))
    })?;
    Ok(made.map(|(text, _)| text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_that_was_begun_in_vain_is_begun_less_often_until_it_is_not() {
        let key = |text: &str| LongQueries::key([("query", text), ("step", "1h")].into_iter());
        let (one, other) = (key("*"), key("error"));
        assert!(one == key("*") && one != other);
        let queries = LongQueries::new();
        let skipped = |key| (0..).take_while(|_| !queries.is_begun(key)).count();
        for expected in [0, 1, 3, 7, 15, 31, 63, 127, 255, 255] {
            assert_eq!((skipped(one), skipped(other)), (expected, 0));
            queries.was(one, true);
        }
        assert_eq!(skipped(one), 255);
        queries.was(other, false);
        queries.was(one, true);
        queries.was(one, false);
        assert_eq!(skipped(one), 0, "it was short");
        // More than there is room for: some are forgotten, none is mistaken for another.
        let keys: Vec<_> = (0..4 * LONG_QUERIES).map(|i| key(&i.to_string())).collect();
        keys.iter().step_by(2).for_each(|key| queries.was(*key, true));
        let long: Vec<_> = (0..keys.len()).filter(|i| !queries.is_begun(keys[*i])).collect();
        assert!((1..=LONG_QUERIES).contains(&long.len()) && long.iter().all(|i| i % 2 == 0));
    }
}
