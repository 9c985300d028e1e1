//! How many rows of a table's blocks each step of time has, by level: kept with the table, so that a histogram is drawn without
//! opening blocks.
//!
//! ```text
//! property:   method u8 (0 stored, 1 zstd), plain_len varint, bytes
//! plain:      blocks: count varint, then each:
//!   step      seconds varint, at most a day; 0: nothing is told of the block, and nothing follows
//!   first     zigzag: the number of the first step; step 0 begins at the epoch
//!   steps     count varint
//!   levels    count varint, then each (counted): the values of `level`, the empty text of rows without; none: not told
//!   rows      of each level, or of all rows where those are not told, of each step: how many rows, varint
//! ```

use super::bytes::{Reader, bad, put_bytes, put_varint, put_zigzag};
use super::compress::{Zstd, unpacked};
use super::table_fields::MAX_FEW_VALUES;
use crate::error::Result;
use std::sync::Arc;

/// The most bytes that a table remembers of its blocks' steps of time, before compression. Of the blocks that would take more,
/// nothing is told: they are opened.
pub const MAX_TABLE_TIMES_BYTES: usize = 256 << 10;
/// The most steps of a block, those of each level counted.
pub(crate) const MAX_TIME_COUNTS: usize = 1024;
/// How long steps may be, in seconds: as long as it takes for a block to have few enough.
pub(crate) const STEPS_S: [i64; 7] = [1, 10, 60, 300, 900, 3_600, DAY_S];

const DAY_S: i64 = 86_400;
const NS: i64 = 1_000_000_000;

/// How many rows of a block each step of time has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimeCounts {
    /// How long a step is, in seconds; 1 to 86,400.
    pub step_s: i64,
    /// The number of the first step. Step `n` has the times from `n * step_s` seconds since the epoch.
    pub first: i64,
    /// How many rows each step has of each value of `level`; rows without one have the empty text. Of all rows together, if the
    /// level is not told.
    pub rows: Vec<(Option<Arc<str>>, Vec<u64>)>,
}

impl TimeCounts {
    /// How many steps there are.
    pub fn steps(&self) -> usize {
        self.rows.first().map_or(0, |(_, steps)| steps.len())
    }

    /// The first and the last time of a step; those of a step far away are as far as times go.
    pub fn times(&self, step: usize) -> (i64, i64) {
        let start = |step: usize| (i128::from(self.first) + step as i128) * i128::from(self.step_s * NS);
        let time = |ns: i128| ns.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
        (time(start(step)), time(start(step + 1) - 1))
    }

    /// Nothing yet of rows with these levels, if they are told, between two times. Nothing if that would be more than `most`
    /// counts.
    pub(crate) fn new(
        min_time: i64,
        max_time: i64,
        levels: Vec<Option<Arc<str>>>,
        most: usize,
    ) -> Option<Self> {
        let counts = STEPS_S.into_iter().find_map(|step_s| {
            let (first, last) = (min_time.div_euclid(step_s * NS), max_time.div_euclid(step_s * NS));
            let steps = usize::try_from(last.checked_sub(first)?.checked_add(1)?).ok()?;
            (steps.checked_mul(levels.len())? <= most).then_some((step_s, first, steps))
        });
        let (step_s, first, steps) = counts?;
        let rows = levels.into_iter().map(|level| (level, vec![0; steps])).collect();
        Some(Self { step_s, first, rows })
    }

    /// Adds a row of the level of this number.
    pub(crate) fn add(&mut self, time: i64, level: usize) {
        let step = time.div_euclid(self.step_s * NS) - self.first;
        let of_level = self.rows.get_mut(level).map(|(_, steps)| steps);
        if let (Some(steps), Ok(step)) = (of_level, usize::try_from(step))
            && let Some(rows) = steps.get_mut(step)
        {
            *rows += 1;
        }
    }

    fn all(&self) -> u64 {
        self.rows.iter().flat_map(|(_, steps)| steps).fold(0, |sum, rows| sum.saturating_add(*rows))
    }

    fn write(&self, out: &mut Vec<u8>) {
        put_varint(out, self.step_s as u64);
        put_zigzag(out, self.first);
        put_varint(out, self.steps() as u64);
        let levels = self.rows.iter().filter_map(|(level, _)| level.as_ref());
        put_varint(out, levels.clone().count() as u64);
        levels.for_each(|level| put_bytes(out, level.as_bytes()));
        self.rows.iter().flat_map(|(_, steps)| steps).for_each(|rows| put_varint(out, *rows));
    }

