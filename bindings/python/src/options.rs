//! What a logger is to be like, in Python's words.

use duramen::{Durability, Level};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyString;

/// Reads `none`, `process`, `interval:MS` or `sync`.
pub(crate) fn durability(text: &str) -> PyResult<Durability> {
    let interval = |ms: &str| ms.strip_suffix("ms").unwrap_or(ms).parse().ok().filter(|&ms: &u64| ms > 0);
    match text {
        "none" => Ok(Durability::None),
        "process" => Ok(Durability::Process),
        "sync" => Ok(Durability::Sync),
        _ => text.strip_prefix("interval:").and_then(interval).map(Durability::IntervalMs).ok_or_else(|| {
            PyValueError::new_err(format!("durability is none, process, interval:MS or sync, not {text:?}"))
        }),
    }
}

/// Reads a level: a name in any of the spellings that loggers use, or a number of the module `logging`.
pub(crate) fn level(value: &Bound<'_, PyAny>) -> PyResult<Level> {
    if let Ok(name) = value.cast::<PyString>() {
        let name = name.to_string_lossy();
        return Level::parse(&name).ok_or_else(|| PyValueError::new_err(format!("unknown level {name:?}")));
    }
    let number = value.extract::<i64>();
    number
        .map(level_of)
        .map_err(|_| PyTypeError::new_err("a level is a name, or a number such as logging.INFO"))
}

/// The level that stands for a number of the module `logging`: the one at or below it.
pub(crate) fn level_of(number: i64) -> Level {
    match number {
        ..=0 => Level::Unknown,
        1..10 => Level::Trace,
        10..20 => Level::Debug,
        20..30 => Level::Info,
        30..40 => Level::Warn,
        40..50 => Level::Error,
        50.. => Level::Fatal,
    }
}
