//! Integers in memory, in as few bytes each as the greatest of them needs: most columns are of small numbers, and what
//! takes fewer bytes is read faster, and stays in the cache for longer.

use crate::column::{ColumnData, bit};

/// Whole numbers from 0 on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Narrow {
    /// Up to 255.
    U8(Vec<u8>),
    /// Up to 65,535.
    U16(Vec<u16>),
    /// Up to 4,294,967,295.
    U32(Vec<u32>),
}

impl Narrow {
    /// Of numbers that are at most `greatest`.
    fn collect(greatest: usize, numbers: impl Iterator<Item = u32>) -> Self {
        if greatest <= usize::from(u8::MAX) {
            Self::U8(numbers.map(|n| n as u8).collect())
        } else if greatest <= usize::from(u16::MAX) {
            Self::U16(numbers.map(|n| n as u16).collect())
        } else {
            Self::U32(numbers.collect())
        }
    }

    /// One number.
    pub fn get(&self, i: usize) -> u32 {
        match self {
            Self::U8(numbers) => u32::from(numbers[i]),
            Self::U16(numbers) => u32::from(numbers[i]),
            Self::U32(numbers) => numbers[i],
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::U8(numbers) => numbers.len(),
            Self::U16(numbers) => numbers.len(),
            Self::U32(numbers) => numbers.len(),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::U8(numbers) => numbers.len(),
            Self::U16(numbers) => numbers.len() * 2,
            Self::U32(numbers) => numbers.len() * 4,
        }
    }

    /// One number a slot from one a set bit, the others 0.
    fn spread(self, map: Option<&[u64]>, slots: usize) -> Self {
        match self {
            Self::U8(numbers) => Self::U8(spread(numbers, map, slots)),
            Self::U16(numbers) => Self::U16(spread(numbers, map, slots)),
            Self::U32(numbers) => Self::U32(spread(numbers, map, slots)),
        }
    }
}

/// One value a slot from one a set bit; without a map, they are that.
pub(crate) fn spread<T: Copy + Default>(values: Vec<T>, map: Option<&[u64]>, slots: usize) -> Vec<T> {
    let Some(map) = map else { return values };
    let mut out = vec![T::default(); slots];
    let mut values = values.into_iter();
    for (slots, &word) in out.chunks_mut(64).zip(map) {
        let mut left = word;
        while left != 0 {
            let slot = slots.get_mut(left.trailing_zeros() as usize);
            if let (Some(slot), Some(value)) = (slot, values.next()) {
                *slot = value;
            }
            left &= left - 1;
        }
    }
    out
}

/// Which of a column's distinct texts is in each slot. 0 is none, n the text n-1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Codes(Narrow);

impl Codes {
    /// Of a column with so many texts. A code that is not of one of them is [`ColumnData::ABSENT`].
    ///
    /// ```
    /// use duramen::column::{Codes, ColumnData};
    /// let codes = Codes::new(2, [0, ColumnData::ABSENT, 1]);
    /// assert_eq!((codes.get(0), codes.get(1), codes.get(2)), (0, ColumnData::ABSENT, 1));
    /// ```
    pub fn new(texts: usize, codes: impl IntoIterator<Item = u32>) -> Self {
        let number = |code: u32| if (code as usize) < texts { code + 1 } else { 0 };
        Self(Narrow::collect(texts, codes.into_iter().map(number)))
    }

    /// The first text where a bit is set, none elsewhere.
    pub(crate) fn of_map(map: &[u64], slots: usize) -> Self {
        Self(Narrow::U8((0..slots).map(|slot| u8::from(bit(map, slot))).collect()))
    }

    /// One code a slot from one a set bit.
    pub(crate) fn spread(self, map: Option<&[u64]>, slots: usize) -> Self {
        Self(self.0.spread(map, slots))
    }

    /// The code in a slot.
    pub fn get(&self, slot: usize) -> u32 {
        self.0.get(slot).wrapping_sub(1)
    }

    /// How many slots there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The code of each slot, plus 1; 0 is [`ColumnData::ABSENT`].
    pub fn numbers(&self) -> &Narrow {
        &self.0
    }

    pub(crate) fn bytes(&self) -> usize {
        self.0.bytes()
    }
}

/// Integers, one a slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ints {
    min: i64,
    max: i64,
    held: Held,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Held {
    /// What they are above the smallest.
    Above(Narrow),
    /// As they are.
    Wide(Vec<i64>),
}

impl Ints {
    /// These integers.
    ///
    /// ```
    /// use duramen::column::Ints;
    /// let codes = Ints::new(vec![404, 200, 503]);
    /// assert_eq!((codes.get(0), codes.range()), (404, (200, 503)));
    /// ```
    pub fn new(values: Vec<i64>) -> Self {
        // Not by the iterator's `min` and `max`, which go by references, one by one.
        let (min, max) = values.iter().fold((i64::MAX, i64::MIN), |(min, max), &n| (min.min(n), max.max(n)));
        let held = match max.checked_sub(min).map(u32::try_from) {
            Some(Ok(span)) => {
                Held::Above(Narrow::collect(span as usize, values.iter().map(|n| (n - min) as u32)))
            }
            _ => Held::Wide(values),
        };
        Self { min, max, held }
    }

