//! Putting texts together again.

use super::super::bytes::bad;
use super::super::leaf::Leaf;
use super::super::texts::Texts;
use super::super::timetext::{self, TimeForm};
use super::find::TextsOf;
use super::parts::{Parts, Place};
use crate::column::{Column, IntText, bit};
use crate::error::Result;
use std::sync::Arc;

/// What decoding needs to know of the rest of the block.
pub(crate) struct Context<'a> {
    /// The time of each text's row.
    pub(crate) near: &'a dyn Fn() -> Result<Vec<i64>>,
    /// The slot of each text.
    pub(crate) slots: &'a dyn Fn() -> Vec<u32>,
    /// Another column.
    pub(crate) column: &'a dyn Fn(usize) -> Result<Arc<Column>>,
}

enum Source<'p> {
    Literal(&'p str),
    Leaf(Leaf),
    Times(TimeForm, Vec<i64>),
    Column(Arc<Column>),
}

impl Parts<'_> {
    /// Puts the texts together: all of them, or those whose bit in `wanted` is set, and the others are empty.
    pub(crate) fn texts(&self, wanted: Option<&[u64]>, context: &Context<'_>) -> Result<Texts> {
        let is_wanted = |i: usize| wanted.is_none_or(|wanted| bit(wanted, i));
        let mut uses = vec![false; self.templates.len()];
        let mut uses_whole = false;
        for (i, &n) in self.numbers.iter().enumerate() {
            if is_wanted(i) {
                match n {
                    0 => uses_whole = true,
                    n => uses[n as usize - 1] = true,
                }
            }
        }
        let mut budget = self.budget;
        let whole = if uses_whole { Some(self.whole.decode(&mut budget)?) } else { None };
        let mut near: Option<(Vec<i64>, TextsOf)> = None;
        let mut templates: Vec<Vec<Source<'_>>> = Vec::with_capacity(self.templates.len());
        let mut refers = false;
        for (t, places) in self.templates.iter().enumerate() {
            let mut sources = Vec::new();
            for place in places.iter().filter(|_| uses[t]) {
                sources.push(match place {
                    Place::Literal(text) => Source::Literal(text),
                    Place::Variable(lazy) => Source::Leaf(lazy.decode(&mut budget)?),
                    Place::Reference(column) => {
                        refers = true;
                        Source::Column((context.column)(*column)?)
                    }
                    Place::Time(lazy) => {
                        let mut times = lazy.decode(&mut budget)?;
                        if lazy.relative {
                            let (near, texts_of) = match &mut near {
                                Some(known) => known,
                                None => near.insert(((context.near)()?, self.texts_of())),
                            };
                            for (time, &i) in times.iter_mut().zip(texts_of.get(t)) {
                                *time = time.wrapping_add(near.get(i as usize).copied().unwrap_or(0));
                            }
                        }
                        Source::Times(lazy.form, times)
                    }
                });
            }
            templates.push(sources);
        }
        let slots = if refers { (context.slots)() } else { Vec::new() };
        let mut next = vec![0usize; self.templates.len()];
        let mut next_whole = 0;
        let mut digits = IntText::default();
        let mut out = Texts::default();
        out.ends.reserve(self.numbers.len());
        for (i, &n) in self.numbers.iter().enumerate() {
            let of_template = match n {
                0 => &mut next_whole,
                n => &mut next[n as usize - 1],
            };
            let number = *of_template;
            *of_template += 1;
            if !is_wanted(i) {
                out.push(b"");
                continue;
            }
            if n == 0 {
                out.push(whole.as_ref().map_or(b"", |whole| whole.get(number, &mut digits)));
                out.check()?;
                continue;
            }
            for source in &templates[n as usize - 1] {
                match source {
                    Source::Literal(text) => out.bytes.extend_from_slice(text.as_bytes()),
                    Source::Leaf(leaf) => out.bytes.extend_from_slice(leaf.get(number, &mut digits)),
                    Source::Times(form, times) => timetext::write(*form, times[number], &mut out.bytes),
                    Source::Column(column) => {
                        let slot = slots.get(i).copied().unwrap_or(0) as usize;
                        let text = column.text_at(slot, &mut digits);
                        out.bytes
                            .extend_from_slice(text.ok_or_else(|| bad("a field is missing"))?.as_bytes());
                    }
                }
                out.check()?;
            }
            out.push(b"");
            out.check()?;
        }
        Ok(out)
    }
}
