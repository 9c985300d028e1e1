//! What changes a store while it is served: snapshots, and deletion. For tokens with the scope `admin`.
//!
//! | module | what it does |
//! |---|---|
//! | [`snapshots`] | makes, lists, removes copies of a store, and restores one as a tenant's |
//! | [`delete`] | removes the lines that a filter finds |
//!
//! Bodies are JSON and say so, which a page of another site cannot make a browser send unasked: without a token, whoever
//! is on this machine may do everything, and its browser is on this machine, too.

mod delete;
mod snapshots;

use crate::app::Shared;
use crate::auth::Access;
use crate::error::{ApiError, ApiResult};
use axum::Router;
use axum::http::{HeaderMap, StatusCode, header};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The routes.
pub(crate) fn routes() -> Router<Shared> {
    Router::new().merge(snapshots::routes()).merge(delete::routes())
}

/// Refuses a body that does not say that it is JSON.
fn need_json(headers: &HeaderMap) -> ApiResult<()> {
    let content_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    if content_type.is_some_and(|value| value.to_ascii_lowercase().starts_with("application/json")) {
        return Ok(());
    }
    let told = "send a JSON object, with Content-Type: application/json";
    Err(ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, told))
}

/// Tells a piece of work that nobody waits for it any more.
struct GoneOnDrop(Arc<AtomicBool>);

impl Drop for GoneOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Does what changes a store on a thread of its own, one piece of work at a time; `work` is given what says that nobody
/// waits for it any more, or that the server stops.
///
/// # Errors
/// As `work`; 429 if another is being done.
async fn alone<T: Send + 'static>(
    app: &Shared,
    work: impl FnOnce(&dyn Fn() -> bool) -> ApiResult<T> + Send + 'static,
) -> ApiResult<T> {
    let busy = |_| ApiError::busy("another snapshot or deletion is at work: send again later");
    let permit = app.changes.clone().try_acquire_owned().map_err(busy)?;
    let gone = Arc::new(AtomicBool::new(false));
    let _guard = GoneOnDrop(gone.clone());
    let stopping = app.stopping.clone();
    let task = tokio::task::spawn_blocking(move || {
        let _permit = permit;
        work(&|| gone.load(Ordering::Relaxed) || *stopping.borrow())
    });
    task.await.map_err(|e| ApiError::unavailable(format!("it broke off: {e}")))?
}

/// Who asks, for the server's log.
fn who(access: &Access) -> String {
    access.token.as_ref().map_or_else(|| "nobody".to_owned(), |known| known.token.name.clone())
}
