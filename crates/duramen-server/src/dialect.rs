//! In which form a refusal is told to clients that look at no other than their protocol's. Whoever refuses, be it because of a token
//! or of a path, says what it says to all ([`ApiError`](crate::error::ApiError)), and it is told here.

use crate::error::Told;
use crate::insert::{datadog, elastic, splunk};
use crate::json::JSON;
use axum::body::Body;
use axum::extract::{MatchedPath, Request};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Version, header};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use duramen_wire::grpc::{Code, escaped};
use duramen_wire::otlp::{retry_info, status_json, status_protobuf};

/// What OpenTelemetry's protobuf says it is.
pub(crate) const PROTOBUF: &str = "application/x-protobuf";
/// And a call of gRPC.
pub(crate) const GRPC: &str = "application/grpc";
const TEXT: &str = "text/plain; charset=utf-8";
/// How a call of gRPC has ended.
pub(crate) const GRPC_STATUS: HeaderName = HeaderName::from_static("grpc-status");
const GRPC_MESSAGE: HeaderName = HeaderName::from_static("grpc-message");
/// Where gRPC says that details of a status are.
const GRPC_DETAILS: HeaderName = HeaderName::from_static("grpc-status-details-bin");
/// Where OpenTelemetry's SDK for Python looks for the time to wait.
const GRPC_RETRY_INFO: HeaderName = HeaderName::from_static("google.rpc.retryinfo-bin");
/// Which compressions a call may have.
const GRPC_ACCEPTED: HeaderName = HeaderName::from_static("grpc-accept-encoding");

/// Where OpenTelemetry's clients send what they have, logs or not.
const OTLP_ROOTS: [&str; 3] = ["", "/otlp", "/insert/opentelemetry"];
const OTLP_SIGNALS: [&str; 4] = ["/v1/logs", "/v1/traces", "/v1/metrics", "/v1development/profiles"];

/// What a client understands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// A status of HTTP and JSON, or whatever its protocol's route makes of it.
    Usual,
    /// A status of HTTP, and `google.rpc.Status` in protobuf.
    OtlpProtobuf,
    /// The same in JSON.
    OtlpJson,
    /// A status of gRPC.
    Grpc,
    /// Text.
    Loki,
    Elasticsearch,
    /// Whether the request says by which token it is sent.
    Splunk {
        has_token: bool,
    },
    Datadog,
}

impl Dialect {
    /// That of whoever sends this.
    pub fn of(request: &Request) -> Self {
        let (headers, path) = (request.headers(), request.uri().path());
        if request.version() == Version::HTTP_2 && is_grpc(headers) {
            return Self::Grpc;
        }
        let is_otlp = || {
            let root = OTLP_SIGNALS.iter().find_map(|signal| path.strip_suffix(signal));
            root.is_some_and(|root| OTLP_ROOTS.contains(&root))
        };
        match *request.method() == Method::POST && is_otlp() {
            true if says_json(headers) => Self::OtlpJson,
            true => Self::OtlpProtobuf,
            false if is_of_index(request) => Self::Elasticsearch,
            false => Self::of_path(path, headers),
        }
    }

    fn of_path(path: &str, headers: &HeaderMap) -> Self {
        let begins = |starts: &[&str]| starts.iter().any(|start| path.starts_with(start));
        // Of an index: what is done to it begins so.
        let second = || path.splitn(3, '/').nth(2).is_some_and(|second| second.starts_with('_'));
        if begins(&["/services/collector"]) {
            Self::Splunk { has_token: headers.contains_key(header::AUTHORIZATION) }
        } else if begins(&["/loki/api/", "/insert/loki/"]) {
            Self::Loki
        } else if path == "/"
            || begins(&["/_", "/insert/elasticsearch"])
            || path.ends_with("/_bulk")
            || second()
        {
            Self::Elasticsearch
        } else if begins(&["/api/v2/logs", "/api/v1/validate", "/insert/datadog/"]) {
            Self::Datadog
        } else {
            Self::Usual
        }
    }

    /// An answer, in it if it is a refusal.
    pub fn tell(self, mut answer: Response) -> Response {
        let told = || answer.extensions().get::<Told>().cloned();
        match self {
            Self::Grpc if !answer.status().is_success() => {
                in_grpc(answer.status(), &told().unwrap_or_default())
            }
            Self::Usual | Self::Grpc => answer,
            Self::Loki | Self::Elasticsearch | Self::Splunk { .. } | Self::Datadog => {
                let Some(told) = told() else { return answer };
                let (status, message) = (answer.status().as_u16(), &*told.message);
                let (kind, body) = match self {
                    Self::Elasticsearch => {
                        answer = elastic::as_elasticsearch(answer);
                        (JSON, elastic::refusal(status, message).to_string())
                    }
                    Self::Splunk { has_token } => {
                        (JSON, splunk::refusal(status, has_token, message).to_string())
                    }
                    Self::Datadog => (JSON, datadog::refused(status, message).to_string()),
                    _ => (TEXT, format!("{message}\n")),
                };
                in_its_place(answer, kind, body.into())
            }
            Self::OtlpProtobuf | Self::OtlpJson => {
                let Some(told) = told() else { return answer };
                let status = retried_if_it_may(answer.status());
                let code = Code::of_http(status.as_u16()) as u32;
                *answer.status_mut() = status;
                let (kind, body) = match self {
                    Self::OtlpJson => (JSON, Body::from(status_json(code, &told.message))),
                    _ => (PROTOBUF, Body::from(status_protobuf(code, &told.message, told.retry_after_s))),
                };
                in_its_place(answer, kind, body)
            }
        }
    }
}

