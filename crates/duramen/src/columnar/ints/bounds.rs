//! What integers can be, without reading them.

use super::super::streams::Part;
use super::{CONSTANT, DICTIONARY, LINEAR, PLANES, REFERENCE};
use crate::error::Result;

/// What integers can be of which nothing is told.
const ANY: (i64, i64) = (i64::MIN, i64::MAX);

/// The least and the most that `count` integers can be, as far as how they are encoded says so. The part is left anywhere.
pub(crate) fn bounds(part: &mut Part<'_>, count: usize) -> Result<(i64, i64)> {
    bounds_nested(part, count, true)
}

fn bounds_nested(part: &mut Part<'_>, count: usize, may_nest: bool) -> Result<(i64, i64)> {
    if count == 0 {
        return Ok(ANY);
    }
    Ok(match part.meta.u8()? {
        CONSTANT => {
            let value = part.meta.zigzag()?;
            (value, value)
        }
        LINEAR => {
            let (first, step) = (part.meta.zigzag()?, part.meta.zigzag()?);
            let steps = i64::try_from(count - 1).ok();
            let last = steps.and_then(|steps| step.checked_mul(steps)).and_then(|way| first.checked_add(way));
            last.map_or(ANY, |last| (first.min(last), first.max(last)))
        }
        REFERENCE => {
            let (min, scale) = (part.meta.zigzag()?, part.meta.varint()?);
            let most_stored = match part.meta.u8()? {
                bits @ 0..=64 => most_of(u32::from(bits)),
                planes @ 129..=136 => most_of(8 * u32::from(planes - PLANES)),
                _ => return Ok(ANY),
            };
            // What could be more than an integer would begin again with the least.
            let way = most_stored.checked_mul(scale);
            way.and_then(|way| min.checked_add_unsigned(way)).map_or(ANY, |most| (min, most))
        }
        DICTIONARY if may_nest => {
            let size = part.meta.count(count)?;
            bounds_nested(part, size, false)?
        }
        _ => ANY,
    })
}

/// The most that so many bits can be.
fn most_of(bits: u32) -> u64 {
    u64::MAX.checked_shr(64 - bits).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::super::super::streams::Streams;
    use super::super::encode;
    use super::*;

    fn bounds_of(values: &[i64]) -> (i64, i64) {
        let mut streams = Streams::default();
        encode(values, &mut streams);
        let bundle = streams.reread();
        bounds(&mut bundle.part(&[0; 4], &streams.lens()).unwrap(), values.len()).unwrap()
    }

    #[test]
    fn each_encoding_tells_what_it_can() {
        assert_eq!(bounds_of(&[7; 100]), (7, 7));
        assert_eq!(bounds_of(&(0..100).map(|i| 50 - 3 * i).collect::<Vec<_>>()), (-247, 50));
        let mut state = 1u64;
        let mut scattered = vec![1_000];
        scattered.resize_with(1_000, || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(7);
            1_000 + (state >> 33) as i64 % 100_000
        });
        let (least, most) = bounds_of(&scattered);
        assert!(least == 1_000 && (100_000..1_000 + (1 << 24)).contains(&most), "{most}");
        assert_eq!(
            bounds_of(&(0..1_000).map(|i| i * i * i).collect::<Vec<_>>()),
            ANY,
            "each follows from the last"
        );
        assert_eq!((most_of(0), most_of(1), most_of(64)), (0, 1, u64::MAX));
    }
}
