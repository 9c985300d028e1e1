//! Rows on their way from the thread that runs a query to the one that asked.
//!
//! Rows of one answer mostly have the same names, so a name travels once: cells refer to it by number, and its Python
//! string is made once. The first batches are small, so that the first rows come soon.

use duramen::ValueKind;
use duramen_query::ResultRow;
use hashbrown::HashMap;
use std::sync::mpsc::{SendError, SyncSender};

/// The most rows of a batch.
const MAX_ROWS: usize = 1024;

/// A batch goes on its way once its texts have this many bytes.
const MAX_TEXT_BYTES: usize = 256 << 10;

/// Some rows, one after another.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    texts: String,
    cells: Vec<Cell>,
    rows: Vec<RowEnd>,
    /// Names that no earlier batch had; their numbers go on from the last one's.
    pub new_names: Vec<Box<str>>,
}

#[derive(Debug)]
struct Cell {
    name: usize,
    kind: ValueKind,
    text_end: usize,
}

#[derive(Debug)]
struct RowEnd {
    cells_end: usize,
    time_ns: Option<i64>,
}

impl Batch {
    /// How many rows it has.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The time of a row's log entry, if it is one.
    pub(crate) fn time_ns(&self, row: usize) -> Option<i64> {
        self.rows.get(row)?.time_ns
    }

    /// A row's values: the number of the name, the text, and its kind.
    pub(crate) fn cells(&self, row: usize) -> impl Iterator<Item = (usize, &str, ValueKind)> {
        let end = self.rows.get(row).map_or(0, |row| row.cells_end);
        let start =
            row.checked_sub(1).and_then(|before| self.rows.get(before)).map_or(0, |row| row.cells_end);
        (start.min(end)..end).map(|i| {
            let cell = &self.cells[i];
            let text_start = i.checked_sub(1).map_or(0, |before| self.cells[before].text_end);
            (cell.name, &self.texts[text_start..cell.text_end], cell.kind)
        })
    }
}

/// Puts rows into batches, and sends those that are full.
pub(crate) struct Packer<'a, T> {
    numbers: HashMap<Box<str>, usize, foldhash::fast::FixedState>,
    batch: Batch,
    rows_wanted: usize,
    to: &'a SyncSender<T>,
}

impl<'a, T: From<Batch>> Packer<'a, T> {
    pub(crate) fn new(to: &'a SyncSender<T>) -> Self {
        Self { numbers: HashMap::default(), batch: Batch::default(), rows_wanted: 1, to }
    }

    /// Adds a row; waits if the receiver is too far behind.
    ///
    /// # Errors
    /// If there is no receiver any more.
    pub(crate) fn push(&mut self, row: &ResultRow) -> Result<(), SendError<T>> {
        let batch = &mut self.batch;
        for (name, text, kind) in row.iter() {
            let name = match self.numbers.get(name) {
                Some(&number) => number,
                None => {
                    let number = self.numbers.len();
                    self.numbers.insert(name.into(), number);
                    batch.new_names.push(name.into());
                    number
                }
            };
            batch.texts.push_str(text);
            batch.cells.push(Cell { name, kind, text_end: batch.texts.len() });
        }
        batch.rows.push(RowEnd { cells_end: batch.cells.len(), time_ns: row.time_ns() });
        if batch.rows.len() < self.rows_wanted && batch.texts.len() < MAX_TEXT_BYTES {
            return Ok(());
        }
        self.rows_wanted = (self.rows_wanted * 4).min(MAX_ROWS);
        self.send()
    }

    /// Sends what is left.
    ///
    /// # Errors
    /// If there is no receiver any more.
    pub(crate) fn send(&mut self) -> Result<(), SendError<T>> {
        if self.batch.rows.is_empty() {
            Ok(())
        } else {
            self.to.send(T::from(std::mem::take(&mut self.batch)))
        }
    }
}
