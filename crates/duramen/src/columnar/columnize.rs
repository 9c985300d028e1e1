//! Rows to columns, in memory: the first half of encoding a block, and all of showing rows that are still in
//! the WAL as one.
//!
//! Two passes. The first reads times, identities and streams, and settles the *slots*: rows of one stream
//! lie together, in time order (a stable counting sort). The second walks the rows in the order of their
//! slots and hands each field to its column. A row's next field is nearly always the one that followed last
//! time, so a column is found by comparing one name; and a value is nearly always the one of the row before,
//! or one seen before, so a column starts as a dictionary and gives that up when it does not pay.

use super::labels::{Label, LabelSet, StreamTable};
use super::streams::MAX_STREAM_BYTES;
use super::texts::Texts;
use super::{MAX_ROWS, Row};
use crate::block::names;
use crate::column::bit;
use crate::error::{Error, Result};
use crate::value::{Level, Value, ValueKind};
use foldhash::fast::FixedState;
use hashbrown::{HashMap, HashTable};
use std::hash::BuildHasher;
use std::io::Write;
use std::sync::Arc;

/// A dictionary is kept up to this many values whatever they are…
const DICTIONARY_FREE: usize = 256;
/// …and beyond while each value comes this many times on average.
const DICTIONARY_USES: usize = 3;

/// How the values of a column are held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Form {
    /// No value yet.
    #[default]
    Empty,
    /// Every value is the row's message.
    Alias,
    /// All were integers: in `ints`.
    Ints,
    /// Distinct texts in `texts`, and `codes`.
    Dictionary,
    /// All texts in `texts`.
    Texts,
}

/// The values of one field, of the rows that have it, in the order of slots.
#[derive(Debug, Default)]
pub(crate) struct Collected {
    pub(crate) name: String,
    pub(crate) form: Form,
    /// How many rows have it.
    pub(crate) count: usize,
    pub(crate) ints: Vec<i64>,
    pub(crate) texts: Texts,
    pub(crate) codes: Vec<u32>,
    /// The kind of all values, unless `kinds` has one for each.
    pub(crate) kind: u8,
    pub(crate) kinds: Vec<u8>,
    /// Which slots have it; empty while those are the first `count`.
    pub(crate) present: Vec<u64>,
    index: HashTable<u32>,
    last_slot: Option<u32>,
    /// The column of the field that followed last time.
    next: usize,
}

impl Collected {
    fn reset(&mut self, name: &str) {
        self.name.clear();
        self.name.push_str(name);
        self.form = Form::Empty;
        self.count = 0;
        self.ints.clear();
        self.texts.clear();
        self.codes.clear();
        self.kind = 0;
        self.kinds.clear();
        self.present.clear();
        self.index.clear();
        self.last_slot = None;
        self.next = usize::MAX;
    }

    /// Whether every slot of `rows` has it.
    pub(crate) fn is_dense(&self, rows: usize) -> bool {
        self.count == rows
    }

    /// Notes that `slot` has a value of this kind, replacing the one it has.
    fn mark(&mut self, slot: u32, kind: ValueKind) {
        if self.last_slot == Some(slot) {
            self.pop();
        }
        self.last_slot = Some(slot);
        let at = slot as usize;
        if at != self.count && self.present.is_empty() {
            let words = self.count / 64;
            self.present.resize(words, u64::MAX);
            self.present.push((1u64 << (self.count % 64)) - 1);
        }
        if !self.present.is_empty() {
            if self.present.len() <= at / 64 {
                self.present.resize(at / 64 + 1, 0);
            }
            self.present[at / 64] |= 1 << (at % 64);
        }
        let kind = kind as u8;
        if self.count == 0 {
            self.kind = kind;
        } else if kind != self.kind && self.kinds.is_empty() {
            self.kinds.resize(self.count, self.kind);
        }
        if !self.kinds.is_empty() {
            self.kinds.push(kind);
        }
        self.count += 1;
    }

    fn pop(&mut self) {
        self.count -= 1;
        self.kinds.pop();
        match self.form {
            Form::Empty | Form::Alias => {}
            Form::Ints => drop(self.ints.pop()),
            Form::Dictionary => drop(self.codes.pop()),
            Form::Texts => self.texts.pop(),
        }
    }

    fn push_int(&mut self, slot: u32, n: i64, message: Option<&Self>, digits: &mut crate::column::IntText) {
        if matches!(self.form, Form::Ints | Form::Empty) {
            self.form = Form::Ints;
            self.mark(slot, ValueKind::Number);
            self.ints.push(n);
        } else {
            self.push_text(slot, digits.format(n), ValueKind::Number, message);
        }
    }

