//! A column whose texts lie on pages, read page by page: who goes through rows in order needs each only for a while.

use super::bytes::bad;
use super::directory::Location;
use super::streams::{read_start_of_text_into, read_text_into};
use super::symbols::SymbolTable;
use crate::column::{Kinds, Order, bit};
use crate::error::Result;
use crate::value::ValueKind;
use duramen_engine::memory;
use duramen_engine::sstable::{ChunkHandle, ChunkSource};
use std::ops::Range;
use std::sync::Arc;

/// Chunks with so little in between are asked for together.
const MOST_GAP_BYTES: u64 = 64;

/// A field's values as in a [`crate::column::Column`] of texts, but for the texts, which [`PagedColumn::read`] gives. May be
/// shared between threads.
#[derive(Debug)]
pub struct PagedColumn {
    pub(super) kinds: Kinds,
    pub(super) order: Order,
    /// Where the text of each slot ends, among all texts.
    pub(super) ends: Vec<u32>,
    pub(super) present: Option<Vec<u64>>,
    pub(super) pages: Vec<Page>,
    pub(super) symbols: Option<SymbolTable>,
    pub(super) source: Arc<dyn ChunkSource>,
}

/// Where a page is, and which bytes of all texts it has.
#[derive(Debug)]
pub(super) struct Page {
    chunk: ChunkHandle,
    start: u32,
    end: u32,
}

impl Page {
    /// Pages one after another, as a directory with these bundles locates them.
    pub(super) fn all(pages: &[Location], bundles: &[ChunkHandle]) -> Vec<Self> {
        let mut end = 0;
        let page = |at: &Location| {
            let start = end;
            end += at.lens[3] as u32;
            Self { chunk: bundles[at.bundle], start, end }
        };
        pages.iter().map(page).collect()
    }
}

/// Where a text lies: on which page, and where on it. One of no bytes lies on none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// The row has the field, and its text is empty.
    Empty,
    /// On the page of this number, these bytes.
    On(usize, Range<usize>),
}

impl PagedColumn {
    /// How many pages there are.
    pub fn pages(&self) -> usize {
        self.pages.len()
    }

    /// How rows lead to slots.
    pub fn order(&self) -> &Order {
        &self.order
    }

    /// The kind of the value in a slot.
    pub fn kind_at(&self, slot: usize) -> ValueKind {
        self.kinds.at(slot)
    }

    /// Where the text in a slot lies; `None` where the row does not have the field.
    pub fn place(&self, slot: usize) -> Option<Place> {
        if self.present.as_ref().is_some_and(|present| !bit(present, slot)) {
            return None;
        }
        let start = if slot == 0 { 0 } else { *self.ends.get(slot - 1)? };
        let end = *self.ends.get(slot)?;
        if start == end {
            return Some(Place::Empty);
        }
        let number = self.pages.partition_point(|page| page.end <= start);
        let from = self.pages.get(number)?.start;
        Some(Place::On(number, (start - from) as usize..(end - from) as usize))
    }

    /// Says that these pages will be read soon, by ascending numbers. Only a hint, which never fails: what is not in memory may be
    /// fetched from the device meanwhile.
    pub fn will_read(&self, numbers: impl IntoIterator<Item = usize>) {
        let mut ahead: Option<ChunkHandle> = None;
        for page in numbers.into_iter().filter_map(|number| self.pages.get(number)) {
            // Most lie one right behind another.
            let joined = ahead.and_then(|ahead| {
                let end = page.chunk.offset.checked_add(page.chunk.len.into())?;
                let len = u32::try_from(end.checked_sub(ahead.offset)?).ok()?;
                let gap = page.chunk.offset.checked_sub(ahead.offset + u64::from(ahead.len))?;
                (gap <= MOST_GAP_BYTES).then_some(ChunkHandle { len, ..ahead })
            });
            if joined.is_none() {
                ahead.iter().for_each(|&ahead| self.source.will_read(ahead));
            }
            ahead = joined.or(Some(page.chunk));
        }
        ahead.iter().for_each(|&ahead| self.source.will_read(ahead));
    }

    /// Reads a page into a buffer, whatever that has: all of it, or only its first bytes, up to the end of some text on it. What is
    /// behind them may not be looked at.
    ///
    /// # Errors
    /// What the file system said; damage, and a page whose texts are cut inside a character.
    pub fn read(&self, number: usize, bytes: Option<usize>, mut buffer: Vec<u8>) -> Result<String> {
        let page = self.pages.get(number).ok_or_else(|| bad("there is no such page"))?;
        let chunk = self.source.read_chunk(page.chunk)?;
        let all = (page.end - page.start) as usize;
        if buffer.capacity() < all {
            // Not written yet: a page that is said to be large takes no memory that it does not fill.
            buffer = memory::zeros(all);
        }
        buffer.resize(all, 0);
        let end = match bytes.filter(|&bytes| bytes < all) {
            Some(bytes) => {
                read_start_of_text_into(&chunk, self.symbols.as_ref(), bytes, &mut buffer)?;
                buffer.truncate(bytes);
                page.start + bytes as u32
            }
            None => {
                read_text_into(&chunk, self.symbols.as_ref(), &mut buffer)?;
                page.end
            }
        };
        let text = String::from_utf8(buffer).map_err(|_| bad("a text is not UTF-8"))?;
        let from = self.ends.partition_point(|&end| end <= page.start);
        for text_end in self.ends[from..].iter().take_while(|&&text_end| text_end < end) {
            if !text.is_char_boundary((text_end - page.start) as usize) {
                return Err(bad("a text is cut inside a character"));
            }
        }
        Ok(text)
    }
}
