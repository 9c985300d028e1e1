//! `rename a as b` gives a field another name, `copy a as b` a second one.

use super::{Flow, Stage};
use crate::error::{ParseError, Result};
use crate::parse::{Parser, quote};
use crate::row::ResultRow;
use std::fmt;

/// New names, given one after another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rename {
    /// From and to.
    pub pairs: Vec<(Box<str>, Box<str>)>,
    /// Whether the old name stays.
    pub copy: bool,
}

impl Rename {
    pub(super) fn parse(p: &mut Parser<'_>, copy: bool) -> Result<Self, ParseError> {
        let mut pairs = Vec::new();
        loop {
            let from = p.field_name()?;
            p.eat_word("as")?;
            pairs.push((from, p.field_name()?));
            if !p.eat_punct(',')? {
                return if p.at_pipe_end() {
                    Ok(Self { pairs, copy })
                } else {
                    Err(p.expected("`,` or `|`"))
                };
            }
        }
    }
}

impl fmt::Display for Rename {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.copy { "copy " } else { "rename " })?;
        for (i, (from, to)) in self.pairs.iter().enumerate() {
            write!(f, "{}{} as {}", if i > 0 { ", " } else { "" }, quote(from), quote(to))?;
        }
        Ok(())
    }
}

pub(super) struct RenameStage<'a> {
    pub rename: &'a Rename,
    pub next: Box<dyn Stage + 'a>,
}

impl Stage for RenameStage<'_> {
    fn push(&mut self, row: &mut ResultRow) -> Result<Flow> {
        for (from, to) in &self.rename.pairs {
            if self.rename.copy { row.copy(from, to) } else { row.rename(from, to) }
        }
        self.next.push(row)
    }

    fn finish(&mut self) -> Result<()> {
        self.next.finish()
    }
}
