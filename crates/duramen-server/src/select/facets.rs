//! `facets`: the most frequent values of each field.

use super::args::Args;
use super::hits::entries_with;
use crate::answer::{OBJECT_BYTES, Room, gather};
use crate::app::Shared;
use crate::auth::Access;
use crate::error::ApiResult;
use crate::json::text_of;
use axum::Extension;
use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use duramen_query::ResultRow;
use serde_json::json;
use std::ops::ControlFlow;

pub(super) fn routes() -> Router<Shared> {
    Router::new().route("/select/logsql/facets", get(facets).post(facets))
}

/// Fields, and what there is of each.
type Facets = Vec<(String, Vec<serde_json::Value>)>;

/// `{"facets":[{"field_name":…,"values":[{"field_value":…,"hits":…}]}]}`, of the entries that `hits` counts.
async fn facets(
    State(app): State<Shared>,
    Extension(access): Extension<Access>,
    args: Args,
) -> ApiResult<Response> {
    let mut pipe = format!("facets {}", args.number("limit")?.filter(|limit| *limit > 0).unwrap_or(10));
    for option in ["max_values_per_field", "max_value_len"] {
        if let Some(n) = args.number(option)? {
            pipe.push_str(&format!(" {option} {n}"));
        }
    }
    if args.get("keep_const_fields").is_some_and(|keep| matches!(keep, "1" | "true")) {
        pipe.push_str(" keep_const_fields");
    }
    let question = args.question_of(&app, entries_with(&app, &args, &pipe)?)?;
    let each = |facets: &mut Facets, row: &ResultRow, room: &mut Room| {
        let of = |name| row.get(name).unwrap_or_default();
        if facets.last().is_none_or(|(name, _)| name != of("field_name")) {
            room.take(OBJECT_BYTES + 3 * of("field_name").len())?;
            facets.push((of("field_name").to_owned(), Vec::new()));
        }
        room.take(OBJECT_BYTES + 3 * of("field_value").len())?;
        if let Some((_, values)) = facets.last_mut() {
            let hits: u64 = of("hits").parse().unwrap_or(0);
            values.push(json!({ "field_value": of("field_value"), "hits": hits }));
        }
        ControlFlow::Continue(())
    };
    gather(&app, &access, question, Facets::new, each, |facets| {
        let facets: Vec<_> = facets
            .into_iter()
            .map(|(name, values)| json!({ "field_name": name, "values": values }))
            .collect();
        text_of(&json!({ "facets": facets }))
    })
    .await
}
