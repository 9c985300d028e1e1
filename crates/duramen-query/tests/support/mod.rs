//! Blocks in memory, in every encoding a column can have.
#![allow(dead_code)]

pub mod lines;
pub mod naive;
pub mod query;

use duramen::block::{Block, BlockHandle, Looks};
use duramen::column::{Codes, Column, ColumnData, Ints, Kinds, Scale};
use duramen::{Result, ValueKind, entry::plain_integer, token};
use duramen_query::{Cancel, Error, ParseOptions, Query, ResultRow, RunOptions, RunStats, Text};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// A row: its time and its fields, `_msg` and `_stream` among them.
#[derive(Clone, Debug)]
pub struct Row {
    pub time: i64,
    pub fields: BTreeMap<String, (String, ValueKind)>,
}

impl Row {
    pub fn new(time: i64, fields: &[(&str, &str)]) -> Self {
        let fields = fields.iter().map(|(n, v)| (n.to_string(), (v.to_string(), ValueKind::String)));
        Self { time, fields: fields.collect() }
    }
}

#[derive(Debug)]
pub struct TestBlock {
    rows: Vec<Row>,
    seed: u64,
    pub opened: AtomicUsize,
    pub columns_read: Arc<AtomicUsize>,
    /// Reading any column fails.
    pub damaged: bool,
    /// Reading any other column fails.
    pub damaged_but_for: Option<&'static str>,
    /// How often it was said that it will be opened.
    pub announced: AtomicUsize,
    /// Which fields were said to be read soon: of `_msg`, `n` and `_time`.
    pub asked: Arc<Mutex<BTreeSet<&'static str>>>,
    /// As a block that is on a disk.
    pub is_worth_opening_ahead: bool,
}

impl TestBlock {
    /// Rows are put in order of time; `seed` chooses how columns are encoded.
    pub fn new(mut rows: Vec<Row>, seed: u64) -> Self {
        rows.sort_by_key(|r| r.time);
        Self {
            rows,
            seed,
            opened: 0.into(),
            columns_read: Arc::default(),
            damaged: false,
            damaged_but_for: None,
            announced: 0.into(),
            asked: Arc::default(),
            is_worth_opening_ahead: false,
        }
    }

    /// The same with its rows the other way round.
    fn backwards(&self) -> Self {
        let (columns_read, asked, damaged) = (self.columns_read.clone(), self.asked.clone(), self.damaged);
        let mut backwards = Self { columns_read, asked, damaged, ..Self::new(self.rows.clone(), self.seed) };
        backwards.damaged_but_for = self.damaged_but_for;
        backwards.rows = self.rows.iter().rev().cloned().collect();
        backwards
    }

    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    fn present<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.rows.iter().filter_map(move |r| r.fields.get(name).map(|v| &*v.0))
    }
}

/// What a handle says of the [`TestBlock`] that it has in this field, before it is opened.
macro_rules! rows_and_times {
    ($block:tt) => {
        fn rows(&self) -> usize {
            self.$block.rows().len()
        }
        fn min_time(&self) -> i64 {
            self.$block.rows()[0].time
        }
        fn max_time(&self) -> i64 {
            self.$block.rows()[self.$block.rows().len() - 1].time
        }
    };
}
#[allow(unused_imports)] // of some tests
pub(crate) use rows_and_times;

#[derive(Debug)]
pub struct Handle(pub Arc<TestBlock>);

impl BlockHandle for Handle {
    rows_and_times!(0);
    fn open(&self) -> Result<Arc<dyn Block>> {
        self.0.opened.fetch_add(1, Ordering::Relaxed);
        Ok(self.0.clone())
    }
    fn open_unordered(&self) -> Result<Arc<dyn Block>> {
        self.0.opened.fetch_add(1, Ordering::Relaxed);
        Ok(Arc::new(self.0.backwards()))
    }
    fn will_open(&self, _: Looks) {
        self.0.announced.fetch_add(1, Ordering::Relaxed);
    }
    fn is_worth_opening_ahead(&self) -> bool {
        self.0.is_worth_opening_ahead
    }
}

