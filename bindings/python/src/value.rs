//! A row's value as a Python one.

use crate::calls;
use duramen::ValueKind;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyFloat, PyInt, PyString, PyTuple, PyType};

/// The Python value: numbers as `int` or `float`, JSON as lists and dicts, all else as `str`.
pub(crate) fn to_python<'py>(py: Python<'py>, text: &str, kind: ValueKind) -> PyResult<Bound<'py, PyAny>> {
    Ok(match kind {
        ValueKind::Number => match number(py, text) {
            Some(number) => number,
            None => PyString::new(py, text).into_any(),
        },
        ValueKind::Bool if matches!(text, "true" | "false") => {
            PyBool::new(py, text == "true").to_owned().into_any()
        }
        ValueKind::Null => py.None().into_bound(py),
        ValueKind::Json => {
            static LOADS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
            // What is no JSON after all, or nests too deep for Python, stays text.
            match calls::call(LOADS.import(py, "json", "loads")?, &PyTuple::new(py, [text])?) {
                Ok(value) => value,
                Err(_) => PyString::new(py, text).into_any(),
            }
        }
        _ => PyString::new(py, text).into_any(),
    })
}

/// The number that the text writes; none if it writes none that would give the text back.
fn number<'py>(py: Python<'py>, text: &str) -> Option<Bound<'py, PyAny>> {
    if let Some(n) = duramen::entry::plain_integer(text) {
        return Some(PyInt::new(py, n).into_any());
    }
    let digits = text.strip_prefix('-').unwrap_or(text).as_bytes();
    if digits.len() > 1 && digits.first() == Some(&b'0') && digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    if !digits.is_empty() && digits.iter().all(u8::is_ascii_digit) {
        let int = py.get_type::<PyInt>();
        return int.cast::<PyType>().ok()?.call1((text,)).ok();
    }
    text.parse().ok().filter(|x: &f64| x.is_finite()).map(|x| PyFloat::new(py, x).into_any())
}
