//! The routes by which most logs come in. A server finds them by comparing paths, and asks nothing of the router, whose
//! layers cost a small request more than its line does. The router has them, too: for other methods, it says what there
//! is.

use super::{Delivery, elastic, jsonline, loki, native, otlp};
use crate::app::Shared;
use axum::Router;
use axum::http::Method;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, on};
use std::pin::Pin;

/// The answer to a request, in the making.
type Answer = Pin<Box<dyn Future<Output = Response> + Send>>;

/// A route.
#[derive(Debug)]
pub(crate) struct Direct {
    pub path: &'static str,
    /// Whether PUT is as good as POST.
    with_put: bool,
    pub take: fn(Delivery) -> Answer,
}

/// All of them.
static DIRECT: [Direct; 9] = [
    post("/api/v1/ingest", |delivery| answer(native::ingest(delivery))),
    post("/insert/jsonline", |delivery| answer(jsonline::insert(delivery))).or_put(),
    post("/loki/api/v1/push", |delivery| answer(loki::push(delivery))),
    post("/insert/loki/api/v1/push", |delivery| answer(loki::push(delivery))),
    post("/_bulk", |delivery| answer(elastic::bulk(delivery))).or_put(),
    post("/insert/elasticsearch/_bulk", |delivery| answer(elastic::bulk(delivery))).or_put(),
    post("/v1/logs", |delivery| answer(otlp::logs(delivery))),
    post("/otlp/v1/logs", |delivery| answer(otlp::logs(delivery))),
    post("/insert/opentelemetry/v1/logs", |delivery| answer(otlp::logs(delivery))),
];

const fn post(path: &'static str, take: fn(Delivery) -> Answer) -> Direct {
    Direct { path, with_put: false, take }
}

fn answer<T: IntoResponse>(taken: impl Future<Output = T> + Send + 'static) -> Answer {
    Box::pin(async { taken.await.into_response() })
}

impl Direct {
    const fn or_put(self) -> Self {
        Self { with_put: true, ..self }
    }

    /// Those of all of them.
    #[cfg(test)]
    pub fn paths() -> impl Iterator<Item = &'static str> {
        DIRECT.iter().map(|route| route.path)
    }

    /// The one for requests like this, if there is one.
    pub fn of(method: &Method, path: &str) -> Option<&'static Self> {
        let is_put = match *method {
            Method::POST => false,
            Method::PUT => true,
            _ => return None,
        };
        DIRECT.iter().find(|route| route.path == path && (route.with_put || !is_put))
    }
}

/// The same, for the router.
pub(super) fn routes() -> Router<Shared> {
    DIRECT.iter().fold(Router::new(), |routes, route| {
        let post = MethodFilter::POST;
        let methods = if route.with_put { post.or(MethodFilter::PUT) } else { post };
        routes.route(route.path, on(methods, route.take))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_methods_that_a_route_has() {
        let path = |method: Method, path| Direct::of(&method, path).map(|route| route.path);
        assert_eq!(path(Method::POST, "/_bulk"), Some("/_bulk"));
        assert_eq!(path(Method::PUT, "/_bulk"), Some("/_bulk"));
        assert_eq!(path(Method::POST, "/api/v1/ingest"), Some("/api/v1/ingest"));
        for (method, other) in [
            (Method::PUT, "/api/v1/ingest"),
            (Method::GET, "/_bulk"),
            (Method::POST, "/_bulk/"),
            (Method::POST, "/logs/_bulk"),
        ] {
            assert_eq!(path(method, other), None, "{other}");
        }
    }
}
