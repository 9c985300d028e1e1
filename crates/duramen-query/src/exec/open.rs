//! An opened block with the columns that were asked for so far: each is decoded once.

use super::project::Projection;
use crate::bitmap::Bitmap;
use crate::parse::time::format_time;
use crate::pipe::fields::NamePattern;
use crate::row::ResultRow;
use duramen::Result;
use duramen::block::{Block, BlockHandle, Found, LengthUnit, Needle, names};
use duramen::column::{Column, ColumnData, IntText, Ints, Kinds, Order, bit};
use duramen::{Error, ValueKind};
use hashbrown::HashMap;
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_128;

/// The name under which every row has a number for its stream, made of the stream's text. Rows show it only to who
/// asks for it by name.
pub const STREAM_ID: &str = duramen::block::names::STREAM_ID;

type Columns = HashMap<String, Option<Arc<Column>>, foldhash::fast::FixedState>;

/// A column, by the name it has in the answer.
pub(crate) type Named = (String, Arc<Column>);

pub(crate) struct Open {
    pub block: Arc<dyn Block>,
    /// All its times are in here.
    pub span: (i64, i64),
    /// Whether its rows are in order of time.
    pub in_order: bool,
    columns: Columns,
    times: Option<Arc<Vec<i64>>>,
    output: Option<Vec<Named>>,
    /// If they are few: the only rows that are looked at from now on.
    wanted: Option<Bitmap>,
    /// Fields whose values were looked through, and not kept: who wants them again has them decoded.
    looked_through: Vec<Box<str>>,
    /// Bytes of the columns decoded so far.
    bytes: usize,
    /// How many of them were told of.
    told: usize,
}

impl Open {
    /// A block whose rows are in order of time.
    pub fn new(block: Arc<dyn Block>) -> Self {
        Self {
            block,
            span: (i64::MIN, i64::MAX),
            in_order: true,
            columns: Columns::default(),
            times: None,
            output: None,
            wanted: None,
            looked_through: Vec::new(),
            bytes: 0,
            told: 0,
        }
    }

    /// What a handle opens, with rows in any order if that will do.
    pub fn of(handle: &dyn BlockHandle, in_order: bool) -> Result<Self> {
        let block = if in_order { handle.open() } else { handle.open_unordered() }?;
        Ok(Self { span: (handle.min_time(), handle.max_time()), in_order, ..Self::new(block) })
    }

    /// About how many bytes it holds decoded: most columns are both the block's and its own.
    pub fn held_bytes(&self) -> usize {
        self.bytes.max(self.block.held_bytes())
    }

    /// How many bytes were decoded since this was asked last.
    pub fn bytes_since_last(&mut self) -> u64 {
        let new = self.bytes - self.told;
        self.told = self.bytes;
        new as u64
    }

    /// The time of each row.
    pub fn times(&mut self) -> Result<Arc<Vec<i64>>> {
        if let Some(times) = &self.times {
            return Ok(times.clone());
        }
        let times = self.block.times()?;
        if times.len() != self.block.rows() {
            return Err(Error::decode("a block", "not as many time stamps as rows"));
        }
        self.bytes += times.len() * size_of::<i64>();
        self.times = Some(times.clone());
        Ok(times)
    }

    /// Says that no other rows are looked at from now on: of columns that are not decoded yet, what is needed for
    /// them will do.
    pub fn only(&mut self, rows: &Bitmap) {
        self.wanted = is_few(rows).then(|| rows.clone());
    }

    /// Takes [`Open::only`] back, before another column is asked for.
    pub fn all(&mut self) {
        self.wanted = None;
    }

    /// A column for whoever looks at how the block holds it: with the values of all rows, whichever are looked at.
    pub fn whole_column(&mut self, name: &str) -> Result<Option<Arc<Column>>> {
        if self.wanted.is_none() || matches!(name, names::TIME | STREAM_ID) {
            return self.column(name);
        }
        let column = self.block.column(name)?;
        if let Some(column) = &column {
            self.count(column)?;
        }
        Ok(column)
    }

