//! Integers that mostly follow from those of another column, the *key*: the agent from the address, the size of an answer from
//! its path. Where a row has the key of an earlier one, its integer is expected to be that one's; a bit says whether it is, and
//! only those that are not are kept.
//!
//! ```text
//! instead of a bundle's `bytes`:
//!   area           of its own integers: start varint, form u8
//!   area           of the key's integers, in the `bytes` of the key's bundle: the same
//!   count varint   how many integers it has
//!   count varint   how many the key has, which are as many or more
//!   3 or 4 times   method u8, stored_len varint, stored bytes:
//!     taken        only if the key has more: one bit for each of its integers, whether one of these has it
//!     rest         what is before and behind its integers
//!     as expected  one bit an integer
//!     others       as many planes as the integers have, of those that are not as expected: their lowest bytes
//!
//! form           how many planes, 1 to 4; 128 more: they are codes that say how recent a text is (`leaf`), and are compared
//!                as which text it is
//! ```
//!
//! Bits of a byte go from the lowest on. The integers are planes of `ints`; of a key not seen before, 0 is expected.

use super::bytes::{Reader, bad, put_varint};
use super::compress::{Zstd, expand};
use crate::error::Result;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use std::borrow::Cow;

/// The most planes.
const MAX_PLANES: usize = 4;
const RECENCY: u8 = 128;
/// Keys below this are looked up in a table.
const TABLE_LEN: usize = 1 << 18;

/// Where in a bundle's `bytes` integers lie, as planes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Area {
    pub(crate) start: usize,
    pub(crate) count: usize,
    pub(crate) planes: usize,
    /// Whether they are codes that say how recent a text is.
    pub(crate) is_recency: bool,
}

impl Area {
    fn len(self) -> usize {
        self.count * self.planes
    }

    fn write(self, out: &mut Vec<u8>) {
        put_varint(out, self.start as u64);
        out.push(self.planes as u8 | if self.is_recency { RECENCY } else { 0 });
    }

    /// Reads one of `bytes` bytes; its count is not known yet.
    fn read(r: &mut Reader<'_>, bytes: usize) -> Result<Self> {
        let start = r.count(bytes)?;
        let form = r.u8()?;
        let planes = usize::from(form & !RECENCY);
        if !(1..=MAX_PLANES).contains(&planes) {
            return Err(bad("integers that follow from others have an unknown form"));
        }
        Ok(Self { start, count: 0, planes, is_recency: form & RECENCY != 0 })
    }

    /// The integers, as they are compared; `None` if they do not lie in there.
    pub(crate) fn integers(self, bytes: &[u8]) -> Option<Vec<u32>> {
        let area = bytes.get(self.start..self.start.checked_add(self.len())?)?;
        if self.count == 0 || self.planes > MAX_PLANES {
            return None;
        }
        let mut integers = vec![0u32; self.count];
        for (plane, bytes) in (0..).zip(area.chunks_exact(self.count)) {
            integers.iter_mut().zip(bytes).for_each(|(n, &byte)| *n |= u32::from(byte) << (8 * plane));
        }
        if self.is_recency {
            let mut known = 0u32;
            for n in &mut integers {
                let code = known.wrapping_sub(*n);
                known += u32::from(*n == 0);
                *n = code;
            }
        }
        Some(integers)
    }

    /// Undoes [`Area::integers`], into `area`.
    fn put(self, mut integers: Vec<u32>, area: &mut [u8]) {
        if self.is_recency {
            let mut known = 0u32;
            for n in &mut integers {
                let ago = known.wrapping_sub(*n);
                known += u32::from(ago == 0);
                *n = ago;
            }
        }
        for (plane, bytes) in (0..).zip(area.chunks_exact_mut(self.count)) {
            bytes.iter_mut().zip(&integers).for_each(|(byte, n)| *byte = (n >> (8 * plane)) as u8);
        }
    }
}

/// Which of the integers of a key have one that follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    All,
    /// One bit each.
    Some(Vec<u8>),
}

