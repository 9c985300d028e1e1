//! Which rows may have the least or the greatest number: all others need not be read.

use super::{Known, MAX_LISTED_GROUPS, Numbers, Open};
use crate::bitmap::Bitmap;
use crate::number::Number;
use crate::pipe::stats::{Function, ToBeat};

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
    Ok(open.int_range(name)?.is_some_and(|(min, max)| {
        let order =
            if is_min { Number::Int(min).cmp(&best.number) } else { best.number.cmp(&Number::Int(max)) };
        order.is_gt() || (order.is_eq() && best.beats_equals)
    }))
}

/// The rows with the least or the greatest number of these; none, if it is worse than the one to beat.
pub(super) fn best_rows(numbers: &Numbers, of: &Bitmap, is_min: bool, to_beat: Option<ToBeat>) -> Bitmap {
    let is_worse = |number: Number, best: Number| if is_min { number > best } else { number < best };
    let mut best = to_beat.map(|best| best.number);
    let mut rows = Vec::new();
    for row in of.iter() {
        let Some(number) = numbers.get(row) else { continue };
        match best {
            Some(best) if is_worse(number, best) => continue,
            Some(best) if number == best => {}
            _ => {
                rows.clear();
                best = Some(number);
            }
        }
        rows.push(row);
    }
    let mut is_best = Bitmap::none(of.len());
    rows.into_iter().for_each(|row| is_best.insert(row));
    is_best
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
