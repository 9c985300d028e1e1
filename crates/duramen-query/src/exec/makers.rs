//! What the pipes before `stats` make, if columns can tell it: who reads what of whom.

use super::open::STREAM_ID;
use crate::pipe::Pipe;
use crate::pipe::maker::{Maker, Shortcut};
use crate::pipe::stats::{Aggregate, Function};
use duramen::block::names;

/// The pipes' makers, if what `stats` does behind them can be done with columns.
pub(super) fn of<'p>(pipes: &'p [Pipe], aggregate: &Aggregate) -> Option<Vec<Maker<'p>>> {
    let is_plain = |maker: &Maker<'_>| {
        let is_own = |name: &&str| matches!(*name, names::TIME | names::STREAM | STREAM_ID);
        !maker.writes.iter().any(is_own)
    };
    let makers: Vec<_> = pipes.iter().map(Pipe::makers).collect::<Option<_>>()?;
    let mut makers: Vec<_> = makers.into_iter().flatten().collect();
    if !makers.iter().all(is_plain) {
        return None;
    }
    // Who looks at all fields, or at rows by a filter, would look at those of the block.
    let is_named = |f: &Function| f.condition.is_none() && f.fields.iter().all(|field| !field.prefix);
    if !aggregate.functions.iter().all(is_named) {
        return None;
    }
    for i in (0..makers.len()).rev() {
        let (before, behind) = makers.split_at_mut(i + 1);
        let is_looked_at = |name: &&str| {
            behind.iter().any(|maker| maker.reads.contains(name) || maker.writes.contains(name))
                || looks_at(aggregate, name)
        };
        if let Some(maker) = before.last()
            && matches!(maker.shortcut, Some(Shortcut::Name { .. }))
        {
            // What is not there any more lies in the block all the same.
            if maker.empties().iter().any(is_looked_at) {
                return None;
            }
            if !maker.writes.iter().any(is_looked_at) {
                makers.remove(i);
                continue;
            }
        }
        if let Some(Maker { writes, numbers, .. }) = before.last_mut()
            && !writes.iter().all(|name| only_numbers_matter(name, behind, aggregate))
        {
            *numbers = None;
        }
    }
    Some(makers)
}

/// Whether groups, or what is computed of them, have to do with a field.
fn looks_at(aggregate: &Aggregate, name: &str) -> bool {
    let mut looks = aggregate.by.iter().any(|by| *by.field == *name);
    aggregate.for_each_field(&mut |pattern| looks |= pattern.matches(name));
    looks
}

/// Whether nobody wants to know more of what is made under this name than which number it is.
fn only_numbers_matter(name: &str, behind: &[Maker<'_>], aggregate: &Aggregate) -> bool {
    let wants_texts = |maker: &Maker<'_>| {
        maker.numbers.is_none() && (maker.reads.contains(&name) || maker.writes.contains(&name))
    };
    let is_right = |function: &Function| {
        let is_of_it = function.fields.iter().any(|field| *field.name == *name);
        let is_sorted_by_it = function.sort.iter().any(|(field, _)| **field == *name);
        !is_sorted_by_it && (!is_of_it || function.looks_at_numbers())
    };
    !behind.iter().any(wants_texts)
        && !aggregate.by.iter().any(|by| *by.field == *name)
        && aggregate.functions.iter().all(is_right)
}

/// Whether columns tell of every block what these make.
pub(super) fn are_certain(makers: &[Maker<'_>]) -> bool {
    !makers.iter().any(|maker| matches!(maker.shortcut, Some(Shortcut::SameUnless(_))))
}
