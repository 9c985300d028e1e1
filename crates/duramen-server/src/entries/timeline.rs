//! What has one value in a field, in order, each entry with how long it came after the one before.
//!
//! Who asks for one cannot ask for less of it. So it ends where there is no more room for it, and says so.

use super::filters::equals;
use super::find::{Found, Wanted, find};
use super::{entry, put};
use crate::answer::JsonText;
use crate::app::Shared;
use crate::auth::Access;
use crate::error::ApiResult;
use axum::response::Response;
use duramen_query::{ParseOptions, Query};
use serde_json::{Map, Value, json};

/// The most entries of one.
const MOST_ENTRIES: usize = 10_000;
/// What the end of one takes beside the names of levels, at most.
const END_BYTES: usize = 256;
/// What a level takes there beside its name.
const LEVEL_BYTES: usize = 32;

/// The oldest of what has this value.
///
/// # Errors
/// As queries.
pub(super) async fn answer(
    app: &Shared,
    access: &Access,
    field: &'static str,
    value: String,
) -> ApiResult<Response> {
    let query = Query::parse(&equals(field, &[&value]), &ParseOptions::default())?;
    let wanted = Wanted { query, limit: MOST_ENTRIES + 1, before: None, oldest_first: true };
    find(app, access, wanted, move |found, text| write(found, field, &value, text)).await
}

fn write(found: Found, field: &str, value: &str, text: &mut JsonText<'_>) -> ApiResult<()> {
    let mut timeline = Timeline { end_bytes: END_BYTES, ..Timeline::default() };
    text.raw(b"{")?;
    text.value(&field)?;
    text.raw(b":")?;
    text.value(&value)?;
    text.raw(b",\"entries\":[")?;
    let is_longer = found.len() > MOST_ENTRIES;
    let mut is_cut = false;
    for found in found.into_entries().take(MOST_ENTRIES) {
        let (id, row) = found?;
        if !timeline.add(id.time_ns, entry(id, row), text)? {
            is_cut = true;
            break;
        }
    }
    text.raw(b"],\"stats\":")?;
    text.value(&timeline.stats(is_longer || is_cut))?;
    text.raw(b"}")
}

#[derive(Default)]
struct Timeline {
    count: usize,
    /// The first and the last.
    times_ns: Option<(i64, i64)>,
    levels: Map<String, Value>,
    /// How many bytes are to be left for its end.
    end_bytes: usize,
}

impl Timeline {
    /// Adds an entry, if there is room for it.
    fn add(
        &mut self,
        time_ns: i64,
        mut entry: Map<String, Value>,
        text: &mut JsonText<'_>,
    ) -> ApiResult<bool> {
        let level = entry.get("level").and_then(Value::as_str).unwrap_or("unknown").to_owned();
        let delta_ms = json!(self.times_ns.map_or(0.0, |(_, last)| ms(last, time_ns)));
        if let Some(own) = entry.insert("delta_ms".into(), delta_ms) {
            put(&mut entry, "delta_ms", own);
        }
        let json = crate::json::text_of(&entry)?;
        let hits = self.levels.get(&level).and_then(Value::as_u64).unwrap_or(0);
        // Each of its letters may be written as six.
        let more_at_end = if hits == 0 { 6 * level.len() + LEVEL_BYTES } else { 0 };
        if !text.has_room(json.len() + 1 + self.end_bytes + more_at_end) {
            return Ok(false);
        }
        text.raw(if self.count == 0 { b"" } else { b"," })?;
        text.raw(&json)?;
        self.end_bytes += more_at_end;
        self.levels.insert(level, (hits + 1).into());
        self.count += 1;
        self.times_ns = Some((self.times_ns.map_or(time_ns, |(first, _)| first), time_ns));
        Ok(true)
    }

    fn stats(&self, is_cut: bool) -> Value {
        let duration_ms = self.times_ns.map(|(first, last)| ms(first, last));
        let mut stats = json!({ "count": self.count, "duration_ms": duration_ms, "levels": self.levels });
        if is_cut && let Some(stats) = stats.as_object_mut() {
            stats.insert("truncated".into(), true.into());
        }
        stats
    }
}

fn ms(from: i64, to: i64) -> f64 {
    to.saturating_sub(from) as f64 / 1e6
}
