//! Quantiles of any number of numbers in bounded memory.
//!
//! Few numbers are kept as they are. Of more, it is counted how often each occurs: durations, sizes and codes occur again
//! and again. When too many differ, all lose their last binary digit, and one more, until few enough are left: those near
//! each other become one. What is lost depends on the numbers alone and not on who saw which first, because to lose two
//! digits is to lose one and one more; so threads may share the rows as they like. Only if the query's memory gets scarce
//! digits are lost earlier.

use crate::error::Result;
use crate::exec::memory::Memory;
use crate::number::{Number, format_float};
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use hashbrown::hash_map::Entry;

/// So many numbers are kept as they are, and counted at once if there are more.
const MAX_KEPT: usize = 4096;
/// So many different ones are counted exactly: 4.5 MB.
const MAX_EXACT: usize = 128 << 10;
/// If there are more, so many are left. Of 16,384, numbers between 1 and 1,000,000 keep 9 binary digits or more.
const MAX_ROUNDED: usize = 16 << 10;
/// The digits that a float has behind its first one.
const FLOAT_DIGITS: u32 = 52;
/// Floats hold all integers up to this one.
const MAX_FLOAT_INTEGER: u64 = 1 << 53;
const WHAT: &str = "quantiles";

/// The numbers of a group.
#[derive(Clone, Debug, Default)]
pub(crate) struct Quantile {
    /// Those that are not counted yet. Many are counted at once, so that what counts them stays in the processor's caches
    /// though other groups come in between.
    kept: Vec<Number>,
    counts: Option<Box<Counts>>,
}

/// How often each number occurs.
#[derive(Clone, Debug, Default)]
struct Counts {
    /// By the bits of the number as a float.
    floats: HashMap<u64, u64, FixedState>,
    /// Integers that no float holds; as long as no digits are lost.
    integers: HashMap<i64, u64, FixedState>,
    lost_digits: u32,
}

impl Quantile {
    pub fn add(&mut self, number: Number, memory: &Memory) -> Result<()> {
        if self.kept.len() == self.kept.capacity() {
            if self.kept.len() < MAX_KEPT {
                memory.charge(self.kept.capacity().max(4) * size_of::<Number>(), WHAT)?;
            } else {
                self.count(memory)?;
            }
        }
        self.kept.push(number);
        Ok(())
    }

    pub fn merge(&mut self, mut other: Self, memory: &Memory) -> Result<()> {
        let bytes = other.kept.capacity() * size_of::<Number>();
        self.kept.append(&mut other.kept);
        if self.kept.len() > MAX_KEPT || other.counts.is_some() {
            self.count(memory)?;
            memory.release(bytes);
        }
        let (Some(counts), Some(others)) = (&mut self.counts, other.counts) else { return Ok(()) };
        let (mine, theirs) = (counts.bytes(), others.bytes());
        counts.merge(*others);
        memory.release(theirs);
        counts.settle(mine, memory)
    }

    /// Counts what was kept.
    fn count(&mut self, memory: &Memory) -> Result<()> {
        let counts = self.counts.get_or_insert_default();
        let before = counts.bytes();
        self.kept.drain(..).for_each(|number| counts.add(number, 1));
        counts.settle(before, memory)
    }

    /// The nearest rank; nothing, if there are no numbers.
    pub fn result(mut self, phi: f64) -> String {
        let rank = |len: u64| ((phi * len as f64).ceil() as u64).saturating_sub(1).min(len.saturating_sub(1));
        let Some(mut counts) = self.counts else {
            if self.kept.is_empty() {
                return String::new();
            }
            let at = rank(self.kept.len() as u64) as usize;
            return text(*self.kept.select_nth_unstable(at).1);
        };
        self.kept.iter().for_each(|number| counts.add(*number, 1));
        let at = rank(counts.floats.values().chain(counts.integers.values()).sum());
        let floats = counts.floats.into_iter();
        if counts.integers.is_empty() {
            // Mostly there are none, and floats alone compare as one kind of number.
            let mut sorted: Vec<(f64, u64)> =
                floats.map(|(bits, count)| (f64::from_bits(bits), count)).collect();
            sorted.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
            return nth(&sorted, at).map_or_else(String::new, format_float);
        }
        let floats = floats.map(|(bits, count)| (Number::Float(f64::from_bits(bits)), count));
        let integers = counts.integers.into_iter().map(|(n, count)| (Number::Int(n), count));
        let mut sorted: Vec<(Number, u64)> = floats.chain(integers).collect();
        sorted.sort_unstable_by_key(|(number, _)| *number);
        nth(&sorted, at).map_or_else(String::new, text)
    }
}

