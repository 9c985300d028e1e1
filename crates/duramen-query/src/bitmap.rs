//! A set of row numbers of one block: one bit a row.

use duramen::column::set_range;

/// A set of the rows of one block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bitmap {
    words: Vec<u64>,
    len: usize,
}

impl Bitmap {
    /// No row of `len`.
    pub fn none(len: usize) -> Self {
        Self { words: vec![0; len.div_ceil(64)], len }
    }

    /// All of `len` rows.
    pub fn all(len: usize) -> Self {
        let mut map = Self { words: vec![u64::MAX; len.div_ceil(64)], len };
        map.trim();
        map
    }

    /// The rows for which `test` holds.
    pub fn from_fn(len: usize, mut test: impl FnMut(usize) -> bool) -> Self {
        let mut map = Self::none(len);
        for (w, word) in map.words.iter_mut().enumerate() {
            let start = w * 64;
            for i in start..len.min(start + 64) {
                *word |= u64::from(test(i)) << (i - start);
            }
        }
        map
    }

    /// The rows whose bit is set in `words`, least significant first; missing words are zeros.
    pub fn from_words(mut words: Vec<u64>, len: usize) -> Self {
        words.resize(len.div_ceil(64), 0);
        let mut map = Self { words, len };
        map.trim();
        map
    }

    /// One bit a row, least significant first.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    fn trim(&mut self) {
        if let (Some(last), 1..) = (self.words.last_mut(), self.len % 64) {
            *last &= (1 << (self.len % 64)) - 1;
        }
    }

    /// Drops all rows but the first `n`.
    pub fn keep_first(&mut self, n: usize) {
        keep(self.words.iter_mut(), n, |word| word & !(1 << word.ilog2()));
    }

    /// Drops all rows but the last `n`.
    pub fn keep_last(&mut self, n: usize) {
        keep(self.words.iter_mut().rev(), n, |word| word & (word - 1));
    }

    /// How many rows the block has.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether no row is in the set.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|&w| w == 0)
    }

    /// How many rows are in the set.
    pub fn count(&self) -> usize {
        self.words.iter().map(|w| w.count_ones() as usize).sum()
    }

    /// Whether `row` is in the set; a row beyond the block is not.
    pub fn contains(&self, row: usize) -> bool {
        self.words.get(row / 64).is_some_and(|w| w >> (row % 64) & 1 == 1)
    }

    /// Adds a row of the block; one beyond it is ignored.
    pub fn insert(&mut self, row: usize) {
        if row < self.len {
            self.words[row / 64] |= 1 << (row % 64);
        }
    }

    /// Adds the rows `from..to`.
    pub fn insert_range(&mut self, from: usize, to: usize) {
        set_range(&mut self.words, from, to.min(self.len));
    }

    /// Keeps the rows for which `keep` holds.
    pub fn retain(&mut self, mut keep: impl FnMut(usize) -> bool) {
        for (i, word) in self.words.iter_mut().enumerate() {
            let mut rest = *word;
            while rest != 0 {
                let bit = rest.trailing_zeros() as usize;
                rest &= rest - 1;
                if !keep(i * 64 + bit) {
                    *word &= !(1 << bit);
                }
            }
        }
    }

    /// Keeps what is in `other`, too.
    pub fn intersect(&mut self, other: &Self) {
        self.words.iter_mut().zip(&other.words).for_each(|(a, b)| *a &= b);
    }

    /// Adds what is in `other`.
    pub fn union(&mut self, other: &Self) {
        self.words.iter_mut().zip(&other.words).for_each(|(a, b)| *a |= b);
    }

    /// Removes what is in `other`.
    pub fn subtract(&mut self, other: &Self) {
        self.words.iter_mut().zip(&other.words).for_each(|(a, b)| *a &= !b);
    }

    /// The rows in the set, ascending.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.words.iter().enumerate().flat_map(|(i, &word)| {
            let mut rest = word;
            std::iter::from_fn(move || {
                let bit = (rest != 0).then(|| rest.trailing_zeros() as usize)?;
                rest &= rest - 1;
                Some(i * 64 + bit)
            })
        })
    }
}

/// Leaves the first `n` rows of these words; `without_last` takes the last one from a word that is not 0.
fn keep<'w>(words: impl Iterator<Item = &'w mut u64>, mut n: usize, without_last: impl Fn(u64) -> u64) {
    for word in words {
        while word.count_ones() as usize > n {
            *word = without_last(*word);
        }
        n -= word.count_ones() as usize;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_of_every_length_agree_with_their_predicate() {
        for len in [0, 1, 63, 64, 65, 130] {
            let odd = Bitmap::from_fn(len, |i| i % 2 == 1);
            assert_eq!(odd.iter().collect::<Vec<_>>(), (0..len).filter(|i| i % 2 == 1).collect::<Vec<_>>());
            let mut rest = Bitmap::all(len);
            assert_eq!(rest.count(), len);
            rest.retain(|i| i % 2 == 1);
            assert_eq!(rest, odd);
            let mut rest = Bitmap::all(len);
            rest.subtract(&odd);
            assert_eq!(rest.count() + odd.count(), len);
            rest.intersect(&odd);
            assert!(rest.is_empty());
            for n in [0, 1, 5, 32, 64, 200] {
                let (mut first, mut last) = (odd.clone(), odd.clone());
                first.keep_first(n);
                last.keep_last(n);
                assert!(first.iter().eq(odd.iter().take(n)), "the first {n} of {len}");
                assert!(
                    last.iter().eq(odd.iter().skip(odd.count().saturating_sub(n))),
                    "the last {n} of {len}"
                );
            }
        }
    }
}
