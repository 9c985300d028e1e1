//! The values of one field as rows come in: a dictionary, integers, or references to the message as long as
//! that does, texts otherwise.

use super::super::texts::Texts;
use crate::column::{IntText, bit};
use crate::error::{Error, Result};
use crate::value::ValueKind;
use foldhash::fast::FixedState;
use hashbrown::HashTable;
use std::hash::BuildHasher;

/// A dictionary is kept up to this many values, and so many bytes of all of them, whatever they are…
const DICTIONARY_FREE: usize = 256;
const DICTIONARY_FREE_BYTES: usize = 32 << 10;
/// …and beyond while each value comes this many times on average.
const DICTIONARY_USES: usize = 3;

fn hash(text: &str) -> u32 {
    FixedState::default().hash_one(text.as_bytes()) as u32
}

/// The hash as a hash table wants it, which looks at the highest bits, too.
fn in_table(hash: u32) -> u64 {
    u64::from(hash) * 0x1_0000_0001
}

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
    /// The values of the dictionary, with part of the hash of each: growing it looks at none of them.
    index: HashTable<(u32, u32)>,
    pub(super) last_slot: Option<u32>,
    /// How many bytes of texts will come, if that is known.
    pub(super) expected_bytes: usize,
    /// The column of the field that followed last time.
    pub(super) next: usize,
}

impl Collected {
    pub(super) fn reset(&mut self, name: &str) {
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
        self.expected_bytes = 0;
        self.next = usize::MAX;
    }

    /// Whether a slot has it.
    pub(crate) fn has(&self, slot: usize) -> bool {
        if self.present.is_empty() { slot < self.count } else { bit(&self.present, slot) }
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

    pub(super) fn push_int(&mut self, slot: u32, n: i64, message: Option<&Self>, digits: &mut IntText) {
        if matches!(self.form, Form::Ints | Form::Empty) {
            self.form = Form::Ints;
            self.mark(slot, ValueKind::Number);
            self.ints.push(n);
        } else {
            self.push_text(slot, digits.format(n), ValueKind::Number, message);
        }
    }

    pub(super) fn push_alias(&mut self, slot: u32, text: &str, message: Option<&Self>) {
        if matches!(self.form, Form::Alias | Form::Empty) {
            self.form = Form::Alias;
            self.mark(slot, ValueKind::String);
        } else {
            self.push_text(slot, text, ValueKind::String, message);
        }
    }

    pub(super) fn push_text(&mut self, slot: u32, text: &str, kind: ValueKind, message: Option<&Self>) {
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
        let hash = hash(text);
        let is_it =
            |&(known, code): &(u32, u32)| known == hash && texts.get(code as usize) == text.as_bytes();
        if let Some(&(_, code)) = index.find(in_table(hash), is_it) {
            self.codes.push(code);
            return;
        }
        let size = texts.len();
        let is_large = size >= DICTIONARY_FREE || texts.bytes.len() >= DICTIONARY_FREE_BYTES;
        if is_large && size * DICTIONARY_USES > self.count {
            self.spread();
            self.texts.push(text.as_bytes());
            return;
        }
        texts.push(text.as_bytes());
        index.insert_unique(in_table(hash), (hash, size as u32), |&(known, _)| in_table(known));
        self.codes.push(size as u32);
    }

    /// To be called when all values are there.
    ///
    /// # Errors
    /// [`Error::Invalid`] if they have more than 4 GiB of text.
    pub(super) fn settle(&mut self) -> Result<()> {
        // In a small block a dictionary may never have had to give up, and not pay all the same.
        let size = self.texts.len();
        if self.form == Form::Dictionary && size > 8 && size * 2 > self.count {
            self.spread();
        }
        // Where a text ends is kept in 32 bits.
        if u32::try_from(self.texts.bytes.len()).is_err() {
            return Err(Error::Invalid(format!("over 4 GiB of text in the field {:?}", self.name)));
        }
        Ok(())
    }

    /// Gives the dictionary up.
    fn spread(&mut self) {
        let mut spread = Texts::default();
        spread.bytes.reserve(self.expected_bytes);
        for &code in &self.codes {
            spread.push(self.texts.get(code as usize));
        }
        self.texts = spread;
        self.codes.clear();
        self.form = Form::Texts;
    }

    /// Turns integers or references to the message into texts, because a value came that is neither.
    fn make_texts(&mut self, message: Option<&Self>) {
        let mut digits = IntText::default();
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

    /// How many bytes all its texts have, one a value.
    pub(crate) fn text_bytes(&self) -> usize {
        match self.form {
            Form::Dictionary => self.codes.iter().map(|&code| self.texts.get(code as usize).len()).sum(),
            _ => self.texts.bytes.len(),
        }
    }

    /// The text of the `i`th value that there is. An alias has none of its own.
    pub(crate) fn text<'a>(&'a self, i: usize, digits: &'a mut IntText) -> &'a [u8] {
        match self.form {
            Form::Ints => digits.format(self.ints[i]).as_bytes(),
            Form::Dictionary => self.texts.get(self.codes[i] as usize),
            Form::Texts => self.texts.get(i),
            Form::Empty | Form::Alias => b"",
        }
    }
}
