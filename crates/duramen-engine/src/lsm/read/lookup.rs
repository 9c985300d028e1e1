//! One key, source by source.

use super::tombstones::RangeTombstones;
use crate::Result;
use crate::kv::{OpKind, Value};
use crate::lsm::cursor::Found;

/// Looks for one key in sources that are given from the newest to the oldest: what is in a source is newer, for this
/// key, than everything in the sources after it. So the first source that knows of the key answers.
#[derive(Debug)]
pub(crate) struct Lookup<'a> {
    key: &'a [u8],
    at_seq: u64,
    /// The newest tombstone, of the sources so far, that covers the key.
    covering_seq: u64,
}

/// What a reader is told about a key, once it is known.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    /// It has this value.
    Here(Value),
    /// It is deleted.
    Gone,
    /// What is older has to be asked.
    Unknown,
}

impl<'a> Lookup<'a> {
    /// As a reader at `at_seq` sees the key.
    #[inline]
    pub(crate) fn new(key: &'a [u8], at_seq: u64) -> Self {
        Self { key, at_seq, covering_seq: 0 }
    }

    /// Asks the next older source: its deleted ranges, then `find`, which gives the newest version in it that is
    /// not newer than the reader. Once the answer is known, no other source need be asked.
    #[inline]
    pub(crate) fn ask(
        &mut self,
        tombstones: &RangeTombstones,
        find: impl FnOnce() -> Result<Option<Found>>,
    ) -> Result<Answer> {
        self.covered_at(tombstones.covering_seq(self.key, self.at_seq));
        Ok(self.judge(find()?))
    }

    /// Says that the next source has a tombstone that covers the key: for sources whose tombstones are found
    /// otherwise. Sequence number 0 says that it has none.
    #[inline]
    pub(crate) fn covered_at(&mut self, seq: u64) {
        self.covering_seq = self.covering_seq.max(seq);
    }

    /// What follows from what the source had, after [`Lookup::covered_at`] of the same source.
    #[inline]
    pub(crate) fn judge(&self, found: Option<Found>) -> Answer {
        match found {
            Some(found) if found.kind == OpKind::Put && found.seq > self.covering_seq => {
                Answer::Here(found.value)
            }
            None if self.covering_seq == 0 => Answer::Unknown,
            _ => Answer::Gone,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lsm::cursor::{Cursor, RangeTombstone};
    use crate::lsm::read::model::{Source, any_history, any_key, cut, read_at};
    use proptest::prelude::*;

    fn find(source: &Source, key: &[u8], seq: u64) -> Result<Option<Found>> {
        let mut cursor = source.cursor();
        cursor.seek(key, seq)?;
        let found =
            || Found { seq: cursor.seq(), kind: cursor.kind(), value: Value::owned(cursor.value().to_vec()) };
        Ok((cursor.valid() && cursor.key() == key).then(found))
    }

    proptest! {
        #[test]
        fn a_key_is_found_as_a_reader_sees_it(
            history in any_history(2, 60),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..5),
            questions in prop::collection::vec((any_key(), 0..60u64), 1..30),
        ) {
            let sources = cut(&history, cuts);
            for (key, seq) in questions {
                let mut lookup = Lookup::new(&key, seq);
                let mut answer = Answer::Unknown;
                for source in &sources {
                    answer = lookup.ask(&source.range_tombstones(), || find(source, &key, seq)).unwrap();
                    if !matches!(answer, Answer::Unknown) {
                        break;
                    }
                }
                let value = match answer {
                    Answer::Here(value) => Some(value.into_vec()),
                    Answer::Gone | Answer::Unknown => None,
                };
                prop_assert_eq!(value, read_at(&history, seq).remove(&key));
            }
        }
    }

    #[test]
    fn what_is_older_than_a_tombstone_is_not_asked() {
        let deleted = RangeTombstone { start: b"a".to_vec(), end: b"c".to_vec(), seq: 5 };
        let tombstones = RangeTombstones::new([&deleted]);
        let ask = |key: &[u8], seq| Lookup::new(key, seq).ask(&tombstones, || Ok(None)).unwrap();
        assert!(matches!(ask(b"b", 5), Answer::Gone));
        assert!(matches!(ask(b"b", 4), Answer::Unknown));
        assert!(matches!(ask(b"c", 5), Answer::Unknown));
    }
}
