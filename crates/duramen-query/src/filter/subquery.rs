//! `user:in(_time:1d path:admin | fields user)`: values that another query finds.

use super::contains::Contains;
use super::set::In;
use super::{Filter, Test};
use crate::error::Result;
use crate::parse::quote;
use crate::query::Query;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// What the values found are good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// `in(…)`: the field's value is one of them.
    In,
    /// `contains_all(…)`: it holds all of them as words or phrases.
    ContainsAll,
    /// `contains_any(…)`: it holds one of them.
    ContainsAny,
}

impl Use {
    /// By the name of its filter.
    pub const NAMES: [(&'static str, Self); 3] =
        [("in", Self::In), ("contains_all", Self::ContainsAll), ("contains_any", Self::ContainsAny)];

    /// The test of these values.
    pub fn test(self, values: impl IntoIterator<Item = Box<str>>) -> Test {
        match self {
            Self::In => Test::In(In::new(values)),
            Self::ContainsAll => Test::Contains(Contains::new(true, values)),
            Self::ContainsAny => Test::Contains(Contains::new(false, values)),
        }
    }
}

/// A filter by what another query finds.
#[derive(Clone, Debug, PartialEq)]
pub struct Subquery {
    /// The field that is tested.
    pub field: Box<str>,
    /// How.
    pub used: Use,
    /// The query.
    pub query: Arc<Query>,
    /// The one field of its rows.
    pub output: Box<str>,
}

impl Filter {
    /// Calls `see` with every subquery, but not with those inside them.
    pub fn for_each_subquery<'f>(&'f self, see: &mut dyn FnMut(&'f Subquery)) {
        match self {
            Self::And(parts) | Self::Or(parts) => parts.iter().for_each(|p| p.for_each_subquery(see)),
            Self::Not(inner) => inner.for_each_subquery(see),
            Self::Subquery(subquery) => see(subquery),
            _ => {}
        }
    }

    /// Whether there is a subquery in it.
    pub fn has_subquery(&self) -> bool {
        let mut found = false;
        self.for_each_subquery(&mut |_| found = true);
        found
    }

    /// The filter with a test in the place of each subquery.
    pub(crate) fn answered(
        &self,
        answer: &mut dyn FnMut(&Subquery) -> Result<Test>,
    ) -> Result<Cow<'_, Self>> {
        if !self.has_subquery() {
            return Ok(Cow::Borrowed(self));
        }
        let mut all = |parts: &[Self]| {
            let parts = parts.iter().map(|part| part.answered(answer).map(Cow::into_owned));
            parts.collect::<Result<Vec<_>>>()
        };
        Ok(Cow::Owned(match self {
            Self::And(parts) => Self::And(all(parts)?),
            Self::Or(parts) => Self::Or(all(parts)?),
            Self::Not(inner) => Self::Not(Box::new(inner.answered(answer)?.into_owned())),
            Self::Subquery(subquery) => {
                Self::Field { field: subquery.field.clone(), test: answer(subquery)? }
            }
            other => other.clone(),
        }))
    }
}

impl fmt::Display for Subquery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Use::NAMES.iter().find(|(_, used)| *used == self.used).map_or("", |(name, _)| name);
        write!(f, "{}:{name}({})", quote(&self.field), self.query)
    }
}