impl Taken {
    /// Of values of which so many lie in the slots of `own`, and others in those of `key` (nothing: in all): which of the key's
    /// are in the same slot as another. `None` if one of those has no key.
    pub(crate) fn new(own: &[u64], key: &[u64]) -> Option<Self> {
        if own == key {
            return Some(Self::All);
        }
        let mut bits = Vec::new();
        let mut n = 0;
        for i in 0..own.len().max(key.len()) {
            let all_or =
                |map: &[u64]| if map.is_empty() { u64::MAX } else { map.get(i).copied().unwrap_or(0) };
            let (own, mut of_key) = (all_or(own), all_or(key));
            if own & !of_key != 0 {
                return None;
            }
            while of_key != 0 {
                if n % 8 == 0 {
                    bits.push(0);
                }
                bits[n / 8] |= u8::from(own & (of_key & of_key.wrapping_neg()) != 0) << (n % 8);
                of_key &= of_key - 1;
                n += 1;
            }
        }
        Some(Self::Some(bits))
    }

    fn is(&self, i: usize) -> bool {
        match self {
            Self::All => true,
            Self::Some(bits) => bits.get(i / 8).is_some_and(|byte| byte >> (i % 8) & 1 == 1),
        }
    }

    fn of<'a, T: Copy>(&self, keys: &'a [T]) -> Cow<'a, [T]> {
        match self {
            Self::All => Cow::Borrowed(keys),
            Self::Some(_) => {
                keys.iter().enumerate().filter(|(i, _)| self.is(*i)).map(|(_, &key)| key).collect()
            }
        }
    }
}

/// The last integer of each key.
enum Last {
    Table(Vec<u32>),
    Map(HashMap<u32, u32, FixedState>),
}

impl Last {
    fn of(keys: &[u32]) -> Self {
        let len = keys.iter().max().map_or(0, |&key| key as usize + 1);
        if len <= TABLE_LEN { Self::Table(vec![0; len]) } else { Self::Map(HashMap::default()) }
    }

    /// What the next integer of this key is expected to be, which is then replaced.
    #[inline]
    fn of_key(&mut self, key: u32) -> &mut u32 {
        match self {
            Self::Table(table) => &mut table[key as usize],
            Self::Map(map) => map.entry(key).or_default(),
        }
    }
}

/// Some keys, with the different ones numbered: to see how well they tell others.
#[derive(Debug)]
pub(crate) struct TriedKey {
    numbers: Vec<u16>,
    distinct: usize,
}

impl TriedKey {
    /// Of up to 65,536 keys.
    pub(crate) fn of(keys: &[u32]) -> Self {
        let mut index: HashMap<u32, u16, FixedState> = HashMap::default();
        let number = |key: &u32| {
            let next = index.len() as u16;
            *index.entry(*key).or_insert(next)
        };
        let numbers = keys.iter().map(number).collect();
        Self { numbers, distinct: index.len() }
    }

    /// What share is not the first of its kind. No larger one of the integers can be as expected, but for zeros.
    pub(crate) fn repeated_share(&self) -> f64 {
        1.0 - self.distinct as f64 / self.numbers.len().max(1) as f64
    }

    /// What share of the first integers, which have those of these keys that are taken, is as they let expect.
    pub(crate) fn expected_share(&self, integers: &[u32], taken: &Taken) -> f64 {
        let mut last = vec![0; self.distinct];
        let mut is_expected = |n: u32, key: u16| std::mem::replace(&mut last[usize::from(key)], n) == n;
        let keys = taken.of(&self.numbers);
        let tried = integers.len().min(keys.len()).max(1);
        integers.iter().zip(&*keys).filter(|(n, key)| is_expected(**n, **key)).count() as f64 / tried as f64
    }
}