    fn read(r: &mut Reader<'_>) -> Result<Option<Self>> {
        let step_s = r.count(DAY_S as usize)? as i64;
        if step_s == 0 {
            return Ok(None);
        }
        let (first, steps) = (r.zigzag()?, r.count(MAX_TIME_COUNTS)?);
        let levels = r.count(MAX_FEW_VALUES + 1)?;
        let mut of_levels: Vec<Option<Arc<str>>> =
            (0..levels).map(|_| r.str().map(|level| Some(level.into()))).collect::<Result<_>>()?;
        if levels == 0 {
            of_levels.push(None);
        }
        if steps * of_levels.len() > MAX_TIME_COUNTS {
            return Err(bad("there are too many steps of time"));
        }
        let mut of_steps = || (0..steps).map(|_| r.varint()).collect::<Result<Vec<_>>>();
        let rows = of_levels.into_iter().map(|level| Ok((level, of_steps()?))).collect::<Result<_>>()?;
        Ok(Some(Self { step_s, first, rows }))
    }
}

/// Collects the steps of time of a table's blocks while they are written.
#[derive(Debug, Default)]
pub(crate) struct TableTimesBuilder {
    blocks: usize,
    plain: Vec<u8>,
}

impl TableTimesBuilder {
    /// Adds the next block.
    pub(crate) fn add_block(&mut self, counts: Option<&TimeCounts>) {
        self.blocks += 1;
        let start = self.plain.len();
        if let Some(counts) = counts {
            counts.write(&mut self.plain);
            // The other half is for blocks of which nothing is told.
            if self.plain.len() <= MAX_TABLE_TIMES_BYTES / 2 {
                return;
            }
            self.plain.truncate(start);
        }
        self.plain.push(0);
    }

    /// The property, unless that is too much.
    ///
    /// # Errors
    /// What zstd says, which is a fault of the program.
    pub(crate) fn finish(&self, zstd: &mut Zstd) -> Result<Option<Vec<u8>>> {
        let mut plain = Vec::new();
        put_varint(&mut plain, self.blocks as u64);
        plain.extend_from_slice(&self.plain);
        if plain.len() > MAX_TABLE_TIMES_BYTES { Ok(None) } else { zstd.packed(&plain).map(Some) }
    }
}

/// The steps of time of a table's blocks. A histogram needs those of few blocks of most tables: what is told is read when it is
/// asked for.
#[derive(Debug)]
pub(crate) struct TableTimes {
    plain: Vec<u8>,
    /// Where what is told of each block begins.
    starts: Vec<u32>,
}

impl TableTimes {
    /// Reads the property.
    ///
    /// # Errors
    /// [`crate::Error::Decode`] if it makes no sense.
    pub(crate) fn decode(property: &[u8]) -> Result<Self> {
        let plain = unpacked(property, MAX_TABLE_TIMES_BYTES)?;
        let mut r = Reader::new(&plain);
        let mut starts = Vec::new();
        for _ in 0..r.count(plain.len())? {
            starts.push((plain.len() - r.remaining()) as u32);
            TimeCounts::read(&mut r)?;
        }
        if r.remaining() > 0 { Err(bad("there is more than its blocks")) } else { Ok(Self { plain, starts }) }
    }

    /// What is told of a block of so many rows.
    pub(crate) fn of_block(&self, block: usize, rows: u64) -> Option<TimeCounts> {
        let start = *self.starts.get(block)? as usize;
        let told = TimeCounts::read(&mut Reader::new(self.plain.get(start..)?)).ok()?;
        told.filter(|counts| counts.all() == rows)
    }
}