/// Whether it is about one of Elasticsearch's indices, which may have any name that no other route has. Who only reads may be a browser.
fn is_of_index(request: &Request) -> bool {
    let route = request.extensions().get::<MatchedPath>();
    route.is_some_and(|route| route.as_str() == "/{index}") && request.method() != Method::GET
}

/// An answer with another body.
fn in_its_place(mut answer: Response, kind: &'static str, body: Body) -> Response {
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    answer.headers_mut().remove(header::CONTENT_LENGTH);
    *answer.body_mut() = body;
    answer
}

/// Whether a request says that it is a call of gRPC.
pub(crate) fn is_grpc(headers: &HeaderMap) -> bool {
    let content_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    content_type
        .and_then(|value| value.strip_prefix(GRPC))
        .is_some_and(|format| format.is_empty() || format.starts_with("+proto") || format.starts_with(';'))
}

/// Whether a body says that it is JSON.
pub(crate) fn says_json(headers: &HeaderMap) -> bool {
    let value = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    value.is_some_and(|value| value.to_ascii_lowercase().contains("json"))
}

/// The protocol's clients send again for 429, 502, 503 and 504, and drop what any other status is told of: also for want of
/// space, and when a body was slow.
fn retried_if_it_may(status: StatusCode) -> StatusCode {
    match status {
        StatusCode::INSUFFICIENT_STORAGE | StatusCode::REQUEST_TIMEOUT => StatusCode::SERVICE_UNAVAILABLE,
        status => status,
    }
}

/// Status 200, without a body, and the refusal in the head, which gRPC calls Trailers-Only.
fn in_grpc(status: StatusCode, told: &Told) -> Response {
    let code = Code::of_http(status.as_u16());
    let mut refusal = ([(header::CONTENT_TYPE, GRPC)], Body::empty()).into_response();
    let headers = refusal.headers_mut();
    headers.insert(GRPC_STATUS, HeaderValue::from(code as u32));
    let mut tell = |name: HeaderName, text: String| {
        if let Ok(value) = HeaderValue::try_from(text) {
            headers.insert(name, value);
        }
    };
    tell(GRPC_MESSAGE, escaped(&told.message));
    if let Some(seconds) = told.retry_after_s {
        let status = status_protobuf(code as u32, &told.message, Some(seconds));
        tell(GRPC_DETAILS, STANDARD_NO_PAD.encode(status));
        tell(GRPC_RETRY_INFO, STANDARD_NO_PAD.encode(retry_info(seconds)));
    }
    if code == Code::Unimplemented {
        tell(GRPC_ACCEPTED, "identity,gzip,deflate,zstd,snappy".to_owned());
    }
    refusal
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ApiError;

    fn request(method: &str, path: &str, content_type: &str) -> Request {
        let request = Request::builder().method(method).uri(path).header("content-type", content_type);
        request.body(Body::empty()).unwrap()
    }

    #[test]
    fn who_understands_what() {
        use Dialect::{Datadog, Elasticsearch, Grpc, Loki, OtlpJson, OtlpProtobuf, Splunk, Usual};
        for (method, path, content_type, dialect) in [
            ("POST", "/v1/logs", PROTOBUF, OtlpProtobuf),
            ("POST", "/otlp/v1/traces?x=1", "", OtlpProtobuf),
            ("POST", "/insert/opentelemetry/v1/logs", "application/json; charset=utf-8", OtlpJson),
            ("GET", "/v1/logs", "", Usual),
            ("POST", "/api/v1/logs", PROTOBUF, Usual),
            ("POST", "/loki/api/v1/push", PROTOBUF, Loki),
            ("POST", "/_bulk", "", Elasticsearch),
            ("PUT", "/logs/_bulk", "", Elasticsearch),
            ("GET", "/insert/elasticsearch", "", Elasticsearch),
            ("HEAD", "/", "", Elasticsearch),
            ("POST", "/logs/_doc", "", Elasticsearch),
            ("GET", "/logs", "", Usual),
            ("GET", "/api/v1/entries/_1", "", Usual),
            ("POST", "/services/collector/raw?x", "", Splunk { has_token: false }),
            ("POST", "/api/v2/logs", "", Datadog),
            ("POST", "/insert/jsonline", "", Usual),
            ("POST", "/x", GRPC, Usual),
        ] {
            assert_eq!(Dialect::of(&request(method, path, content_type)), dialect, "{method} {path}");
        }
        let mut call = request("POST", "/x", "application/grpc+proto");
        *call.version_mut() = Version::HTTP_2;
        assert_eq!(Dialect::of(&call), Grpc);
    }

    #[test]
    fn what_may_go_well_later_is_sent_again() {
        for (status, told_as, code) in [
            (401, 401, 16),
            (403, 403, 7),
            (404, 404, 12),
            (408, 503, 4),
            (413, 413, 3),
            (429, 429, 8),
            (507, 503, 14),
        ] {
            let refused = || ApiError::new(StatusCode::from_u16(status).unwrap(), "why").into_response();
            for dialect in [Dialect::OtlpJson, Dialect::OtlpProtobuf] {
                assert_eq!(dialect.tell(refused()).status().as_u16(), told_as);
            }
            let ended = Dialect::Grpc.tell(refused());
            assert_eq!(
                (ended.status(), &ended.headers()[GRPC_STATUS]),
                (StatusCode::OK, &HeaderValue::from(code))
            );
            assert_eq!(Dialect::Usual.tell(refused()).status().as_u16(), status);
        }
    }
}
