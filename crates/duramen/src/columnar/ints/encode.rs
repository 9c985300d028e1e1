//! Choosing the encoding that takes the fewest bits, and writing it.

use super::super::bitpack::{bits, pack};
use super::super::bytes::{put_varint, put_zigzag};
use super::super::keyed::Area;
use super::super::streams::Streams;
use super::{CONSTANT, DELTA, DICTIONARY, LINEAR, PLANES, REFERENCE};
use hashbrown::HashMap;

/// How many values are looked at to guess what an encoding would cost.
const SAMPLE: usize = 1024;

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// About how many bits the values would take.
pub(crate) fn estimate(values: &[i64]) -> f32 {
    let (Some(&min), Some(&max)) = (values.iter().min(), values.iter().max()) else { return 0.0 };
    if min == max {
        return 0.0;
    }
    let reference = cost(values, |v, _| v.wrapping_sub(min) as u64, bits(max.wrapping_sub(min) as u64));
    let steps = values.windows(2).map(|w| w[1].wrapping_sub(w[0]));
    let (Some(low), Some(high)) = (steps.clone().min(), steps.max()) else { return reference };
    let width = bits(high.wrapping_sub(low) as u64);
    reference.min(cost(values, |v, before| v.wrapping_sub(before).wrapping_sub(low) as u64, width))
}

/// Encodes `values`.
pub(crate) fn encode(values: &[i64], out: &mut Streams) {
    let Some((&first, rest)) = values.split_first() else { return };
    let (mut min, mut max) = (first, first);
    let (mut step_min, mut step_max) = (i64::MAX, i64::MIN);
    let mut step_overflow = false;
    let mut last = first;
    for &v in rest {
        min = min.min(v);
        max = max.max(v);
        let (step, overflow) = v.overflowing_sub(last);
        step_overflow |= overflow;
        step_min = step_min.min(step);
        step_max = step_max.max(step);
        last = v;
    }
    if min == max {
        out.meta.push(CONSTANT);
        put_zigzag(&mut out.meta, first);
        return;
    }
    if step_min == step_max && !step_overflow {
        out.meta.push(LINEAR);
        put_zigzag(&mut out.meta, first);
        put_zigzag(&mut out.meta, step_min);
        return;
    }
    let mut scale = 0;
    for &v in values {
        scale = gcd(v.wrapping_sub(min) as u64, scale);
        if scale == 1 {
            break;
        }
    }
    let scale = scale.max(1);
    let range = max.wrapping_sub(min) as u64 / scale;
    let reference_cost = cost(values, |v, _| v.wrapping_sub(min) as u64 / scale, bits(range));
    let delta_ok = !step_overflow && step_max.checked_sub(step_min).is_some();
    let step_range = step_max.wrapping_sub(step_min) as u64 / scale;
    // The steps are multiples of the same divisor, but need an origin that is one, too.
    let delta_cost = if delta_ok {
        cost(
            values,
            |v, before| v.wrapping_sub(before).wrapping_sub(step_min) as u64 / scale,
            bits(step_range),
        )
    } else {
        f32::INFINITY
    };
    let best = reference_cost.min(delta_cost);
    if best > values.len() as f32 * 2.0 && dictionary(values, best, out) {
        return;
    }
    if delta_cost < reference_cost * 0.97 {
        out.meta.push(DELTA);
        put_zigzag(&mut out.meta, first);
        put_zigzag(&mut out.meta, step_min);
        put_varint(&mut out.meta, scale);
        let mut last = first;
        layout(
            rest.iter().map(|&v| {
                let stored = v.wrapping_sub(last).wrapping_sub(step_min) as u64 / scale;
                last = v;
                stored
            }),
            rest.len(),
            bits(step_range),
            delta_cost,
            out,
        );
    } else {
        out.meta.push(REFERENCE);
        put_zigzag(&mut out.meta, min);
        put_varint(&mut out.meta, scale);
        let stored = values.iter().map(|&v| v.wrapping_sub(min) as u64 / scale);
        layout(stored, values.len(), bits(range), reference_cost, out);
    }
}

