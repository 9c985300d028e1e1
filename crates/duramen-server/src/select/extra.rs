//! `extra_filters`: what every entry of an answer must be, whatever the query says.

use crate::error::{ApiError, ApiResult};
use duramen_query::parse::quote::quote_always;
use serde_json::{Map, Value};
use std::borrow::Cow;

/// A filter in LogsQL; or, as proxies write one that they put before each request, a JSON object of fields, each with the value,
/// or an array of the values, that it must have.
///
/// # Errors
/// 400 if a value of the object is something else.
pub(super) fn extra_filter(text: &str) -> ApiResult<Cow<'_, str>> {
    let Ok(fields) = serde_json::from_str::<Map<String, Value>>(text) else { return Ok(text.into()) };
    let wrong = |name: &str| {
        let told = format!("extra_filters: `{name}` is neither text nor an array of texts");
        ApiError::bad_request(told)
    };
    let mut filter = String::from("*");
    for (name, value) in &fields {
        let values = match value {
            Value::Array(values) => values.as_slice(),
            one => std::slice::from_ref(one),
        };
        let texts: Option<Vec<_>> = values.iter().map(Value::as_str).collect();
        let texts: Vec<_> = texts.ok_or_else(|| wrong(name))?.into_iter().map(quote_always).collect();
        filter.push_str(&format!(" {}:in({})", quote_always(name), texts.join(", ")));
    }
    Ok(filter.into())
}
