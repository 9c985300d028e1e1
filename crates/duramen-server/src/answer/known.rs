//! How long queries took when they were last asked: so it is known how to begin them next.

use foldhash::fast::FixedState;
use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Of so many queries, about, something is known.
const KNOWN_QUERIES: usize = 256;
/// The most times that one goes to a thread at once because it was begun in vain.
const MOST_SKIPS: u64 = 255;
/// What took less is over at once. Others that are to be served by the same thread wait for it. After a pause of some milliseconds
/// a query takes four times as long as in a row, for the processor's caches are cold: it counts as what it is all the same.
const AT_ONCE: Duration = Duration::from_millis(1);

/// Queries that were begun in vain when they were last, or were over at once.
///
/// One that was begun in vain goes to a thread at once when it is asked next; after another time in vain, the next three times,
/// then seven. Of two that share a place, one is forgotten.
///
/// ```text
/// place   key, without its last 16 bits | how often it goes to a thread, 8 bits | how often it still does, 8 bits
/// ```
///
/// One that was over at once never goes to a thread.
#[derive(Debug)]
pub(crate) struct KnownQueries([AtomicU64; KNOWN_QUERIES]);

/// How to begin a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Begin {
    /// Where it is asked, and others wait: it was over at once.
    AtOnce,
    /// Where it is asked, while others are served: it may be short.
    Aside,
    /// On a thread of its own.
    OnThread,
}

/// What became of a query that was begun where it was asked.
#[derive(Clone, Copy, Debug)]
pub(super) enum Outcome {
    /// It was answered, after so long.
    Took(Duration),
    /// It was not short.
    InVain,
}

impl KnownQueries {
    pub fn new() -> Self {
        Self([const { AtomicU64::new(0) }; KNOWN_QUERIES])
    }

    /// What a query is known by: how it was written, for relative times are the same then.
    pub fn key<'t>(written: impl Iterator<Item = (&'t str, &'t str)>) -> u64 {
        let mut hasher = FixedState::default().build_hasher();
        written.for_each(|pair| pair.hash(&mut hasher));
        hasher.finish()
    }

    /// How to begin it. Two that ask at once may be told the same.
    pub(super) fn begin(&self, key: u64) -> Begin {
        let place = self.place(key).load(Ordering::Relaxed);
        if place >> 16 != key >> 16 {
            Begin::Aside
        } else if place & 0xff > 0 {
            self.place(key).store(place - 1, Ordering::Relaxed);
            Begin::OnThread
        } else if place >> 8 & 0xff > 0 {
            Begin::Aside
        } else {
            Begin::AtOnce
        }
    }

    /// Learns how that went.
    pub(super) fn was(&self, key: u64, outcome: Outcome) {
        let place = self.place(key).load(Ordering::Relaxed);
        let is_known = place >> 16 == key >> 16;
        let skips_before = place >> 8 & 0xff;
        let known = key >> 16 << 16;
        match outcome {
            Outcome::InVain => {
                let before = if is_known { skips_before } else { 0 };
                let skips = (2 * before + 1).min(MOST_SKIPS);
                self.place(key).store(known | skips << 8 | skips, Ordering::Relaxed);
            }
            // To know what is begun in vain saves more.
            Outcome::Took(took) if took < AT_ONCE && (is_known || skips_before == 0) => {
                self.place(key).store(known, Ordering::Relaxed);
            }
            Outcome::Took(_) if is_known => self.place(key).store(0, Ordering::Relaxed),
            Outcome::Took(_) => {}
        }
    }

    fn place(&self, key: u64) -> &AtomicU64 {
        &self.0[key as usize % KNOWN_QUERIES]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> u64 {
        KnownQueries::key([("query", text), ("step", "1h")].into_iter())
    }

    #[test]
    fn a_query_that_was_begun_in_vain_is_begun_less_often_until_it_is_not() {
        let (one, other) = (key("*"), key("error"));
        assert!(one == key("*") && one != other);
        let queries = KnownQueries::new();
        let skipped = |key| (0..).take_while(|_| queries.begin(key) == Begin::OnThread).count();
        for expected in [0, 1, 3, 7, 15, 31, 63, 127, 255, 255] {
            assert_eq!((skipped(one), skipped(other)), (expected, 0));
            queries.was(one, Outcome::InVain);
        }
        assert_eq!(skipped(one), 255);
        queries.was(other, Outcome::Took(AT_ONCE));
        queries.was(one, Outcome::InVain);
        queries.was(one, Outcome::Took(AT_ONCE));
        assert_eq!(skipped(one), 0, "it was short");
        // More than there is room for: some are forgotten, none is mistaken for another.
        let keys: Vec<_> = (0..4 * KNOWN_QUERIES).map(|i| key(&i.to_string())).collect();
        keys.iter().step_by(2).for_each(|key| queries.was(*key, Outcome::InVain));
        let long: Vec<_> = (0..keys.len()).filter(|i| queries.begin(keys[*i]) == Begin::OnThread).collect();
        assert!((1..=KNOWN_QUERIES).contains(&long.len()) && long.iter().all(|i| i % 2 == 0));
    }

    #[test]
    fn others_wait_only_for_a_query_that_was_over_at_once() {
        let queries = KnownQueries::new();
        let one = key("*");
        assert_eq!(queries.begin(one), Begin::Aside, "nothing is known of it");
        let brief = Outcome::Took(AT_ONCE / 2);
        for (outcome, begin) in [
            (Outcome::Took(AT_ONCE), Begin::Aside),
            (brief, Begin::AtOnce),
            (brief, Begin::AtOnce),
            (Outcome::Took(AT_ONCE), Begin::Aside),
            (brief, Begin::AtOnce),
            (Outcome::InVain, Begin::OnThread),
        ] {
            queries.was(one, outcome);
            assert_eq!(queries.begin(one), begin, "{outcome:?}");
        }
        assert_eq!(queries.begin(one), Begin::Aside, "it may be short by now");
        queries.was(one, brief);
        assert_eq!(queries.begin(one), Begin::AtOnce);
        // One that is begun in vain is not forgotten for one that is over at once; the other way round it is.
        let same_place = |i: &u64| *i % KNOWN_QUERIES as u64 == one % KNOWN_QUERIES as u64;
        let other = (0..).map(|i: u64| key(&i.to_string())).find(same_place).unwrap();
        queries.was(other, Outcome::InVain);
        assert_eq!((queries.begin(other), queries.begin(one)), (Begin::OnThread, Begin::Aside));
        queries.was(one, brief);
        assert_eq!((queries.begin(other), queries.begin(one)), (Begin::Aside, Begin::Aside));
    }
}
