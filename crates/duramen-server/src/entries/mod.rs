//! Entries for applications' own pages: lists that go on where they ended, one by its identity, search, facets, and what
//! happened in a request or a job. The paths and shapes are those that log viewers inside of web applications know.
//!
//! | module | what it does |
//! |---|---|
//! | [`find`] | the newest entries that a filter finds, each with its identity |
//! | [`filters`] | parameters to a filter |
//! | [`timeline`] | what has one value in a field, in order |

mod filters;
mod find;
mod timeline;

use crate::answer::{OBJECT_BYTES, Room, gather};
use crate::app::Shared;
use crate::auth::Access;
use crate::error::{ApiError, ApiResult};
use crate::json::{ok, text_of};
use crate::select::args::Args;
use crate::select::count_of;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::{get, post};
use axum::{Extension, Router};
use duramen_query::ResultRow;
use filters::filter_of;
use find::{Id, Wanted, find};
use serde_json::{Map, Value, json};
use std::ops::ControlFlow;

/// Entries in an answer, if the request does not say.
const DEFAULT_LIMIT: u64 = 100;
/// The most entries in an answer; `next` leads to more.
const MAX_LIMIT: u64 = 1_000;

/// The routes.
pub(crate) fn routes() -> Router<Shared> {
    Router::new()
        .route("/api/v1/entries", get(list))
        .route("/api/v1/entries/{id}", get(one))
        .route("/api/v1/search", post(search).get(search))
        .route("/api/v1/facets", get(facet))
        .route("/api/v1/facets/all", get(facets))
        .route("/api/v1/timeline/request/{id}", get(request))
        .route("/api/v1/timeline/job/{id}", get(job))
}

/// `filters[NAME]=VALUE` (again for another value), `q` in LogsQL, `start`, `end`, `limit`, `before` (the `next` of the
/// answer before).
async fn list(
    State(app): State<Shared>,
    Extension(access): Extension<Access>,
    args: Args,
) -> ApiResult<Response> {
    let limit = args.number("limit")?;
    let before = args.get("before").map(str::parse).transpose()?;
    answer(&app, &access, &args, &filter_of(&args)?, limit, before).await
}

/// `{"q":"LOGSQL","limit":n}`, or the same as parameters, with all that [`list`] takes besides.
async fn search(
    State(app): State<Shared>,
    Extension(access): Extension<Access>,
    args: Args,
) -> ApiResult<Response> {
    args.need("q")?;
    list(State(app), Extension(access), args).await
}

async fn answer(
    app: &Shared,
    access: &Access,
    args: &Args,
    filter: &str,
    limit: Option<u64>,
    before: Option<Id>,
) -> ApiResult<Response> {
    let limit = limit.filter(|limit| *limit > 0).unwrap_or(DEFAULT_LIMIT).min(MAX_LIMIT) as usize;
    let now_ns = app.env.clock.now_unix_ns();
    let query = args.parse_within(filter, now_ns, args.within(now_ns)?)?;
    let wanted = Wanted { query, limit: limit + 1, before, oldest_first: false };
    find(app, access, wanted, move |found, text| {
        let next = (found.len() > limit).then(|| found.id(limit - 1).map(|id| id.to_string())).flatten();
        text.raw(format!("{{\"count\":{},\"entries\":[", found.len().min(limit)).as_bytes())?;
        for (n, found) in found.into_entries().take(limit).enumerate() {
            let (id, row) = found?;
            text.raw(if n == 0 { b"" } else { b"," })?;
            text.value(&entry(id, row))?;
        }
        text.raw(format!("],\"limit\":{limit},\"next\":").as_bytes())?;
        text.value(&next)?;
        text.raw(b"}")
    })
    .await
}

/// 404 if there is none, or is none any more.
async fn one(
    State(app): State<Shared>,
    Extension(access): Extension<Access>,
    Path(id): Path<String>,
) -> ApiResult<Response> {
    let wanted: Id = id.parse()?;
    match find::one(&app, &access, wanted).await? {
        Some(row) => Ok(ok(&Value::Object(entry(wanted, row)))),
        None => Err(ApiError::new(StatusCode::NOT_FOUND, format!("there is no entry {wanted}"))),
    }
}

