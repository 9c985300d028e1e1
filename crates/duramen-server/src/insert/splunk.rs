//! Splunk's HTTP event collector: `/services/collector/event` and `/raw`.
//!
//! A request of which events were rejected is answered with 400 and the number of the first, as Splunk's collector does;
//! the others were taken.

use super::{params, take};
use crate::app::Shared;
use crate::auth::Access;
use crate::error::{ApiError, ApiResult};
use axum::Extension;
use axum::Router;
use axum::body::Body;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use duramen_wire::Rejected;
use duramen_wire::splunk::{Events, Source};
use serde_json::{Value, json};

pub(super) fn routes() -> Router<Shared> {
    Router::new()
        .route("/services/collector", post(event))
        .route("/services/collector/event", post(event))
        .route("/services/collector/event/1.0", post(event))
        .route("/services/collector/raw", post(raw))
        .route("/services/collector/raw/1.0", post(raw))
        .route("/services/collector/health", get(health))
        .route("/services/collector/health/1.0", get(health))
}

type Pairs = Vec<(String, String)>;

async fn health() -> Response {
    answer(StatusCode::OK, &json!({ "text": "HEC is healthy", "code": 17 }))
}

async fn event(
    State(app): State<Shared>,
    Extension(access): Extension<Access>,
    Query(query): Query<Pairs>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    reply(taken(&app, &access, query, &headers, body, false).await)
}

async fn raw(
    State(app): State<Shared>,
    Extension(access): Extension<Access>,
    Query(query): Query<Pairs>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    reply(taken(&app, &access, query, &headers, body, true).await)
}

async fn taken(
    app: &Shared,
    access: &Access,
    query: Pairs,
    headers: &HeaderMap,
    body: Body,
    is_raw: bool,
) -> ApiResult<(u64, Rejected)> {
    let params = params(&query, headers)?;
    let now_ns = app.env.clock.now_unix_ns();
    let taken = take(app, access, "splunk", headers, body, move |received, out| {
        let body = received.decompressed()?;
        let mut events = Events::new(&params, now_ns);
        if !is_raw {
            return Ok(events.events(&body, now_ns, out)?);
        }
        let of = |name: &str| query.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str());
        let source = Source {
            host: of("host"),
            source: of("source"),
            sourcetype: of("sourcetype"),
            index: of("index"),
        };
        Ok(events.raw(&body, source, now_ns, out)?)
    });
    let taken = taken.await?;
    Ok((taken.accepted, taken.rejected))
}

fn reply(outcome: ApiResult<(u64, Rejected)>) -> Response {
    let (accepted, rejected) = match outcome {
        Ok(done) => done,
        Err(e) => return refusal(&e),
    };
    let Some(first) = rejected.first.first() else {
        return match accepted {
            0 => answer(StatusCode::BAD_REQUEST, &json!({ "text": "No data", "code": 5 })),
            _ => answer(StatusCode::OK, &json!({ "text": "Success", "code": 0 })),
        };
    };
    let code = match first.reason.as_str() {
        "Event field is required" => 12,
        "Event field cannot be blank" => 13,
        _ => 6,
    };
    let body = json!({ "text": first.reason, "code": code, "invalid-event-number": first.index });
    answer(StatusCode::BAD_REQUEST, &body)
}

fn refusal(e: &ApiError) -> Response {
    let code = match e.status.as_u16() {
        400 => 6,
        429 | 503 => 9,
        _ => 8,
    };
    e.response_with("application/json", json!({ "text": e.message, "code": code }).to_string())
}

fn answer(status: StatusCode, body: &Value) -> Response {
    (status, [(header::CONTENT_TYPE, "application/json")], body.to_string()).into_response()
}
