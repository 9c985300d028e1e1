//! Texts on pages: what a few rows have costs the pages that it lies on.

use super::super::bytes::bad;
use super::super::chosen::Chosen;
use super::super::directory::{Form, Location};
use super::super::leaf;
use super::super::paged::{Page, PagedColumn};
use super::super::streams::{Bundle, Part, read_text_into};
use super::super::symbols::SymbolTable;
use super::super::texts::Texts;
use super::TableBlock;
use super::column::{ends_of_slots, kinds_of, spread_kinds};
use crate::error::Result;
use duramen_engine::memory;
use duramen_engine::sstable::ChunkHandle;

/// How many bytes there are on all pages.
fn len_of(pages: &[Location]) -> usize {
    pages.iter().map(|page| page.lens[3]).sum()
}

/// How many bytes each of `count` texts on pages has; of their part, what comes before was read.
pub(super) fn lens_on_pages(pages: &[Location], part: &mut Part<'_>, count: usize) -> Result<Vec<i64>> {
    let (ends, _symbols) = ends_and_symbols(pages, part, count)?;
    let starts = std::iter::once(&0).chain(&ends);
    Ok(starts.zip(&ends).map(|(start, end)| i64::from(end - start)).collect())
}

/// Where each of `count` texts on pages ends, and the symbols that these may be in; of their part, what comes before was read.
fn ends_and_symbols(
    pages: &[Location],
    part: &mut Part<'_>,
    count: usize,
) -> Result<(Vec<u32>, Option<SymbolTable>)> {
    let ends = leaf::paged_ends(part, count, len_of(pages))?;
    let mut page_end = 0;
    for page in pages {
        page_end += page.lens[3] as u32;
        ends.binary_search(&page_end).map_err(|_| bad("a text lies on two pages"))?;
    }
    let table = part.text.rest();
    let symbols = if table.is_empty() { None } else { Some(SymbolTable::read(table)?) };
    Ok((ends, symbols))
}

impl TableBlock {
    /// [`crate::block::Block::column_on_pages`].
    pub(super) fn paged_column(&self, name: &str, is_for_all: bool) -> Result<Option<PagedColumn>> {
        let number = self.number_of(name).filter(|_| !self.has_label(name));
        let Some(i) = number.filter(|&i| self.columns[i].peek().is_none()) else { return Ok(None) };
        let entry = &self.directory.columns[i];
        let Form::Texts { at, pages, .. } = &entry.form else { return Ok(None) };
        if pages.is_empty() {
            return Ok(None);
        }
        let (map, rows) = (self.map_of(entry)?, self.directory.rows);
        let (kinds, ends, symbols) = self.with_part(at, is_for_all, |part| {
            let kinds = spread_kinds(entry, kinds_of(entry, part)?.to_vec(), map, rows);
            let (ends, symbols) = ends_and_symbols(pages, part, entry.count)?;
            Ok((kinds, ends, symbols))
        })?;
        Ok(Some(PagedColumn {
            kinds,
            order: self.order()?.clone(),
            ends: ends_of_slots(ends, map, rows),
            present: map.cloned(),
            pages: Page::all(pages, &self.directory.bundles),
            symbols,
            source: self.source.clone(),
        }))
    }

    /// The chosen texts of a column that has pages; of its part, what comes before the lengths was read.
    pub(super) fn texts_on_pages(
        &self,
        pages: &[Location],
        part: &mut Part<'_>,
        chosen: Chosen<'_>,
    ) -> Result<Texts> {
        let (ends, symbols) = ends_and_symbols(pages, part, chosen.count())?;
        let symbols = symbols.as_ref();
        let Some(numbers) = chosen.numbers() else {
            let bytes = self.all_pages(pages, symbols, len_of(pages))?;
            leaf::check_ends(&bytes, &ends)?;
            return Ok(Texts { bytes, ends });
        };
        let mut out = Texts::default();
        let mut pages = pages.iter();
        let (mut page, mut page_start, mut page_end) = (&[][..], 0, 0);
        for &i in numbers {
            let start = if i == 0 { 0 } else { ends[i as usize - 1] as usize };
            let end = ends[i as usize] as usize;
            if start == end {
                out.push(&[]);
                continue;
            }
            while page_end < end {
                let next = pages.next().ok_or_else(|| bad("there are too few pages"))?;
                (page_start, page_end) = (page_end, page_end + next.lens[3]);
                // Of a page that none of the texts lies on nothing is read.
                page = if page_end < end { &[] } else { self.page(next, symbols)? };
            }
            let text = start.checked_sub(page_start).and_then(|from| page.get(from..end - page_start));
            let text = text.ok_or_else(|| bad("a text lies on two pages"))?;
            std::str::from_utf8(text).map_err(|_| bad("a text is not UTF-8"))?;
            out.push(text);
        }
        Ok(out)
    }

    /// The bytes of a page, which stay with the block.
    fn page(&self, at: &Location, symbols: Option<&SymbolTable>) -> Result<&[u8]> {
        let chunk = || self.source.read_chunk(self.directory.bundles[at.bundle]);
        let read = || Bundle::read_text(&chunk()?, symbols, at.lens[3]).map(Box::new);
        let text = self.bundles[at.bundle].get_or_make(&self.clock, read)?.text();
        if text.len() == at.lens[3] { Ok(text) } else { Err(bad("a page has another length")) }
    }

    /// Asks for pages that are read right after, which lie one behind another. (Who asks for a column does not ask for its
    /// pages: of a few rows, most are not read.)
    fn ask_for_pages(&self, pages: &[Location]) {
        let handle = |page: &Location| self.directory.bundles[page.bundle];
        if let (Some(first), Some(last)) = (pages.first().map(handle), pages.last().map(handle))
            && let Some(len) = (last.offset.saturating_add(last.len.into())).checked_sub(first.offset)
            && let Ok(len) = u32::try_from(len)
        {
            self.source.will_read(ChunkHandle { offset: first.offset, len });
        }
    }

    /// The bytes of all pages, which are so many.
    fn all_pages(&self, pages: &[Location], symbols: Option<&SymbolTable>, of_all: usize) -> Result<Vec<u8>> {
        self.ask_for_pages(pages);
        let mut bytes = memory::zeros(of_all);
        let mut rest = &mut bytes[..];
        for page in pages {
            let place;
            (place, rest) = rest.split_at_mut(page.lens[3]);
            if self.bundles[page.bundle].peek().is_some() {
                place.copy_from_slice(self.page(page, symbols)?);
            } else {
                let chunk = self.source.read_chunk(self.directory.bundles[page.bundle])?;
                read_text_into(&chunk, symbols, place)?;
            }
        }
        Ok(bytes)
    }
}
