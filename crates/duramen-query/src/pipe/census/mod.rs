//! How often fields, and their values, are there: what `field_names` and `facets` count.
//!
//! Straight behind the filter, whole columns are counted: a constant once, a dictionary by its codes.

pub mod facets;
pub mod field_names;

use crate::bitmap::Bitmap;
use crate::error::Result;
use crate::exec::RunStats;
use crate::exec::context::Run;
use crate::exec::memory::Memory;
use crate::exec::open::Named;
use crate::exec::read::Reader;
use crate::pipe::fields::NamePattern;
use crate::row::ResultRow;
use duramen::block::names;
use duramen::column::{ColumnData, IntText};
use hashbrown::HashMap;
use std::collections::BTreeMap;

type Counts = HashMap<Box<str>, u64, foldhash::fast::FixedState>;

/// What is counted of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bounds {
    /// The most different values of a field: one with more is given up.
    pub max_values: usize,
    /// The most bytes of a value: a field with a longer one is given up.
    pub max_value_bytes: usize,
}

/// A field.
#[derive(Debug, Default)]
pub(crate) struct Counted {
    /// How many rows have it.
    pub hits: u64,
    /// How many have each value; none if it was given up.
    pub values: Option<Counts>,
}

/// The fields by name.
#[derive(Debug)]
pub(crate) struct Census<'a> {
    pub fields: BTreeMap<String, Counted>,
    /// How many rows were seen.
    pub rows: u64,
    bounds: Option<Bounds>,
    memory: &'a Memory,
}

impl<'a> Census<'a> {
    /// Of names, and with bounds, of values too.
    pub fn new(bounds: Option<Bounds>, memory: &'a Memory) -> Self {
        Self { fields: BTreeMap::new(), rows: 0, bounds, memory }
    }

    /// Counts all rows that a filter finds.
    pub fn of_blocks(bounds: Option<Bounds>, run: &Run<'a>, reader: &Reader<'_>) -> Result<Self> {
        let mut census = Self::new(bounds, run.memory);
        let mut stats = RunStats::default();
        for handle in run.blocks {
            if let Some((mut open, found)) = reader.open(&**handle, &mut stats)? {
                // Of values, without the time, whose values are nearly all different.
                let columns = open.matching(&NamePattern::all()).map(|mut columns| {
                    columns.retain(|(name, _)| bounds.is_none() || name != names::TIME);
                    columns
                });
                stats.bytes_read += open.bytes_since_last();
                match columns {
                    Ok(columns) => census.add_block(&columns, &found)?,
                    Err(e) => stats.failed(e),
                }
            }
        }
        run.spent(&mut stats);
        Ok(census)
    }

    fn add_block(&mut self, columns: &[Named], found: &Bitmap) -> Result<()> {
        self.rows += found.count() as u64;
        for (name, column) in columns {
            match &column.data {
                ColumnData::Const(text) => self.add(name, text, found.count() as u64)?,
                ColumnData::Dict { values, codes } => {
                    let mut hits = vec![0u64; values.len()];
                    for row in found.iter() {
                        if let Some(n) = hits.get_mut(codes[column.slot(row)] as usize) {
                            *n += 1;
                        }
                    }
                    for (text, hits) in values.iter().zip(hits) {
                        self.add(name, text, hits)?;
                    }
                }
                ColumnData::Int { .. } | ColumnData::Text { .. } => {
                    let mut digits = IntText::default();
                    for row in found.iter() {
                        if let Some(text) = column.text(row, &mut digits) {
                            self.add(name, text, 1)?;
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Counts a row that came out of another pipe.
    pub fn add_row(&mut self, row: &ResultRow) -> Result<()> {
        self.rows += 1;
        let with_time = self.bounds.is_none();
        for (name, text, _) in row.iter().filter(|(name, ..)| with_time || *name != names::TIME) {
            self.add(name, text, 1)?;
        }
        Ok(())
    }

    fn add(&mut self, name: &str, text: &str, hits: u64) -> Result<()> {
        // An empty stream is none.
        if hits == 0 || text.is_empty() || (name == names::STREAM && text == "{}") {
            return Ok(());
        }
        if !self.fields.contains_key(name) {
            self.memory.charge(name.len() + 96, "the names of fields")?;
        }
        let values = self.bounds.is_some().then(Counts::default);
        let field = self.fields.entry(name.into()).or_insert(Counted { hits: 0, values });
        field.hits += hits;
        let (Some(bounds), Some(values)) = (self.bounds, &mut field.values) else { return Ok(()) };
        if let Some(n) = values.get_mut(text) {
            *n += hits;
        } else if values.len() == bounds.max_values || text.len() > bounds.max_value_bytes {
            self.memory.release(values.keys().map(|text| text.len() + 48).sum());
            field.values = None;
        } else {
            self.memory.charge(text.len() + 48, "the values of fields")?;
            values.insert(text.into(), hits);
        }
        Ok(())
    }
}
