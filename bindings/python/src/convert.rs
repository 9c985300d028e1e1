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
//! No value keeps its line from being logged: one whose `str()` raises says so in its place.

use crate::calls::str_of;
use crate::json;
use duramen::{FieldBuf, Value};
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use std::cell::Cell;

/// How deep dicts and lists are followed; what lies deeper is `str(value)`.
const MAX_DEPTH: usize = 16;

/// The dicts and lists around a value: what contains itself is not followed for ever.
#[derive(Debug, Default)]
pub(crate) struct Around(Vec<usize>);

impl Around {
    /// Calls `inside` for what is in `value`; false if that would lead too deep, or in circles.
    pub(crate) fn enter(&mut self, value: &Bound<'_, PyAny>, inside: impl FnOnce(&mut Self)) -> bool {
        let id = value.as_ptr().addr();
        if self.0.len() >= MAX_DEPTH || self.0.contains(&id) {
            return false;
        }
        self.0.push(id);
        inside(self);
        self.0.pop();
        true
    }
}

/// Adds `value` to the line as the field `name`, or, a dict, as fields that begin with it.
pub(crate) fn add(line: &mut FieldBuf, name: &str, value: &Bound<'_, PyAny>) {
    add_in(line, name, value, &mut Around::default());
}

fn add_in(line: &mut FieldBuf, name: &str, value: &Bound<'_, PyAny>, around: &mut Around) {
    if let Ok(text) = value.cast::<PyString>() {
        line.push(name, Value::Str(&text.to_string_lossy()));
    } else if value.is_none() {
        line.push(name, Value::Null);
    } else if let Ok(truth) = value.cast::<PyBool>() {
        line.push(name, Value::Bool(truth.is_true()));
    } else if value.is_instance_of::<PyInt>() {
        if let Ok(n) = value.extract::<i64>() {
            line.push(name, Value::Int(n));
        } else if let Some(digits) = digits(value) {
            line.push(name, Value::Number(&digits));
        } else {
            line.push(name, Value::Str(&text(value)));
        }
    } else if let Ok(x) = value.cast::<PyFloat>() {
        let x = x.value();
        if x.is_finite() && x.fract() == 0.0 {
            // 2.0 is not to come back as the integer 2.
            line.push(name, Value::Number(&format!("{x:?}")));
        } else {
            line.push(name, Value::Float(x));
        }
    } else if let Ok(dict) = value.cast::<PyDict>() {
        let entered = around.enter(value, |around| {
            if dict.is_empty() {
                line.push(name, Value::Json("{}"));
            }
            for (key, value) in members(dict) {
                add_in(line, &format!("{name}.{key}"), &value, around);
            }
        });
        if !entered {
            line.push(name, Value::Str(&text(value)));
        }
    } else if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let mut out = String::new();
        json::write(&mut out, value, around);
        if out.starts_with('[') {
            line.push(name, Value::Json(&out));
        } else {
            line.push(name, Value::Str(&text(value)));
        }
    } else {
        line.push(name, Value::Str(&text(value)));
    }
}

/// What is in a dict: a copy, because a `str()` that follows may be anybody's code, and may change the dict.
pub(crate) fn members<'py>(dict: &Bound<'py, PyDict>) -> Vec<(String, Bound<'py, PyAny>)> {
    let pairs: Vec<_> = dict.iter().collect();
    pairs.into_iter().map(|(key, value)| (text(&key), value)).collect()
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
