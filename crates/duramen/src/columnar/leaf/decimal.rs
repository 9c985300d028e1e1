//! Texts that are numbers: plain integers, integers with zeros in front, decimal fractions.

use super::super::bytes::bad;
use super::super::chosen::Chosen;
use super::super::ints;
use super::super::streams::{Part, Streams};
use super::super::texts::Texts;
use super::{DECIMAL, DECIMALS, INTEGERS, PADDED, Spans};
use crate::column::{IntText, Scale};
use crate::decimal::MAX_DIGITS;
use crate::entry::plain_integer;
use crate::error::Result;

pub(super) fn encode_integers(values: Spans<'_>, out: &mut Streams) -> bool {
    let mut ints = Vec::with_capacity(values.len());
    for v in values.iter() {
        match std::str::from_utf8(v).ok().and_then(plain_integer) {
            Some(n) => ints.push(n),
            None => return false,
        }
    }
    out.meta.push(INTEGERS);
    ints::encode(&ints, out);
    true
}

pub(super) fn encode_padded(values: Spans<'_>, out: &mut Streams) -> bool {
    let width = values.get(0).len();
    if !(1..=MAX_DIGITS).contains(&width) {
        return false;
    }
    let mut ints = Vec::with_capacity(values.len());
    for v in values.iter() {
        if v.len() != width || !v.iter().all(u8::is_ascii_digit) {
            return false;
        }
        ints.push(v.iter().fold(0i64, |n, &d| n * 10 + i64::from(d - b'0')));
    }
    out.meta.push(PADDED);
    out.meta.push(width as u8);
    ints::encode(&ints, out);
    true
}

/// Appends what [`encode_padded`] wrote.
pub(super) fn decode_padded(part: &mut Part<'_>, chosen: Chosen<'_>, out: &mut Texts) -> Result<()> {
    let width = usize::from(part.meta.u8()?);
    if width > MAX_DIGITS {
        return Err(bad("a number is too long"));
    }
    let mut digits = IntText::default();
    for n in ints::decode_chosen(part, chosen)? {
        let number = digits.format(n).as_bytes();
        out.bytes.resize(out.bytes.len() + width.saturating_sub(number.len()), b'0');
        out.push(number);
    }
    Ok(())
}

pub(super) fn encode_fractions(values: Spans<'_>, out: &mut Streams) -> bool {
    let Some((scale, integers)) = Scale::of_texts(values.iter()) else { return false };
    match scale.digits() {
        (most, least) if most == least => out.meta.extend_from_slice(&[DECIMAL, most]),
        (most, least) => out.meta.extend_from_slice(&[DECIMALS, most, least]),
    }
    ints::encode(&integers, out);
    true
}

/// What [`encode_fractions`] wrote behind the tag.
pub(super) fn decode_fractions(
    part: &mut Part<'_>,
    tag: u8,
    chosen: Chosen<'_>,
) -> Result<(Scale, Vec<i64>)> {
    let scale = scale(part, tag)?;
    Ok((scale, ints::decode_chosen(part, chosen)?))
}

/// How [`encode_fractions`] wrote that they are written.
pub(super) fn scale(part: &mut Part<'_>, tag: u8) -> Result<Scale> {
    let most = part.meta.u8()?;
    let least = if tag == DECIMAL { most } else { part.meta.u8()? };
    Scale::new(most, least).ok_or_else(|| bad("a number has too many digits"))
}
