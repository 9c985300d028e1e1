//! Rows of a query's answer as Parquet.
//!
//! A Parquet file says first which columns it has, and rows of logs have whatever fields they have. So a query is run
//! twice, on one view of the store: [`Columns`] sees all rows first, then [`ParquetWriter`] writes them.
//!
//! | values of a field | column |
//! |---|---|
//! | times of entries, in `_time` | `INT64`, `TIMESTAMP(NANOS, UTC)` |
//! | whole numbers of 64 bits | `INT64` |
//! | numbers | `DOUBLE`, if each whole one among them fits into it exactly |
//! | true and false | `BOOLEAN` |
//! | anything else, and what is mixed | `BYTE_ARRAY`, `STRING`: the text |
//!
//! All columns are optional; null is what a row does not have. They come in the order in which they were seen first. Pages
//! are compressed with zstd.

mod columns;
mod writer;

pub use columns::Columns;
pub use writer::ParquetWriter;

/// Why rows cannot be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A row has a field, or a value, that was not among those seen first.
    #[error("the field `{field}` is not as it was when the columns were looked for: the rows have changed")]
    Changed {
        /// The field.
        field: String,
    },
    /// There are more fields than a file is to have columns.
    #[error("there are more than {limit} fields: choose some, with the pipe `fields`")]
    TooManyColumns {
        /// How many columns there may be.
        limit: usize,
    },
    /// What is written to, or the encoder, has failed.
    #[error("cannot write Parquet: {0}")]
    Write(#[from] parquet::errors::ParquetError),
}

/// The result of writing.
pub type Result<T, E = Error> = std::result::Result<T, E>;
