//! `join by (user) (query) inner prefix "x."`: the fields of another query's rows added to those that have the same
//! values. What a row has already, it keeps.

use super::custom::{Custom, CustomPipe};
use super::maker::{Made, Maker, Texts};
use super::writes::Writes;
use super::{Flow, Passes, Stage};
use crate::error::{ParseError, Result};
use crate::exec::context::Run;
use crate::exec::project::Projection;
use crate::parse::{Parser, quote, quote_always};
use crate::query::Query;
use crate::row::ResultRow;
use hashbrown::HashMap;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

/// What the row has is not overwritten: of `* | join by (app) (* | limit 1)`, time and message would be those of another.
const KEEPS_ITS_OWN: Writes = Writes { keep_original: true, skip_empty: false };

/// The most fields that are added column by column.
const MAX_MADE_FIELDS: usize = 16;

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
        if !p.eat_word("by")? {
            p.eat_word("on")?;
        }
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

    /// The join with the rows of its query.
    fn joined(&self, run: &Run<'_>) -> Result<Joined> {
        let mut joined = Joined {
            join: self.clone(),
            others: Arc::default(),
            fields: BTreeSet::new(),
            has_several: false,
        };
        let mut others = Others::default();
        let mut key = Vec::new();
        run.each_row(&self.query, &mut |row| {
            write_key(&mut key, self.by.iter().map(|name| row.get(name).unwrap_or("")));
            let mut other = ResultRow::new();
            for (name, text, kind) in row.iter().filter(|(name, ..)| !self.by.iter().any(|by| **by == **name))
            {
                let name = format!("{}{name}", self.prefix);
                other.push(&name, text, kind);
                if !joined.fields.contains(&*name) {
                    joined.fields.insert(name.into());
                }
            }
            run.memory.charge(other.heap_bytes() + key.len() + 64, "the rows of a join")?;
            let with_key = others.entry_ref(&key[..]).or_default();
            joined.has_several |= !with_key.is_empty();
            with_key.push(other.compact());
            Ok(Flow::Continue)
        })?;
        joined.others = Arc::new(others);
        Ok(joined)
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
        Ok(self.joined(run)?.before(run, next))
    }

    fn for_each_query<'p>(&'p self, see: &mut dyn FnMut(&'p Query)) {
        see(&self.query);
    }

    fn answered(&self, run: &Run<'_>) -> Result<Option<Custom>> {
        Ok(Some(Custom::new(self.joined(run)?)))
    }
}

/// Rows by their [keys](write_key), without the fields of these, and under the names that they get.
type Others = HashMap<Vec<u8>, Vec<ResultRow>, foldhash::fast::FixedState>;

/// Writes the values that must be the same, so that no two lists of values are written alike.
fn write_key<'t>(key: &mut Vec<u8>, values: impl Iterator<Item = &'t str>) {
    key.clear();
    for value in values {
        key.extend_from_slice(&value.len().to_le_bytes());
        key.extend_from_slice(value.as_bytes());
    }
}

/// A join whose query was answered: then no row knows of another, and several threads may look at the same answer.
#[derive(Clone, Debug)]
struct Joined {
    join: Join,
    others: Arc<Others>,
    /// The names of the fields that are added.
    fields: BTreeSet<Box<str>>,
    /// Whether some row may become several.
    has_several: bool,
}

impl PartialEq for Joined {
    fn eq(&self, other: &Self) -> bool {
        self.join == other.join
    }
}

impl Joined {
    fn before<'a>(&self, run: &'a Run<'a>, next: Box<dyn Stage + 'a>) -> Box<dyn Stage + 'a> {
        Box::new(JoinStage { joined: self.clone(), key: Vec::new(), one: ResultRow::new(), run, next })
    }

    /// The other rows with these values.
    fn others<'t>(&self, key: &mut Vec<u8>, values: impl Iterator<Item = &'t str>) -> &[ResultRow] {
        write_key(key, values);
        self.others.get(&key[..]).map_or(&[], Vec::as_slice)
    }

    /// What makes the fields of those that the row joins.
    fn maker(&self) -> Maker<'_> {
        let by = &self.join.by;
        let mut key = Vec::new();
        let make = move |texts: &Texts<'_>, made: &mut [Made]| {
            let other = self.others(&mut key, (0..by.len()).map(texts)).first();
            for (name, made) in self.fields.iter().zip(made) {
                let value = other.and_then(|other| other.iter().find(|(own, ..)| *own == &**name));
                let (_, text, kind) = value.unwrap_or_default();
                made.start(kind).push_str(text);
            }
        };
        Maker {
            reads: by.iter().map(|name| &**name).collect(),
            writes: self.fields.iter().map(|name| &**name).collect(),
            keeps: KEEPS_ITS_OWN,
            start: "",
            shortcut: None,
            make: Box::new(make),
            numbers: None,
        }
    }
}

impl fmt::Display for Joined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.join.fmt(f)
    }
}

impl CustomPipe for Joined {
    fn passes(&self) -> Passes {
        match (self.has_several, self.join.inner) {
            (true, _) => Passes::Some,
            (false, true) => Passes::Filtered,
            (false, false) => Passes::Each,
        }
    }

    fn needs(&self, needed: Projection) -> Projection {
        self.join.needs(needed)
    }

    fn stage<'a>(&'a self, run: &'a Run<'a>, next: Box<dyn Stage + 'a>) -> Result<Box<dyn Stage + 'a>> {
        Ok(self.before(run, next))
    }

    fn makers(&self) -> Option<Vec<Maker<'_>>> {
        let only_adds = self.passes() == Passes::Each && self.fields.len() <= MAX_MADE_FIELDS;
        only_adds.then(|| vec![self.maker()])
    }
}

struct JoinStage<'a> {
    joined: Joined,
    key: Vec<u8>,
    /// One of several that are made of a row.
    one: ResultRow,
    run: &'a Run<'a>,
    next: Box<dyn Stage + 'a>,
}

impl Stage for JoinStage<'_> {
    fn push(&mut self, row: &mut ResultRow) -> Result<Flow> {
        let Self { joined, key, one, run, next } = self;
        let values = joined.join.by.iter().map(|name| row.get(name).unwrap_or(""));
        let Some((last, others)) = joined.others(key, values).split_last() else {
            return if joined.join.inner { Ok(Flow::Continue) } else { next.push(row) };
        };
        let add = |row: &mut ResultRow, other: &ResultRow| {
            other.iter().for_each(|(name, text, kind)| KEEPS_ITS_OWN.put(row, name, text, kind));
        };
        for (i, other) in others.iter().enumerate() {
            if i % 1024 == 1023 {
                run.cancel.check()?;
            }
            one.fill_from(row);
            add(one, other);
            if next.push(one)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        add(row, last);
        next.push(row)
    }

    fn finish(&mut self) -> Result<()> {
        self.next.finish()
    }
}