    /// How long the values of a field are, if they are not there already and the block can tell that without them.
    pub fn lengths(&mut self, name: &str, unit: LengthUnit) -> Result<Option<Arc<Column>>> {
        let own = matches!(name, names::TIME | names::STREAM | STREAM_ID);
        if own || self.wanted.is_some() || self.columns.contains_key(name) {
            return Ok(None);
        }
        let lengths = self.block.lengths(name, unit)?;
        if let Some(lengths) = &lengths {
            self.count(lengths)?;
        }
        Ok(lengths)
    }

    /// A column for whoever looks only at the candidates.
    pub fn column_for(&mut self, name: &str, candidates: &Bitmap) -> Result<Option<Arc<Column>>> {
        if !is_few(candidates) || name == STREAM_ID || self.columns.contains_key(name) {
            return self.column(name);
        }
        if name == names::TIME {
            return Ok(Some(time_column(&self.times()?, |row| candidates.contains(row))));
        }
        let column = self.block.column_at(name, candidates.words())?;
        if let Some(column) = &column {
            self.count(column)?;
        }
        Ok(column)
    }

    /// Checks and counts a column that was decoded.
    fn count(&mut self, column: &Column) -> Result<()> {
        check(column, self.block.rows())?;
        self.bytes += column.bytes();
        Ok(())
    }

    /// Between which numbers all values of a field are, if that is known without them.
    pub fn int_range(&self, name: &str) -> Result<Option<(i64, i64)>> {
        if self.columns.contains_key(name) { Ok(None) } else { self.block.int_range(name) }
    }

    /// What the block can tell of rows that hold something, if the column is not decoded already.
    pub fn search(&mut self, name: &str, needle: &Needle<'_>) -> Result<Option<(Bitmap, Bitmap)>> {
        if matches!(name, names::TIME | STREAM_ID) || self.columns.contains_key(name) {
            return Ok(None);
        }
        let rows = self.block.rows();
        let maps = |found: Found| {
            (Bitmap::from_words(found.certain, rows), Bitmap::from_words(found.possible, rows))
        };
        Ok(self.block.search(name, needle)?.map(maps))
    }

    /// Whether it is worth asking the block to look through a field: not for few rows, and not twice.
    pub fn may_look_through(&self, name: &str, candidates: &Bitmap) -> bool {
        let is_known = matches!(name, names::TIME | STREAM_ID) || self.columns.contains_key(name);
        !is_few(candidates) && !is_known && !self.looked_through.iter().any(|looked| **looked == *name)
    }

    /// As [`Block::look_through`], for candidates that are not few, if the column was not asked for before.
    pub fn look_through(
        &mut self,
        name: &str,
        candidates: &Bitmap,
        start: &str,
        see: &mut dyn FnMut(usize, &str),
    ) -> Result<Option<Order>> {
        if !self.may_look_through(name, candidates) {
            return Ok(None);
        }
        let mut bytes = 0;
        let order = self.block.look_through(name, candidates.words(), start, &mut |slot, text| {
            bytes += text.len() + size_of::<u32>();
            see(slot, text);
        })?;
        self.bytes += bytes;
        if order.is_some() {
            self.looked_through.push(name.into());
        }
        Ok(order)
    }

    /// The times as integers.
    pub fn times_column(&mut self) -> Result<Arc<Column>> {
        let times = self.times()?;
        let data = ColumnData::Int { values: Ints::new(times.to_vec()), present: None };
        let (kinds, order, rows) = (Kinds::All(ValueKind::Number), Order::Rows, times.len());
        Ok(Arc::new(Column { data, kinds, order, rows }))
    }

    /// A column, `_time` as text among them; `None` where no row has the field.
    pub fn column(&mut self, name: &str) -> Result<Option<Arc<Column>>> {
        if let Some(column) = self.columns.get(name) {
            return Ok(column.clone());
        }
        let column = match name {
            names::TIME => Some(time_column(&self.times()?, |_| true)),
            STREAM_ID => self.block.column(names::STREAM)?.as_deref().map(stream_id_column),
            _ => match &self.wanted {
                Some(wanted) => self.block.column_at(name, wanted.words())?,
                None => self.block.column(name)?,
            },
        };
        if let Some(column) = &column {
            self.count(column)?;
        }
        self.columns.insert(name.into(), column.clone());
        Ok(column)
    }

