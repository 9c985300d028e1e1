//! GELF over HTTP: `POST /gelf`, a message a request, or one a line.

use super::Delivery;
use crate::app::Shared;
use crate::error::ApiResult;
use axum::Router;
use axum::http::StatusCode;
use axum::routing::post;
use duramen_wire::gelf::Messages;

pub(super) fn routes() -> Router<Shared> {
    Router::new().route("/gelf", post(gelf))
}

/// 400 if nothing was taken; if only a part was not, it is told of, for whoever sent it would send it all again.
async fn gelf(mut delivery: Delivery) -> ApiResult<(StatusCode, String)> {
    let (params, now_ns) = (delivery.params().await?, delivery.now_ns);
    let taken = delivery.take("gelf", move |received, out| {
        Ok(Messages::new(&params).document(&received.decompressed()?, now_ns, out)?)
    });
    let taken = taken.await?;
    if taken.accepted == 0 {
        taken.whole()?;
    }
    let told = if taken.rejected.count == 0 { String::new() } else { taken.told() };
    Ok((StatusCode::ACCEPTED, told))
}