/// The `at`th of numbers that are each there so many times, which are sorted.
fn nth<T: Copy>(sorted: &[(T, u64)], at: u64) -> Option<T> {
    let mut before = 0;
    let found = sorted.iter().find(|(_, count)| {
        before += count;
        before > at
    });
    found.map(|(number, _)| *number)
}

fn text(number: Number) -> String {
    match number {
        Number::Int(n) => n.to_string(),
        Number::Float(x) => format_float(x),
    }
}

impl Counts {
    /// About how many bytes of memory it takes.
    fn bytes(&self) -> usize {
        (self.floats.capacity() + self.integers.capacity()) * (size_of::<(u64, u64)>() + 3)
    }

    /// Charges for what was added. Exact counts leave half of the query's memory to others.
    fn settle(&mut self, bytes_before: usize, memory: &Memory) -> Result<()> {
        if self.len() > MAX_ROUNDED && !memory.has_half_left(self.bytes().saturating_sub(bytes_before)) {
            self.round();
        }
        let bytes = self.bytes();
        memory.release(bytes_before.saturating_sub(bytes));
        memory.charge(bytes.saturating_sub(bytes_before), WHAT)
    }

    fn len(&self) -> usize {
        self.floats.len() + self.integers.len()
    }

    fn add(&mut self, number: Number, count: u64) {
        match number {
            Number::Int(n) if self.lost_digits == 0 && n.unsigned_abs() > MAX_FLOAT_INTEGER => {
                *self.integers.entry(n).or_default() += count;
                self.keep_few();
            }
            number => self.add_float(number.as_f64(), count),
        }
    }

    fn add_float(&mut self, x: f64, count: u64) {
        // There is no -0.
        let bits = without((x + 0.0).to_bits(), self.lost_digits);
        match self.floats.entry(bits) {
            Entry::Occupied(mut entry) => *entry.get_mut() += count,
            Entry::Vacant(entry) => {
                entry.insert(count);
                self.keep_few();
            }
        }
    }

    fn merge(&mut self, other: Self) {
        if self.lost_digits < other.lost_digits {
            self.lose(other.lost_digits);
        }
        other.integers.into_iter().for_each(|(n, count)| self.add(Number::Int(n), count));
        other.floats.into_iter().for_each(|(bits, count)| self.add_float(f64::from_bits(bits), count));
    }

    fn keep_few(&mut self) {
        if self.len() > if self.lost_digits == 0 { MAX_EXACT } else { MAX_ROUNDED } {
            self.round();
        }
    }

    /// Loses as few digits as leave few numbers, but one at least.
    fn round(&mut self) {
        // Those that become one lie side by side.
        let integers = self.integers.keys().map(|&n| (n as f64).to_bits());
        let mut sorted: Vec<u64> = self.floats.keys().copied().chain(integers).collect();
        sorted.sort_unstable();
        let left =
            |digits| 1 + sorted.windows(2).filter(|w| without(w[0], digits) != without(w[1], digits)).count();
        let (mut enough, mut too_few) = (FLOAT_DIGITS, self.lost_digits);
        while enough > too_few + 1 {
            let digits = too_few.midpoint(enough);
            if left(digits) <= MAX_ROUNDED { enough = digits } else { too_few = digits }
        }
        self.lose(enough);
    }

    fn lose(&mut self, digits: u32) {
        self.lost_digits = digits;
        let integers =
            std::mem::take(&mut self.integers).into_iter().map(|(n, count)| ((n as f64).to_bits(), count));
        for (bits, count) in std::mem::take(&mut self.floats).into_iter().chain(integers) {
            *self.floats.entry(without(bits, digits)).or_default() += count;
        }
    }
}

