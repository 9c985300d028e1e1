//! systemd's journal: `POST /upload`, as `systemd-journal-upload` sends it.
//!
//! One request may hold a whole journal, so it is read, decoded and appended in pieces, and no limit of a body's size
//! holds for it. What was appended before a request broke off stays; the client sends it again, from its last position.

use super::Delivery;
use crate::app::Shared;
use crate::auth::Access;
use crate::body::{Encoding, discard, leave_to_send};
use crate::error::{ApiError, ApiResult};
use crate::intake::Intake;
use axum::Router;
use axum::body::Body;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use duramen_wire::journald::Export;
use http_body_util::BodyExt;

pub(super) fn routes() -> Router<Shared> {
    Router::new().route("/upload", post(upload)).route("/insert/journald/upload", post(upload))
}

async fn upload(delivery: Delivery) -> Response {
    match uploaded(delivery).await {
        Ok(told) => (StatusCode::ACCEPTED, told).into_response(),
        Err(e) => e.as_text(),
    }
}

async fn uploaded(mut delivery: Delivery) -> ApiResult<String> {
    let mut export = Export::new(&delivery.params().await?);
    if Encoding::of(&delivery.headers).ok() != Some(Encoding::Identity) {
        let told = "Content-Encoding: a journal is taken as it is: set Compression=no";
        delivery.let_send().await;
        return Err(ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, told));
    }
    let Delivery { app, access, mut body, treatment, .. } = delivery;
    let mut intake = Intake::new(&app, &access.tenant, "journald");
    intake.decoded.treat(treatment);
    let taken = take(&app, &access, &mut body, &mut export, intake).await;
    // Who has not sent for so long is not waited for a second time.
    if taken.as_ref().is_err_and(|e| e.status != StatusCode::REQUEST_TIMEOUT) {
        Box::pin(discard(&app, &mut body)).await;
    }
    taken
}

async fn take(
    app: &Shared,
    access: &Access,
    body: &mut Body,
    export: &mut Export,
    mut intake: Intake,
) -> ApiResult<String> {
    loop {
        let frame = tokio::time::timeout(app.limits.read_timeout, body.frame()).await;
        let frame = match frame {
            Ok(Some(frame)) => {
                frame.map_err(|e| ApiError::bad_request(format!("the body broke off: {e}")))?
            }
            Ok(None) => break,
            // A journal that is followed pauses; what has come is made safe meanwhile.
            Err(_) if intake.decoded.accepted() > 0 => {
                intake.append().await?;
                continue;
            }
            Err(_) => {
                let told = "nothing of the body came in time (read_timeout_ms)";
                return Err(ApiError::new(StatusCode::REQUEST_TIMEOUT, told));
            }
        };
        let Ok(data) = frame.into_data() else { continue };
        leave_to_send(app, access, data.len()).await?;
        let now_ns = app.env.clock.now_unix_ns();
        intake.received(data.len());
        export.feed(&data, now_ns, &mut intake.decoded)?;
        if intake.is_enough() {
            intake.append().await?;
        }
    }
    export.finish(app.env.clock.now_unix_ns(), &mut intake.decoded)?;
    intake.append().await?;
    Ok(format!("{} entries taken, {} rejected\n", intake.accepted(), intake.rejected()))
}
