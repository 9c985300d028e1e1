//! How answers look.
//!
//! | module | what it does |
//! |---|---|
//! | [`terminal`] | one log entry as a person reads it: time, level, message, then the rest, dim |
//! | [`table`] | aligned columns, for answers that are not log entries |
//! | [`rows`] | the rows of an answer to stdout, in the form that was asked for |
//! | [`color`] | whether to use colour, and the styles |
//! | [`escape`] | makes text of strangers harmless on a terminal |
//! | [`units`] | numbers, bytes and durations for people |

pub(crate) mod color;
pub(crate) mod escape;
pub(crate) mod rows;
pub(crate) mod table;
pub(crate) mod terminal;
pub(crate) mod units;