    fn push_alias(&mut self, slot: u32, text: &str, message: Option<&Self>) {
        if matches!(self.form, Form::Alias | Form::Empty) {
            self.form = Form::Alias;
            self.mark(slot, ValueKind::String);
        } else {
            self.push_text(slot, text, ValueKind::String, message);
        }
    }

    fn push_text(&mut self, slot: u32, text: &str, kind: ValueKind, message: Option<&Self>) {
        match self.form {
            Form::Empty => self.form = Form::Dictionary,
            Form::Ints | Form::Alias => self.make_texts(message),
            Form::Dictionary | Form::Texts => {}
        }
        self.mark(slot, kind);
        if self.form == Form::Texts {
            self.texts.push(text.as_bytes());
            return;
        }
        if let Some(&last) = self.codes.last()
            && self.texts.get(last as usize) == text.as_bytes()
        {
            self.codes.push(last);
            return;
        }
        let Self { index, texts, .. } = self;
        let hash = FixedState::default().hash_one(text.as_bytes());
        if let Some(&code) = index.find(hash, |&code| texts.get(code as usize) == text.as_bytes()) {
            self.codes.push(code);
            return;
        }
        let size = texts.len();
        if size >= DICTIONARY_FREE && size * DICTIONARY_USES > self.count {
            self.spread();
            self.texts.push(text.as_bytes());
            return;
        }
        texts.push(text.as_bytes());
        index.insert_unique(hash, size as u32, |&code| {
            FixedState::default().hash_one(texts.get(code as usize))
        });
        self.codes.push(size as u32);
    }

    /// Gives the dictionary up.
    fn spread(&mut self) {
        let mut spread = Texts::default();
        for &code in &self.codes {
            spread.push(self.texts.get(code as usize));
        }
        self.texts = spread;
        self.codes.clear();
        self.form = Form::Texts;
    }

    /// Turns integers or references to the message into texts, because a value came that is neither.
    fn make_texts(&mut self, message: Option<&Self>) {
        let mut digits = crate::column::IntText::default();
        if self.form == Form::Ints {
            for &n in &self.ints {
                self.texts.push(digits.format(n).as_bytes());
            }
            self.ints.clear();
        } else if let Some(message) = message {
            let mut mine = 0;
            let mut theirs = 0;
            let mut slot = 0;
            while mine < self.count {
                let has = |c: &Self| c.present.is_empty() || bit(&c.present, slot);
                if has(self) {
                    self.texts.push(message.text(theirs, &mut digits));
                    mine += 1;
                }
                theirs += usize::from(has(message));
                slot += 1;
            }
        }
        self.form = Form::Texts;
    }

