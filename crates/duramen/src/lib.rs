//! Duramen, the durable log store.

pub mod block;
pub mod column;
pub mod entry;
pub mod error;
pub mod token;
pub mod value;

pub use entry::{EntryBuf, EntryRef};
pub use error::{Error, Result};
pub use value::{Level, Value, ValueKind};
