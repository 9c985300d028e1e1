//! `uniq by (a, b) with hits limit 10`: every combination of values once.

use super::stats::{Aggregate, By, Function};
use crate::error::ParseError;
use crate::parse::Parser;
use std::fmt;

/// Whose values, and how many of them. With a limit, these are the first in order.
#[derive(Clone, Debug, PartialEq)]
pub struct Uniq {
    pub(crate) aggregate: Aggregate,
}

impl Uniq {
    /// `field_values name limit 10`: the values of one field, and how often each is there.
    pub(super) fn parse_values(p: &mut Parser<'_>) -> Result<Self, ParseError> {
        let by = vec![By { field: p.field_in_parentheses()?, bucket: None }];
        let keep = if p.eat_word("limit")? { Some(p.count("a number of values")?) } else { None };
        p.end_of_pipe()?;
        Ok(Self { aggregate: Aggregate { by, functions: vec![Function::count()], keep } })
    }

    pub(super) fn parse(p: &mut Parser<'_>) -> Result<Self, ParseError> {
        let by = By::parse_fields(p)?;
        let mut aggregate = Aggregate { by, functions: Vec::new(), keep: None };
        while !p.at_pipe_end() {
            if p.eat_word("limit")? {
                aggregate.keep = Some(p.count("a number of values")?);
            } else {
                p.eat_word("with")?;
                if !p.eat_word("hits")? {
                    return Err(p.expected("`with hits`, `limit N` or `|`"));
                }
                aggregate.functions = vec![Function::count()];
            }
        }
        Ok(Self { aggregate })
    }

    /// The one field that its rows have.
    pub(crate) fn only(&self) -> Option<&str> {
        match &*self.aggregate.by {
            [by] if self.aggregate.functions.is_empty() => Some(&by.field),
            _ => None,
        }
    }

    /// The name of how many rows have the values.
    pub(super) fn names(&self) -> [Box<str>; 1] {
        [By::free_name(&self.aggregate.by, "hits", "")]
    }
}

impl fmt::Display for Uniq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "uniq by {}", By::show(&self.aggregate.by))?;
        if !self.aggregate.functions.is_empty() {
            f.write_str(" with hits")?;
        }
        self.aggregate.keep.map_or(Ok(()), |n| write!(f, " limit {n}"))
    }
}
