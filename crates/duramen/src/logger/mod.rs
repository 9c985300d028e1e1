//! The direct logger: a program's own lines, straight into a store.

mod record;
mod sink;

pub use record::Record;
pub use sink::{Sink, SinkError};
