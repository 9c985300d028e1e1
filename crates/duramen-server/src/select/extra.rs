//! `extra_filters` and `extra_stream_filters`: what every entry of an answer must be, whatever the query says.

use super::args::Args;
use crate::error::{ApiError, ApiResult};
use crate::json::Members;
use duramen_query::filter::Filter;
use duramen_query::parse::quote::quote_always;
use serde_json::Value;
use std::borrow::Cow;

/// What the request says of it, whatever its time range.
///
/// # Errors
/// 400 for what is no filter, or has a query inside.
pub(super) fn also(args: &Args, now_ns: i64) -> ApiResult<Filter> {
    let mut also = Filter::All;
    for (name, of_streams) in [("extra_filters", false), ("extra_stream_filters", true)] {
        for text in args.all(name) {
            let extra = args.parse_within(&in_logsql(name, text, of_streams)?, now_ns, None)?;
            if !extra.pipes().is_empty() {
                return Err(ApiError::bad_request(format!("{name} holds a filter, and no pipes")));
            }
            // What a query in one of them finds would not be bound by the others.
            if extra.filter().has_subquery() {
                return Err(ApiError::bad_request(format!("{name} holds no queries inside a filter")));
            }
            also = also.and(extra.filter().clone());
        }
    }
    Ok(also)
}

/// A filter in LogsQL; or, as proxies write one that they put before each request, a JSON object of fields, each with the value,
/// or an array of the values, that it must have: as labels of the stream, if the filter is one `of_streams`. A name that is there
/// twice binds twice.
fn in_logsql<'t>(parameter: &str, text: &'t str, of_streams: bool) -> ApiResult<Cow<'t, str>> {
    let Ok(Members(fields)) = serde_json::from_str(text) else { return Ok(text.into()) };
    let mut parts = Vec::new();
    for (name, value) in &fields {
        let values = match value {
            Value::Array(values) => values.as_slice(),
            one => std::slice::from_ref(one),
        };
        let texts: Option<Vec<_>> = values.iter().map(Value::as_str).collect();
        let texts = texts.ok_or_else(|| {
            ApiError::bad_request(format!("{parameter}: `{name}` is neither text nor an array of texts"))
        })?;
        let between = if of_streams { " " } else { ":" };
        parts.push(format!("{}{between}{}", quote_always(name), one_of(&texts)));
    }
    Ok(match (&parts[..], of_streams) {
        ([], _) => "*".into(),
        (parts, false) => parts.join(" ").into(),
        (parts, true) => format!("{{{}}}", parts.join(", ")).into(),
    })
}

/// `in("a","b")`: behind a field and `:`, or behind a label.
pub(crate) fn one_of(values: &[&str]) -> String {
    let values: Vec<_> = values.iter().map(|value| quote_always(value)).collect();
    format!("in({})", values.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_there_twice_binds_twice() {
        for (name, text) in [
            ("extra_filters", r#"{"app":"a","app":["b","c"]}"#),
            ("extra_stream_filters", r#"{"app":"a","app":["b","c"]}"#),
        ] {
            let filter = also(&Args::of(&[(name, text)]), 0).unwrap().to_string();
            assert_eq!(filter.matches("app").count(), 2, "{filter}");
        }
    }
}
