//! Rows of a block by their slots: which rows have them, and which slots are of streams that are wanted.

use crate::column::{Order, set_range};

/// So many slots are looked for one by one.
const FEW_SLOTS: usize = 4;

/// Which row has this slot. A chunk that does not have it is passed over without a branch for each.
fn row_of(order: &[u32], slot: u32) -> Option<usize> {
    let has = |chunk: &[u32]| chunk.iter().fold(false, |has, &of| has | (of == slot));
    let chunk = order.chunks(64).position(has)? * 64;
    let within = order[chunk..].iter().position(|&of| of == slot)?;
    Some(chunk + within)
}

/// The first of these slots and how many they are, if there are no others between them.
fn range_of(slots: &[u64]) -> Option<(u32, u32)> {
    let (at, word) = slots.iter().enumerate().find(|(_, word)| **word != 0)?;
    let first = at as u32 * 64 + word.trailing_zeros();
    let (at, word) = slots.iter().enumerate().rfind(|(_, word)| **word != 0)?;
    let len = at as u32 * 64 + (64 - word.leading_zeros()) - first;
    (len == slots.iter().map(|word| word.count_ones()).sum::<u32>()).then_some((first, len))
}

/// Which of up to 64 slots are wanted, one bit each.
fn which(order: &[u32], is_wanted: impl Fn(u32) -> bool) -> u64 {
    let mut wanted = [0u8; 64];
    wanted.iter_mut().zip(order).for_each(|(wanted, &slot)| *wanted = u8::from(is_wanted(slot)));
    let (eights, _) = wanted.as_chunks::<8>();
    // The product has the eight lowest bits of the bytes side by side in its highest byte.
    let bits = |eight: &[u8; 8]| u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56;
    eights.iter().zip((0..64).step_by(8)).fold(0, |all, (eight, shift)| all | bits(eight) << shift)
}

/// The rows of some slots, one bit each.
pub(super) fn rows_of_slots(order: &Order, slots: Vec<u64>, rows: usize) -> Vec<u64> {
    let Order::Slots(order) = order else { return slots };
    let mut found = vec![0u64; rows.div_ceil(64)];
    // Nobody keeps which row a slot has; of few slots the rows are soon found.
    if slots.iter().map(|word| word.count_ones() as usize).sum::<usize>() <= FEW_SLOTS {
        for (i, &word) in slots.iter().enumerate().filter(|(_, word)| **word != 0) {
            let of_word = (0..64).filter(|i| word >> i & 1 == 1).map(|of_word| (i * 64 + of_word) as u32);
            for row in of_word.filter_map(|slot| row_of(order, slot)) {
                found[row / 64] |= 1 << (row % 64);
            }
        }
        return found;
    }
    // Streams whose labels have something in common lie together.
    let range = range_of(&slots);
    for (found, order) in found.iter_mut().zip(order.chunks(64)) {
        *found = match range {
            Some((first, len)) => which(order, |slot| slot.wrapping_sub(first) < len),
            None => which(order, |slot| {
                slots.get(slot as usize / 64).is_some_and(|word| word >> (slot % 64) & 1 == 1)
            }),
        };
    }
    found
}

/// The slots of the streams that are wanted, of `rows` in all; `ends` tells where those of each stream end.
pub(super) fn slots_of_streams(ends: &[u32], wanted: &[bool], rows: usize) -> Vec<u64> {
    let mut slots = vec![0; rows.div_ceil(64)];
    let mut from = 0;
    for (&end, &is_wanted) in ends.iter().zip(wanted) {
        let end = (end as usize).clamp(from, rows);
        if is_wanted {
            set_range(&mut slots, from, end);
        }
        from = end;
    }
    slots
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_slots_are_found() {
        let order: Vec<u32> = (0..1000u32).map(|row| row * 7 % 1000).collect();
        for (row, &slot) in order.iter().enumerate() {
            assert_eq!(row_of(&order, slot), Some(row));
        }
        assert_eq!(row_of(&order, 1000), None);
    }

    proptest::proptest! {
        #[test]
        fn ranges_of_slots_and_wanted_ones_are_told(
            is_set in proptest::collection::vec(proptest::bool::weighted(0.9), 0..200), from in 0..200usize, to in 0..200usize,
        ) {
            let mut slots = vec![0u64; 4];
            (from..to).filter(|&slot| is_set.get(slot) == Some(&true)).for_each(|slot| slots[slot / 64] |= 1 << (slot % 64));
            let set: Vec<u32> = (0..256).filter(|slot| slots[*slot as usize / 64] >> (slot % 64) & 1 == 1).collect();
            let whole = set.first().zip(set.last()).filter(|(first, last)| (*last - *first) as usize + 1 == set.len());
            assert_eq!(range_of(&slots), whole.map(|(first, _)| (*first, set.len() as u32)));
            let order: Vec<u32> = (0..64.min(is_set.len() as u32)).map(|row| row * 37 % 200).collect();
            let expected = (0..).zip(&order).fold(0, |all, (row, slot)| all | u64::from(set.contains(slot)) << row);
            assert_eq!(which(&order, |slot| set.contains(&slot)), expected);
        }
    }
}
