//! Which labels and values there are, and how often: counted by the store, from columns, without looking at rows.

use crate::labels::{DETECTED_LEVEL, SERVICE_NAME, UNKNOWN_SERVICE};
use crate::levels::level_name;
use crate::lexer::quote;
use crate::plan::sources;
use duramen::block::names;
use duramen_query::filter::Filter;
use duramen_query::{ParseError, ParseOptions, Query, ResultRow};
use std::collections::BTreeSet;

/// What no field is called that a label comes from.
const HITS: &str = "how many";
const BYTES: &str = "how long";

/// A query whose rows say, for each set of values of some labels, how many entries a filter finds ([`hits_of`]), and, if
/// asked, how many bytes their lines have ([`bytes_of`]). What the values are, [`label_of`] tells.
///
/// # Errors
/// Only if a label's name cannot be written in LogsQL, which none of letters, digits and `_` is.
pub fn count_by(filter: Filter, labels: &[&str], bytes: bool) -> Result<Query, ParseError> {
    let fields: BTreeSet<String> = labels.iter().flat_map(|label| sources(label)).collect();
    let fields: Vec<String> = fields.iter().map(|field| quote(field)).collect();
    counted(filter, &fields.join(", "), bytes)
}

/// The same for each stream, whose labels are in `_stream`: see [`stream_labels`](crate::stream_labels).
///
/// # Errors
/// None.
pub fn count_streams(filter: Filter, bytes: bool) -> Result<Query, ParseError> {
    counted(filter, names::STREAM, bytes)
}

/// The same as [`count_by`], for each bucket of time, whose start is in `_time`: so many nanoseconds long, and so many off
/// the grid of the epoch.
pub(crate) fn count_over_time(
    filter: Filter,
    labels: &[&str],
    bytes: bool,
    (size_ns, offset_ns): (i64, i64),
) -> Result<Query, ParseError> {
    let fields: BTreeSet<String> = labels.iter().flat_map(|label| sources(label)).collect();
    let fields: String = fields.iter().map(|field| format!(", {}", quote(field))).collect();
    counted(filter, &format!("{}:{size_ns}ns offset {offset_ns}ns{fields}", names::TIME), bytes)
}

fn counted(filter: Filter, by: &str, bytes: bool) -> Result<Query, ParseError> {
    let bytes = if bytes { format!(", sum_len({}) {}", names::MESSAGE, quote(BYTES)) } else { String::new() };
    let text = format!("* | stats by ({by}) count() {}{bytes}", quote(HITS));
    let counting = Query::parse(&text, &ParseOptions::default())?;
    Ok(Query::new(filter, counting.pipes().to_vec(), None))
}

/// How many entries a row of these queries counts.
pub fn hits_of(row: &ResultRow) -> u64 {
    number_of(row, HITS)
}

/// How many bytes their lines have; 0 if the query was not asked for them.
pub fn bytes_of(row: &ResultRow) -> u64 {
    number_of(row, BYTES)
}

fn number_of(row: &ResultRow, name: &str) -> u64 {
    row.get(name).and_then(|n| n.parse().ok()).unwrap_or(0)
}

/// The value of a label in a row of [`count_by`], which was asked for it; `None` if the entries do not have it.
pub fn label_of(row: &ResultRow, label: &str) -> Option<String> {
    let fields = sources(label);
    let of = |fields: &[String]| {
        fields.iter().find_map(|field| row.get(field).filter(|value| !value.is_empty()).map(str::to_string))
    };
    match label {
        SERVICE_NAME => Some(of(&fields).unwrap_or_else(|| UNKNOWN_SERVICE.into())),
        // The last is the entry's level, the others are fields that are called so.
        DETECTED_LEVEL => fields
            .split_last()
            .map(|(level, own)| of(own).unwrap_or_else(|| level_name(row.get(level).unwrap_or("")).into())),
        _ => of(&fields),
    }
}
