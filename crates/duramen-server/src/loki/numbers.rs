//! Values over time as JSON: `scalar`, `vector` and `matrix`.

use duramen_logql::{Answer, LabelSet, Steps, format_value};
use serde_json::{Map, Value, json};

/// Labels as an object.
pub(super) fn labels(set: &LabelSet) -> Value {
    let pairs = set.iter().map(|(name, value)| (name.to_string(), Value::from(&**value)));
    Value::Object(pairs.collect::<Map<_, _>>())
}

/// A time in seconds since the epoch, to the millisecond.
pub(super) fn seconds(ns: i64) -> Value {
    let ms = ns.div_euclid(1_000_000);
    if ms % 1000 == 0 { json!(ms / 1000) } else { json!(ms as f64 / 1e3) }
}

/// The kind of an answer for one time, and the answer.
pub(super) fn instant(answer: &Answer, time_ns: i64) -> (&'static str, Value) {
    let at = |value: f64| json!([seconds(time_ns), format_value(value)]);
    let first = |points: &[Option<f64>]| points.first().copied().flatten();
    if answer.is_scalar {
        let value = answer.series.first().and_then(|series| first(&series.points));
        return ("scalar", at(value.unwrap_or(f64::NAN)));
    }
    let vector = answer.series.iter().filter_map(|series| {
        let value = first(&series.points)?;
        Some(json!({ "metric": labels(&series.labels), "value": at(value) }))
    });
    ("vector", vector.collect())
}

/// The same for many times.
pub(super) fn range(answer: &Answer, steps: &Steps) -> (&'static str, Value) {
    let matrix = answer.series.iter().map(|series| {
        let points = steps.times().zip(&series.points);
        let values = points.filter_map(|(time, value)| Some(json!([seconds(time), format_value((*value)?)])));
        json!({ "metric": labels(&series.labels), "values": values.collect::<Vec<_>>() })
    });
    ("matrix", matrix.collect())
}
