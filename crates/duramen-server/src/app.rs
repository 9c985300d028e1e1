//! What every request can reach, and the table of routes.

use crate::answer::{AnswerMemory, KnownQueries};
use crate::auth::{Scope, Tokens, admit, require};
use crate::body::{Budget, unread};
use crate::dialect::Dialect;
use crate::error::{ApiError, ApiResult};
use crate::insert::otlp_grpc::{self, only_grpc};
use crate::insert::{Delivery, Direct};
use crate::metrics::Metrics;
use crate::settings::{Limits, Settings};
use crate::tenants::{Tenant, Tenants};
use crate::working_memory::WorkingMemory;
use crate::{admin, entries, health, insert, loki, metrics, openapi, select};
use axum::Router;
use axum::extract::{DefaultBodyLimit, MatchedPath, Request, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use duramen_engine::io::Env;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

/// What every request can reach.
#[derive(Debug)]
pub(crate) struct App {
    pub env: Env,
    pub limits: Limits,
    pub settings: Settings,
    pub tokens: Tokens,
    pub tenants: Arc<Tenants>,
    pub bodies: Budget,
    pub queries: Arc<Semaphore>,
    pub known_queries: KnownQueries,
    /// For answers that wait to be read.
    pub answers: AnswerMemory,
    /// Leave to look at what has come, for one of those who follow.
    pub following: Arc<Semaphore>,
    /// Leave to decode a large body, or to wait for room in the store.
    pub decoders: Arc<Semaphore>,
    /// Leave to make a snapshot or to delete: one at a time.
    pub changes: admin::Turns,
    /// Leave to look into all snapshots: one at a time.
    pub lists: Arc<Semaphore>,
    /// Deletions that were asked for and go on by themselves.
    pub deletions: admin::Tasks,
    pub working_memory: WorkingMemory,
    pub metrics: Metrics,
    /// True once the server has begun to stop.
    pub stopping: watch::Receiver<bool>,
}

impl App {
    /// Waits until the server begins to stop.
    pub async fn stopped(&self) {
        stopped(&mut self.stopping.clone()).await;
    }
}

/// Waits until the server begins to stop.
pub(crate) async fn stopped(stopping: &mut watch::Receiver<bool>) {
    // An error means that whoever would tell has gone, which is a stop, too.
    let _seen = stopping.wait_for(|stop| *stop).await;
}

/// Does what may take long, or wait for room in the store, on a thread of its own; few do at once.
///
/// # Errors
/// 503 if the server stops, or the work broke off.
pub(crate) async fn elsewhere<T: Send + 'static>(
    app: &Shared,
    tenant: &Tenant,
    work: impl FnOnce(&Shared) -> T + Send + 'static,
) -> ApiResult<T> {
    with_leave([&tenant.decoders, &app.decoders], app, work).await
}

/// The same, with other permits.
///
/// # Errors
/// As [`elsewhere`].
pub(crate) async fn with_leave<T: Send + 'static>(
    leave: [&Arc<Semaphore>; 2],
    app: &Shared,
    work: impl FnOnce(&Shared) -> T + Send + 'static,
) -> ApiResult<T> {
    let permits = leave_of(leave).await?;
    let app = app.clone();
    let task = tokio::task::spawn_blocking(move || {
        let _permits = permits;
        work(&app)
    });
    task.await.map_err(|e| ApiError::unavailable(format!("the request broke off: {e}")))
}

/// Leave of a tenant's own semaphore, then of one that all share. As a tenant has no more permits of its own than there are
/// of all, those of its requests that wait do so there: a tenant that asks for much makes another wait for one request to end,
/// and not for all of them.
///
/// # Errors
/// 503 if the server stops.
pub(crate) async fn leave_of(both: [&Arc<Semaphore>; 2]) -> ApiResult<Vec<OwnedSemaphorePermit>> {
    let mut permits = Vec::with_capacity(both.len());
    for semaphore in both {
        let stopping = |_| ApiError::unavailable("the server is stopping");
        permits.push(semaphore.clone().acquire_owned().await.map_err(stopping)?);
    }
    Ok(permits)
}

/// Shared by all requests.
pub(crate) type Shared = Arc<App>;