/// Guesses how many bits the values take after `transform(value, the one before)` in the better layout.
fn cost(values: &[i64], transform: impl Fn(i64, i64) -> u64, width: u32) -> f32 {
    let packed = values.len() as f32 * width as f32;
    if values.len() < 64 {
        return packed;
    }
    let planes = width.div_ceil(8) as usize;
    let mut counts = [[0u16; 256]; 8];
    let runs = SAMPLE.div_ceil(128).min(values.len().div_ceil(128));
    let mut seen = 0u32;
    for run in 0..runs {
        let start = (values.len() * run / runs).max(1);
        let end = (start + 128).min(values.len());
        for i in start..end {
            let v = transform(values[i], values[i - 1]);
            for (plane, counts) in counts[..planes].iter_mut().enumerate() {
                counts[(v >> (8 * plane) & 0xff) as usize] += 1;
            }
            seen += 1;
        }
    }
    let seen = seen.max(1) as f32;
    let mut total = 0.0;
    for counts in &counts[..planes] {
        let mut entropy = 0.0;
        let mut distinct = 0.0;
        for &c in counts {
            if c > 0 {
                let c = f32::from(c);
                entropy -= c * (c / seen).log2();
                distinct += 1.0;
            }
        }
        // A small sample looks less random than it is; and the compressor's own tables cost, too.
        let per_value = ((entropy + (distinct - 1.0) * 0.72) / seen).min(8.0);
        total += per_value * values.len() as f32 + distinct.min(64.0) * 4.0;
    }
    total.min(packed)
}

/// Writes `stored` in the layout that `cost` found the better one.
fn layout(stored: impl Iterator<Item = u64>, count: usize, width: u32, cost: f32, out: &mut Streams) {
    let packed = count as f32 * width as f32;
    let planes = width.div_ceil(8) as usize;
    if count >= 64 && (cost < packed * 0.97 || width.is_multiple_of(8)) {
        out.meta.push(PLANES + planes as u8);
        let start = out.bytes.len();
        out.note_area(Area { start, count, planes, is_recency: false });
        out.bytes.resize(start + count * planes, 0);
        let area = &mut out.bytes[start..];
        match planes {
            1 => area.iter_mut().zip(stored).for_each(|(b, v)| *b = v as u8),
            _ => {
                for (i, v) in stored.enumerate() {
                    for plane in 0..planes {
                        area[plane * count + i] = (v >> (8 * plane)) as u8;
                    }
                }
            }
        }
    } else {
        out.meta.push(width as u8);
        pack(stored, width, &mut out.packed);
    }
}

/// Encodes few distinct values as such, if that is sure to pay; `false` and nothing written otherwise.
fn dictionary(values: &[i64], best: f32, out: &mut Streams) -> bool {
    if values.len() < 64 {
        return false;
    }
    let mut codes: HashMap<i64, u32, foldhash::fast::FixedState> = HashMap::default();
    // A look at some tells whether it is worth a look at all.
    let step = (values.len() / 256).max(1);
    for &v in values.iter().step_by(step) {
        codes.insert(v, 0);
    }
    if codes.len() > 96 {
        return false;
    }
    let limit = (values.len() / 4).min(256);
    for &v in values {
        codes.insert(v, 0);
        if codes.len() > limit {
            return false;
        }
    }
    let mut sorted: Vec<i64> = codes.keys().copied().collect();
    sorted.sort_unstable();
    for (code, v) in (0..).zip(&sorted) {
        codes.insert(*v, code);
    }
    let coded: Vec<i64> = values.iter().map(|v| codes.get(v).map_or(0, |&c| i64::from(c))).collect();
    let width = bits(sorted.len() as u64 - 1);
    let code_cost = cost(&coded, |v, _| v as u64, width);
    if code_cost + sorted.len() as f32 * 24.0 > best {
        return false;
    }
    out.meta.push(DICTIONARY);
    put_varint(&mut out.meta, sorted.len() as u64);
    encode(&sorted, out);
    // Codes are for the compressor, which sees their patterns where a guess sees only how many there are.
    layout(coded.iter().map(|&c| c as u64), coded.len(), width, 0.0, out);
    true
}
