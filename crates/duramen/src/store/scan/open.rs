//! A block that is open, while rows of it are due.

use super::pages::{Buffers, OnPages, PageJob, PageMade};
use crate::block::{Block, BlockHandle, is_few, names};
use crate::column::{Column, IntText};
use crate::error::Result;
use crate::store::EntryId;
use crate::value::ValueKind;
use std::ops::Range;
use std::sync::Arc;

/// A block with all its columns.
#[derive(Debug)]
pub(super) struct Open {
    block: Arc<dyn Block>,
    times: Arc<Vec<i64>>,
    /// Which rows are read.
    due: Range<usize>,
    columns: Vec<(String, Values)>,
    /// Which of them has the messages.
    message: Option<usize>,
}

/// The next row of an open block: their order is that of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Next {
    pub(super) time: i64,
    pub(super) id: EntryId,
    pub(super) block: usize,
    pub(super) row: usize,
}

/// The values of a column.
#[derive(Debug)]
enum Values {
    All(Arc<Column>),
    /// Those whose rows are due.
    OnPages(OnPages),
}

impl Values {
    fn text<'a>(&'a self, row: usize, digits: &'a mut IntText) -> Option<&'a str> {
        match self {
            Self::All(column) => column.text(row, digits),
            Self::OnPages(pages) => pages.text(row),
        }
    }

    fn kind(&self, row: usize) -> ValueKind {
        match self {
            Self::All(column) => column.kind_at(column.slot(row)),
            Self::OnPages(pages) => pages.kind(row),
        }
    }
}

impl Open {
    /// Opens a block for its rows from `min_time` to `max_time`: of few only what they need is decoded.
    pub(super) fn new(handle: &dyn BlockHandle, min_time: i64, max_time: i64) -> Result<Self> {
        let block = handle.open()?;
        let times = block.times()?;
        let due = times.partition_point(|&t| t < min_time)..times.partition_point(|&t| t <= max_time);
        if due.is_empty() {
            return Ok(Self { block, times, due, columns: Vec::new(), message: None });
        }
        let few = is_few(due.len(), times.len()).then(|| {
            let mut rows = vec![0u64; times.len().div_ceil(64)];
            due.clone().for_each(|row| rows[row / 64] |= 1 << (row % 64));
            rows
        });
        let values = |name: &str| -> Result<Option<Values>> {
            if let Some(column) = block.column_on_pages(name, few.is_none())? {
                return Ok(Some(Values::OnPages(OnPages::new(column, due.clone()))));
            }
            let all = match &few {
                Some(rows) => block.column_at(name, rows)?,
                None => block.column(name)?,
            };
            Ok(all.map(Values::All))
        };
        let mut columns = Vec::new();
        let mut field_names = block.field_names()?;
        field_names.push(names::STREAM.to_owned());
        field_names.sort();
        for name in field_names {
            if let Some(values) = values(&name)? {
                columns.push((name, values));
            }
        }
        let message = columns.iter().position(|(name, _)| name == names::MESSAGE);
        Ok(Self { block, times, due, columns, message })
    }

    /// The first row; `block` is the number that this one has.
    pub(super) fn first(&self, block: usize, max_time: i64) -> Result<Option<Next>> {
        self.next(block, self.due.start, max_time)
    }

    /// The row of this number, if it is read.
    pub(super) fn next(&self, block: usize, row: usize, max_time: i64) -> Result<Option<Next>> {
        match self.times.get(row) {
            Some(&time) if time <= max_time => {
                let (writer, seq) = self.block.identity(row)?;
                Ok(Some(Next { time, id: EntryId { writer, seq }, block, row }))
            }
            _ => Ok(None),
        }
    }

    /// What has to be read before its rows are due, and when each is.
    pub(super) fn pages<'a>(
        &self,
        block: usize,
        buffers: &'a Buffers,
    ) -> impl Iterator<Item = (i64, PageJob<'a>)> {
        let all = self.columns.iter().enumerate();
        all.flat_map(move |(column, (_, values))| {
            let of_column = match values {
                Values::All(_) => None,
                Values::OnPages(pages) => Some(pages.jobs(block, column, buffers)),
            };
            of_column.into_iter().flatten().map(|(row, page)| (self.times[row], page))
        })
    }

    /// Takes a page that was read.
    pub(super) fn take(&mut self, page: PageMade) {
        if let Some((_, Values::OnPages(pages))) = self.columns.get_mut(page.column) {
            pages.take(page);
        }
    }

    /// Forgets what only rows up to this one needed.
    pub(super) fn pass(&mut self, row: usize, buffers: &Buffers) {
        for (_, values) in &mut self.columns {
            if let Values::OnPages(pages) = values {
                pages.pass(row, buffers);
            }
        }
    }

    pub(super) fn time(&self, row: usize) -> i64 {
        self.times[row]
    }

    pub(super) fn message<'a>(&'a self, row: usize, digits: &'a mut IntText) -> &'a str {
        let column = self.message.and_then(|i| self.columns.get(i));
        column.and_then(|(_, values)| values.text(row, digits)).unwrap_or_default()
    }

    pub(super) fn field(&self, row: usize, name: &str) -> Option<String> {
        let (_, values) = self.columns.iter().find(|(n, _)| n == name)?;
        values.text(row, &mut IntText::default()).map(str::to_owned)
    }

    pub(super) fn for_each_field(&self, row: usize, each: &mut dyn FnMut(&str, &str, ValueKind)) {
        let mut digits = IntText::default();
        for (i, (name, values)) in self.columns.iter().enumerate() {
            if Some(i) != self.message
                && let Some(text) = values.text(row, &mut digits)
            {
                each(name, text, values.kind(row));
            }
        }
    }

    /// How many pages are there.
    #[cfg(test)]
    pub(super) fn pages_held(&self) -> usize {
        let held = |(_, values): &(_, Values)| match values {
            Values::All(_) => 0,
            Values::OnPages(pages) => pages.held(),
        };
        self.columns.iter().map(held).sum()
    }
}
