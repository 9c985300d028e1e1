//! The names of functions and operators.

use crate::ast::{Comparison, Operation, Operator, RangeFunction};

impl RangeFunction {
    pub const NAMES: &[(&str, Self)] = &[
        ("count_over_time", Self::Count),
        ("rate", Self::Rate),
        ("bytes_rate", Self::BytesRate),
        ("bytes_over_time", Self::Bytes),
        ("sum_over_time", Self::Sum),
        ("avg_over_time", Self::Avg),
        ("min_over_time", Self::Min),
        ("max_over_time", Self::Max),
        ("first_over_time", Self::First),
        ("last_over_time", Self::Last),
        ("stddev_over_time", Self::Stddev),
        ("stdvar_over_time", Self::Stdvar),
        ("quantile_over_time", Self::Quantile),
        ("absent_over_time", Self::Absent),
        ("rate_counter", Self::RateCounter),
    ];

    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, f)| *f == self).map_or("", |(name, _)| name)
    }

    /// Whether it is of numbers in the lines, which `unwrap` gives.
    pub fn needs_unwrap(self) -> bool {
        self.takes_unwrap() && !matches!(self, Self::Rate | Self::Absent)
    }

    /// Whether it may be of such numbers.
    pub fn takes_unwrap(self) -> bool {
        !matches!(self, Self::Count | Self::BytesRate | Self::Bytes)
    }
}

impl Operation {
    pub const NAMES: &[(&str, Self)] = &[
        ("sum", Self::Sum),
        ("avg", Self::Avg),
        ("min", Self::Min),
        ("max", Self::Max),
        ("count", Self::Count),
        ("stddev", Self::Stddev),
        ("stdvar", Self::Stdvar),
        ("topk", Self::TopK),
        ("bottomk", Self::BottomK),
        ("sort", Self::Sort),
        ("sort_desc", Self::SortDesc),
    ];

    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, o)| *o == self).map_or("", |(name, _)| name)
    }
}

impl Comparison {
    pub fn name(self) -> &'static str {
        match self {
            Self::Eq => "==",
            Self::Ne => "!=",
            Self::Gt => ">",
            Self::Ge => ">=",
            Self::Lt => "<",
            Self::Le => "<=",
        }
    }
}

impl Operator {
    pub fn name(self) -> &'static str {
        match self {
            Self::Or => "or",
            Self::And => "and",
            Self::Unless => "unless",
            Self::Compare(comparison) => comparison.name(),
            Self::Add => "+",
            Self::Sub => "-",
            Self::Mul => "*",
            Self::Div => "/",
            Self::Mod => "%",
            Self::Pow => "^",
        }
    }
}