    /// Puts a column in the place of the field of this name.
    pub fn put(&mut self, name: &str, column: Arc<Column>) {
        self.bytes += column.bytes();
        self.columns.insert(name.into(), Some(column));
    }

    /// Gives a field's column, or that there is none, another name, too.
    pub fn name(&mut self, from: &str, to: &str) -> Result<()> {
        let column = self.column(from)?;
        self.columns.insert(to.into(), column);
        Ok(())
    }

    /// Decodes what the query needs of rows, if that has not been done.
    pub fn prepare(&mut self, projection: &Projection) -> Result<()> {
        if self.output.is_none() {
            self.block.will_read(&|name| projection.wants(name));
            self.output = Some(self.output_columns(projection, |_| true, None)?);
        }
        Ok(())
    }

    /// Whether it has been done.
    pub fn is_prepared(&self) -> bool {
        self.output.is_some()
    }

    /// Fills in what the query needs of a row.
    pub fn fill(
        &mut self,
        row: usize,
        time: i64,
        projection: &Projection,
        out: &mut ResultRow,
    ) -> Result<()> {
        self.prepare(projection)?;
        self.fill_prepared(row, time, projection, out);
        Ok(())
    }

    /// The same, of what was prepared.
    pub fn fill_prepared(&self, row: usize, time: i64, projection: &Projection, out: &mut ResultRow) {
        out.clear();
        out.set_time(time);
        if projection.wants(names::TIME) {
            out.push_time(time);
        }
        let mut digits = IntText::default();
        for (name, column) in self.output.iter().flatten() {
            let slot = column.slot(row);
            if let Some(text) = column.text_at(slot, &mut digits)
                && !(name == names::STREAM && text.is_empty())
            {
                out.push(name, text, column.kind_at(slot));
            }
        }
    }

    /// The columns of the fields that a pattern means, in the order in which rows show them.
    pub fn matching(&mut self, pattern: &NamePattern) -> Result<Vec<Named>> {
        self.matching_if(pattern, |_| true)
    }

    /// The same for whoever looks only at these rows.
    pub fn matching_for(&mut self, pattern: &NamePattern, rows: &Bitmap) -> Result<Vec<Named>> {
        self.named(pattern, |_| true, Some(rows))
    }

    /// The same, of those fields that somebody wants.
    pub fn matching_if(
        &mut self,
        pattern: &NamePattern,
        is_wanted: impl Fn(&str) -> bool,
    ) -> Result<Vec<Named>> {
        self.named(pattern, is_wanted, None)
    }

    fn named(
        &mut self,
        pattern: &NamePattern,
        is_wanted: impl Fn(&str) -> bool,
        rows: Option<&Bitmap>,
    ) -> Result<Vec<Named>> {
        let mut columns = self.output_columns(&Projection::Only(vec![pattern.clone()]), &is_wanted, rows)?;
        if pattern.matches(names::TIME)
            && is_wanted(names::TIME)
            && let Some(times) = self.column_of(names::TIME, rows)?
        {
            columns.insert(0, (names::TIME.to_string(), times));
        }
        Ok(columns)
    }

    fn column_of(&mut self, name: &str, rows: Option<&Bitmap>) -> Result<Option<Arc<Column>>> {
        match rows {
            Some(rows) => self.column_for(name, rows),
            None => self.column(name),
        }
    }

    fn output_columns(
        &mut self,
        projection: &Projection,
        is_wanted: impl Fn(&str) -> bool,
        rows: Option<&Bitmap>,
    ) -> Result<Vec<Named>> {
        let mut fields = self.block.field_names()?;
        fields.retain(|n| n != names::TIME && n != names::STREAM && n != names::MESSAGE);
        fields.sort_unstable();
        fields.dedup();
        fields.splice(0..0, [names::STREAM.to_string(), names::MESSAGE.to_string()]);
        if projection.names_exactly(STREAM_ID) {
            fields.insert(0, STREAM_ID.to_string());
        }
        let mut output = Vec::new();
        for name in fields.into_iter().filter(|n| projection.wants(n) && is_wanted(n)) {
            if let Some(column) = self.column_of(&name, rows)? {
                output.push((name, column));
            }
        }
        Ok(output)
    }
}