fn bits(present: &[bool]) -> Option<Vec<u64>> {
    if present.iter().all(|p| *p) {
        return None;
    }
    let mut words = vec![0u64; present.len().div_ceil(64)];
    present.iter().enumerate().filter(|(_, p)| **p).for_each(|(i, _)| words[i / 64] |= 1 << (i % 64));
    Some(words)
}

impl Block for TestBlock {
    fn rows(&self) -> usize {
        self.rows.len()
    }

    fn times(&self) -> Result<Arc<Vec<i64>>> {
        Ok(Arc::new(self.rows.iter().map(|r| r.time).collect()))
    }

    fn field_names(&self) -> Result<Vec<String>> {
        let names: BTreeSet<&String> = self.rows.iter().flat_map(|r| r.fields.keys()).collect();
        Ok(names.into_iter().filter(|n| *n != "_stream").cloned().collect())
    }

    fn column(&self, name: &str) -> Result<Option<Arc<Column>>> {
        if self.damaged || self.damaged_but_for.is_some_and(|whole| name != whole) {
            return Err(duramen::Error::decode("a test block", "damaged"));
        }
        self.columns_read.fetch_add(1, Ordering::Relaxed);
        if self.present(name).next().is_none() {
            return Ok(None);
        }
        let rows = self.rows.len();
        let seed = name.bytes().fold(self.seed, |s, b| s.wrapping_mul(31).wrapping_add(b.into()));
        // A permutation: turned by some, and perhaps backwards.
        let order: Option<Vec<u32>> = (seed % 3 > 0).then(|| {
            let turned = (0..rows).map(|r| ((r + seed as usize % 7) % rows) as u32);
            if seed % 3 == 1 { turned.collect() } else { turned.rev().collect() }
        });
        let mut in_slots: Vec<Option<&(String, ValueKind)>> = vec![None; rows];
        for (r, row) in self.rows.iter().enumerate() {
            in_slots[order.as_ref().map_or(r, |o| o[r] as usize)] = row.fields.get(name);
        }
        let texts: Vec<Option<&str>> = in_slots.iter().map(|v| v.map(|v| &*v.0)).collect();
        let present: Vec<bool> = texts.iter().map(Option::is_some).collect();
        let all_same = texts.iter().all(|t| *t == texts[0]);
        let all_int = texts.iter().flatten().all(|t| plain_integer(t).is_some());
        let data = if all_same && seed % 5 > 0 {
            ColumnData::Const(texts[0].unwrap().into())
        } else if all_int && seed % 4 > 0 {
            let values = texts.iter().map(|t| t.and_then(plain_integer).unwrap_or(0)).collect();
            ColumnData::Int { values: Ints::new(values), present: bits(&present) }
        } else if seed % 4 > 0
            && let Some((scale, numbers)) = Scale::of_texts(texts.iter().flatten().map(|t| t.as_bytes()))
        {
            let mut numbers = numbers.into_iter();
            let values = texts.iter().map(|t| t.and_then(|_| numbers.next()).unwrap_or(0)).collect();
            ColumnData::Decimal { values: Ints::new(values), scale, present: bits(&present) }
        } else if seed % 2 == 0 {
            let values: Vec<&str> =
                texts.iter().flatten().copied().collect::<BTreeSet<_>>().into_iter().collect();
            let code = |t: &Option<&str>| {
                t.map_or(ColumnData::ABSENT, |t| values.iter().position(|v| *v == t).unwrap() as u32)
            };
            let codes = Codes::new(values.len(), texts.iter().map(code));
            ColumnData::Dict { values: values.iter().collect(), codes }
        } else {
            let (mut all, mut ends) = (String::new(), Vec::new());
            for text in &texts {
                all.push_str(text.unwrap_or(""));
                ends.push(all.len() as u32);
            }
            ColumnData::Text { text: all, ends, present: bits(&present) }
        };
        let kinds = in_slots.iter().map(|v| v.map_or(0, |v| v.1 as u8)).collect();
        Ok(Some(Arc::new(Column {
            data,
            kinds: Kinds::PerSlot(kinds),
            order: order.map(Arc::new).into(),
            rows,
        })))
    }

