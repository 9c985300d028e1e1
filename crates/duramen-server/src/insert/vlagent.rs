//! VictoriaLogs' native rows: `POST /insert/native`, and `/internal/insert`, where older `vlagent`s send them.
//!
//! `vlagent` forgets what is answered 400 or 404, and keeps and sends again what is answered anything else.

use super::Delivery;
use crate::app::Shared;
use crate::error::{ApiError, ApiResult};
use axum::Router;
use axum::http::StatusCode;
use axum::routing::post;
use duramen_wire::vlagent::{Rows, VERSION};

pub(super) fn routes() -> Router<Shared> {
    Router::new().route("/insert/native", post(insert)).route("/internal/insert", post(insert))
}

async fn insert(mut delivery: Delivery) -> ApiResult<StatusCode> {
    let params = delivery.params().await?;
    let version =
        delivery.query().find(|(name, _)| name == "version").map(|(_, version)| version.into_owned());
    if let Some(other) = version.filter(|version| !version.is_empty() && version != VERSION) {
        delivery.let_send().await;
        // A newer server may understand what the agent keeps until then.
        let told = format!("version={other}: rows of version {VERSION} are taken");
        return Err(ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, told));
    }
    let taken = delivery
        .take("vlagent", move |received, out| Ok(Rows::new(&params).read(&received.decompressed()?, out)?));
    taken.await?.whole()?;
    Ok(StatusCode::OK)
}
