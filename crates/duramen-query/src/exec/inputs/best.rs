//! Which rows come first, or have the least or the greatest number: all others need not be read.

use super::{Known, MAX_LISTED_GROUPS, Numbers, Open, Rows};
use crate::bitmap::Bitmap;
use crate::exec::Order;
use crate::number::Number;
use crate::pipe::stats::{Function, ToBeat};
use duramen::block::names;

/// Whether no row of a block has a value that beats this one, as far as that is known without reading any.
pub(in crate::exec) fn is_beaten(
    function: &Function,
    open: &Open,
    known: &Known<'_>,
    to_beat: Option<ToBeat>,
) -> duramen::Result<bool> {
    let (Some(best), Some((name, is_min))) = (to_beat, function.wants_best_of()) else { return Ok(false) };
    if known.contains_key(name) {
        return Ok(false);
    }
    let range = if name == names::TIME { Some(open.span) } else { open.int_range(name)? };
    Ok(range.is_some_and(|(min, max)| {
        let order =
            if is_min { Number::Int(min).cmp(&best.number) } else { best.number.cmp(&Number::Int(max)) };
        order.is_gt() || (order.is_eq() && best.beats_equals)
    }))
}

/// Of those rows that meet a function's condition, the one of each code that is the answer if it is of the best of its group: the
/// first with the least number, if that is wanted, or with the greatest, or without numbers the first of all. None, if its number is
/// worse than the one to beat; nothing, if rows have no codes.
pub(super) fn best_rows(numbers: Option<(&Numbers, bool)>, met: &Bitmap, rows: &Rows<'_>) -> Option<Bitmap> {
    let codes = rows.codes.as_ref()?;
    let is_worse = |number: Number, best: Number, is_min| if is_min { number > best } else { number < best };
    let later_comes_first = rows.order == Order::NewestFirst;
    let mut best: Vec<Option<(usize, Option<Number>)>> = vec![None; codes.count];
    for row in met.iter() {
        let (number, replaces) = match numbers {
            None => (None, later_comes_first),
            Some((numbers, is_min)) => {
                let Some(number) = numbers.get(row) else { continue };
                if rows.to_beat.is_some_and(|best| is_worse(number, best.number, is_min)) {
                    continue;
                }
                let replaces = match best[codes.of(row)] {
                    Some((_, Some(best))) if number == best => later_comes_first,
                    Some((_, Some(best))) => !is_worse(number, best, is_min),
                    _ => true,
                };
                (Some(number), replaces)
            }
        };
        let best = &mut best[codes.of(row)];
        if replaces || best.is_none() {
            *best = Some((row, number));
        }
    }
    let mut is_best = Bitmap::none(met.len());
    best.into_iter().flatten().for_each(|(row, _)| is_best.insert(row));
    Some(is_best)
}

/// The best number so far of each group, of the first [`MAX_LISTED_GROUPS`].
#[derive(Default)]
pub(super) struct Leading(Vec<Option<Number>>);

impl Leading {
    /// Whether a number is not worse than all before it in its group, as far as that is known.
    pub(super) fn is_best(&mut self, group: usize, number: Number, is_min: bool) -> bool {
        if group >= self.0.len() {
            if group >= MAX_LISTED_GROUPS {
                return true;
            }
            self.0.resize(group + 1, None);
        }
        let best = self.0[group].get_or_insert(number);
        let is_best = if is_min { number <= *best } else { number >= *best };
        if is_best {
            *best = number;
        }
        is_best
    }

    /// Forgets all: groups have other numbers now.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}