/// The routes: those that take logs in, those that answer, and those that are open to all.
pub(crate) fn router(app: &Shared) -> Router {
    let guarded = |routes: Router<Shared>, scope: Scope| {
        routes.route_layer(from_fn_with_state((app.clone(), scope), require))
    };
    Router::new()
        .merge(guarded(insert::routes(), Scope::Ingest))
        .merge(guarded(otlp_grpc::routes(), Scope::Ingest).route_layer(from_fn(only_grpc)))
        .merge(guarded(select::routes(), Scope::Read))
        .merge(guarded(entries::routes(), Scope::Read))
        .merge(guarded(loki::routes(), Scope::Read))
        .merge(guarded(metrics::routes(), Scope::Read))
        .merge(guarded(admin::routes(), Scope::Admin))
        .merge(insert::probes())
        .merge(health::routes())
        .merge(openapi::routes())
        .fallback(nothing_here)
        .method_not_allowed_fallback(other_method)
        .layer(DefaultBodyLimit::disable()) // `body` has its own, after decompression, too
        .layer(from_fn_with_state(app.clone(), around))
        .with_state(app.clone())
}

/// What is done for every request: counted, and the headers that browsers ask for.
async fn around(State(app): State<Shared>, request: Request, next: Next) -> Response {
    let (started, dialect) = (app.env.clock.monotonic(), Dialect::of(&request));
    let route = request.extensions().get::<MatchedPath>().cloned();
    let method = request.method().clone();
    // A browser names the method that it is about to use; Splunk's clients ask by OPTIONS, too.
    let asks_leave = method == Method::OPTIONS
        && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
        && app.settings.cors_origin.is_some();
    let response = match asks_leave {
        true => StatusCode::NO_CONTENT.into_response(),
        false => dialect.tell(next.run(request).await),
    };
    finish(&app, route.as_ref().map_or("none", MatchedPath::as_str), started, response)
}

/// The same for a route that is found without the router, which also checks who asks.
pub(crate) async fn take(app: Shared, route: &'static Direct, request: Request) -> Response {
    let (started, dialect) = (app.env.clock.monotonic(), Dialect::of(&request));
    let response = match admit(&app, request.headers(), Scope::Ingest).await {
        Ok(access) => (route.take)(Delivery::new(&app, access, request)).await,
        Err(e) => unread(&app, request, e).await,
    };
    finish(&app, route.path, started, dialect.tell(response))
}

/// The same for a request that is not looked at.
pub(crate) async fn refuse(app: Shared, request: Request, e: ApiError) -> Response {
    let (started, dialect) = (app.env.clock.monotonic(), Dialect::of(&request));
    let response = unread(&app, request, e).await;
    finish(&app, "none", started, dialect.tell(response))
}

fn finish(app: &App, route: &str, started: Duration, mut response: Response) -> Response {
    if let Some(origin) = app.settings.cors_origin.as_deref().and_then(|o| HeaderValue::from_str(o).ok()) {
        let headers = response.headers_mut();
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers
            .insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST, PUT, DELETE"));
        let allowed = HeaderValue::from_static("authorization, content-type, content-encoding");
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, allowed);
    }
    let took = app.env.clock.monotonic().saturating_sub(started);
    app.metrics.request(route, response.status().as_u16(), took);
    response
}

pub(crate) async fn nothing_here(State(app): State<Shared>, request: Request) -> Response {
    let path: String = request.uri().path().chars().take(200).collect();
    let told = format!("there is nothing at {path}: see /api/openapi.json");
    unread(&app, request, ApiError::new(StatusCode::NOT_FOUND, told)).await
}

async fn other_method(State(app): State<Shared>, request: Request) -> Response {
    // An index of Elasticsearch may have any name; who only reads is told of paths.
    if request.extensions().get::<MatchedPath>().is_some_and(|path| path.as_str() == "/{index}") {
        return nothing_here(State(app), request).await;
    }
    let told = format!("{} is not a method of this path", request.method());
    unread(&app, request, ApiError::new(StatusCode::METHOD_NOT_ALLOWED, told)).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    #[test]
    fn a_tenant_that_asks_for_much_does_not_keep_another_waiting() {
        let semaphore = || Arc::new(Semaphore::new(2));
        let (all, much, little) = (semaphore(), semaphore(), semaphore());
        let mut nobody = Context::from_waker(Waker::noop());
        let mut of_much = [(); 5].map(|()| Box::pin(leave_of([&much, &all])));
        let mut taken = Vec::new();
        for leave in &mut of_much {
            if let Poll::Ready(permits) = leave.as_mut().poll(&mut nobody) {
                taken.push(permits.unwrap());
            }
        }
        assert_eq!(taken.len(), 2);
        let mut other = pin!(leave_of([&little, &all]));
        assert!(other.as_mut().poll(&mut nobody).is_pending());
        taken.pop();
        assert!(
            of_much[2].as_mut().poll(&mut nobody).is_pending(),
            "it came first, and waits behind its own"
        );
        assert!(other.as_mut().poll(&mut nobody).is_ready());
    }
}
