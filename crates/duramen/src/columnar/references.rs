//! Which columns repeat the values of others: a line is kept whole as the message, and its fields are parts
//! of it; a JSON record has its trace id as a field and in its text.
//!
//! A look at some rows tells which fields' values occur in a column's texts, and in which order. Then, row by
//! row, they are searched for in that order, each behind the one before; what is found becomes a reference of
//! the row's template. A wrong find costs nothing but a less common template: the text comes back all the same.

use super::columnize::{Collected, Columnizer, Form};
use super::template::{Hit, MAX_TEXT_BYTES};
use super::texts::integer_in;
use super::words::Words;
use crate::column::{IntText, bit};
use memchr::{memchr_iter, memmem};

/// How many texts are looked at.
const SAMPLE: usize = 48;
/// Texts that are shorter on average have no parts worth a reference.
const MIN_TEXT_BYTES: usize = 16;
/// Values that are shorter on average are cheaper as they are.
const MIN_VALUE_BYTES: usize = 2;
/// So many places where a value's first byte is are looked at before the value is searched for otherwise.
const MOST_TRIES: usize = 16;
/// So many bytes of texts are gone through to learn who refers to whom, shared by all columns with texts: many times what the
/// columns of most blocks take. Every column may refer to every other, and some blocks have thousands.
const MOST_SEARCHED_BYTES: usize = 64 << 20;
/// What a search costs however short the text is, as if it had so many bytes more.
const SEARCH_BYTES: usize = 64;
/// A reference pays if it is used so often.
const MIN_USES: usize = 3;
/// The most columns that one may refer to.
pub(crate) const MAX_SOURCES: usize = 48;

/// For each column, which others its texts refer to, in order; empty for most.
#[derive(Debug, Default)]
pub(crate) struct References {
    pub(crate) sources: Vec<Vec<usize>>,
    /// Per column with a map: how many values lie before each word of the map.
    ranks: Vec<Vec<u32>>,
}

fn is_word(c: u8) -> bool {
    c.is_ascii_alphanumeric() || c == b'_' || c >= 0x80
}

/// Whether `value` stands at `at` without being part of a longer word.
fn stands_at(text: &[u8], at: usize, value: &[u8]) -> bool {
    let (Some(&first), Some(&last)) = (value.first(), value.last()) else { return false };
    let Some(rest) = text.get(at..) else { return false };
    let joined_before = || at > 0 && is_word(text[at - 1]) && is_word(first);
    let joined_after = || rest.get(value.len()).is_some_and(|&c| is_word(c)) && is_word(last);
    rest.starts_with(value) && !joined_before() && !joined_after()
}

/// Where `value` first is in `text`. Its first byte leads there, mostly: to prepare a search for all of it takes longer than to
/// go through a line. Not for ever, where that byte is everywhere.
fn position(text: &[u8], value: &[u8]) -> Option<usize> {
    let &first = value.first()?;
    for (tries, at) in memchr_iter(first, text).enumerate() {
        if tries == MOST_TRIES {
            return memmem::find(&text[at..], value).map(|found| at + found);
        }
        if text[at..].starts_with(value) {
            return Some(at);
        }
    }
    None
}

/// Where `value` first stands in `text` from `from` on without being part of a longer word.
fn find(text: &[u8], from: usize, value: &[u8]) -> Option<usize> {
    if value.is_empty() {
        return None;
    }
    let mut from = from;
    loop {
        let at = from + position(text.get(from..)?, value)?;
        if stands_at(text, at, value) {
            return Some(at);
        }
        // A value that begins a word stands nowhere further on in the word that was met.
        let begins_word = value.first().is_some_and(|&c| is_word(c));
        let word = if begins_word { text[at..].iter().take_while(|&&c| is_word(c)).count() } else { 0 };
        from = at + word.max(1);
    }
}

/// The mean length of a column's values in bytes, from some.
fn mean_len(column: &Collected) -> usize {
    let mut digits = IntText::default();
    let step = (column.count / SAMPLE).max(1);
    let (mut total, mut seen) = (0, 0);
    for i in (0..column.count).step_by(step) {
        total += column.text(i, &mut digits).len();
        seen += 1;
    }
    total / seen.max(1)
}

