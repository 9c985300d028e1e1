//! Pipes: what happens to the rows that the filter found. One file per kind of pipe: how it is read, how it
//! prints, and the stage that does its work.
//!
//! Stages form a chain; a row is pushed into the first and falls through. Those that must see every row
//! before they know their first (`sort`, `stats`, `top`, `uniq`) hold them, within the query's memory limit,
//! and give on when the chain is finished.

pub mod fields;
pub mod limit;
pub mod rename;
pub mod select;
pub mod sort;
pub mod stats;
pub mod top;
pub mod uniq;

use crate::error::{ParseError, Result};
use crate::exec::memory::Memory;
use crate::filter::Filter;
use crate::parse::Parser;
use crate::parse::lexer::TokenKind;
use crate::row::ResultRow;
use fields::Fields;
use std::fmt;

/// A pipe.
#[derive(Clone, Debug, PartialEq)]
pub enum Pipe {
    /// `limit N`
    Limit(usize),
    /// `offset N`
    Offset(usize),
    /// `fields a, b*` and `delete a`
    Fields(Fields),
    /// `rename a as b` and `copy a as b`
    Rename(rename::Rename),
    /// `filter …`
    Filter(Filter),
    /// `sort by (…)`
    Sort(sort::Sort),
    /// `stats by (…) count()`
    Stats(stats::Stats),
    /// `top 5 by (…)`
    Top(top::Top),
    /// `uniq by (…)`
    Uniq(uniq::Uniq),
}

/// Whether more rows are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// More.
    Continue,
    /// No more; further rows would be dropped.
    Stop,
}

/// A pipe at work.
pub trait Stage {
    /// Takes a row, and may change it: it is the caller's to use again.
    fn push(&mut self, row: &mut ResultRow) -> Result<Flow>;
    /// Says that there are no more rows, once.
    fn finish(&mut self) -> Result<()>;
}

const NAMES: &str = "limit, head, offset, sort, order, fields, keep, delete, drop, rename, mv, copy, cp, \
                     filter, where, stats, top or uniq";

impl Parser<'_> {
    /// One pipe, after its `|`.
    pub(crate) fn pipe(&mut self) -> Result<Pipe, ParseError> {
        let TokenKind::Word(word) = self.token.kind else {
            return if self.at_pipe_end() {
                Err(self.expected(&format!("a pipe ({NAMES})")))
            } else {
                Ok(Pipe::Filter(self.filter(None)?))
            };
        };
        let name = word.to_ascii_lowercase();
        let next = self.text[self.token.end..].chars().next().unwrap_or(' ');
        if matches!(next, ':' | '=' | '<' | '>' | '!' | '~') {
            return Ok(Pipe::Filter(self.filter(None)?));
        }
        if next == '(' && stats::function::is_function(&name) {
            return Ok(Pipe::Stats(stats::Stats::parse(self)?));
        }
        let unknown = self.error(format!("unknown pipe `{word}`"), format!("expected {NAMES}"));
        self.advance()?;
        Ok(match &*name {
            "limit" | "head" => {
                Pipe::Limit(if self.at_pipe_end() { 10 } else { self.count("a number of rows")? })
            }
            "offset" | "skip" => Pipe::Offset(self.count("a number of rows")?),
            "fields" | "keep" => Pipe::Fields(Fields::parse(self, false)?),
            "delete" | "drop" | "del" | "rm" => Pipe::Fields(Fields::parse(self, true)?),
            "rename" | "mv" => Pipe::Rename(rename::Rename::parse(self, false)?),
            "copy" | "cp" => Pipe::Rename(rename::Rename::parse(self, true)?),
            "filter" | "where" => Pipe::Filter(self.filter(None)?),
            "sort" | "order" => Pipe::Sort(sort::Sort::parse(self)?),
            "stats" => Pipe::Stats(stats::Stats::parse(self)?),
            "top" => Pipe::Top(top::Top::parse(self)?),
            "uniq" => Pipe::Uniq(uniq::Uniq::parse(self)?),
            _ => return Err(unknown),
        })
    }
}

impl fmt::Display for Pipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Limit(n) => write!(f, "limit {n}"),
            Self::Offset(n) => write!(f, "offset {n}"),
            Self::Fields(p) => p.fmt(f),
            Self::Rename(p) => p.fmt(f),
            Self::Filter(filter) => write!(f, "filter {filter}"),
            Self::Sort(p) => p.fmt(f),
            Self::Stats(p) => p.fmt(f),
            Self::Top(p) => p.fmt(f),
            Self::Uniq(p) => p.fmt(f),
        }
    }
}

/// The pipes, with every sort told how many rows will be taken of it at most: by a `limit` behind it, or by
/// `limit`, that of the whole query, so that it holds no more.
pub(crate) fn limit_sorts(pipes: &[Pipe], limit: Option<usize>) -> Vec<Pipe> {
    let mut wanted = limit;
    let mut limited: Vec<Pipe> = pipes.to_vec();
    for pipe in limited.iter_mut().rev() {
        match pipe {
            Pipe::Limit(n) => wanted = Some(wanted.map_or(*n, |w| w.min(*n))),
            Pipe::Offset(n) => wanted = wanted.map(|w| w.saturating_add(*n)),
            // One row in, one row out.
            Pipe::Fields(_) | Pipe::Rename(_) => {}
            Pipe::Sort(sort) => {
                if let Some(w) = wanted.take() {
                    sort.limit = Some(sort.limit.map_or(w, |n| n.min(w)));
                }
            }
            Pipe::Filter(_) | Pipe::Stats(_) | Pipe::Top(_) | Pipe::Uniq(_) => wanted = None,
        }
    }
    limited
}

/// Puts the stages of some pipes before a last one.
pub(crate) fn chain<'a>(
    pipes: &'a [Pipe],
    memory: &'a Memory,
    last: Box<dyn Stage + 'a>,
) -> Box<dyn Stage + 'a> {
    pipes.iter().rev().fold(last, |next, pipe| match pipe {
        Pipe::Limit(n) => Box::new(limit::LimitStage { left: *n, next }),
        Pipe::Offset(n) => Box::new(limit::OffsetStage { left: *n, next }),
        Pipe::Fields(fields) => Box::new(fields::FieldsStage { fields, next }),
        Pipe::Rename(rename) => Box::new(rename::RenameStage { rename, next }),
        Pipe::Filter(filter) => Box::new(select::SelectStage { filter, next }),
        Pipe::Sort(sort) => Box::new(sort::SortStage::new(sort, memory, next)),
        Pipe::Stats(stats) => {
            Box::new(stats::StatsStage::new(&stats.aggregate, Box::new(|g| stats.rows(g)), memory, next))
        }
        Pipe::Top(top) => {
            Box::new(stats::StatsStage::new(&top.aggregate, Box::new(|g| top.rows(g)), memory, next))
        }
        Pipe::Uniq(uniq) => {
            Box::new(stats::StatsStage::new(&uniq.aggregate, Box::new(|g| uniq.rows(g)), memory, next))
        }
    })
}
