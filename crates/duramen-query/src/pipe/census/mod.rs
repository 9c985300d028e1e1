//! How often fields, and their values, are there: what `field_names` and `facets` count.
//!
//! Straight behind the filter, whole columns are counted: a constant once, a dictionary by its codes.

pub mod facets;
pub mod field_names;

use crate::bitmap::Bitmap;
use crate::error::Result;
use crate::exec::RunStats;
use crate::exec::ahead::Ahead;
use crate::exec::context::Run;
use crate::exec::memory::Memory;
use crate::exec::open::{Named, Open};
use crate::exec::project::Projection;
use crate::exec::read::Reader;
use crate::exec::threads::over_blocks;
use crate::pipe::fields::NamePattern;
use crate::row::ResultRow;
use duramen::block::{Block, BlockHandle, names};
use duramen::column::{ColumnData, IntText, bit};
use hashbrown::HashMap;
use hashbrown::hash_map::EntryRef;
use std::borrow::Cow;

type Fast = foldhash::fast::FixedState;
type Counts = HashMap<Box<str>, u64, Fast>;
/// How many rows have each of a block's fields.
type Hits<'b> = Vec<(Cow<'b, str>, u64)>;

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
    /// How many rows have it; of one that was given up, some of them.
    pub hits: u64,
    /// How many have each value; none if it was given up.
    pub values: Option<Counts>,
}

/// The fields by name.
#[derive(Debug)]
pub(crate) struct Census<'a> {
    fields: HashMap<String, Counted, Fast>,
    /// How many rows were seen.
    pub rows: u64,
    bounds: Option<Bounds>,
    memory: &'a Memory,
}

impl Counted {
    fn add(&mut self, text: &str, hits: u64, bounds: Option<Bounds>, memory: &Memory) -> Result<()> {
        self.hits += hits;
        self.add_value(text, hits, bounds, memory)
    }

    fn add_value(&mut self, text: &str, hits: u64, bounds: Option<Bounds>, memory: &Memory) -> Result<()> {
        let (Some(bounds), Some(values)) = (bounds, &mut self.values) else { return Ok(()) };
        if let Some(n) = values.get_mut(text) {
            *n += hits;
        } else if values.len() == bounds.max_values || text.len() > bounds.max_value_bytes {
            self.give_up(memory);
        } else {
            memory.charge(text.len() + 48, "the values of fields")?;
            values.insert(text.into(), hits);
        }
        Ok(())
    }

    fn give_up(&mut self, memory: &Memory) {
        let values = self.values.take().unwrap_or_default();
        memory.release(values.keys().map(|text| text.len() + 48).sum());
    }
}

/// How many of the rows have each field, of those of which the block tells without decoding them, and the names of the others.
fn known_hits<'b>(block: &'b dyn Block, found: &Bitmap) -> duramen::Result<(Hits<'b>, Vec<String>)> {
    let (rows, hits) = (found.len(), found.count());
    let mut fields = vec![(Cow::Borrowed(names::TIME), Some(rows))];
    block.rows_with_each(&mut |name, with| fields.push((name, with)))?;
    let (mut known, mut others) = (Hits::with_capacity(fields.len()), Vec::new());
    for (name, with) in fields {
        match with {
            Some(0) => {}
            Some(with) if with == rows => known.push((name, hits as u64)),
            Some(with) if hits == rows => known.push((name, with as u64)),
            Some(_) => match block.rows_having(&name)? {
                Some(having) => {
                    let mut with = Bitmap::from_words(having, rows);
                    with.intersect(found);
                    known.push((name, with.count() as u64));
                }
                None => others.push(name.into_owned()),
            },
            None => others.push(name.into_owned()),
        }
    }
    Ok((known, others))
}

impl<'a> Census<'a> {
    /// Of names, and with bounds, of values too.
    pub fn new(bounds: Option<Bounds>, memory: &'a Memory) -> Self {
        Self { fields: HashMap::default(), rows: 0, bounds, memory }
    }

    /// Counts all rows that a filter finds, blocks side by side on several threads.
    pub fn of_blocks(bounds: Option<Bounds>, run: &Run<'a>, reader: &Reader<'_>) -> Result<Self> {
        let memory = run.memory;
        // Names are mostly told without a column.
        let of_filter = Projection::none().and_of(reader.told.filter());
        let reader = &Reader { needs: if bounds.is_some() { reader.needs } else { &of_filter }, ..*reader };
        let threads = over_blocks(Ahead::new(*reader, run.blocks), |shared| {
            let (mut census, mut stats) = (Self::new(bounds, memory), RunStats::default());
            while let Some((_, handle)) = shared.take() {
                census.read(handle, reader, &mut stats)?;
            }
            Ok((census, stats))
        })?;
        let mut merged = Self::new(bounds, memory);
        for (census, mut stats) in threads {
            run.spent(&mut stats);
            merged.merge(census)?;
        }
        Ok(merged)
    }