/// Reads a property and all that it tells. Panics if steps do not follow one another.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn look_at_all(property: &[u8]) {
    let Ok(table) = TableTimes::decode(property) else { return };
    for &start in &table.starts {
        let told = TimeCounts::read(&mut Reader::new(&table.plain[start as usize..]));
        assert!(told.is_ok(), "it was read before");
        let Ok(Some(counts)) = told else { continue };
        for step in 0..counts.steps() {
            let ((start, end), (next, _)) = (counts.times(step), counts.times(step + 1));
            assert!(start <= end && end <= next);
        }
        assert!(counts.rows.iter().all(|(_, steps)| steps.len() == counts.steps()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(min_s: i64, max_s: i64, levels: &[Option<&str>], most: usize) -> Option<TimeCounts> {
        let levels = levels.iter().map(|level| level.map(Arc::from)).collect();
        TimeCounts::new(min_s * NS, max_s * NS, levels, most)
    }

    fn property(blocks: &[Option<TimeCounts>]) -> Vec<u8> {
        let mut builder = TableTimesBuilder::default();
        blocks.iter().for_each(|counts| builder.add_block(counts.as_ref()));
        builder.finish(&mut Zstd::of_level(3)).unwrap().unwrap()
    }

    #[test]
    fn steps_are_as_long_as_it_takes_to_have_few() {
        let steps =
            |max_s, most| counts(-1, max_s, &[None], most).map(|counts| (counts.step_s, counts.steps()));
        assert_eq!(steps(-1, 1), Some((1, 1)));
        assert_eq!(steps(8, 10), Some((1, 10)));
        assert_eq!(steps(9, 10), Some((10, 2)));
        assert_eq!(steps(899, 4), Some((300, 4)), "from -300 to 899");
        assert_eq!((steps(DAY_S, 3), steps(DAY_S, 2)), (Some((DAY_S, 3)), None));
        assert_eq!(counts(-1, 899, &[Some("info"), None], 4).unwrap().step_s, 900);
        assert_eq!(TimeCounts::new(i64::MIN, i64::MAX, vec![None], MAX_TIME_COUNTS), None);
    }

    #[test]
    fn counts_come_back() {
        let mut some = counts(-5, 30, &[Some("info"), Some("")], 100).unwrap();
        [(-5, 0), (0, 0), (0, 1), (30, 1)].iter().for_each(|&(time, level)| some.add(time * NS, level));
        assert_eq!((some.step_s, some.times(1)), (1, (-4 * NS, -3 * NS - 1)));
        let all = counts(0, 0, &[None], 1);
        let table = TableTimes::decode(&property(&[Some(some.clone()), None, all])).unwrap();
        assert_eq!(table.of_block(0, 4).as_ref(), Some(&some));
        assert_eq!(table.of_block(0, 5), None, "the manifest says that there are more rows");
        assert_eq!((table.of_block(1, 0), table.of_block(3, 0)), (None, None));
        assert_eq!(table.of_block(2, 0).unwrap().rows, [(None, vec![0])]);
    }

    #[test]
    fn of_a_table_with_too_much_the_last_blocks_are_not_told() {
        let mut large = counts(0, 999, &[None], 1000).unwrap();
        large.rows[0].1.fill(1 << 20);
        let rows = 1000 << 20;
        let table = TableTimes::decode(&property(&vec![Some(large); 60])).unwrap();
        let told: Vec<_> = (0..60).map(|block| table.of_block(block, rows).is_some()).collect();
        assert_eq!(told.iter().filter(|told| **told).count(), MAX_TABLE_TIMES_BYTES / 2 / 3_000);
        assert!(told.is_sorted_by(|before, after| before >= after));
    }

    #[test]
    fn what_makes_no_sense_is_refused_and_does_not_panic() {
        let some = property(&[counts(0, 9, &[Some("a"), Some("b")], 20), None]);
        for at in 0..some.len() {
            for byte in [0, 1, 0x7f, 0xff] {
                let mut damaged = some.clone();
                damaged[at] = byte;
                look_at_all(&damaged);
            }
            look_at_all(&some[..at]);
        }
        // Steps before and behind all times.
        for first in [i64::MIN, i64::MIN / NS, i64::MAX / DAY_S / NS, i64::MAX] {
            for step_s in [1, DAY_S] {
                look_at_all(&property(&[Some(TimeCounts { step_s, first, rows: vec![(None, vec![1, 2])] })]));
            }
        }
        let stored = |plain: &[u8]| [&[0, plain.len() as u8], plain].concat();
        assert!(TableTimes::decode(&stored(&[1, 1, 0, 2, 0, 5, 6])).is_ok());
        for plain in [&[1, 1, 0, 2, 0, 5][..], &[1, 1, 0, 2, 0, 5, 6, 7], &[1, 0x81, 0xa3, 5, 0, 0, 0]] {
            assert!(TableTimes::decode(&stored(plain)).is_err(), "{plain:?}");
        }
    }
}
