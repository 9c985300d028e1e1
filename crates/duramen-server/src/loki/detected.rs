//! `detected_fields`, `detected_field/<name>/values`, `detected_labels`: what is in the lines, by looking at some.

use super::ask::{self, Wanted};
use super::labels::{DEFAULT_SPAN_NS, streams};
use super::request::{Asked, LokiResult};
use crate::app::Shared;
use crate::auth::Access;
use crate::json::ok;
use axum::extract::{Path, State};
use axum::response::Response;
use axum::routing::get;
use axum::{Extension, Router};
use duramen_logql::{Entry, Origin};
use duramen_query::number::parse_duration_ns;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

/// How many lines are looked at if the request does not say.
const DEFAULT_LINES: u64 = 1_000;
/// The most lines that are looked at.
const MAX_LINES: u64 = 100_000;
/// How many fields or values are told of if the request does not say.
const DEFAULT_LIMIT: usize = 1_000;
/// How many different values of a field are remembered.
const MAX_VALUES: usize = 1_000;

pub(super) fn routes() -> Router<Shared> {
    Router::new()
        .route("/loki/api/v1/detected_fields", get(fields).post(fields))
        .route("/loki/api/v1/detected_field/{name}/values", get(values).post(values))
        .route("/loki/api/v1/detected_labels", get(labels).post(labels))
}

/// What is known of a field.
#[derive(Debug, Default)]
struct Field {
    values: BTreeSet<String>,
    parsers: BTreeSet<&'static str>,
    kind: Option<&'static str>,
}

type Fields = BTreeMap<String, Field>;

/// What a value looks like, as Loki names it.
fn kind_of(value: &str) -> &'static str {
    let size = |text: &str| {
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let unit = &text[digits.len()..];
        digits.parse::<f64>().is_ok()
            && matches!(unit, "B" | "KB" | "MB" | "GB" | "TB" | "KiB" | "MiB" | "GiB" | "TiB" | "kB")
    };
    if value.parse::<i64>().is_ok() {
        "int"
    } else if value.parse::<f64>().is_ok() {
        "float"
    } else if matches!(value, "true" | "false") {
        "boolean"
    } else if parse_duration_ns(value).is_some() {
        "duration"
    } else if size(value) {
        "bytes"
    } else {
        "string"
    }
}

fn see(fields: &mut Fields, entry: &Entry<'_>) {
    let mut entry = entry.clone();
    let parser = entry.detect_fields();
    for (name, value, origin) in entry.all_labels().filter(|label| label.2 != Origin::Stream) {
        let field = fields.entry(name.to_owned()).or_default();
        if origin == Origin::Parsed {
            field.parsers.extend(parser);
        }
        let kind = kind_of(value);
        field.kind = Some(match field.kind {
            Some(known) if known != kind => {
                if matches!((known, kind), ("int", "float") | ("float", "int")) {
                    "float"
                } else {
                    "string"
                }
            }
            _ => kind,
        });
        if field.values.len() < MAX_VALUES && !field.values.contains(value) {
            field.values.insert(value.to_owned());
        }
    }
}

async fn detect(app: &Shared, access: &Access, asked: &Asked) -> LokiResult<Fields> {
    let (query, span) = (asked.log_query()?, asked.span(DEFAULT_SPAN_NS)?);
    let lines = asked.args.number("line_limit")?.unwrap_or(DEFAULT_LINES).clamp(1, MAX_LINES);
    let mut wanted = Wanted::new(app, query, span);
    wanted.options.limit = Some(lines as usize);
    let found = ask::entries(app, access, wanted, Fields::new(), |fields, entry| {
        see(fields, entry);
        Ok(ControlFlow::Continue(()))
    });
    Ok(found.await?.0)
}

async fn fields(
    State(app): State<Shared>,
    Extension(access): Extension<Access>,
    asked: Asked,
) -> LokiResult<Response> {
    let limit = asked.limit(DEFAULT_LIMIT)?;
    let found = detect(&app, &access, &asked).await?;
    let fields: Vec<Value> = found
        .into_iter()
        .take(limit)
        .map(|(name, field)| {
            let parsers = if field.parsers.is_empty() { Value::Null } else { json!(field.parsers) };
            json!({
                "label": name,
                "type": field.kind.unwrap_or("string"),
                "cardinality": field.values.len(),
                "parsers": parsers,
            })
        })
        .collect();
    Ok(ok(&json!({ "fields": fields, "limit": limit })))
}

async fn values(
    State(app): State<Shared>,
    Extension(access): Extension<Access>,
    Path(name): Path<String>,
    asked: Asked,
) -> LokiResult<Response> {
    let limit = asked.limit(DEFAULT_LIMIT)?;
    let found = detect(&app, &access, &asked).await?.remove(&name);
    let values: Vec<String> = found.into_iter().flat_map(|field| field.values).take(limit).collect();
    Ok(ok(&json!({ "values": values, "limit": limit })))
}

async fn labels(
    State(app): State<Shared>,
    Extension(access): Extension<Access>,
    asked: Asked,
) -> LokiResult<Response> {
    let (query, span) = (asked.log_query()?.selector(), asked.span(DEFAULT_SPAN_NS)?);
    let mut found: BTreeMap<Box<str>, BTreeSet<Box<str>>> = BTreeMap::new();
    for (name, value) in streams(&app, &access, &query, span, false).await?.into_keys().flatten() {
        found.entry(name).or_default().insert(value);
    }
    let labels: Vec<Value> =
        found.iter().map(|(name, values)| json!({ "label": name, "cardinality": values.len() })).collect();
    Ok(ok(&json!({ "detectedLabels": labels })))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_seen() {
        for (value, kind) in [
            ("5", "int"),
            ("5.5", "float"),
            ("true", "boolean"),
            ("5ms", "duration"),
            ("5KB", "bytes"),
            ("five", "string"),
            ("", "string"),
        ] {
            assert_eq!(kind_of(value), kind, "{value}");
        }
    }
}
