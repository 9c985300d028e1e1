//! The native half of the Python package `duramen`; `python/duramen` is the other half, and what programs see.
//!
//! | module | one idea |
//! |---|---|
//! | `logger` | a logger: opened once, then line after line |
//! | `record` | a `logging.LogRecord`, taken apart |
//! | `convert` | a Python value as one or more fields |
//! | `room` | how much of it becomes part of a line |
//! | `json` | lists, as JSON |
//! | `options` | what a logger is to be like, in Python's words |
//! | `rows` | an answer that is being found: an iterator, which any thread may use and close |
//! | `search` | a query at work, on a thread of its own |
//! | `batch` | rows on their way from that thread |
//! | `value` | a row's value as a Python one |
//! | `calls` | calls that may run Python code |
//! | `error` | the exceptions |
//!

mod batch;
mod calls;
mod convert;
mod error;
mod json;
mod logger;
mod options;
mod record;
mod room;
mod rows;
mod search;
mod value;

/// The native half of the package `duramen`.
#[pyo3::pymodule]
mod _duramen {
    #[pymodule_export]
    use crate::error::{Error, QueryError};
    #[pymodule_export]
    use crate::logger::NativeLogger;
    #[pymodule_export]
    use crate::rows::{Rows, query};

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
