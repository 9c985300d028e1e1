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

async fn gelf(mut delivery: Delivery) -> ApiResult<StatusCode> {
    let (params, now_ns) = (delivery.params().await?, delivery.now_ns);
    let taken = delivery.take("gelf", move |received, out| {
        Ok(Messages::new(&params).document(&received.decompressed()?, now_ns, out)?)
    });
    taken.await?.whole()?;
    Ok(StatusCode::ACCEPTED)
}