    fn read(&mut self, handle: &dyn BlockHandle, reader: &Reader<'_>, stats: &mut RunStats) -> Result<()> {
        let Some((mut open, found)) = reader.open(handle, stats)? else { return Ok(()) };
        let block = open.block.clone();
        let read = self.columns_and_known(&*block, &mut open, &found);
        stats.bytes_read += open.bytes_since_last();
        match read {
            Ok((columns, known)) => {
                self.add_block(&columns, &found)?;
                for (name, hits) in known.into_iter().filter(|(_, hits)| *hits > 0) {
                    self.field(&name)?.hits += hits;
                }
            }
            Err(e) => stats.failed(e),
        }
        Ok(())
    }

    /// The columns that have to be looked at, and how many rows have a value in the others.
    fn columns_and_known<'b>(
        &self,
        block: &'b dyn Block,
        open: &mut Open,
        found: &Bitmap,
    ) -> duramen::Result<(Vec<Named>, Hits<'b>)> {
        if self.bounds.is_some() {
            return Ok((open.matching_if(&NamePattern::all(), |name| self.is_counted(name))?, Hits::new()));
        }
        let (known, others) = known_hits(block, found)?;
        let mut columns = Vec::new();
        for name in others {
            if let Some(column) = open.column(&name)? {
                columns.push((name, column));
            }
        }
        Ok((columns, known))
    }

    /// Whether values of a field are still to be counted: not the time's, which are nearly all different, and not those of
    /// a field that was given up.
    fn is_counted(&self, name: &str) -> bool {
        let is_given_up = |field: &Counted| field.values.is_none();
        name != names::TIME && !self.fields.get(name).is_some_and(is_given_up)
    }

    fn add_block(&mut self, columns: &[Named], found: &Bitmap) -> Result<()> {
        let (bounds, memory) = (self.bounds, self.memory);
        self.rows += found.count() as u64;
        for (name, column) in columns {
            let field = self.field(name)?;
            let mut add = |text: &str, hits: u64| {
                if hits == 0 || text.is_empty() { Ok(()) } else { field.add(text, hits, bounds, memory) }
            };
            match &column.data {
                ColumnData::Const(text) => add(text, found.count() as u64)?,
                ColumnData::Dict { values, codes } => {
                    let mut hits = vec![0u64; values.len()];
                    let mut count = |slot| {
                        if let Some(n) = hits.get_mut(codes.get(slot) as usize) {
                            *n += 1;
                        }
                    };
                    if found.count() == codes.len() {
                        // In whatever order.
                        (0..codes.len()).for_each(count);
                    } else {
                        found.iter().for_each(|row| count(column.slot(row)));
                    }
                    for (text, hits) in values.iter().zip(hits) {
                        add(text, hits)?;
                    }
                }
                ColumnData::Int { values, present } if bounds.is_some() => {
                    let most = bounds.map_or(0, |bounds| bounds.max_values);
                    let mut hits: HashMap<i64, u64, Fast> = HashMap::default();
                    let slots = found.iter().map(|row| column.slot(row));
                    for slot in slots.filter(|&slot| present.as_ref().is_none_or(|p| bit(p, slot))) {
                        *hits.entry(values.get(slot)).or_default() += 1;
                        if hits.len() > most {
                            field.give_up(memory);
                            break;
                        }
                    }
                    let mut digits = IntText::default();
                    for (n, hits) in hits {
                        field.add(digits.format(n), hits, bounds, memory)?;
                    }
                }
                ColumnData::Int { .. } | ColumnData::Decimal { .. } | ColumnData::Text { .. } => {
                    let mut digits = IntText::default();
                    for row in found.iter() {
                        if let Some(text) = column.text(row, &mut digits)
                            && !text.is_empty()
                        {
                            field.add(text, 1, bounds, memory)?;
                            if bounds.is_some() && field.values.is_none() {
                                break;
                            }
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// The fields in order of their names.
    pub fn in_order(&self) -> Vec<(&str, &Counted)> {
        let mut fields: Vec<_> = self.fields.iter().map(|(name, counted)| (&**name, counted)).collect();
        fields.sort_unstable_by_key(|(name, _)| *name);
        fields
    }

    /// Counts a row that came out of another pipe.
    pub fn add_row(&mut self, row: &ResultRow) -> Result<()> {
        let (bounds, memory) = (self.bounds, self.memory);
        self.rows += 1;
        for (name, text, _) in row.iter().filter(|(name, ..)| bounds.is_none() || *name != names::TIME) {
            if !text.is_empty() {
                self.field(name)?.add(text, 1, bounds, memory)?;
            }
        }
        Ok(())
    }

    /// Adds what another thread counted.
    fn merge(&mut self, other: Self) -> Result<()> {
        let (bounds, memory) = (self.bounds, self.memory);
        self.rows += other.rows;
        for (name, mut theirs) in other.fields {
            let mine = self.field(&name)?;
            mine.hits += theirs.hits;
            match theirs.values.take() {
                None => mine.give_up(memory),
                Some(values) => {
                    for (text, hits) in values {
                        memory.release(text.len() + 48);
                        mine.add_value(&text, hits, bounds, memory)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn field(&mut self, name: &str) -> Result<&mut Counted> {
        Ok(match self.fields.entry_ref(name) {
            EntryRef::Occupied(field) => field.into_mut(),
            EntryRef::Vacant(field) => {
                self.memory.charge(name.len() + 96, "the names of fields")?;
                let values = self.bounds.is_some().then(Counts::default);
                field.insert(Counted { hits: 0, values })
            }
        })
    }
}
