//! Texts of no kind: their lengths, and their bytes for the compressor.

use super::super::bytes::{bad, put_varint};
use super::super::chosen::Chosen;
use super::super::ints;
use super::super::streams::{MAX_STREAM_BYTES, Part, Streams};
use super::super::texts::Texts;
use super::{PLAIN, Spans};
use crate::error::Result;

pub(super) fn encode(values: Spans<'_>, out: &mut Streams) {
    out.meta.push(PLAIN);
    put_varint(&mut out.meta, values.iter().map(<[u8]>::len).sum::<usize>() as u64);
    let lens: Vec<i64> = values.spans.iter().map(|&(start, end)| i64::from(end - start)).collect();
    ints::encode(&lens, out);
    for v in values.iter() {
        out.text.extend_from_slice(v);
    }
}

/// The bytes of all texts; their lengths come next.
pub(super) fn area<'a>(part: &mut Part<'a>) -> Result<&'a [u8]> {
    let len = part.meta.count(MAX_STREAM_BYTES)?;
    part.text.take(len)
}

/// Texts where they lie. Whether they are UTF-8 nobody has looked at.
#[derive(Debug)]
pub(crate) struct PlainTexts<'a> {
    pub(super) bytes: &'a [u8],
    /// Where each ends.
    pub(super) ends: Vec<u32>,
}

impl<'a> PlainTexts<'a> {
    pub(crate) fn get(&self, i: u32) -> &'a [u8] {
        let start = if i == 0 { 0 } else { self.ends[i as usize - 1] };
        &self.bytes[start as usize..self.ends[i as usize] as usize]
    }
}

/// All of `count` texts.
pub(super) fn texts<'a>(part: &mut Part<'a>, count: usize) -> Result<PlainTexts<'a>> {
    let bytes = area(part)?;
    let ends = ends_in(bytes.len(), part, count)?;
    Ok(PlainTexts { bytes, ends })
}

/// Where each of `count` texts ends, if all together have so many bytes; these need not be in the part.
pub(super) fn ends_elsewhere(part: &mut Part<'_>, count: usize, of_all: usize) -> Result<Vec<u32>> {
    if part.meta.count(MAX_STREAM_BYTES)? != of_all {
        return Err(bad("pages are not as long as the texts on them"));
    }
    ends_in(of_all, part, count)
}

/// Where each of `count` texts ends, which have so many bytes together; their lengths come next.
fn ends_in(of_all: usize, part: &mut Part<'_>, count: usize) -> Result<Vec<u32>> {
    let mut end = 0u32;
    let mut ends = Vec::with_capacity(count);
    for n in ints::decode(part, count)? {
        let n = u32::try_from(n).ok();
        end = n.and_then(|n| end.checked_add(n)).ok_or_else(|| bad("a text is too long"))?;
        ends.push(end);
    }
    if end as usize != of_all {
        return Err(bad("texts are not as long as all of them together"));
    }
    Ok(ends)
}

/// Tells whether a text begins in the middle of a character.
///
/// # Errors
/// [`crate::Error::Decode`] if so.
pub(crate) fn check_ends(bytes: &[u8], ends: &[u32]) -> Result<()> {
    let is_boundary = |&end: &u32| bytes.get(end as usize).is_none_or(|&byte| byte as i8 >= -0x40);
    if ends.iter().all(is_boundary) { Ok(()) } else { Err(bad("a text is cut inside a character")) }
}

/// Appends what [`encode`] wrote.
pub(super) fn decode(part: &mut Part<'_>, chosen: Chosen<'_>, out: &mut Texts) -> Result<()> {
    let texts = texts(part, chosen.count())?;
    let Some(numbers) = chosen.numbers() else {
        let PlainTexts { bytes, ends } = texts;
        std::str::from_utf8(bytes).map_err(|_| bad("a text is not UTF-8"))?;
        check_ends(bytes, &ends)?;
        out.bytes.extend_from_slice(bytes);
        out.ends = ends;
        return Ok(());
    };
    for &i in numbers {
        let text = texts.get(i);
        std::str::from_utf8(text).map_err(|_| bad("a text is not UTF-8"))?;
        out.push(text);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::plain_ends;
    use super::*;

    /// Where texts of these lengths end, if all the text there is is `text`.
    fn ends_of(text: &str, lens: &[i64], of_all: usize) -> Result<Option<Vec<u32>>> {
        let mut streams = Streams { meta: vec![PLAIN], ..Streams::default() };
        put_varint(&mut streams.meta, of_all as u64);
        ints::encode(lens, &mut streams);
        streams.text.extend_from_slice(text.as_bytes());
        let bundle = streams.reread();
        plain_ends(&bundle.part(&[0; 4], &streams.lens())?, lens.len())
    }

    #[test]
    fn ends_are_those_of_all_text_between_characters() {
        assert_eq!(ends_of("aéè", &[3, 0, 2], 5).unwrap(), Some(vec![3, 3, 5]));
        assert_eq!(ends_of("aéèx", &[3, 2], 5).unwrap(), None);
        assert!(ends_of("aéè", &[2, 3], 5).unwrap_err().is_corruption());
        assert!(ends_of("aéè", &[3, 3], 5).unwrap_err().is_corruption());
        assert!(ends_of("aéè", &[3, 3], 6).unwrap_err().is_corruption());
        assert!(ends_of("aéè", &[-1, 6], 5).unwrap_err().is_corruption());
    }
}
