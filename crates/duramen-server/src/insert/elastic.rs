//! Elasticsearch's `_bulk`, and what its clients ask before they send: under `/`, and under `/insert/elasticsearch`.
//!
//! What clients set up (templates, pipelines, policies) is acknowledged and not kept: there is nothing to set up.

use super::{params, take};
use crate::app::Shared;
use crate::auth::Access;
use crate::error::{ApiError, ApiResult};
use axum::Extension;
use axum::Router;
use axum::body::Body;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::middleware::map_response;
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get, post};
use duramen_wire::elastic::Bulk;
use serde_json::json;

/// The version that clients are told: recent enough for all that is asked of it.
const VERSION: &str = "8.17.0";

pub(super) fn routes() -> Router<Shared> {
    let under = |prefix: &str| {
        let at = |path: &str| format!("{prefix}{path}");
        let mut routes = Router::new()
            .route(&at("/_bulk"), post(bulk).put(bulk))
            .route(&at("/{index}/_bulk"), post(bulk_to).put(bulk_to))
            .route(&at("/"), get(info))
            .route(&at("/_license"), get(license))
            .route(&at("/_xpack"), get(license))
            .route(&at("/_cluster/health"), get(cluster))
            .route(&at("/_cat/health"), get(async || "duramen green\n"))
            .route(&at("/_nodes"), any(empty))
            .route(&at("/_logstash"), any(empty));
        for path in [
            "_index_template",
            "_template",
            "_component_template",
            "_data_stream",
            "_ilm",
            "_ingest",
            "_nodes",
            "_logstash",
        ] {
            routes = routes.route(&at(&format!("/{path}/{{*rest}}")), any(empty));
        }
        routes
    };
    under("").merge(under("/insert/elasticsearch")).layer(map_response(as_elasticsearch))
}

/// Official clients take no answer without this header.
async fn as_elasticsearch(mut response: Response) -> Response {
    response.headers_mut().insert("x-elastic-product", HeaderValue::from_static("Elasticsearch"));
    response
}

fn answer(body: String) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], body).into_response()
}

async fn info() -> Response {
    let body = json!({
        "name": "duramen",
        "cluster_name": "duramen",
        "cluster_uuid": "duramen",
        "version": { "number": VERSION, "build_flavor": "default", "lucene_version": "9.12.0",
            "minimum_wire_compatibility_version": "7.17.0", "minimum_index_compatibility_version": "7.0.0" },
        "tagline": "You Know, for Search",
    });
    answer(body.to_string())
}

async fn license() -> Response {
    answer(json!({ "license": { "status": "active", "uid": "duramen", "type": "basic" } }).to_string())
}

async fn cluster() -> Response {
    answer(json!({ "cluster_name": "duramen", "status": "green", "number_of_nodes": 1 }).to_string())
}

async fn empty() -> Response {
    answer("{}".to_owned())
}

type Pairs = Vec<(String, String)>;

async fn bulk(
    State(app): State<Shared>,
    Extension(access): Extension<Access>,
    Query(query): Query<Pairs>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    taken(&app, &access, None, &query, &headers, body).await
}

async fn bulk_to(
    State(app): State<Shared>,
    Extension(access): Extension<Access>,
    Path(index): Path<String>,
    Query(query): Query<Pairs>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    taken(&app, &access, Some(index), &query, &headers, body).await
}

async fn taken(
    app: &Shared,
    access: &Access,
    index: Option<String>,
    query: &Pairs,
    headers: &HeaderMap,
    body: Body,
) -> Response {
    match reply(app, access, index, query, headers, body).await {
        Ok(reply) => answer(reply),
        Err(e) => {
            let kind = match e.status.as_u16() {
                400 => "illegal_argument_exception",
                429 => "es_rejected_execution_exception",
                413 => "content_too_long_exception",
                _ => "exception",
            };
            let error = json!({ "type": kind, "reason": e.message });
            let body = json!({ "error": error, "status": e.status.as_u16() });
            e.response_with("application/json", body.to_string())
        }
    }
}

async fn reply(
    app: &Shared,
    access: &Access,
    index: Option<String>,
    query: &Pairs,
    headers: &HeaderMap,
    body: Body,
) -> ApiResult<String> {
    let params = params(query, headers)?;
    let (started, now_ns) = (app.env.clock.monotonic(), app.env.clock.now_unix_ns());
    let taken = take(app, access, "elasticsearch", headers, body, move |received, out| {
        let mut bulk = Bulk::new(&params, now_ns);
        bulk.read(&received.decompressed()?, index.as_deref(), now_ns, out)?;
        Ok::<_, ApiError>(bulk)
    });
    let bulk = taken.await?.answer;
    let took = app.env.clock.monotonic().saturating_sub(started);
    let mut reply = String::with_capacity(64 + bulk.items() * 27);
    bulk.write_reply(u64::try_from(took.as_millis()).unwrap_or(u64::MAX), &mut reply);
    Ok(reply)
}
