//! Long texts on pages, so that reading a few of them does not take decompressing all.

use super::super::directory::Location;
use super::super::leaf::{self, Spans};
use super::{BlockEncoder, Progress};
use crate::error::Result;

/// How many bytes a page has at most, unless it is of one text: what zstd compresses as one block.
const PAGE_BYTES: usize = 128 << 10;

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

    /// Writes `text`, which consists of `values`, as pages.
    pub(super) fn place_pages(
        &mut self,
        text: &[u8],
        values: Spans<'_>,
        progress: &mut Progress<'_>,
    ) -> Result<Vec<Location>> {
        let (scratch, chunk) = (&mut self.scratch, &mut self.chunk);
        self.zstd.as_free_text(|zstd| {
            let add = |page: &[u8]| {
                scratch.clear();
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
        assert_eq!(pages(&[1000; 300]), [131_000, 131_000, 38_000]);
    }
}
