//! `sort` straight behind the filter: only rows that can be in the answer are read beyond their sort keys.

use super::ahead::Ahead;
use super::open::Open;
use super::project::Projection;
use super::read::Reader;
use super::scan::CANCEL_INTERVAL_ROWS;
use super::{Order, RunStats};
use crate::bitmap::Bitmap;
use crate::error::Result;
use crate::order::SortKey;
use crate::pipe::sort::{Sort, Sorter};
use crate::pipe::stats::Cell;
use crate::row::ResultRow;
use duramen::block::{BlockHandle, names};
use std::sync::Arc;

pub(crate) struct SortedScan<'a> {
    pub reader: Reader<'a>,
    pub sort: &'a Sort,
    pub projection: &'a Projection,
    pub order: Order,
}

impl SortedScan<'_> {
    pub fn run(
        &self,
        blocks: &[Arc<dyn BlockHandle>],
        sorter: &mut Sorter<'_>,
        stats: &mut RunStats,
    ) -> Result<()> {
        let ahead = Ahead::all(self.reader, blocks);
        for (number, handle) in blocks.iter().enumerate() {
            ahead.of(number);
            if let Some((mut open, found)) = self.reader.open(&**handle, stats)? {
                self.block(number, &mut open, &found, sorter, stats)?;
                stats.bytes_read += open.bytes_since_last();
            }
        }
        Ok(())
    }

    fn block(
        &self,
        number: usize,
        open: &mut Open,
        found: &Bitmap,
        sorter: &mut Sorter<'_>,
        stats: &mut RunStats,
    ) -> Result<()> {
        let columns = self
            .sort
            .by
            .iter()
            .map(|(name, _)| if **name == *names::TIME { Ok(None) } else { open.column(name) });
        let read = columns.collect::<duramen::Result<Vec<_>>>().and_then(|c| Ok((c, open.times()?)));
        let (columns, times) = match read {
            Ok(read) => read,
            Err(e) => {
                stats.failed(e);
                return Ok(());
            }
        };
        let mut out = ResultRow::new();
        for (i, row) in found.iter().enumerate() {
            if i % CANCEL_INTERVAL_ROWS == CANCEL_INTERVAL_ROWS - 1 {
                self.reader.cancel.check()?;
            }
            let keys = self.sort.by.iter().zip(&columns).map(|((name, _), column)| {
                if **name == *names::TIME {
                    return SortKey::int(times[row]);
                }
                match super::aggregate::cell(column.as_deref(), row) {
                    Cell::Int(n) => SortKey::int(n),
                    Cell::Text(text) => Sort::key(name, text),
                }
            });
            let keys = self.sort.directed(keys);
            let time = times[row];
            let arrival = self.order.arrival(time, number, row);
            if sorter.wants(&keys, arrival) {
                match open.fill(row, time, self.projection, &mut out) {
                    Ok(()) => sorter.add(keys, arrival, out.compact())?,
                    Err(e) => {
                        stats.failed(e);
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }
}