/// What takes the place of `bytes` where `area` lies, whose integers are these. Of `keys`, which lie in `key`, those that are
/// `taken` are theirs, one each.
pub(crate) fn encode(
    bytes: &[u8],
    (area, integers): (Area, &[u32]),
    (key, keys, taken): (Area, &[u32], &Taken),
    zstd: &mut Zstd,
) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    let their = taken.of(keys);
    let mut last = Last::of(&their);
    let mut as_expected = vec![0u8; area.count.div_ceil(8)];
    let mut others = Vec::new();
    for (i, (&n, &key)) in integers.iter().zip(&*their).enumerate() {
        if std::mem::replace(last.of_key(key), n) == n {
            as_expected[i / 8] |= 1 << (i % 8);
        } else {
            others.push(n);
        }
    }
    area.write(&mut out);
    key.write(&mut out);
    put_varint(&mut out, area.count as u64);
    put_varint(&mut out, key.count as u64);
    let rest = [&bytes[..area.start], &bytes[area.start + area.len()..]].concat();
    let plane = |plane: usize| others.iter().map(move |n| (n >> (8 * plane)) as u8);
    let others: Vec<u8> = (0..area.planes).flat_map(plane).collect();
    let mut body = Vec::new();
    let taken = match taken {
        Taken::All => None,
        // Behind the last key is nothing.
        Taken::Some(bits) => Some(&bits[..bits.len().min(key.count.div_ceil(8))]),
    };
    for plain in taken.into_iter().chain([&rest[..], &as_expected, &others]) {
        body.clear();
        let method = zstd.append(plain, &mut body)?;
        let stored = if method == 0 { plain } else { &body };
        out.push(method);
        put_varint(&mut out, stored.len() as u64);
        out.extend_from_slice(stored);
    }
    Ok(out)
}

