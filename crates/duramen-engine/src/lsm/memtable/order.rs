//! Comparing keys by an integer, mostly: a key is looked at through a *window* of [`WINDOW_BYTES`].
//!
//! ```text
//! window   key[skip .. skip + 7], zeros where it is shorter   7 bytes, the first one highest
//!          how many bytes there are from skip on, 8 if more   1 byte
//! ```
//!
//! Of two keys that agree up to `skip`, the one with the smaller window is the smaller one. Equal windows are
//! either equal keys, or both go on behind the window ([`goes_on`]). So that windows tell much, `skip` is what
//! all keys have in common.

use super::arena::Arena;
use crate::kv::shared_len;
use std::cmp::Ordering;

/// How many bytes of a key a window shows.
pub(super) const WINDOW_BYTES: usize = 7;

/// The window of a key from its byte `skip` on.
#[inline]
pub(super) fn window(key: &[u8], skip: usize) -> u64 {
    let rest = key.get(skip..).unwrap_or_default();
    if let Some(first) = rest.first_chunk::<8>() {
        return u64::from_be_bytes(*first) & !0xff | 8;
    }
    let mut bytes = [0; 8];
    bytes[..rest.len()].copy_from_slice(rest);
    u64::from_be_bytes(bytes) | rest.len() as u64
}

/// Whether a key with this window has more bytes behind it.
#[inline]
pub(super) fn goes_on(window: u64) -> bool {
    window & 0xff == 8
}

/// An entry of a memtable, to be sorted: entries are numbered as they come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Item {
    pub(super) window: u64,
    pub(super) number: u32,
    pub(super) offset: u32,
}

impl Item {
    /// By window, then the newest first.
    #[inline]
    fn rank(&self) -> u128 {
        u128::from(self.window) << 64 | u128::from(!self.number) << 32 | u128::from(self.offset)
    }

    /// The order of versions: by key, then the newest first. Both windows must be of the same `skip`.
    #[inline]
    pub(super) fn compare(&self, other: &Self, skip: usize, arena: Arena<'_>) -> Ordering {
        if self.window == other.window && goes_on(self.window) {
            let keys = behind(arena.key(self.offset), skip).cmp(behind(arena.key(other.offset), skip));
            return keys.then(other.number.cmp(&self.number));
        }
        self.rank().cmp(&other.rank())
    }
}

/// What follows the window.
#[inline]
pub(super) fn behind(key: &[u8], skip: usize) -> &[u8] {
    key.get(skip + WINDOW_BYTES..).unwrap_or_default()
}

/// Sorts items, whose windows are of this `skip`, by key and then the newest first.
pub(super) fn sort(items: &mut [Item], skip: usize, arena: Arena<'_>) {
    by_rank(items);
    let mut rest = items;
    while let Some(len) = next_tie(rest) {
        let (ties, behind) = std::mem::take(&mut rest).split_at_mut(len);
        if let [first, _, ..] = ties
            && goes_on(first.window)
        {
            let window = first.window;
            sort_ties(ties, skip + WINDOW_BYTES, arena);
            ties.iter_mut().for_each(|item| item.window = window);
        }
        rest = behind;
    }
}

/// Fewer items are sorted by comparing them.
const FEW_ITEMS: usize = 1 << 11;
/// How many bits of the windows one pass sorts by: the ends of as many stretches stay in the processor's second cache.
const PASS_BITS: u32 = 12;

