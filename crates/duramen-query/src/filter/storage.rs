//! `user_id:value_type(dict)`: how a block holds a field, for those who look into what costs space.

use crate::parse::quote;
use duramen::column::ColumnData;
use std::fmt;

/// How the values of a field lie in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StorageKind {
    /// One value for all rows.
    Const,
    /// Few values, and a number for each row.
    Dict,
    /// Integers.
    Int64,
    /// Decimal fractions.
    Float64,
    /// Texts.
    String,
}

impl StorageKind {
    /// All, by name.
    pub const NAMES: [(&'static str, Self); 5] = [
        ("const", Self::Const),
        ("dict", Self::Dict),
        ("int64", Self::Int64),
        ("float64", Self::Float64),
        ("string", Self::String),
    ];

    /// That of a column.
    pub fn of(data: &ColumnData) -> Self {
        match data {
            ColumnData::Const(_) => Self::Const,
            ColumnData::Dict { .. } => Self::Dict,
            ColumnData::Int { .. } => Self::Int64,
            ColumnData::Decimal { .. } => Self::Float64,
            ColumnData::Text { .. } => Self::String,
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, kind)| *kind == self).map_or("", |(name, _)| name)
    }
}

/// Rows whose block holds a field so. A field that no row of a block has is held in no way; rows that come out of
/// pipes hold texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Storage {
    /// The field.
    pub field: Box<str>,
    /// How.
    pub kind: StorageKind,
}

impl fmt::Display for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:value_type({})", quote(&self.field), self.kind.name())
    }
}
