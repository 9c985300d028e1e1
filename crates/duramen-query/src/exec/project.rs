//! Which fields of a log entry the pipes need at all: the others are never read.

use crate::filter::Filter;
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
        pipes.iter().rev().fold(Self::All, Self::before)
    }

    /// What a pipe needs of the rows that come into it, of which these are needed behind it.
    pub fn before(self, pipe: &Pipe) -> Self {
        match pipe {
            Pipe::Limit(_) | Pipe::Offset(_) => self,
            Pipe::Fields(fields) if fields.delete => self,
            Pipe::Fields(fields) => Self::Only(fields.patterns.clone()),
            Pipe::Rename(rename) => rename.needs(self),
            Pipe::Filter(filter) => self.and_of(filter),
            Pipe::Sort(sort) => {
                let names = sort.by.iter().map(|(name, _)| name).chain(&sort.partition);
                self.with(names.map(|name| &**name))
            }
            Pipe::Stats(stats) => Self::of_aggregate(&stats.aggregate),
            Pipe::Top(top) => Self::of_aggregate(&top.aggregate),
            Pipe::Uniq(uniq) => Self::of_aggregate(&uniq.aggregate),
            Pipe::Custom(custom) => custom.pipe().needs(self),
        }
    }

    fn of_aggregate(aggregate: &Aggregate) -> Self {
        let mut needed = Self::none().with(aggregate.by.iter().map(|b| &*b.field));
        aggregate.for_each_field(&mut |pattern| needed.add(pattern));
        needed
    }

    /// No field.
    pub fn none() -> Self {
        Self::Only(Vec::new())
    }

    /// These, and the fields so named.
    pub fn with<'n>(mut self, names: impl IntoIterator<Item = &'n str>) -> Self {
        names.into_iter().for_each(|name| self.add(NamePattern::exact(name)));
        self
    }

    /// These, and the fields that a filter looks at.
    pub fn and_of(mut self, filter: &Filter) -> Self {
        filter.for_each_field(&mut |pattern| self.add(pattern));
        self
    }

    /// Adds those that a pattern means.
    pub fn add(&mut self, pattern: NamePattern) {
        match self {
            Self::All => {}
            Self::Only(_) if pattern.prefix && pattern.name.is_empty() => *self = Self::All,
            Self::Only(patterns) => patterns.push(pattern),
        }
    }

    /// Whether a field is needed.
    pub fn wants(&self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(patterns) => patterns.iter().any(|p| p.matches(name)),
        }
    }

    /// Whether a field is needed by its very name.
    pub fn names_exactly(&self, name: &str) -> bool {
        match self {
            Self::All => false,
            Self::Only(patterns) => patterns.iter().any(|p| !p.prefix && *p.name == *name),
        }
    }
}
