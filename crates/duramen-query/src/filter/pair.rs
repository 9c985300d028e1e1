//! `a:eq_field(b)`, `a:le_field(b)`, `a:lt_field(b)`: two fields of a row compared.

use crate::order::SortKey;
use crate::parse::quote;
use std::fmt;

/// How one value stands to the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// The same text.
    Equal,
    /// Not after it, in the order of `sort`.
    AtMost,
    /// Before it, in the order of `sort`.
    Below,
}

impl Relation {
    /// By the name of its filter.
    pub const NAMES: [(&'static str, Self); 3] =
        [("eq_field", Self::Equal), ("le_field", Self::AtMost), ("lt_field", Self::Below)];

    /// Whether `left` stands so to `right`.
    pub fn holds(self, left: &str, right: &str) -> bool {
        match self {
            Self::Equal => left == right,
            Self::AtMost => SortKey::new(left) <= SortKey::new(right),
            Self::Below => SortKey::new(left) < SortKey::new(right),
        }
    }
}

/// A comparison of two fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The field before the colon.
    pub left: Box<str>,
    /// The field in the parentheses.
    pub right: Box<str>,
    /// What must hold between them.
    pub relation: Relation,
}

impl fmt::Display for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Relation::NAMES.iter().find(|(_, r)| *r == self.relation).map_or("", |(name, _)| name);
        write!(f, "{}:{name}({})", quote(&self.left), quote(&self.right))
    }
}
