//! Texts that all begin and end alike, with something of a closer kind in between: `blk_17`, `12ms`.

use super::super::bytes::put_bytes;
use super::super::chosen::Chosen;
use super::super::streams::{Part, Streams};
use super::super::texts::Texts;
use super::{AFFIX, Spans, decimal, decode_nested, hex, ipv4};
use crate::column::IntText;
use crate::error::Result;
use duramen_engine::kv::shared_len;

/// What all texts begin and end with is stored once, if the rest is then of a closer kind.
pub(super) fn encode(values: Spans<'_>, out: &mut Streams) -> bool {
    let first = values.get(0);
    let mut prefix = first.len();
    let mut suffix = first.len();
    for v in values.iter() {
        prefix = shared_len(v, &first[..prefix]);
        suffix = v
            .iter()
            .rev()
            .zip(first[first.len() - suffix..].iter().rev())
            .take_while(|(a, b)| a == b)
            .count();
        if prefix == 0 && suffix == 0 {
            return false;
        }
    }
    let shortest = values.iter().map(<[u8]>::len).min().unwrap_or(0);
    // Digits are left to the number that they are part of, and characters are not cut.
    let numeric = |c: u8| c.is_ascii_hexdigit() || c == b'.' || c >= 0x80;
    while prefix > 0 && numeric(first[prefix - 1]) {
        prefix -= 1;
    }
    suffix = suffix.min(shortest - prefix);
    while suffix > 0 && numeric(first[first.len() - suffix]) {
        suffix -= 1;
    }
    if prefix == 0 && suffix == 0 {
        return false;
    }
    let inner: Vec<(u32, u32)> =
        values.spans.iter().map(|&(start, end)| (start + prefix as u32, end - suffix as u32)).collect();
    let inner = Spans { bytes: values.bytes, spans: &inner };
    let head = out.meta.len();
    out.meta.push(AFFIX);
    put_bytes(&mut out.meta, &first[..prefix]);
    put_bytes(&mut out.meta, &first[first.len() - suffix..]);
    if decimal::encode_integers(inner, out)
        || decimal::encode_padded(inner, out)
        || ipv4::encode(inner, out)
        || decimal::encode_fractions(inner, out)
        || hex::encode(inner, out)
    {
        return true;
    }
    out.meta.truncate(head);
    false
}

/// Appends what [`encode`] wrote.
pub(super) fn decode(part: &mut Part<'_>, chosen: Chosen<'_>, depth: u32, out: &mut Texts) -> Result<()> {
    let prefix = part.meta.str()?.as_bytes();
    let suffix = part.meta.str()?.as_bytes();
    let inner = decode_nested(part, chosen, depth - 1)?;
    let mut digits = IntText::default();
    for i in 0..chosen.len() {
        out.bytes.extend_from_slice(prefix);
        out.bytes.extend_from_slice(inner.get(i, &mut digits));
        out.push(suffix);
        out.check()?;
    }
    Ok(())
}