impl References {
    /// Looks for references in the columns.
    pub(crate) fn learn(&mut self, c: &Columnizer) {
        let columns = c.columns();
        self.sources.clear();
        self.sources.resize(columns.len(), Vec::new());
        self.ranks.clear();
        for column in columns {
            let mut before = 0;
            let rank = |word: &u64| {
                let rank = before;
                before += word.count_ones();
                rank
            };
            self.ranks.push(column.present.iter().map(rank).collect());
        }
        let lens: Vec<usize> = columns.iter().map(mean_len).collect();
        let mut users: Vec<usize> = (0..columns.len())
            .filter(|&i| {
                columns[i].form == Form::Texts && columns[i].count >= MIN_USES && lens[i] >= MIN_TEXT_BYTES
            })
            .collect();
        users.sort_by_key(|&i| (lens[i], i));
        let most_bytes = MOST_SEARCHED_BYTES / users.len().max(1);
        for user in users {
            let candidates = (0..columns.len()).filter(|&i| {
                let varies = match columns[i].form {
                    Form::Dictionary => columns[i].texts.len() > 1,
                    Form::Ints | Form::Texts => true,
                    Form::Empty | Form::Alias => false,
                };
                // What refers itself is not referred to, so that no circle comes about.
                varies
                    && columns[i].count > 0
                    && (lens[i], i) < (lens[user], user)
                    && lens[i] >= MIN_VALUE_BYTES
                    && self.sources[i].is_empty()
            });
            self.sources[user] = self.choose(columns, user, candidates, &lens, most_bytes);
        }
    }

    /// The candidates whose values are found in the texts of `user`, in the order in which they are; of those that can be
    /// looked for in so many bytes.
    fn choose(
        &self,
        columns: &[Collected],
        user: usize,
        candidates: impl Iterator<Item = usize>,
        lens: &[usize],
        most_bytes: usize,
    ) -> Vec<usize> {
        let texts = &columns[user];
        let step = (texts.count / SAMPLE).max(1);
        let sample: Vec<(usize, &[u8])> = self
            .slots(texts)
            .enumerate()
            .step_by(step)
            .map(|(i, slot)| (slot, texts.texts.get(i)))
            .filter(|(_, text)| text.len() <= MAX_TEXT_BYTES)
            .collect();
        let mut digits = IntText::default();
        let mut found: Vec<(usize, usize)> = Vec::new();
        let mut searched_bytes = 0;
        for candidate in candidates {
            if searched_bytes >= most_bytes {
                break;
            }
            searched_bytes += SEARCH_BYTES;
            let mut present = 0;
            let mut positions: Vec<usize> = Vec::new();
            for (slot, text) in &sample {
                let Some(value) = self.value(columns, candidate, *slot, &mut digits) else { continue };
                present += 1;
                searched_bytes += text.len() + SEARCH_BYTES;
                if let Some(at) = find(text, 0, value) {
                    positions.push(at * 1000 / text.len().max(1));
                }
                // Most columns are in no text at all: that shows soon.
                if present >= 12 && positions.len() * 6 < present {
                    break;
                }
            }
            if positions.len() >= MIN_USES && positions.len() * 2 >= present {
                // The median: short values are sometimes found far from where they belong.
                positions.sort_unstable();
                found.push((positions[positions.len() / 2], candidate));
            }
        }
        if found.is_empty() {
            return Vec::new();
        }
        found.sort_by_key(|&(position, i)| (position, std::cmp::Reverse(lens[i]), i));
        found.truncate(MAX_SOURCES);
        let ordered: Vec<usize> = found.into_iter().map(|(_, i)| i).collect();
        let mut gaps = vec![usize::MAX; ordered.len()];
        let mut uses = vec![0usize; columns.len()];
        let mut hits = Vec::new();
        for &(slot, text) in &sample {
            hits.clear();
            self.search(columns, &ordered, slot, text, 0, |i| i as u32, &mut gaps, &mut hits);
            hits.iter().for_each(|h| uses[h.column as usize] += 1);
        }
        ordered
            .into_iter()
            .filter(|&i| uses[i] >= MIN_USES && uses[i] * 4 >= sample.len().min(columns[i].count))
            .collect()
    }

