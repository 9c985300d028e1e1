//! One column to bytes, as what it turns out to be.

use super::super::columnize::{Collected, Columnizer, Form as Held};
use super::super::directory::Form;
use super::super::ints;
use super::super::leaf::{self, Spans, spans_of};
use super::super::streams::MAX_STREAM_BYTES;
use super::super::template::Hit;
use super::super::texts::integer_in;
use super::{BlockEncoder, Progress, full_map, too_large};
use crate::column::{Order, bit};
use crate::error::Result;

/// Constants up to this size are kept in the directory.
const MAX_CONSTANT_BYTES: usize = 1024;

impl BlockEncoder {
    /// Encodes column `i`. `numbers` says which number each column will have in the block.
    pub(super) fn encode_column(
        &mut self,
        c: &Columnizer,
        i: usize,
        numbers: &[u32],
        progress: &mut Progress<'_>,
    ) -> Result<Form> {
        let column = &c.columns()[i];
        let decoded = column.text_bytes();
        if decoded > MAX_STREAM_BYTES {
            return Err(too_large(&format!("the field {:?}", column.name), decoded));
        }
        self.scratch.clear();
        self.scratch.values = column.count;
        if !column.is_dense(c.times.len()) {
            self.scratch.slots = full_map(column, c.times.len());
        }
        self.scratch.bytes.extend_from_slice(&column.kinds);
        match column.form {
            Held::Alias => return Ok(Form::Alias),
            Held::Ints => {
                return self.encode_integers(&column.ints, progress);
            }
            _ => {}
        }
        let spans = spans_of(&column.texts);
        let values = Spans { bytes: &column.texts.bytes, spans: &spans };
        let has_empty = values.iter().any(<[u8]>::is_empty);
        if column.form == Held::Dictionary {
            if column.codes.iter().all(|&c| c == column.codes[0]) {
                let text = column.texts.get(column.codes[0] as usize);
                if column.kinds.is_empty() && text.len() <= MAX_CONSTANT_BYTES {
                    self.words.add(text);
                    return Ok(Form::Constant(String::from_utf8_lossy(text).into()));
                }
            }
            if let Some(ints) = plain_integers(values) {
                let ints: Vec<i64> = column.codes.iter().map(|&c| ints[c as usize]).collect();
                return self.encode_integers(&ints, progress);
            }
            let mut codes: Vec<i64> = column.codes.iter().map(|&c| i64::from(c)).collect();
            leaf::write_dictionary(values, &mut codes, &mut self.scratch, &mut self.words);
            let at = self.place(progress)?;
            return Ok(Form::Texts { at, in_grams: false, has_empty, pages: Vec::new() });
        }
        if let Some(ints) = plain_integers(values) {
            return self.encode_integers(&ints, progress);
        }
        let in_grams = self.encode_texts(c, i, numbers, values);
        if !self.has_pages()? {
            return Ok(Form::Texts { at: self.place(progress)?, in_grams, has_empty, pages: Vec::new() });
        }
        let text = std::mem::take(&mut self.scratch.text);
        let symbols = self.take_symbols(&text, values)?;
        let at = self.place(progress)?;
        let pages = self.place_pages(&text, values, symbols.as_ref(), progress)?;
        Ok(Form::Texts { at, in_grams, has_empty, pages })
    }

    fn encode_integers(&mut self, values: &[i64], progress: &mut Progress<'_>) -> Result<Form> {
        let min = values.iter().copied().min().unwrap_or(0);
        let max = values.iter().copied().max().unwrap_or(0);
        ints::encode(values, &mut self.scratch);
        Ok(Form::Integers { min, max, at: self.place(progress)? })
    }

    /// Encodes the texts of column `i`, as templates if they have any. Says whether it added their grams: those of
    /// texts that are dear to decode.
    fn encode_texts(&mut self, c: &Columnizer, i: usize, numbers: &[u32], values: Spans<'_>) -> bool {
        if leaf::encode_numbers(values, &mut self.scratch, &mut self.words) {
            return false;
        }
        let column = &c.columns()[i];
        let near = times_of(c, column);
        let references = &self.references;
        let sources = &references.sources[i];
        let slots = if sources.is_empty() { Vec::new() } else { references.slots_of(column) };
        let mut gaps = vec![usize::MAX; sources.len()];
        let hits = |text: usize, hits: &mut Vec<Hit>| {
            if !sources.is_empty() {
                let base = values.spans[text].0 as usize;
                let number = |i: usize| numbers[i];
                references.search(
                    c.columns(),
                    sources,
                    slots[text] as usize,
                    values.get(text),
                    base,
                    number,
                    &mut gaps,
                    hits,
                );
            }
        };
        if self.templates.encode(values, &near, hits, &mut self.scratch, &mut self.words) {
            references.add_words(c.columns(), i, &mut self.words);
        } else {
            let at = self.scratch.meta.len();
            leaf::encode(values, &mut self.scratch, &mut self.words);
            if self.scratch.meta.get(at) != Some(&leaf::PLAIN) {
                return false;
            }
        }
        let mut last: &[u8] = &[];
        for text in values.iter() {
            self.grams.add_changed(last, text);
            last = text;
        }
        true
    }
}

/// The integers that all these texts plainly are.
fn plain_integers(values: Spans<'_>) -> Option<Vec<i64>> {
    values.iter().map(integer_in).collect()
}

/// The time of the row of each value.
fn times_of(c: &Columnizer, column: &Collected) -> Vec<i64> {
    let mut by_slot;
    let times = match &c.streams.order {
        Order::Rows | Order::Few(_) => &c.times,
        Order::Slots(order) => {
            by_slot = vec![0; c.times.len()];
            order.iter().zip(&c.times).for_each(|(&slot, &time)| by_slot[slot as usize] = time);
            &by_slot
        }
    };
    if column.present.is_empty() {
        return times[..column.count].to_vec();
    }
    let has = |slot: &usize| bit(&column.present, *slot);
    (0..times.len()).filter(has).map(|slot| times[slot]).collect()
}
