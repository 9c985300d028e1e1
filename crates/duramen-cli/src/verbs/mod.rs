//! One module a verb. Each has a `run` that takes the verb's arguments and gives the exit code.

pub(crate) mod completions;
pub(crate) mod delete;
pub(crate) mod doctor;
pub(crate) mod engine;
pub(crate) mod generate;
#[cfg(feature = "server")]
pub(crate) mod health;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub(crate) mod import;
pub(crate) mod ingest;
#[cfg(feature = "parquet")]
mod parquet;
pub(crate) mod progress;
pub(crate) mod query;
pub(crate) mod repair;
pub(crate) mod retention;
#[cfg(feature = "server")]
pub(crate) mod serve;
mod show;
pub(crate) mod snapshot;
pub(crate) mod stats;
pub(crate) mod tail;
#[cfg(feature = "server")]
pub(crate) mod token;
pub(crate) mod verify;
