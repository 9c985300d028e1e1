//! Short queries are answered where they are asked: to wake a thread for one, and to be woken by it, takes longer than many of
//! them do.
//!
//! Which are short is found out: each is begun so, but those that lately were not, and begun again on a thread of its own when
//! it takes longer than [`BRIEF`], or comes to a block that is not in memory, or to more rows than a first piece holds.

use super::{FIRST_PIECE_BYTES, Question, has_run};
use crate::app::Shared;
use crate::auth::Access;
use crate::error::ApiResult;
use duramen_query::{Cancel, Error, ResultRow, Text};
use foldhash::fast::FixedState;
use std::hash::BuildHasher;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The most that a query may take where it is asked: whoever asks is not seen to leave meanwhile.
const BRIEF: Duration = Duration::from_millis(2);
/// Of so many queries, about, it is known that they are long.
const LONG_QUERIES: usize = 256;

/// Queries that took longer than [`BRIEF`] when they were asked last. Of two that share a place, one is forgotten.
#[derive(Debug)]
pub(crate) struct LongQueries {
    places: [AtomicU64; LONG_QUERIES],
}

impl LongQueries {
    pub fn new() -> Self {
        Self { places: [const { AtomicU64::new(0) }; LONG_QUERIES] }
    }

    /// What a query is known by: as it was written, for relative times are the same then.
    pub fn key(text: &str) -> u64 {
        FixedState::default().hash_one(text)
    }

    fn has(&self, key: u64) -> bool {
        self.place(key).load(Ordering::Relaxed) == key
    }

    /// Learns how long a query took. One that was long is short again when it takes half of [`BRIEF`], so that nothing is begun
    /// in vain again and again.
    pub fn took(&self, key: u64, time: Duration) {
        let place = self.place(key);
        if time > BRIEF {
            place.store(key, Ordering::Relaxed);
        } else if time <= BRIEF / 2 && self.has(key) {
            place.store(0, Ordering::Relaxed);
        }
    }

    fn place(&self, key: u64) -> &AtomicU64 {
        &self.places[key as usize % LONG_QUERIES]
    }
}

/// The whole answer, which begins with `head`, if that is soon there; if not, the question's view of the store is kept for the
/// second time. Others may use the runtime meanwhile.
///
/// # Errors
/// As [`super::pieces`].
pub(super) fn answer(
    app: &Shared,
    access: &Access,
    question: &mut Question,
    head: &[u8],
    write: &(dyn Fn(&ResultRow, &mut Vec<u8>) + Sync),
) -> ApiResult<Option<Vec<u8>>> {
    if app.long_queries.has(question.key) {
        return Ok(None);
    }
    tokio::task::block_in_place(|| {
        question.snapshot = Some(question.view(access)?);
        let blocks = question.blocks(access)?;
        let cancel = Cancel::brief(app.env.clock.clone(), BRIEF.min(question.timeout));
        let (mut text, mut is_long) = (head.to_vec(), false);
        let take = |text: &mut Vec<u8>, _rows: usize| {
            is_long = text.len() >= FIRST_PIECE_BYTES;
            if is_long { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let text_of = Text { write, text: &mut text, take: Box::new(take) };
        let outcome = question.query.write(blocks, &question.options, &cancel, text_of);
        match outcome {
            Ok(_) if is_long => Ok(None),
            Ok(stats) => {
                has_run(app, &stats);
                Ok(Some(text))
            }
            Err(Error::NotBrief) => Ok(None),
            Err(e) => Err(e.into()),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_long_if_it_was_so_last() {
        let (long, between, short) = (BRIEF + Duration::from_nanos(1), BRIEF, BRIEF / 2);
        let queries = LongQueries::new();
        let [one, other] = ["*", "error"].map(LongQueries::key);
        assert_eq!(one, LongQueries::key("*"));
        assert!(!queries.has(one) && one != other);
        queries.took(one, long);
        assert!(queries.has(one) && !queries.has(other));
        queries.took(other, short);
        queries.took(one, between);
        assert!(queries.has(one));
        queries.took(one, short);
        assert!(!queries.has(one));
        // More than there is room for: some are forgotten, none is mistaken for another.
        let keys: Vec<_> = (0..4 * LONG_QUERIES).map(|i| LongQueries::key(&i.to_string())).collect();
        keys.iter().step_by(2).for_each(|key| queries.took(*key, long));
        let long: Vec<_> = (0..keys.len()).filter(|i| queries.has(keys[*i])).collect();
        assert!((1..=LONG_QUERIES).contains(&long.len()) && long.iter().all(|i| i % 2 == 0));
    }
}
