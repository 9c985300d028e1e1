//! Where the parts of a block lie.

use super::super::bytes::{Reader, bad, put_varint};
use super::super::streams::{MAX_STREAM_BYTES, STREAMS};
use crate::error::Result;

/// Where a part lies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Location {
    pub(crate) bundle: usize,
    /// Where it starts in each stream: not stored, but summed up.
    pub(crate) starts: [usize; STREAMS],
    pub(crate) lens: [usize; STREAMS],
}

/// Writes one.
pub(super) fn put_location(out: &mut Vec<u8>, at: &Location) {
    put_varint(out, at.bundle as u64);
    at.lens.iter().for_each(|&len| put_varint(out, len as u64));
}

/// Sums up where parts start.
pub(super) struct Locations {
    pub(super) ends: Vec<[usize; STREAMS]>,
}

impl Locations {
    pub(super) fn next(&mut self, r: &mut Reader<'_>) -> Result<Location> {
        let bundle = r.count(usize::MAX)?;
        let ends = self.ends.get_mut(bundle).ok_or_else(|| bad("there is no such bundle"))?;
        let starts = *ends;
        let mut lens = [0; STREAMS];
        for (len, end) in lens.iter_mut().zip(ends) {
            *len = r.count(MAX_STREAM_BYTES)?;
            *end = end.checked_add(*len).ok_or_else(|| bad("a part is out of range"))?;
        }
        Ok(Location { bundle, starts, lens })
    }

    pub(super) fn pages(&mut self, r: &mut Reader<'_>) -> Result<Vec<Location>> {
        let (mut pages, mut of_all) = (Vec::new(), 0);
        for _ in 0..r.count(r.remaining())? {
            let page = self.next(r)?;
            if page.starts != [0; STREAMS] || !matches!(page.lens, [0, 0, 0, 1..=MAX_STREAM_BYTES]) {
                return Err(bad("a page is none"));
            }
            of_all += page.lens[3];
            if of_all > MAX_STREAM_BYTES {
                return Err(bad("pages are too long"));
            }
            // Nothing else lies there.
            self.ends[page.bundle] = [usize::MAX; STREAMS];
            pages.push(page);
        }
        if pages.is_empty() {
            return Err(bad("a column has no pages"));
        }
        Ok(pages)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn pages_that_are_none_are_refused() {
        let read = |bytes: &[u8]| {
            let mut locations = Locations { ends: vec![[0; STREAMS]; 3] };
            locations.pages(&mut Reader::new(bytes)).map(|pages| pages.len())
        };
        assert_eq!(read(&[2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 1]).unwrap(), 2);
        let refused = |bytes: &[u8]| read(bytes).unwrap_err().is_corruption();
        assert!(refused(&[0]), "none");
        let mut locations = Locations { ends: vec![[0; STREAMS]; 3] };
        locations.pages(&mut Reader::new(&[1, 2, 0, 0, 0, 9])).unwrap();
        assert!(
            locations.next(&mut Reader::new(&[2, 1, 0, 0, 0])).unwrap_err().is_corruption(),
            "a part on a page"
        );
        assert!(refused(&[2, 0, 0, 0, 0, 9, 0, 0, 0, 0, 1]), "two of one bundle");
        assert!(refused(&[1, 0, 0, 1, 0, 9]), "more than text");
        assert!(refused(&[1, 0, 0, 0, 0, 0]), "no text");
        let half = |bundle| [&[bundle, 0, 0, 0][..], &[0x81, 0x80, 0x80, 24]].concat();
        assert_eq!(read(&[&[1][..], &half(0)].concat()).unwrap(), 1);
        assert!(refused(&[&[2][..], &half(0), &half(1)].concat()), "too much together");
    }
}
