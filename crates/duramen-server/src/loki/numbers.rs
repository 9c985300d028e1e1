//! Values over time as JSON: `scalar`, `vector` and `matrix`. They are written as they are, without a tree of values between, which
//! would take many times their memory.

use duramen_logql::{Answer, LabelSet, Steps, format_value};
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

/// `{"status":"success","data":…}`
#[derive(Serialize)]
pub(super) struct Success<'a, T> {
    status: &'static str,
    data: &'a T,
}

impl<'a, T> Success<'a, T> {
    /// Of what went well.
    pub fn of(data: &'a T) -> Self {
        Self { status: "success", data }
    }
}

/// What a query found, and what that took.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Data<R> {
    pub result_type: &'static str,
    pub result: R,
    pub stats: Value,
}

/// Labels as an object.
pub(super) struct Labels<'a>(pub &'a LabelSet);

impl Serialize for Labels<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.0.iter().map(|(name, value)| (&**name, &**value)))
    }
}

/// An array of what there is each time it is asked.
pub(super) struct Array<F>(pub F);

impl<F: Fn() -> I, I: Iterator<Item: Serialize>> Serialize for Array<F> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq((self.0)())
    }
}

/// A series at one time.
#[derive(Serialize)]
pub(super) struct Sample<'a> {
    pub metric: Labels<'a>,
    pub value: (Value, String),
}

/// A series over time.
#[derive(Serialize)]
pub(super) struct Samples<'a, V> {
    pub metric: Labels<'a>,
    pub values: V,
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
        let value = (seconds(time_ns), format_value(value));
        serde_json::to_value(Sample { metric: Labels(&series.labels), value }).ok()
    });
    ("vector", vector.collect())
}

/// The same for many times.
pub(super) fn range<'a>(answer: &'a Answer, steps: &'a Steps) -> impl Serialize + use<'a> {
    Array(move || {
        answer.series.iter().map(move |series| {
            let points = move || steps.times().zip(&series.points);
            let values = Array(move || {
                points().filter_map(|(ns, value)| Some((seconds(ns), format_value((*value)?))))
            });
            Samples { metric: Labels(&series.labels), values }
        })
    })
}
