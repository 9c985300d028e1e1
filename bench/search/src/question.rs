//! A query, as LogsQL and as each peer needs to know it, and answers that can be compared.

use crate::Result;
use jiff::{Timestamp, ToSpan};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// A query, and how its answers are compared.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    pub(crate) name: &'static str,
    /// For peers without LogsQL.
    pub(crate) what: What,
    /// LogsQL.
    pub(crate) query: String,
    /// The query for a report, without values of lines that are not to be shown.
    pub(crate) shown: String,
    pub(crate) limit: Option<u64>,
    /// Values of the answer that may differ a little: estimates of quantiles.
    pub(crate) about: bool,
    /// Rows of the oldest time of an answer are not compared: others of that time may have been left out.
    pub(crate) oldest_may_differ: bool,
}

impl Question {
    pub(crate) fn new(name: &'static str, what: What, query: &str) -> Self {
        let (query, shown) = (query.to_owned(), query.to_owned());
        Self { name, what, query, shown, limit: None, about: false, oldest_may_differ: false }
    }

    /// In LogsQL alone; a value of the lines, which is not shown, stands for `{}`.
    pub(crate) fn any(name: &'static str, query: &str, value: &str) -> Self {
        let shown = query.replace("{}", "…");
        Self { shown, ..Self::new(name, What::OnlyLogsQl, &query.replace("{}", value)) }
    }

    /// The newest 100 rows of the answer.
    pub(crate) fn newest_100(self) -> Self {
        Self { limit: Some(100), oldest_may_differ: true, ..self }
    }
}

