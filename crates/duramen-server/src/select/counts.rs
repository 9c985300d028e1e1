//! Names and values, and how many entries have each: what auto-completion and sidebars ask for.

use super::args::Args;
use crate::answer::{MEMBER_BYTES, Question, Room, gather};
use crate::app::Shared;
use crate::auth::Access;
use crate::error::{ApiError, ApiResult};
use crate::json::text_of;
use axum::Extension;
use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::{MethodRouter, get};
use duramen::block::names;
use duramen::label_text::Labels;
use duramen_query::ResultRow;
use serde::Serialize;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

pub(super) fn routes() -> Router<Shared> {
    let counting = |what: What| -> MethodRouter<Shared> {
        let answer = move |State(app): State<Shared>, Extension(access): Extension<Access>, args: Args| async move {
            counts(&app, &access, &args, what).await
        };
        get(answer).post(answer)
    };
    Router::new()
        .route("/select/logsql/field_names", counting(What::FieldNames))
        .route("/select/logsql/field_values", counting(What::FieldValues))
        .route("/select/logsql/streams", counting(What::Streams))
        .route("/select/logsql/stream_ids", counting(What::StreamIds))
        .route("/select/logsql/stream_field_names", counting(What::StreamFieldNames))
        .route("/select/logsql/stream_field_values", counting(What::StreamFieldValues))
}

#[derive(Clone, Copy, Debug)]
enum What {
    FieldNames,
    FieldValues,
    Streams,
    StreamIds,
    StreamFieldNames,
    StreamFieldValues,
}

#[derive(Serialize)]
struct Answer {
    values: Vec<Counted>,
}

#[derive(Serialize)]
struct Counted {
    value: String,
    hits: u64,
}

/// `{"values":[{"value":…,"hits":…}]}`, the most frequent first: those that contain `filter`, at most `limit`. With
/// `ignore_pipes`, of all entries that the query's filter finds: completion asks about queries that are not whole yet.
///
/// Of a field with so many values that counting them takes more memory than a query may have, `limit` of them are told
/// without their hits: completion is to have some.
async fn counts(app: &Shared, access: &Access, args: &Args, what: What) -> ApiResult<Response> {
    let limit = args.number("limit")?.filter(|limit| *limit > 0);
    let limit = limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    let name = match what {
        What::FieldValues | What::StreamFieldValues => Some(args.need("field")?),
        _ => None,
    };
    let by = match what {
        What::FieldNames => None,
        What::FieldValues => name,
        What::StreamIds => Some("_stream_id"),
        What::Streams | What::StreamFieldNames | What::StreamFieldValues => Some("_stream"),
    };
    let (pipe, count) = match by {
        None => ("field_names".to_owned(), "hits".to_owned()),
        Some(field) => {
            let count = super::count_of(&[field.to_owned()]);
            (format!("stats by ({}) count() {}", quoted(field), quoted(&count)), count)
        }
    };
    let by = by.unwrap_or("name").to_owned();
    let (part, field) = (args.get("filter").unwrap_or_default(), quoted(&by));
    let is_limited = matches!(what, What::FieldValues) && limit < usize::MAX && by != names::TIME;
    // One of them may be the empty value, which is not told.
    let most = limit.saturating_add(1);
    let asked = |pipe: &str| -> ApiResult<Question> {
        match args.says("ignore_pipes") {
            true => args.question_of(app, args.filter_with(app, pipe)?),
            false => args.question(app, pipe),
        }
    };
    let answered = async |question: Question| {
        let (by, count) = (by.clone(), count.clone());
        let each = move |found: &mut BTreeMap<String, u64>, row: &ResultRow, room: &mut Room| {
            let hits = row.get(&count).and_then(|hits| hits.parse().ok()).unwrap_or(0);
            let value = row.get(&by).unwrap_or_default();
            room.take(MEMBER_BYTES + 3 * value.len())?;
            *found.entry(value.to_owned()).or_default() += hits;
            ControlFlow::Continue(())
        };
        let (name, part) = (name.map(str::to_owned), part.to_owned());
        let answer = move |found| answer(found, what, name.as_deref(), &part, limit);
        gather(app, access, question, BTreeMap::new, each, answer).await
    };
    if !is_limited {
        return answered(asked(&pipe)?).await;
    }
    let of_part =
        if part.is_empty() { String::new() } else { format!("filter {field}:*{}* | ", quoted(part)) };
    let first = format!("{of_part}{pipe} | sort by ({} desc, {field}) limit {most}", quoted(&count));
    let began = app.env.clock.monotonic();
    match answered(asked(&first)?).await {
        Err(e) if e.status == StatusCode::UNPROCESSABLE_ENTITY => {
            let mut second = asked(&format!("{of_part}uniq by ({field}) limit {most}"))?;
            // Both together may take as long as one.
            let took = app.env.clock.monotonic().saturating_sub(began);
            second.timeout = second.timeout.saturating_sub(took);
            answered(second).await
        }
        answered => answered,
    }
}

fn answer(
    found: BTreeMap<String, u64>,
    what: What,
    name: Option<&str>,
    part: &str,
    limit: usize,
) -> ApiResult<Vec<u8>> {
    let counted: BTreeMap<String, u64> = match what {
        What::FieldNames | What::FieldValues => {
            found.into_iter().filter(|(value, _)| !value.is_empty()).collect()
        }
        What::Streams | What::StreamIds => found
            .into_iter()
            .map(|(value, hits)| (if value.is_empty() { "{}".into() } else { value }, hits))
            .collect(),
        What::StreamFieldNames | What::StreamFieldValues => {
            let mut counted = BTreeMap::new();
            for (stream, hits) in found {
                for (label, value) in Labels::of(&stream) {
                    match name {
                        None => *counted.entry(label.into_owned()).or_default() += hits,
                        Some(wanted) if *wanted == *label => {
                            *counted.entry(value.into_owned()).or_default() += hits
                        }
                        Some(_) => {}
                    }
                }
            }
            counted
        }
    };
    let mut counted: Vec<_> = counted.into_iter().filter(|(value, _)| value.contains(part)).collect();
    counted.sort_by(|(a, n), (b, m)| m.cmp(n).then_with(|| a.cmp(b)));
    counted.truncate(limit);
    let values = counted.into_iter().map(|(value, hits)| Counted { value, hits }).collect();
    text_of(&Answer { values })
}

/// A field's name, as a query may hold it.
pub(super) fn quoted(name: &str) -> String {
    serde_json::Value::from(name).to_string()
}

/// The names of fields that a parameter holds, each to stand in a query.
///
/// # Errors
/// 400 if there are more than a query should group by.
pub(super) fn fields_of(args: &Args, parameter: &str) -> ApiResult<Vec<String>> {
    const MOST: usize = 16;
    let names: Vec<_> =
        args.all(parameter).flat_map(|names| names.split(',')).map(|name| name.trim().to_owned()).collect();
    if names.len() > MOST {
        return Err(ApiError::bad_request(format!(
            "`{parameter}` names {} fields; at most {MOST}",
            names.len()
        )));
    }
    Ok(names)
}
