//! Lines of real systems to entries.
//!
//! Bytes go into an [`EntryReader`] in chunks of any size; entries come out of it into a [`Sink`], each with
//! the offset in the input up to which everything has been handed over, so that whoever stops there can go
//! on there. Nothing is dropped: a line that no format explains is kept whole as a plain message.
//!
//! | module | what it is |
//! |---|---|
//! | `options`, `report`, `format` | how an input is read; what was done, counted; the formats by name |
//! | [`reader`] | lines to events to entries: which format a line has, which lines belong together |
//! | [`lines`] | chunks to lines: line ends, over-long lines, offsets |
//! | [`detect`] | what the first lines of an input tell about the rest |
//! | [`event`] | which lines continue the event before them: stack traces, indentation |
//! | [`json`], [`logfmt`], [`syslog`], [`access`], [`plain`] | one format each |
//! | [`columns`], `container` | logs whose columns a header names; lines behind the head of a container's runtime |
//! | [`journal`] | systemd's journal export format |
//! | `aws`, `envoy`, `haproxy`, `squid`, `cef` | access logs of AWS, and of these proxies, read as access logs; CEF and LEEF, read as syslog |
//! | `words` | access logs whose lines are words in an order of their own: fields of such |
//! | `colors` | the escape sequences of terminals, which are no part of a line's words |
//! | [`time`] | time stamps as logs write them |
//! | [`level`], `letters` | levels as logs write them: words, and letters where a log has a place for them |
//! | [`rules`] | which fields a sender wants taken for time and message, left out, or added |
//! | [`fields`], `names`, `roles` | fields on their way into an entry: names said twice, and which are time, message and level |
//!
//! Messages: of a text format the message is the whole line, so that what `grep` finds, a search for a word
//! finds; what could be parsed is there as fields besides. Of a JSON line it is the field that holds it.

pub mod access;
mod aws;
mod cef;
mod colors;
pub mod columns;
mod container;
pub mod detect;
mod envoy;
pub mod event;
pub mod fields;
mod format;
mod haproxy;
pub mod journal;
pub mod json;
mod letters;
pub mod level;
pub mod lines;
pub mod logfmt;
mod names;
mod options;
pub mod plain;
pub mod reader;
mod report;
mod roles;
pub mod rules;
mod squid;
pub mod syslog;
#[cfg(test)]
mod testing;
pub mod time;
mod words;

pub use colors::decolorize;
pub use detect::{DETECT_BYTES, Detected, is_binary};
pub use format::{LineFormat, UnknownFormat};
pub use lines::{text_of, without_bom};
pub use names::Names;
pub use options::ReaderOptions;
pub use reader::{EntryReader, Sink};
pub use report::{FormatCounts, Report};
pub use roles::{LEVEL_FIELDS, MESSAGE_FIELDS, TIME_FIELDS};
pub use rules::{FieldRules, NameFilter};
pub use time::{StampParser, parse_timestamp};
