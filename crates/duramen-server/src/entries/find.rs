//! The newest entries that a filter finds, each with its identity, by which it is found again.

use crate::answer::{JsonText, Room, on_thread, still_wanted, whole};
use crate::app::Shared;
use crate::auth::Access;
use crate::error::{ApiError, ApiResult};
use axum::response::Response;
use duramen::block::{Block, OpenBlock, some_rows};
use duramen_query::{Cancel, Order, ParseOptions, Query, RunOptions};
use serde_json::{Map, Value};
use std::fmt;
use std::ops::ControlFlow;
use std::str::FromStr;
use std::sync::Arc;

/// An entry's identity: when it was, who wrote it, and as its how-manieth. As text `time-writer-number`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Id {
    pub time_ns: i64,
    writer: u64,
    seq: u64,
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{:x}-{}", self.time_ns, self.writer, self.seq)
    }
}

impl FromStr for Id {
    type Err = ApiError;

    fn from_str(text: &str) -> ApiResult<Self> {
        let read = || {
            let (rest, seq) = text.rsplit_once('-')?;
            let (time, writer) = rest.rsplit_once('-')?;
            let writer = u64::from_str_radix(writer, 16).ok()?;
            Some(Self { time_ns: time.parse().ok()?, writer, seq: seq.parse().ok()? })
        };
        read().ok_or_else(|| {
            let text: String = text.chars().take(100).collect();
            ApiError::bad_request(format!(
                "`{text}` is no entry's identity: it is as in 1700000000000000000-3f-12"
            ))
        })
    }
}

/// What to look for.
#[derive(Debug)]
pub(super) struct Wanted {
    pub query: Query,
    pub limit: usize,
    /// Only entries before this one.
    pub before: Option<Id>,
    pub oldest_first: bool,
}

/// An entry's fields.
pub(super) type Fields = Map<String, Value>;

/// What was found, in order: rows of blocks, of which one after the other is made an entry.
#[derive(Debug, Default)]
pub(super) struct Found(Vec<(Id, Arc<dyn Block>, u32)>);

impl Found {
    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The identity of one.
    pub fn id(&self, at: usize) -> Option<Id> {
        self.0.get(at).map(|(id, ..)| *id)
    }

    /// The entries.
    pub fn into_entries(self) -> impl Iterator<Item = ApiResult<(Id, Fields)>> {
        self.0.into_iter().map(|(id, block, row)| Ok((id, fields(&block, row)?)))
    }
}

/// Finds entries, the newest first, or the oldest, and answers with what `write` writes of them.
///
/// # Errors
/// 400 if the query has pipes, or a query inside it; 422 if the answer takes too much memory; as queries otherwise.
pub(super) async fn find(
    app: &Shared,
    access: &Access,
    wanted: Wanted,
    write: impl FnOnce(Found, &mut JsonText<'_>) -> ApiResult<()> + Send + 'static,
) -> ApiResult<Response> {
    if !wanted.query.pipes().is_empty() {
        return Err(ApiError::bad_request("a filter is wanted here, without pipes"));
    }
    whole(app, access, app.limits.query_timeout, move |app, access, cancel| {
        let Found(mut found) = Found::default();
        let snapshot = access.tenant.store()?.snapshot()?;
        let (min_time, max_time) = wanted.query.time_range();
        let max_time = wanted.before.map_or(max_time, |before| before.time_ns.min(max_time));
        let mut handles = snapshot.blocks(min_time, max_time);
        if wanted.oldest_first {
            handles.sort_by_key(|handle| handle.min_time());
        } else {
            handles.sort_by_key(|handle| std::cmp::Reverse(handle.max_time()));
        }
        for handle in handles {
            still_wanted(cancel)?;
            let last = found.get(wanted.limit.wrapping_sub(1)).map(|(id, ..)| id.time_ns);
            let is_past = last.is_some_and(|last| {
                if wanted.oldest_first { handle.min_time() > last } else { handle.max_time() < last }
            });
            if is_past {
                break;
            }
            let block = handle.open()?;
            let times = block.times()?;
            for row in wanted.query.matches(&block)?.iter() {
                let (writer, seq) = block.identity(row)?;
                let id = Id { time_ns: times.get(row).copied().unwrap_or_default(), writer, seq };
                if wanted.before.is_none_or(|before| id < before) {
                    found.push((id, block.clone(), row as u32));
                }
            }
            found.sort_by(|(a, ..), (b, ..)| if wanted.oldest_first { a.cmp(b) } else { b.cmp(a) });
            found.truncate(wanted.limit);
        }
        let mut room = Room::new(app.limits.query_memory_bytes);
        let mut text = JsonText::new(&mut room, cancel);
        write(Found(found), &mut text)?;
        Ok(text.into_bytes())
    })
    .await
}

/// The entry of this identity, if it is there.
///
/// # Errors
/// As queries.
pub(super) async fn one(app: &Shared, access: &Access, wanted: Id) -> ApiResult<Option<Fields>> {
    on_thread(app, access, app.limits.query_timeout, move |_, access, cancel| {
        let snapshot = access.tenant.store()?.snapshot()?;
        for handle in snapshot.blocks(wanted.time_ns, wanted.time_ns) {
            still_wanted(cancel)?;
            let block = handle.open()?;
            let times = block.times()?;
            let from = times.partition_point(|time| *time < wanted.time_ns);
            for row in from..times.partition_point(|time| *time <= wanted.time_ns) {
                if block.identity(row)? == (wanted.writer, wanted.seq) {
                    return Ok(Some(fields(&block, row as u32)?));
                }
            }
        }
        Ok(None)
    })
    .await
}

/// A row's fields, as a query would show them.
fn fields(block: &Arc<dyn Block>, row: u32) -> ApiResult<Fields> {
    let everything = Query::parse("*", &ParseOptions::default())?;
    let handle = OpenBlock::handle(some_rows(block.clone(), vec![row]))?;
    let options = RunOptions { order: Order::OldestFirst, ..RunOptions::default() };
    let mut json = Vec::new();
    let stats = everything.run(vec![handle], &options, &Cancel::new(), &mut |row| {
        row.write_json(&mut json);
        ControlFlow::Break(())
    })?;
    match stats.first_failure {
        Some(e) => Err(e.into()),
        None => serde_json::from_slice(&json)
            .map_err(|e| ApiError::unavailable(format!("an entry is no JSON: {e}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identities_are_read_as_they_are_written() {
        for id in
            [Id { time_ns: 17, writer: 255, seq: 1 }, Id { time_ns: -5, writer: u64::MAX, seq: u64::MAX }]
        {
            assert_eq!(id.to_string().parse::<Id>().unwrap(), id);
        }
        for wrong in ["", "1", "1-2", "x-1-1", "1-g-1", "1-1-x", "1-1-"] {
            assert!(wrong.parse::<Id>().is_err(), "{wrong}");
        }
    }
}
