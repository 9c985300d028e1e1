//! Reading integers: all, some, or none.

use super::super::bitpack::{packed_len, unpack, unpack_one};
use super::super::bytes::bad;
use super::super::chosen::Chosen;
use super::super::streams::Part;
use super::{CONSTANT, DELTA, DICTIONARY, LINEAR, PLANES, REFERENCE};
use crate::error::Result;

/// Passes over `count` integers.
pub(crate) fn skip(part: &mut Part<'_>, count: usize) -> Result<()> {
    skip_nested(part, count, true)
}

fn skip_nested(part: &mut Part<'_>, count: usize, may_nest: bool) -> Result<()> {
    if count == 0 {
        return Ok(());
    }
    match part.meta.u8()? {
        CONSTANT => part.meta.varint().map(drop),
        LINEAR => (0..2).try_for_each(|_| part.meta.varint().map(drop)),
        REFERENCE => {
            (0..2).try_for_each(|_| part.meta.varint().map(drop))?;
            skip_layout(part, count)
        }
        DELTA => {
            (0..3).try_for_each(|_| part.meta.varint().map(drop))?;
            skip_layout(part, count - 1)
        }
        DICTIONARY if may_nest => {
            let size = part.meta.count(count)?;
            skip_nested(part, size, false)?;
            skip_layout(part, count)
        }
        _ => Err(bad("an encoding of integers is unknown")),
    }
}

fn skip_layout(part: &mut Part<'_>, count: usize) -> Result<()> {
    match part.meta.u8()? {
        layout @ 0..=64 => part.packed.take(packed_len(count, u32::from(layout))).map(drop),
        layout @ 129..=136 => {
            let planes = usize::from(layout - PLANES);
            let bytes = count.checked_mul(planes).ok_or_else(|| bad("too many integers"))?;
            part.bytes.take(bytes).map(drop)
        }
        _ => Err(bad("a layout of integers is unknown")),
    }
}

/// Decodes `count` integers.
pub(crate) fn decode(part: &mut Part<'_>, count: usize) -> Result<Vec<i64>> {
    decode_chosen(part, Chosen::all(count))
}

/// Decodes some integers of a sequence.
pub(crate) fn decode_chosen(part: &mut Part<'_>, chosen: Chosen<'_>) -> Result<Vec<i64>> {
    decode_as(part, chosen, |value| value, true)
}

/// Decodes some integers of a sequence that are from 0 on and less than `end`; `None` if one is not. They take half of the
/// memory, and are written once.
pub(crate) fn decode_below(part: &mut Part<'_>, chosen: Chosen<'_>, end: u32) -> Result<Option<Vec<u32>>> {
    let values = decode_as(part, chosen, |value| u32::try_from(value).unwrap_or(u32::MAX), true)?;
    let are_below = values.iter().fold(true, |are_below, &value| are_below & (value < end));
    Ok(are_below.then_some(values))
}

/// Decodes some integers of a sequence, as 32 bits each; one that has more is the least that 32 bits say.
pub(crate) fn decode_short(part: &mut Part<'_>, chosen: Chosen<'_>) -> Result<Vec<i32>> {
    decode_as(part, chosen, |value| i32::try_from(value).unwrap_or(i32::MIN), true)
}

