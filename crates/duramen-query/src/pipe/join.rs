//! `join by (user) (query) inner prefix "x."`: the fields of another query's rows added to those that have the same
//! values. What a row has already, it keeps.

use super::custom::CustomPipe;
use super::writes::Writes;
use super::{Flow, Passes, Stage};
use crate::error::{ParseError, Result};
use crate::exec::context::Run;
use crate::exec::project::Projection;
use crate::parse::{Parser, quote, quote_always};
use crate::query::Query;
use crate::row::ResultRow;
use hashbrown::HashMap;
use std::fmt;

/// What the row has is not overwritten: of `* | join by (app) (* | limit 1)`, time and message would be those of another.
const KEEPS_ITS_OWN: Writes = Writes { keep_original: true, skip_empty: false };

/// Rows by the values that must be the same.
type Others = HashMap<Vec<Box<str>>, Vec<ResultRow>, foldhash::fast::FixedState>;

/// By which fields, with which query.
#[derive(Clone, Debug, PartialEq)]
pub struct Join {
    by: Vec<Box<str>>,
    query: Query,
    /// Whether rows go that have no other.
    inner: bool,
    /// Before the names of the other query's fields.
    prefix: Box<str>,
}

impl Join {
    pub(super) fn parse(p: &mut Parser<'_>) -> Result<Self, ParseError> {
        p.eat_word("by")?;
        let by = p.list(Parser::field_name)?;
        if by.is_empty() {
            return Err(p.error("join needs a field to compare", "write join by (field) (query)"));
        }
        p.expect_punct('(')?;
        let query = p.subquery()?;
        p.expect_punct(')')?;
        let mut join = Self { by, query, inner: false, prefix: "".into() };
        while !p.at_pipe_end() {
            if p.eat_word("inner")? {
                join.inner = true;
            } else if p.eat_word("prefix")? {
                join.prefix = p.text_token("a prefix")?.into();
            } else {
                return Err(p.expected("`inner`, `prefix text` or `|`"));
            }
        }
        Ok(join)
    }

    /// The values that must be the same.
    fn key(&self, row: &ResultRow) -> Vec<Box<str>> {
        self.by.iter().map(|name| row.get(name).unwrap_or("").into()).collect()
    }
}

impl fmt::Display for Join {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let by: Vec<_> = self.by.iter().map(|name| quote(name)).collect();
        write!(f, "join by ({}) ({})", by.join(", "), self.query)?;
        f.write_str(if self.inner { " inner" } else { "" })?;
        if self.prefix.is_empty() { Ok(()) } else { write!(f, " prefix {}", quote_always(&self.prefix)) }
    }
}

impl CustomPipe for Join {
    fn passes(&self) -> Passes {
        Passes::Some
    }

    fn needs(&self, needed: Projection) -> Projection {
        needed.with(self.by.iter().map(|name| &**name))
    }

    fn stage<'a>(&'a self, run: &'a Run<'a>, next: Box<dyn Stage + 'a>) -> Result<Box<dyn Stage + 'a>> {
        let mut others = Others::default();
        run.each_row(&self.query, &mut |row| {
            let key = self.key(row);
            let key_bytes: usize = key.iter().map(|text| text.len() + 16).sum();
            run.memory.charge(row.heap_bytes() + key_bytes + 64, "the rows of a join")?;
            others.entry(key).or_default().push(row.compact());
            Ok(Flow::Continue)
        })?;
        Ok(Box::new(JoinStage { join: self, others, run, next }))
    }

    fn for_each_query<'p>(&'p self, see: &mut dyn FnMut(&'p Query)) {
        see(&self.query);
    }
}

struct JoinStage<'a> {
    join: &'a Join,
    others: Others,
    run: &'a Run<'a>,
    next: Box<dyn Stage + 'a>,
}

impl Stage for JoinStage<'_> {
    fn push(&mut self, row: &mut ResultRow) -> Result<Flow> {
        let join = self.join;
        let Some(others) = self.others.get(&join.key(row)) else {
            return if join.inner { Ok(Flow::Continue) } else { self.next.push(row) };
        };
        for (i, other) in others.iter().enumerate() {
            if i % 1024 == 1023 {
                self.run.cancel.check()?;
            }
            let mut joined = row.clone();
            for (name, text, kind) in
                other.iter().filter(|(name, ..)| !join.by.iter().any(|by| **by == **name))
            {
                KEEPS_ITS_OWN.put(&mut joined, &format!("{}{name}", join.prefix), text, kind);
            }
            if self.next.push(&mut joined)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Continue)
    }

    fn finish(&mut self) -> Result<()> {
        self.next.finish()
    }
}