    fn may_contain_words(&self, name: &str, words: &[u64]) -> Result<bool> {
        Ok(self.present(name).any(|text| {
            let has: BTreeSet<u64> = token::words(text).map(token::hash).collect();
            words.iter().all(|w| has.contains(w))
        }))
    }

    fn int_range(&self, name: &str) -> Result<Option<(i64, i64)>> {
        let Some(ints) = self.present(name).map(plain_integer).collect::<Option<Vec<i64>>>() else {
            return Ok(None);
        };
        Ok(ints.iter().min().copied().zip(ints.iter().max().copied()))
    }

    fn will_read(&self, wants: &dyn Fn(&str) -> bool) {
        self.asked.lock().unwrap().extend(["_msg", "n", "_time"].into_iter().filter(|name| wants(name)));
    }

    fn identity(&self, row: usize) -> Result<(u64, u64)> {
        // Wherever a row lies, it is the same.
        let row = &self.rows[row];
        Ok((row.time as u64, xxhash_rust::xxh3::xxh3_64(format!("{row:?}").as_bytes())))
    }
}

/// Names and texts of a row of an answer.
pub type Answer = Vec<Vec<(String, String)>>;

pub fn handles(blocks: &[Arc<TestBlock>]) -> Vec<Arc<dyn BlockHandle>> {
    blocks.iter().map(|b| Arc::new(Handle(b.clone())) as Arc<dyn BlockHandle>).collect()
}

pub fn run(text: &str, blocks: &[Arc<TestBlock>], options: &RunOptions) -> Result<(Answer, RunStats), Error> {
    let query = Query::parse(text, &ParseOptions::default()).unwrap_or_else(|e| panic!("{text}\n{e}"));
    let mut rows = Vec::new();
    let stats = query.run(handles(blocks), options, &Cancel::new(), &mut |row| {
        rows.push(row.iter().map(|(n, t, _)| (n.to_string(), t.to_string())).collect());
        ControlFlow::Continue(())
    })?;
    Ok((rows, stats))
}

/// Rows as [`written`] writes them.
pub fn text_of(rows: &Answer) -> String {
    rows.iter().map(|row| format!("{row:?}\n")).collect()
}

/// The same as [`run`], as a text that is taken now and then.
pub fn written(text: &str, blocks: &[Arc<TestBlock>], options: &RunOptions) -> Result<String, Error> {
    let query = Query::parse(text, &ParseOptions::default()).unwrap_or_else(|e| panic!("{text}\n{e}"));
    let write = |row: &ResultRow, out: &mut Vec<u8>| {
        let cells: Vec<_> = row.iter().map(|(n, t, _)| (n.to_string(), t.to_string())).collect();
        out.extend_from_slice(format!("{cells:?}\n").as_bytes());
    };
    let (mut whole, mut rest, mut rows) = (Vec::new(), Vec::new(), 0);
    let take = Box::new(|text: &mut Vec<u8>, more: usize| {
        rows += more;
        if rows % 3 == 0 {
            whole.append(text);
        }
        ControlFlow::Continue(())
    });
    query.write(handles(blocks), options, &Cancel::new(), Text { write: &write, text: &mut rest, take })?;
    whole.append(&mut rest);
    let whole = String::from_utf8(whole).unwrap();
    assert_eq!(whole.lines().count(), rows);
    Ok(whole)
}

/// `blocks` blocks, one after another in time, of `rows` rows each.
pub fn store(blocks: i64, rows: i64) -> Vec<Arc<TestBlock>> {
    let row = |b: i64, r: i64| {
        let n = (b * rows + r).to_string();
        Row::new((b * rows + r) * 1_000_000_000, &[("_msg", &format!("line {n} of block{b}")), ("n", &n)])
    };
    let block = |b| Arc::new(TestBlock::new((0..rows).map(|r| row(b, r)).collect(), b as u64));
    (0..blocks).map(block).collect()
}
