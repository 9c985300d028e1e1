//! `detected_fields`, `detected_field/<name>/values`, `detected_labels`: what is in the lines, by looking at some.

use super::ask::{self, View, Wanted};
use super::labels::{DEFAULT_SPAN_NS, streams};
use super::numbers::Array;
use super::request::{Asked, LokiResult};
use crate::answer::{MEMBER_BYTES, OBJECT_BYTES, Room};
use crate::app::Shared;
use crate::auth::Access;
use axum::extract::{Path, State};
use axum::response::Response;
use axum::routing::get;
use axum::{Extension, Router};
use duramen_logql::{Entry, Origin, json_paths};
use duramen_query::number::parse_duration_ns;
use serde::Serialize;
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
    /// The keys that lead to it in lines of JSON.
    path: Option<Vec<String>>,
}

type Fields = BTreeMap<String, Field>;

/// The same for the answer.
#[derive(Serialize)]
struct Detected<'a> {
    label: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    cardinality: usize,
    parsers: Option<&'a BTreeSet<&'static str>>,
    #[serde(rename = "jsonPath", skip_serializing_if = "Option::is_none")]
    json_path: Option<&'a [String]>,
}

#[derive(Serialize)]
struct DetectedFields<F> {
    fields: F,
    limit: usize,
}

#[derive(Serialize)]
struct DetectedValues<V> {
    values: V,
    limit: usize,
}

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

/// Whether there is room for what is new.
fn see(fields: &mut Fields, entry: &Entry<'_>, room: &mut Room) -> ControlFlow<()> {
    let mut entry = entry.clone();
    let parser = entry.detect_fields();
    let mut paths = None;
    for (name, value, origin) in entry.all_labels().filter(|label| label.2 != Origin::Stream) {
        if !fields.contains_key(name) {
            room.take(OBJECT_BYTES + name.len())?;
        }
        let field = fields.entry(name.to_owned()).or_default();
        if origin == Origin::Parsed {
            field.parsers.extend(parser);
            if parser == Some("json") && field.path.is_none() {
                // Of keys that make the same label, the first counts.
                let paths: &mut BTreeMap<_, _> =
                    paths.get_or_insert_with(|| json_paths(&entry.line).into_iter().rev().collect());
                let bare = name.strip_suffix("_extracted").unwrap_or(name);
                field.path = paths.get(name).or_else(|| paths.get(bare)).cloned();
                let bytes: usize = field.path.iter().flatten().map(|key| MEMBER_BYTES + key.len()).sum();
                room.take(bytes)?;
            }
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
            room.take(MEMBER_BYTES + value.len())?;
            field.values.insert(value.to_owned());
        }
    }
    ControlFlow::Continue(())
}

fn wanted(app: &Shared, asked: &Asked) -> LokiResult<Wanted> {
    let (query, span) = (asked.log_query()?, asked.span(DEFAULT_SPAN_NS)?);
    let lines = asked.args.number("line_limit")?.unwrap_or(DEFAULT_LINES).clamp(1, MAX_LINES);
    let mut wanted = Wanted::new(app, query, span);
    wanted.options.limit = Some(lines as usize);
    Ok(wanted)
}

fn detect(view: &mut View<'_>, wanted: &Wanted) -> LokiResult<Fields> {
    let mut fields = Fields::new();
    view.entries(wanted, |entry, room| Ok(see(&mut fields, entry, room)))?;
    view.room.was_enough()?;
    Ok(fields)
}

async fn fields(
    State(app): State<Shared>,
    Extension(access): Extension<Access>,
    asked: Asked,
) -> LokiResult<Response> {
    let limit = asked.limit(DEFAULT_LIMIT)?;
    let wanted = wanted(&app, &asked)?;
    ask::answer(&app, &access, move |view| {
        let found = detect(view, &wanted)?;
        let fields = Array(|| {
            found.iter().take(limit).map(|(name, field)| Detected {
                label: name,
                kind: field.kind.unwrap_or("string"),
                cardinality: field.values.len(),
                parsers: Some(&field.parsers).filter(|parsers| !parsers.is_empty()),
                json_path: field.path.as_deref(),
            })
        });
        view.json(&DetectedFields { fields, limit })
    })
    .await
}

async fn values(
    State(app): State<Shared>,
    Extension(access): Extension<Access>,
    Path(name): Path<String>,
    asked: Asked,
) -> LokiResult<Response> {
    let limit = asked.limit(DEFAULT_LIMIT)?;
    let wanted = wanted(&app, &asked)?;
    ask::answer(&app, &access, move |view| {
        let found = detect(view, &wanted)?.remove(&name);
        let values = Array(|| found.iter().flat_map(|field| &field.values).take(limit));
        view.json(&DetectedValues { values, limit })
    })
    .await
}

async fn labels(
    State(app): State<Shared>,
    Extension(access): Extension<Access>,
    asked: Asked,
) -> LokiResult<Response> {
    let (query, span) = (asked.log_query()?.selector(), asked.span(DEFAULT_SPAN_NS)?);
    ask::answer(&app, &access, move |view| {
        let mut found: BTreeMap<Box<str>, BTreeSet<Box<str>>> = BTreeMap::new();
        for (name, value) in streams(view, &query, span, false)?.into_keys().flatten() {
            found.entry(name).or_default().insert(value);
        }
        let labels: Vec<Value> = found
            .iter()
            .map(|(name, values)| json!({ "label": name, "cardinality": values.len() }))
            .collect();
        view.json(&json!({ "detectedLabels": labels }))
    })
    .await
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
