//! Texts that are numbers: plain integers, integers with zeros in front, decimal fractions.

use super::super::bytes::bad;
use super::super::chosen::Chosen;
use super::super::ints;
use super::super::streams::{Part, Streams};
use super::super::texts::Texts;
use super::{DECIMAL, INTEGERS, PADDED, Spans};
use crate::column::IntText;
use crate::entry::plain_integer;
use crate::error::Result;

/// So many digits fit into an integer whatever they are.
const MAX_DIGITS: usize = 18;

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

/// The digits of `v` as an integer and how many stand after the point, if decoding will write them so.
fn parse_decimal(v: &[u8]) -> Option<(i64, usize)> {
    let (negative, digits) = match v {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    let point = memchr::memchr(b'.', digits)?;
    let (whole, fraction) = (&digits[..point], &digits[point + 1..]);
    let plain_whole = matches!(whole, [b'0'] | [b'1'..=b'9', ..]);
    if !plain_whole || fraction.is_empty() || digits.len() > MAX_DIGITS {
        return None;
    }
    let mut n = 0i64;
    for &d in whole.iter().chain(fraction) {
        if !d.is_ascii_digit() {
            return None;
        }
        n = n * 10 + i64::from(d - b'0');
    }
    // There is no integer -0 to stand for "-0.00".
    if negative && n == 0 {
        return None;
    }
    Some((if negative { -n } else { n }, fraction.len()))
}

pub(super) fn encode_fractions(values: Spans<'_>, out: &mut Streams) -> bool {
    let Some((_, scale)) = parse_decimal(values.get(0)) else { return false };
    let mut ints = Vec::with_capacity(values.len());
    for v in values.iter() {
        match parse_decimal(v) {
            Some((n, s)) if s == scale => ints.push(n),
            _ => return false,
        }
    }
    out.meta.push(DECIMAL);
    out.meta.push(scale as u8);
    ints::encode(&ints, out);
    true
}

/// Appends what [`encode_fractions`] wrote.
pub(super) fn decode_fractions(part: &mut Part<'_>, chosen: Chosen<'_>, out: &mut Texts) -> Result<()> {
    let scale = usize::from(part.meta.u8()?);
    if scale > MAX_DIGITS {
        return Err(bad("a number is too long"));
    }
    let mut digits = IntText::default();
    for n in ints::decode_chosen(part, chosen)? {
        if n < 0 {
            out.bytes.push(b'-');
        }
        let number = digits.format(n).trim_start_matches('-').as_bytes();
        let whole = number.len().saturating_sub(scale);
        out.bytes.extend_from_slice(if whole == 0 { b"0" } else { &number[..whole] });
        out.bytes.push(b'.');
        out.bytes.resize(out.bytes.len() + scale - (number.len() - whole), b'0');
        out.push(&number[whole..]);
    }
    Ok(())
}
