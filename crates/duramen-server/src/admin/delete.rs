//! `POST /api/v1/delete`: the lines that a filter finds go for good.

use super::{Order, alone, who};
use crate::app::Shared;
use crate::auth::Access;
use crate::error::{ApiError, ApiResult};
use crate::json::ok;
use axum::Router;
use axum::response::Response;
use axum::routing::post;
use duramen::DeleteReport;
use duramen_query::{DeleteByQuery, Query, only_filter};
use serde_json::{Value, json};

pub(super) fn routes() -> Router<Shared> {
    Router::new().route("/api/v1/delete", post(delete))
}

/// `{"query":"LOGSQL","start":…,"end":…,"dry_run":true}`. A client that goes before the answer stops it, and then nothing
/// was deleted.
async fn delete(Order { app, access, args }: Order) -> ApiResult<Response> {
    args.only(&["query", "start", "end", "dry_run"], &["extra_filters", "extra_stream_filters"])?;
    let query = args.query(&app, "")?;
    let dry_run = match args.get("dry_run") {
        None | Some("false" | "0") => false,
        Some("true" | "1") => true,
        Some(other) => {
            return Err(ApiError::bad_request(format!("`dry_run` is neither true nor false: {other}")));
        }
    };
    let text = args.need("query")?.to_owned();
    only_filter(&query)?;
    let stopped = || ApiError::unavailable("it was stopped, and nothing was deleted");
    let told = alone(&app, access, move |access, stop| {
        if dry_run {
            let lines = access.tenant.store()?.count_matching(&query, stop)?.ok_or_else(stopped)?;
            return Ok(json!({ "status": "ok", "dry_run": true, "lines": lines }));
        }
        Ok(told(&run(access, &query, &text, stop)?.ok_or_else(stopped)?))
    });
    Ok(ok(&told.await?))
}

/// Deletes and logs it, by the `text` that asked for it and by the filter that it came to, which has the request's time range and
/// `extra_filters`; `None` if it was stopped, and nothing was deleted.
///
/// # Errors
/// 503, 507: what the store said.
pub(super) fn run(
    access: &Access,
    query: &Query,
    text: &str,
    stop: &dyn Fn() -> bool,
) -> ApiResult<Option<DeleteReport>> {
    let report = access.tenant.store()?.delete_matching(query, stop)?;
    if let Some(report) = &report {
        tracing::info!(
            token = who(access),
            tenant = access.tenant.name,
            query = text,
            filter = query.to_string(), // not as it is: it may hold what a terminal obeys
            lines = report.lines,
            is_complete = is_complete(report),
            "deleted"
        );
    }
    Ok(report)
}

/// Whether no matching line can be left.
fn is_complete(report: &DeleteReport) -> bool {
    report.unsealed_lines == 0 && report.damaged.is_empty() && report.quarantined.is_empty()
}

/// What a deletion came to; `incomplete` if matching lines may be left.
fn told(report: &DeleteReport) -> Value {
    json!({
        "status": if is_complete(report) { "ok" } else { "incomplete" },
        "lines": report.lines,
        "tables": report.tables,
        "stored_bytes": report.stored_bytes,
        "files_to_go": report.files_to_go,
        "unsealed_lines": report.unsealed_lines,
        "damaged": report.damaged,
        "quarantined": report.quarantined,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_left_is_told() {
        let whole = DeleteReport { lines: 3, tables: 1, files_to_go: 1, ..DeleteReport::default() };
        assert_eq!(told(&whole)["status"], "ok");
        for report in [
            DeleteReport { unsealed_lines: 1, ..whole.clone() },
            DeleteReport { damaged: vec!["a.sst".into()], ..whole.clone() },
            DeleteReport { quarantined: vec!["b.wal".into()], ..whole },
        ] {
            assert_eq!(told(&report)["status"], "incomplete", "{report:?}");
        }
    }
}
