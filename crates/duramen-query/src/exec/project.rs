//! Which fields of a log entry the pipes need at all: the others are never read.

use crate::pipe::Pipe;
use crate::pipe::fields::NamePattern;
use crate::pipe::stats::Aggregate;

/// The fields to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Projection {
    /// All.
    All,
    /// Those that one of these means.
    Only(Vec<NamePattern>),
}

impl Projection {
    /// What these pipes need of the rows that come into them.
    pub fn of(pipes: &[Pipe]) -> Self {
        pipes.iter().rev().fold(Self::All, |needed, pipe| match pipe {
            Pipe::Limit(_) | Pipe::Offset(_) => needed,
            Pipe::Fields(fields) if fields.delete => needed,
            Pipe::Fields(fields) => Self::Only(fields.patterns.clone()),
            // From the last pair to the first: who needs the new name needs the old one.
            Pipe::Rename(rename) => rename.pairs.iter().rev().fold(needed, |needed, (from, to)| {
                if needed.wants(to) || rename.copy { needed.with([&**from]) } else { needed }
            }),
            Pipe::Filter(filter) => {
                let mut names = Vec::new();
                filter.for_each_field(&mut |name| names.push(name));
                needed.with(names)
            }
            Pipe::Sort(sort) => needed.with(sort.by.iter().map(|(name, _)| &**name)),
            Pipe::Stats(stats) => Self::of_aggregate(&stats.aggregate),
            Pipe::Top(top) => Self::of_aggregate(&top.aggregate),
            Pipe::Uniq(uniq) => Self::of_aggregate(&uniq.aggregate),
        })
    }

    fn of_aggregate(aggregate: &Aggregate) -> Self {
        let by = aggregate.by.iter().map(|b| &*b.field);
        let of = aggregate.functions.iter().flat_map(|f| f.fields.iter().map(|n| &**n));
        Self::Only(Vec::new()).with(by.chain(of))
    }

    fn with<'n>(self, names: impl IntoIterator<Item = &'n str>) -> Self {
        match self {
            Self::All => Self::All,
            Self::Only(mut patterns) => {
                patterns.extend(names.into_iter().map(NamePattern::exact));
                Self::Only(patterns)
            }
        }
    }

    /// Whether a field is needed.
    pub fn wants(&self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(patterns) => patterns.iter().any(|p| p.matches(name)),
        }
    }
}
