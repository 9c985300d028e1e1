//! What changes a store while it is served: snapshots, and deletion. For tokens with the scope `admin`.
//!
//! | module | what it does |
//! |---|---|
//! | [`snapshots`] | makes, lists, removes copies of a store, and restores one as a tenant's |
//! | [`delete`] | removes the lines that a filter finds |
//! | [`tasks`] | the same as VictoriaLogs has it: a task that is begun, listed and stopped |
//! | [`turns`] | one change at a time; tenants take turns |
//!
//! Bodies are JSON and say so, which a page of another site cannot make a browser send unasked: without a token, whoever
//! is on this machine may do everything, and its browser is on this machine, too (see [`browsers`](crate::browsers)).

mod delete;
mod snapshots;
mod tasks;
mod turns;

pub(crate) use tasks::Tasks;
pub(crate) use turns::{Places, Turns};

use crate::answer::CancelOnDrop;
use crate::app::Shared;
use crate::auth::Access;
use crate::error::{ApiError, ApiResult};
use crate::select::args::Args;
use axum::Router;
use axum::extract::{FromRequest, Request};
use axum::http::{StatusCode, header};
use duramen_query::Cancel;
use std::sync::Arc;

/// The routes.
pub(crate) fn routes() -> Router<Shared> {
    Router::new().merge(snapshots::routes()).merge(delete::routes()).merge(tasks::routes())
}

/// A request that changes something: what is to be done, and who asks.
#[derive(Debug)]
struct Order {
    app: Shared,
    access: Access,
    args: Args,
}

impl FromRequest<Shared> for Order {
    type Rejection = ApiError;

    /// Refuses a body that does not say that it is JSON.
    async fn from_request(request: Request, app: &Shared) -> ApiResult<Self> {
        let content_type = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        if !content_type.is_some_and(|value| value.to_ascii_lowercase().starts_with("application/json")) {
            let told = "send a JSON object, with Content-Type: application/json";
            return Err(ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, told));
        }
        Self::of(request, app).await
    }
}

impl Order {
    /// Of a request of which it was made sure that somebody wants it.
    async fn of(request: Request, app: &Shared) -> ApiResult<Self> {
        let access = Access::of(request.extensions())?;
        let args = Args::from_request(request, app).await?;
        Ok(Self { app: app.clone(), access, args })
    }
}

/// Does what changes a store on a thread of its own, one piece of work at a time; `work` is given who asks, and what says
/// that nobody waits for it any more, or that the server stops. It waits for what others have under way as long as a query
/// may take.
///
/// # Errors
/// As `work`; 429 if another of the tenant's is being done, or another's takes too long.
async fn alone<T: Send + 'static>(
    app: &Shared,
    access: Access,
    work: impl FnOnce(&Access, &dyn Fn() -> bool) -> ApiResult<T> + Send + 'static,
) -> ApiResult<T> {
    let turn = tokio::select! {
        turn = app.changes.soon(&access.tenant.changes, app.limits.query_timeout) => turn?,
        () = app.stopped() => return Err(ApiError::unavailable("the server is stopping")),
    };
    let cancel = Arc::new(Cancel::new());
    let _guard = CancelOnDrop(cancel.clone());
    let stopping = app.stopping.clone();
    let task = tokio::task::spawn_blocking(move || {
        let _turn = turn;
        work(&access, &|| cancel.is_cancelled() || *stopping.borrow())
    });
    task.await.map_err(|e| ApiError::unavailable(format!("it broke off: {e}")))?
}

/// Who asks, for the server's log.
fn who(access: &Access) -> String {
    access.token.as_ref().map_or_else(|| "nobody".to_owned(), |known| known.token.name.clone())
}
