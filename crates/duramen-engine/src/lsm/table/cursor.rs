//! Going through a table, both ways.

use super::block::{Block, Position};
use super::readahead::Readahead;
use super::reader::TableReader;
use crate::Result;
use crate::kv::{OpKind, Run};
use crate::lsm::cursor::Cursor;
use crate::sstable::wire::Malformed;
use std::sync::Arc;

/// A [`Cursor`] over one table. It keeps the table open, and a block or what was read ahead in memory.
#[derive(Debug)]
pub(crate) struct TableCursor {
    reader: Arc<TableReader>,
    fill_cache: bool,
    readahead: Readahead,
    /// Which block it is at: partition and chunk.
    at: (usize, usize),
    /// The block; `None` if it is nowhere.
    block: Option<Block>,
    row: Position,
    key: Vec<u8>,
    behind: Behind,
}

/// Rows of one restart that were read to go backwards.
#[derive(Debug, Default)]
struct Behind {
    /// Which restart of the cursor's block; `None` if there are none.
    of: Option<usize>,
    rows: Vec<(Position, usize)>,
    keys: Vec<u8>,
}

const NOWHERE: Position = Position { n: 0, seq: 0, kind: OpKind::Delete, value: 0..0, next_row: 0 };

impl TableCursor {
    pub(super) fn new(reader: Arc<TableReader>, fill_cache: bool) -> Self {
        Self {
            reader,
            fill_cache,
            readahead: Readahead::default(),
            at: (0, 0),
            block: None,
            row: NOWHERE,
            key: Vec::new(),
            behind: Behind::default(),
        }
    }

    /// Loads a block. The cursor is nowhere then, until it has a row.
    fn load(&mut self, partition: usize, chunk: usize) -> Result<Option<Block>> {
        self.block = None;
        // The same block may lie elsewhere now.
        self.behind.of = None;
        let Some(loaded) = self.reader.partition(partition)? else { return Ok(None) };
        self.at = (partition, chunk);
        self.readahead.block(&self.reader, (partition, loaded), chunk, self.fill_cache)
    }

    fn wrong(&self, detail: Malformed) -> crate::Error {
        let frame = self.reader.partition(self.at.0).ok().flatten().and_then(|p| p.frame(self.at.1));
        self.reader.corruption(frame.map_or(0, |frame| frame.start), detail)
    }

    /// To the first row of the block after the present one.
    fn next_block(&mut self) -> Result<()> {
        let (partition, chunk) = self.at;
        let block = match self.load(partition, chunk + 1)? {
            Some(block) => Some(block),
            None => self.load(partition + 1, 0)?,
        };
        self.first_of(block)
    }

    fn first_of(&mut self, block: Option<Block>) -> Result<()> {
        let Some(block) = block else { return Ok(()) };
        self.row = block.read_restart(0, &mut self.key).map_err(|detail| self.wrong(detail))?;
        self.block = Some(block);
        Ok(())
    }

    /// To the last row of the block before the present one.
    fn prev_block(&mut self) -> Result<()> {
        let (partition, chunk) = self.at;
        match chunk.checked_sub(1) {
            Some(chunk) => {
                let block = self.load(partition, chunk)?;
                self.last_of(block)
            }
            None => match partition.checked_sub(1) {
                Some(partition) => self.last_of_partition(partition),
                None => {
                    self.block = None;
                    Ok(())
                }
            },
        }
    }

    fn last_of_partition(&mut self, partition: usize) -> Result<()> {
        self.block = None;
        let Some(loaded) = self.reader.partition(partition)? else { return Ok(()) };
        let last = loaded.directory.len() - 1;
        let block = self.load(partition, last)?;
        self.last_of(block)
    }

    fn last_of(&mut self, block: Option<Block>) -> Result<()> {
        let Some(block) = block else { return Ok(()) };
        let last = block.count() - 1;
        self.go_to_row(block, last)
    }