/// The number of a stream: 128 bits of a hash of its text, in hexadecimal; no stream has none.
pub(crate) fn stream_id(stream: &str) -> String {
    if stream.is_empty() { String::new() } else { format!("{:032x}", xxh3_128(stream.as_bytes())) }
}

fn stream_id_column(stream: &Column) -> Arc<Column> {
    let data = match &stream.data {
        ColumnData::Const(text) => ColumnData::Const(stream_id(text).into()),
        ColumnData::Dict { values, codes } => {
            ColumnData::Dict { values: values.iter().map(stream_id).collect(), codes: codes.clone() }
        }
        other => {
            let slots = match other {
                ColumnData::Int { values, .. } | ColumnData::Decimal { values, .. } => values.len(),
                ColumnData::Text { ends, .. } => ends.len(),
                _ => 0,
            };
            let (mut text, mut ends) = (String::new(), Vec::with_capacity(slots));
            let mut digits = IntText::default();
            for slot in 0..slots {
                text.push_str(&stream_id(stream.text_at(slot, &mut digits).unwrap_or("")));
                ends.push(text.len() as u32);
            }
            ColumnData::Text { text, ends, present: None }
        }
    };
    let kinds = Kinds::All(ValueKind::String);
    Arc::new(Column { data, kinds, order: stream.order.clone(), rows: stream.rows })
}

/// The times of these rows as text.
fn time_column(times: &[i64], is_wanted: impl Fn(usize) -> bool) -> Arc<Column> {
    let (mut text, mut ends) = (String::new(), Vec::with_capacity(times.len()));
    for (row, &time) in times.iter().enumerate() {
        if is_wanted(row) {
            text.push_str(&format_time(time));
        }
        ends.push(text.len() as u32);
    }
    let data = ColumnData::Text { text, ends, present: None };
    Arc::new(Column { data, kinds: Kinds::All(ValueKind::String), order: Order::Rows, rows: times.len() })
}

/// Whether going to each of these rows is cheaper than running over all.
pub(crate) fn is_few(rows: &Bitmap) -> bool {
    duramen::block::is_few(rows.count(), rows.len())
}

/// That every slot can be asked for without a panic.
fn check(column: &Column, rows: usize) -> Result<()> {
    let slots = match &column.data {
        ColumnData::Const(_) => return Ok(()),
        ColumnData::Dict { codes, .. } => codes.len(),
        ColumnData::Int { values, .. } | ColumnData::Decimal { values, .. } => values.len(),
        ColumnData::Text { ends, .. } => ends.len(),
    };
    let is_whole = match &column.order {
        Order::Rows => slots == rows,
        // Some rows of a block have its slots, which are more, and their own way to them.
        Order::Slots(order) => {
            order.len() == rows && (slots == rows || order.iter().all(|&slot| (slot as usize) < slots))
        }
        Order::Few(few) => slots == few.count(),
    };
    if is_whole { Ok(()) } else { Err(Error::decode("a column", "not as many values as rows")) }
}

/// The text in a slot; `None` where it is missing, or a number that lies there as such.
pub(crate) fn plain_text(column: &Column, slot: usize) -> Option<&str> {
    match &column.data {
        ColumnData::Const(text) => Some(text),
        ColumnData::Dict { values, codes } => values.get(codes.get(slot) as usize),
        ColumnData::Int { .. } | ColumnData::Decimal { .. } => None,
        // Where a field has the message's text in some rows, that of all rows lies there.
        ColumnData::Text { present: Some(present), .. } if !bit(present, slot) => None,
        ColumnData::Text { text, ends, .. } => {
            let start = if slot == 0 { 0 } else { ends[slot - 1] as usize };
            text.get(start..ends[slot] as usize)
        }
    }
}