/// Sorts items by rank. Many are first put in order by the leading bits in which their windows differ, in two passes that
/// compare nothing; keys that are spread evenly then hardly ever have neighbours with the same bits, and only those are
/// compared. It takes half of the time.
fn by_rank(items: &mut [Item]) {
    if items.len() < FEW_ITEMS {
        items.sort_unstable_by_key(Item::rank);
        return;
    }
    let windows = || items.iter().map(|item| item.window);
    let least = windows().min().unwrap_or_default();
    let most = windows().max().unwrap_or_default();
    let bits = u64::BITS - (most - least).leading_zeros();
    let shift = bits.saturating_sub(2 * PASS_BITS);
    let leading = |item: &Item| (item.window - least) >> shift;
    // The lower half first: the second pass leaves in order what its own half does not tell apart.
    let mut half = vec![Item { window: 0, number: 0, offset: 0 }; items.len()];
    place_by(items, &mut half, |item| leading(item) as usize & ((1 << PASS_BITS) - 1));
    place_by(&half, items, |item| (leading(item) >> PASS_BITS) as usize);
    drop(half);
    let mut rest = items;
    while let Some(first) = rest.first().map(leading) {
        let len = rest.iter().take_while(|item| leading(item) == first).count();
        let (same, behind) = rest.split_at_mut(len);
        if len > 1 {
            same.sort_unstable_by_key(Item::rank);
        }
        rest = behind;
    }
}

/// Copies items into as much room, in the order of a digit that is below 2^[`PASS_BITS`]; those that have the same stay in the
/// order in which they are.
fn place_by(items: &[Item], placed: &mut [Item], digit: impl Fn(&Item) -> usize) {
    // How many have each digit, then where the next one with it goes.
    let mut places = vec![0; 1 << PASS_BITS];
    items.iter().for_each(|item| places[digit(item)] += 1);
    let mut start = 0;
    for place in &mut places {
        start += std::mem::replace(place, start);
    }
    for item in items {
        let place = &mut places[digit(item)];
        placed[*place] = *item;
        *place += 1;
    }
}

/// How many items at the start have the same window; `None` if there are no items.
#[inline]
fn next_tie(items: &[Item]) -> Option<usize> {
    let first = items.first()?;
    Some(items.iter().take_while(|item| item.window == first.window).count())
}

/// Sorts items whose keys agree up to `skip`, and leaves other windows in them. A list of what is to be done
/// instead of recursion: keys may agree for long.
fn sort_ties(items: &mut [Item], skip: usize, arena: Arena<'_>) {
    let mut todo = vec![(0..items.len(), skip)];
    while let Some((range, skip)) = todo.pop() {
        let start = range.start;
        let Some(ties) = items.get_mut(range) else { continue };
        let Some(first) = ties.first() else { continue };
        let first = arena.key(first.offset).get(skip..).unwrap_or_default();
        let mut common = first.len();
        for item in &ties[1..] {
            let rest = arena.key(item.offset).get(skip..).unwrap_or_default();
            common = shared_len(&first[..common], rest);
        }
        let skip = skip + common;
        for item in ties.iter_mut() {
            item.window = window(arena.key(item.offset), skip);
        }
        ties.sort_unstable_by_key(Item::rank);
        let mut at = 0;
        while let Some(len) = next_tie(&ties[at..]) {
            if len > 1 && goes_on(ties[at].window) {
                todo.push((start + at..start + at + len, skip + WINDOW_BYTES));
            }
            at += len;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use xxhash_rust::xxh3::xxh3_64;

    /// Windows: spread, few different ones, all alike but the last bytes, all the same.
    const SHAPES: [fn(u64) -> u64; 5] = [
        |n| xxh3_64(&n.to_le_bytes()),
        |n| (xxh3_64(&n.to_le_bytes()) % 1000) << 40,
        |n| u64::MAX - (xxh3_64(&n.to_le_bytes()) & 0xffff),
        |n| if n.is_multiple_of(1000) { n } else { u64::MAX / 2 + n % 7 },
        |_| 7,
    ];

    #[test]
    #[cfg_attr(miri, ignore = "it would take long, and there is no unsafe code here")]
    fn many_items_are_sorted_as_few_are() {
        let counts = [0, 1, 2, FEW_ITEMS - 1, FEW_ITEMS, 3 * FEW_ITEMS + 1];
        for (window, count) in SHAPES.iter().flat_map(|shape| counts.map(|count| (shape, count))) {
            let mut items: Vec<Item> = (0..count as u64)
                .map(|n| Item { window: window(n), number: n as u32, offset: (n * 3) as u32 })
                .collect();
            let mut expected = items.clone();
            expected.sort_by_key(|item| (item.window, !item.number));
            by_rank(&mut items);
            assert_eq!(items, expected);
        }
    }
}