/// Undoes [`encode`]: `stored` becomes so many bytes, `key_bytes` are those that the keys lie in.
///
/// # Errors
/// [`crate::Error::Decode`] if it cannot have been written so. Allocates no more than as many compressed bytes, and as many
/// integers as there are keys, can stand for.
pub(crate) fn decode(key_bytes: &[u8], stored: &[u8], plain_len: usize) -> Result<Vec<u8>> {
    let mut r = Reader::new(stored);
    let mut area = Area::read(&mut r, plain_len)?;
    let mut key = Area::read(&mut r, key_bytes.len())?;
    let count = r.count(key_bytes.len())?;
    (area.count, key.count) = (count, r.count(key_bytes.len())?);
    let mut keys = key.integers(key_bytes).ok_or_else(|| bad("keys lie outside their bundle"))?;
    let rest_len = plain_len.checked_sub(area.len()).filter(|&rest| area.start <= rest);
    let rest_len =
        rest_len.ok_or_else(|| bad("integers that follow from others lie outside their bundle"))?;
    let mut section = |len: usize| -> Result<Vec<u8>> {
        let method = r.u8()?;
        let stored_len = r.count(stored.len())?;
        expand(method, r.take(stored_len)?, len)
    };
    if count < key.count {
        keys = Taken::Some(section(key.count.div_ceil(8))?).of(&keys).into_owned();
    }
    if keys.len() != count || count == 0 {
        return Err(bad("there is another number of keys than of integers that follow from them"));
    }
    let mut plain = section(rest_len)?;
    let as_expected = section(count.div_ceil(8))?;
    let is_expected = |i: usize| as_expected[i / 8] >> (i % 8) & 1 == 1;
    let others_count = (0..count).filter(|&i| !is_expected(i)).count();
    let others = section(others_count * area.planes)?;
    let mut next_other = 0;
    let mut known = 0u32;
    let mask = u32::MAX >> (32 - 8 * area.planes);
    let mut last = Last::of(&keys);
    let integers = keys.iter().enumerate().map(|(i, &key)| {
        let n = last.of_key(key);
        if !is_expected(i) {
            *n = (0..area.planes)
                .fold(0, |n, plane| n | u32::from(others[plane * others_count + next_other]) << (8 * plane));
            next_other += 1;
            if area.is_recency {
                // Of which text it is, there are as many bytes as say how long ago that was: that tells the others.
                *n = known.wrapping_sub(known.wrapping_sub(*n) & mask);
            }
        }
        if area.is_recency {
            known += u32::from(*n == known);
        }
        *n
    });
    let integers = integers.collect();
    let behind = plain.split_off(area.start);
    plain.resize(area.start + area.len(), 0);
    area.put(integers, &mut plain[area.start..]);
    plain.extend_from_slice(&behind);
    Ok(plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn planes(integers: &[u32], planes: usize) -> Vec<u8> {
        (0..planes).flat_map(|plane| integers.iter().map(move |n| (n >> (8 * plane)) as u8)).collect()
    }

    fn round_trip(
        before: &[u8],
        (area, own): (Area, &[u8]),
        (key, key_bytes): (Area, &[u8]),
        taken: &Taken,
    ) -> usize {
        let bytes = [before, own, b"behind"].concat();
        let (integers, keys) = (area.integers(&bytes).unwrap(), key.integers(key_bytes).unwrap());
        let key = (key, &keys[..], taken);
        let stored = encode(&bytes, (area, &integers), key, &mut Zstd::of_level(3)).unwrap();
        assert_eq!(decode(key_bytes, &stored, bytes.len()).unwrap(), bytes);
        for len in 0..stored.len() {
            assert!(decode(key_bytes, &stored[..len], bytes.len()).unwrap_err().is_corruption());
        }
        assert!(decode(&key_bytes[1..], &stored, bytes.len()).is_err());
        assert!(decode(key_bytes, &stored, bytes.len() - 1).is_err());
        stored.len()
    }

    #[test]
    fn what_the_key_tells_takes_next_to_nothing() {
        let mut state = 1u32;
        let mut below = |most: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) % most
        };
        let keys: Vec<u32> = (0..4000).map(|_| below(300)).collect();
        let of_key: Vec<u32> = (0..300).map(|_| below(1 << 24)).collect();
        let integers: Vec<u32> = keys.iter().map(|&key| of_key[key as usize]).collect();
        let area = |start, planes| Area { start, count: 4000, planes, is_recency: false };
        let told = round_trip(
            b"xyz",
            (area(3, 3), &planes(&integers, 3)),
            (area(0, 2), &planes(&keys, 2)),
            &Taken::All,
        );
        assert!(told < 1500, "{told}");
        let tried = TriedKey::of(&keys);
        let share = tried.expected_share(&integers, &Taken::All);
        assert!((0.92..0.93).contains(&share) && (share - tried.repeated_share()).abs() < 1e-9, "{share}");
        // Where only some of the keys have one.
        let slots: Vec<u64> = (0..4000u64.div_ceil(64)).map(|i| 0x1234_5678_9abc_def1 >> (i % 5)).collect();
        let has = |slot: &usize| slots[slot / 64] >> (slot % 64) & 1 == 1;
        let some: Vec<u32> = (0..4000).filter(has).map(|slot| integers[slot]).collect();
        let taken = Taken::new(&slots, &[]).unwrap();
        let share = tried.expected_share(&some, &taken);
        assert!((0.8..0.92).contains(&share), "{share}");
        let few = Area { start: 0, count: some.len(), planes: 3, is_recency: false };
        let (some, of_all) = (planes(&some, 3), planes(&keys, 2));
        let told_some = round_trip(b"", (few, &some), (area(0, 2), &of_all), &taken);
        assert!(told_some < 2000, "{told_some}");
        assert_eq!(Taken::new(&slots, &slots), Some(Taken::All));
        assert_eq!(Taken::new(&[], &slots), None);
        assert_eq!(Taken::new(&[0b1001], &[0b1011, 0b1]), Some(Taken::Some(vec![0b101])));
        assert_eq!(Taken::new(&[0b1101], &[0b1011]), None);
        let others: Vec<u32> = (0..4000).map(|_| below(1 << 24)).collect();
        let not = round_trip(
            b"xyz",
            (area(3, 3), &planes(&others, 3)),
            (area(0, 2), &planes(&keys, 2)),
            &Taken::All,
        );
        assert!(not > 11_000, "{not}");
        // The same keys as codes that tell how recent they are.
        let (mut known, mut first) = (0, vec![None; 300]);
        let mut recency = Vec::new();
        for &key in &keys {
            let code = *first[key as usize].get_or_insert(known);
            recency.push(if code == known { 0 } else { known - code });
            known += u32::from(code == known);
        }
        let key = Area { is_recency: true, ..area(0, 2) };
        let so =
            round_trip(b"xyz", (area(3, 3), &planes(&integers, 3)), (key, &planes(&recency, 2)), &Taken::All);
        assert!(so.abs_diff(told) < 20, "{so} {told}");
    }

    #[test]
    fn codes_of_more_texts_than_their_bytes_can_number_come_back() {
        // 300 texts, each twice in a row, at a distance of 1.
        let codes: Vec<u32> = (0..600).map(|i| i % 2).collect();
        let keys: Vec<u32> = (0..600).map(|i| i % 7).collect();
        let area = |is_recency| Area { start: 0, count: 600, planes: 1, is_recency };
        round_trip(b"", (area(true), &planes(&codes, 1)), (area(false), &planes(&keys, 1)), &Taken::All);
    }

    #[test]
    fn no_integers_follow_from_any() {
        let none_of_one = [0, 1, 0, 1, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0];
        assert!(decode(&[0], &none_of_one, 0).unwrap_err().is_corruption());
    }

    proptest! {
        #[test]
        fn codes_of_any_number_of_texts_come_back(
            near in proptest::collection::vec((0u32..4, 0u32..9), 1000..3000),
            planes_of_codes in 1usize..=2,
        ) {
            let codes: Vec<u32> = near.iter().map(|&(n, _)| if n < 2 { 0 } else { n * 50 }).collect();
            let keys: Vec<u32> = near.iter().map(|&(_, key)| key).collect();
            let area = |planes, is_recency| Area { start: 0, count: near.len(), planes, is_recency };
            let bytes = planes(&codes, planes_of_codes);
            let codes = area(planes_of_codes, true);
            let key = (area(1, false), &keys[..], &Taken::All);
            let integers = codes.integers(&bytes).unwrap();
            let stored = encode(&bytes, (codes, &integers), key, &mut Zstd::of_level(1)).unwrap();
            prop_assert!(decode(&planes(&keys, 1), &stored, bytes.len()).unwrap() == bytes);
        }

        #[test]
        fn any_integers_come_back(
            rows in proptest::collection::vec((0u32..9, 0u32..9, any::<u32>(), any::<u32>(), any::<[bool; 2]>()), 1..300),
            (own, of_key) in (1usize..=4, 1usize..=4), are_recency: [bool; 2], before: Vec<u8>,
        ) {
            let wide = |few: u32, any: u32, is_wide: bool| if is_wide { any } else { few };
            let integers: Vec<u32> = rows.iter().map(|row| wide(row.0, row.2, row.4[0])).collect();
            let keys: Vec<u32> = rows.iter().map(|row| wide(row.1, row.3, row.4[1])).collect();
            let area = |start, planes, is_recency| Area { start, count: rows.len(), planes, is_recency };
            round_trip(
                &before, (area(before.len(), own, are_recency[0]), &planes(&integers, own)),
                (area(0, of_key, are_recency[1]), &planes(&keys, of_key)), &Taken::All,
            );
        }

        #[test]
        fn any_bytes_are_read_or_refused(key_bytes: Vec<u8>, stored in proptest::collection::vec(0u8..6, 0..60), len in 0usize..200) {
            if let Ok(plain) = decode(&key_bytes, &stored, len) {
                prop_assert_eq!(plain.len(), len);
            }
        }
    }
}
