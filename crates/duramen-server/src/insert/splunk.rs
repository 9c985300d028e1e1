//! Splunk's HTTP event collector: `/services/collector/event` and `/raw`.
//!
//! A request of which events were rejected is answered with 400 and the number of the first, as Splunk's collector does;
//! the others were taken.

use super::Delivery;
use crate::app::Shared;
use crate::error::ApiResult;
use crate::json::{as_json, ok};
use axum::Router;
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::{get, options, post};
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
}

/// What is asked without a token: whether it takes events. Docker's driver asks so, by `OPTIONS`, before it starts a
/// container, and takes no answer but 200.
pub(super) fn probes() -> Router<Shared> {
    let here = || options(async || StatusCode::OK);
    Router::new()
        .route("/services/collector", here())
        .route("/services/collector/event", here())
        .route("/services/collector/event/1.0", here())
        .route("/services/collector/raw", here())
        .route("/services/collector/raw/1.0", here())
        .route("/services/collector/health", get(health))
        .route("/services/collector/health/1.0", get(health))
}

async fn health() -> Response {
    ok(&json!({ "text": "HEC is healthy", "code": 17 }))
}

async fn event(delivery: Delivery) -> Response {
    reply(taken(delivery, false).await)
}

async fn raw(delivery: Delivery) -> Response {
    reply(taken(delivery, true).await)
}

async fn taken(mut delivery: Delivery, is_raw: bool) -> ApiResult<(u64, Rejected)> {
    let (params, now_ns) = (delivery.params().await?, delivery.now_ns);
    let query: Vec<_> = delivery.query().into_owned().collect();
    let taken = delivery.take("splunk", move |received, out| {
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
        Err(e) => return e.with_json(&refusal(e.status.as_u16(), true, &e.message)),
    };
    let Some(first) = rejected.first.first() else {
        return match accepted {
            0 => as_json(StatusCode::BAD_REQUEST, &json!({ "text": "No data", "code": 5 })),
            _ => as_json(StatusCode::OK, &json!({ "text": "Success", "code": 0 })),
        };
    };
    let code = match first.reason.as_str() {
        "Event field is required" => 12,
        "Event field cannot be blank" => 13,
        _ => 6,
    };
    let body = json!({ "text": first.reason, "code": code, "invalid-event-number": first.index });
    as_json(StatusCode::BAD_REQUEST, &body)
}

/// A refusal as Splunk's collector tells it.
pub(crate) fn refusal(status: u16, has_token: bool, message: &str) -> Value {
    let code = match status {
        400 => 6,
        // A token is required; it is not valid.
        401 if !has_token => 2,
        401 | 403 => 4,
        429 | 503 => 9,
        _ => 8,
    };
    json!({ "text": message, "code": code })
}
