//! Functions of numbers, durations, sizes and times.

use super::dates;
use super::decimal::Operation;
use super::functions::{Function, MANY, function};
use super::value::Value;
use crate::units;
use jiff::Timestamp;
use jiff::tz::TimeZone;

fn int(n: i64) -> Result<Value, String> {
    Ok(Value::Int(n))
}

fn float(x: f64) -> Result<Value, String> {
    Ok(Value::Float(x))
}

/// Of all arguments, in decimals.
fn decimal(values: &[Value], operation: Operation) -> Result<Value, String> {
    float(operation.of(values.iter().map(Value::float))?)
}

fn fold(values: &[Value], by: fn(f64, f64) -> f64) -> Result<Value, String> {
    float(values[1..].iter().fold(values[0].float(), |x, v| by(x, v.float())))
}

fn fold_int(values: &[Value], by: fn(i64, i64) -> i64) -> Result<Value, String> {
    int(values[1..].iter().fold(values[0].int(), |x, v| by(x, v.int())))
}

/// A time, of which numbers are seconds since 1970.
fn time(value: &Value) -> Result<Timestamp, String> {
    let wrong = || format!("`{}` is no time stamp", value.text());
    match value {
        Value::Int(seconds) => Timestamp::from_second(*seconds).map_err(|_| wrong()),
        other => other.text().parse().map_err(|_| wrong()),
    }
}

/// The time that a text is in a layout, in a time zone of a name; of one that is not known, in UTC, as in Loki.
fn to_date(layout: &Value, zone: &str, value: &Value) -> Result<Value, String> {
    let zone = TimeZone::get(zone).unwrap_or(TimeZone::UTC);
    let time = dates::parse(&layout.text(), &value.text(), &zone);
    let time = time.ok_or_else(|| format!("`{}` is no time as `{}`", value.text(), layout.text()))?;
    Ok(Value::Text(time.to_string()))
}

/// A time stamp, as how many of a unit of so many nanoseconds went by since 1970.
fn epoch(value: &Value, by: i64) -> Result<Value, String> {
    let ns = i64::try_from(time(value)?.as_nanosecond()).map_err(|_| "the time is out of range")?;
    Ok(Value::Text(ns.div_euclid(by).to_string()))
}

pub(super) static FUNCTIONS: &[Function] = &[
    function("int", 1, 1, |v, _| int(v[0].int())),
    function("float64", 1, 1, |v, _| float(v[0].float())),
    function("add", 1, MANY, |v, _| fold_int(v, i64::wrapping_add)),
    function("sub", 2, 2, |v, _| fold_int(v, i64::wrapping_sub)),
    function("mul", 1, MANY, |v, _| fold_int(v, i64::wrapping_mul)),
    function("div", 2, 2, |v, _| {
        v[0].int().checked_div(v[1].int()).map(Value::Int).ok_or_else(|| "division by zero".into())
    }),
    function("mod", 2, 2, |v, _| {
        v[0].int().checked_rem(v[1].int()).map(Value::Int).ok_or_else(|| "division by zero".into())
    }),
    function("max", 1, MANY, |v, _| fold_int(v, i64::max)),
    function("min", 1, MANY, |v, _| fold_int(v, i64::min)),
    function("addf", 1, MANY, |v, _| decimal(v, Operation::Add)),
    function("subf", 1, MANY, |v, _| decimal(v, Operation::Sub)),
    function("mulf", 1, MANY, |v, _| decimal(v, Operation::Mul)),
    function("divf", 1, MANY, |v, _| decimal(v, Operation::Div)),
    function("maxf", 1, MANY, |v, _| fold(v, f64::max)),
    function("minf", 1, MANY, |v, _| fold(v, f64::min)),
    function("ceil", 1, 1, |v, _| float(v[0].float().ceil())),
    function("floor", 1, 1, |v, _| float(v[0].float().floor())),
    // The third argument says from which fraction on it is rounded up.
    function("round", 2, 3, |v, _| {
        let by = 10f64.powi(v[1].int().clamp(0, 15) as i32);
        let number = v[0].float() * by;
        let up = |from: &Value| if number.fract() >= from.float() { number.ceil() } else { number.floor() };
        float(v.get(2).map_or(number.round(), up) / by)
    }),
    function("duration", 1, 1, |v, _| seconds(&v[0])),
    function("duration_seconds", 1, 1, |v, _| seconds(&v[0])),
    function("bytes", 1, 1, |v, _| {
        let wrong = || format!("`{}` is no size", v[0].text());
        Ok(Value::Float(units::parse_bytes(&v[0].text()).ok_or_else(wrong)? as f64))
    }),
    function("unixEpoch", 1, 1, |v, _| epoch(&v[0], 1_000_000_000)),
    function("unixEpochMillis", 1, 1, |v, _| epoch(&v[0], 1_000_000)),
    function("unixEpochNanos", 1, 1, |v, _| epoch(&v[0], 1)),
    function("date", 2, 2, |v, _| Ok(Value::Text(dates::format(&v[0].text(), time(&v[1])?)))),
    function("toDate", 2, 2, |v, _| to_date(&v[0], "UTC", &v[1])),
    function("toDateInZone", 3, 3, |v, _| to_date(&v[0], &v[1].text(), &v[2])),
    function("unixToTime", 1, 1, |v, _| {
        let text = v[0].text();
        let time = dates::of_epoch(&text).ok_or_else(|| format!("`{text}` is no time"))?;
        Ok(Value::Text(time.to_string()))
    }),
    function("__timestamp__", 0, 0, |_, entry| {
        let time = Timestamp::from_nanosecond(i128::from(entry.time_ns)).unwrap_or_default();
        Ok(Value::Text(time.to_string()))
    }),
];

fn seconds(value: &Value) -> Result<Value, String> {
    let text = value.text();
    let ns = units::parse_duration(&text).ok_or_else(|| format!("`{text}` is no duration"))?;
    float(ns as f64 / 1e9)
}
