//! `sort by (a, b desc) partition by (c) offset 5 limit 10 rank as n`: rows in another order; `first 3 by (a)` and
//! `last 3 by (a)`, the ends of it. With a limit, only so many are held.

pub(crate) mod sorter;

pub(crate) use sorter::{ALL, Arrival, Directed, SortStage, Sorter};

use crate::error::ParseError;
use crate::order::SortKey;
use crate::parse::time::parse_time;
use crate::parse::{Parser, quote};
use duramen::block::names;
use std::fmt;

/// Fields, and whether the greatest comes first.
pub(crate) type Keys = Vec<(Box<str>, bool)>;

/// What to sort by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sort {
    /// Fields, and whether the greatest comes first.
    pub by: Keys,
    /// Rows with the same values of these fields are sorted, and counted, by themselves.
    pub partition: Vec<Box<str>>,
    /// How many rows to leave out first.
    pub offset: usize,
    /// How many to give then.
    pub limit: Option<usize>,
    /// The field that says at which place a row is, from 1 on.
    pub rank: Option<Box<str>>,
}

impl Sort {
    pub(super) fn parse(p: &mut Parser<'_>) -> Result<Self, ParseError> {
        let by = Self::keys(p)?.ok_or_else(|| p.expected("`by (field, …)`"))?;
        Self::rest(p, Self { by, partition: Vec::new(), offset: 0, limit: None, rank: None })
    }

    /// `first 3 by (a)`, or `last`: that is, the other way round. Without fields, the time counts.
    pub(super) fn parse_end(p: &mut Parser<'_>, last: bool) -> Result<Self, ParseError> {
        let limit = match p.token.kind {
            crate::parse::lexer::TokenKind::Word(w) if w.starts_with(|c: char| c.is_ascii_digit()) => {
                p.count("a number of rows")?
            }
            _ => 1,
        };
        let mut by = Self::keys(p)?.unwrap_or_else(|| vec![(names::TIME.into(), false)]);
        if last {
            by.iter_mut().for_each(|(_, desc)| *desc = !*desc);
        }
        Self::rest(p, Self { by, partition: Vec::new(), offset: 0, limit: Some(limit), rank: None })
    }

    /// `by (a, b desc) desc`, `(a)`, `by a, b`.
    pub(crate) fn keys(p: &mut Parser<'_>) -> Result<Option<Keys>, ParseError> {
        let by_word = p.eat_word("by")?;
        let key = |p: &mut Parser<'_>| {
            let name = p.field_name()?;
            let desc = p.eat_word("desc")?;
            if !desc {
                p.eat_word("asc")?;
            }
            Ok((name, desc))
        };
        let mut by = if p.at_punct('(') {
            p.list(key)?
        } else if by_word {
            let mut keys = vec![key(p)?];
            while p.eat_punct(',')? {
                keys.push(key(p)?);
            }
            keys
        } else {
            return Ok(None);
        };
        if by.is_empty() {
            return Err(p.error("sort needs a field to sort by", "write sort by (_time desc)"));
        }
        if p.eat_word("desc")? {
            by.iter_mut().for_each(|(_, desc)| *desc = !*desc);
        } else {
            p.eat_word("asc")?;
        }
        Ok(Some(by))
    }

    fn rest(p: &mut Parser<'_>, mut sort: Self) -> Result<Self, ParseError> {
        let mut said: Vec<&str> = Vec::new();
        loop {
            if let Some(word) = ["limit", "offset"].into_iter().find(|word| p.at_word(word)) {
                if said.contains(&word) {
                    return Err(p.error(format!("`{word}` is there twice"), "write it once"));
                }
                said.push(word);
            }
            if p.eat_word("limit")? {
                sort.limit = Some(p.count("a number of rows")?);
            } else if p.eat_word("offset")? {
                sort.offset = p.count("a number of rows")?;
            } else if p.eat_word("partition")? {
                p.eat_word("by")?;
                sort.partition = p.list(Parser::field_name)?;
            } else if p.eat_word("rank")? {
                let named = p.eat_word("as")?;
                let ends =
                    p.at_pipe_end() || p.at_word("limit") || p.at_word("offset") || p.at_word("partition");
                sort.rank = Some(if named || !ends { p.field_name()? } else { "rank".into() });
            } else if p.at_pipe_end() {
                return Ok(sort);
            } else {
                return Err(
                    p.expected("`desc`, `limit N`, `offset N`, `partition by (…)`, `rank as name` or `|`")
                );
            }
        }
    }

    /// Keys as LogsQL.
    pub(crate) fn show_keys(keys: &Keys) -> String {
        let keys =
            keys.iter().map(|(name, desc)| format!("{}{}", quote(name), if *desc { " desc" } else { "" }));
        format!("({})", keys.collect::<Vec<_>>().join(", "))
    }

    /// Whether it only wants the order in which log entries can be read anyway.
    pub(crate) fn is_only_by_time(&self) -> bool {
        matches!(&*self.by, [(name, _)] if **name == *names::TIME)
            && self.partition.is_empty()
            && self.rank.is_none()
    }

    /// Whether the time comes before all else, and if so, whether the latest is first.
    pub(crate) fn by_time_first(&self) -> Option<bool> {
        self.by.first().filter(|(name, _)| **name == *names::TIME).map(|(_, desc)| *desc)
    }

    /// What is compared of a row, of the keys of its fields.
    pub(crate) fn directed(&self, keys: impl Iterator<Item = SortKey>) -> Box<[Directed]> {
        let pairs = keys.zip(&self.by);
        pairs.map(|(key, (_, desc))| Directed::new(key, *desc)).collect()
    }

    /// The sort key of one of its fields.
    pub(crate) fn key(name: &str, text: &str) -> SortKey {
        match (name == names::TIME).then(|| parse_time(text)).flatten() {
            Some(time) => SortKey::int(time),
            None => SortKey::new(text),
        }
    }
}

impl fmt::Display for Sort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sort by {}", Self::show_keys(&self.by))?;
        if !self.partition.is_empty() {
            let names: Vec<_> = self.partition.iter().map(|name| quote(name)).collect();
            write!(f, " partition by ({})", names.join(", "))?;
        }
        if self.offset > 0 {
            write!(f, " offset {}", self.offset)?;
        }
        if let Some(n) = self.limit {
            write!(f, " limit {n}")?;
        }
        self.rank.as_ref().map_or(Ok(()), |name| write!(f, " rank as {}", quote(name)))
    }
}
