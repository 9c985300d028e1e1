//! `hits`: how many entries there are in each step of time, by fields if asked: the histogram above a list of logs.

use super::args::{Args, step_ns};
use super::counts::{fields_of, quoted};
use crate::answer::{MEMBER_BYTES, OBJECT_BYTES, Room, gather};
use crate::app::Shared;
use crate::auth::Access;
use crate::error::ApiResult;
use crate::json::text_of;
use axum::Extension;
use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use duramen_query::{Query, ResultRow};
use serde_json::json;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::ControlFlow;

pub(super) fn routes() -> Router<Shared> {
    Router::new().route("/select/logsql/hits", get(hits).post(hits))
}

/// `{"hits":[{"fields":{},"timestamps":[…],"values":[…],"total":n}]}`, the group with the most entries first. With
/// `fields_limit`, the groups beyond it are one without fields. From the first pipe on that needs all entries, the query's pipes do
/// not count: whoever shows an answer of `stats` asks the same query for the histogram above it.
async fn hits(
    State(app): State<Shared>,
    Extension(access): Extension<Access>,
    args: Args,
) -> ApiResult<Response> {
    let fields = fields_of(&args, "field")?;
    let mut bucket = format!("_time:{}ns", step_ns(&args)?);
    match args.offset_ns()? {
        0 => {}
        offset_ns => bucket.push_str(&format!(" offset {offset_ns}ns")),
    }
    let by: Vec<_> = std::iter::once(bucket).chain(fields.iter().map(|name| quoted(name))).collect();
    let count = super::count_of(&fields);
    let pipe = format!("stats by ({}) count() {}", by.join(", "), quoted(&count));
    let question = args.question_of(&app, entries_with(&app, &args, &pipe)?)?;
    let names = fields.clone();
    let most = args.number("fields_limit")?.filter(|most| *most > 0);
    let most = most.map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(usize::MAX));
    let each = move |groups: &mut Groups, row: &ResultRow, room: &mut Room| {
        let hits: u64 = row.get(&count).and_then(|hits| hits.parse().ok()).unwrap_or(0);
        let key: Vec<_> = names.iter().map(|name| row.get(name).unwrap_or_default().to_owned()).collect();
        let time = row.get("_time").unwrap_or_default().to_owned();
        if hits == 0 {
            return ControlFlow::Continue(());
        }
        let (key_bytes, time_bytes) = (key.iter().map(String::len).sum::<usize>(), time.len());
        let times = match groups.entry(key) {
            Entry::Occupied(times) => times.into_mut(),
            Entry::Vacant(group) => {
                room.take(OBJECT_BYTES + 3 * key_bytes)?;
                group.insert(BTreeMap::new())
            }
        };
        *times.entry(time).or_default() += hits;
        room.take(MEMBER_BYTES + 2 * time_bytes)
    };
    gather(&app, &access, question, Groups::new, each, move |groups| answer(groups, &fields, most)).await
}

/// How many there are at each time, by the values of the fields.
type Groups = BTreeMap<Vec<String>, BTreeMap<String, u64>>;

fn answer(groups: Groups, fields: &[String], most: usize) -> ApiResult<Vec<u8>> {
    let mut groups: Vec<_> =
        groups.into_iter().map(|(key, times)| (times.values().sum::<u64>(), Some(key), times)).collect();
    groups.sort_by(|(n, a, _), (m, b, _)| m.cmp(n).then_with(|| a.cmp(b)));
    if groups.len() > most {
        let mut rest: BTreeMap<String, u64> = BTreeMap::new();
        for (_, _, times) in groups.drain(most..) {
            for (time, hits) in times {
                *rest.entry(time).or_default() += hits;
            }
        }
        groups.push((rest.values().sum(), None, rest));
    }
    let hits: Vec<_> = groups
        .into_iter()
        .map(|(total, key, times)| {
            let named = key.into_iter().flat_map(|key| fields.iter().cloned().zip(key));
            let labels: serde_json::Map<_, _> = named.map(|(name, value)| (name, value.into())).collect();
            let (timestamps, values): (Vec<_>, Vec<_>) = times.into_iter().unzip();
            json!({ "fields": labels, "timestamps": timestamps, "values": values, "total": total })
        })
        .collect();
    text_of(&json!({ "hits": hits }))
}

/// The request's entries, as [`Query::entries`] has them, and `pipe` behind what makes them.
///
/// # Errors
/// 400; a mistake in the query is shown.
pub(super) fn entries_with(app: &Shared, args: &Args, pipe: &str) -> ApiResult<Query> {
    let pipes = args.parse_within(&format!("* | {pipe}"), app.env.clock.now_unix_ns(), None)?;
    Ok(args.query(app, "")?.entries().then(pipes.pipes()))
}
