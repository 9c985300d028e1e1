//! A Python value as one or more fields of a line.
//!
//! | Python | field |
//! |---|---|
//! | `str` | a string; a lone surrogate becomes U+FFFD |
//! | `bool`, `None` | a truth value, null |
//! | `int` | a number, of any size |
//! | `float` | a number; `nan` and `inf` as strings |
//! | `dict` | its members, each a field of its own: `user.id` |
//! | `list`, `tuple` | JSON |
//! | all else | a string: `str(value)` |
//!
//! Dicts lie at most 16 deep in each other as fields; what lies deeper is JSON in a string, and what contains itself ends
//! with `{...}` or `[...]`.
//!
//! No value keeps its line from being logged: one whose `str()` raises says so in its place, and one that there is no
//! room for is cut.

use crate::calls::str_of;
use crate::json;
use crate::room::Fields;
use duramen::Value;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use std::cell::Cell;

/// How deep dicts become fields of their own.
const MAX_DEPTH: usize = 16;

/// Adds `value` to the line as the field `name`, or, a dict, as fields that begin with it.
pub(crate) fn add(fields: &mut Fields, name: &str, value: &Bound<'_, PyAny>) {
    add_in(fields, name, value);
    fields.ended(name);
}

/// Adds a dict's members, each as a field of its own.
pub(crate) fn add_members(fields: &mut Fields, dict: &Bound<'_, PyDict>) {
    for (key, value) in pairs(dict) {
        add(fields, &text(&key), &value);
    }
}

fn add_in(fields: &mut Fields, name: &str, value: &Bound<'_, PyAny>) {
    if fields.are_full() || !fields.room.value(0) {
        fields.room.lack();
    } else if let Ok(text) = value.cast::<PyString>() {
        fields.push(name, Value::Str(&text.to_string_lossy()));
    } else if value.is_none() {
        fields.push(name, Value::Null);
    } else if let Ok(truth) = value.cast::<PyBool>() {
        fields.push(name, Value::Bool(truth.is_true()));
    } else if value.is_instance_of::<PyInt>() {
        if let Ok(n) = value.extract::<i64>() {
            fields.push(name, Value::Int(n));
        } else if let Some(digits) = digits(value) {
            fields.push(name, Value::Number(&digits));
        } else {
            fields.push(name, Value::Str(&text(value)));
        }
    } else if let Ok(x) = value.cast::<PyFloat>() {
        let x = x.value();
        if x.is_finite() && x.fract() == 0.0 {
            // 2.0 is not to come back as the integer 2.
            fields.push(name, Value::Number(&format!("{x:?}")));
        } else {
            fields.push(name, Value::Float(x));
        }
    } else if let Ok(dict) = value.cast::<PyDict>() {
        add_dict(fields, name, dict);
    } else if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let mut out = String::new();
        let whole = json::write(&mut out, value, &mut fields.room);
        fields.push(name, if whole && out.starts_with('[') { Value::Json(&out) } else { Value::Str(&out) });
    } else {
        fields.push(name, Value::Str(&text(value)));
    }
}

fn add_dict(fields: &mut Fields, name: &str, dict: &Bound<'_, PyDict>) {
    if dict.is_empty() {
        fields.push(name, Value::Json("{}"));
    } else if fields.room.depth() >= MAX_DEPTH {
        let mut out = String::new();
        json::write(&mut out, dict, &mut fields.room);
        fields.push(name, Value::Str(&out));
    } else if !fields.room.enter(dict) {
        fields.push(name, Value::Str("{...}"));
    } else {
        for (key, value) in pairs(dict) {
            if fields.are_full() {
                fields.room.lack();
                break;
            }
            add_in(fields, &format!("{name}.{}", text(&key)), &value);
        }
        fields.room.leave();
    }
}

/// What is in a dict: a copy, because a `str()` that follows may be anybody's code, and may change the dict.
pub(crate) fn pairs<'py>(dict: &Bound<'py, PyDict>) -> Vec<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    dict.iter().collect()
}

thread_local! {
    /// What came while a value was shown, and is no value's fault: Ctrl-C, or the end of the program.
    static INTERRUPT: Cell<Option<PyErr>> = const { Cell::new(None) };
}

/// Raises what interrupted this thread while it showed values. To be called once their line is kept.
pub(crate) fn interrupted() -> PyResult<()> {
    INTERRUPT.take().map_or(Ok(()), Err)
}

/// `str(value)`, or why there is none.
pub(crate) fn text(value: &Bound<'_, PyAny>) -> String {
    match str_of(value) {
        Ok(text) => text.to_string_lossy().into_owned(),
        Err(e) => {
            let py = value.py();
            if !e.is_instance_of::<PyException>(py) {
                INTERRUPT.set(Some(e.clone_ref(py)));
            }
            let kind = value.get_type().name().map(|name| name.to_string()).unwrap_or_default();
            let error = e.get_type(py).name().map(|name| name.to_string()).unwrap_or_default();
            format!("<{kind}: str() raised {error}>")
        }
    }
}

/// The decimal digits of a number of any size; none beyond 4,300 of them, which Python does not write.
pub(crate) fn digits(value: &Bound<'_, PyAny>) -> Option<String> {
    // The number itself, whatever a subclass such as an enumeration writes.
    let digits = value.py().get_type::<PyInt>().call_method1("__repr__", (value,)).ok()?;
    Some(digits.cast::<PyString>().ok()?.to_string_lossy().into_owned())
}
