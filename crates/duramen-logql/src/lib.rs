//! LogQL over a Duramen store: text to plan to streaming execution.
//!
//! | module | what it is |
//! |---|---|
//! | `lexer`, `parse` | text to tree; errors point at the column |
//! | `ast`, `show` | the tree, and as text again |
//! | `labels`, `levels` | an entry as LogQL sees it: a line, and labels made of its fields |
//! | `spellings` | which fields a label may be |
//! | `plan` | what of a query becomes a [`Filter`](duramen_query::filter::Filter), which the store answers |
//! | `stage`, `pattern`, `template`, `ip` | what is done row by row |
//! | `query`, `log` | queries of either kind; those for lines |
//! | `census` | which labels and values there are, and how often: LogsQL's counting, by labels |
//! | `metric` | queries for numbers: windows over time, aggregations, arithmetic |
//!
//! The language is described, by examples that are tests, in `docs/logql.md`.
//!
//! ```
//! use duramen_logql::LogQl;
//! let query = LogQl::parse("sum by (app) (rate({env=\"prod\"} |= `error` [5m]))")?;
//! assert_eq!(query.to_string(), "sum by (app) (rate({env=\"prod\"} |= \"error\" [5m]))");
//! assert!(matches!(query, LogQl::Metric(_)));
//! # Ok::<(), duramen_query::ParseError>(())
//! ```

mod ast;
mod census;
mod error;
mod ip;
mod labels;
mod levels;
mod lexer;
mod log;
mod metric;
mod names;
mod parse;
mod pattern;
mod plan;
mod query;
mod show;
mod spellings;
mod stage;
mod template;
mod units;

pub use census::{bytes_of, count_by, count_streams, hits_of, label_of};
pub use error::{Error, Result};
pub use labels::{Entry, Label, Origin, stream_labels};
pub use log::LogQuery;
pub use metric::{Answer, LabelSet, Limits, MAX_STEPS, MetricQuery, Series, Steps};
pub use query::LogQl;
pub use stage::json_paths::json_paths;
pub use units::format_value;
