//! Which words a column may have, told without decoding it.
//!
//! What is at hand answers first: the labels of streams, constants in the directory, the range of integers. Then
//! the block's filter, which does not know in which field a word is; and then, if the column is a small one,
//! its dictionary without the codes. What is sought in the midst of words is looked for in the block's grams.

use super::super::directory::{ColumnEntry, Form, Location};
use super::super::filter::{WordFilter, part_of};
use super::super::grams::GramFilter;
use super::super::labels::render;
use super::super::leaf;
use super::TableBlock;
use crate::block::names;
use crate::column::{ColumnData, IntText};
use crate::error::Result;
use crate::token;
use foldhash::fast::FixedState;
use hashbrown::HashSet;

/// Ranges of so many integers are tried one by one: some microseconds. HTTP's status codes are fewer.
const MAX_TRIED_INTEGERS: u64 = 1024;
/// Blocks of more streams are not searched for words of `_stream`: that would cost as much as the column.
const MAX_TRIED_STREAMS: usize = 1024;

/// Whether a text has a word of each of the hashes.
fn has_words(text: &str, hashes: &[u64]) -> bool {
    let all: HashSet<u64, FixedState> = token::words(text).map(token::hash).collect();
    hashes.iter().all(|h| all.contains(h))
}

/// Whether an integer from `min` to `max` may have a word of each of the hashes. Its digits are its only word.
fn integers_may_have(min: i64, max: i64, hashes: &[u64]) -> bool {
    let Some((&wanted, others)) = hashes.split_first() else { return true };
    if others.iter().any(|&h| h != wanted) {
        return false;
    }
    let (a, b) = (min.unsigned_abs(), max.unsigned_abs());
    let (low, high) = (if min <= 0 && max >= 0 { 0 } else { a.min(b) }, a.max(b));
    if min > max || high - low >= MAX_TRIED_INTEGERS {
        return true;
    }
    let mut digits = IntText::default();
    (low..=high).any(|n| match i64::try_from(n) {
        Ok(n) => token::hash(digits.format(n)) == wanted,
        Err(_) => token::hash(&n.to_string()) == wanted,
    })
}

/// Dictionaries of larger columns are not looked at before their column is decoded.
const LOOKED_AT_BYTES: usize = 48 << 10;

impl TableBlock {
    /// [`crate::block::Block::may_contain_words`].
    pub(super) fn may_contain(&self, name: &str, words: &[u64]) -> Result<bool> {
        if words.is_empty() {
            return Ok(true);
        }
        if name == names::STREAM {
            let sets = &**self.label_sets()?;
            return Ok(
                sets.len() > MAX_TRIED_STREAMS || sets.iter().any(|set| has_words(&render(set), words))
            );
        }
        // A field may be of the stream in some rows, and a plain one in others.
        if self.has_label(name) {
            let mut seen: HashSet<&str, FixedState> = HashSet::default();
            let labels = self.label_sets()?.iter().flatten().filter(|label| &*label.name == name);
            let mut distinct = labels.map(|label| &*label.value).filter(|value| seen.insert(value));
            if distinct.any(|value| has_words(value, words)) {
                return Ok(true);
            }
        }
        match self.number_of(name) {
            Some(i) => self.stored_may_contain(i, words),
            None => Ok(false),
        }
    }

    /// [`crate::block::Block::may_contain_grams`].
    pub(super) fn may_have_grams(&self, name: &str, grams: &[u32]) -> Result<bool> {
        if grams.is_empty() || name == names::STREAM || self.has_label(name) {
            return Ok(true);
        }
        let Some(i) = self.number_of(name) else { return Ok(false) };
        match (&self.directory.columns[i].form, self.directory.grams) {
            (Form::Texts { in_grams: true, .. }, Some(handle)) => self
                .grams
                .get_or_make(&self.clock, || GramFilter::read(&self.source.read_chunk(handle)?))
                .map(|filter| filter.may_contain(grams)),
            (Form::Alias, _) if name != names::MESSAGE => self.may_have_grams(names::MESSAGE, grams),
            _ => Ok(true),
        }
    }

