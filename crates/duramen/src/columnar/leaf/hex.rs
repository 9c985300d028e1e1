//! Texts of hexadecimal digits, all of one length: ids and hashes. Two digits are one byte.

use super::super::bytes::bad;
use super::super::chosen::Chosen;
use super::super::streams::{MAX_STREAM_BYTES, Part, Streams};
use super::super::texts::Texts;
use super::{HEX, Spans};
use crate::error::Result;

fn digit(c: u8, upper: bool) -> Option<u8> {
    match c {
        b'0'..=b'9' => Some(c - b'0'),
        b'a'..=b'f' if !upper => Some(c - b'a' + 10),
        b'A'..=b'F' if upper => Some(c - b'A' + 10),
        _ => None,
    }
}

pub(super) fn encode(values: Spans<'_>, out: &mut Streams) -> bool {
    let digits = values.get(0).len();
    if !(4..=254).contains(&digits) || !digits.is_multiple_of(2) {
        return false;
    }
    let upper = values.iter().take(16).any(|v| v.iter().any(u8::is_ascii_uppercase));
    let start = out.packed.len();
    for v in values.iter() {
        let even = v.len() == digits;
        for pair in v.chunks_exact(2) {
            match (digit(pair[0], upper), digit(pair[1], upper)) {
                (Some(high), Some(low)) if even => out.packed.push(high << 4 | low),
                _ => {
                    out.packed.truncate(start);
                    return false;
                }
            }
        }
        if !even {
            out.packed.truncate(start);
            return false;
        }
    }
    out.meta.extend_from_slice(&[HEX, digits as u8, u8::from(upper)]);
    true
}

/// Passes over `count` texts: their bytes, how many each has, and whether their letters are large.
fn area<'a>(part: &mut Part<'a>, count: usize) -> Result<(&'a [u8], usize, bool)> {
    let size = usize::from(part.meta.u8()?) / 2;
    let upper = part.meta.u8()? != 0;
    let total = count.checked_mul(size).filter(|&total| total <= MAX_STREAM_BYTES / 2);
    let total = total.ok_or_else(|| bad("too much hex"))?;
    if size == 0 {
        return Err(bad("hex of no length"));
    }
    Ok((part.packed.take(total)?, size, upper))
}

/// Which of `count` texts are this one.
pub(super) fn equal(part: &mut Part<'_>, count: usize, text: &[u8]) -> Result<Vec<bool>> {
    let (area, size, upper) = area(part, count)?;
    let byte = |pair: &[u8]| Some(digit(pair[0], upper)? << 4 | digit(pair[1], upper)?);
    let sought: Option<Vec<u8>> = match text.len() == size * 2 {
        true => text.chunks_exact(2).map(byte).collect(),
        false => None,
    };
    Ok(match sought {
        Some(sought) => area.chunks_exact(size).map(|value| value == sought).collect(),
        None => vec![false; count],
    })
}

/// Appends what [`encode`] wrote.
pub(super) fn decode(part: &mut Part<'_>, chosen: Chosen<'_>, out: &mut Texts) -> Result<()> {
    let (area, size, upper) = area(part, chosen.count())?;
    let letters = if upper { b"0123456789ABCDEF" } else { b"0123456789abcdef" };
    let mut push = |value: &[u8]| {
        for &byte in value {
            out.bytes.extend_from_slice(&[letters[usize::from(byte >> 4)], letters[usize::from(byte & 15)]]);
        }
        out.push(b"");
    };
    match chosen.numbers() {
        None => area.chunks(size).for_each(push),
        Some(numbers) => numbers.iter().for_each(|&i| push(&area[i as usize * size..][..size])),
    }
    Ok(())
}
