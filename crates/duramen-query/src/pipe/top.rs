//! `top 5 by (a, b)`: the values that most rows have, with how many in `hits`.

use super::stats::{Aggregate, By, Function, GiveRow, Groups};
use crate::error::{ParseError, Result};
use crate::parse::{Parser, quote};
use duramen::ValueKind;
use std::fmt;

/// What to count, and how much of it to show.
#[derive(Clone, Debug, PartialEq)]
pub struct Top {
    limit: usize,
    hits: Box<str>,
    rank: Option<Box<str>>,
    pub(crate) aggregate: Aggregate,
}

impl Top {
    pub(super) fn parse(p: &mut Parser<'_>) -> Result<Self, ParseError> {
        let limit = if p.at_count() { p.count("a number of values")? } else { 10 };
        let by = By::parse_fields(p)?;
        let mut top = Self {
            limit,
            hits: "hits".into(),
            rank: None,
            aggregate: Aggregate { by, functions: vec![Function::count()], keep: None },
        };
        while !p.at_pipe_end() {
            p.eat_word("with")?;
            let (rank, hits) = (p.eat_word("rank")?, p.eat_word("hits")?);
            if rank == hits {
                return Err(p.expected("`hits as name`, `rank` or `|`"));
            }
            let is_next = ["with", "rank", "hits"].iter().any(|word| p.at_word(word));
            let name = if p.eat_word("as")? || !(p.at_pipe_end() || is_next) {
                p.field_name()?
            } else if rank {
                "rank".into()
            } else {
                "hits".into()
            };
            if rank { top.rank = Some(name) } else { top.hits = name }
        }
        // A value that is counted is not replaced by how often it is there.
        let by = &top.aggregate.by;
        top.hits = By::free_name(by, &top.hits, "");
        top.rank = top.rank.map(|name| By::free_name(by, &name, &top.hits));
        Ok(top)
    }

    /// Gives the groups' rows, the largest first.
    pub(super) fn give(&self, groups: Groups<'_>, give: &mut GiveRow<'_>) -> Result<()> {
        let mut rank = 0;
        groups.give_largest(self.limit, std::slice::from_ref(&self.hits), &mut |row| {
            rank += 1;
            if let Some(name) = &self.rank {
                row.push(name, &rank.to_string(), ValueKind::Number);
            }
            give(row)
        })
    }
}

impl fmt::Display for Top {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "top {} by {}", self.limit, By::show(&self.aggregate.by))?;
        if *self.hits != *"hits" {
            write!(f, " hits as {}", quote(&self.hits))?;
        }
        self.rank.as_ref().map_or(Ok(()), |name| write!(f, " rank as {}", quote(name)))
    }
}