    /// One value a slot from one a set bit; what is in the other slots means nothing.
    pub(crate) fn spread(self, map: Option<&[u64]>, slots: usize) -> Self {
        let held = match self.held {
            Held::Above(above) => Held::Above(above.spread(map, slots)),
            Held::Wide(values) => Held::Wide(spread(values, map, slots)),
        };
        Self { held, ..self }
    }

    /// The integer in a slot.
    #[inline]
    pub fn get(&self, slot: usize) -> i64 {
        match &self.held {
            Held::Above(above) => self.min.wrapping_add(i64::from(above.get(slot))),
            Held::Wide(values) => values[slot],
        }
    }

    /// How many slots there are.
    pub fn len(&self) -> usize {
        match &self.held {
            Held::Above(above) => above.len(),
            Held::Wide(values) => values.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The smallest and the greatest; of none, the first is greater than the second.
    pub fn range(&self) -> (i64, i64) {
        (self.min, self.max)
    }

    /// What each is above the smallest, where that is below 2^32 for all.
    pub fn above(&self) -> Option<&Narrow> {
        match &self.held {
            Held::Above(above) => Some(above),
            Held::Wide(_) => None,
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        match &self.held {
            Held::Above(above) => above.bytes(),
            Held::Wide(values) => values.len() * 8,
        }
    }
}

impl ColumnData {
    /// The first text where a bit is set, none elsewhere.
    pub(crate) fn where_set(text: Box<str>, map: &[u64], slots: usize) -> Self {
        Self::Dict { values: [text].iter().collect(), codes: Codes::of_map(map, slots) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greatest_of_each_width_and_the_next_are_what_they_were() {
        for greatest in [255, 65_535, i64::from(u32::MAX), i64::MAX - 1].into_iter().flat_map(|n| [n, n + 1])
        {
            for min in [0, i64::MIN, i64::MAX - greatest] {
                let values = vec![min, min + greatest, min + greatest / 2];
                let ints = Ints::new(values.clone());
                assert_eq!((0..3).map(|i| ints.get(i)).collect::<Vec<_>>(), values);
                assert_eq!(ints.above().is_some(), greatest <= i64::from(u32::MAX));
            }
        }
        let all = Ints::new(vec![i64::MIN, i64::MAX]);
        assert_eq!((all.get(0), all.get(1), all.above()), (i64::MIN, i64::MAX, None));
        for texts in [1, 254, 255, 256, 65_534, 65_535, 65_536] {
            let codes = Codes::new(texts, [0, texts as u32 - 1, texts as u32, ColumnData::ABSENT]);
            let held: Vec<u32> = (0..4).map(|slot| codes.get(slot)).collect();
            assert_eq!(held, [0, texts as u32 - 1, ColumnData::ABSENT, ColumnData::ABSENT], "of {texts}");
        }
    }

    proptest::proptest! {
        #[test]
        fn integers_and_codes_are_what_they_were(
            small in proptest::collection::vec(0..300u32, 0..200),
            shift in 0..64u32, base: i64, texts in 0..70_000usize,
        ) {
            let values: Vec<i64> = small.iter().map(|&n| base.wrapping_add(i64::from(n) << shift)).collect();
            let ints = Ints::new(values.clone());
            assert_eq!((0..ints.len()).map(|i| ints.get(i)).collect::<Vec<_>>(), values);
            let range = (values.iter().copied().min().unwrap_or(i64::MAX), values.iter().copied().max().unwrap_or(i64::MIN));
            assert_eq!(ints.range(), range);
            let codes: Vec<u32> = small.iter().map(|n| n.wrapping_mul(241)).collect();
            let expected = codes.iter().map(|&code| if (code as usize) < texts { code } else { ColumnData::ABSENT });
            let held = Codes::new(texts, codes.clone());
            assert!((0..held.len()).map(|slot| held.get(slot)).eq(expected));
        }

        #[test]
        fn values_are_spread_over_the_slots_that_have_one(has in proptest::collection::vec(proptest::bool::ANY, 0..200), wide: bool) {
            let mut map = vec![0u64; has.len().div_ceil(64)];
            (0..has.len()).filter(|&i| has[i]).for_each(|i| map[i / 64] |= 1 << (i % 64));
            let scale = if wide { 1 << 40 } else { 1 };
            let value = |slot: usize| slot as i64 * scale - 7;
            let dense: Vec<i64> = (0..has.len()).filter(|&slot| has[slot]).map(value).collect();
            let ints = Ints::new(dense).spread(Some(&map), has.len());
            assert_eq!(ints.len(), has.len());
            let codes = Codes::of_map(&map, has.len());
            for (slot, &has) in has.iter().enumerate() {
                assert!(!has || ints.get(slot) == value(slot));
                assert_eq!(codes.get(slot), if has { 0 } else { ColumnData::ABSENT });
            }
        }
    }
}