/// What `make` makes of some integers of a sequence.
fn decode_as<T: Copy + Default>(
    part: &mut Part<'_>,
    chosen: Chosen<'_>,
    make: impl Fn(i64) -> T + Copy,
    may_nest: bool,
) -> Result<Vec<T>> {
    if chosen.count() == 0 {
        return Ok(Vec::new());
    }
    part.spend(chosen.len().saturating_mul(size_of::<i64>()))?;
    let mut values = Vec::new();
    match part.meta.u8()? {
        CONSTANT => values.resize(chosen.len(), make(part.meta.zigzag()?)),
        LINEAR => {
            let first = part.meta.zigzag()?;
            let step = part.meta.zigzag()?;
            let value = |i: usize| make(first.wrapping_add(step.wrapping_mul(i as i64)));
            match chosen.numbers() {
                None => values.extend((0..chosen.count()).map(value)),
                Some(numbers) => values.extend(numbers.iter().map(|&i| value(i as usize))),
            }
        }
        REFERENCE => {
            let min = part.meta.zigzag()?;
            let scale = part.meta.varint()?;
            let value = |v: u64| make(min.wrapping_add(v.wrapping_mul(scale) as i64));
            read_layout(part, chosen, &mut values, value)?;
        }
        DELTA => {
            let first = part.meta.zigzag()?;
            let step_min = part.meta.zigzag()?;
            let scale = part.meta.varint()?;
            // Each follows from the one before, so that all are made.
            part.spend((chosen.count() - chosen.len()).saturating_mul(size_of::<i64>()))?;
            values.reserve(chosen.count());
            values.push(make(first));
            let mut last = first;
            read_layout(part, Chosen::all(chosen.count() - 1), &mut values, |v| {
                last = last.wrapping_add(step_min).wrapping_add(v.wrapping_mul(scale) as i64);
                make(last)
            })?;
            values = chosen.of(values);
        }
        DICTIONARY if may_nest => {
            let size = part.meta.count(chosen.count())?;
            let dictionary = decode_as(part, Chosen::all(size), make, false)?;
            if dictionary.is_empty() {
                return Err(bad("a dictionary is empty"));
            }
            let mut out_of_range = false;
            read_layout(part, chosen, &mut values, |v| match dictionary.get(v as usize) {
                Some(&v) => v,
                None => {
                    out_of_range = true;
                    T::default()
                }
            })?;
            if out_of_range {
                return Err(bad("a code is not in its dictionary"));
            }
        }
        _ => return Err(bad("an encoding of integers is unknown")),
    }
    Ok(values)
}

fn read_layout<T>(
    part: &mut Part<'_>,
    chosen: Chosen<'_>,
    out: &mut Vec<T>,
    mut each: impl FnMut(u64) -> T,
) -> Result<()> {
    let layout = part.meta.u8()?;
    let count = chosen.count();
    out.reserve(chosen.len());
    match layout {
        0..=64 => {
            let width = u32::from(layout);
            let bytes = part.packed.take(packed_len(count, width))?;
            match chosen.numbers() {
                None => unpack(bytes, count, width, |v| out.push(each(v)))?,
                Some(numbers) => out.extend(numbers.iter().map(|&i| each(unpack_one(bytes, i, width)))),
            }
            Ok(())
        }
        129..=136 => {
            let planes = usize::from(layout - PLANES);
            let area = part.bytes.take(count.checked_mul(planes).ok_or_else(|| bad("too many integers"))?)?;
            match chosen.numbers() {
                None => all_of_planes(area, count, out, each),
                Some(numbers) => {
                    let from_planes = |i: usize| {
                        (0..planes).fold(0, |v, plane| v | u64::from(area[plane * count + i]) << (8 * plane))
                    };
                    out.extend(numbers.iter().map(|&i| each(from_planes(i as usize))));
                }
            }
            Ok(())
        }
        _ => Err(bad("a layout of integers is unknown")),
    }
}

/// Adds what `each` makes of `count` values, whose lowest bytes come first in `area`, and then the others.
fn all_of_planes<T>(area: &[u8], count: usize, out: &mut Vec<T>, each: impl FnMut(u64) -> T) {
    match area.len() / count.max(1) {
        1 => all_of::<1, T>(area, count, out, each),
        2 => all_of::<2, T>(area, count, out, each),
        3 => all_of::<3, T>(area, count, out, each),
        4 => all_of::<4, T>(area, count, out, each),
        5 => all_of::<5, T>(area, count, out, each),
        6 => all_of::<6, T>(area, count, out, each),
        7 => all_of::<7, T>(area, count, out, each),
        _ => all_of::<8, T>(area, count, out, each),
    }
}

/// The same of `N` planes: with a number that the compiler knows, it puts many values together at once.
fn all_of<const N: usize, T>(area: &[u8], count: usize, out: &mut Vec<T>, mut each: impl FnMut(u64) -> T) {
    let planes: [&[u8]; N] = std::array::from_fn(|plane| &area[plane * count..][..count]);
    out.extend(
        (0..count).map(|i| each((0..N).fold(0, |v, plane| v | u64::from(planes[plane][i]) << (8 * plane)))),
    );
}
