//! Elasticsearch's `_bulk`, documents one by one, and what its clients ask before they send: under `/`, and under
//! `/insert/elasticsearch`.
//!
//! What clients set up (templates, pipelines, policies) is acknowledged and not kept: there is nothing to set up.

use super::Delivery;
use super::kept::Kept;
use crate::app::{Shared, nothing_here};
use crate::body::{receive, unread};
use crate::error::{ApiError, ApiResult};
use crate::json::{ok, written};
use axum::Router;
use axum::extract::rejection::PathRejection;
use axum::extract::{FromRequest, Path, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::map_response;
use axum::response::Response;
use axum::routing::{get, head, post};
use duramen_wire::elastic::Bulk;
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// The version that clients are told: the last of its major, for Beats may refuse one that is older than they are.
const VERSION: &str = "8.19.0";

/// Where a document is said to lie.
static SHARDS: LazyLock<Value> = LazyLock::new(|| json!({ "total": 1, "successful": 1, "failed": 0 }));

pub(super) fn routes() -> Router<Shared> {
    let under = |prefix: &str| {
        let at = |path: &str| format!("{prefix}{path}");
        let mut routes = Router::new()
            .route(&at("/{index}/_bulk"), post(bulk_to).put(bulk_to))
            .route(&at("/{index}/_doc"), post(document))
            .route(&at("/{index}/_doc/{id}"), post(document_with_id).put(document_with_id))
            .route(&at("/{index}/_create/{id}"), post(document_with_id).put(document_with_id))
            .route(&at("/_refresh"), get(refresh).post(refresh))
            .route(&at("/{index}/_refresh"), get(refresh).post(refresh))
            .route(&at("/"), get(info))
            .route(&at("/_license"), get(license))
            .route(&at("/_xpack"), get(license))
            .route(&at("/_cluster/health"), get(cluster))
            .route(&at("/_cat/health"), get(async || "duramen green\n"))
            .route(&at("/_nodes"), get(empty))
            .route(&at("/_logstash"), get(empty));
        for path in [
            "_index_template",
            "_template",
            "_component_template",
            "_data_stream",
            "_ilm",
            "_ingest",
            "_alias",
            "_nodes",
            "_logstash",
        ] {
            let (path, set) = (at(&format!("/{path}/{{*rest}}")), acknowledge);
            routes = routes.route(&path, get(empty).put(set).post(set).delete(set));
        }
        routes
    };
    under("")
        .merge(under("/insert/elasticsearch"))
        .route("/{index}", head(index).put(make_index))
        .route("/insert/elasticsearch/{index}", get(index).put(make_index))
        // Beats ask at the URL that they were given, as it is.
        .route("/insert/elasticsearch", get(info))
        .layer(map_response(async |response| as_elasticsearch(response)))
}

/// Official clients take no answer without this header.
pub(crate) fn as_elasticsearch(mut response: Response) -> Response {
    response.headers_mut().insert("x-elastic-product", HeaderValue::from_static("Elasticsearch"));
    response
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
    ok(&body)
}

async fn license() -> Response {
    ok(&json!({ "license": { "status": "active", "uid": "duramen", "type": "basic" } }))
}

async fn cluster() -> Response {
    ok(&json!({ "cluster_name": "duramen", "status": "green", "number_of_nodes": 1 }))
}

/// Lines are visible as soon as they are acknowledged.
async fn refresh(State(app): State<Shared>, request: Request) -> Response {
    unread(&app, request, ok(&json!({ "_shards": SHARDS.clone() }))).await
}

async fn empty() -> Response {
    ok(&json!({}))
}

/// What is to be set up is read first: Beats' templates are larger than what a socket holds.
async fn acknowledge(State(app): State<Shared>, request: Request) -> Response {
    unread(&app, request, ok(&json!({ "acknowledged": true }))).await
}

/// Logstash asks whether an index is there, and makes it if not: it is, for none has to be made.
async fn index(State(app): State<Shared>, index: Named<String>, request: Request) -> Response {
    match index_of(&app, index, request).await {
        Ok((_, request)) => unread(&app, request, ok(&json!({}))).await,
        Err(answer) => answer,
    }
}

/// Acknowledges what makes an index. Lines that somebody puts there are not thrown away as if they were taken.
async fn make_index(State(app): State<Shared>, index: Named<String>, request: Request) -> Response {
    let (index, request) = match index_of(&app, index, request).await {
        Ok(named) => named,
        Err(answer) => return answer,
    };
    match is_of_index(&app, request).await {
        Ok(true) => ok(&json!({ "acknowledged": true, "shards_acknowledged": true, "index": index })),
        Ok(false) => {
            let told = "PUT makes an index here, of settings, mappings and aliases; lines are taken at /_bulk and /insert/jsonline";
            refused(&ApiError::bad_request(told))
        }
        Err(e) => refused(&e),
    }
}

/// The index that a request names; the answer to one that names none.
async fn index_of(
    app: &Shared,
    index: Named<String>,
    request: Request,
) -> Result<(String, Request), Response> {
    match index {
        Ok(Path(index)) if index.starts_with('_') => Err(nothing_here(State(app.clone()), request).await),
        Ok(Path(index)) => Ok((index, request)),
        Err(e) => Err(unread(app, request, refused(&ApiError::bad_request(e.body_text()))).await),
    }
}

/// Whether the body says what an index is to be, or nothing.
async fn is_of_index(app: &Shared, request: Request) -> ApiResult<bool> {
    let Delivery { access, headers, body, .. } = Delivery::from_request(request, app).await?;
    let body = receive(app, &access, &headers, body).await?.decompressed()?;
    if body.trim_ascii().is_empty() {
        return Ok(true);
    }
    let members: Result<BTreeMap<String, IgnoredAny>, _> = serde_json::from_slice(&body);
    Ok(members.is_ok_and(|members| {
        members.keys().all(|name| matches!(name.as_str(), "settings" | "mappings" | "aliases"))
    }))
}

thread_local! {
    static DECODER: RefCell<Option<Kept<Bulk>>> = const { RefCell::new(None) };
}

pub(super) async fn bulk(delivery: Delivery) -> Response {
    as_elasticsearch(taken(delivery, None).await)
}

/// Names in a path, or why they are none: what is refused is told as Elasticsearch does.
type Named<T> = Result<Path<T>, PathRejection>;

async fn bulk_to(index: Named<String>, delivery: Delivery) -> Response {
    match named(index, delivery).await {
        Ok((index, delivery)) => taken(delivery, Some(index)).await,
        Err(e) => refused(&e),
    }
}

async fn document(index: Named<String>, delivery: Delivery) -> Response {
    match named(index, delivery).await {
        Ok((index, delivery)) => taken_alone(delivery, index, String::new()).await,
        Err(e) => refused(&e),
    }
}

async fn document_with_id(names: Named<(String, String)>, delivery: Delivery) -> Response {
    match named(names, delivery).await {
        Ok(((index, id), delivery)) => taken_alone(delivery, index, id).await,
        Err(e) => refused(&e),
    }
}

/// What is named, and the delivery to it.
///
/// # Errors
/// 400 if it is no UTF-8, once the body has come.
async fn named<T>(names: Named<T>, mut delivery: Delivery) -> ApiResult<(T, Delivery)> {
    match names {
        Ok(Path(names)) => Ok((names, delivery)),
        Err(e) => {
            delivery.let_send().await;
            Err(ApiError::bad_request(e.body_text()))
        }
    }
}

/// A document that is not sent in bulk.
async fn taken_alone(delivery: Delivery, index: String, id: String) -> Response {
    match reply_alone(delivery, index, id).await {
        Ok(reply) => written(StatusCode::CREATED, reply.to_string()),
        Err(e) => refused(&e),
    }
}

async fn reply_alone(mut delivery: Delivery, index: String, id: String) -> ApiResult<Value> {
    let (params, now_ns) = (delivery.params().await?, delivery.now_ns);
    let (of, with) = (index.clone(), id.clone());
    let taken = delivery.take("elasticsearch", move |received, out| {
        let body = received.decompressed()?;
        let mut kept = Kept::take(&DECODER, params, now_ns, Bulk::new);
        let outcome = kept.decoder.read_document(&body, &of, &with, now_ns, out)?;
        kept.give_back(&DECODER, body.len());
        Ok(outcome)
    });
    taken.await?.answer.map_err(ApiError::bad_request)?;
    // Clients for Java take no answer without an id. One that nobody gave is not kept.
    let id = if id.is_empty() { format!("{now_ns:016x}") } else { id };
    Ok(json!({
        "_index": index, "_id": id, "_version": 1, "result": "created", "_shards": SHARDS.clone(),
        "_seq_no": 0, "_primary_term": 1,
    }))
}

async fn taken(delivery: Delivery, index: Option<String>) -> Response {
    match reply(delivery, index).await {
        Ok(reply) => written(StatusCode::OK, reply),
        Err(e) => refused(&e),
    }
}

fn refused(e: &ApiError) -> Response {
    e.with_json(&refusal(e.status.as_u16(), &e.message))
}

/// An error as Elasticsearch tells it.
pub(crate) fn refusal(status: u16, message: &str) -> Value {
    let kind = match status {
        400 => "illegal_argument_exception",
        401 | 403 => "security_exception",
        429 => "es_rejected_execution_exception",
        413 => "content_too_long_exception",
        _ => "exception",
    };
    let cause = json!({ "type": kind, "reason": message });
    json!({ "error": { "root_cause": [cause], "type": kind, "reason": message }, "status": status })
}

async fn reply(mut delivery: Delivery, index: Option<String>) -> ApiResult<String> {
    let (params, now_ns, clock) = (delivery.params().await?, delivery.now_ns, delivery.app.env.clock.clone());
    let short = reads_little(&delivery.headers);
    let started = clock.monotonic();
    let taken = delivery.take("elasticsearch", move |received, out| {
        let body = received.decompressed()?;
        let mut kept = Kept::take(&DECODER, params, now_ns, Bulk::new);
        kept.decoder.read(&body, index.as_deref(), now_ns, out)?;
        Ok((kept, body.len()))
    });
    let (kept, body_bytes) = taken.await?.answer;
    let bulk = &kept.decoder;
    let took = clock.monotonic().saturating_sub(started);
    let took_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
    let mut reply = String::new();
    match short {
        true => bulk.write_short_reply(took_ms, &mut reply),
        false => bulk.write_reply(took_ms, &mut reply),
    }
    kept.give_back(&DECODER, body_bytes);
    Ok(reply)
}

/// Fluent Bit keeps 512,000 bytes of a reply by itself, and takes a longer one for a failure: it sent the chunk again and
/// again, whose lines were there more often each time. Of the items it wants to know only whether one was taken.
fn reads_little(headers: &HeaderMap) -> bool {
    headers.get(header::USER_AGENT).is_some_and(|agent| agent.as_bytes().starts_with(b"Fluent-Bit"))
}
