//! Taking logs in, one file a protocol.
//!
//! A protocol reads what its parameters say, has [`take`] receive, decode and append the body, and answers as its
//! clients expect. What is acknowledged is as safe as the durability setting says, and visible to queries.

mod datadog;
mod elastic;
mod gelf;
mod journald;
mod jsonline;
mod loki;
mod native;
mod otlp;
pub(crate) mod otlp_grpc;
mod splunk;

use crate::app::Shared;
use crate::auth::Access;
use crate::body::{Received, receive};
use crate::error::{ApiError, ApiResult};
use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, StatusCode, header};
use duramen_wire::{Decoded, Limits, Params, Rejected};
use std::cell::RefCell;

/// The routes of all protocols.
pub(crate) fn routes() -> Router<Shared> {
    Router::new()
        .merge(native::routes())
        .merge(jsonline::routes())
        .merge(loki::routes())
        .merge(elastic::routes())
        .merge(otlp::routes())
        .merge(splunk::routes())
        .merge(datadog::routes())
        .merge(journald::routes())
        .merge(gelf::routes())
}

/// What has become of a body.
#[derive(Debug)]
pub(crate) struct Taken<T> {
    pub accepted: u64,
    pub rejected: Rejected,
    /// What the protocol's decoder wants to answer with.
    pub answer: T,
}

/// Receives a body, has `decode` make entries of it, and appends them.
///
/// # Errors
/// As [`receive`] and `decode`; 429 or 503 if the store has no room in time; then nothing, or in a body of more entries
/// than one batch takes, a part of it, was appended.
pub(crate) async fn take<T: Send + 'static>(
    app: &Shared,
    access: &Access,
    protocol: &'static str,
    headers: &HeaderMap,
    body: Body,
    decode: impl FnOnce(&mut Received, &mut Decoded) -> ApiResult<T> + Send + 'static,
) -> ApiResult<Taken<T>> {
    let mut received = receive(app, access, headers, body).await?;
    let bytes = received.raw().len() as u64;
    let work = Work { app: app.clone(), access: access.clone() };
    let taken = if received.is_small() && !access.tenant.waits_for_device {
        let mut decoded = spare(&work);
        let answer = decode(&mut received, &mut decoded)?;
        match access.tenant.try_append(decoded.batches()) {
            Ok(()) => work.done(decoded, answer),
            Err(_) => work.elsewhere(move |work| work.append(decoded, answer)).await?,
        }
    } else {
        work.elsewhere(move |work| {
            let mut decoded = spare(&work);
            let answer = decode(&mut received, &mut decoded)?;
            drop(received);
            work.append(decoded, answer)
        })
        .await?
    };
    app.metrics.taken(protocol, bytes, taken.accepted, taken.rejected.count);
    Ok(taken)
}

/// A body on its way into the store.
#[derive(Debug)]
struct Work {
    app: Shared,
    access: Access,
}

impl Work {
    /// Does what takes long on a thread that may wait.
    async fn elsewhere<T: Send + 'static>(
        self,
        work: impl FnOnce(Self) -> ApiResult<T> + Send + 'static,
    ) -> ApiResult<T> {
        let stopping = || ApiError::unavailable("the server is stopping");
        let permit = self.app.decoders.clone().acquire_owned().await.map_err(|_| stopping())?;
        let task = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            work(self)
        });
        task.await.map_err(|e| ApiError::unavailable(format!("the request broke off: {e}")))?
    }

    fn append<T>(self, mut decoded: Decoded, answer: T) -> ApiResult<Taken<T>> {
        self.access.tenant.append(decoded.batches(), self.app.limits.stall_timeout)?;
        Ok(self.done(decoded, answer))
    }

    fn done<T>(&self, decoded: Decoded, answer: T) -> Taken<T> {
        let taken = Taken { accepted: decoded.accepted(), rejected: decoded.rejected().clone(), answer };
        SPARE.with_borrow_mut(|spare| *spare = Some(decoded));
        taken
    }
}

thread_local! {
    /// Memory of the last body that this thread has taken.
    static SPARE: RefCell<Option<Decoded>> = const { RefCell::new(None) };
}

fn spare(work: &Work) -> Decoded {
    let max_line_bytes = work.app.limits.max_line_bytes;
    let limits = Limits { max_line_bytes, ..Limits::default() };
    match SPARE.take() {
        Some(mut spare) if *spare.limits() == limits => {
            spare.clear();
            spare
        }
        _ => Decoded::new(limits),
    }
}

/// The parameters that VictoriaLogs' protocols take: of the query, then of headers.
///
/// # Errors
/// 400 for one that makes no sense.
pub(crate) fn params(query: &[(String, String)], headers: &HeaderMap) -> ApiResult<Params> {
    let mut params = Params::default();
    for (header, name) in duramen_wire::params::HEADERS {
        if let Some(value) = headers.get(header).and_then(|value| value.to_str().ok()) {
            params.set(name, value)?;
        }
    }
    for (name, value) in query {
        params.set(name, value)?;
    }
    Ok(params)
}

/// What a body says it is, in lower case; empty if it does not.
fn content_type(headers: &HeaderMap) -> String {
    let value = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    value.unwrap_or_default().to_ascii_lowercase()
}

impl From<duramen_wire::Error> for ApiError {
    fn from(e: duramen_wire::Error) -> Self {
        match e {
            duramen_wire::Error::Limit { .. } => Self::new(StatusCode::PAYLOAD_TOO_LARGE, e.to_string()),
            e => Self::bad_request(e.to_string()),
        }
    }
}
