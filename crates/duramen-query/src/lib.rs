//! LogsQL over a Duramen store: text to plan to streaming, columnar execution.
//!
//! - [`parse`]: text to plan. Errors point at the column.
//! - [`filter`]: which rows; one file per kind of filter.
//! - [`pipe`]: what becomes of them; one file per kind of pipe.
//! - [`exec`]: running a plan over [blocks](duramen::block).
//!
//! The language is described, by examples that are tests, in `docs/logsql.md`.

pub mod bitmap;
pub mod delete;
mod entries;
pub mod error;
pub mod exec;
pub mod filter;
mod held_row;
mod json;
pub mod number;
pub mod order;
pub mod parse;
pub mod pipe;
pub mod query;
pub mod row;
pub mod series;
pub mod store;

pub use bitmap::Bitmap;
pub use delete::{DeleteByQuery, only_filter};
pub use error::{Error, ParseError, Result};
pub use exec::open::STREAM_ID;
pub use exec::written::{TakeText, Text, WriteRow};
pub use exec::{Cancel, Order, RunOptions, RunStats};
pub use parse::ParseOptions;
pub use query::Query;
pub use row::ResultRow;
pub use series::Series;
pub use store::{QueryError, QueryStore};
