//! Rows to columns, in memory: the first half of encoding a block, and all of showing rows that are still in
//! the WAL as one.
//!
//! Two passes. The first reads times, identities and streams, and settles the *slots*: rows of one stream
//! lie together, in time order (a stable counting sort). The second walks the rows in the order of their
//! slots and hands each field to its column. A row's next field is nearly always the one that followed last
//! time, so a column is found by comparing one name; and a value is nearly always the one of the row before,
//! or one seen before, so a column starts as a dictionary and gives that up when it does not pay.

mod collected;
mod one;
mod slots;

pub(crate) use collected::{Collected, Form};
pub(crate) use one::one_field;
pub(crate) use slots::{slots, streams_of};

use super::labels::StreamTable;
use super::{MAX_ROWS, Row};
use crate::block::names;
use crate::column::{IntText, Order};
use crate::error::{Error, Result};
use crate::value::{Level, Value, ValueKind};
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use std::io::Write;

/// Rows turned into columns. Reusable: [`Columnizer::fill`] forgets what was there, but not the room.
#[derive(Debug, Default)]
pub(crate) struct Columnizer {
    /// By row.
    pub(crate) times: Vec<i64>,
    pub(crate) writers: Vec<i64>,
    pub(crate) seqs: Vec<i64>,
    pub(crate) stream_of_row: Vec<u32>,
    pub(crate) streams: StreamTable,
    /// By slot: the number of the [`Level`].
    pub(crate) levels: Vec<u8>,
    columns: Vec<Collected>,
    used: usize,
    by_name: HashMap<String, usize, FixedState>,
    pub(crate) raw_bytes: u64,
}

/// The column of the message is the first.
pub(crate) const MESSAGE: usize = 0;

/// What a line break and an entry's frame add to its NDJSON: `{"_time":"2026-01-01T00:00:00.000000000Z"}\n`.
const NDJSON_FRAME_BYTES: usize = 43;
/// What a field adds to its name and text: `,"":""`.
const NDJSON_FIELD_BYTES: usize = 6;

impl Columnizer {
    /// The columns, in the order in which their names were first seen.
    pub(crate) fn columns(&self) -> &[Collected] {
        &self.columns[..self.used]
    }

    /// The texts of a column that is held as texts, one after another: they are not to be looked at here any more.
    pub(crate) fn take_text_bytes(&mut self, i: usize) -> Vec<u8> {
        match self.columns.get_mut(i) {
            Some(column) if column.form == Form::Texts => std::mem::take(&mut column.texts.bytes),
            _ => Vec::new(),
        }
    }

    fn column(&mut self, name: &str) -> usize {
        if let Some(&i) = self.by_name.get(name) {
            return i;
        }
        let i = self.used;
        if i == self.columns.len() {
            self.columns.push(Collected::default());
        }
        self.columns[i].reset(name);
        self.by_name.insert(name.to_owned(), i);
        self.used += 1;
        i
    }

