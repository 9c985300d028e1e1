//! What a client is told when it does not get what it asked for.

use crate::json::JSON;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use duramen_query::QueryError;
use serde_json::json;

/// A refusal: a status, and a sentence that says what was wrong and what to do.
#[derive(Debug)]
pub(crate) struct ApiError {
    pub status: StatusCode,
    pub message: String,
    /// When to try again, if that can help.
    pub retry_after_s: Option<u64>,
}

/// The result of whatever answers a request.
pub(crate) type ApiResult<T> = Result<T, ApiError>;

impl ApiError {
    /// With this status.
    pub fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), retry_after_s: None }
    }

    /// 400: the client's mistake.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    /// 429: too much at once; the client is to wait and send the same again.
    pub fn busy(message: impl Into<String>) -> Self {
        Self { retry_after_s: Some(1), ..Self::new(StatusCode::TOO_MANY_REQUESTS, message) }
    }

    /// 503: not now, for a reason that is not the client's.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self { retry_after_s: Some(1), ..Self::new(StatusCode::SERVICE_UNAVAILABLE, message) }
    }

    /// 413: over a limit.
    pub fn too_large(message: impl Into<String>) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, message)
    }

    /// The response, with this text as its body.
    pub fn response_with(&self, content_type: &'static str, body: String) -> Response {
        let mut response = (self.status, [(header::CONTENT_TYPE, content_type)], body).into_response();
        if let Some(seconds) = self.retry_after_s {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            let challenge = HeaderValue::from_static("Bearer realm=\"duramen\", Basic realm=\"duramen\"");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
        }
        response
    }

    /// The response, with this value as its body.
    pub fn with_json(&self, body: &serde_json::Value) -> Response {
        self.response_with(JSON, body.to_string())
    }

    /// As plain text, for clients that show the body as it is.
    pub fn as_text(&self) -> Response {
        self.response_with("text/plain; charset=utf-8", format!("{}\n", self.message))
    }
}

/// What a refusal said, kept beside the response for protocols that tell it in another form.
#[derive(Clone, Debug, Default)]
pub(crate) struct Told {
    pub message: String,
    pub retry_after_s: Option<u64>,
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let body = json!({ "status": "error", "error": self.message, "code": self.status.as_u16() });
        let mut response = self.with_json(&body);
        let told = Told { message: self.message, retry_after_s: self.retry_after_s };
        response.extensions_mut().insert(told);
        response
    }
}

/// One of the [kinds](kind_of).
pub(crate) const DISK_FULL: &str = "the disk is full";
const BEHIND: &str = "the store is behind";

/// Why lines cannot be taken, without paths and names: for those who may know no more.
pub(crate) fn kind_of(e: &duramen::Error) -> &'static str {
    use std::io::ErrorKind::{QuotaExceeded, StorageFull};
    match e {
        duramen::Error::Engine(duramen_engine::Error::Io { source, .. })
            if matches!(source.kind(), StorageFull | QuotaExceeded) =>
        {
            DISK_FULL
        }
        e if e.is_full() => BEHIND,
        _ => "the store does not take lines: the server's log says why",
    }
}

impl From<duramen::Error> for ApiError {
    fn from(e: duramen::Error) -> Self {
        let kind = kind_of(&e);
        match kind {
            DISK_FULL => Self {
                retry_after_s: Some(10),
                ..Self::new(StatusCode::INSUFFICIENT_STORAGE, format!("{kind}: {e}"))
            },
            BEHIND => Self::busy(format!("{kind}: {e}")),
            _ => Self::unavailable(e.to_string()),
        }
    }
}

impl From<duramen_query::ParseError> for ApiError {
    fn from(e: duramen_query::ParseError) -> Self {
        Self::bad_request(e.to_string())
    }
}

impl From<duramen_query::Error> for ApiError {
    fn from(e: duramen_query::Error) -> Self {
        use duramen_query::Error::{Block, Cancelled, NotBrief, Subquery, TimeLimit};
        match e {
            Block(e) => Self::new(StatusCode::INTERNAL_SERVER_ERROR, e.to_string()),
            TimeLimit { .. } => Self::new(StatusCode::SERVICE_UNAVAILABLE, e.to_string()),
            Cancelled | NotBrief => Self::unavailable(e.to_string()),
            Subquery => Self::bad_request(e.to_string()),
            // Limits of memory and rows, and what else a query asks for in vain.
            e => Self::new(StatusCode::UNPROCESSABLE_ENTITY, e.to_string()),
        }
    }
}

impl From<QueryError> for ApiError {
    fn from(e: QueryError) -> Self {
        match e {
            QueryError::Parse(e) => e.into(),
            e @ QueryError::OnlyFilter => Self::bad_request(e.to_string()),
            QueryError::Store(e) => e.into(),
            QueryError::Run(e) => e.into(),
            e => Self::new(StatusCode::INTERNAL_SERVER_ERROR, e.to_string()),
        }
    }
}
