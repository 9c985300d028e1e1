//! Showing what came of a line, for tests.
#![allow(clippy::unwrap_used)] // all of this is test code

use duramen::{EntryBuf, EntryRef};

/// An entry's time in ms, and its fields.
pub(crate) fn shown(entry: &mut EntryBuf) -> String {
    let entry = EntryRef::decode(entry.finish().unwrap()).unwrap();
    format!("{} {}", entry.time / 1_000_000, fields_of(&entry))
}

/// An entry's fields, as `name=value`.
pub(crate) fn fields_of(entry: &EntryRef<'_>) -> String {
    let fields: Vec<_> = entry.fields().map(|(name, value)| format!("{name}={value:?}")).collect();
    fields.join(" ")
}