/// What a query asks for. Lines are answered with `_time` and `_msg`, counts as `n`.
#[derive(Clone, Debug)]
pub(crate) enum What {
    CountAll,
    /// The lines that have these words in their text.
    Phrase(&'static str),
    CountWord(&'static str),
    /// The newest 100 lines of level `error` and app `checkout`.
    ErrorsOfCheckout(Span),
    /// Lines by half hours and `level`.
    Histogram,
    /// The ten paths with the most lines of status 500 and above.
    TopPaths,
    /// `p50` and `p99` of `duration_ms` by `app`.
    Quantiles,
    /// The count of lines whose text matches; the glob says almost the same.
    Regexp {
        span: Span,
        regexp: &'static str,
        glob: &'static str,
    },
    /// The count of lines that have it in their text, upper case or lower.
    Substring(&'static str),
    Field {
        name: &'static str,
        value: String,
    },
    /// The newest 100 lines.
    Newest,
    /// What this statement says, in which `{logs}` stands for the table.
    Sql(&'static str),
    /// What peers without it cannot tell.
    OnlyLogsQl,
}

/// A time range.
#[derive(Clone, Debug)]
pub(crate) struct Span {
    /// Nanoseconds since 1970, without the end.
    pub(crate) from_ns: i128,
    pub(crate) to_ns: i128,
    /// How a line's `_time` begins that lies in it: a regular expression.
    pub(crate) prefix: String,
}

impl Span {
    /// So many hours from this one on, which is written as in `2026-01-05T06`; a regular expression for their numbers.
    pub(crate) fn of_hours(first: &str, hours: i64, numbers: &str) -> Result<Self> {
        let from: Timestamp = format!("{first}:00:00Z").parse()?;
        let to = from.checked_add(hours.hours())?;
        let prefix = format!("{}{numbers}:", &first[..11]);
        Ok(Self { from_ns: from.as_nanosecond(), to_ns: to.as_nanosecond(), prefix })
    }
}

/// A row of an answer, as text. An empty value is as none; times are nanoseconds since 1970.
pub(crate) type Row = BTreeMap<String, String>;

/// An answer, timed from the question to its last byte.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) took_ms: f64,
    pub(crate) rows: Vec<Row>,
}

impl Answer {
    /// Sorts the rows: peers answer in an order of their own.
    pub(crate) fn new(took: std::time::Duration, mut rows: Vec<Row>) -> Self {
        rows.sort();
        Self { took_ms: took.as_secs_f64() * 1e3, rows }
    }
}

/// The rows of NDJSON.
pub(crate) fn rows_of(text: &str) -> Result<Vec<Row>> {
    let row = |line: &str| {
        let row: BTreeMap<String, Value> = serde_json::from_str(line)?;
        row_of(row.into_iter().map(|(name, value)| match value {
            Value::String(text) => (name, text),
            Value::Null => (name, String::new()),
            value => (name, value.to_string()),
        }))
    };
    text.lines().map(row).collect()
}

/// A row of names and values.
pub(crate) fn row_of(values: impl Iterator<Item = (String, String)>) -> Result<Row> {
    let mut row = Row::new();
    // Each server names streams in its own way.
    for (name, mut text) in values.filter(|(name, text)| !text.is_empty() && name != "_stream_id") {
        if name == "_time" && text.contains('T') {
            text = text.parse::<Timestamp>()?.as_nanosecond().to_string();
        }
        row.insert(name, text);
    }
    Ok(row)
}

/// What differs from the first peer's rows, if something does.
pub(crate) fn difference(question: &Question, first: &[Row], other: &[Row]) -> Option<String> {
    if first.len() != other.len() {
        return Some(format!("{} rows : {} rows", first.len(), other.len()));
    }
    let oldest = if question.oldest_may_differ { first.iter().filter_map(time_of).min() } else { None };
    let is_told = |row: &&Row| oldest.is_none() || time_of(row) != oldest;
    if first.iter().filter(is_told).count() != other.iter().filter(is_told).count() {
        return Some("rows of other times".to_owned());
    }
    for (a, b) in first.iter().filter(is_told).zip(other.iter().filter(is_told)) {
        let differs = |name: &&String| match (a.get(*name), b.get(*name)) {
            (Some(x), Some(y)) => x != y && !(question.about && is_about(x, y)),
            // Duramen reads a level from the text where the sender named none.
            (Some(_), None) => *name != "level",
            (None, _) => true,
        };
        let names: BTreeSet<_> = a.keys().chain(b.keys()).filter(differs).collect();
        if !names.is_empty() {
            let of = |row: &Row| {
                names.iter().map(|name| format!("{name}={:?}", row.get(*name))).collect::<Vec<_>>().join(", ")
            };
            return Some(format!("{} : {}", of(a), of(b)));
        }
    }
    None
}

fn time_of(row: &Row) -> Option<i128> {
    row.get("_time")?.parse().ok()
}

fn is_about(a: &str, b: &str) -> bool {
    match (a.parse::<f64>(), b.parse::<f64>()) {
        (Ok(a), Ok(b)) => (a - b).abs() <= 0.05 * a.abs().max(b.abs()),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_the_same_however_they_are_written() {
        let of = |text| rows_of(text).unwrap();
        let a = of(r#"{"_time":"2026-01-05T00:00:00.139410020Z","x":"1","y":""}"#);
        assert_eq!(a, of(r#"{"_time":"2026-01-05T00:00:00.13941002Z","x":1,"y":null}"#));
        assert_eq!(a, of(r#"{"_time":1767571200139410020,"x":1}"#));
    }

    #[test]
    fn answers_differ_by_rows_and_by_values() {
        let mut question = Question::new("", What::CountAll, "");
        let of = |text| rows_of(text).unwrap();
        assert!(difference(&question, &of(r#"{"n":1}"#), &[]).is_some());
        assert!(difference(&question, &of(r#"{"n":100}"#), &of(r#"{"n":101}"#)).is_some());
        assert!(difference(&question, &of(r#"{"n":100}"#), &of(r#"{"n":100}"#)).is_none());
        question.about = true;
        assert!(difference(&question, &of(r#"{"n":100}"#), &of(r#"{"n":101}"#)).is_none());
        assert!(difference(&question, &of(r#"{"n":100}"#), &of(r#"{"n":110}"#)).is_some());
    }

    #[test]
    fn rows_of_the_oldest_time_may_differ_where_an_answer_is_cut_there() {
        let rows = |texts: [&str; 3]| {
            let row = |(i, text): (usize, &str)| {
                Row::from([
                    ("_time".to_owned(), i.div_ceil(2).to_string()),
                    ("_msg".to_owned(), text.to_owned()),
                ])
            };
            texts.into_iter().enumerate().map(row).collect::<Vec<_>>()
        };
        let question = Question::new("", What::Newest, "*").newest_100();
        assert!(difference(&question, &rows(["a", "b", "c"]), &rows(["x", "b", "c"])).is_none());
        assert!(difference(&question, &rows(["a", "b", "c"]), &rows(["a", "b", "x"])).is_some());
    }

    #[test]
    fn a_span_ends_where_the_next_hour_begins() {
        let span = Span::of_hours("2026-01-05T06", 6, "(0[6-9]|1[01])").unwrap();
        assert_eq!(span.from_ns, 1_767_592_800_000_000_000);
        assert_eq!(span.to_ns - span.from_ns, 6 * 3_600_000_000_000);
        assert_eq!(span.prefix, "2026-01-05T(0[6-9]|1[01]):");
    }
}