/// A float without its last binary digits: nearer to zero.
fn without(bits: u64, digits: u32) -> u64 {
    let infinite = bits & (0x7ff << FLOAT_DIGITS) == 0x7ff << FLOAT_DIGITS;
    if infinite { bits } else { bits >> digits << digits }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(numbers: impl IntoIterator<Item = Number>, memory: &Memory) -> Quantile {
        let mut quantile = Quantile::default();
        numbers.into_iter().for_each(|number| quantile.add(number, memory).unwrap());
        quantile
    }

    /// Numbers that do not repeat for long.
    fn mixed(n: u64) -> impl Iterator<Item = Number> + Clone {
        (0..n).map(|i| Number::Float((i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20) as f64 / 1e6))
    }

    #[test]
    fn few_different_numbers_are_exact_however_many_there_are() {
        let memory = Memory::new(2 << 20);
        let quantile = of((0..1_000_000).map(|i| Number::Int(i * 7919 % 10_000 - 50)), &memory);
        for (phi, expected) in [(0.0, "-50"), (0.5, "4949"), (0.99, "9849"), (1.0, "9949")] {
            assert_eq!(quantile.clone().result(phi), expected, "{phi}");
        }
        assert_eq!(Quantile::default().result(0.5), "");
        let infinite = [Number::Float(f64::INFINITY), Number::Float(f64::NEG_INFINITY), Number::Int(0)];
        let infinite = of(infinite.into_iter().cycle().take(30_000), &memory);
        let results = [0.1, 0.5, 0.9].map(|phi| infinite.clone().result(phi).parse::<f64>().unwrap());
        assert_eq!(results, [f64::NEG_INFINITY, 0.0, f64::INFINITY]);
    }

    #[test]
    fn many_different_numbers_lose_digits_and_take_little_memory() {
        let memory = Memory::new(16 << 20);
        let mut all: Vec<f64> = mixed(300_000).map(Number::as_f64).collect();
        let quantile = of(mixed(300_000), &memory);
        all.sort_unstable_by(f64::total_cmp);
        for phi in [0.001, 0.5, 0.99] {
            let exact = all[(phi * 300_000.0) as usize - 1];
            let found: f64 = quantile.clone().result(phi).parse().unwrap();
            assert!((found - exact).abs() <= exact / 512.0, "{phi}: {found} for {exact}");
        }
    }

    #[test]
    fn a_hundred_thousand_different_numbers_are_exact() {
        let memory = Memory::new(32 << 20);
        // Neighbours that floats do not tell apart.
        let first = 1_674_982_340_255_809_501;
        let large = of((0..100_000).map(|i| Number::Int(first + i * 7919 % 100_000)), &memory);
        let small = of((0..100_000).map(|i| Number::Int(i * 7919 % 100_000 - 50_000)), &memory);
        for (phi, rank) in [(0.0, 0), (0.5, 49_999), (0.999, 99_899), (1.0, 99_999)] {
            assert_eq!(large.clone().result(phi), (first + rank).to_string(), "{phi}");
            assert_eq!(small.clone().result(phi), (rank - 50_000).to_string(), "{phi}");
        }
        let mut both = large;
        both.merge(small, &memory).unwrap();
        let found: f64 = both.result(0.75).parse().unwrap();
        assert!((found - first as f64).abs() <= first as f64 / 512.0, "{found}");
    }

    #[test]
    fn scarce_memory_takes_digits_and_no_answer() {
        let memory = Memory::new(3 << 20);
        let numbers = mixed(100_000);
        let mut all: Vec<f64> = numbers.clone().map(Number::as_f64).collect();
        all.sort_unstable_by(f64::total_cmp);
        let found: f64 = of(numbers, &memory).result(0.5).parse().unwrap();
        assert_ne!(found, all[49_999]);
        assert!((found - all[49_999]).abs() <= all[49_999] / 512.0, "{found} for {}", all[49_999]);
    }

    #[test]
    fn the_result_does_not_depend_on_who_saw_which() {
        let memory = Memory::new(64 << 20);
        let large = (0..9000).map(|i| Number::Int((1 << 60) + i));
        let numbers: Vec<Number> = mixed(160_000).chain((0..9000).map(Number::Int)).chain(large).collect();
        let one = of(numbers.iter().copied(), &memory);
        for parts in [2, 3, 20] {
            let mut merged = Quantile::default();
            for part in 0..parts {
                let of_part = numbers.iter().copied().skip(part).step_by(parts);
                merged.merge(of(of_part, &memory), &memory).unwrap();
            }
            for phi in [0.01, 0.3, 0.5, 0.9, 0.999] {
                assert_eq!(merged.clone().result(phi), one.clone().result(phi), "{parts} parts, {phi}");
            }
        }
    }

    #[test]
    fn memory_is_counted() {
        let memory = Memory::new(100 << 10);
        let mut quantile = Quantile::default();
        let error = mixed(20_000).try_for_each(|number| quantile.add(number, &memory)).unwrap_err();
        assert!(error.to_string().contains("quantiles"), "{error}");
    }
}