    /// The text of the `i`th value that there is. An alias has none of its own.
    pub(crate) fn text<'a>(&'a self, i: usize, digits: &'a mut crate::column::IntText) -> &'a [u8] {
        match self.form {
            Form::Ints => digits.format(self.ints[i]).as_bytes(),
            Form::Dictionary => self.texts.get(self.codes[i] as usize),
            Form::Texts => self.texts.get(i),
            Form::Empty | Form::Alias => b"",
        }
    }
}

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
    plain_bytes: usize,
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

    /// Takes the rows in.
    ///
    /// # Errors
    /// [`Error::Invalid`] if there are none, or more than [`MAX_ROWS`], or if their order is wrong.
    pub(crate) fn fill(&mut self, rows: &[Row<'_>]) -> Result<()> {
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
        self.plain_bytes = 0;
        self.column(names::MESSAGE);
        let level = self.column(names::LEVEL);
        self.take_identities(rows);
        self.take_streams(rows);
        let has_level: Vec<bool> = self
            .streams
            .sets
            .iter()
            .map(|set| set.iter().any(|label| &*label.name == names::LEVEL))
            .collect();
        self.levels.clear();
        match self.streams.order.clone() {
            None => {
                for (slot, row) in (0..).zip(rows) {
                    self.take_row(slot, row, level, &has_level);
                }
            }
            Some(order) => {
                let mut row_of_slot = vec![0u32; rows.len()];
                for (row, &slot) in (0..).zip(&*order) {
                    row_of_slot[slot as usize] = row;
                }
                for (slot, &row) in (0..).zip(&row_of_slot) {
                    self.take_row(slot, &rows[row as usize], level, &has_level);
                }
            }
        }
        for column in &mut self.columns[..self.used] {
            // In a small block a dictionary may never have had to give up, and not pay all the same.
            let size = column.texts.len();
            if column.form == Form::Dictionary && size > 8 && size * 2 > column.count {
                column.spread();
            }
        }
        if self.plain_bytes > MAX_STREAM_BYTES {
            return Err(Error::Invalid(format!(
                "a block of {} bytes of text; at most {MAX_STREAM_BYTES}",
                self.plain_bytes
            )));
        }
        Ok(())
    }

    fn take_identities(&mut self, rows: &[Row<'_>]) {
        self.times.clear();
        self.times.extend(rows.iter().map(|r| r.entry.time));
        self.writers.clear();
        self.writers.extend(rows.iter().map(|r| r.writer as i64));
        self.seqs.clear();
        self.seqs.extend(rows.iter().map(|r| r.seq as i64));
    }

    fn take_streams(&mut self, rows: &[Row<'_>]) {
        let mut sets: Vec<LabelSet> = Vec::new();
        let mut index: HashMap<LabelSet, u32, FixedState> = HashMap::default();
        let mut by_bytes: HashMap<&[u8], u32, FixedState> = HashMap::default();
        let mut last: Option<(&[u8], u32)> = None;
        self.stream_of_row.clear();
        for row in rows {
            let bytes = row.entry.stream_bytes();
            // A value that refers to the message makes equal bytes differ in meaning.
            let refers = bytes.contains(&UNDEFINED);
            let code = match last {
                Some((b, code)) if b == bytes && !refers => code,
                _ => match by_bytes.get(bytes) {
                    Some(&code) if !refers => code,
                    _ => {
                        let set = label_set(row);
                        let code = *index.entry(set).or_insert_with_key(|set| {
                            sets.push(set.clone());
                            sets.len() as u32 - 1
                        });
                        by_bytes.insert(bytes, code);
                        code
                    }
                },
            };
            last = Some((bytes, code));
            self.stream_of_row.push(code);
        }
        let mut counts = vec![0u32; sets.len()];
        for &code in &self.stream_of_row {
            counts[code as usize] += 1;
        }
        let (order, slot_ends) = slots(&self.stream_of_row, &counts);
        self.streams = StreamTable { sets, slot_ends, order, rows: rows.len() };
    }

    fn take_row(&mut self, slot: u32, row: &Row<'_>, level: usize, has_level: &[bool]) {
        let entry = &row.entry;
        self.levels.push(entry.level as u8);
        let mut digits = crate::column::IntText::default();
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
        self.plain_bytes += ndjson;
        let in_stream = has_level.get(self.stream_of(slot)).copied().unwrap_or(false);
        if entry.level != Level::Unknown && !in_stream && self.columns[level].last_slot != Some(slot) {
            let (message, column) = self.message_and(level);
            column.push_text(slot, entry.level.name(), ValueKind::String, message);
        }
        if entry.raw_len == 0 {
            let labels = self.streams.sets.get(self.stream_of(slot));
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

    /// The stream that a slot belongs to.
    fn stream_of(&self, slot: u32) -> usize {
        self.streams.slot_ends.partition_point(|&end| end <= slot)
    }

    /// The message's column to read, and another, `i`, which is not [`MESSAGE`], to write.
    fn message_and(&mut self, i: usize) -> (Option<&Collected>, &mut Collected) {
        let (message, others) = self.columns.split_at_mut(1);
        (message.first(), &mut others[i - 1])
    }
}

/// The first byte of CBOR's `undefined`.
const UNDEFINED: u8 = 0xf7;

/// The slot of each row, `None` if that is the row's number, and where each stream's slots end.
pub(crate) fn slots(stream_of_row: &[u32], counts: &[u32]) -> (Option<Arc<Vec<u32>>>, Vec<u32>) {
    let mut ends = Vec::with_capacity(counts.len());
    let mut next = Vec::with_capacity(counts.len());
    let mut total = 0;
    for &count in counts {
        next.push(total);
        total += count;
        ends.push(total);
    }
    if counts.len() <= 1 {
        return (None, ends);
    }
    let order = stream_of_row
        .iter()
        .map(|&code| {
            let slot = next[code as usize];
            next[code as usize] += 1;
            slot
        })
        .collect();
    (Some(Arc::new(order)), ends)
}

fn label_set(row: &Row<'_>) -> LabelSet {
    let mut set: LabelSet = Vec::new();
    let mut digits = crate::column::IntText::default();
    for (name, value) in row.entry.stream() {
        let (text, kind) = text_of(value, &mut digits);
        let label = Label { name: name.into(), value: (&*text).into(), kind: kind as u8 };
        match set.binary_search_by(|l| (*l.name).cmp(name)) {
            Ok(at) => set[at] = label,
            Err(at) => set.insert(at, label),
        }
    }
    set
}

/// The text of a value, and its kind.
pub(crate) fn text_of<'a>(
    value: Value<'a>,
    digits: &'a mut crate::column::IntText,
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
