//! What log shippers send, as entries.
//!
//! Each protocol is a decoder of whole bodies (or, where it is a stream, of its frames): bytes go in, [`Decoded`] takes
//! the entries, in batches that a [`duramen::Store`] appends. No decoder does input or output, knows the time, or
//! trusts a byte: what is malformed as a whole is an [`Error`], what is wrong with one row is a [`Rejection`] beside
//! the others, limits are kept before memory is taken, and no bytes make one panic.
//!
//! | module | what it reads |
//! |---|---|
//! | [`jsonline`] | VictoriaLogs' JSON lines; native objects, arrays and NDJSON |
//! | [`vlagent`] | VictoriaLogs' native rows |
//! | [`loki`] | Loki's push, protobuf and JSON |
//! | [`otlp`] | OpenTelemetry's logs, protobuf and JSON, and the replies |
//! | [`grpc`] | the frame around a gRPC message, and codes for errors |
//! | [`syslog`], [`framing`] | syslog messages, and how they are cut out of a stream |
//! | [`fluent`] | Fluent's forward protocol |
//! | [`gelf`] | Graylog's GELF, with chunks and packing |
//! | [`splunk`] | events for Splunk's HTTP collector |
//! | [`datadog`] | Datadog's logs API |
//! | [`journald`] | what `systemd-journal-upload` sends |
//! | [`elastic`] | Elasticsearch's `_bulk`, and its replies |
//!
//! All share what they give ([`decoded`]), what a request asks for beside its body ([`params`], [`treatment`]), and the
//! notations that bodies are written in: `json`, `protobuf` and `varint`, `msgpack`.
//!
//! Fields, levels and times are found as [`duramen_formats`] finds them, so that a line means the same whether it is
//! sent or read from a file.

pub mod datadog;
pub mod decoded;
pub mod elastic;
mod error;
pub mod fluent;
pub mod framing;
pub mod gelf;
pub mod grpc;
pub mod journald;
mod json;
pub mod jsonline;
mod level;
pub mod loki;
mod msgpack;
pub mod otlp;
pub mod params;
mod protobuf;
pub mod splunk;
pub mod syslog;
#[cfg(test)]
mod testing;
pub mod treatment;
mod varint;
pub mod vlagent;

pub use decoded::{Decoded, Limits, Rejected, Rejection};
pub use error::{Error, Result};
pub use params::Params;
pub use treatment::Treatment;
