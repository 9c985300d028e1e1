//! Some rows of a block, as a block: the same columns, led to by other slots.

use crate::block::Block;
use crate::column::{Column, ColumnData, Order};
use crate::error::Result;
use std::sync::Arc;

/// Some rows of a block, in their order.
#[derive(Debug)]
pub(crate) struct SomeRows {
    block: Arc<dyn Block>,
    rows: Vec<u32>,
}

impl SomeRows {
    /// The rows, whose numbers must be ascending and the block's.
    pub(crate) fn new(block: Arc<dyn Block>, rows: Vec<u32>) -> Self {
        Self { block, rows }
    }
}

impl Block for SomeRows {
    fn rows(&self) -> usize {
        self.rows.len()
    }

    fn times(&self) -> Result<Arc<Vec<i64>>> {
        let times = self.block.times()?;
        Ok(Arc::new(self.rows.iter().map(|&row| times[row as usize]).collect()))
    }

    fn field_names(&self) -> Result<Vec<String>> {
        let mut names = Vec::new();
        for name in self.block.field_names()? {
            let mut digits = crate::column::IntText::default();
            if let Some(column) = self.column(&name)?
                && (0..self.rows.len()).any(|row| column.text(row, &mut digits).is_some())
            {
                names.push(name);
            }
        }
        Ok(names)
    }

    fn column(&self, name: &str) -> Result<Option<Arc<Column>>> {
        let Some(column) = self.block.column(name)? else { return Ok(None) };
        let order = match &column.data {
            ColumnData::Const(_) => Order::Rows,
            _ => Order::Slots(Arc::new(
                self.rows.iter().map(|&row| column.slot(row as usize) as u32).collect(),
            )),
        };
        let Column { data, kinds, .. } = (*column).clone();
        Ok(Some(Arc::new(Column { data, kinds, order, rows: self.rows.len() })))
    }

    fn may_contain_words(&self, name: &str, words: &[u64]) -> Result<bool> {
        self.block.may_contain_words(name, words)
    }

    fn may_contain_grams(&self, name: &str, grams: &[u32]) -> Result<bool> {
        self.block.may_contain_grams(name, grams)
    }

    fn int_range(&self, name: &str) -> Result<Option<(i64, i64)>> {
        self.block.int_range(name)
    }

    fn identity(&self, row: usize) -> Result<(u64, u64)> {
        self.block.identity(self.rows[row] as usize)
    }
}
