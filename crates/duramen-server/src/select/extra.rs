//! `extra_filters`: what every entry of an answer must be, whatever the query says.

use crate::error::{ApiError, ApiResult};
use duramen_query::parse::quote::quote_always;
use serde_json::{Map, Value};
use std::borrow::Cow;

/// A filter in LogsQL; or, as proxies write one that they put before each request, a JSON object of fields, each with the value,
/// or an array of the values, that it must have: as labels of the stream, if the filter is one `of_streams`.
///
/// # Errors
/// 400 if a value of the object is something else.
pub(super) fn extra_filter<'t>(parameter: &str, text: &'t str, of_streams: bool) -> ApiResult<Cow<'t, str>> {
    let Ok(fields) = serde_json::from_str::<Map<String, Value>>(text) else { return Ok(text.into()) };
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
        let texts: Vec<_> = texts.into_iter().map(quote_always).collect();
        let colon = if of_streams { " " } else { ":" };
        parts.push(format!("{}{colon}in({})", quote_always(name), texts.join(", ")));
    }
    Ok(match (&parts[..], of_streams) {
        ([], _) => "*".into(),
        (parts, false) => parts.join(" ").into(),
        (parts, true) => format!("{{{}}}", parts.join(", ")).into(),
    })
}