/// `field`'s values and how many entries have each.
async fn facet(
    State(app): State<Shared>,
    Extension(access): Extension<Access>,
    args: Args,
) -> ApiResult<Response> {
    let field = args.need("field")?.to_owned();
    let limit = args.number("limit")?.filter(|limit| *limit > 0).unwrap_or(DEFAULT_LIMIT);
    let name = Value::from(field.as_str());
    let count = count_of(std::slice::from_ref(&field));
    let quoted = Value::from(count.as_str());
    // Entries without the field are a group, too, and no value of it.
    let most = limit.saturating_add(1);
    let query = args.query_of(
        &app,
        &filter_of(&args)?,
        &format!("stats by ({name}) count() {quoted} | sort by ({quoted} desc, {name}) | limit {most}"),
    )?;
    let by = field.clone();
    let each = move |values: &mut Vec<Value>, row: &ResultRow, room: &mut Room| {
        if let Some(value) = row.get(&by).filter(|value| !value.is_empty())
            && (values.len() as u64) < limit
        {
            let hits: u64 = row.get(&count).and_then(|hits| hits.parse().ok()).unwrap_or(0);
            room.take(OBJECT_BYTES + 3 * value.len())?;
            values.push(json!({ "value": value, "count": hits }));
        }
        ControlFlow::Continue(())
    };
    let finish = move |values| text_of(&json!({ "field": field, "values": values }));
    gather(&app, &access, args.question_of(&app, query)?, Vec::new, each, finish).await
}

/// Those of every field that has few values.
async fn facets(
    State(app): State<Shared>,
    Extension(access): Extension<Access>,
    args: Args,
) -> ApiResult<Response> {
    let query = args.query_of(&app, &filter_of(&args)?, "facets 20")?;
    let each = |facets: &mut Map<String, Value>, row: &ResultRow, room: &mut Room| {
        let of = |name| row.get(name).unwrap_or_default();
        let count: u64 = of("hits").parse().unwrap_or(0);
        let value = json!({ "value": of("field_value"), "count": count });
        room.take(OBJECT_BYTES + 3 * of("field_value").len())?;
        match facets.get_mut(of("field_name")) {
            Some(Value::Array(values)) => values.push(value),
            _ => {
                room.take(3 * of("field_name").len())?;
                drop(facets.insert(of("field_name").to_owned(), json!([value])));
            }
        }
        ControlFlow::Continue(())
    };
    let finish = |facets| text_of(&json!({ "facets": facets }));
    gather(&app, &access, args.question_of(&app, query)?, Map::new, each, finish).await
}

async fn request(
    state: State<Shared>,
    access: Extension<Access>,
    Path(id): Path<String>,
) -> ApiResult<Response> {
    timeline::answer(&state, &access, "request_id", id).await
}

async fn job(state: State<Shared>, access: Extension<Access>, Path(id): Path<String>) -> ApiResult<Response> {
    timeline::answer(&state, &access, "job_id", id).await
}

/// An entry as these pages know it: `id`, `timestamp`, `level`, `message`, and the other fields beside them; an own `id` is
/// `id#1`.
fn entry(id: Id, row: Map<String, Value>) -> Map<String, Value> {
    let mut entry = Map::new();
    entry.insert("id".into(), id.to_string().into());
    for (name, value) in row {
        let name = match name.as_str() {
            "_time" => "timestamp".to_owned(),
            "_msg" => "message".to_owned(),
            "_stream" => "stream".to_owned(),
            _ => name,
        };
        put(&mut entry, &name, value);
    }
    entry
}

/// Gives an entry a member; one that has the name of another gets a number behind it.
fn put(entry: &mut Map<String, Value>, name: &str, value: Value) {
    let numbered = (1..).map(|n| format!("{name}#{n}"));
    let free = std::iter::once(name.to_owned()).chain(numbered).find(|name| !entry.contains_key(name));
    if let Some(free) = free {
        entry.insert(free, value);
    }
}
