//! `unroll (a, b)`: a row for each item of the JSON arrays in some fields.
//!
//! Behind `unpack_words` and `split` it takes the parts as they are: no array is written, and read.

use super::custom::{Custom, CustomPipe};
use super::fields::NamePattern;
use super::maker::{Made, Maker, Shortcut};
use super::row_pipe::RowPipe;
use super::words::Split;
use super::{Flow, Passes, Stage};
use crate::error::{ParseError, Result};
use crate::exec::context::Run;
use crate::exec::project::Projection;
use crate::exec::scan::CANCEL_INTERVAL_ROWS;
use crate::filter::Filter;
use crate::json::{self, Items};
use crate::parse::{Parser, quote};
use crate::query::Query;
use crate::row::ResultRow;
use duramen::ValueKind;
use std::fmt;

/// Which fields, of which rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Unroll {
    condition: Option<Filter>,
    fields: Vec<Box<str>>,
    /// Its one field gets the array that this makes.
    split: Option<Split>,
}

impl Unroll {
    pub(super) fn parse(p: &mut Parser<'_>) -> Result<Self, ParseError> {
        let condition = p.condition()?;
        p.eat_word("by")?;
        let fields = if p.at_punct('(') {
            p.list(Parser::field_name)?
        } else {
            let mut fields = vec![p.field_name()?];
            while p.eat_punct(',')? {
                fields.push(p.field_name()?);
            }
            fields
        };
        if fields.is_empty() {
            return Err(p.error("unroll needs a field", "write unroll (field)"));
        }
        p.end_of_pipe()?;
        Ok(Self { condition, fields, split: None })
    }
}

impl fmt::Display for Unroll {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(split) = &self.split {
            write!(f, "{}{} | ", split.name(), split.arguments())?;
        }
        f.write_str("unroll")?;
        if let Some(condition) = &self.condition {
            write!(f, " if ({condition})")?;
        }
        let fields: Vec<_> = self.fields.iter().map(|name| quote(name)).collect();
        write!(f, " ({})", fields.join(", "))
    }
}

impl CustomPipe for Unroll {
    fn passes(&self) -> Passes {
        Passes::Some
    }

    fn needs(&self, needed: Projection) -> Projection {
        let mut needed = needed.with(self.fields.iter().map(|name| &**name));
        if let Some(condition) = &self.condition {
            condition.for_each_field(&mut |pattern: NamePattern| needed.add(pattern));
        }
        if let Some(split) = &self.split {
            split.reads(&mut |pattern| needed.add(pattern));
        }
        needed
    }

    fn stage<'a>(&'a self, run: &'a Run<'a>, next: Box<dyn Stage + 'a>) -> Result<Box<dyn Stage + 'a>> {
        let (items, copy) =
            (self.fields.iter().map(|_| (false, Items::default())).collect(), ResultRow::new());
        Ok(Box::new(UnrollStage { unroll: self, run, made: 0, items, copy, next }))
    }

    fn makers(&self) -> Option<Vec<Maker<'_>>> {
        if self.condition.is_some() || self.split.is_some() {
            return None;
        }
        let shortcut = Some(Shortcut::SameUnless(json::is_array));
        let as_text = |text: &str, made: &mut Made| made.start(ValueKind::String).push_str(text);
        let makers = self.fields.iter().map(|name| Maker { shortcut, ..Maker::of_one(name, name, as_text) });
        Some(makers.collect())
    }

    fn behind(&self, before: &dyn CustomPipe) -> Option<Custom> {
        let split = before.splits().filter(|_| self.condition.is_none() && self.split.is_none())?;
        let is_all = matches!(&self.fields[..], [field] if **field == *split.fields().1);
        is_all.then(|| Custom::new(Self { split: Some(split.clone()), ..self.clone() }))
    }

    fn for_each_query<'p>(&'p self, see: &mut dyn FnMut(&'p Query)) {
        if let Some(condition) = &self.condition {
            condition.for_each_subquery(&mut |s| see(&s.query));
        }
    }

    fn answered(&self, run: &Run<'_>) -> Result<Option<Custom>> {
        Ok(match &self.condition {
            Some(condition) if condition.has_subquery() => {
                let condition = Some(run.answered(condition)?.into_owned());
                Some(Custom::new(Self { condition, ..self.clone() }))
            }
            _ => None,
        })
    }
}

struct UnrollStage<'a> {
    unroll: &'a Unroll,
    run: &'a Run<'a>,
    /// How many rows were made.
    made: usize,
    /// Of the row that is taken apart, what is in each field, and whether that is an array.
    items: Vec<(bool, Items)>,
    copy: ResultRow,
    next: Box<dyn Stage + 'a>,
}

impl UnrollStage<'_> {
    /// Takes the fields of a row apart.
    fn read(&mut self, row: &mut ResultRow) {
        let Unroll { fields, split, .. } = self.unroll;
        if let (Some(split), [(is_array, items)]) = (split, &mut self.items[..]) {
            items.clear();
            let text = row.get(split.fields().0).unwrap_or("");
            split.each(text, &mut |part| items.push(part, ValueKind::String));
            *is_array = items.len() <= json::MAX_ITEMS;
            if !*is_array {
                (split.worker())(row);
            }
            return;
        }
        for (name, (is_array, items)) in fields.iter().zip(&mut self.items) {
            *is_array = items.read(row.get(name).unwrap_or(""));
        }
    }
}

impl Stage for UnrollStage<'_> {
    fn push(&mut self, row: &mut ResultRow) -> Result<Flow> {
        let Unroll { condition, fields, .. } = self.unroll;
        if condition.as_ref().is_some_and(|condition| !condition.matches(row)) {
            return self.next.push(row);
        }
        self.read(row);
        // A row with nothing to take apart stays, without the fields.
        let arrays = self.items.iter().filter(|(is_array, _)| *is_array);
        let rows = arrays.map(|(_, items)| items.len()).max().unwrap_or(0).max(1);
        for (name, (is_array, _)) in fields.iter().zip(&self.items) {
            // Arrays need not be copied with their rows.
            if *is_array {
                row.set(name, "", ValueKind::String);
            }
        }
        for i in 0..rows {
            self.made += 1;
            if self.made.is_multiple_of(CANCEL_INTERVAL_ROWS) {
                self.run.cancel.check()?;
            }
            // The last may be made of the row itself.
            let unrolled = if i + 1 < rows {
                self.copy.fill_from(row);
                &mut self.copy
            } else {
                &mut *row
            };
            for (name, (is_array, items)) in fields.iter().zip(&self.items) {
                match items.get(i) {
                    Some((text, kind)) if *is_array => unrolled.set(name, text, kind),
                    // What is no array is the only item of one.
                    _ if !is_array && i == 0 => unrolled.set_to_text(name),
                    _ => unrolled.set(name, "", ValueKind::String),
                }
            }
            if self.next.push(unrolled)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Continue)
    }

    fn finish(&mut self) -> Result<()> {
        self.next.finish()
    }
}
