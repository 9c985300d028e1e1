//! The exceptions.

use duramen_query::ParseError;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

pyo3::create_exception!(
    duramen,
    Error,
    PyException,
    "What went wrong with a store: a directory that is something else's, no room, damage, a query that failed."
);
pyo3::create_exception!(
    duramen,
    QueryError,
    Error,
    "The text is no query. `line` and `column` (both from 1) and `position` (characters from 0) say where, `message`\n\
     what is wrong, and `hint` what to write instead."
);

/// An [`Error`] that says what `error` says.
pub(crate) fn failed(error: impl std::fmt::Display) -> PyErr {
    Error::new_err(error.to_string())
}

/// A [`QueryError`] that points at the place in `text`.
pub(crate) fn no_query(py: Python<'_>, text: &str, error: &ParseError) -> PyErr {
    let before = text.get(..error.position).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    let raised = QueryError::new_err(error.to_string());
    let value = raised.value(py);
    let told = value
        .setattr("line", line)
        .and_then(|()| value.setattr("column", column))
        .and_then(|()| value.setattr("position", before.chars().count()))
        .and_then(|()| value.setattr("message", &error.message))
        .and_then(|()| value.setattr("hint", &error.hint));
    told.err().unwrap_or(raised)
}
