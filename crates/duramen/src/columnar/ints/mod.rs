//! Sequences of 64-bit integers.
//!
//! ```text
//! in meta:
//!   0  constant      value zigzag
//!   1  linear        first zigzag, step zigzag
//!   2  reference     min zigzag, gcd varint, layout              value = min + gcd * stored
//!   3  delta         first zigzag, min step zigzag, gcd varint,  value = the one before + min step
//!                    layout of count-1 values                            + gcd * stored
//!   4  dictionary    size varint, its values (a sequence, ascending), layout of the codes
//!
//! layout u8:
//!   0..=64      packed: that many bits each, in the packed stream
//!   128 + n     planes: all lowest bytes, then all second bytes … (n of 1..=8), in the bytes stream
//! ```
//!
//! The count is known to whoever reads. All arithmetic wraps, so that any 64 bits come back.

mod bounds;
mod decode;
mod encode;

pub(crate) use bounds::bounds;
pub(crate) use decode::{decode, decode_below, decode_chosen, decode_short, skip};
pub(crate) use encode::{encode, estimate};

const CONSTANT: u8 = 0;
const LINEAR: u8 = 1;
const REFERENCE: u8 = 2;
const DELTA: u8 = 3;
const DICTIONARY: u8 = 4;
const PLANES: u8 = 128;

#[cfg(test)]
mod tests {
    use super::super::chosen::Chosen;
    use super::super::streams::Streams;
    use super::*;

    fn round_trip(values: &[i64]) {
        let mut streams = Streams::default();
        encode(values, &mut streams);
        let bundle = streams.reread();
        let part = || bundle.part(&[0; 4], &streams.lens()).unwrap();
        let count = values.len();
        let (least, most) = (values.iter().min(), values.iter().max());
        if let (Some(&least), Some(&most)) = (least, most) {
            let (from, to) = bounds(&mut part(), count).unwrap();
            assert!(from <= least && most <= to, "{from}..={to}: {values:?}");
        }
        let mut whole = part();
        assert_eq!(decode(&mut whole, count).unwrap(), values);
        let mut skipped = part();
        skip(&mut skipped, count).unwrap();
        let mut picked = part();
        let numbers: Vec<u32> = (0..count as u32).filter(|i| i % 3 == 1 || i % 7 == 0).collect();
        let some = decode_chosen(&mut picked, Chosen::some(count, &numbers).unwrap()).unwrap();
        assert!(some.iter().eq(numbers.iter().map(|&i| &values[i as usize])), "{some:?}");
        let most = values.iter().copied().max().unwrap_or(0);
        for end in [u32::MAX, u32::try_from(most).map_or(0, |most| most.saturating_add(1)), 100] {
            let below = decode_below(&mut part(), Chosen::all(count), end).unwrap();
            let expected = values.iter().map(|&v| u32::try_from(v).ok().filter(|&v| v < end)).collect();
            assert_eq!(below, expected, "below {end}");
        }
        let short = decode_short(&mut part(), Chosen::all(count)).unwrap();
        let expected = values.iter().map(|&v| i32::try_from(v).unwrap_or(i32::MIN));
        assert!(short.iter().copied().eq(expected), "{short:?}");
        for part in [whole, skipped, picked] {
            assert_eq!([&part.meta, &part.bytes, &part.packed].map(|r| r.remaining()), [0; 3]);
        }
    }

    #[test]
    fn each_encoding_comes_back() {
        round_trip(&[]);
        round_trip(&[7; 1000]);
        round_trip(&(0..1000).map(|i| i * 3 - 50).collect::<Vec<_>>());
        round_trip(&(0..1000).map(|i| (i * i) % 97 * 1_000_000).collect::<Vec<_>>());
        round_trip(&(0..1000).map(|i| i * 1000 + (i * 7919) % 1000).collect::<Vec<_>>());
        round_trip(&(0..1000).map(|i| [200, 404, 1 << 60][i % 3]).collect::<Vec<_>>());
        round_trip(&[i64::MIN, i64::MAX, 0, -1, 1]);
        round_trip(&[i64::MIN, i64::MAX].repeat(100));
    }

    proptest::proptest! {
        #[test]
        fn any_integers_come_back(values: Vec<i64>) {
            round_trip(&values);
        }

        #[test]
        fn small_integers_come_back(values in proptest::collection::vec(-300i64..300, 0..400), scale in 1i64..1_000_000) {
            round_trip(&values.iter().map(|v| v * scale).collect::<Vec<_>>());
        }
    }
}
