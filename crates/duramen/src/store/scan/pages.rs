//! Texts of a block that lie on pages: each page is there from its first row that is due to its last.

use crate::block::{PagedColumn, Place};
use crate::error::Result;
use crate::store::shared::lock;
use crate::value::ValueKind;
use std::ops::Range;
use std::sync::{Arc, Mutex};

/// So many buffers of pages that are not needed any more wait for the next ones…
const MAX_SPARE: usize = 16;
/// …of so many bytes at most, which most pages have: one of a single long text has more.
const MAX_SPARE_BYTES: usize = 64 << 10;

/// Buffers of pages, which are used again, by later scans as well: new memory costs more than what is done with it.
#[derive(Debug, Default)]
pub(crate) struct Buffers(Mutex<Vec<Vec<u8>>>);

impl Buffers {
    fn take(&self) -> Vec<u8> {
        lock(&self.0).pop().unwrap_or_else(|| Vec::with_capacity(MAX_SPARE_BYTES))
    }

    fn put(&self, text: String) {
        let mut spare = lock(&self.0);
        if spare.len() < MAX_SPARE && text.capacity() <= MAX_SPARE_BYTES {
            spare.push(text.into_bytes());
        }
    }
}

#[cfg(test)]
impl Buffers {
    /// How many wait.
    pub(super) fn spare(&self) -> usize {
        lock(&self.0).len()
    }
}

/// A column, and those of its pages that are there.
#[derive(Debug)]
pub(super) struct OnPages {
    column: Arc<PagedColumn>,
    texts: Vec<Option<String>>,
    /// Those of which rows are due.
    due: Vec<DuePage>,
    /// The last row that is due of each of them, and the page: the latest comes first, so that the next to go is at the end.
    last: Vec<(usize, usize)>,
}

/// A page of which rows are due.
#[derive(Clone, Copy, Debug)]
struct DuePage {
    page: usize,
    first_row: usize,
    last_row: usize,
    /// Where on the page their texts end.
    bytes: usize,
}

/// A page to be read: of which block and column, and the how manieth.
pub(super) struct PageJob<'a> {
    block: usize,
    column: usize,
    page: usize,
    bytes: usize,
    of: Arc<PagedColumn>,
    buffers: &'a Buffers,
}

/// A page that was read.
pub(super) struct PageMade {
    pub(super) block: usize,
    pub(super) column: usize,
    page: usize,
    text: String,
}

impl PageJob<'_> {
    pub(super) fn make(self) -> Result<PageMade> {
        let text = self.of.read(self.page, Some(self.bytes), self.buffers.take())?;
        Ok(PageMade { block: self.block, column: self.column, page: self.page, text })
    }
}

impl OnPages {
    /// A column of which these rows are due.
    pub(super) fn new(column: PagedColumn, due: Range<usize>) -> Self {
        let mut pages: Vec<Option<DuePage>> = vec![None; column.pages()];
        for row in due {
            if let Some(Place::On(page, Range { end, .. })) = column.place(column.order().slot(row))
                && let Some(known) = pages.get_mut(page)
            {
                let known = known.get_or_insert(DuePage { page, first_row: row, last_row: row, bytes: end });
                known.last_row = row;
                known.bytes = known.bytes.max(end);
            }
        }
        let due: Vec<DuePage> = pages.into_iter().flatten().collect();
        column.will_read(due.iter().map(|due| due.page));
        let mut last: Vec<_> = due.iter().map(|due| (due.last_row, due.page)).collect();
        last.sort_unstable_by(|a, b| b.cmp(a));
        let texts = vec![None; column.pages()];
        Self { column: Arc::new(column), texts, due, last }
    }

    /// What there is to read, and the first row that needs it.
    pub(super) fn jobs<'a>(
        &self,
        block: usize,
        column: usize,
        buffers: &'a Buffers,
    ) -> impl Iterator<Item = (usize, PageJob<'a>)> {
        self.due.iter().map(move |&DuePage { page, first_row, bytes, .. }| {
            (first_row, PageJob { block, column, page, bytes, of: self.column.clone(), buffers })
        })
    }

    pub(super) fn take(&mut self, made: PageMade) {
        if let Some(text) = self.texts.get_mut(made.page) {
            *text = Some(made.text);
        }
    }

    /// Forgets pages of which the last row has passed.
    pub(super) fn pass(&mut self, row: usize, buffers: &Buffers) {
        while let Some((_, page)) = self.last.pop_if(|(last, _)| *last <= row) {
            if let Some(text) = self.texts.get_mut(page).and_then(Option::take) {
                buffers.put(text);
            }
        }
    }

    /// The text of a row that is due.
    pub(super) fn text(&self, row: usize) -> Option<&str> {
        match self.column.place(self.column.order().slot(row))? {
            Place::Empty => Some(""),
            Place::On(page, bytes) => self.texts.get(page)?.as_ref()?.get(bytes),
        }
    }

    pub(super) fn kind(&self, row: usize) -> ValueKind {
        self.column.kind_at(self.column.order().slot(row))
    }

    /// How many pages are there.
    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        self.texts.iter().flatten().count()
    }
}
