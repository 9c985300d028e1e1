//! Pipes that change each row by itself: `extract`, `format`, `math` and so on. They may have a condition,
//! `extract if (level:error) "…"`, and leave the rows alone that do not meet it.

use super::custom::{Added, Custom, CustomPipe, Same};
use super::fields::NamePattern;
use super::maker::Maker;
use super::words::Split;
use super::{Flow, Passes, Pipe, Stage};
use crate::error::{ParseError, Result};
use crate::exec::context::Run;
use crate::exec::project::Projection;
use crate::filter::Filter;
use crate::parse::Parser;
use crate::query::Query;
use crate::row::ResultRow;
use std::fmt;
use std::sync::Arc;

/// Changes a row; holds the buffers it needs for that.
pub(crate) type Worker<'a> = Box<dyn FnMut(&mut ResultRow) + 'a>;

/// A pipe that changes each row by itself.
pub(crate) trait RowPipe: Same + fmt::Debug + Send + Sync {
    /// Its name.
    fn name(&self) -> &'static str;
    /// What stands behind name and condition, as LogsQL, each part after a blank.
    fn arguments(&self) -> String;
    /// Calls `see` with what names the fields it reads.
    fn reads(&self, see: &mut dyn FnMut(NamePattern));
    /// What does the work.
    fn worker(&self) -> Worker<'_>;
    /// The same, if values of some fields are made of those of others.
    fn maker(&self) -> Option<Maker<'_>> {
        None
    }
    /// The same of pipes that do so several times, one after another.
    fn makers(&self) -> Option<Vec<Maker<'_>>> {
        self.maker().map(|maker| vec![maker])
    }
    /// If it makes an array of the parts of a text: how.
    fn splits(&self) -> Option<&Split> {
        None
    }
    /// Whether what it makes of a row depends on how many came before.
    fn counts_rows(&self) -> bool {
        false
    }
    /// The fields that it adds to each row of what was counted; `None` if that is not known.
    fn adds(&self) -> Option<Added<'_>> {
        self.maker().map(|maker| Added { labels: maker.writes, ..Added::default() })
    }
}

/// The pipe, with its condition.
#[derive(Clone, Debug)]
struct RowStep {
    condition: Option<Filter>,
    pipe: Arc<dyn RowPipe>,
}

impl PartialEq for RowStep {
    fn eq(&self, other: &Self) -> bool {
        self.condition == other.condition && (*self.pipe).same((*other.pipe).as_any())
    }
}

/// A row pipe as a pipe.
pub(crate) fn pipe(condition: Option<Filter>, pipe: impl RowPipe) -> Pipe {
    RowStep { condition, pipe: Arc::new(pipe) }.into()
}

/// Reads a row pipe, after its name, with or without a condition.
pub(crate) fn parse<T: RowPipe>(
    p: &mut Parser<'_>,
    read: fn(&mut Parser<'_>) -> Result<T, ParseError>,
) -> Result<Pipe, ParseError> {
    let condition = p.condition()?;
    let row_pipe = read(p)?;
    p.end_of_pipe()?;
    Ok(pipe(condition, row_pipe))
}

impl Parser<'_> {
    /// `if (filter)`, or nothing, which `if ()` is, too.
    pub(crate) fn condition(&mut self) -> Result<Option<Filter>, ParseError> {
        if !self.eat_word("if")? {
            return Ok(None);
        }
        if !self.at_punct('(') {
            return Err(self.expected("`(` and a condition behind `if`"));
        }
        self.expect_punct('(')?;
        if self.eat_punct(')')? {
            return Ok(None);
        }
        let filter = self.nested(Self::whole_filter)?;
        self.expect_punct(')')?;
        Ok(Some(filter))
    }

    /// Nothing may follow but the next pipe.
    pub(crate) fn end_of_pipe(&self) -> Result<(), ParseError> {
        if self.at_pipe_end() { Ok(()) } else { Err(self.expected("`|`, or the end of the query")) }
    }
}

impl fmt::Display for RowStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.pipe.name())?;
        if let Some(condition) = &self.condition {
            write!(f, " if ({condition})")?;
        }
        f.write_str(&self.pipe.arguments())
    }
}

impl CustomPipe for RowStep {
    fn passes(&self) -> Passes {
        if self.pipe.counts_rows() { Passes::InTurn } else { Passes::Each }
    }

    fn needs(&self, mut needed: Projection) -> Projection {
        let mut see = |pattern| needed.add(pattern);
        self.pipe.reads(&mut see);
        if let Some(condition) = &self.condition {
            condition.for_each_field(&mut see);
        }
        needed
    }

    fn stage<'a>(&'a self, _run: &'a Run<'a>, next: Box<dyn Stage + 'a>) -> Result<Box<dyn Stage + 'a>> {
        Ok(Box::new(RowStage { condition: self.condition.as_ref(), worker: self.pipe.worker(), next }))
    }

    fn for_each_query<'p>(&'p self, see: &mut dyn FnMut(&'p Query)) {
        if let Some(condition) = &self.condition {
            condition.for_each_subquery(&mut |s| see(&s.query));
        }
    }

    fn makers(&self) -> Option<Vec<Maker<'_>>> {
        if self.condition.is_none() { self.pipe.makers() } else { None }
    }

    fn splits(&self) -> Option<&Split> {
        if self.condition.is_none() { self.pipe.splits() } else { None }
    }

    fn adds(&self) -> Option<Added<'_>> {
        self.pipe.adds()
    }

    fn answered(&self, run: &Run<'_>) -> Result<Option<Custom>> {
        Ok(match &self.condition {
            Some(condition) if condition.has_subquery() => {
                let condition = Some(run.answered(condition)?.into_owned());
                Some(Custom::new(Self { condition, pipe: self.pipe.clone() }))
            }
            _ => None,
        })
    }
}

struct RowStage<'a> {
    condition: Option<&'a Filter>,
    worker: Worker<'a>,
    next: Box<dyn Stage + 'a>,
}

impl Stage for RowStage<'_> {
    fn push(&mut self, row: &mut ResultRow) -> Result<Flow> {
        if self.condition.is_none_or(|condition| condition.matches(row)) {
            (self.worker)(row);
        }
        self.next.push(row)
    }

    fn finish(&mut self) -> Result<()> {
        self.next.finish()
    }
}
