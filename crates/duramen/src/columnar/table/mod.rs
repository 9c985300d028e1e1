//! A block in a table, its columns decoded as they are asked for.

mod column;
mod words;

use super::bytes::bad;
use super::directory::{Directory, Form, Location};
use super::presence;
use super::streams::{Bundle, Part};
use super::structure::{self, Structure, level_of};
use crate::block::{Block, names};
use crate::column::{Column, IntText};
use crate::error::Result;
use crate::value::Level;
use duramen_engine::sstable::{ChunkHandle, ChunkSource};
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use std::sync::{Arc, OnceLock};

/// A block that [`super::BlockEncoder`] wrote. What was decoded stays with it. May be shared between threads.
///
/// Every method gives [`crate::Error::Decode`] for bytes that make no sense, and what the source said if
/// it could not read them.
#[derive(Debug)]
pub struct TableBlock {
    source: Arc<dyn ChunkSource>,
    directory: Directory,
    by_name: HashMap<String, usize, FixedState>,
    structure: OnceLock<Structure>,
    bundles: Vec<OnceLock<Bundle>>,
    maps: Vec<OnceLock<Arc<Vec<u64>>>>,
    columns: Vec<OnceLock<Arc<Column>>>,
    filter: OnceLock<Vec<u8>>,
}

/// The value in the cell, made first if it is not there. Two threads may both make it; one wins.
fn get_or_make<T>(cell: &OnceLock<T>, make: impl FnOnce() -> Result<T>) -> Result<&T> {
    if let Some(value) = cell.get() {
        return Ok(value);
    }
    let value = make()?;
    Ok(cell.get_or_init(|| value))
}

impl TableBlock {
    /// Reads the directory.
    ///
    /// # Errors
    /// What `source` said; [`duramen_engine::Error::TooNew`] if a later version wrote the block;
    /// [`crate::Error::Decode`] if the chunk is no directory.
    pub fn open(source: Arc<dyn ChunkSource>, directory: ChunkHandle) -> Result<Self> {
        let directory = Directory::read(&source.read_chunk(directory)?, source.path())?;
        let by_name = directory.columns.iter().enumerate().map(|(i, c)| (c.name.clone(), i)).collect();
        Ok(Self {
            source,
            by_name,
            structure: OnceLock::new(),
            bundles: directory.bundles.iter().map(|_| OnceLock::new()).collect(),
            maps: directory.maps.iter().map(|_| OnceLock::new()).collect(),
            columns: directory.columns.iter().map(|_| OnceLock::new()).collect(),
            filter: OnceLock::new(),
            directory,
        })
    }

    /// The earliest time stamp, ns since the epoch.
    pub fn min_time(&self) -> i64 {
        self.directory.min_time
    }

    /// The latest time stamp.
    pub fn max_time(&self) -> i64 {
        self.directory.max_time
    }

    /// The bytes of the lines that its rows were read from, as [`super::EncodedBlock::raw_bytes`].
    pub fn raw_bytes(&self) -> u64 {
        self.directory.raw_bytes
    }

    /// The level of every row.
    ///
    /// # Errors
    /// As all methods.
    pub fn levels(&self) -> Result<Vec<Level>> {
        let structure = self.structure()?;
        let slot = |row: usize| structure.streams.order.as_ref().map_or(row, |order| order[row] as usize);
        let rows = 0..self.directory.rows;
        if let Some(levels) = &structure.levels {
            let level = |row| u8::try_from(levels[slot(row)]).ok().and_then(Level::from_u8);
            return rows.map(|row| level(row).ok_or_else(|| bad("there is no such level"))).collect();
        }
        let Some(&i) = self.by_name.get(names::LEVEL) else {
            return Ok(vec![Level::Unknown; self.directory.rows]);
        };
        let column = self.stored(i, 0)?;
        let mut digits = IntText::default();
        Ok(rows.map(|row| column.text(row, &mut digits).map_or(Level::Unknown, level_of)).collect())
    }

