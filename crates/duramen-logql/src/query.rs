//! A query of either kind.

use crate::ast::Expr;
use crate::log::LogQuery;
use crate::metric::MetricQuery;
use crate::parse;
use duramen_query::ParseError;
use std::fmt;

/// A query, read and ready to run, any number of times and on any number of threads at once. Its
/// [`Display`](fmt::Display) is LogQL again, written in one way.
#[derive(Clone, Debug, PartialEq)]
pub enum LogQl {
    /// It asks for log lines.
    Log(LogQuery),
    /// It asks for numbers.
    Metric(MetricQuery),
}

impl LogQl {
    /// Reads LogQL.
    ///
    /// # Errors
    /// [`ParseError`], which says where and what was expected.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        Ok(match parse::parse(text)? {
            Expr::Log(expr) => Self::Log(LogQuery::new(expr)),
            Expr::Metric(expr) => Self::Metric(MetricQuery::new(expr)),
        })
    }
}

impl fmt::Display for LogQl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Log(query) => query.fmt(f),
            Self::Metric(query) => query.fmt(f),
        }
    }
}
