//! Texts that are IPv4 addresses, as the integers they stand for.

use super::super::chosen::Chosen;
use super::super::ints;
use super::super::streams::{Part, Streams};
use super::super::texts::Texts;
use super::{IPV4, Spans};
use crate::column::IntText;
use crate::error::Result;

/// The address that these bytes spell in the one way that decoding will.
fn parse(v: &[u8]) -> Option<u32> {
    let mut address = 0u32;
    let mut parts = 0;
    if v.len() > 15 {
        return None;
    }
    for part in v.split(|&c| c == b'.') {
        let n = match part {
            [a @ b'0'..=b'9'] => u32::from(a - b'0'),
            [a @ b'1'..=b'9', b @ b'0'..=b'9'] => u32::from(a - b'0') * 10 + u32::from(b - b'0'),
            [a @ b'1'..=b'2', b @ b'0'..=b'9', c @ b'0'..=b'9'] => {
                u32::from(a - b'0') * 100 + u32::from(b - b'0') * 10 + u32::from(c - b'0')
            }
            _ => return None,
        };
        if n > 255 {
            return None;
        }
        address = address << 8 | n;
        parts += 1;
    }
    (parts == 4).then_some(address)
}

pub(super) fn encode(values: Spans<'_>, out: &mut Streams) -> bool {
    let mut ints = Vec::with_capacity(values.len());
    for v in values.iter() {
        match parse(v) {
            Some(n) => ints.push(i64::from(n)),
            None => return false,
        }
    }
    out.meta.push(IPV4);
    ints::encode(&ints, out);
    true
}

/// Appends what [`encode`] wrote.
pub(super) fn decode(part: &mut Part<'_>, chosen: Chosen<'_>, out: &mut Texts) -> Result<()> {
    let mut digits = IntText::default();
    for n in ints::decode_chosen(part, chosen)? {
        for (i, byte) in (n as u32).to_be_bytes().into_iter().enumerate() {
            if i > 0 {
                out.bytes.push(b'.');
            }
            out.bytes.extend_from_slice(digits.format(i64::from(byte)).as_bytes());
        }
        out.push(b"");
    }
    Ok(())
}
