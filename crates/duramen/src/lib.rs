//! Duramen, the durable log store.

pub mod block;
mod cbor;
pub mod column;
pub mod columnar;
mod decimal;
pub mod entry;
pub mod error;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
pub mod gram;
pub mod label_text;
pub mod logger;
mod narrow;
pub mod store;
mod strings;
pub mod token;
pub mod value;

pub use entry::{EntryBuf, EntryRef};
pub use error::{Error, Result};
pub use logger::{
    FieldBuf, FrontEnd, Line, Logger, LoggerBuilder, LoggerStats, OnFull, Record, Sink, SinkError,
};
pub use store::{
    Batch, BlockCache, CheckpointReport, DeleteReport, Durability, EntryId, Incidents, Retention,
    RetentionLines, RetentionRule, Snapshot, SourcePosition, Store, StoreOptions, StoreSize, StoreStats,
    StreamSelector, Tail, VerifyProgress, VerifyReport,
};
pub use value::{Level, Value, ValueKind};