    /// The same of a stored column.
    fn stored_may_contain(&self, i: usize, words: &[u64]) -> Result<bool> {
        let entry = &self.directory.columns[i];
        match &entry.form {
            Form::Constant(text) => return Ok(has_words(text, words)),
            Form::Integers { min, max, .. } => return Ok(integers_may_have(*min, *max, words)),
            // The filter does not have the words of messages that are integers.
            Form::Alias => {
                let message = self.number_of(names::MESSAGE).filter(|&message| message != i);
                return message.map_or(Ok(true), |message| self.stored_may_contain(message, words));
            }
            Form::Texts { .. } => {}
        }
        if !self.may_have(words)? {
            return Ok(false);
        }
        if let Some(column) = self.columns[i].get(&self.clock) {
            return Ok(match &column.data {
                ColumnData::Const(text) => has_words(text, words),
                ColumnData::Dict { values, .. } => values.iter().any(|v| has_words(v, words)),
                ColumnData::Int { .. } | ColumnData::Decimal { .. } | ColumnData::Text { .. } => true,
            });
        }
        match &entry.form {
            Form::Texts { at, .. } if entry.count > 0 && at.lens.iter().sum::<usize>() <= LOOKED_AT_BYTES => {
                self.dictionary_may_contain(entry, at, words)
            }
            _ => Ok(true),
        }
    }

    /// Whether some values may have all these words, in whichever fields: by its filter.
    ///
    /// # Errors
    /// If that cannot be read.
    pub(crate) fn may_have(&self, words: &[u64]) -> Result<bool> {
        for &hash in words {
            if !self.filter_may_contain(hash)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether the block may have the word with this hash, by its filter, of which one part is read.
    fn filter_may_contain(&self, hash: u64) -> Result<bool> {
        let parts = &self.filters;
        let part = part_of(hash, parts.len());
        let (Some(&handle), Some(cell)) = (parts.get(part), self.filter.get(part)) else { return Ok(true) };
        let read = || Ok(WordFilter::read(self.source.read_chunk(handle)?));
        Ok(cell.get_or_make(&self.clock, read)?.may_contain(hash))
    }

    /// The same of a small column: of its dictionary, if it has one.
    fn dictionary_may_contain(&self, entry: &ColumnEntry, at: &Location, words: &[u64]) -> Result<bool> {
        // What is looked at here is mostly read right after.
        self.with_part(at, false, |part| {
            if entry.kind.is_none() {
                part.bytes.take(entry.count)?;
            }
            let Some(values) = leaf::decode_distinct(part)? else { return Ok(true) };
            let text = |i| std::str::from_utf8(values.get(i)).unwrap_or_default();
            Ok((0..values.len()).any(|i| has_words(text(i), words)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_have_the_words_of_their_digits() {
        let has = |min, max, words: &[&str]| {
            integers_may_have(min, max, &words.iter().map(|w| token::hash(w)).collect::<Vec<_>>())
        };
        assert!(has(200, 599, &["404"]) && !has(200, 599, &["600"]) && !has(200, 599, &["ok"]));
        assert!(has(200, 599, &["404", "404"]) && !has(200, 599, &["404", "200"]));
        assert!(has(-7, -5, &["6"]) && !has(-7, -5, &["4"]) && has(-7, 2, &["0"]) && has(-2, 7, &["7"]));
        assert!(has(i64::MIN, i64::MIN, &["9223372036854775808"]) && !has(i64::MIN, i64::MIN, &["1"]));
        assert!(has(i64::MAX, i64::MAX, &["9223372036854775807"]));
        assert!(has(0, i64::MAX, &["no number"]), "too many to try");
        assert!(!has(0, i64::MAX, &["1", "2"]));
    }
}
