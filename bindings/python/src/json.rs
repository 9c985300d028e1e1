//! Lists and what is in them, as JSON text.

use crate::convert::{Around, digits, members, text};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use std::fmt::Write as _;

/// Appends a value as JSON. What JSON does not know is a string: `str(value)`.
pub(crate) fn write(out: &mut String, value: &Bound<'_, PyAny>, around: &mut Around) {
    if let Ok(text) = value.cast::<PyString>() {
        string(out, &text.to_string_lossy());
    } else if value.is_none() {
        out.push_str("null");
    } else if let Ok(truth) = value.cast::<PyBool>() {
        out.push_str(if truth.is_true() { "true" } else { "false" });
    } else if value.is_instance_of::<PyInt>() {
        match digits(value) {
            Some(digits) => out.push_str(&digits),
            None => string(out, &text(value)),
        }
    } else if let Ok(x) = value.cast::<PyFloat>() {
        let x = x.value();
        if x.is_finite() { out.push_str(&format!("{x:?}")) } else { string(out, &x.to_string()) }
    } else if !container(out, value, around) {
        string(out, &text(value));
    }
}

/// Appends a dict, list or tuple; false if it is none, or cannot be followed.
fn container(out: &mut String, value: &Bound<'_, PyAny>, around: &mut Around) -> bool {
    if let Ok(dict) = value.cast::<PyDict>() {
        return around.enter(value, |around| {
            out.push('{');
            for (i, (key, value)) in members(dict).into_iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                string(out, &key);
                out.push(':');
                write(out, &value, around);
            }
            out.push('}');
        });
    }
    let items: Vec<_> = if let Ok(list) = value.cast::<PyList>() {
        list.iter().collect()
    } else if let Ok(tuple) = value.cast::<PyTuple>() {
        tuple.iter().collect()
    } else {
        return false;
    };
    around.enter(value, |around| {
        out.push('[');
        for (i, item) in items.iter().enumerate() {
            if i > 0 {
                out.push(',');
            }
            write(out, item, around);
        }
        out.push(']');
    })
}

fn string(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c < ' ' => {
                // Writing to a String cannot fail.
                let _infallible = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}
