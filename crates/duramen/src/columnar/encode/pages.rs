//! Long texts on pages, so that reading a few of them does not take decompressing all.

use super::super::compress::sample;
use super::super::directory::{Location, Needs};
use super::super::leaf::{self, Spans};
use super::super::streams::write_codes;
use super::super::symbols::{self, Encoder};
use super::{BlockEncoder, Progress};
use crate::error::Result;

/// How many bytes a page has at most, unless it is of one text. A span of time reads pages of which it needs only a part; in
/// smaller ones, zstd finds less.
const PAGE_BYTES: usize = 64 << 10;
/// One in so many bytes of what is compressed may be added by symbols, for they are read faster.
const BYTES_PER_MORE: usize = 16;
/// What symbols do not make so many times smaller is of another kind than what they were learned from.
const LEAST_RATIO: usize = 2;

impl BlockEncoder {
    /// Whether the texts that were encoded lie on pages: those of no kind that are about as small in parts as whole.
    pub(super) fn has_pages(&mut self) -> Result<bool> {
        if self.scratch.meta.first() != Some(&leaf::PLAIN) {
            return Ok(false);
        }
        let is_free = self.zstd.is_free_text(&self.scratch.text)?;
        self.scratch.is_free = Some(is_free);
        Ok(is_free)
    }

    /// The symbols of a text that consists of `values`, if it is about as small in their codes as compressed quickly: the first
    /// page tells. Writes their table where the text was, which has been taken.
    pub(super) fn take_symbols(&mut self, text: &[u8], values: Spans<'_>) -> Result<Option<Encoder>> {
        let (scratch, chunk) = (&mut self.scratch, &mut self.chunk);
        // What was said of the text does not hold for the table.
        scratch.is_free = None;
        let Some(page) = pages_of(text, values).next() else { return Ok(None) };
        let table = symbols::train(&sample(text));
        let encoder = Encoder::new(&table);
        chunk.clear();
        encoder.encode(page, chunk);
        table.write(&mut scratch.text);
        let of_symbols = chunk.len() + scratch.text.len() * page.len() / text.len();
        let compressed = self.zstd.quickly_compressed_len(page)?;
        if of_symbols > compressed + compressed / BYTES_PER_MORE {
            scratch.text.clear();
            return Ok(None);
        }
        Ok(Some(encoder))
    }

    /// Writes `text`, which consists of `values`, as pages: in codes of symbols if it has any, but for pages that have few of
    /// them.
    pub(super) fn place_pages(
        &mut self,
        text: &[u8],
        values: Spans<'_>,
        symbols: Option<&Encoder>,
        progress: &mut Progress<'_>,
    ) -> Result<Vec<Location>> {
        let (scratch, chunk) = (&mut self.scratch, &mut self.chunk);
        let mut codes = Vec::new();
        self.zstd.as_free_text(|zstd| {
            let add = |page: &[u8]| {
                scratch.clear();
                if let Some(symbols) = symbols {
                    codes.clear();
                    symbols.encode(page, &mut codes);
                    if codes.len() * LEAST_RATIO < page.len() {
                        let stored = write_codes(page.len(), &codes, chunk);
                        return progress.add_chunk(chunk, [0, 0, 0, page.len()], stored, Needs::default());
                    }
                }
                scratch.text.extend_from_slice(page);
                progress.add(scratch, zstd, chunk)
            };
            pages_of(text, values).map(add).collect()
        })
    }
}

/// Cuts `text` between its texts.
fn pages_of<'a>(text: &'a [u8], values: Spans<'_>) -> impl Iterator<Item = &'a [u8]> {
    let mut end = 0;
    let mut lens = values.iter().map(<[u8]>::len).peekable();
    std::iter::from_fn(move || {
        let start = end;
        while let Some(len) = lens.next_if(|len| end == start || end - start + len <= PAGE_BYTES) {
            end += len;
        }
        (end > start).then(|| &text[start..end])
    })
}

#[cfg(test)]
mod tests {
    use super::super::super::texts::Texts;
    use super::*;

    fn pages(lens: &[usize]) -> Vec<usize> {
        let mut texts = Texts::default();
        lens.iter().for_each(|&len| texts.push(&vec![b'x'; len]));
        let spans = leaf::spans_of(&texts);
        pages_of(&texts.bytes, Spans { bytes: &texts.bytes, spans: &spans }).map(<[u8]>::len).collect()
    }

    #[test]
    fn pages_have_whole_texts() {
        assert_eq!(pages(&[]), [0; 0]);
        assert_eq!(pages(&[0, 9, 0]), [9]);
        let half = PAGE_BYTES / 2;
        assert_eq!(pages(&[half; 8]), [2 * half; 4]);
        assert_eq!(pages(&[half, half, 0, half + 1, half]), [2 * half, half + 1, half]);
        assert_eq!(pages(&[1, 9 * half, 1]), [1, 9 * half, 1]);
        assert_eq!(pages(&[1000; 150]), [65_000, 65_000, 20_000]);
    }
}