    /// The names of the fields that make the streams of the block's rows, and the rows' values of each are
    /// in the columns of these names.
    ///
    /// # Errors
    /// As all methods.
    pub fn stream_field_names(&self) -> Result<Vec<String>> {
        let mut all: Vec<String> = self.structure()?.streams.names().map(str::to_owned).collect();
        all.sort_unstable();
        all.dedup();
        Ok(all)
    }

    fn bundle(&self, i: usize) -> Result<&Bundle> {
        get_or_make(&self.bundles[i], || Bundle::read(&self.source.read_chunk(self.directory.bundles[i])?))
    }

    /// Calls `f` with the part. A bundle with one part is not kept: what is decoded from it is.
    fn with_part<T>(&self, at: &Location, f: impl FnOnce(&mut Part<'_>) -> Result<T>) -> Result<T> {
        let own;
        let bundle = if self.is_shared(at) {
            self.bundle(at.bundle)?
        } else {
            own = Bundle::read(&self.source.read_chunk(self.directory.bundles[at.bundle])?)?;
            &own
        };
        f(&mut bundle.part(&at.starts, &at.lens)?)
    }

    fn is_shared(&self, at: &Location) -> bool {
        self.bundles[at.bundle].get().is_some()
            || at.lens.iter().sum::<usize>() <= super::encode::OWN_BUNDLE_BYTES
    }

    fn structure(&self) -> Result<&Structure> {
        get_or_make(&self.structure, || {
            self.with_part(&self.directory.structure, |part| structure::decode(part, self.directory.rows))
        })
    }

    fn map(&self, i: usize) -> Result<&Arc<Vec<u64>>> {
        get_or_make(&self.maps[i], || {
            self.with_part(&self.directory.maps[i], |part| {
                presence::decode(part, self.directory.rows).map(Arc::new)
            })
        })
    }
}

impl Block for TableBlock {
    fn rows(&self) -> usize {
        self.directory.rows
    }

    fn times(&self) -> Result<Arc<Vec<i64>>> {
        Ok(self.structure()?.times.clone())
    }

    fn field_names(&self) -> Result<Vec<String>> {
        Ok(super::memory::field_names(
            self.directory.columns.iter().map(|c| &*c.name),
            &self.structure()?.streams,
        ))
    }

    fn column(&self, name: &str) -> Result<Option<Arc<Column>>> {
        let streams = &self.structure()?.streams;
        if name == names::STREAM {
            return Ok(Some(Arc::new(streams.stream_column())));
        }
        let stored = match self.by_name.get(name) {
            Some(&i) => Some(self.stored(i, 0)?),
            None => None,
        };
        match streams.label_column(name, stored.map(|c| &**c))? {
            Some(column) => Ok(Some(Arc::new(column))),
            None => Ok(stored.cloned()),
        }
    }

    fn may_contain_words(&self, name: &str, words: &[u64]) -> Result<bool> {
        self.may_contain(name, words)
    }

    fn int_range(&self, name: &str) -> Result<Option<(i64, i64)>> {
        let Some(&i) = self.by_name.get(name) else { return Ok(None) };
        if self.structure()?.streams.names().any(|n| n == name) {
            return Ok(None);
        }
        Ok(match &self.directory.columns[i].form {
            Form::Integers { min, max, .. } if min <= max => Some((*min, *max)),
            Form::Constant(text) => crate::entry::plain_integer(text).map(|n| (n, n)),
            _ => None,
        })
    }

    fn identity(&self, row: usize) -> Result<(u64, u64)> {
        let s = self.structure()?;
        match (s.writers.get(row), s.seqs.get(row)) {
            (Some(&writer), Some(&seq)) => Ok((writer as u64, seq as u64)),
            _ => Err(crate::Error::Invalid(format!("row {row} of a block of {}", self.directory.rows))),
        }
    }
}