    /// The slots that have a value.
    pub(crate) fn slots_of(&self, column: &Collected) -> Vec<u32> {
        self.slots(column).map(|slot| slot as u32).collect()
    }

    fn slots<'a>(&self, column: &'a Collected) -> impl Iterator<Item = usize> + use<'a> {
        let all = column.present.is_empty();
        let end = if all { column.count } else { column.present.len() * 64 };
        (0..end).filter(move |&slot| all || bit(&column.present, slot))
    }

    /// The text of a column in a slot.
    fn value<'a>(
        &self,
        columns: &'a [Collected],
        i: usize,
        slot: usize,
        digits: &'a mut IntText,
    ) -> Option<&'a [u8]> {
        let column = &columns[i];
        let at = if column.present.is_empty() {
            (slot < column.count).then_some(slot)?
        } else {
            let word = column.present.get(slot / 64)?;
            if word >> (slot % 64) & 1 == 0 {
                return None;
            }
            self.ranks[i][slot / 64] as usize + (word & ((1 << (slot % 64)) - 1)).count_ones() as usize
        };
        Some(column.text(at, digits))
    }

    /// Searches `text`, which begins at `base` of its buffer, for the values of the columns in `order`. `gaps`
    /// remembers how far behind the one before each was found last time: it mostly is there again.
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn search(
        &self,
        columns: &[Collected],
        order: &[usize],
        slot: usize,
        text: &[u8],
        base: usize,
        number_of: impl Fn(usize) -> u32,
        gaps: &mut [usize],
        hits: &mut Vec<Hit>,
    ) {
        // They are kept whole, whatever is in them.
        if text.len() > MAX_TEXT_BYTES {
            return;
        }
        let mut digits = IntText::default();
        let mut from = 0usize;
        for (&i, gap) in order.iter().zip(gaps) {
            let Some(value) = self.value(columns, i, slot, &mut digits) else { continue };
            let guess = from.saturating_add(*gap);
            let found = if stands_at(text, guess, value) { Some(guess) } else { find(text, from, value) };
            if let Some(at) = found {
                *gap = at - from;
                from = at + value.len();
                hits.push(Hit { start: (base + at) as u32, end: (base + from) as u32, column: number_of(i) });
            }
        }
    }

    /// Adds the words of the columns that `user` refers to, of those whose words are not added anyway: integers.
    pub(crate) fn add_words(&self, columns: &[Collected], user: usize, words: &mut Words) {
        let mut digits = IntText::default();
        for &i in &self.sources[user] {
            let column = &columns[i];
            if column.form == Form::Ints {
                let mut last = None;
                for &n in &column.ints {
                    if last != Some(n) {
                        words.add(digits.format(n).as_bytes());
                        last = Some(n);
                    }
                }
            } else if (0..column.texts.len()).all(|t| integer_in(column.texts.get(t)).is_some()) {
                // It is written as one of integers.
                (0..column.texts.len()).for_each(|t| words.add(column.texts.get(t)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_found_where_it_is_no_part_of_a_word() {
        assert_eq!(find(b"x200 GET /a200 200", 0, b"200"), Some(15));
        assert_eq!(find(b"200", 1, b"200"), None);
        assert_eq!(find(b"a/b", 0, b"/b"), Some(1));
        assert_eq!(find("é1".as_bytes(), 0, b"1"), None);
        assert_eq!(find(b"a", 0, b""), None);
        let many = [b"a b ".repeat(MOST_TRIES * 2), b"a c a d".to_vec()].concat();
        assert_eq!(find(&many, 0, b"a d"), Some(many.len() - 3));
        assert_eq!(find(&many, 0, b"a e"), None);
        assert_eq!(find(b"", 0, b"a"), None);
        // What was met is gone on behind, even where the value would stand in the midst of it.
        assert_eq!(find(b"aaaa aaa", 0, b"aaa"), Some(5));
        assert_eq!(find(b"-a-a-ab -a-a", 3, b"-a-a"), Some(8));
    }
}