    /// To the `n`-th row of the block, by way of its restart; what is read on the way is kept for the next step back.
    fn go_to_row(&mut self, block: Block, n: usize) -> Result<()> {
        let restart = block.restart_of(n);
        if self.behind.of != Some(restart) {
            self.behind.of = None;
            self.behind.fill(&block, restart).map_err(|detail| self.wrong(detail))?;
            self.behind.of = Some(restart);
        }
        let first = restart * block.interval();
        if let Some((row, key_end)) = self.behind.rows.get(n - first) {
            let key_start = if n == first { 0 } else { self.behind.rows[n - first - 1].1 };
            self.row = row.clone();
            self.key.clear();
            self.key.extend_from_slice(self.behind.keys.get(key_start..*key_end).unwrap_or_default());
            self.block = Some(block);
        }
        Ok(())
    }
}

impl Behind {
    fn fill(&mut self, block: &Block, restart: usize) -> Result<(), Malformed> {
        self.rows.clear();
        self.keys.clear();
        let mut key = Vec::new();
        let mut row = block.read_restart(restart, &mut key)?;
        loop {
            self.keys.extend_from_slice(&key);
            self.rows.push((row.clone(), self.keys.len()));
            let n = row.n + 1;
            if n == block.count() || n.is_multiple_of(block.interval()) {
                return Ok(());
            }
            row = block.read_row(n, row.next_row, row.value.end, &mut key)?;
        }
    }
}

impl Cursor for TableCursor {
    fn seek_to_first(&mut self) -> Result<()> {
        let block = self.load(0, 0)?;
        self.first_of(block)
    }

    fn seek_to_last(&mut self) -> Result<()> {
        match self.reader.partitions().checked_sub(1) {
            Some(last) => self.last_of_partition(last),
            None => Ok(()),
        }
    }

    fn seek(&mut self, key: &[u8], seq: u64) -> Result<()> {
        self.block = None;
        let number = self.reader.find_partition(key, seq);
        let Some(partition) = self.reader.partition(number)? else { return Ok(()) };
        let chunk = partition.directory.find(key, seq);
        let Some(block) = self.load(number, chunk)? else { return Ok(()) };
        match block.find(key, seq).map_err(|detail| self.wrong(detail))? {
            Some(found) => {
                self.key.clear();
                self.key.extend_from_slice(key.get(..found.shared).unwrap_or_default());
                self.key.extend_from_slice(block.bytes().get(found.unshared).unwrap_or_default());
                self.row = found.position;
                self.block = Some(block);
                Ok(())
            }
            // It lies between the last row of the block and the first of the next.
            None => self.next_block(),
        }
    }

    fn seek_before(&mut self, key: &[u8], seq: u64) -> Result<()> {
        self.seek(key, seq)?;
        if self.valid() { self.prev() } else { self.seek_to_last() }
    }

    #[inline]
    fn next(&mut self) -> Result<()> {
        let Some(block) = &self.block else { return Ok(()) };
        let n = self.row.n + 1;
        if n >= block.count() {
            return self.next_block();
        }
        match block.read_row(n, self.row.next_row, self.row.value.end, &mut self.key) {
            Ok(row) => {
                self.row = row;
                Ok(())
            }
            Err(detail) => {
                self.block = None;
                Err(self.wrong(detail))
            }
        }
    }

    fn take_run(&mut self, seq: u64, below: Option<&[u8]>, run: &mut Run) -> bool {
        let Some(block) = &self.block else { return false };
        block.take_run(&mut self.row, &mut self.key, seq, below, run);
        run.len() > 0
    }

    fn prev(&mut self) -> Result<()> {
        match (self.block.take(), self.row.n.checked_sub(1)) {
            (Some(block), Some(n)) => self.go_to_row(block, n),
            (Some(_), None) => self.prev_block(),
            (None, _) => Ok(()),
        }
    }

    #[inline]
    fn valid(&self) -> bool {
        self.block.is_some()
    }

    #[inline]
    fn key(&self) -> &[u8] {
        &self.key
    }

    #[inline]
    fn seq(&self) -> u64 {
        self.row.seq
    }

    #[inline]
    fn kind(&self) -> OpKind {
        self.row.kind
    }

    #[inline]
    fn value(&self) -> &[u8] {
        self.block.as_ref().and_then(|block| block.bytes().get(self.row.value.clone())).unwrap_or_default()
    }
}