    /// Takes the rows in, whatever fields they have.
    ///
    /// # Errors
    /// As [`Columnizer::fill_narrow`].
    pub(crate) fn fill(&mut self, rows: &[Row<'_>]) -> Result<()> {
        self.fill_narrow(rows, usize::MAX).map(drop)
    }

    /// Takes the rows in, unless they have more columns than that: then it stops soon, what it holds means nothing, and the
    /// answer is no.
    ///
    /// # Errors
    /// [`Error::Invalid`] if there are none, or more than [`MAX_ROWS`], or if their order is wrong, or if a field has
    /// more than 4 GiB of text.
    pub(crate) fn fill_narrow(&mut self, rows: &[Row<'_>], most_columns: usize) -> Result<bool> {
        if rows.is_empty() || rows.len() > MAX_ROWS {
            return Err(Error::Invalid(format!("a block of {} rows; 1 to {MAX_ROWS}", rows.len())));
        }
        let key = |r: &Row<'_>| (r.entry.time, r.writer, r.seq);
        if rows.windows(2).any(|w| key(&w[0]) > key(&w[1])) {
            return Err(Error::Invalid("the rows of a block are not in order".into()));
        }
        // Names that came and went must not pile up over the life of an encoder.
        self.by_name.clear();
        self.used = 0;
        self.raw_bytes = 0;
        self.column(names::MESSAGE);
        self.columns[MESSAGE].expected_bytes = rows.iter().map(|row| row.entry.message.len()).sum();
        let level = self.column(names::LEVEL);
        self.take_identities(rows);
        self.streams = streams_of(rows, &mut self.stream_of_row);
        let has_level = self.streams.have_level();
        self.levels.clear();
        match self.streams.order.clone() {
            Order::Rows | Order::Few(_) => {
                for (slot, row) in (0..).zip(rows) {
                    if self.used > most_columns {
                        return Ok(false);
                    }
                    self.take_row(slot, row, level, &has_level);
                }
            }
            Order::Slots(order) => {
                let mut row_of_slot = vec![0u32; rows.len()];
                for (row, &slot) in (0..).zip(&*order) {
                    row_of_slot[slot as usize] = row;
                }
                for (slot, &row) in (0..).zip(&row_of_slot) {
                    if self.used > most_columns {
                        return Ok(false);
                    }
                    self.take_row(slot, &rows[row as usize], level, &has_level);
                }
            }
        }
        if self.used > most_columns {
            return Ok(false);
        }
        self.columns[..self.used].iter_mut().try_for_each(Collected::settle)?;
        Ok(true)
    }

    fn take_identities(&mut self, rows: &[Row<'_>]) {
        self.times.clear();
        self.times.extend(rows.iter().map(|r| r.entry.time));
        self.writers.clear();
        self.writers.extend(rows.iter().map(|r| r.writer as i64));
        self.seqs.clear();
        self.seqs.extend(rows.iter().map(|r| r.seq as i64));
    }

    fn take_row(&mut self, slot: u32, row: &Row<'_>, level: usize, has_level: &[bool]) {
        let entry = &row.entry;
        self.levels.push(entry.level as u8);
        let mut digits = IntText::default();
        let mut ndjson = NDJSON_FRAME_BYTES + entry.message.len();
        if !entry.message.is_empty() {
            self.columns[MESSAGE].push_text(slot, entry.message, ValueKind::String, None);
        }
        let mut before = MESSAGE;
        for (name, value) in entry.fields() {
            let guess = self.columns[before].next;
            let i = if guess < self.used && self.columns[guess].name == name {
                guess
            } else {
                let i = self.column(name);
                self.columns[before].next = i;
                i
            };
            before = i;
            ndjson += NDJSON_FIELD_BYTES + name.len();
            if i == MESSAGE {
                let (text, kind) = text_of(value, &mut digits);
                ndjson += text.len();
                self.columns[MESSAGE].push_text(slot, &text, kind, None);
                continue;
            }
            let (message, column) = self.message_and(i);
            match value {
                Value::Int(n) => {
                    column.push_int(slot, n, message, &mut digits);
                    ndjson += 8;
                }
                Value::Str(s) => {
                    ndjson += s.len();
                    if std::ptr::eq(s, entry.message) && !s.is_empty() {
                        column.push_alias(slot, s, message);
                    } else {
                        column.push_text(slot, s, ValueKind::String, message);
                    }
                }
                other => {
                    let (text, kind) = text_of(other, &mut digits);
                    ndjson += text.len();
                    column.push_text(slot, &text, kind, message);
                }
            }
        }
        let in_stream = has_level.get(self.streams.stream_of(slot)).copied().unwrap_or(false);
        if entry.level != Level::Unknown && !in_stream && self.columns[level].last_slot != Some(slot) {
            let (message, column) = self.message_and(level);
            column.push_text(slot, entry.level.name(), ValueKind::String, message);
        }
        if entry.raw_len == 0 {
            let labels = self.streams.sets.get(self.streams.stream_of(slot));
            ndjson += labels
                .into_iter()
                .flatten()
                .map(|l| l.name.len() + l.value.len() + NDJSON_FIELD_BYTES)
                .sum::<usize>();
            self.raw_bytes += ndjson as u64;
        } else {
            self.raw_bytes += u64::from(entry.raw_len);
        }
    }

    /// The message's column to read, and another, `i`, which is not [`MESSAGE`], to write.
    fn message_and(&mut self, i: usize) -> (Option<&Collected>, &mut Collected) {
        let (message, others) = self.columns.split_at_mut(1);
        (message.first(), &mut others[i - 1])
    }
}

/// The text of a value, and its kind.
pub(crate) fn text_of<'a>(
    value: Value<'a>,
    digits: &'a mut IntText,
) -> (std::borrow::Cow<'a, str>, ValueKind) {
    match value {
        Value::Str(s) => (s.into(), ValueKind::String),
        Value::Int(n) => (digits.format(n).into(), ValueKind::Number),
        Value::Float(x) => {
            let mut text = Vec::new();
            let _infallible = write!(text, "{x}");
            let kind = if x.is_finite() { ValueKind::Number } else { ValueKind::String };
            (String::from_utf8(text).unwrap_or_default().into(), kind)
        }
        Value::Number(s) => (s.into(), ValueKind::Number),
        Value::Bool(b) => (if b { "true" } else { "false" }.into(), ValueKind::Bool),
        Value::Null => ("".into(), ValueKind::Null),
        Value::Json(s) => (s.into(), ValueKind::Json),
    }
}
